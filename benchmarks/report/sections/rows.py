# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Shared by the sections: names of columns, and conversion of rows of Google Benchmark to cells."""
import re

import google_benchmark
import drop_ins

from report.running import Step, attempt

NEW_DELETE = "new_delete"
CORE_TIME = "Core time is elapsed time times the number of cores in use, including time in which threads wait."
# The names of sides in the tables, if different.
SHOWN = {"new_delete": "new/delete", "unsynchronized_pool_resource": "pool_resource",
         "unsynchronized_arena_resource": "arena_resource", "pmr_unsynchronized_pool": "std::pmr pool",
         "pmr_synchronized_pool": "std::pmr pool", "pmr_monotonic_buffer": "std::pmr monotonic",
         "synchronized_pool_resource": "pool_resource", "boost_pool": "boost::pool",
         "boost_object_pool": "boost::object_pool", "foonathan_memory_pool": "foonathan",
         "tbb_memory_pool": "TBB memory_pool", "locked_block_pool": "mutex and block_pool",
         "boost_lockfree_stack": "boost lockfree stack"}


def shown(side):
    return SHOWN.get(side, side)


def split(name):
    """Returns (shape, side, n or None) of a row `<shape>/<side>/<n>`."""
    shape, side, *rest = name.split("/")
    return shape, side, int(rest[0]) if rest and rest[0].isdigit() else None


def record(report, place, measured=drop_ins.nanoseconds):
    """Adds the report of a program. `place(shape, side, n)` returns (table, row, column, x), or None to skip it."""
    for name, sample, failure in google_benchmark.outcomes(report):
        where = place(*split(name))
        if where is None:
            continue
        table, row, column, x = where
        if failure is not None:
            table.fail(row, column, failure, x, is_wrong=True)
        else:
            table.add(row, column, measured(sample), x)


def rows_matching(shapes, side=None):
    """Returns a regular expression that matches the rows."""
    return f"^({'|'.join(map(re.escape, shapes))})/" + (f"{side}(/|$)" if side else "")


def columns_beside_mallocs(setting, sides):
    """Returns the mallocs; and if glibc is among them, the sides that run over it."""
    return [*setting.libraries, *(map(shown, sides) if "glibc" in setting.libraries else ())]


def columns_under(malloc, sides):
    """Returns the columns that a run under that malloc fills: under glibc, also the columns of pools."""
    return [malloc, *sides] if malloc == "glibc" else [malloc]


class BesideMallocs:
    """Rows of one program: new and delete under each malloc, and the other sides, over glibc."""

    def __init__(self, setting, program, tables, sides):
        """`tables` are {shape: Table}; a shape is part of a regular expression, and has no operators."""
        self.setting, self.program, self.tables, self.sides = setting, program, tables, sides

    def place(self, malloc):
        def found(shape, side, n):
            column = malloc if side == NEW_DELETE else shown(side)
            if shape not in self.tables or (side != NEW_DELETE and malloc != "glibc"):
                return None
            return self.tables[shape], self.label(shape, n), column, n
        return found

    def label(self, shape, n):  # pylint: disable=unused-argument
        return f"{n:,}"

    def run(self, malloc, shape, repetitions, min_time, litter=None):
        rows = rows_matching(self.shapes(shape), None if malloc == "glibc" else NEW_DELETE)
        report = self.setting.google(self.program, malloc, rows, repetitions, min_time, litter)
        record(report, self.place(malloc))

    def shapes(self, shape):
        return [shape]

    def steps(self, shape, seconds, repetitions, min_time, litter=None):
        """Returns the steps of a shape, one for each malloc."""
        def step(turn, malloc):
            def run():
                self.run(malloc, shape, repetitions, min_time, litter)
            columns = columns_under(malloc, self.sides)
            heap = ", littered" if litter else ""
            return Step(f"{shape} under {malloc}{heap}, round {turn + 1}", seconds * (3 if malloc == "glibc" else 1),
                        lambda: attempt(self.tables_of(shape), columns, run))
        return [step(turn, malloc) for turn, malloc in self.setting.in_turns()]

    def tables_of(self, shape):
        return [self.tables[shape]]


def command_of(setting, section):
    """Returns the command that measures only this section."""
    words = ["./dev report", *(["--full"] if setting.is_full else []), "--sections", section]
    if setting.wanted is not None:
        words += ["--mallocs", ",".join(setting.wanted)]
    return " ".join(words)
