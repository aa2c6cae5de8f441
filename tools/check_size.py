#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Compares the compilation cost of the public headers with the table in docs/sizes.md.

    check_size.py [--update] ROOT

For each header, compiles a program of a line or two that uses the header, with GCC 12 and C++17. Measures the lines
that the compiler parses, the time at -O0 as a ratio to a program that includes <memory_resource>, and the bytes of code
at -O2 (text of `size`), with the headers alone and with libmemory_pool. --update rewrites the table.

Exits with 1 if a header has grown by more than the tolerance, with 2 if the check could not be run, and with 77 if
there is no GCC 12.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77
COMPILER = "g++-12"
ROUNDS = 3
TABLE = "docs/sizes.md"

# A line of code that uses the header. Headers without such a line are only included.
OBJECT = "struct item { int x; };"
BLOCKS = "{} blocks(48); blocks.deallocate(blocks.allocate());"
OBJECTS = "{}<item> items; items.destroy(items.create(item{{1}}));"
RESOURCES = "{} resource; resource.deallocate(resource.allocate(8), 8);"
USES = {
    "arena_resource.hpp": RESOURCES.format("memory_pool::unsynchronized_arena_resource"),
    "block_pool.hpp": BLOCKS.format("memory_pool::block_pool"),
    "concurrent_block_pool.hpp": BLOCKS.format("memory_pool::concurrent_block_pool"),
    "concurrent_handle_pool.hpp": OBJECTS.format("memory_pool::concurrent_handle_pool"),
    "concurrent_object_pool.hpp": OBJECTS.format("memory_pool::concurrent_object_pool"),
    "handle_pool.hpp": OBJECTS.format("memory_pool::handle_pool"),
    "memory_pool.hpp": OBJECTS.format("memory_pool::object_pool"),
    "object_pool.hpp": OBJECTS.format("memory_pool::object_pool"),
    "pool_resource.hpp": RESOURCES.format("memory_pool::unsynchronized_pool_resource"),
    "shared_pool.hpp": "memory_pool::shared_pool<item> items; (void)items.make(item{1});",
}
BOOST = "boost/pool/object_pool.hpp"
FORMS = {"headers": [], "library": ["-DMEMORY_POOL_COMPILED=34"]} # With exceptions and RTTI, as by default.
COLUMNS = ("lines", "time", "text", "time with the library", "text with the library")


class NotKnown(Exception):
    pass


def run(*command):
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
    except FileNotFoundError as error:
        raise NotKnown(f"{command[0]}: not installed") from error
    if done.returncode != 0:
        raise NotKnown(f"{' '.join(map(str, command))}: exits with {done.returncode}\n{done.stderr}")
    return done.stdout


def cpu_seconds(*command):
    child = os.posix_spawnp(command[0], [str(word) for word in command], os.environ)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise NotKnown(f"{' '.join(map(str, command))}: fails")
    return usage.ru_utime + usage.ru_stime


class Program:
    """A source, and its cost in each form."""

    def __init__(self, source, text, include):
        source.write_text(text, encoding="utf-8")
        self.compile = [COMPILER, "-std=c++17", f"-I{include}", source]
        self.seconds = {form: float("inf") for form in FORMS}
        self.lines = 0
        self.text = {}

    def measure_sizes(self):
        self.lines = sum(1 for line in run(*self.compile, "-E", "-P").splitlines() if line.strip())
        for form, options in FORMS.items():
            compiled = self.compile[-1].with_suffix(f".{form}.o")
            run(*self.compile, *options, "-O2", "-c", "-o", compiled)
            self.text[form] = int(run("size", compiled).splitlines()[1].split()[0])

    def measure_time(self):
        for form, options in FORMS.items():
            seconds = cpu_seconds(*self.compile, *options, "-O0", "-c", "-o", "/dev/null")
            self.seconds[form] = min(self.seconds[form], seconds)


def measure(root):
    headers = sorted(path.name for path in (root / "include/memory_pool").glob("*.h*"))
    left_out = {"tracy_policy.hpp", "heaptrack_policy.hpp", "massif_policy.hpp"} # They need headers of others.
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(os.cpu_count()) as threads:
        def program(name, text):
            return Program(Path(directory) / f"{name}.cpp", text, root / "include")

        programs = {header: program(header, f"#include <memory_pool/{header}>\n{OBJECT}\n"
                                            f"int main() {{ {USES.get(header, '')} }}\n")
                    for header in headers if header not in left_out}
        programs[BOOST] = program("boost", f"#include <{BOOST}>\n{OBJECT}\nint main() {{ "
                                  "boost::object_pool<item> items; items.destroy(items.construct(item{1})); }\n")
        unit = program("unit", "#include <memory_resource>\nint main() {}\n")
        list(threads.map(Program.measure_sizes, programs.values()))
        for _ in range(ROUNDS):
            list(threads.map(Program.measure_time, [unit, *programs.values()]))
    return {header: (each.lines, each.seconds["headers"] / unit.seconds["headers"], each.text["headers"],
                     each.seconds["library"] / unit.seconds["headers"], each.text["library"])
            for header, each in programs.items()}


def written(value):
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def read_table(text):
    rows = re.findall(r"^\| `([\w./]+)` \|(.*)\|$", text, re.MULTILINE)
    return {header: tuple(float(cell) if "." in cell else int(cell.replace(",", "")) for cell in cells.split("|"))
            for header, cells in rows}


def with_table(text, figures):
    rows = "".join(f"| `{header}` | {' | '.join(map(written, row))} |\n" for header, row in figures.items())
    head = f"| header | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}\n"
    return re.sub(r"^\| header \|.*\n(\|.*\n)+", lambda _: head + rows, text, count=1, flags=re.MULTILINE)


def max_allowed(value):
    """The tolerance for times is wide, because other load on the machine affects times."""
    return 1.3 * value + 0.1 if isinstance(value, float) else 1.02 * value + 100


def complaints(expected, figures):
    for header in expected.keys() - figures.keys():
        yield f"{header}: in {TABLE}, but there is no such header"
    for header, row in figures.items():
        if header not in expected:
            yield f"{header}: not in {TABLE}"
            continue
        for column, now, before in zip(COLUMNS, row, expected[header]):
            if now > max_allowed(before):
                yield f"{header}: {column}: {written(now)}, and {written(before)} in {TABLE}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("root", type=Path)
    arguments = parser.parse_args()
    table = arguments.root / TABLE
    try:
        if not run(COMPILER, "-dumpversion").startswith("12"):
            raise NotKnown(f"{COMPILER} is not GCC 12")
        figures = measure(arguments.root.resolve())
    except NotKnown as error:
        print(error)
        return SKIPPED if "not installed" in str(error) else 2
    text = table.read_text(encoding="utf-8")
    if arguments.update:
        table.write_text(with_table(text, figures), encoding="utf-8")
        return 0
    found = sorted(complaints(read_table(text), figures))
    if found:
        print("\n".join(found))
        print("if the growth is intended: ./dev check --update size, and commit the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
