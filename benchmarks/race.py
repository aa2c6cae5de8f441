#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Races mallocs: runs programs under each of them, and shows times and peak memory as ratios to the best.

    race.py [--filter REGEX] [--rounds N] [--mallocs NAME,NAME...] [--add NAME=LIBRARY]...
            [--set NAME:VARIABLE=VALUE]... [--json FILE]
    race.py [...] [--checked REGEX] -- COMMAND [ARGUMENT...]

The rows are the workloads in benchmarks/np_alloc and well-known programs, or only the given command. Each malloc is a
preloaded library; for glibc, none is preloaded.
In each row, the mallocs take turns, in an order rotated by one in each round. An unmeasured trial comes first. In the
trial, the dynamic linker must report, for every process of the command, that malloc is bound to the preloaded library.
Before each run, memory is touched and released (--warm), so that the host of a virtual machine provides it to all
mallocs alike.
With --add and --set, a library can race itself with other settings:

    race.py --mallocs np_alloc --add plain=build/release/src/np_alloc/libnp_malloc.so --set plain:NP_HUGE_PAGES=0

A malloc whose library is missing is left out. A malloc is shown as `failed`, and never with a time, if the program does
not use it, if the command fails, or if the output differs from the output under other mallocs.

The results are medians over the rounds, divided by the least median of the row; in brackets, the ratios of the
minima. On a busy machine, CPU time is more meaningful than wall time.

With --litter, each program starts on a littered heap: before its main, blocks are allocated, and most are freed in
random order. The time of the littering is subtracted. `peak memory` is measured after the littering, and includes the
kept blocks. Only the heap of the process of the command is littered, not the heaps of its child processes.

`peak memory` is the peak resident memory of the process or of any one of its children. Figures that a workload reports
follow unchanged.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import argument_types
import litter
import mallocs
import race_rows

ROOT = race_rows.ROOT

# litter_kilobytes: the resident memory of the litter.
Run = collections.namedtuple("Run", "seconds processor kilobytes output litter_kilobytes", defaults=(0,))
# A column of a run: its title, the unit of the best value of a row, and the divisor for that unit.
Metric = collections.namedtuple("Metric", "field title unit divisor")
METRICS = (Metric("seconds", "time by the clock", "s", 1), Metric("processor", "time of the processor", "s", 1),
           Metric("kilobytes", "peak memory", "MiB", 1024))


class Failure(Exception):
    """The reason why a malloc has failed in a row."""


class Entry:
    """A malloc in a row: its runs, or the reason for its failure."""

    def __init__(self):
        self.runs = []
        self.failure = None

    def samples(self, metric):
        return [getattr(run, metric.field) for run in self.runs]


def setting(text):
    """Parses NAME:VARIABLE=VALUE."""
    parts = re.fullmatch(r"([^:]+):([^=]+)=(.*)", text, re.DOTALL)
    if not parts:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME:VARIABLE=VALUE")
    return parts.groups()


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release", "benchmarks", "np_alloc"),
                        help="where the programs are (default: those of the preset `release`)")
    parser.add_argument("--filter", type=argument_types.expression, default=".", metavar="REGEX",
                        help="rows to run, as a regular expression")
    parser.add_argument("--rounds", type=argument_types.count, default=5)
    parser.add_argument("--mallocs", type=mallocs.names_among(mallocs.all_names()),
                        default=",".join(mallocs.all_names()), help="default: %(default)s")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=LIBRARY",
                        help="a malloc that is not installed, by the path of a library")
    parser.add_argument("--set", action="append", default=[], type=setting, metavar="NAME:VARIABLE=VALUE",
                        help="an environment variable for the runs under the malloc of that name")
    parser.add_argument("--timeout", type=argument_types.seconds, default=300,
                        help="seconds after which a run has failed")
    parser.add_argument("--warm", type=argument_types.mebibytes, default=512, metavar="MIB",
                        help="memory that is touched before each run (default: %(default)s)")
    parser.add_argument("--checked", type=argument_types.expression, default=race_rows.EVERYTHING, metavar="REGEX",
                        help="the part of the command's output that must be the same each time (default: everything); "
                        "^ and $ are the ends of a line")
    litter.add_arguments(parser)
    parser.add_argument("--json", type=argument_types.file_to_write, metavar="FILE", help="write all samples there")
    separator = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:separator])
    arguments.command = words[separator + 1:]
    return arguments


