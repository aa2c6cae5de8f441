#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the Markdown files at the root and below docs/.

1. A relative link leads to a file or folder of the tree, and its #anchor to a heading of that file.
2. Lines have at most 120 columns, except in tables and code, which cannot be broken.
3. docs/reading.md has a table with the columns `files` and `lines`. The first link in each row leads to a folder. The
   row counts the sources of that folder, without subfolders. The number of files is exact. The number of lines is
   within 5 percent, so that small changes need no new table. Each folder with sources of the library has one row.
4. docs/errors.md contains each remedy that the sources print.
5. In the pages of PAGES_WITH_FIGURES, a section with a figure (nanoseconds, "times as", a number of instructions) has
   a command of this tree, in code or in a fenced block, so that readers can repeat the measurement.

Prints one line for each violation, as `file:line: message`, and exits with 1 if there is one. With --fix, writes the
exact counts into the table first.
"""

import argparse
import re
import sys
from pathlib import Path

READING = "docs/reading.md"
ERRORS = "docs/errors.md"
PAGES_WITH_FIGURES = ("docs/performance.md", "docs/security.md", "docs/observability.md", "docs/memory.md",
                      "docs/np_alloc.md")
SOURCE_FOLDERS = ("include/memory_pool", "src/np_alloc", "drop_in")
SUFFIXES = (".hpp", ".h", ".cpp", ".c")
TOLERANCE = 0.05
COLUMNS = 120

FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$")
COUNTS = re.compile(r"^(?P<row>\|.*?\]\((?P<target>[^()\s]+)\).*\|) (?P<files>[0-9,]+) \| (?P<lines>[0-9,]+) \|$")
PRINTED_REMEDY = re.compile(r'"[^"]*\bremedy: ([^"\\%]{8,})')
REMEDY_FUNCTION = re.compile(r".*\bremedy_for\(error_kind kind\) noexcept$")
RETURNED = re.compile(r'\breturn "([^"]+)";')
FIGURE = re.compile(r"\b\d[\d,.]* ?(?:[nu]s|(?:micro|milli)seconds|times (?:as|the)|instructions)\b"
                    r"|\b[Nn]anoseconds\b|\b[Rr]atios?\b")
COMMAND = re.compile(r"(?:^|`)\s*(?:\w+=\S+ )*"
                     r"(?:\./dev |benchmarks/|build/|tools/|ctest |valgrind |compare\.py |race\.py )")
HEADER = re.compile(r"^\|.*\| files \| lines \|$")


def text_lines(path: Path):
    """Yields (line number, line) outside of fenced code."""
    fence = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := FENCE.match(line):
            if fence is None:
                fence = match[1]
                continue
            if match[1].startswith(fence):
                fence = None
                continue
        if fence is None:
            yield number, line


def anchors(path: Path) -> set:
    """Returns the anchors that GitHub creates for the headings of a file."""
    found, times = set(), {}
    for _, line in text_lines(path):
        if match := HEADING.match(line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = times[name] = times.get(name, -1) + 1
            found.add(f"{name}-{count}" if count else name)
    return found


def check_links(root: Path, document: Path):
    name = document.relative_to(root).as_posix()
    for number, line in text_lines(document):
        # Code is not a link, but the text of a link may be code.
        for target in LINK.findall(CODE.sub("code", line)):
            if re.match(r"[a-z]+:", target):
                continue
            place, _, anchor = target.partition("#")
            found = (document.parent / place).resolve() if place else document
            if not found.exists() or not found.is_relative_to(root):
                yield f"{name}:{number}: no such file: {target}"
            elif anchor and (found.suffix != ".md" or anchor not in anchors(found)):
                yield f"{name}:{number}: no such heading: {target}"


def check_columns(root: Path, document: Path):
    for number, line in text_lines(document):
        if len(line) > COLUMNS and not line.startswith("|"):
            yield f"{document.relative_to(root).as_posix()}:{number}: {len(line)} columns, more than {COLUMNS}"


def sections(path: Path):
    """Yields the lines of each section, from a heading to the next: (line number, line, whether outside of code)."""
    outside = {number for number, _ in text_lines(path)}
    section = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if number in outside and HEADING.match(line):
            yield section
            section = []
        section.append((number, line, number in outside))
    yield section


def check_figures(root: Path, document: Path):
    name = document.relative_to(root).as_posix()
    for section in sections(document) if name in PAGES_WITH_FIGURES else ():
        found = [(number, FIGURE.search(line)) for number, line, outside in section if outside]
        figures = [(number, match[0]) for number, match in found if match]
        if figures and not any(COMMAND.search(line) for _, line, _ in section):
            yield f"{name}:{figures[0][0]}: a figure in a section without a command: {figures[0][1]}"


def sources(folder: Path) -> list:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in SUFFIXES)


def count_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def rows(reading: Path):
    """Yields (line number, match of COUNTS) of each row of the table of counts."""
    inside = False
    for number, line in text_lines(reading):
        inside = line.startswith("|") and (inside or HEADER.match(line) is not None)
        if inside and (match := COUNTS.match(line)):
            yield number, match


def number_of(text: str) -> int:
    return int(text.replace(",", ""))


def check_counts(root: Path, reading: Path):
    listed = []
    for number, row in rows(reading):
        folder = (reading.parent / row["target"]).resolve()
        if not folder.is_dir():
            yield f"{READING}:{number}: not a folder: {row['target']}"
            continue
        listed.append(folder)
        files = sources(folder)
        lines = sum(map(count_lines, files))
        said = number_of(row["lines"])
        if number_of(row["files"]) != len(files) or abs(said - lines) > TOLERANCE * lines:
            name = folder.relative_to(root).as_posix()
            yield (f"{READING}:{number}: {name} has {len(files)} files with {lines} lines; "
                   "to write that: python3 tools/check_documents.py --fix .")
    for top in SOURCE_FOLDERS:
        for folder in sorted({path.parent for path in (root / top).rglob("*") if path.suffix in SUFFIXES}):
            if listed.count(folder) != 1:
                name = folder.relative_to(root).as_posix()
                yield f"{READING}:1: {name} has {listed.count(folder)} rows instead of one"


def remedies(path: Path):
    """Yields (line number, remedy) for each remedy in a source: text printed after `remedy: `, and strings in functions
    named remedy_for."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if match := PRINTED_REMEDY.search(line):
            yield number, match[1]
        inside = (inside or REMEDY_FUNCTION.match(line) is not None) and line != "}"
        for remedy in RETURNED.findall(line) if inside else ():
            yield number, remedy


