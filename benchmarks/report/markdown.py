# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Writes the parts of a page as Markdown."""
import textwrap

from report import page

COLUMNS = 116


def wrapped(text, first="", rest=""):
    return "\n".join(textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=rest or first,
                                   break_long_words=False, break_on_hyphens=False))


def escaped(text):
    return text.replace("|", "\\|")


def cell(each):
    text = escaped(each.text)
    return f"**{text}**" if each.kind == "best" else text


def grid(part):
    yield "| " + " | ".join(map(escaped, part.header)) + " |"
    yield "|---" * len(part.header) + "|"
    for row in part.rows:
        yield "| " + " | ".join(map(cell, row)) + " |"


def text_of(part):
    if isinstance(part, page.Heading):
        return f"{'#' * part.level} {part.text}"
    if isinstance(part, page.Text):
        return wrapped(f"**{part.text}**" if part.kind == "warning" else part.text)
    if isinstance(part, page.List):
        return "\n".join(wrapped(item, "- ", "  ") for item in part.items)
    if isinstance(part, page.Code):
        return f"```sh\n{part.text}\n```"
    if isinstance(part, page.Picture):
        return f"![{part.title}]({part.file})"
    return "\n".join(grid(part))


def write(parts, path):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n\n".join(map(text_of, parts)) + "\n")