def entrants(arguments):
    """Returns {name: library, or None for the malloc of the system}."""
    found = mallocs.entrants(arguments.mallocs, os.path.join(arguments.build, os.pardir, os.pardir))
    mallocs.add_libraries(found, arguments.add, "race.py")
    if not found:
        sys.exit("race.py: there is no malloc to run")
    for name, variable, value in arguments.set:
        if name not in found:
            sys.exit(f"race.py: --set {name}:{variable}={value}: there is no malloc of the name {name}")
    return found


def chosen_rows(arguments):
    """Returns {name: race_rows.Row}."""
    if arguments.command:
        name = os.path.basename(arguments.command[0])
        return {name: race_rows.Row(arguments.command, arguments.checked, {})}
    chosen = {}
    for name, row in {**race_rows.workloads(arguments.build), **race_rows.programs()}.items():
        if not re.search(arguments.filter, name):
            continue
        # A missing workload is a failure; a missing program is not installed.
        if name in race_rows.ROWS or shutil.which(row.command[0]):
            chosen[name] = row
        else:
            print(f"{name} is left out: there is no {row.command[0]}", file=sys.stderr)
    if not chosen:
        sys.exit(f"race.py: no row matches {arguments.filter}")
    return chosen


def finish(process, timeout):
    """Waits for a process that is a session leader, and returns its output."""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failure(f"it took more than {timeout:g} s") from None
    finally:  # Also if the race is interrupted.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return output.decode(errors="replace"), errors.decode(errors="replace")


def start(command, environment):
    try:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise Failure(f"it does not start: {error}") from None


def require_success(status, errors):
    """`status` is the return code of subprocess: a signal is negative."""
    if status != 0:
        how = f"it ended with signal {-status}" if status < 0 else f"it ended with status {status}"
        last = errors.strip().splitlines()[-1:]
        raise Failure(": ".join([how, *last]))


