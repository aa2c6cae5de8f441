#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the C++ blocks of Markdown files as sources, so that the build compiles the documentation like other code.

A block fenced as ```cpp that contains `int main` becomes program_<file>_<line>.cpp. Any other block becomes
fragment_<file>_<line>.cpp: its #include lines, and then the other lines as the body of a function. No other code is
added, so each block must be complete on its own.
A program fenced as ```cpp c++20 becomes program20_<file>_<line>.cpp, which is compiled as C++20. A program fenced as
```cpp np_alloc becomes program_np_alloc_<file>_<line>.cpp, which is linked with np_alloc.
A block fenced as ```cpp no-compile is skipped. Compiler messages name the Markdown file and its line.

Prints the path of each source. Unchanged files are not rewritten, so they are not rebuilt.
"""

import argparse
import re
import sys
from pathlib import Path

FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,}|~{3,})\s*(?P<info>[^`]*?)\s*$")
MAIN = re.compile(r"\bint\s+main\s*\(")
SUFFIXES = {"c++20": "20", "np_alloc": "_np_alloc"}

class Malformed(Exception):
    pass


def blocks(path: Path):
    """Yields (line of the first line inside, info string, lines) of each fenced block."""
    lines = path.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        opening = FENCE.match(lines[i])
        i += 1
        if not opening:
            continue
        start, indent, ticks = i, len(opening["indent"]), opening["ticks"]
        while i < len(lines) and not re.match(rf"^\s*{ticks[0]}{{{len(ticks)},}}\s*$", lines[i]):
            i += 1
        if i == len(lines):
            raise Malformed(f"{path}:{start}: the code block is not closed")
        body = [line[indent:] if line[:indent].isspace() else line for line in lines[start:i]]
        yield start + 1, opening["info"], body
        i += 1


def fragment(path: Path, line: int, body: list) -> str:
    """The block as the body of a function, after its includes. Blanks replace the includes, so that lines match."""
    is_include = [re.match(r"\s*#\s*include\b", text) is not None for text in body]
    includes = [text for text, hit in zip(body, is_include) if hit]
    rest = ["" if hit else text for text, hit in zip(body, is_include)]
    return "\n".join(
        [*includes, "static void snippet()", "{", f'#line {line} "{path.as_posix()}"', *rest, "}"]
        + ["void (*snippet_is_used)() = snippet;", ""]
    )


def program(path: Path, line: int, body: list) -> str:
    return "\n".join([f'#line {line} "{path.as_posix()}"', *body, ""])


def write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def extract(path: Path, output: Path):
    for line, info, body in blocks(path):
        words = info.replace(",", " ").split()
        if not words or words[0] not in ("cpp", "c++"):
            continue
        extra = words[1:]
        if extra == ["no-compile"]:
            continue
        if extra not in ([], ["c++20"], ["np_alloc"]):
            raise Malformed(f"{path}:{line - 1}: unknown words after ```cpp: {' '.join(extra)}")
        kind, make = ("program", program) if MAIN.search("\n".join(body)) else ("fragment", fragment)
        if extra and kind != "program":
            raise Malformed(f"{path}:{line - 1}: a block with {extra[0]} must be a program with main")
        stem = re.sub(r"\W", "_", path.stem)
        target = output / f"{kind}{SUFFIXES.get(''.join(extra), '')}_{stem}_{line}.cpp"
        write_if_changed(target, make(path, line, body))
        yield target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="directory to write the sources to")
    parser.add_argument("documents", type=Path, nargs="*")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    try:
        written = [source for document in arguments.documents for source in extract(document, arguments.output)]
    except Malformed as error:
        print(error, file=sys.stderr)
        return 1
    for source in written:
        print(source.as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
