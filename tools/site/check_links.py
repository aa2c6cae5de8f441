#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Checks the links in a folder of HTML pages.

1. A link or resource leads to a file of the folder, and its #anchor to an element of that page.
2. No page loads anything from another host, so the pages work without a network.

Prints one line for each violation, as `page:line: message`, and exits with 1 if there is one.
"""

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
NOT_LOADED = ("canonical", "prev", "next", "alternate")


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.anchors, self.links, self.loads = {"", "top"}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values and (name == "id" or tag == "a"))
        line = self.getpos()[0]
        if tag in ("a", "area") and "href" in values:
            self.links.append((line, values["href"]))
        elif (name := LOADED.get(tag)) in values and values.get("rel") not in NOT_LOADED:
            self.loads.append((line, values[name]))

    handle_startendtag = handle_starttag


def is_elsewhere(target: str) -> bool:
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target) is not None


def is_in_the_page(target: str) -> bool:
    return target.startswith(("data:", "javascript:", "about:"))


class Checker:
    def __init__(self, root: Path):
        self.root = root.resolve()
        self.pages = {}

    def page(self, path: Path) -> Page:
        if path not in self.pages:
            self.pages[path] = Page(path.read_text(encoding="utf-8"))
        return self.pages[path]

    def violations_of(self, path: Path):
        page = self.page(path)
        for line, target in page.loads:
            if is_elsewhere(target) and not is_in_the_page(target):
                yield line, f"is loaded from elsewhere: {target}"
        for line, target in page.links + page.loads:
            if not is_elsewhere(target) and (what := self.is_broken(path, target)):
                yield line, f"{what}: {target}"

    def is_broken(self, path: Path, target: str) -> str:
        place, _, anchor = target.partition("#")
        place = unquote(place.partition("?")[0])
        found = path
        if place:
            found = (self.root / place.lstrip("/") if place.startswith("/") else path.parent / place).resolve()
        if found.is_dir():
            found /= "index.html"
        if not found.is_file() or not found.is_relative_to(self.root):
            return "no such page"
        # Material for MkDocs reads parameters from some anchors.
        if anchor and not anchor.startswith("__") and found.suffix == ".html":
            if unquote(anchor) not in self.page(found).anchors:
                return "no such anchor"
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="folder of the pages")
    checker = Checker(parser.parse_args().root)
    pages = sorted(checker.root.rglob("*.html"))
    count = 0
    for path in pages:
        for line, message in checker.violations_of(path):
            print(f"{path.relative_to(checker.root).as_posix()}:{line}: {message}")
            count += 1
    print(f"{len(pages)} pages, {sum(len(checker.page(each).links) for each in pages)} links, {count} violations")
    return 1 if count or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
