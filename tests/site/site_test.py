#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The documentation site in build/site, as a reader sees it in headless Chromium: on a phone and on a desktop, in light
and dark. Screenshots are in build/site_screenshots. `./dev docs` builds the site and runs this.

With arguments, only pages whose name contains one of them are looked at.
"""

import html
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
SCREENSHOTS = ROOT / "build" / "site_screenshots"
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "tools" / "site")]
import chromium  # noqa: E402
from check_links import Page as Links  # noqa: E402

LAYOUT = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
WIDTHS = {"phone": (390, 844), "desktop": (1440, 900)}
SCHEMES = ("light", "dark")
# Of the pages that are made of sources, and of those of Doxygen, some stand for all.
SAMPLES = ("source/examples/entities.cpp.html", "source/include/memory_pool/core/slabs/index.html",
           "reference/index.html", "reference/annotated.html", "reference/files.html",
           "reference/classmemory__pool_1_1basic__block__pool.html",
           "reference/include_2memory__pool_2np__alloc_8h.html",
           "reference/structmemory__pool_1_1pool__options.html", "reference/block__pool_8hpp_source.html")

# What a newcomer asks; the links to follow from the first page, at most two; and what the last of them says.
QUESTIONS = {
    "which pool for packets of 1,500 bytes from 4 threads": (["tasks/which-pool.html"],
                                                             r"concurrent_block_pool\(1500\)"),
    "how to limit the memory of one subsystem": (["tasks/limits.html"], "limit_resource memory"),
    "what happens at the limit": (["tasks/limits.html"], "What happens at the limit.*throws pool_exhausted"),
    "is it safe over fork": (["tasks/fork.html"], "Yes, it is safe"),
    "how to find a leak": (["tasks/leaks.html"], "NP_LEAKS=1"),
    "why RSS does not fall": (["tasks/rss.html"], "Freed is not returned"),
    "how to use it with std::unordered_map": (["tasks/containers.html"], "std::pmr::unordered_map"),
    "how to replace malloc for one process": (["tasks/replace-malloc.html"], "LD_PRELOAD=PREFIX/lib/libnp_malloc.so"),
    "what it costs to check": (["tasks/does-it-pay-off.html", "../security.html#what-each-check-costs"],
                               "What each check costs.*canaries"),
    "which platforms": (["overview.html#install"], "Linux, AArch64 and RISC-V.*macOS"),
}

FRAME = "<!doctype html><meta name=viewport content='width=device-width'><body style='margin:8px'>{}</body>"
WIDE = "<table><tr>" + "<td style='white-space:nowrap'>a cell that does not break" * 20 + "</table>"
GOOD = {
    "text": "<p>" + "some words " * 200 + "</p><p>more</p>",
    "a wide table in its container": f"<div style='overflow-x:auto'>{WIDE}</div>",
    "hidden text": "<p>one</p><p style='margin-top:-40px;visibility:hidden'>other</p>",
}
BAD = {
    "a wide table": (WIDE, "scrolls sideways"),
    "a wide table that nothing scrolls": (f"<div style='overflow:hidden;width:99999px'>{WIDE}</div>"
                                          "<style>html,body{overflow-x:hidden}</style>", "cut off|scrolls sideways"),
    "text over text": ("<p>one text</p><p style='margin-top:-36px'>other text</p>", "texts overlap"),
    "grey on grey": ("<p style='color:#999;background:#bbb'>some text</p>", "contrast"),
}


def names():
    pages = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    # 404.html is made for a server: it finds its style sheets from the root of it.
    pages = [each for each in pages if not each.startswith(("source/", "reference/", "404."))] + list(SAMPLES)
    return [each for each in pages if not CHOSEN or any(part in each for part in CHOSEN)]


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Browser().__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, path, size="desktop", scheme="light"):
        width, height = WIDTHS[size]
        page = self.browser.open(path, width=width, height=height, scheme=scheme)
        page.wait_for("document.fonts.status === 'loaded'")
        return page


class Controls(Site):
    """The check of the layout fails for pages that are wrong."""

    def problems_of(self, body):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "page.html")
            path.write_text(FRAME.format(body), encoding="utf-8")
            page = self.open(path, "phone")
            problems = page.value_of(LAYOUT)
            page.close()
            return problems

    def test_good_pages_pass(self):
        for name, body in GOOD.items():
            with self.subTest(name):
                self.assertEqual(self.problems_of(body), [])

    def test_bad_pages_fail(self):
        for name, (body, words) in BAD.items():
            with self.subTest(name):
                self.assertRegex("\n".join(self.problems_of(body)), words)

    def test_a_table_out_of_its_container_fails(self):
        page = self.open(SITE / "performance.html", "phone")
        self.assertEqual(page.value_of(LAYOUT), [])
        page.value_of("const containers = '.md-typeset__scrollwrap, .md-typeset__table, table';"
                      "for (const each of document.querySelectorAll(containers))"
                      " each.style.cssText = 'overflow: visible; display: table; max-width: none; margin: 0'")
        self.assertRegex("\n".join(page.value_of(LAYOUT)), "scrolls sideways|cut off")
        page.close()


class Pages(Site):
    def test_pages(self):
        shutil.rmtree(SCREENSHOTS, ignore_errors=True)
        SCREENSHOTS.mkdir(parents=True)
        for name in names():
            for size in WIDTHS:
                for scheme in SCHEMES:
                    with self.subTest(page=name, size=size, scheme=scheme):
                        self.look_at(name, size, scheme)

    def look_at(self, name, size, scheme):
        page = self.open(SITE / name, size, scheme)
        try:
            picture = f"{name.removesuffix('.html').replace('/', '-')}.{size}.{scheme}.png"
            (SCREENSHOTS / picture).write_bytes(page.screenshot())
            self.assertEqual(page.value_of(LAYOUT), [])
            self.assertEqual(page.problems, [], "errors of scripts")
            self.assertEqual([each for each in page.requested if not each.startswith(("file:", "data:"))], [],
                             "is loaded from elsewhere")
            brightness = page.value_of("Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
                                       ".slice(0, 3).map(Number))")
            self.assertEqual(brightness > 128, scheme == "light", "the background is that of the scheme")
        finally:
            page.close()


class Search(Site):
    def test_it_finds_pages_without_a_server(self):
        for size in WIDTHS:
            with self.subTest(size):
                page = self.open(SITE / "index.html", size)
                self.assertTrue(any("tasks/fork.html" in each for each in self.find(page, "fork")))
                self.assertEqual(page.problems, [])
                page.close()

    def test_it_finds_the_reference(self):
        for words, place in (("np_trim", "reference/"), ("handle_pool contains", "basic__handle__pool.html")):
            with self.subTest(words):
                page = self.open(SITE / "tasks" / "fork.html")
                found = self.find(page, words)
                self.assertTrue(any(place in each for each in found), found)
                for each in found:
                    self.assertTrue(Path(unquote(each.removeprefix("file://").partition("?")[0])).is_file(), each)
                self.assertFalse(any("/source/" in each for each in found), found)
                page.close()

    @staticmethod
    def find(page, words):
        """Returns the links that the search offers."""
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.value_of("const button = document.querySelector('label.md-header__button[for=__search]');"
                      "if (button.checkVisibility()) button.click();"
                      "document.querySelector('.md-search__input').focus()")
        page.call("Input.insertText", text=words)
        page.press("End") # The search looks when a key is released.
        page.wait_for("document.querySelectorAll('.md-search-result__link').length > 0")
        return page.value_of("[...document.querySelectorAll('.md-search-result__link')]"
                             ".map(a => a.href.replace(/[#].*/, ''))")


class Questions(unittest.TestCase):
    def test_answers_are_two_clicks_away(self):
        for question, (clicks, answer) in QUESTIONS.items():
            with self.subTest(question):
                self.assertLessEqual(len(clicks), 2)
                path = SITE / "index.html"
                for click in clicks:
                    text = path.read_text(encoding="utf-8")
                    article = text[text.index("<article"):text.index("</article>")]
                    self.assertIn(click, [target for _, target in Links(article).links])
                    path = (path.parent / click.partition("#")[0]).resolve()
                text = path.read_text(encoding="utf-8")
                article = text[text.index("<article"):text.index("</article>")]
                if anchor := clicks[-1].partition("#")[2]:
                    article = article[article.index(f'id="{anchor}"'):]
                plain = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", article)))
                self.assertRegex(plain, answer)


if __name__ == "__main__":
    CHOSEN = sys.argv[1:]
    if not (SITE / "index.html").exists():
        sys.exit("there is no site in build/site: ./dev docs builds it")
    if chromium.PROGRAM is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    unittest.main(argv=sys.argv[:1])
