#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Runs the benchmarks and writes one page about them: index.html, report.md, plots, and report.json with all samples.

    make_report.py [--full] [--output DIRECTORY] [--sections NAME,...] [--reduced DIRECTORY [--update-readme]]
    make_report.py --from FILE [--output DIRECTORY] [--reduced DIRECTORY [--update-readme]]

A quick run takes less than ten minutes on two cores. With --full, there are more repetitions, and all programs, cells
and mallocs: about 40 minutes. A run that fails or gives wrong results is shown as `failed` or `wrong`, never as a
figure. The report then continues, and the exit status is 1. Ctrl-C leaves a report that is marked as partial, and the
exit status is 130.

With --from, the page is rebuilt from a report.json, and nothing runs. --reduced also writes the small copy that is
committed in docs/benchmarks, and shows which lines of README.md and docs/index.md have to change; --update-readme
changes the lines of the README between its marker comments.
"""
import argparse
import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import argument_types
import mallocs

from report import environment, html, markdown, model, page, plots, readme, reduced, running
from report.sections import SECTIONS

README = os.path.join(mallocs.ROOT, "README.md")
INDEX = os.path.join(mallocs.ROOT, "docs", "index.md")
INTERRUPTED = 130
MODES = ("full", "sections", "mallocs", "rounds")


def sections(text):
    """Names of sections, separated by commas."""
    names = list(filter(None, text.split(",")))
    for name in names:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"no such section: {name} (there are {', '.join(SECTIONS)})")
    if not names:
        raise argparse.ArgumentTypeError(f"name at least one section (there are {', '.join(SECTIONS)})")
    return names


def refuse_number(name):
    raise ValueError(f"{name} is not a JSON number")


def report_to_read(text):
    """The path of a report.json."""
    try:
        with open(text, encoding="utf-8") as file:
            read = json.load(file, parse_constant=refuse_number)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read as JSON: {error}") from None
    if not isinstance(read, dict) or read.get("schema") != model.SCHEMA:
        raise argparse.ArgumentTypeError(f"{text!r} is not a {model.SCHEMA}; make it with ./dev report")
    try:  # Render it once, so that an incomplete report fails before any file is written.
        model.tables_of(read)
        for part in page.parts_of(reduced.reduce(read), {}):
            markdown.text_of(part)
        for part in page.parts_of(read, {}):
            html.text_of(part)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is incomplete: {error!r}; make it with ./dev report") from None
    return read


def default_output(source):
    """A small copy has a directory of its own, so that it does not overwrite a report with all samples."""
    name = "report_reduced" if source is not None and source["is_reduced"] else "report"
    return os.path.join(mallocs.ROOT, "build", name)


def parse_arguments(argv):
    parser = argparse.ArgumentParser(prog="make_report.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)  # ./dev parses --from itself.
    parser.add_argument("--full", action="store_true", help="all programs, cells and mallocs, with more repetitions")
    parser.add_argument("--output", type=argument_types.directory_to_write, metavar="DIRECTORY",
                        help="default: build/report, or build/report_reduced if FILE is a small copy")
    parser.add_argument("--sections", type=sections, metavar="NAME,...", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--from", dest="source", type=report_to_read, metavar="FILE",
                        help="rebuild the page from a report.json, without running anything")
    parser.add_argument("--reduced", type=argument_types.directory_to_write, metavar="DIRECTORY",
                        help="also write the small copy there, which is committed in docs/benchmarks")
    parser.add_argument("--update-readme", action="store_true", help="write the figures of --reduced into README.md")
    parser.add_argument("--mallocs", type=mallocs.names_among(mallocs.all_names()), metavar="NAME,NAME...",
                        help=f"of {', '.join(mallocs.all_names())}; default: those that are installed")
    parser.add_argument("--rounds", type=argument_types.count, help="of what runs under each malloc (default: 2, or 3)")
    parser.add_argument("--timeout", type=argument_types.seconds,
                        help="seconds after which a program has failed (default: 300, or 900)")
    parser.add_argument("--build", type=argument_types.directory,
                        help="where the programs are (default: those of the preset `release`)")
    arguments = parser.parse_args(argv)
    if arguments.source is not None and any(getattr(arguments, mode) for mode in MODES):
        parser.error(f"--from runs nothing: leave out {', '.join('--' + mode for mode in MODES)}")
    if arguments.update_readme and not arguments.reduced:
        parser.error("--update-readme needs --reduced DIRECTORY")
    if arguments.build is None:  # Not an argparse default: it would have to exist even with --from.
        arguments.build = os.path.join(mallocs.ROOT, "build", "release", "benchmarks")
    if arguments.output is None:
        arguments.output = default_output(arguments.source)
    if arguments.reduced and os.path.realpath(arguments.reduced) == os.path.realpath(arguments.output):
        parser.error("--reduced and --output are the same directory: the small copy would overwrite all samples")
    return arguments


def interrupt(*_):
    raise KeyboardInterrupt


def run(arguments, argv):
    """Returns the report."""
    timeout = arguments.timeout or (900 if arguments.full else 300)
    setting = running.Setting(arguments.build, arguments.full, arguments.mallocs, timeout, arguments.rounds)
    if not setting.libraries:
        sys.exit("make_report.py: there is no malloc to run; pass --mallocs glibc")
    # Unwinding kills the running program, which may have its own session and would outlive this process.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    begin = time.monotonic()
    command = shlex.join(["./dev", "report", *argv])
    told = environment.read(setting, command)
    plans = [SECTIONS[name].plan(setting) for name in SECTIONS if name in (arguments.sections or SECTIONS)]
    unfinished = running.run_all(plans)
    told["load_after"] = list(os.getloadavg())
    return {"schema": model.SCHEMA, "kind": "full" if arguments.full else "quick", "environment": told,
            "unfinished": unfinished, "seconds": round(time.monotonic() - begin, 1),
            "left_out": list(map(model.tidy, setting.left_out)), "is_reduced": False,
            "sections": [plan.section for plan in plans]}


def write(report, directory, is_reduced=False):
    """Writes the page, the plots and the data. Returns False if plots could not be drawn."""
    os.makedirs(directory, exist_ok=True)
    environment.write(report, os.path.join(directory, "report.json"))
    try:
        pictures = plots.draw(report, directory, is_reduced)
    except ImportError as error:
        print(f"make_report.py: no plots: {error} (Debian package: python3-matplotlib)", file=sys.stderr)
        pictures = None
        for plot in [plot for section in report["sections"] for plot in section["plots"]]:
            Path(directory, f"{plot['name']}.svg").unlink(missing_ok=True)  # Left by an earlier run.
    parts = list(page.parts_of(report, pictures))
    markdown.write(parts, os.path.join(directory, "report.md"))
    if not is_reduced:
        html.write(parts, os.path.join(directory, "index.html"))
    return pictures is not None


def write_reduced(report, arguments):
    """Writes the small copy, and shows how the README differs. Returns False if plots could not be drawn. A partial
    report is not written."""
    if report["unfinished"]:
        print(f"reduced: {arguments.reduced} is unchanged, as the report is partial")
        return True
    small = reduced.reduce(report)
    is_complete = write(small, arguments.reduced, is_reduced=True)
    print(f"reduced: {arguments.reduced}")
    if "blocks" not in model.tables_of(small):
        print("README.md is not compared: the report has no section `blocks`")
        return is_complete
    with open(README, encoding="utf-8") as file:
        text = file.read()
    if arguments.update_readme:
        text = readme.with_passage(text, small)
        with open(README, "w", encoding="utf-8") as file:
            file.write(text)
    with open(INDEX, encoding="utf-8") as file:
        missing = readme.missing_in_index(file.read(), small)
    print(*readme.differences(text, small), *missing, sep="\n")
    return is_complete


def summarize(report, arguments):
    """Prints failures and the path of the page. Returns the exit status."""
    failures = model.failures_of(report)
    print(f"{len(failures)} failed or wrong")
    for each in failures:
        print(f"  {each}")
    for each in report["left_out"] + [each for section in report["sections"] for each in section["left_out"]]:
        print(each)
    print(f"report: {os.path.join(arguments.output, 'index.html')}, measured in {report['seconds'] / 60:.1f} minutes")
    if report["unfinished"]:
        print(f"partial: {report['unfinished']}")
        return INTERRUPTED
    return 1 if failures else 0


def main():
    arguments = parse_arguments(sys.argv[1:])
    try:
        report = arguments.source or run(arguments, sys.argv[1:])
    except KeyboardInterrupt:
        print("make_report.py: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    try:
        is_complete = write(report, arguments.output)
        if arguments.reduced:
            is_complete = write_reduced(report, arguments) and is_complete
    except OSError as error:
        sys.exit(f"make_report.py: {error.filename or arguments.output} cannot be written: {error.strerror}")
    status = summarize(report, arguments)
    return status or (0 if is_complete else 1)


if __name__ == "__main__":
    sys.exit(main())
