#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Runs returning_patterns under several mallocs, and shows the savings of a pool over plain malloc.

    returning_patterns.py [--program PROGRAM] [--repetitions N] [--items N] [--steps N,N...] [--mallocs NAME,NAME...]
                          [--csv FILE] [--plots DIRECTORY] [--check]

Each measurement runs in a separate process, and the sides have a new random order in each repetition. The results are
the minima of all rounds of all repetitions, in nanoseconds per object; in brackets, the savings over plain malloc. A
step of 0 is the default of the pool. For the states, see returning_patterns.cpp; `faults` are page faults per object in
state `new`.
"""
import argparse
import collections
import csv
import os
import random
import subprocess
import sys

import argument_types
import google_benchmark
import mallocs

MALLOCS = ("glibc", "jemalloc", "tcmalloc")
STATES = ("first", "new", "whole", "reused")
STEPS = (0, 1, 10, 50, 100, 500, 1000, 5000, 10000)
# With some mallocs, a step of one object takes microseconds per object. More repetitions add no information.
SLOW_STEPS, SLOW_REPETITIONS = 10, 2
PLAIN, BARE, OLD, POOL = "plain_malloc", "bare_array", "virtual_recycle", "recycling_pool"
WITHOUT_STEPS = (PLAIN, BARE)
COLOURS = {PLAIN: "black", BARE: "grey", "intrusive_pool": "tab:blue", POOL: "tab:green", OLD: "tab:orange"}

# The goals of --check: the savings over plain malloc in per cent, at the best step of the pool, ...
LEAST_SAVED = {("continuous", "glibc"): 44, ("continuous", "jemalloc"): 76, ("continuous", "tcmalloc"): 67,
               ("mixed", "glibc"): 40, ("mixed", "jemalloc"): 53, ("mixed", "tcmalloc"): 73}
# ... and the ratio to the time of OLD at its best step.
MOST_OF_OLD = 0.6
CHECKED_STATES = ("new", "reused")

Sample = collections.namedtuple("Sample", "nanoseconds faults")


def parse_arguments(argv):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(root, "build", "release", "benchmarks", "returning_patterns"),
                        help="default: the program of the preset `release`")
    parser.add_argument("--repetitions", type=argument_types.count, default=5)
    parser.add_argument("--items", type=argument_types.count, default=100000, help="objects in a round")
    parser.add_argument("--steps", type=argument_types.steps, default=list(STEPS), metavar="STEP,STEP...",
                        help="objects that a pool grows by")
    parser.add_argument("--mallocs", type=mallocs.names_among(MALLOCS), default=",".join(MALLOCS))
    parser.add_argument("--csv", type=argument_types.file_to_write, metavar="FILE", help="write the least times there")
    parser.add_argument("--plots", metavar="DIRECTORY", help="write a picture for each malloc and pattern there")
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    return parser.parse_args(argv)


def run(program, library, arguments, timeout=None):
    """Raises Failure if the program fails, or takes more than `timeout` seconds."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if library is not None:
        environment["LD_PRELOAD"] = library
    try:
        result = subprocess.run([program, *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise google_benchmark.Failure(f"{os.path.basename(program)} took more than {timeout:g} s") from None
    if result.returncode != 0 or result.stderr:
        raise google_benchmark.Failure(f"{program} {arguments} failed:\n{result.stderr}")
    return [line.split() for line in result.stdout.splitlines()]


def measure(arguments, libraries, tell=mallocs.say, timeout=None):
    """Returns {(malloc, pattern, side, step, state): Sample}, the minimum of each. `timeout` applies per process."""
    listed = run(arguments.program, None, [], timeout)
    patterns = [name for kind, name in listed if kind == "pattern"]
    sides = [name for kind, name in listed if kind == "side"]
    least = {}
    for repetition in range(arguments.repetitions):
        tell(f"repetition {repetition + 1} of {arguments.repetitions} ...")
        jobs = [(malloc, pattern, side, step) for malloc in libraries for pattern in patterns for side in sides
                for step in ([0] if side in WITHOUT_STEPS else arguments.steps)
                if not 0 < step <= SLOW_STEPS or repetition < SLOW_REPETITIONS]
        random.shuffle(jobs)
        for malloc, pattern, side, step in jobs:
            for state, nanoseconds, faults in run(arguments.program, libraries[malloc],
                                                  [pattern, side, step, arguments.items], timeout):
                key = malloc, pattern, side, step, state
                sample = Sample(float(nanoseconds), float(faults))
                least[key] = min(sample, least.get(key, sample))
    # Plain malloc has no pool, so there are no states `new` and `reused`.
    for malloc in libraries:
        for pattern in patterns:
            later = min(least[malloc, pattern, PLAIN, 0, state] for state in STATES[1:])
            for state in STATES[1:]:
                least[malloc, pattern, PLAIN, 0, state] = later
    return least


def saved(least, malloc, pattern, side, step, state):
    plain = least[malloc, pattern, PLAIN, 0, state].nanoseconds
    return 100 * (1 - least[malloc, pattern, side, step, state].nanoseconds / plain)


def ordered(least, position):
    return list(dict.fromkeys(key[position] for key in sorted(least, key=lambda key: key[3])))


def groups(least):
    """Returns (malloc, pattern) pairs, in the order of MALLOCS."""
    pairs = {key[:2] for key in least}
    return sorted(pairs, key=lambda pair: (MALLOCS.index(pair[0]), pair[1]))


def print_tables(least):
    for malloc, pattern in groups(least):
        print(f"{malloc}, {pattern}")
        print("  side".ljust(20) + "step".rjust(6) + "".join(state.rjust(16) for state in STATES) + "faults".rjust(9))
        for side in COLOURS:
            for step in sorted({key[3] for key in least if key[:3] == (malloc, pattern, side)}):
                cells = []
                for state in STATES:
                    time = least[malloc, pattern, side, step, state].nanoseconds
                    less = "" if side == PLAIN else f" [{saved(least, malloc, pattern, side, step, state):.0f} %]"
                    cells.append(f"{time:.0f}{less}".rjust(16))
                print(f"  {side}".ljust(20) + str(step).rjust(6) + "".join(cells) +
                      f"{least[malloc, pattern, side, step, 'new'].faults:9.3f}")
        print()


def best(least, malloc, pattern, side, state):
    """Returns the minimum over all steps."""
    return min(sample.nanoseconds for key, sample in least.items()
               if key[:3] == (malloc, pattern, side) and key[4] == state)


def missed_goals(least):
    """Prints the best step of each side, and yields missed goals."""
    print("best step of each, ns".ljust(34) + "".join(side.rjust(17) for side in COLOURS) + "saved".rjust(9) +
          "goal".rjust(6) + f" x {OLD}")
    for malloc, pattern in groups(least):
        for state in CHECKED_STATES:
            times = {side: best(least, malloc, pattern, side, state) for side in COLOURS}
            goal = LEAST_SAVED[pattern, malloc]
            less = 100 * (1 - times[POOL] / times[PLAIN])
            ratio = times[POOL] / times[OLD]
            print(f"{malloc}, {pattern}, {state}".ljust(34) + "".join(f"{times[side]:17.0f}" for side in COLOURS) +
                  f"{less:7.0f} %{goal:6}{ratio:8.2f}")
            if less < goal:
                yield f"{malloc}, {pattern}, {state}: {POOL} takes {less:.0f} % less than plain malloc, not {goal} %"
            if ratio > MOST_OF_OLD:
                yield (f"{malloc}, {pattern}, {state}: "
                       f"{POOL} takes {ratio:.2f} times as long as {OLD}, not {MOST_OF_OLD}")


def write_csv(least, path):
    with open(path, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["malloc", "pattern", "side", "step", "state", "nanoseconds", "faults"])
        rows.writerows([*key, *sample] for key, sample in sorted(least.items()))


def write_plots(least, directory):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker
    os.makedirs(directory, exist_ok=True)
    for malloc, pattern in groups(least):
        figure, axes = pyplot.subplots(figsize=(8, 4))
        for side, colour in COLOURS.items():
            for state, style in (("new", "-"), ("reused", "--")):
                points = sorted((key[3], sample.nanoseconds) for key, sample in least.items()
                                if key[:3] == (malloc, pattern, side) and key[4] == state and key[3] != 0)
                if side in WITHOUT_STEPS and (side, state) != (PLAIN, "reused"):
                    axes.axhline(least[malloc, pattern, side, 0, state].nanoseconds, linestyle=style, color=colour,
                                 label=side if side == PLAIN else f"{side}, {state}")
                elif side not in WITHOUT_STEPS:
                    axes.plot(*zip(*points), style, marker=".", color=colour, label=f"{side}, {state}")
        axes.set(xscale="log", yscale="log", xlabel="objects that the pool grows by", ylabel="ns for an object",
                 title=f"{pattern}, {malloc}")
        axes.xaxis.set_major_formatter(ticker.FuncFormatter("{:,.0f}".format))
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter("{:,g}".format))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
        figure.tight_layout()
        figure.savefig(os.path.join(directory, f"{pattern}_{malloc}.png"), dpi=80)
        pyplot.close(figure)


def main():
    arguments = parse_arguments(sys.argv[1:])
    if not os.access(arguments.program, os.X_OK):
        sys.exit(f"returning_patterns.py: there is no {arguments.program}; build the target `benchmarks` first")
    if arguments.plots:
        try:
            import matplotlib  # To fail before the measurement.
            del matplotlib
        except ImportError:
            sys.exit(f"returning_patterns.py: {sys.executable} has no matplotlib, which --plots needs (Debian package: "
                     "python3-matplotlib)")
    least = measure(arguments, mallocs.installed(arguments.mallocs))
    print_tables(least)
    missed = list(missed_goals(least))
    if arguments.csv:
        write_csv(least, arguments.csv)
    if arguments.plots:
        write_plots(least, arguments.plots)
    print(f"{len(missed)} goals missed" + "".join(f"\n  {goal}" for goal in missed))
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