def malloc_in_use(lines):
    """Reads the output of the dynamic linker for one process, and returns the library that malloc is bound to."""
    bindings, program = set(), None
    for line in lines:
        started = re.search(r"initialize program: (\S+)", line)
        if started:
            program = started.group(1)
        binding = re.search(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `malloc'", line)
        if binding:
            bindings.add(binding.groups())
    found = {target for _, target in bindings}
    # In a program at a fixed address, the address of malloc may be an entry in its own PLT, for all libraries.
    if any(source == program != target for source, target in bindings):
        found.discard(program)
    return {os.path.realpath(target) for target in found}


def mallocs_in_use(files):
    """Reads the output of the dynamic linker, one file for each process."""
    found = set()
    for name in files:
        with open(name, encoding="utf-8", errors="replace") as lines:
            found |= malloc_in_use(lines)
    return found


def require_malloc(library, in_use):
    if not in_use:
        raise Failure("the malloc of the program is unknown: is it linked statically?")
    for path in sorted(in_use):
        is_right = path == os.path.realpath(library) if library else re.match(r"libc[.-]", os.path.basename(path))
        if not is_right:
            raise Failure(f"not loaded: the malloc in use is that of {path}")


def with_settings(row, name, arguments):
    """Returns the row with the environment variables for that malloc."""
    own = {variable: value for malloc, variable, value in arguments.set if malloc == name}
    return row._replace(environment={**row.environment, **own})


def try_out(row, library, timeout):
    """Runs the command without measuring it, checks that it uses the malloc, and returns its output."""
    with tempfile.TemporaryDirectory(prefix="race-") as scratch:
        bindings = os.path.join(scratch, "bindings")
        environment = {**os.environ, **row.environment, "LD_DEBUG": "bindings,files", "LD_BIND_NOW": "1",
                       "LD_DEBUG_OUTPUT": bindings}
        environment.pop("LD_PRELOAD", None)
        if library:
            environment["LD_PRELOAD"] = library
        process = start(row.command, environment)
        output, errors = finish(process, timeout)
        require_success(process.returncode, errors)
        require_malloc(library, mallocs_in_use(glob.glob(glob.escape(bindings) + ".*")))
    return output


def measure(row, library, arguments):
    with tempfile.TemporaryDirectory(prefix="race-") as scratch:
        report, litter_report = os.path.join(scratch, "report"), os.path.join(scratch, "litter")
        preloaded = [library] if library else []
        environment = {**os.environ, **row.environment}
        if arguments.litter:
            preloaded.insert(0, litter.library(arguments.build))
            environment.update(litter.environment(arguments, litter_report))
        measurer = [os.path.join(arguments.build, "measure"), report, str(arguments.warm)]
        process = start([*measurer, ":".join(preloaded), *row.command], environment)
        output, errors = finish(process, arguments.timeout)
        require_success(process.returncode, errors)
        with open(report, encoding="utf-8") as line:
            status, seconds, processor, kilobytes = line.read().split()
        cost = litter.cost(litter_report) if arguments.litter else litter.Cost(0, 0, 0)
    status = int(status)
    require_success(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), errors)
    if cost is None:
        raise Failure("its heap was not littered: does it end before main?")
    return Run(max(float(seconds) - cost.seconds, 0), max(float(processor) - cost.processor, 0), int(kilobytes), output,
               cost.kilobytes)


def checked_part(checked, output):
    """Returns the part of the output that must be the same in each run."""
    matches = list(re.finditer(checked, output, re.MULTILINE))
    if not matches:
        raise Failure(f"nothing in its output matches --checked: {output.strip()[:200]}")
    return [match.group(0) for match in matches if match.group(0)]


def run_row(row, libraries, arguments, is_tried=False):
    """Returns {malloc: Entry}. If `is_tried`, omits the trials, because the row had them before."""
    entries = {name: Entry() for name in libraries}
    expected = None

    def attempt(name, action):
        """Returns the result of the action. Its output must equal that of the first run; a failure is recorded."""
        nonlocal expected
        try:
            result, output = action()
            part = checked_part(row.checked, output)
            if expected is None:
                expected = name, part
            elif part != expected[1]:
                raise Failure(f"its output is not that of {expected[0]}: {output.strip()[:200]}")
            return result
        except Failure as failure:
            entries[name].failure = str(failure)
            return None

    def trial(name):
        return None, try_out(with_settings(row, name, arguments), libraries[name], arguments.timeout)

    def measurement(name):
        run = measure(with_settings(row, name, arguments), libraries[name], arguments)
        return run, run.output

    names = list(libraries)
    for name in names if not is_tried else ():
        attempt(name, lambda: trial(name))
    for turn in range(arguments.rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            if entries[name].failure is None:
                entries[name].runs.append(attempt(name, lambda: measurement(name)))
    return entries


def ratios(entries, metric):
    """Returns ({malloc: (median, minimum)} without failed ones, divided by the best of the row; the best median)."""
    samples = {name: entry.samples(metric) for name, entry in entries.items() if entry.failure is None}
    if not samples:
        return {}, None
    medians = {name: statistics.median(values_of_malloc) for name, values_of_malloc in samples.items()}
    least = {name: min(values_of_malloc) for name, values_of_malloc in samples.items()}
    # A time of zero counts as the best.
    best_median, best_least = (max(min(values.values()), 1e-6) for values in (medians, least))
    return {name: (medians[name] / best_median, least[name] / best_least) for name in samples}, best_median


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(max(value, 1e-6)) for value in values))


def cell(ratio):
    return "failed" if ratio is None else f"{ratio[0]:.2f} [{ratio[1]:.2f}]"


def mean_cell(row_ratios, rows):
    """The geometric mean of a column; with the number of its rows, if some have failed."""
    finished = [ratio for ratio in row_ratios if ratio is not None]
    if not finished:
        return "failed"
    text = cell([geometric_mean(column) for column in zip(*finished)])
    return text if len(finished) == rows else f"{text} {len(finished)}/{rows}"


def print_line(cells):
    print((cells[0].ljust(20) + cells[1].rjust(12) + "".join(text.rjust(20) for text in cells[2:])).rstrip())


def print_metric(results, names, metric):
    print_line([metric.title, "best", *names])
    columns = {name: [] for name in names}
    for row, entries in results.items():
        row_ratios, best = ratios(entries, metric)
        for name in names:
            columns[name].append(row_ratios.get(name))
        print_line([row, "" if best is None else f"{best / metric.divisor:.3g} {metric.unit}",
                    *(cell(row_ratios.get(name)) for name in names)])
    if len(results) > 1:
        print_line(["geometric mean", "", *(mean_cell(columns[name], len(results)) for name in names)])
    print()


def figures_of(output):
    """Returns {name: value} from the part after the bar in the output line of a workload."""
    told = re.fullmatch(r"[^|\n]*\|([^\n]*)\n", output)
    return {name: float(value) for name, value in re.findall(r"(\w+)=(\d+(?:\.\d+)?)", told.group(1))} if told else {}


def print_figures(results, names):
    for row, entries in results.items():
        told = {name: [figures_of(run.output) for run in entry.runs] for name, entry in entries.items()
                if entry.failure is None}
        figures = list(dict.fromkeys(figure for runs in told.values() for each in runs for figure in each))
        if not figures:
            continue
        print_line([f"told by {row}", "", *names])
        for figure in figures:
            medians = {name: statistics.median(each[figure] for each in runs) for name, runs in told.items()}
            shown = [f"{medians[name]:.0f}" if name in medians else "failed" for name in names]
            print_line([f"  {figure}", "", *shown])
        print()


def failures_of(results):
    return [f"{row}, {name}: {entry.failure}" for row, entries in results.items() for name, entry in entries.items()
            if entry.failure is not None]


def samples_of(entry):
    if entry.failure is not None:
        return {}
    samples = {metric.field: entry.samples(metric) for metric in METRICS}
    return {**samples, "litter_kilobytes": [run.litter_kilobytes for run in entry.runs]}


def write_json(results, libraries, arguments, path):
    rows = {}
    for row, entries in results.items():
        rows[row] = {name: {"failure": entry.failure, **samples_of(entry)} for name, entry in entries.items()}
    with open(path, "w", encoding="utf-8") as out:
        littered = litter.described(arguments) if arguments.litter else None
        json.dump({"libraries": libraries, "rounds": arguments.rounds, "litter": littered, "rows": rows}, out, indent=1)


def load():
    return ", ".join(f"{average:.2f}" for average in os.getloadavg())


def main():
    arguments = parse_arguments(sys.argv[1:])
    if not os.access(os.path.join(arguments.build, "measure"), os.X_OK):
        sys.exit(f"race.py: the programs are not in {arguments.build}; build the target `race` first, or say "
                 "--build DIRECTORY")
    if arguments.litter:
        litter.require_library(arguments.build)
    libraries = entrants(arguments)
    before = load()
    results = {}
    for name, row in chosen_rows(arguments).items():
        print(f"{name}: {shlex.join(row.command).splitlines()[0]}", file=sys.stderr, flush=True)
        results[name] = run_row(row, libraries, arguments)
    for name, library in libraries.items():
        print(f"{name.ljust(12)}{library or 'the malloc of the system'}")
    if arguments.litter:
        print(f"{'litter'.ljust(12)}{litter.described(arguments)}")
    print(f"{'load'.ljust(12)}{before} before; {load()} after, on {os.cpu_count()} cores\n")
    for metric in METRICS:
        print_metric(results, list(libraries), metric)
    print_figures(results, list(libraries))
    if arguments.json:
        write_json(results, libraries, arguments, arguments.json)
    failures = failures_of(results)
    print(f"{len(failures)} failed" + "".join(f"\n  {failure}" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
