# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Blocks of 32 bytes: pools against new and delete, and against the pools of other libraries. Quoted in the README."""
from report import model
from report.running import Plan, Step, attempt
from report.sections import rows

SHAPES = {"pair": "one block, allocated and freed", "bulk": "10,000 blocks, freed in order",
          "bulk_reverse": "10,000 blocks, freed in reverse", "bulk_random": "10,000 blocks, freed in random order",
          "churn": "100 blocks, freed in order"}
SIDES = ("new_delete", "block_pool", "boost_pool", "foonathan_memory_pool", "pmr_unsynchronized_pool")
SHARED_SIDES = ("new_delete", "concurrent_block_pool", "mimalloc", "tbb_memory_pool", "locked_block_pool",
                "boost_lockfree_stack")
THREADS = (1, 2, 8)
FILTER = "^(pair|bulk|churn)"


def unshared_table(setting):
    command = f"./dev bench '{FILTER}' --repetitions {setting.at_most(5, 15)}"
    return model.Table("blocks", "Blocks of 32 bytes", "ns to allocate and free a block", command,
                       map(rows.shown, SIDES), statistic="least", reference="new/delete", heading="shape",
                       is_reduced=True, notes=["Minimum of the repetitions, which alternate at random between the "
                                               "competitors in one process; in brackets, the speed relative to "
                                               "new/delete."])


def shared_table():
    return model.Table("shared_blocks", "Blocks of 32 bytes, of a pool that threads share",
                       "ns of core time for a block", "./dev bench '^(pair|churn)/.*manual'",
                       map(rows.shown, SHARED_SIDES), statistic="least", reference="new/delete",
                       heading="shape, threads", is_reduced=True,
                       notes=["Minimum of the repetitions. If a time stays the same from one thread to many, the "
                              "threads do not slow each other down. new/delete is glibc's; mimalloc is called "
                              "directly.", rows.CORE_TIME])


def run_unshared(setting, table):
    report = setting.google("block_pool_benchmark", "glibc", rows.rows_matching(SHAPES), setting.at_most(5, 15),
                            setting.at_most(0.01, 0.02))

    def place(shape, side, _):
        return (table, SHAPES[shape], rows.shown(side), None) if side in SIDES else None
    rows.record(report, place)


def run_shared(setting, table):
    wanted = f"^(pair|churn)/({'|'.join(SHARED_SIDES)})/({'|'.join(map(str, THREADS))})/"
    report = setting.google("concurrent_block_pool_benchmark", "glibc", wanted, setting.at_most(3, 9), 0.02)

    def place(shape, side, threads):
        return table, f"{SHAPES[shape]}, {threads}", rows.shown(side), threads
    rows.record(report, place)


def plan(setting):
    unshared, shared = unshared_table(setting), shared_table()
    for title in SHAPES.values():
        unshared.row(title)
    for shape in ("pair", "churn"):
        for threads in THREADS:
            shared.row(f"{SHAPES[shape]}, {threads}", threads)
    steps = [Step("pools of one thread", setting.at_most(8, 60), lambda: attempt(
                 [unshared], unshared.data["columns"], lambda: run_unshared(setting, unshared))),
             Step("pools that threads share", setting.at_most(6, 30), lambda: attempt(
                 [shared], shared.data["columns"], lambda: run_shared(setting, shared)))]
    text = ("The cost of allocating blocks of a fixed size and freeing them, in five orders. `block_pool` serves one "
            "thread, `concurrent_block_pool` any number.")
    return Plan(model.section("blocks", "Blocks of one size", text, [unshared, shared]), steps)
