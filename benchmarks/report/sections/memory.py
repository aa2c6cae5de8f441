# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Resident memory: by block size, at the peak, and after all blocks were freed."""
from report import model
from report.running import Plan, Step, attempt
from report.sections import rows

PROGRAM = "block_memory"
SIDES = ("block_pool", "concurrent_block_pool", "unsynchronized_pool_resource", "unsynchronized_arena_resource",
         "pmr_unsynchronized_pool", "boost_pool")
SIZES = (8, 16, 24, 32, 48, 64, 128, 256, 1024, 4096)
QUICK_SIZES = (8, 16, 32, 48, 64, 256, 1024, 4096)
MEBIBYTES = 32
# Enough for a malloc to purge memory while blocks are freed.
MEBIBYTES_OF_PEAK = 256
WAIT = 2000
STATES = {"live": "all blocks in use", "peak": "peak", "freed": "all freed", "idle": "2 s later, without a call"}


def tables_of(setting):
    command, columns = rows.command_of(setting, "memory"), rows.columns_beside_mallocs(setting, SIDES)
    by_size = model.Table("memory_by_size", "Overhead by block size", "bytes beyond each block",
                          command, columns, heading="size of a block (bytes)", is_reduced=True,
                          notes=[f"Resident memory with {MEBIBYTES} MiB of blocks in use, each written, divided by "
                                 "their number, minus their size. Pools and arenas take memory from glibc. The kernel "
                                 "counts pages late: in blocks of 1,024 and 4,096 bytes, some bytes are noise, "
                                 "also below 0."])
    states = model.Table("memory_states", f"Peak, and after idle: {MEBIBYTES_OF_PEAK} MiB in blocks of 64 bytes",
                         "MiB resident", command, columns, heading="when", is_reduced=True,
                         notes=["Blocks are freed in random order. The pool or arena still exists in the end, and is "
                                "not trimmed; `trim()` and `release()` return free memory."])
    return by_size, states


def measure(setting, malloc, side, expected, **arguments):
    """Returns {figure: kilobytes}."""
    command = [setting.program(PROGRAM), side, *(f"{name}={value}" for name, value in arguments.items())]
    checked, figures = setting.figures(command, malloc)
    work = arguments["bytes"], arguments["mebibytes"]
    if expected.setdefault(work, checked) != checked:
        raise OSError(f"wrong: its output is not that of the others: {checked[0]}")
    return figures


def overhead(kilobytes, size):
    count = max(MEBIBYTES * 2**20 // size, 1)
    return kilobytes * 1024 / count - size


def run_sizes(setting, table, malloc, side, expected):
    for size in setting.at_most(QUICK_SIZES, SIZES):
        figures = measure(setting, malloc, side, expected, bytes=size, mebibytes=MEBIBYTES)
        table.add(f"{size:,}", column_of(malloc, side), overhead(figures["live"], size), size)


def run_states(setting, table, malloc, side, expected):
    figures = measure(setting, malloc, side, expected, bytes=64, mebibytes=MEBIBYTES_OF_PEAK, wait=WAIT)
    for name, label in STATES.items():
        table.add(label, column_of(malloc, side), figures[name] / 1024)


def column_of(malloc, side):
    return malloc if side == rows.NEW_DELETE else rows.shown(side)


def plots(setting):
    return [{"name": "memory_by_size", "kind": "lines", "table": "memory_by_size", "x_title": "size of a block (bytes)",
             "panels": [["malloc", list(setting.libraries)], ["pools and arenas", ["glibc", *map(rows.shown, SIDES)]]],
             "is_reduced": True},
            {"name": "memory_states", "kind": "bars", "unit": "MiB resident", "is_reduced": True,
             "series": [["peak", "memory_states", STATES["peak"]],
                        ["2 s after all was freed", "memory_states", STATES["idle"]]]}]


def plan(setting):
    by_size, states = tables_of(setting)
    expected = {}
    steps = []
    entries = [(malloc, side) for malloc in setting.libraries
               for side in ((rows.NEW_DELETE, *SIDES) if malloc == "glibc" else (rows.NEW_DELETE,))]
    for table, run, seconds in ((by_size, run_sizes, 2), (states, run_states, 4)):
        for malloc, side in entries:
            steps.append(step_of(setting, table, run, malloc, side, expected, seconds))
    text = ("The resident memory that blocks take beyond their own bytes, and the memory that the process keeps when "
            "all blocks are free.")
    return Plan(model.section("memory", "Memory", text, [by_size, states], plots(setting)), steps)


def step_of(setting, table, run, malloc, side, expected, seconds):
    column = column_of(malloc, side)
    return Step(f"{table.data['name']}, {column}", seconds, lambda: attempt(
        [table], [column], lambda: run(setting, table, malloc, side, expected)))
