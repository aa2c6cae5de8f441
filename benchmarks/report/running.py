# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Runs sections: their setting and steps, and the recording of failures."""
import collections
import os
import subprocess
import time

import compare
import google_benchmark
import mallocs
import race
import race_rows

from report import model
from report.progress import Progress

# `seconds` is the expected time of the step, for the progress only.
Step = collections.namedtuple("Step", "label seconds run")
# A section, its steps, and the tables whose rows are sorted at the end.
Plan = collections.namedtuple("Plan", "section steps sorted", defaults=((),))

# In the order of the columns. A quick report has one version of mimalloc, and omits the malloc of TBB.
QUICK_LEFT_OUT = ("tbb", "mimalloc")


class Setting:
    """Shared by all sections: the programs, the mallocs, and the running time."""

    def __init__(self, build, is_full, wanted, timeout, rounds=None):
        self.build = os.path.abspath(build)
        self.is_full = is_full
        self.timeout = timeout
        self.rounds = rounds or (3 if is_full else 2)
        self.left_out = []
        self.wanted = wanted
        self.libraries = self.found(wanted)
        if "glibc" not in self.libraries:
            self.left_out.append("pools and arenas are left out of tables with mallocs, as they run over glibc; "
                                 "add glibc to --mallocs")
        self.checked = {}

    def found(self, wanted):
        """Returns {malloc: library}, and adds mallocs that are not installed to `left_out`."""
        names = [name for name in mallocs.all_names() if wanted is None or name in wanted]
        found = mallocs.entrants(names, os.path.join(self.build, os.pardir), self.left_out.append)
        if wanted is None and not self.is_full and "mimalloc3" in found:
            for name in QUICK_LEFT_OUT:
                if found.pop(name, None):
                    self.left_out.append(f"{name} is left out of a quick report (./dev report --full has it)")
        return found

    def program(self, *path):
        return os.path.join(self.build, *path)

    def at_most(self, quick, full):
        return full if self.is_full else quick

    def in_turns(self, rounds=None):
        """Yields (round, malloc), in an order that is rotated by one in each round."""
        names = list(self.libraries)
        for turn in range(rounds or self.rounds):
            first = turn % max(len(names), 1)
            for name in names[first:] + names[:first]:
                yield turn, name

    def require_malloc(self, malloc, command):
        """Raises a failure unless the program uses that malloc: one of `libraries`, or glibc, under which pools run
        even if it is not selected. Each program is checked once under each malloc."""
        key = malloc, command[0]
        if key not in self.checked:
            self.checked[key] = None
            try:
                race.try_out(race_rows.Row(list(command), race_rows.EVERYTHING, {}), self.libraries.get(malloc),
                             self.timeout)
            except race.Failure as failure:
                self.checked[key] = str(failure)
        if self.checked[key] is not None:
            raise race.Failure(self.checked[key])

    def google(self, program, malloc, rows, repetitions, min_time, litter=None):
        """Runs a program of Google Benchmark under a malloc, and returns its report. Raises a failure."""
        path = self.program(program)
        if not google_benchmark.is_built(self.build, program):
            raise race.Failure(f"there is no {program} in the directory of the programs; build the target "
                               "`benchmark_report`")
        self.require_malloc(malloc, [path, "--benchmark_list_tests"])
        words = [f"--build={self.build}", f"--repetitions={repetitions}", f"--min-time={min_time}", f"--filter={rows}"]
        arguments = compare.parse_arguments(words + ([f"--litter={litter}"] if litter else []))
        report = compare.run(program, self.libraries.get(malloc), arguments, self.timeout)
        if report is None:
            raise race.Failure(f"no row of {program} matches {rows}")
        return report

    def figures(self, command, malloc):
        """Runs a program with the output format of workloads. Returns (the part that must be the same for every malloc,
        its figures). Raises a failure."""
        self.require_malloc(malloc, command)
        environment = {**os.environ, "LD_PRELOAD": self.libraries[malloc] or ""}
        process = race.start(list(command), environment)
        output, errors = race.finish(process, self.timeout)
        race.require_success(process.returncode, errors)
        return race.checked_part(race_rows.CHECKED_OF_WORKLOADS, output), Figures(race.figures_of(output))


class Figures(dict):
    """The figures that a program printed. The lookup of a missing figure raises a failure."""

    def __missing__(self, name):
        raise race.Failure(f"its output has no figure {name!r}")


def reason_of(failure):
    return failure.reason if isinstance(failure, google_benchmark.Failure) else str(failure)


FAILURES = (race.Failure, google_benchmark.Failure, OSError, subprocess.SubprocessError)


def attempt(tables, columns, action):
    """Runs the action; if it fails, marks the columns of the tables as failed. Returns the reason, or None."""
    try:
        action()
    except FAILURES as failure:
        for table in tables:
            for column in columns:
                if column in table.data["columns"]:
                    table.fail_column(column, reason_of(failure))
        return reason_of(failure)
    return None


def attempt_rows(tables, labels, columns, action):
    """Like attempt(), but marks only the cells of these rows as failed, not whole columns."""
    try:
        action()
    except FAILURES as failure:
        for table in tables:
            for label in labels:
                for column in columns:
                    table.fail(label, column, reason_of(failure))


def run_step(plan, step):
    try:
        step.run()
    except FAILURES as failure:
        plan.section["problems"].append(model.tidy(f"{step.label}: {reason_of(failure)}"))
    except Exception as error:  # pylint: disable=broad-except # The report continues if a step fails.
        plan.section["problems"].append(model.tidy(f"{step.label}: {type(error).__name__}: {error}"))


def run_all(plans):
    """Runs all steps. Returns the reason why the run is unfinished; None if it is complete."""
    steps = [(plan, step) for plan in plans for step in plan.steps]
    progress = Progress(sum(step.seconds for _, step in steps), len(steps))
    waiting = [id(plan) for plan, _ in steps]
    try:
        for plan, step in steps:
            progress.start(f"{plan.section['name']}: {step.label}")
            begin = time.monotonic()
            run_step(plan, step)
            plan.section["seconds"] = round(plan.section["seconds"] + time.monotonic() - begin, 1)
            progress.finish(step.seconds)
            waiting.remove(id(plan))
    except KeyboardInterrupt:
        return f"interrupted: {progress.done_steps} of {len(steps)} steps were done"
    finally:
        progress.end()
        for table in (table for plan in plans for table in plan.sorted):
            table.sort()
        for plan in plans:
            # If the section is incomplete, a column may be empty only because its step did not run.
            if id(plan) not in waiting and not plan.section["problems"]:
                model.leave_out_empty_columns(plan.section)
    return None
