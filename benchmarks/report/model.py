# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The contents of a report, as in report.json: sections, tables, and the samples or the failure of each cell.

    report   {schema, kind, is_reduced, environment, unfinished, seconds, left_out, sections}
    section  {name, title, text, left_out, problems, seconds, tables, plots}
    table    {name, title, unit, better, command, statistic, shows, reference, heading, floor, notes, is_reduced, apart,
              best, columns, rows, column_failures}
    row      {label, x, cells}, where cells is {column: {samples} or {failure, is_wrong}}

A cell that has failed has no samples. A column that has failed has no samples in any row, and takes no more samples.
"""
import math
import os
import statistics

import drop_ins
import mallocs

SCHEMA = "memory_pool benchmark report 1"
CELLS_NAMED = 3  # Per table, in the list of failures.
STATISTICS = {"least": min, "median": statistics.median, "most": max}


class Table:
    """Adds samples and failures to the table `data`."""

    def __init__(self, name, title, unit, command, columns, better="less", statistic="median", shows="value",
                 reference=None, heading="", notes=(), is_reduced=False, apart=(), best=None):
        """`shows` is `value`, with the ratio of the column `reference` to it if there is one, or `ratio`: to the best
        of the row. Columns `apart` were measured on another machine, and are not compared. `best` is [unit, divisor] of
        a column with the best of the row, which geometric means follow; None if the rows have no common unit."""
        self.data = {"name": name, "title": title, "unit": unit, "better": better, "command": command,
                     "statistic": statistic, "shows": shows, "reference": reference, "heading": heading, "floor": None,
                     "notes": list(notes), "is_reduced": is_reduced, "apart": list(apart), "best": best,
                     "columns": list(columns), "rows": [], "column_failures": {}}

    def row(self, label, x=None):
        """Returns the row of that name. Adds the row if necessary."""
        for row in self.data["rows"]:
            if row["label"] == label:
                return row
        self.data["rows"].append({"label": label, "x": x, "cells": {}})
        return self.data["rows"][-1]

    def add(self, label, column, sample, x=None):
        """Ignores samples for a column that has failed."""
        if column in self.data["column_failures"]:
            return
        cell = self.row(label, x)["cells"].setdefault(column, {"samples": []})
        if "failure" not in cell:
            cell["samples"].append(sample)

    def fail(self, label, column, reason, x=None, is_wrong=False):
        self.row(label, x)["cells"][column] = {"failure": tidy(reason), "is_wrong": is_wrong}

    def fail_column(self, column, reason):
        """Fails every row, including rows with samples: figures of a side that has failed once are not trusted."""
        self.data["column_failures"][column] = tidy(reason)
        for row in self.data["rows"]:
            row["cells"].pop(column, None)

    def sort(self):
        """Sorts by x, or by label with numbers by value, because programs run their rows in random order."""
        self.data["rows"].sort(key=lambda row: (row["x"] or 0, drop_ins.natural_order(row["label"])))


def tidy(reason):
    """Returns the reason in one line, short enough for a page, without the path of the source tree."""
    line = " ".join(str(reason).split()).replace(mallocs.ROOT + os.sep, "")
    return line if len(line) <= 300 else line[:297] + "..."


def section(name, title, text, tables, plots=()):
    return {"name": name, "title": title, "text": text, "left_out": [], "problems": [], "seconds": 0,
            "tables": [table.data for table in tables], "plots": list(plots)}


def leave_out_empty_columns(the_section):
    """Removes columns for which programs have no rows, such as columns of libraries that the programs were built
    without, and lists these columns. A table without any figure is unchanged. Call this only when all
    steps of the section have run."""
    for table in the_section["tables"]:
        filled = {column for row in table["rows"] for column in row["cells"]} | table["column_failures"].keys()
        empty = [column for column in table["columns"] if column not in filled]
        if has_figures(table) and empty:
            table["columns"] = [column for column in table["columns"] if column in filled]
            the_section["left_out"].append(f"{table['title']}: no program has rows of {', '.join(empty)}")


def cell_of(table, row, column):
    """Returns the cell, or the failure of its column; None if nothing was measured."""
    cell = row["cells"].get(column)
    if cell is None and column in table["column_failures"]:
        return {"failure": table["column_failures"][column], "is_wrong": False}
    return cell


def value_of(table, row, column):
    """Returns the statistic that the table shows; None if nothing was measured, or it has failed."""
    cell = cell_of(table, row, column)
    if cell is None or "failure" in cell or not cell["samples"]:
        return None
    return STATISTICS[table["statistic"]](cell["samples"])


def values_of(table, row):
    """Returns {column: value} for columns that have a value."""
    found = {column: value_of(table, row, column) for column in table["columns"]}
    return {column: value for column, value in found.items() if value is not None}


def ratios_to_best(table, row):
    """Returns {column: value divided by the best of the row}; a value of zero counts as the best."""
    values = {column: value for column, value in values_of(table, row).items() if column not in table["apart"]}
    best = max(min(values.values(), default=1), 1e-9)
    return {column: max(value / best, 1) for column, value in values.items()}


def geometric_means(table):
    """Returns {column: (mean of its ratios, number of rows with a value)}."""
    ratios = {column: [] for column in table["columns"]}
    for row in table["rows"]:
        for column, ratio in ratios_to_best(table, row).items():
            ratios[column].append(ratio)
    return {column: (math.exp(statistics.fmean(map(math.log, values_of_column))), len(values_of_column))
            for column, values_of_column in ratios.items() if values_of_column}


def has_figures(table):
    return any(values_of(table, row) for row in table["rows"])


def means_of_all_rows(table):
    """Returns {column: mean of its ratios} for columns with a value in every row, so that the means are comparable."""
    return {column: mean for column, (mean, count) in geometric_means(table).items() if count == len(table["rows"])}


def failures_of(report):
    """Returns the failures as texts: each reason once, with the affected tables and cells."""
    places = {}
    for each in report["sections"]:
        for problem in each["problems"]:
            places.setdefault(problem, {}).setdefault(each["title"], [])
        for table in each["tables"]:
            for what, reason in failures_in(table):
                places.setdefault(reason, {}).setdefault(table["title"], []).append(what)
    return [f"{reason} (in: {'; '.join(map(place_of, titles.items()))})" for reason, titles in places.items()]


def place_of(item):
    title, cells = item
    few = cells[:CELLS_NAMED]
    more = f" and {len(cells) - len(few)} more" if len(cells) > len(few) else ""
    return f"{title}: {' / '.join(few)}{more}" if cells else title


def failures_in(table):
    """Yields (cell or column, reason) for each failure; a column once, if it has failed in every row."""
    for column, reason in table["column_failures"].items():
        yield column, reason
    for row in table["rows"]:
        for column, cell in row["cells"].items():
            if "failure" in cell:
                yield f"{row['label']}, {column}", ("wrong: " if cell["is_wrong"] else "") + cell["failure"]


def tables_of(report):
    """Returns {name: table}."""
    return {table["name"]: table for each in report["sections"] for table in each["tables"]}


def row_of(table, label):
    return next((row for row in table["rows"] if row["label"] == label), None)
