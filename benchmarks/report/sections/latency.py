# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The time of single calls, from the median to the slowest."""
from report import model
from report.running import Plan, Step, attempt
from report.sections import rows

PROGRAM = "call_latency"
SIDES = ("block_pool", "unsynchronized_pool_resource", "unsynchronized_arena_resource", "concurrent_block_pool",
         "pmr_unsynchronized_pool", "boost_pool")
STATES = {"cold_allocate": ("Cold: the first 100,000 blocks of a process", False),
          "warm_allocate": ("Warm: allocate, with 100,000 blocks in use", True),
          "warm_free": ("Warm: free, with 100,000 blocks in use", True)}
QUANTILES = {"p50": ("p50", 0.5), "p90": ("p90", 0.9), "p99": ("p99", 0.99), "p99_9": ("p99.9", 0.999),
             "p99_99": ("p99.99", 0.9999), "max": ("max", 0.999999)}
CLOCK = "clock alone"


def table_of(setting, state):
    title, is_reduced = STATES[state]
    return model.Table(f"latency_{state}", title, "ns for a call", rows.command_of(setting, "latency"),
                       [*rows.columns_beside_mallocs(setting, SIDES), CLOCK], heading="quantile",
                       is_reduced=is_reduced, apart=[CLOCK],
                       notes=["Median of the rounds, each a process of its own; blocks of 64 bytes; an allocation "
                              "includes writing a word to the block; before a free, that word is read, so the "
                              "block is in the cache. The median time of the clock is subtracted, but "
                              f"not from the column `{CLOCK}`: the time between two readings with nothing in "
                              "between. Slow readings there come from the system or another program, not from an "
                              "allocator. Blocks are freed in random order, so an arena is rarely empty, and takes "
                              "new memory, with page faults."])


def measure(setting, tables, malloc, side, expected):
    command = [setting.program(PROGRAM), side, "live=100000", f"calls={setting.at_most(500000, 3000000)}"]
    checked, figures = setting.figures(command, malloc)
    column = malloc if side == rows.NEW_DELETE else rows.shown(side)
    for state, table in tables.items():
        if expected.setdefault("output", checked) != checked:
            table.fail_column(column, f"wrong: its output is not that of the others: {checked[0]}")
            continue
        for name, (label, share) in QUANTILES.items():
            table.add(label, column, figures[f"{state}_{name}"], share)
            table.add(label, CLOCK, figures[f"clock_{name}"], share)
        table.data["floor"] = figures["resolution"]


def plot_of(setting):
    return {"name": "latency", "kind": "lines", "table": "latency_warm_allocate", "x_title": "quantile of the calls",
            "panels": [["malloc", [*setting.libraries, CLOCK]], ["pools and arenas", [*map(rows.shown, SIDES), CLOCK]]],
            "x_scale": "quantiles", "is_reduced": True}


def plan(setting):
    tables = {state: table_of(setting, state) for state in STATES}
    expected = {}

    def step(turn, malloc, side):
        column = malloc if side == rows.NEW_DELETE else rows.shown(side)
        return Step(f"{column}, round {turn + 1}", setting.at_most(0.7, 2), lambda: attempt(
            tables.values(), [column], lambda: measure(setting, tables, malloc, side, expected)))

    steps = []
    for turn, malloc in setting.in_turns(setting.rounds + 1):
        sides = (rows.NEW_DELETE, *SIDES) if malloc == "glibc" else (rows.NEW_DELETE,)
        steps += [step(turn, malloc, side) for side in sides]
    text = ("Each call is timed separately. The slowest calls obtain memory from the system, or clean up; on a "
            "shared machine, some were interrupted by other programs.")
    return Plan(model.section("latency", "Latency of single calls", text, tables.values(), [plot_of(setting)]), steps)
