# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The page of a report as a list of parts, which html.py and markdown.py write: `Heading`, `Text`, `List`, `Code`,
`Grid` and `Picture`. In texts, backticks enclose code."""
import collections

from report import model

Heading = collections.namedtuple("Heading", "level text")
Text = collections.namedtuple("Text", "text kind", defaults=("",))
List = collections.namedtuple("List", "items kind", defaults=("",))
Code = collections.namedtuple("Code", "text")
# Each cell is Cell(text, kind), with the kind `failed`, `best` or none.
Grid = collections.namedtuple("Grid", "header rows")
Cell = collections.namedtuple("Cell", "text kind", defaults=("",))
Picture = collections.namedtuple("Picture", "file title")

MEAN = "geometric mean"
BETTER = {"less": "lower is better", "more": "higher is better"}


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def shown(value, floor):
    return f"< {number(floor)}" if floor is not None and value < floor else number(value)


def reference_of(table, values):
    return values.get(table["reference"]) if table["reference"] else None


def text_of_value(table, column, value, values):
    text = shown(value, table["floor"])
    reference = reference_of(table, values)
    if reference is None or column == table["reference"] or column in table["apart"] or value <= 0:
        return text
    return f"{text} ({number(reference / value)}x)"


class Failures:
    """Numbers the reasons for the failures in a table."""

    def __init__(self):
        self.reasons = []

    def cell(self, failed):
        reason = failed["failure"]
        if reason not in self.reasons:
            self.reasons.append(reason)
        word = "wrong" if failed["is_wrong"] or reason.startswith("wrong: ") else "failed"
        return Cell(f"{word} [{self.reasons.index(reason) + 1}]", "failed")

    def items(self):
        return [f"[{number + 1}] {reason}" for number, reason in enumerate(self.reasons)]


def is_noise(table, values, compared):
    """Returns whether the clock overhead alone is at least the best value of a row."""
    return table["floor"] is not None and any(values.get(column, 0) >= min(compared.values())
                                              for column in table["apart"])


def best_of(table, values, compared):
    """Returns the columns that are the best of a row, after rounding; none if there is nothing to compare."""
    if len(compared) < 2 or is_noise(table, values, compared):
        return ()
    best = (max if table["better"] == "more" else min)(compared.values())
    return [column for column, value in compared.items() if shown(value, table["floor"]) == shown(best, table["floor"])]


def cells_of(table, row, failures):
    values = model.values_of(table, row)
    ratios = model.ratios_to_best(table, row) if table["shows"] == "ratio" else {}
    compared = ratios or {column: value for column, value in values.items() if column not in table["apart"]}
    best = best_of(table, values, compared)
    for column in table["columns"]:
        cell = model.cell_of(table, row, column)
        if cell is not None and "failure" in cell:
            yield failures.cell(cell)
        elif column not in values:
            yield Cell("")
        else:
            kind = "best" if column in best else ""
            text = number(ratios[column]) if ratios else text_of_value(table, column, values[column], values)
            yield Cell(text, kind)


def best_cell(table, row):
    unit, divisor = table["best"]
    values = model.values_of(table, row)
    return Cell(f"{number(min(values.values()) / divisor)} {unit}" if values else "")


def mean_row(table):
    means = model.geometric_means(table)
    cells = [Cell(MEAN)] + [Cell("")]
    for column in table["columns"]:
        if column in means:
            mean, count = means[column]
            of_some = "" if count == len(table["rows"]) else f" ({count} of {len(table['rows'])})"
            cells.append(Cell(number(mean) + of_some))
        else:
            cells.append(Cell("failed" if column in table["column_failures"] else ""))
    return cells


def grid_of(table):
    """Returns (grid, reasons of failures)."""
    failures = Failures()
    has_best = table["best"] is not None
    rows = []
    for row in table["rows"] or [{"label": "every row", "x": None, "cells": {}}]:
        best = [best_cell(table, row)] if has_best else []
        rows.append([Cell(row["label"]), *best, *cells_of(table, row, failures)])
    if has_best and len(table["rows"]) > 1:
        rows.append(mean_row(table))
    return Grid([table["heading"], *(["best"] if has_best else []), *table["columns"]], rows), failures.items()


def parts_of_table(table):
    yield Heading(3, table["title"])
    if not table["rows"] and not table["column_failures"]:
        yield Text("Not measured.", "warning")
        return
    yield Text(f"Unit: {table['unit']}; {BETTER[table['better']]}. To reproduce:")
    yield Code(table["command"])
    grid, reasons = grid_of(table)
    yield grid
    if reasons:
        yield List(reasons, "failed")
    for note in table["notes"]:
        yield Text(note, "note")
    if table["floor"] is not None:
        yield Text(f"The clock has a resolution of {number(table['floor'])} ns.", "note")


def parts_of_section(section, pictures):
    """`pictures` are {name of a plot: (file, title)}."""
    yield Heading(2, section["title"])
    yield Text(section["text"])
    if section["problems"]:
        yield List(section["problems"], "failed")
    if section["left_out"]:
        yield List(section["left_out"], "note")
    waiting = list(section["plots"])
    for table in section["tables"]:
        yield from parts_of_table(table)
        for plot in [plot for plot in waiting if last_table_of(plot) == table["name"]]:
            waiting.remove(plot)
            if plot["name"] in pictures:
                yield Picture(*pictures[plot["name"]])


def last_table_of(plot):
    return plot["series"][-1][1] if plot["kind"] == "bars" else plot["table"]


def described(environment):
    """Returns the lines about the machine, the versions and the commit."""
    memory = environment["memory_kilobytes"]
    mallocs = ", ".join(f"{name} ({version})" for name, version in environment["mallocs"].items())
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    changed = {None: "", True: ", with changes that are not committed", False: ""}[environment["is_changed"]]
    loads = [" ".join(f"{load:.2f}" for load in environment[when] or []) for when in ("load_before", "load_after")]
    return [("machine", f"{environment['processor']}, {environment['machine']}, {environment['cores']} cores"
             + (f", {memory / 2**20:.1f} GiB" if memory else "")),
            ("caches", ", ".join(environment["caches"])),
            ("system", f"{environment['distribution']}, {environment['kernel']}, governor "
             f"{environment['governor'] or 'none'}"),
            ("built with", versions), ("mallocs", mallocs),
            ("commit", (environment["commit"] or "unknown") + changed),
            ("date", environment["date"]), ("command", f"`{environment['command']}`"),
            ("load", f"{loads[0]} before, {loads[1] or 'unknown'} after")]


def parts_of_head(report):
    yield Heading(1, "Benchmark report")
    if report["unfinished"]:
        yield Text(f"This report is partial: {report['unfinished']}.", "warning")
    for warning in warnings_of(report["environment"]):
        yield Text(warning, "warning")
    yield Text(f"A {report['kind']} run of `./dev report`, which took {report['seconds'] / 60:.1f} minutes. The best "
               "value of a row is in bold. A cell that is `failed` or `wrong` has no figure. On a shared "
               "machine, other programs add time: least values and ratios are steadier than single times.")
    yield Grid(["what", "value"], [[Cell(name), Cell(value)] for name, value in described(report["environment"])])
    failures = model.failures_of(report)
    if failures:
        yield Text(f"{len(failures)} failed or wrong:", "warning")
        yield List(failures, "failed")
    if report["left_out"]:
        yield List(report["left_out"], "note")


def warnings_of(environment):
    """Yields the reasons why figures may be unreliable."""
    loads = [load for when in ("load_before", "load_after") for load in environment[when] or []]
    if loads and environment["cores"] and max(loads) > environment["cores"] + 0.5:
        yield (f"The machine was busy: load average {max(loads):.1f} on {environment['cores']} cores. Figures of "
               "several threads and of single runs may be much too high.")


def parts_of(report, pictures, raw="report.json"):
    """`pictures` are {name of a plot: (file, title)}, or None if they could not be drawn."""
    yield from parts_of_head(report)
    if pictures is None:
        yield Text("No plots: matplotlib was not installed when this page was made.", "warning")
    for section in report["sections"]:
        yield from parts_of_section(section, pictures or {})
    yield Heading(2, "Raw data")
    what = "The figures in these tables" if report["is_reduced"] else "All samples"
    yield Text(f"{what} and the environment are in [{raw}]({raw}).")
