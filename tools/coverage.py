#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shows which lines of the library the tests run, from a build with Clang's coverage.

    coverage.py [--update] SOURCE_DIRECTORY BUILD_DIRECTORY

Reads the counts that the tests have written to BUILD_DIRECTORY/profiles, and writes BUILD_DIRECTORY/coverage.txt: the
share of each file in include/ and src/ that the tests run, and the ranges of lines that no test runs. Fails if fewer
than 95 % of all lines run, or if tests/uncovered.txt does not list the first line of each uncovered range, with a
reason. --update appends missing lines to that file without a reason, so the check still fails.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LEAST_PERCENT = 95
LLVM = pathlib.Path("/usr/lib/llvm-19/bin")
MEASURED = ("include/", "src/")
LIST = "tests/uncovered.txt"
NO_REASON = "No reason yet:"


def objects_in(build):
    """Returns: the programs and libraries that have been compiled for coverage."""
    found = []
    for path in sorted(build.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.suffix in (".o", ".a", ".profraw", ".gch", ".pch"):
            continue
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
        if "__llvm_covmap" in sections:
            found.append(path)
    return found


def merged(build):
    profiles = sorted((build / "profiles").glob("*.profraw"))
    if not profiles:
        sys.exit(f"{build / 'profiles'}: no counts; run the tests of the preset `coverage` first")
    listed, result = build / "profiles.txt", build / "coverage.profdata"
    listed.write_text("".join(f"{profile}\n" for profile in profiles))
    subprocess.run([LLVM / "llvm-profdata", "merge", "--failure-mode=all", "-f", listed, "-o", result],
                   check=True)
    return result


def counted(source, build):
    """Returns {path in the source directory: {line: count}} for the measured files."""
    profile = merged(build)
    folders = [source / folder for folder in MEASURED]

    def export(program):
        command = [LLVM / "llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}", program, *folders]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True).stdout

    # One by one: if several programs have a function, llvm-cov uses the first program, even if that program has not run
    # it.
    files = collections.defaultdict(counted_lines)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for said in workers.map(export, objects_in(build)):
            add_counts(files, said, source)
    return {name: lines.counts() for name, lines in files.items()}


class counted_lines:
    """The counts of the lines of a file over all programs. Functions are identified by their first lines."""

    def __init__(self):
        self.most = {}  # The largest count of each line.
        self.functions = {}  # The largest count of each function.
        self.in_run_functions = set()  # Lines of functions that some program has run.

    def add(self, functions, counts):
        """Adds the counts of one program to those of the file."""
        for first, count in functions.items():
            self.functions[first] = max(self.functions.get(first, 0), count)
        for number, count in counts.items():
            self.most[number] = max(self.most.get(number, 0), count)
            if functions.get(function_at(number, functions), 0) != 0:
                self.in_run_functions.add(number)

    def counts(self):
        """Returns: the count of each line that has code.

        A program that omits a function reports counts for all its lines, including comments and inactive code.
        Programs that have run the function show which lines have code.
        """
        return {number: count for number, count in self.most.items()
                if number in self.in_run_functions or self.functions.get(function_at(number, self.functions), 0) == 0}


def function_at(number, functions):
    """Returns: the first line of the function that contains a line; None if there is none."""
    return max((first for first in functions if first <= number), default=None)


def add_counts(files, lcov, source):
    """Adds the counts of one program."""
    name, functions, counts, first_line = None, {}, {}, {}
    for line in lcov.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            # For a program without any of the requested files, llvm-cov reports all files of that program.
            name = os.path.relpath(value, source)
            functions, counts, first_line = {}, {}, {}
        elif key == "FN":
            first, function = value.split(",", 1)
            first_line[function] = int(first)
        elif key == "FNDA":
            count, function = value.split(",", 1)
            first = first_line[function]
            functions[first] = max(functions.get(first, 0), int(count))
        elif key == "DA":
            number, count = value.split(",")[:2]
            counts[int(number)] = max(counts.get(int(number), 0), int(count))
        elif key == "end_of_record" and name.startswith(MEASURED):
            files[name].add(functions, counts)


def without_code(text):
    """Returns: whether a line is only a closing bracket, a directive or a comment."""
    return re.fullmatch(r"[\s{}();,]*(else|try|break;|default:)?[\s{}();]*|\s*(//|#).*", text) is not None


def ranges_of(source, files):
    """Returns: the ranges of uncovered lines: each a file, the number and text of the first line, and the length."""
    found = []
    for name, counts in sorted(files.items()):
        text = (source / name).read_text().splitlines()
        numbers = sorted(counts)
        run = []
        for number in numbers + [None]:
            if number is not None and counts[number] == 0:
                run.append(number)
                continue
            with_code = [each for each in run if not without_code(text[each - 1])]
            if with_code:
                found.append((name, with_code[0], text[with_code[0] - 1].strip(), len(run)))
            run = []
    return found


def reasons_in(path):
    """Returns: the reason of each listed line, by its file and text."""
    reasons, reason = {}, None
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line or line.startswith("#"):
            continue
        if line.startswith("    "):
            name, _, text = line.strip().partition(": ")
            reasons[name, text] = reason
        else:
            reason = line
    return reasons


def report(source, build, files):
    total = collections.Counter()
    rows = []
    for name, counts in sorted(files.items()):
        if not counts:
            continue
        run = sum(count != 0 for count in counts.values())
        total.update(run=run, lines=len(counts))
        rows.append(f"{100 * run / len(counts):6.1f} %  {run:5} of {len(counts):5}  {name}")
    percent = 100 * total["run"] / total["lines"]
    rows.append(f"{percent:6.2f} %  {total['run']:5} of {total['lines']:5}  all")
    ranges = ranges_of(source, files)
    rows += ["", "Not run, from this line on:"]
    rows += [f"{name}:{number}: {count} lines: {text}" for name, number, text, count in ranges]
    (build / "coverage.txt").write_text("\n".join(rows) + "\n")
    return percent, ranges


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    given = parser.parse_args()
    source, build = given.source.resolve(), given.build.resolve()

    percent, ranges = report(source, build, counted(source, build))
    reasons = reasons_in(source / LIST)
    without = [each for each in ranges if reasons.get((each[0], each[2]), NO_REASON) == NO_REASON]
    print(f"{percent:.2f} % of the lines of include/ and src/ are run (at least {LEAST_PERCENT} % must be); "
          f"see {build / 'coverage.txt'}")
    found = {(name, text) for name, _, text, _ in ranges}
    for name, text in sorted(set(reasons) - found):
        print(f"{LIST}: no range of lines that do not run begins with this line: {name}: {text}")
    if given.update:
        unlisted = [each for each in without if (each[0], each[2]) not in reasons]
        if unlisted:
            with open(source / LIST, "a") as file:
                file.write(f"\n{NO_REASON}\n")
                file.writelines(f"    {name}: {text}\n" for name, _, text, _ in unlisted)
    for name, number, text, count in without:
        print(f"{name}:{number}: {count} lines are not run, and {LIST} has no reason: {text}")
    return 1 if without or percent < LEAST_PERCENT else 0


if __name__ == "__main__":
    sys.exit(main())
