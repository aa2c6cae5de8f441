# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Pools, arenas and mallocs on fresh heaps and on littered ones: data structures, and the rows of the race."""
import os
import shutil

import litter
import race
import race_rows

from report import model
from report.running import Plan, Step, attempt_rows
from report.sections import rows

PROGRAM = "structures_benchmark"
SIDES = ("object_pool", "unsynchronized_arena_resource", "unsynchronized_pool_resource", "pmr_unsynchronized_pool")
STRUCTURES = ("hash_table", "list", "filled_pool")
LITTER = 1000000
HEAPS = {"fresh": None, "littered": LITTER}
QUICK_ROWS = ("pairs", "server", "producer_consumer", "tree", "python", "perl")
WARM = 256
# The expected seconds of a row, for the trial and each round, with all mallocs.
ROW_SECONDS = 3
# Fields of a run of the race, titles, and the unit of the best.
METRICS = {"cpu": ("processor", "CPU time", ["s", 1]), "memory": ("kilobytes", "peak memory", ["MiB", 1024])}


class Structures(rows.BesideMallocs):
    """The rows of all structures are in one table."""

    def label(self, shape, n):
        return f"{shape}/{n}"

    def shapes(self, shape):
        return STRUCTURES

    def tables_of(self, shape):
        return [self.tables[STRUCTURES[0]]]


def structures_table(setting, heap):
    command = "./dev bench '^(hash_table|list|filled_pool)/'" + (f" --litter {LITTER}" if HEAPS[heap] else "")
    command += f" --mallocs {','.join(setting.libraries)}"
    return model.Table(f"structures_{heap}", f"Data structures, {heap} heap", "ns for a node", command,
                       rows.columns_beside_mallocs(setting, SIDES), statistic="least", heading="structure/nodes",
                       is_reduced=True,
                       notes=["Minimum of all repetitions. Each repetition builds and destroys a structure with its "
                              "pool. new and delete use each malloc, preloaded; pools and arenas use glibc."])


def race_table(setting, heap, metric):
    _, title, best = METRICS[metric]
    rounds = setting.rounds
    command = f"./dev bench race --rounds {rounds} --warm {WARM}" + (f" --litter {LITTER}" if HEAPS[heap] else "")
    if not setting.is_full:
        command += f" --filter '^({'|'.join(QUICK_ROWS)})$'"
    return model.Table(f"race_{metric}_{heap}", f"Programs, {heap} heap: {title}", "times the best malloc of the row",
                       command, list(setting.libraries), shows="ratio", heading="program",
                       is_reduced=(metric, heap) != ("memory", "littered"), best=best,
                       notes=["Median of the rounds, in which the mallocs take turns. A program has failed if its "
                              "output differs from that under the other mallocs, or if it runs under another malloc."])


def structures_steps(setting):
    """Returns ({heap: table}, steps)."""
    tables, steps = {}, []
    for heap, blocks in HEAPS.items():
        tables[heap] = structures_table(setting, heap)
        beside = Structures(setting, PROGRAM, dict.fromkeys(STRUCTURES, tables[heap]), list(map(rows.shown, SIDES)))
        steps += beside.steps("structures", setting.at_most(1.5, 6), setting.at_most(2, 5),
                              setting.at_most(0.005, 0.02), blocks)
    return tables, steps


def race_arguments(setting, blocks):
    words = ["--build", setting.program("np_alloc"), f"--rounds={setting.rounds}", f"--warm={WARM}",
             f"--timeout={setting.timeout}"]
    return race.parse_arguments(words + ([f"--litter={blocks}"] if blocks else []))


def race_row(setting, name, row, heap, tables, tried):
    """A row that has run under each malloc on one heap needs no trials on the other heap."""
    entries = race.run_row(row, setting.libraries, race_arguments(setting, HEAPS[heap]), name in tried)
    if all(entry.failure is None for entry in entries.values()):
        tried.add(name)
    for metric, (field, _, _) in METRICS.items():
        table = tables[f"race_{metric}_{heap}"]
        for malloc, entry in entries.items():
            if entry.failure is not None:
                table.fail(name, malloc, entry.failure, is_wrong="its output is not" in entry.failure)
                continue
            for run in entry.runs:
                table.add(name, malloc, getattr(run, field))


def chosen_rows(setting):
    """Returns ({name: row}, omissions)."""
    arguments = race.parse_arguments(["--build", setting.program("np_alloc")])
    everything = {**race_rows.workloads(arguments.build), **race_rows.programs()}
    wanted = [name for name in everything if setting.is_full or name in QUICK_ROWS]
    there = {name: everything[name] for name in wanted
             if name in race_rows.ROWS or shutil.which(everything[name].command[0])}
    return there, [f"{name} is left out: there is no {everything[name].command[0]}" for name in wanted
                   if name not in there]


def race_steps(setting, tables):
    """Returns the steps and the omissions."""
    chosen, left_out = chosen_rows(setting)
    tried = set()
    seconds = ROW_SECONDS * (setting.rounds + 1) * len(setting.libraries) / 6

    def step(name, row, heap):
        def run():
            if HEAPS[heap] and not os.path.isfile(litter.library(setting.program("np_alloc"))):
                raise race.Failure("there is no litter.so in the directory of the programs")
            race_row(setting, name, row, heap, tables, tried)
        tables_of_heap = [tables[f"race_{metric}_{heap}"] for metric in METRICS]
        return Step(f"{name} under each malloc, {heap} heap", seconds,
                    lambda: attempt_rows(tables_of_heap, [name], list(setting.libraries), run))
    return [step(name, row, heap) for name, row in chosen.items() for heap in HEAPS], left_out


def plots(setting):
    columns = [[heap, f"structures_{heap}", "hash_table/10000"] for heap in HEAPS]
    bars = [{"name": "heaps_structures", "kind": "bars", "unit": "ns for a node of a hash table of 10,000",
             "series": columns, "is_reduced": True}]
    means = [[heap, f"race_cpu_{heap}", "geometric mean"] for heap in HEAPS]
    if len(setting.libraries) > 1:
        bars.append({"name": "heaps_race", "kind": "bars", "unit": "CPU time, times the best malloc of each program: "
                     "geometric mean", "series": means, "is_reduced": False})
    return bars


def plan(setting):
    structures, steps = structures_steps(setting)
    tables = {f"race_{metric}_{heap}": race_table(setting, heap, metric) for metric in METRICS for heap in HEAPS}
    more_steps, left_out = race_steps(setting, tables)
    text = (f"On a littered heap, {LITTER:,} blocks of 16 to 512 bytes were allocated before `main`, and 60 % of "
            "them freed in random order: as in a program that has run for a while.")
    section = model.section("heaps", "Fresh and littered heaps", text, [*structures.values(), *tables.values()],
                            plots(setting))
    section["left_out"] += left_out
    return Plan(section, steps + more_steps, list(structures.values()))
