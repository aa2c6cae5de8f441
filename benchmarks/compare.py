#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Runs the benchmark programs and shows each shape as ratios between the sides.

    compare.py [--build DIRECTORY] [--repetitions N] [--min-time SECONDS] [--filter REGEX] [--json FILE] [--check]
               [--mallocs NAME,NAME...] [--litter N ...]

All rows of a program are repeated, in a new random order each time, so that other load on the machine affects all sides
alike. The minimum of the repetitions is compared, because other load can only add time. On a shared core, other load
adds much more to code that keeps the core busy than to code that waits. Medians are in brackets. Rows are named
<shape>/<side>/<n>, where n is the number of blocks, threads or arenas.

With --mallocs, the programs run under each malloc in turn. The malloc is preloaded, and serves new/delete and the
upstream allocations of pools. With --litter, each program starts on a heap on which blocks were allocated and most of
them freed in random order. The goals apply to the malloc of the system on a fresh heap.
"""
import argparse
import collections
import json
import os
import statistics
import sys
import tempfile

import argument_types
import google_benchmark
import litter
import mallocs
from google_benchmark import number

# The goals of --check. The minimum ratio against new/delete, at any n, in the program for this side:
LEAST_RATIOS = {("pair", "block_pool"): 13.3, ("bulk", "block_pool"): 9.0, ("churn", "block_pool"): 9.2,
                ("pair", "concurrent_block_pool"): 8.0, ("bulk", "concurrent_block_pool"): 9.0,
                ("churn", "concurrent_block_pool"): 10.0,
                ("frame_pair", "pooled_frame"): 5.0, ("frame_churn", "pooled_frame"): 5.0,
                ("coroutine", "pooled_frame"): 2.0, ("coroutine_churn", "pooled_frame"): 2.0}
# The maximum ratio to the time of another side, in every row with both:
MOST_RATIOS = {("pair", "concurrent_block_pool", "block_pool"): 1.6, ("pair", "intrusive_pool", "block_pool"): 2.5,
               ("pair", "intrusive_pool", "virtual_recycle"): 0.6, ("pair", "recycling_pool", "virtual_recycle"): 0.6,
               ("shared", "unsynchronized_shared_pool", "make_shared"): 0.333,
               ("map_rounds", "unsynchronized_arena_resource", "pmr_unsynchronized_pool"): 0.7,
               ("map_rounds", "unsynchronized_arena_resource", "sorted_vector_arena"): 0.75,
               ("hinted_map_rounds", "unsynchronized_arena_resource", "pmr_unsynchronized_pool"): 0.7,
               ("hinted_map_rounds", "unsynchronized_arena_resource", "sorted_vector_arena"): 0.75,
               ("map_rounds_reserved", "unsynchronized_arena_resource", "sorted_vector_arena"): 0.75,
               ("allocator_list", "resource_allocator", "polymorphic_allocator"): 0.77,
               ("allocator_map", "resource_allocator", "polymorphic_allocator"): 0.77}
for job in ("list", "map", "unordered_map", "strings"):
    MOST_RATIOS[job, "unsynchronized_pool_resource", "pmr_unsynchronized_pool"] = 0.5
    MOST_RATIOS[job + "_in_threads", "synchronized_pool_resource", "pmr_synchronized_pool"] = 0.5
# The maximum time of a block in nanoseconds, at any n:
MOST_NANOSECONDS = {("sequential_allocation", "object_pool"): 2.0, ("sequential_deallocation", "object_pool"): 2.0,
                    ("pair", "atomic_intrusive_pool"): 8.0}
# Independence of n: the maximum ratio of the time at the largest n to the time at the smallest.
CONSTANT = {("creation", "object_pool"): 4.0, ("deallocate_arenas", "unsynchronized_arena_resource"): 1.5}
# Must be faster than every side of other libraries, in every row with ...
OURS = ("block_pool", "object_pool", "drop_in", "concurrent_block_pool", "counting_concurrent_block_pool",
        "intrusive_pool", "atomic_intrusive_pool", "recycling_pool", "unsynchronized_shared_pool", "shared_pool",
        "unsynchronized_recycling_shared_pool", "unsynchronized_arena_resource", "unsynchronized_pool_resource",
        "synchronized_pool_resource", "resource_allocator", "polymorphic_allocator", "pooled_frame", "resource_frame",
        "handle_pool", "handle_pool_bulk", "concurrent_handle_pool", "concurrent_handle_pool_bulk", "visited")
# ... except these, whose times they may only match: (maximum ratio, minimum number of blocks of a row).
LEVEL = {"plf_colony": (1.15, 1000)}
# Lower bounds: the cost of a row without a pool, or with objects that move. Shown, but not competitors.
NO_POOL = ("bare_array", "one_frame", "slot_map")
AHEAD = {"block_pool_benchmark": "block_pool", "object_pool_benchmark": "object_pool",
         "concurrent_block_pool_benchmark": "concurrent_block_pool", "intrusive_pool_benchmark": "intrusive_pool",
         "shared_pool_benchmark": "unsynchronized_shared_pool",
         "arena_resource_benchmark": "unsynchronized_arena_resource",
         "pool_resource_benchmark": "unsynchronized_pool_resource",
         "synchronized_pool_resource_benchmark": "synchronized_pool_resource",
         "structures_benchmark": "object_pool", "iteration_benchmark": "object_pool",
         "pooled_frame_benchmark": "pooled_frame", "handle_pool_benchmark": "handle_pool"}
# Omitted if they are not built, because Boost, plf_colony.h or coroutines are missing:
OPTIONAL = ("intrusive_pool_benchmark", "iteration_benchmark", "pooled_frame_benchmark")
# A factor for --min-time by program. The system preempts threads for several milliseconds at a time. In a repetition
# that is not much longer, threads may run one after the other without contention, and sharing would seem to be free.
LONGER = {"concurrent_block_pool_benchmark": 4}

FIRST_SIDES = ("new_delete",) + OURS
PROGRAMS = tuple(AHEAD)


def parse_arguments(argv):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(root, "build", "release", "benchmarks"),
                        help="where the programs are (default: those of the preset `release`)")
    parser.add_argument("--repetitions", type=argument_types.count, default=5)
    parser.add_argument("--min-time", type=argument_types.seconds, default=0.005,
                        help="seconds for a repetition of a row")
    parser.add_argument("--filter", type=argument_types.expression, default=".", metavar="REGEX",
                        help="rows to run, as a regular expression")
    parser.add_argument("--json", type=argument_types.file_to_write, metavar="FILE",
                        help="write what the programs reported under each malloc there")
    parser.add_argument("--mallocs", type=mallocs.names_among(mallocs.all_names()), default="glibc",
                        metavar="NAME,NAME...", help=f"of {', '.join(mallocs.all_names())} (default: %(default)s)")
    litter.add_arguments(parser)
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    return parser.parse_args(argv)


def run(program, library, arguments, timeout=None):
    """Runs the program under a malloc: a library to preload, or None for the malloc of the system."""
    preloaded = [library] if library else []
    with tempfile.TemporaryDirectory(prefix="compare-") as scratch:
        report = os.path.join(scratch, "litter")
        environment = {}
        if arguments.litter:
            preloaded.insert(0, litter.library(os.path.join(arguments.build, "np_alloc")))
            environment = litter.environment(arguments, report)
        result = google_benchmark.run(os.path.join(arguments.build, program), arguments.repetitions,
                                      arguments.min_time * LONGER.get(program, 1), arguments.filter,
                                      {**environment, "LD_PRELOAD": ":".join(preloaded)}, timeout)
        if arguments.litter and litter.cost(report) is None:
            raise google_benchmark.Failure(f"the heap of {program} was not littered")
    return result


Row = collections.namedtuple("Row", "median least")


def rows_of(report):
    """Returns {(shape, n): {side: Row}}, in nanoseconds per block."""
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, sample in google_benchmark.samples(report):
        shape, side, *rest = name.split("/")
        n = int(rest[0]) if rest and rest[0].isdigit() else 1
        samples[shape, n][side].append(sample["per_block"] * 1e9)
    return {key: {side: Row(statistics.median(times), min(times)) for side, times in sides.items()}
            for key, sides in samples.items()}


def against(reference, row):
    return "" if reference is None else number(reference.least / row.least)


def rank(side):
    return (FIRST_SIDES.index(side) if side in FIRST_SIDES else len(FIRST_SIDES), side)


def in_order(rows):
    """Returns the items of `rows`: shapes in order of appearance, each sorted by number of blocks."""
    shapes = list(dict.fromkeys(shape for shape, _ in rows))
    return sorted(rows.items(), key=lambda item: (shapes.index(item[0][0]), item[0][1]))


def print_table(rows, ours):
    widths = (34, 32, 20, 14, 14)
    titles = ("shape/n", "side", "ns a block [median]", "x new/delete", f"x {ours}")
    print("".join(title.ljust(width) for title, width in zip(titles, widths)).rstrip())
    for (shape, n), sides in in_order(rows):
        for side in sorted(sides, key=rank):
            row = sides[side]
            cells = (f"{shape}/{n}", side, f"{number(row.least)} [{number(row.median)}]",
                     against(sides.get("new_delete"), row), against(sides.get(ours), row))
            print("".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())


def print_beside(rows_under):
    """Shows rows under several mallocs side by side. rows_under: {malloc: {(shape, n): {side: Row}}}"""
    print("ns a block (x new/delete under the same malloc)")
    print("".join(["shape/n".ljust(24), "side".ljust(32), *(name.ljust(16) for name in rows_under)]).rstrip())
    for (shape, n), sides in in_order(next(iter(rows_under.values()))):
        for side in sorted(sides, key=rank):
            cells = [f"{shape}/{n}".ljust(24), side.ljust(32)]
            for rows in rows_under.values():
                row, reference = rows[shape, n][side], rows[shape, n].get("new_delete")
                ratio = f" ({against(reference, row)})" if reference else ""
                cells.append(f"{number(row.least)}{ratio}".ljust(16))
            print("".join(cells).rstrip())


def missed_goals(rows, ours):
    for (shape, n), sides in sorted(rows.items()):
        for side, row in sides.items():
            least = LEAST_RATIOS.get((shape, side)) if side == ours else None
            if least is not None and "new_delete" in sides and sides["new_delete"].least < least * row.least:
                yield (f"{shape}/{n}: {side} is {number(sides['new_delete'].least / row.least)} times as fast as "
                       f"new/delete, not {least}")
            most = MOST_NANOSECONDS.get((shape, side))
            if most is not None and row.least > most:
                yield f"{shape}/{n}: {side} takes {number(row.least)} ns a block, not {most}"
            max_times, min_blocks = LEVEL.get(side, (1, 0))
            is_competitor = ours in sides and side not in OURS + NO_POOL and n >= min_blocks
            if is_competitor and max_times * row.least < sides[ours].least:
                yield (f"{shape}/{n}: {ours} takes {number(sides[ours].least)} ns a block, "
                       f"{side} {number(row.least)}")
        for (limited, side, other), most in MOST_RATIOS.items():
            if limited == shape and side in sides and other in sides and sides[side].least > most * sides[other].least:
                yield (f"{shape}/{n}: {side} takes {number(sides[side].least / sides[other].least)} times as long as "
                       f"{other}, not {most}")
    for (shape, side), most in CONSTANT.items():
        times = [sides[side].least for (s, _), sides in sorted(rows.items()) if s == shape and side in sides]
        if times and times[-1] > most * times[0]:
            yield f"{shape}: {side} takes {number(times[0])} ns for the smallest n, {number(times[-1])} for the largest"


def require_programs(arguments):
    for program in PROGRAMS:
        if program not in OPTIONAL and not google_benchmark.is_built(arguments.build, program):
            sys.exit(f"compare.py: {program} is not in {arguments.build}; build the target `benchmarks` first, or say "
                     "--build DIRECTORY")
    if arguments.litter:
        litter.require_library(os.path.join(arguments.build, "np_alloc"))


def run_all(program, libraries, arguments):
    """Runs a program under each malloc. Returns {malloc: report}, empty if no row matches."""
    reports = {}
    for name, library in libraries.items():
        print(f"running {program} under {name} ...", file=sys.stderr, flush=True)
        report = run(program, library, arguments)
        if report is not None:
            reports[name] = report
    return reports


def print_tables(rows_under, ours):
    if len(rows_under) > 1:
        print_beside(rows_under)
    else:
        print_table(*rows_under.values(), ours)
    print(flush=True)


def main():
    arguments = parse_arguments(sys.argv[1:])
    require_programs(arguments)
    libraries = mallocs.entrants(arguments.mallocs, os.path.join(arguments.build, os.pardir))
    if not libraries:
        sys.exit("compare.py: there is no malloc to run")
    reports = {}
    told = {}
    missed = []
    for program, ours in AHEAD.items():
        program_reports = (run_all(program, libraries, arguments)
                       if google_benchmark.is_built(arguments.build, program) else {})
        if not program_reports:
            continue
        program_context = next(iter(program_reports.values()))["context"]
        if not reports:
            google_benchmark.print_machine(program_context)
            for name, library in libraries.items():
                print(f"malloc     {name}{f', {library}' if library else ''}")
            if arguments.litter:
                print(f"litter     {litter.described(arguments)}")
        google_benchmark.print_versions(program_context, told)
        reports[program] = program_reports
        rows_under = {name: rows_of(report) for name, report in program_reports.items()}
        print_tables(rows_under, ours)
        # The goals apply to a fresh heap of the malloc of the system.
        if "glibc" in rows_under and not arguments.litter:
            missed += missed_goals(rows_under["glibc"], ours)
    if not reports:
        sys.exit(f"compare.py: no row matches {arguments.filter}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(reports, out, indent=1)
    print(f"{len(missed)} goals missed" + "".join(f"\n  {goal}" for goal in missed))
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
