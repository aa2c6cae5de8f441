# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Times by block size, by block count, and by number of threads."""
from report import model
from report.running import Plan
from report.sections import rows

PROGRAM = "scaling_benchmark"
UNSHARED = ("block_pool", "unsynchronized_pool_resource", "unsynchronized_arena_resource", "pmr_unsynchronized_pool",
            "boost_pool")
SHARED = ("concurrent_block_pool", "synchronized_pool_resource", "pmr_synchronized_pool")
# The title, the title of x, the sides, and the expected seconds of a run under a malloc.
SHAPES = {"by_size": ("By size: blocks of 8 B to 1 MiB", "size of a block (bytes)", UNSHARED, 1.5),
          "by_count": ("By count: 10 to 10^6 blocks of 64 bytes, freed in random order", "blocks in use", UNSHARED, 4),
          "by_threads": ("By threads: 100 blocks of 64 bytes in each of 1 to 16", "threads", SHARED, 2)}


def table_of(setting, shape):
    title, x_title, sides, _ = SHAPES[shape]
    unit = "ns of core time for a block" if shape == "by_threads" else "ns to allocate and free a block"
    notes = ["Minimum of all repetitions. new and delete use each malloc, preloaded; pools and arenas use glibc."]
    if shape == "by_threads":
        notes.append(rows.CORE_TIME)
    if shape == "by_size":
        notes.append("1,000 blocks at a time, or 16 MiB of blocks if that is less. If an allocator returns their "
                     "memory to the system each time, page faults dominate.")
    return model.Table(f"scaling_{shape}", title, unit, rows.command_of(setting, "scaling"),
                       rows.columns_beside_mallocs(setting, sides), statistic="least", heading=x_title,
                       is_reduced=True, notes=notes)


def plot_of(setting, shape):
    _, x_title, sides, _ = SHAPES[shape]
    panels = [["malloc", list(setting.libraries)], ["pools and arenas", ["glibc", *map(rows.shown, sides)]]]
    return {"name": f"scaling_{shape}", "kind": "lines", "table": f"scaling_{shape}", "x_title": x_title,
            "panels": [panel for panel in panels if panel[1]], "is_reduced": True}


def plan(setting):
    tables = {shape: table_of(setting, shape) for shape in SHAPES}
    steps = []
    for shape, (_, _, sides, seconds) in SHAPES.items():
        beside = rows.BesideMallocs(setting, PROGRAM, tables, list(map(rows.shown, sides)))
        # Where threads contend, a repetition must be longer than a preemption.
        min_time = 0.05 if shape == "by_threads" else setting.at_most(0.003, 0.02)
        steps += beside.steps(shape, seconds * setting.at_most(1, 3), setting.at_most(2, 5), min_time)
    text = ("One loop with increasing block sizes, numbers of blocks, and numbers of threads. A flat line means that "
            "the allocator scales.")
    return Plan(model.section("scaling", "Scaling", text, tables.values(),
                              [plot_of(setting, shape) for shape in SHAPES]), steps, list(tables.values()))
