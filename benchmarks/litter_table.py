#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Shows fresh and littered heaps side by side, as a Markdown table, from the output of race.py --json.

    litter_table.py --fresh FILE... --littered FILE...

Each cell is `fresh / littered`: medians of CPU time, as ratios to the best of the row on a fresh heap. The last line
is the geometric mean of the slow-down, littered / fresh. Rows and mallocs that are not in both, or have failed, are
omitted.
"""
import argparse
import json
import math
import os
import statistics
import sys


def readable(text):
    if not os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a file")
    return text


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, what in (("--fresh", "without --litter"), ("--littered", "with --litter")):
        parser.add_argument(option, type=readable, nargs="+", required=True, metavar="FILE", help=f"races {what}")
    return parser.parse_args(argv)


def medians(paths, is_littered):
    """Returns {row: {malloc: CPU seconds}}."""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            race = json.load(file)
        if (race["litter"] is not None) != is_littered:
            sys.exit(f"litter_table.py: {path} is of a race with{'out' if is_littered else ''} --litter")
        for row, entries in race["rows"].items():
            rows[row] = {name: statistics.median(entry["processor"]) for name, entry in entries.items()
                         if entry["failure"] is None}
    return rows


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def table(fresh, littered):
    """Yields the lines."""
    common = {row: [name for name in fresh[row] if name in littered[row]] for row in fresh if row in littered}
    names = list(dict.fromkeys(name for row in common.values() for name in row))
    yield "| row | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    slowed = {name: [] for name in names}
    for row, present in common.items():
        best = min(fresh[row][name] for name in present)
        cells = dict.fromkeys(names, "")
        for name in present:
            cells[name] = f"{fresh[row][name] / best:.2f} / {littered[row][name] / best:.2f}"
            slowed[name].append(littered[row][name] / fresh[row][name])
        yield f"| {row} | " + " | ".join(cells.values()) + " |"
    yield "| **slow-down** | " + " | ".join(f"{geometric_mean(slowed[name]):.2f}" for name in names) + " |"


def main():
    arguments = parse_arguments(sys.argv[1:])
    print(*table(medians(arguments.fresh, False), medians(arguments.littered, True)), sep="\n")


if __name__ == "__main__":
    main()
