# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The five originals: the tables that each publishes, next to measurements of its drop-in and of a stand-in,
which reimplements its algorithm."""
import collections
import os

import drop_ins
import google_benchmark
import race

from report import model, published
from report.running import Plan, Step, attempt, attempt_rows
from report.sections import patterns, rows

STAND_IN, DROP_IN = "stand-in", "drop-in"
SIDES = {"stand_in": STAND_IN, "drop_in": DROP_IN}
# The cells of a quick report, as a regular expression; the seconds of a repetition; the expected seconds of all cells.
# Where threads contend, a repetition must be longer than a preemption.
Cells = collections.namedtuple("Cells", "quick min_time seconds unit note")
CELLS = {
    "memory_pool": Cells("/16/(8|512|32768)/", 0.005, 10, "ns for an object, or for a pool",
                         "A cell is shape/bytes of an object/objects in the pool. Creation and destruction are of a "
                         "pool."),
    "boost_intrusive_pool": Cells("/64/1000/", 0.005, 5, "ns for 100,000 items",
                                  "A cell is pattern/bytes of an item/items that the pool grows by."),
    "ArenaMR": Cells("/(list|map|strings|vector)/(5000|10000)/", 0.005, 3, "ns for ten rounds",
                     "A cell is shape/container/elements, which are filled in and cleared in each round."),
    "custAlloc": Cells(".", 0.05, 10, "ns of core time for a block",
                       "A cell is shape/threads that share the pool/blocks that each has at one time.")}
TITLES = {"memory_pool": "memory_pool", "boost_intrusive_pool": "boost-intrusive-pool", "ArenaMR": "ArenaMR",
          "custAlloc": "poolAllocator"}
TABLES_OF_NP_ALLOC = {"random": "100 to 8,100 bytes", "small": "50 to 300 bytes", "big": "5,000 to 7,500 bytes"}
PUBLISHED = "published"
PUBLISHED_SIZES = (8, 512, 32768)


def cells_table(setting, name):
    chosen = CELLS[name]
    command = f"./dev bench drop-ins {name} --min-time {chosen.min_time}"
    if not setting.is_full and chosen.quick != ".":
        command += f" --filter '{chosen.quick}'"
    notes = [chosen.note, "In brackets, how many times as fast as the stand-in: the algorithm of the original, "
             "reimplemented. Medians; both alternate in one process."]
    return model.Table(f"original_{name}", f"{TITLES[name]}: drop-in and stand-in", chosen.unit, command,
                       [STAND_IN, DROP_IN], reference=STAND_IN, heading="cell", notes=notes)


def run_cells(setting, table, name):
    path = setting.program("drop_in", f"{name}_benchmark")
    if not google_benchmark.is_built(*os.path.split(path)):
        raise race.Failure(f"there is no {name}_benchmark in the directory of the drop-ins; build the target "
                           "`benchmark_report`")
    setting.require_malloc("glibc", [path, "--benchmark_list_tests"])
    wanted = "." if setting.is_full else CELLS[name].quick
    report = google_benchmark.run(path, 3, CELLS[name].min_time, wanted, timeout=setting.timeout)
    if report is None:
        raise race.Failure(f"no row of {name}_benchmark matches {wanted}")
    for row, sample, failure in google_benchmark.outcomes(report):
        *cell, side = row.replace("/manual_time", "").split("/")
        if side not in SIDES:
            raise race.Failure(f"a row is named {row}, not <shape>/<arguments>/<n>/<{' or '.join(SIDES)}>")
        if failure is None:
            table.add("/".join(cell), SIDES[side], drop_ins.nanoseconds(sample))
        else:
            table.fail("/".join(cell), SIDES[side], failure, is_wrong=True)


# --- The tables of the original memory_pool

def objects_table():
    return model.Table("original_memory_pool_published", "memory_pool: its tables, and ours",
                       "ns for an object; for a pool in the rows creation and destruction",
                       "./dev bench drop-ins memory_pool --filter '/16/'",
                       [PUBLISHED, STAND_IN, DROP_IN], reference=STAND_IN, heading="shape/objects", apart=[PUBLISHED],
                       is_reduced=True,
                       notes=["Published: on an Apple M1, divided by the number of objects where they are allocated or "
                              "freed. Here: objects of 16 bytes; in brackets, how many times as fast as the stand-in. "
                              "Compare how a column grows, not the published one with the others."])


def compare_objects(table, cells):
    for shape, figures in published.MEMORY_POOL.items():
        for n in PUBLISHED_SIZES:
            label = f"{shape}/{n}"
            figure = figures[published.SIZES.index(n)]
            table.add(label, PUBLISHED, figure / n if shape.endswith("allocation") else figure)
            take_over(table, label, cells, f"{shape}/16/{n}", {side: side for side in (STAND_IN, DROP_IN)})


def take_over(table, label, cells, cell, columns):
    """Adds the samples or the failure of a cell of a drop-in; `columns` are {side of the cell: column of the table}."""
    row = model.row_of(cells, cell) or {"cells": {}}
    for side, column in columns.items():
        found = model.cell_of(cells, row, side) or {"samples": []}
        if "failure" in found:
            table.fail(label, column, found["failure"], is_wrong=found["is_wrong"])
        for sample in found.get("samples", []):
            table.add(label, column, sample)


def cells_steps(setting, tables):
    def step(name, turn):
        seconds = CELLS[name].seconds * setting.at_most(1, 6)
        return Step(f"{TITLES[name]}, round {turn + 1}", seconds, lambda: attempt(
            [tables[name]], [STAND_IN, DROP_IN], lambda: run_cells(setting, tables[name], name)))
    return [step(name, turn) for name in tables for turn in range(setting.at_most(1, 2))]


# --- Tables of ratios: a published row, and the measured one

def arena_table():
    return model.Table("original_ArenaMR_published", "ArenaMR: its benchmarks 1 and 2, and ours",
                       "times the best of the row", "./dev bench '^(map_rounds|map_rounds_reserved)/'",
                       ["new/delete", "std::pmr pool", "std::pmr monotonic", "ArenaMR (stand-in)", "arena_resource"],
                       shows="ratio", heading="benchmark", is_reduced=True,
                       notes=["Published: with GCC 11 on Rocky Linux; figures of the original are in the column of "
                              "its stand-in. Here: ten times 100,000 insertions into a std::pmr::map, which is then "
                              "cleared; in benchmark 2, all memory was reserved before. "
                              "Least of the repetitions."], statistic="least")


ARENA_SIDES = {"new_delete": "new/delete", "pmr_unsynchronized_pool": "std::pmr pool",
               "pmr_monotonic_buffer": "std::pmr monotonic", "sorted_vector_arena": "ArenaMR (stand-in)",
               "unsynchronized_arena_resource": "arena_resource"}
ARENA_SHAPES = {"map_rounds": "benchmark 1, here", "map_rounds_reserved": "benchmark 2, here"}


def run_arenas(setting, table):
    for name, figures in published.ARENA_MR.items():
        for side, figure in figures.items():
            table.add(f"benchmark {name[-1]}, published", "ArenaMR (stand-in)" if side == "ArenaMR" else side, figure)
        table.row(f"benchmark {name[-1]}, here")
    report = setting.google("arena_resource_benchmark", "glibc", rows.rows_matching(ARENA_SHAPES),
                            setting.at_most(3, 15), setting.at_most(0.005, 0.02))
    rows.record(report, lambda shape, side, n: (table, ARENA_SHAPES[shape], ARENA_SIDES[side], None)
                if side in ARENA_SIDES else None)


def pool_table():
    return model.Table("original_custAlloc_published", "poolAllocator: its three benchmarks, and ours",
                       "times the best of the row", "./dev bench drop-ins custAlloc; ./dev bench '^(pair|bulk|churn)/'",
                       ["new/delete", "PoolAllocator (stand-in)", "PoolAllocator (drop-in)", "block_pool"],
                       shows="ratio", heading="benchmark", is_reduced=True,
                       notes=["Published: on an Intel Core i7-9700K; figures of the original are in the column of its "
                              "stand-in. Here, the drop-in runs beside the stand-in in one program, and block_pool "
                              "beside new and delete in another: in each of them, sides alternate."])


POOL_SHAPES = {"pair": "single", "bulk": "bulk", "churn": "churn"}
POOL_CELLS = {"single": "single/1_thread/1", "bulk": "bulk/1_thread/10000", "churn": "churn/1_thread/1000"}


def run_pools(setting, table, cells):
    for shape, (pool, new_delete) in published.POOL_ALLOCATOR.items():
        table.add(f"{shape}, published", "PoolAllocator (stand-in)", pool)
        table.add(f"{shape}, published", "new/delete", new_delete)
        take_over(table, f"{shape}, here, drop-in", cells.data, POOL_CELLS[shape],
                  {side: f"PoolAllocator ({side})" for side in (STAND_IN, DROP_IN)})
        table.row(f"{shape}, here, block_pool")
    report = setting.google("block_pool_benchmark", "glibc", "^(pair|bulk|churn)/(new_delete|block_pool)",
                            setting.at_most(3, 9), 0.005)
    rows.record(report, lambda shape, side, n: (table, f"{POOL_SHAPES[shape]}, here, block_pool", rows.shown(side),
                                                None))


def np_alloc_table(setting):
    return model.Table("original_np_alloc", "np_alloc: its six tables, and ours", "times the best of the row",
                       "./dev bench race --filter '^six_tables$'", ["np_alloc (original)", *setting.libraries],
                       shows="ratio", heading="sizes, threads", is_reduced=True,
                       notes=["Published: on two Xeon X5570 with Windows 10, against the malloc there, which is in "
                              "the column glibc. Here: wall time of each table in one process, one after the other; "
                              "median of the rounds. np_alloc is the malloc of this library."])


def run_np_alloc(setting, table):
    for name, (malloc, np_alloc) in published.NP_ALLOC.items():
        table.add(f"{label_of(name)}, published", "glibc", malloc)
        table.add(f"{label_of(name)}, published", "np_alloc (original)", np_alloc)
        table.row(f"{label_of(name)}, here")
    words = ["--build", setting.program("np_alloc"), f"--rounds={setting.rounds}", "--warm=256",
             f"--timeout={setting.timeout}"]
    row = race.race_rows.workloads(setting.program("np_alloc"))["six_tables"]
    for malloc, entry in race.run_row(row, setting.libraries, race.parse_arguments(words)).items():
        for name in published.NP_ALLOC if entry.failure is not None else ():
            table.fail(f"{label_of(name)}, here", malloc, entry.failure, is_wrong="its output is not" in entry.failure)
        for run in entry.runs if entry.failure is None else ():
            figures = race.figures_of(run.output)
            for name in published.NP_ALLOC:
                table.add(f"{label_of(name)}, here", malloc, figures[f"{name}_us"] / 1e6)


def label_of(name):
    sizes, _, threads = name.partition("_")
    return f"{sizes}: {TABLES_OF_NP_ALLOC[sizes]}, {'50 threads' if threads == 'many' else '1 thread'}"


# --- Summary

def summary_table(setting):
    return model.Table("originals_summary", "Each drop-in against its stand-in", "times as long, geometric mean",
                       rows.command_of(setting, "originals"), ["drop-in / stand-in"], heading="original",
                       is_reduced=True,
                       notes=["Below 1, the drop-in is faster. A quick report has some cells, --full all of them. The "
                              "fifth original, np_alloc, has no stand-in: its table is the last one here."])


def summarize(table, tables):
    """If a cell has failed, the mean has failed, too: without that cell, the mean would not be comparable."""
    for name, cells in tables.items():
        failed = list(model.failures_in(cells.data))
        pairs = [model.values_of(cells.data, row) for row in cells.data["rows"]]
        ratios = [pair[DROP_IN] / max(pair[STAND_IN], 1e-6) for pair in pairs if DROP_IN in pair and STAND_IN in pair]
        if ratios and failed:
            what, reason = failed[0]
            table.fail(TITLES[name], "drop-in / stand-in", f"{what}: {reason.removeprefix('wrong: ')}",
                       is_wrong=reason.startswith("wrong: "))
        elif ratios:
            table.add(TITLES[name], "drop-in / stand-in", drop_ins.statistics.geometric_mean(
                max(ratio, 1e-6) for ratio in ratios))
        else:
            table.fail(TITLES[name], "drop-in / stand-in", "no cell has run with both of its sides")


def plan(setting):
    cells = {name: cells_table(setting, name) for name in drop_ins.DROP_INS}
    summary, objects, arenas, pools, np_alloc = (summary_table(setting), objects_table(), arena_table(), pool_table(),
                                                 np_alloc_table(setting))
    large, large_steps = patterns.parts(setting)
    steps = cells_steps(setting, cells)
    steps += large_steps
    # If a measurement fails, the published figures in the same table stay.
    here = [f"{label_of(name)}, here" for name in published.NP_ALLOC]
    here_pools = [f"{shape}, here, block_pool" for shape in POOL_SHAPES.values()]
    for label, seconds, run in (
            ("memory_pool, its tables", 0.1, lambda: compare_objects(objects, cells["memory_pool"].data)),
            ("ArenaMR, its benchmarks", 5, lambda: attempt_rows(
                [arenas], ARENA_SHAPES.values(), ARENA_SIDES.values(), lambda: run_arenas(setting, arenas))),
            ("poolAllocator, its benchmarks", 3, lambda: attempt_rows(
                [pools], here_pools, ["new/delete", "block_pool"],
                lambda: run_pools(setting, pools, cells["custAlloc"]))),
            ("np_alloc, its tables", 12 * setting.rounds, lambda: attempt_rows(
                [np_alloc], here, list(setting.libraries), lambda: run_np_alloc(setting, np_alloc)))):
        steps.append(Step(label, seconds * setting.at_most(1, 2), run))
    steps.append(Step("summary", 0.1, lambda: summarize(summary, cells)))
    text = ("Programs written for five older libraries compile unchanged with the drop-ins of this one. For each, the "
            "tables that its authors publish, and the same shapes measured here. A stand-in is the algorithm of the "
            "original, reimplemented, so that both run on one machine.")
    tables = [summary, objects, cells["memory_pool"], *large, cells["boost_intrusive_pool"], arenas, cells["ArenaMR"],
              pools, cells["custAlloc"], np_alloc]
    return Plan(model.section("originals", "The five originals", text, tables), steps,
                [*cells.values(), *large[1:]])
