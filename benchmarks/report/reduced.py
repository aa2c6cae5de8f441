# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Makes the small copy of a report that is committed: some tables, with only the shown statistic of each cell, and
some plots."""
import copy

from report import model


def significant(value):
    """Returns the value with five significant digits, more than a page shows."""
    return float(f"{value:.5g}")


def reduced_row(table, row):
    cells = {}
    for column, cell in row["cells"].items():
        value = model.value_of(table, row, column)
        if "failure" in cell:
            cells[column] = dict(cell)
        elif value is not None:
            cells[column] = {"samples": [significant(value)]}
    return {**row, "cells": cells}


def reduced_table(table):
    return {**table, "rows": [reduced_row(table, row) for row in table["rows"]]}


def reduced_section(section):
    kept = [table for table in section["tables"] if table["is_reduced"]]
    return {**section, "tables": [reduced_table(table) for table in kept],
            "plots": [plot for plot in section["plots"] if plot["is_reduced"]]}


def reduce(report):
    """Returns the reduced report, which shows the same figures in the remaining tables."""
    sections = [reduced_section(section) for section in copy.deepcopy(report["sections"])]
    return {**report, "is_reduced": True, "sections": [section for section in sections if section["tables"]]}
