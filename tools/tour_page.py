#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Writes an HTML page with the figures of the tour, with a bar for each time and each peak of memory.

    tour_page.py FIGURES.json -o PAGE.html [--command COMMAND]

`tour --json FIGURES.json` writes the figures; ./dev tour --html does both. The page needs no network and no JavaScript.
The page is written atomically.
"""

import argparse
import html
import json
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

SCHEMA, VERSION = "memory_pool.tour", 1
TEMPLATE = Path(__file__).resolve().with_name("tour_page.html")
TITLE = "memory_pool tour: the same work with new and delete, and with each pool"
NUMBER = ' class="number"'
COLUMNS = {"side": "", "time": "", "speed": NUMBER, "peak memory": "", "malloc calls": NUMBER, "wasted": NUMBER}


class Unusable(Exception):
    """The figures are unusable; the message has the reason."""


def refuse_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def read_figures(path: Path) -> dict:
    remedy = "; write the figures with: tour --json FILE"
    try:
        figures = json.loads(path.read_text(encoding="utf-8", errors="replace"), parse_constant=refuse_number)
    except OSError as error:
        raise Unusable(f"'{path}' cannot be read: {error.strerror}{remedy}") from None
    except ValueError as error:
        raise Unusable(f"'{path}' is no JSON: {error}{remedy}") from None
    if not isinstance(figures, dict) or figures.get("schema") != SCHEMA or figures.get("version") != VERSION:
        raise Unusable(f'\'{path}\' has no "schema": "{SCHEMA}", "version": {VERSION}{remedy}')
    return figures


# The format of the tour: see examples/tour/report.hpp.
def in_bytes(count: int) -> str:
    return f"{count / 1024:.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


def in_milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.{3 if nanoseconds < 1e7 else 1}f} ms"


def in_times(dividend: int, divisor: int) -> str:
    return f"{dividend / max(divisor, 1):.2f}x"


def cell(label: str, text: str, share=None) -> str:
    """A cell of the table. With `share`, the share of the largest value, draws a bar below the text."""
    kind = NUMBER if share is None else ""
    bar = "" if share is None else f'<div class="bar"><span style="width: {100 * share:.1f}%"></span></div>'
    return f'<td role="cell" data-label="{label}"{kind}><span>{html.escape(text)}</span>{bar}</td>'


def row(side: dict, reference: dict, slowest: int, largest: int) -> str:
    time, memory, calls, wasted = (side[key] for key in ("nanoseconds", "peak_memory", "heap_calls", "wasted"))
    cells = (cell("time", in_milliseconds(time), time / max(slowest, 1)),
             cell("speed", in_times(reference["nanoseconds"], time)),
             cell("peak memory", in_bytes(memory), memory / max(largest, 1)),
             cell("malloc calls", "n/a" if calls is None else f"{calls:,}"),
             cell("wasted", "n/a" if wasted is None else in_bytes(wasted)))
    kind = ' class="pool"' if side["is_pool"] else ""
    head = f'<th role="rowheader" scope="row">{html.escape(side["side"])}</th>'
    return f'<tr role="row"{kind}>{head}{"".join(cells)}</tr>'


def section(job: dict) -> str:
    sides = job["sides"]
    slowest, largest = (max(side[key] for side in sides) for key in ("nanoseconds", "peak_memory"))
    heads = "".join(f'<th role="columnheader" scope="col"{kind}>{label}</th>' for label, kind in COLUMNS.items())
    rows = "\n".join(row(side, sides[0], slowest, largest) for side in sides)
    name = html.escape(job["name"])
    return (f"<section>\n<h2>{name}</h2>\n<p class=\"quiet\">{html.escape(job['explanation'])}</p>\n"
            f'<table role="table" aria-label="{name}"><thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
            f'<tbody role="rowgroup">\n{rows}\n</tbody></table>\n</section>')


def definitions(terms: list) -> str:
    return "\n".join(f"<dt>{html.escape(each['name'])}</dt><dd>{html.escape(each['explanation'])}</dd>"
                     for each in terms)


def page_of(figures: dict, command: str) -> str:
    rounds = figures["rounds"]
    parts = {
        "title": html.escape(TITLE),
        "text": html.escape(figures["text"]),
        "notes": "\n".join(f'<p class="quiet">{html.escape(note)}</p>' for note in figures["text_notes"]),
        "conclusion": html.escape(figures["conclusion"]).replace(" %", "&nbsp;%"),
        "rounds": "once" if rounds == 1 else f"{rounds:d} times",
        "threads": f"{figures['threads']:d}",
        "jobs": "\n".join(map(section, figures["jobs"])),
        "sides": definitions(figures["sides"]),
        "legend": definitions(figures["legend"]),
        "agreement": html.escape(figures["agreement"]),
        "machine": definitions(figures["machine"]) +
                   f"\n<dt>command</dt><dd><code>{html.escape(command or shlex.join(figures['command']))}</code></dd>",
    }
    # In one pass, so that no name is mistaken for a placeholder of the template.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], TEMPLATE.read_text(encoding="utf-8"))


def write_whole(page: Path, text: str) -> None:
    """Writes a temporary file next to the page, and then renames it."""
    if page.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    if page.exists() and not page.is_file():
        raise OSError(0, "it is not a regular file")
    handle, name = tempfile.mkstemp(dir=page.parent, prefix=".tour_page.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, page)
    except OSError:
        os.unlink(name)
        raise


def main() -> int:
    parser = argparse.ArgumentParser(prog="tour_page", description="Makes an HTML page of the figures of the tour.")
    parser.add_argument("figures", metavar="FIGURES.json", type=Path, help="written by: tour --json FIGURES.json")
    parser.add_argument("-o", "--output", metavar="PAGE.html", type=Path, required=True)
    parser.add_argument("--command", default="", help="the command to show, in place of that of the figures")
    arguments = parser.parse_args()
    try:
        figures = read_figures(arguments.figures)
        try:
            page = page_of(figures, arguments.command)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise Unusable(f"'{arguments.figures}' is incomplete: {error!r}; write it again") from None
        write_whole(arguments.output, page)
    except Unusable as error:
        print(f"tour_page: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tour_page: '{arguments.output}' cannot be written: {error.strerror}; name a file in a folder that "
              "exists, and that you may write to", file=sys.stderr)
        return 1
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
