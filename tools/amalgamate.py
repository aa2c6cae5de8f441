#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the header-only part as a single header, for Compiler Explorer and for projects that vendor one file.

    amalgamate.py OUTPUT

Each header appears once, after the headers that it includes. The single header omits the headers of np_alloc, which is
compiled, and the policies that need headers of other tools. Pools that need Boost are enabled if the compiler finds
Boost.

1. The first #include of a header of this project is replaced by the header; later ones are dropped. If the #include is
   within an #if, the header is inserted above the #if, because each header compiles alone on each platform.
2. An #include of a standard header moves to the top, unless it is within an #if.
3. All other lines are unchanged, including include guards and macros.

The output depends only on the headers and the licence. If a header is missing, exits with 1 and writes nothing.
"""

import argparse
import re
import sys
from pathlib import Path

from check_layers import STANDARD
from version import version

LEFT_OUT = re.compile(r"memory_pool/(np_.*|(heaptrack|massif|tracy)_policy\.hpp)")
NEED_BOOST = re.compile(r"memory_pool/(intrusive|recycling)_pool\.hpp")
SYSTEM = re.compile(r"memory_pool/os/.*")  # System headers in these files stay in place.

DIRECTIVE = re.compile(r"\s*#\s*(?P<word>\w+)(?P<rest>.*)")
HEADER = re.compile(r"\s*[<\"](?P<name>[^>\"]+)[>\"]")
GUARD = re.compile(r"^\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+\1\s*$", re.MULTILINE)
SAID_ON_TOP = re.compile(r"\s*(//|/\*| \*) *(SPDX-License-Identifier: .*|Copyright \(c\) .*)\s*")

# In the opposite order, config.hpp stops the compilation.
NOT_AFTER_OTHERS = """\
#ifdef MEMORY_POOL_ABI_VERSION
#include <memory_pool: these headers need a translation unit without the single header>
#endif
"""


class Malformed(Exception):
    pass


class Amalgamation:
    def __init__(self, include: Path):
        self.include = include
        self.standard = set()
        self.added = set()
        self.path = []  # The headers being added, outermost first.
        self.lines = []

    def add(self, name: str, place: str) -> None:
        if name in self.path:
            raise Malformed(f"{place}: {name} includes itself: {' > '.join(self.path[self.path.index(name):])}")
        if name in self.added:
            return
        try:
            text = (self.include / name).read_text(encoding="utf-8")
        except OSError as error:
            raise Malformed(f"{place}: cannot read {name}: {error.strerror}") from error
        self.path.append(name)
        lines = self.body(name, text)
        self.path.pop()
        self.added.add(name)
        self.lines += ["", f"// --- {name}", *lines]

    def body(self, name: str, text: str) -> list:
        """Adds the included headers; returns the remaining lines."""
        lines = []
        depth = -1 if GUARD.search(text) else 0  # The depth of #if, without the include guard.
        for number, line in enumerate(text.splitlines(), 1):
            directive = DIRECTIVE.match(line)
            word = directive["word"] if directive else ""
            depth += word in ("if", "ifdef", "ifndef")
            depth -= word == "endif"
            included = HEADER.match(directive["rest"]) if word == "include" else None
            if included and included["name"].startswith("memory_pool/"):
                self.add(included["name"], f"{self.include / name}:{number}")
            elif included and depth == 0 and included["name"] in STANDARD:
                self.standard.add(included["name"])
            elif included and depth == 0 and not (SYSTEM.fullmatch(name) or NEED_BOOST.fullmatch(name)):
                raise Malformed(f"{self.include / name}:{number}: <{included['name']}> is not a standard header")
            elif SAID_ON_TOP.fullmatch(line) is None and not re.fullmatch(r"\s*#\s*pragma once\s*", line):
                lines.append(line)
        return without_first_comment_end(lines)


def without_first_comment_end(lines: list) -> list:
    """Removes the end of a comment that contained only the licence."""
    return lines[1:] if lines and lines[0].strip() == "*/" else lines


def without_double_blanks(lines: list) -> list:
    return [line for line, before in zip(lines, [None, *lines]) if line or before]


def amalgamation(root: Path) -> str:
    include = root / "include"
    names = [path.relative_to(include).as_posix()
             for folder in ("memory_pool", "memory_pool/report") for path in (include / folder).glob("*.h*")]
    names = sorted(name for name in names if not LEFT_OUT.fullmatch(name))
    if not names:
        raise Malformed(f"{include}/memory_pool: no headers")
    whole = Amalgamation(include)
    for name in names:
        if not NEED_BOOST.fullmatch(name):
            whole.add(name, "amalgamate.py")
    whole.lines += ["", "#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)"]
    for name in names:
        if NEED_BOOST.fullmatch(name):
            whole.add(name, "amalgamate.py")
    whole.lines += ["#endif // Boost"]

    licence = (root / "LICENSE").read_text(encoding="utf-8").strip().splitlines()
    head = ["// SPDX-License-Identifier: MIT", f"// memory_pool {version(root)}: memory pools for C++17",
            "// The header-only part in one file. Generated by tools/amalgamate.py; do not edit.", "//",
            *(f"// {line}".rstrip() for line in licence),
            "#ifndef MEMORY_POOL_SINGLE_HEADER", *NOT_AFTER_OTHERS.splitlines(), "",
            *(f"#include <{name}>" for name in sorted(whole.standard))]
    tail = ["", "#define MEMORY_POOL_SINGLE_HEADER", "#endif", ""]
    return "\n".join(without_double_blanks([*head, *whole.lines, *tail]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, metavar="OUTPUT")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1],
                        help="project directory; default: that of this script")
    arguments = parser.parse_args()
    try:
        text = amalgamation(arguments.root)
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text, encoding="utf-8")
    except (Malformed, OSError, ValueError) as error:
        print(f"amalgamate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