def check_remedies(root: Path, errors: Path):
    text = errors.read_text(encoding="utf-8")
    for top in SOURCE_FOLDERS:
        for path in sorted(path for path in (root / top).rglob("*") if path.suffix in SUFFIXES):
            for number, remedy in remedies(path):
                if remedy not in text:
                    yield f"{path.relative_to(root).as_posix()}:{number}: {ERRORS} has no remedy: {remedy}"


def fix_counts(reading: Path) -> None:
    text = reading.read_text(encoding="utf-8").splitlines()
    for number, row in rows(reading):
        folder = (reading.parent / row["target"]).resolve()
        if folder.is_dir():
            files = sources(folder)
            text[number - 1] = f"{row['row']} {len(files)} | {sum(map(count_lines, files)):,} |"
    reading.write_text("\n".join(text) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="root of the source tree")
    parser.add_argument("--fix", action="store_true", help=f"write the counts into {READING}")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    reading = root / READING
    if arguments.fix:
        fix_counts(reading)
    documents = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
    violations = [violation for document in documents for check in (check_links, check_columns, check_figures)
                  for violation in check(root, document)]
    violations += check_counts(root, reading)
    if (root / ERRORS).exists():
        violations += check_remedies(root, root / ERRORS)
    for violation in violations:
        print(violation)
    print(f"{len(documents)} documents, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
