# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The results of the original boost-intrusive-pool: large objects in two patterns, by the growth step of the pool
and by malloc. returning_patterns.py measures them."""
import os

import race
import returning_patterns

from report import model, published
from report.running import Step, attempt

SIDES = {"plain_malloc": "plain malloc", "virtual_recycle": "stand-in", "intrusive_pool": "intrusive_pool",
         "recycling_pool": "recycling_pool"}
STATE = "new"
QUICK_STEPS, STEPS = (10, 100, 1000, 10000), (10, 50, 100, 500, 1000, 5000, 10000)
SAVED = (("stand-in", "virtual_recycle", "new"), ("recycling_pool, new", "recycling_pool", "new"),
         ("recycling_pool, reused", "recycling_pool", "reused"))
PATTERNS = ("continuous", "mixed")
COMMAND = "./dev bench patterns"


def mallocs_of(setting):
    return [name for name in returning_patterns.MALLOCS if name in setting.libraries]


def steps_table(malloc):
    return model.Table(f"original_patterns_{malloc}", f"boost-intrusive-pool: its plots, under {malloc}",
                       "ns for an object of 1 KiB", COMMAND + f" --mallocs {malloc}", SIDES.values(), statistic="least",
                       heading="pattern, step", reference="plain malloc",
                       notes=["100,000 objects, with a new pool that grows by the step. In brackets, how many times as "
                              "fast as plain malloc, which has no step. The stand-in works as the original does."])


def saved_table():
    return model.Table("original_patterns_saved", "boost-intrusive-pool: what a pool saves against plain malloc",
                       "per cent of the time with plain malloc", COMMAND,
                       ["published", "stand-in", "recycling_pool, new", "recycling_pool, reused"], better="more",
                       heading="malloc, pattern", is_reduced=True, apart=["published"],
                       notes=["With the step, by which a pool grows, that is best for each side. Published: on an "
                              "Intel Core i5-4570 with Ubuntu 18.04 and the mallocs of that time."])


def measured(setting, malloc):
    """Returns the result of returning_patterns.measure for one repetition."""
    words = [f"--program={setting.program('returning_patterns')}", "--repetitions=1", f"--mallocs={malloc}",
             f"--steps={','.join(map(str, setting.at_most(QUICK_STEPS, STEPS)))}"]
    arguments = returning_patterns.parse_arguments(words)
    if not os.access(arguments.program, os.X_OK):
        raise race.Failure("there is no returning_patterns in the directory of the programs; build the target "
                           "`benchmark_report`")
    setting.require_malloc(malloc, [arguments.program])
    return returning_patterns.measure(arguments, {malloc: setting.libraries[malloc]}, tell=lambda text: None,
                                      timeout=setting.timeout)


def run(setting, tables, saved, all_least, malloc):
    least = all_least.setdefault(malloc, {})
    for key, sample in measured(setting, malloc).items():
        least[key] = min(sample, least.get(key, sample))
        _, pattern, side, step, state = key
        if side in SIDES and state == STATE:
            add(tables[malloc], pattern, side, step, sample.nanoseconds, setting.at_most(QUICK_STEPS, STEPS))
    for pattern in PATTERNS if not tables[malloc].data["column_failures"] else ():
        add_saved(saved, least, malloc, pattern)


def add(table, pattern, side, step, nanoseconds, steps):
    """Plain malloc has no steps, so its value is in each row."""
    for each in [step] if step else steps:
        table.add(f"{pattern}, {each}", SIDES[side], nanoseconds)


def add_saved(table, least, malloc, pattern):
    label = f"{malloc}, {pattern}"
    row = table.row(label)
    row["cells"].clear()
    table.add(label, "published", published.INTRUSIVE_POOL_SAVES[malloc, pattern])
    for column, side, state in SAVED:
        best = returning_patterns.best(least, malloc, pattern, side, state)
        plain = returning_patterns.best(least, malloc, pattern, "plain_malloc", state)
        table.add(label, column, 100 * (1 - best / plain))


def parts(setting):
    """Returns (tables, steps). The rows of all tables but the first must be sorted."""
    names = mallocs_of(setting)
    tables = {name: steps_table(name) for name in names}
    saved, all_least = saved_table(), {}
    steps = [step_of(setting, tables, saved, all_least, malloc, turn)
             for turn in range(setting.at_most(1, 4)) for malloc in names]
    return [saved, *tables.values()], steps


def fail_saved(saved, malloc, reason):
    for pattern in PATTERNS:
        label = f"{malloc}, {pattern}"
        saved.row(label)["cells"].clear()
        saved.add(label, "published", published.INTRUSIVE_POOL_SAVES[malloc, pattern])
        for column, _, _ in SAVED:
            saved.fail(label, column, reason)


def step_of(setting, tables, saved, all_least, malloc, turn):
    def measure():
        reason = attempt([tables[malloc]], list(SIDES.values()),
                         lambda: run(setting, tables, saved, all_least, malloc))
        if reason is not None:
            fail_saved(saved, malloc, reason)
    return Step(f"boost-intrusive-pool, its patterns under {malloc}, round {turn + 1}", setting.at_most(10, 18),
                measure)
