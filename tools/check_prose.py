#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Finds constructions and names that read as foreign in comments, documents and code.

    check_prose.py FILE...

Checks the comments and the identifiers of C and C++ sources, the comments of scripts and CMake files, and the text of
Markdown files outside of code and headings. Skips files of other kinds. A finding names a construction: rewrite the
sentence, do not swap the word.

EXCEPTIONS has the accepted findings, each with its reason. One that no longer occurs is an error, too.
Exits with 1 if there are findings.
"""
import re
import sys
from pathlib import Path

from check_documents import text_lines

NOUNLESS = r"(?:is|are|was|were|has|had|it|they|comes|came|no|one|others|a|the)"

RULES = [(name, re.compile(pattern)) for name, pattern in (
    ("clause without a noun as a title", r"^[^\w*]*(?:What|Whatever|Whether|That which) (?!is new\b|if\b)[a-z]"
                                         r"|^[^\w*]*(?:Effects|Returns): (?:[Ww]hat|[Ww]hatever|Whether) "),
    ("clause without a noun", rf"\b(?:of|in|by|for|from|with|to|than|as) what {NOUNLESS}\b"),
    ("clause without a noun as an object", r"\b(?:takes|gives|frees|holds|keeps|returns|puts|moves|counts|knows|finds"
                                           rf"|does|do|tells|says|had|has|is|was) what {NOUNLESS}\b"),
    ("causative: say who does it", r"\b(?:has|have|had|having) (?:an?|the|its?|one|each|all|every|other|another|them"
                                   r"|that|this|those)(?: \w+){0,4} (?:told|made|done|called|sent|given|taken|counted"
                                   r"|found|forgotten|do|take|give|rest|go|call|look|tell|use|begin|start|end|stop"
                                   r"|refuse|fail|count|free|keep)\b(?! by)"),
    ("reference without its noun", r"(?:^|[.;:,(] ?)(?:The same|That of|Those of|Those that|The rest|The others|Others"
                                   r"|Such)(?:[ .,;]|$)|\bthe same of\b|\bof the former\b|\bso is (?:that|it)\b"),
    ("passive without an actor", r"\b(?:is said|is told|are told|says so|is so\b|is not so|came of|comes of|see to it"
                                 r"|sees to|looked at as far)\b"),
    ("passive with 'to be'", r"\b(?:is|are|was|were) to be (?!able\b)\w+"),
    ("private word", r"\b(?:whoever|nobody|somebody|so many|the one there is|at hand|by itself alone|besides\."
                     r"|furthest|likewise\.)"),
)]
NAMES = [(name, re.compile(pattern)) for name, pattern in (
    ("maximum and minimum begin with max_ and min_", r"\b(?:most|least|many|longest|shortest|furthest)_[a-z_]+\b"),
    ("'its' as a name", r"\bits(?:\.|->|,|\)|;| =)"),
)]

# (path, text of the finding): reason.
EXCEPTIONS = {}
MAX_EXCEPTIONS = 20

C_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cppm"}
SCRIPT_SUFFIXES = {".py", ".sh", ".cmake", ".yml", ".build", ".bazel"}
SCRIPT_NAMES = {"CMakeLists.txt", "dev", "run"}
# Texts of others, inputs of fuzzers, and the rules themselves.
NOT_CHECKED = ("tests/contract/", "tests/fuzz/corpus/", "tools/check_prose.py")


def code_and_comment(line):
    """Splits a line of C or C++ at the // outside of string literals."""
    code = re.match(r'(?:[^"/]|"(?:[^"\\]|\\.)*"?|/(?!/))*', line).group()
    return code, line[len(code):].lstrip("/").lstrip("<").strip()


# Each of these functions yields (line number, code, comment) of the lines.
def c_texts(lines):
    is_in_comment = False
    for number, line in enumerate(lines, 1):
        if not is_in_comment and line.lstrip().startswith("/*"):
            is_in_comment = True
        if is_in_comment:
            yield number, "", line.strip().lstrip("/*").removesuffix("*/").strip()
            is_in_comment = "*/" not in line
        else:
            yield number, *code_and_comment(line)


def script_texts(lines):
    for number, line in enumerate(lines, 1):
        found = re.search(r"(?:^|\s)# (.*)$", line)
        yield number, "", found.group(1) if found else ""


def markdown_texts(path):
    for number, line in text_lines(path):
        if not line.startswith("#"):
            yield number, "", re.sub(r"`[^`]*`", "x", line.lstrip("> ").strip())


def texts_of(path):
    if path.suffix == ".md":
        return markdown_texts(path)
    texts = c_texts if path.suffix in C_SUFFIXES else script_texts
    return texts(path.read_text(encoding="utf-8").splitlines())


def findings(path):
    """Yields (line number, rule, text)."""
    for number, code, comment in texts_of(path):
        for rule, pattern in RULES:
            if pattern.search(comment):
                yield number, rule, comment
                break
        for rule, pattern in NAMES:
            for found in pattern.finditer(code):
                yield number, rule, found.group()


def is_checked(path):
    is_known = path.suffix in C_SUFFIXES | SCRIPT_SUFFIXES | {".md"} or path.name in SCRIPT_NAMES
    return is_known and not path.as_posix().startswith(NOT_CHECKED)


def main(arguments):
    paths = [path for path in map(Path, arguments) if is_checked(path)]
    unused = {exception for exception in EXCEPTIONS if Path(exception[0]) in paths}
    messages = []
    for path in paths:
        for number, rule, text in findings(path):
            accepted = {known for known in EXCEPTIONS if known[0] == path.as_posix() and known[1] in text}
            unused -= accepted
            if not accepted:
                messages.append(f"{path}:{number}: {rule}: {text[:110]}")
    messages += [f"{path}: no longer has the exception '{text}'" for path, text in sorted(unused)]
    if len(EXCEPTIONS) > MAX_EXCEPTIONS:
        messages.append(f"there are {len(EXCEPTIONS)} exceptions; at most {MAX_EXCEPTIONS} are allowed")
    for message in messages:
        print(message)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
