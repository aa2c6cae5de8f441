#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Compares each drop-in with a stand-in of its original: times of the cells, and their ratios.

    drop_ins.py [--build DIRECTORY] [--filter REGEX] [--rounds N] [--repetitions N] [--min-time SECONDS] [--json FILE]
                [--check] [DROP-IN...]

A cell is a shape with its arguments and a number n of items. Each round starts a new process for each drop-in, and
repeats all rows in random order, so that sides and cells alternate. The medians over all rounds are compared. A
row is named <shape>/<arguments>/<n>/<side>: see drop_in/cells.hpp.
"""
import argparse
import collections
import json
import os
import re
import statistics
import sys

import argument_types
import google_benchmark
from google_benchmark import number

DROP_INS = ("memory_pool", "boost_intrusive_pool", "ArenaMR", "custAlloc")
SIDES = STAND_IN, DROP_IN = ("stand_in", "drop_in")
# The goals: no cell exceeds this ratio of drop-in to stand-in time, and the geometric mean of the ratios is below 1.
MOST_RATIO = 1.05
REMEDY = "build the target `drop_in_benchmarks` first, or say --build DIRECTORY"


def parse_arguments(argv):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drop_ins", nargs="*", metavar="DROP-IN", help=f"default: all: {' '.join(DROP_INS)}")
    parser.add_argument("--build", default=os.path.join(root, "build", "release", "benchmarks", "drop_in"),
                        help="where the programs are (default: those of the preset `release`)")
    parser.add_argument("--filter", type=argument_types.expression, default=".", metavar="REGEX",
                        help="rows to run, as a regular expression")
    parser.add_argument("--rounds", type=argument_types.count, default=3)
    parser.add_argument("--repetitions", type=argument_types.count, default=3, help="of a row in a round")
    parser.add_argument("--min-time", type=argument_types.seconds, default=0.005,
                        help="seconds for a repetition of a row")
    parser.add_argument("--json", type=argument_types.file_to_write, metavar="FILE", help="write all samples there")
    parser.add_argument("--check", action="store_true",
                        help=f"fail if a cell is above {MOST_RATIO}, or the geometric mean of a drop-in is not below 1")
    arguments = parser.parse_args(argv)
    for name in arguments.drop_ins:
        if name not in DROP_INS:
            parser.error(f"argument DROP-IN: {name!r} is none of {', '.join(DROP_INS)}")
    return arguments


def programs(arguments):
    """Returns {drop-in: path} for the drop-ins that are built."""
    found = {}
    for name in arguments.drop_ins or DROP_INS:
        program = name + "_benchmark"
        if google_benchmark.is_built(arguments.build, program):
            found[name] = os.path.join(arguments.build, program)
        elif name in arguments.drop_ins:
            sys.exit(f"drop_ins.py: {program} is not in {arguments.build}; {REMEDY}")
        else:
            print(f"{name} is left out: there is no {program} in {arguments.build}", file=sys.stderr)
    if not found:
        sys.exit(f"drop_ins.py: there is no program in {arguments.build}; {REMEDY}")
    return found


def nanoseconds(sample):
    """Returns the time per block if the row reports it, and otherwise per iteration."""
    if "per_block" in sample:
        return sample["per_block"] * 1e9
    time = "real_time" if sample["run_name"].endswith("/manual_time") else "cpu_time"
    return sample[time] * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[sample["time_unit"]]


def add_samples(report, cells):
    """Adds the results of a round to {cell: {side: [nanoseconds]}}."""
    for name, sample in google_benchmark.samples(report):
        parts = re.sub("/manual_time$", "", name).split("/")
        if len(parts) != 4 or parts[3] not in SIDES:
            sys.exit(f"drop_ins.py: a row is named {name}, not <shape>/<arguments>/<n>/<{' or '.join(SIDES)}>")
        cells["/".join(parts[:3])][parts[3]].append(nanoseconds(sample))


def measure(name, path, arguments):
    """Returns the context of the program, and {cell: {side: [nanoseconds]}}; (None, {}) if no row matches."""
    cells = collections.defaultdict(lambda: {side: [] for side in SIDES})
    context = None
    for turn in range(arguments.rounds):
        print(f"running {name}, round {turn + 1} of {arguments.rounds} ...", file=sys.stderr, flush=True)
        report = google_benchmark.run(path, arguments.repetitions, arguments.min_time, arguments.filter)
        if report is None:
            return None, {}
        context = report["context"]
        add_samples(report, cells)
    return context, cells


Cell = collections.namedtuple("Cell", "stand_in drop_in ratio")


def natural_order(cell):
    """A sort key that compares numbers by value: every second part of the split is a number."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", cell)]


def compared(cells):
    """Returns {cell: Cell} of medians, for cells with both sides."""
    result = {}
    for name, sides in sorted(cells.items(), key=lambda item: natural_order(item[0])):
        if all(sides.values()):
            stand_in, drop_in = (statistics.median(sides[side]) for side in SIDES)
            result[name] = Cell(stand_in, drop_in, drop_in / max(stand_in, 1e-6))
    return result


def geometric_mean(rows):
    return statistics.geometric_mean(max(row.ratio, 1e-6) for row in rows.values())


def print_line(cells):
    print(cells[0].ljust(48) + "".join(text.rjust(14) for text in cells[1:]))


def print_table(name, rows):
    print_line((name, "stand-in ns", "drop-in ns", "ratio"))
    for cell, row in rows.items():
        print_line((cell, number(row.stand_in), number(row.drop_in), f"{row.ratio:.3f}"))
    print_line(("geometric mean", "", "", f"{geometric_mean(rows):.3f}"))
    print(flush=True)


def missed_goals(name, rows):
    for cell, row in rows.items():
        if row.ratio > MOST_RATIO:
            yield f"{name}: {cell}: the drop-in takes {row.ratio:.3f} times as long as the stand-in, not {MOST_RATIO}"
    if geometric_mean(rows) >= 1:
        yield f"{name}: the geometric mean of the ratios is {geometric_mean(rows):.3f}, not below 1"


def main():
    arguments = parse_arguments(sys.argv[1:])
    told = {}
    measured = {}
    missed = []
    for name, path in programs(arguments).items():
        context, cells = measure(name, path, arguments)
        rows = compared(cells)
        if not rows:
            continue
        if not measured:
            google_benchmark.print_machine(context)
        google_benchmark.print_versions(context, told)
        measured[name] = cells
        print_table(name, rows)
        missed += missed_goals(name, rows)
    if not measured:
        sys.exit(f"drop_ins.py: no cell matches {arguments.filter} with both of its sides")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(measured, out, indent=1)
    print(f"{len(missed)} goals missed" + "".join(f"\n  {goal}" for goal in missed))
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
