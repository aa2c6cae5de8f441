#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests the documentation site in build/site in headless Chromium: on a phone and on a desktop, in light
and dark mode. Screenshots are in build/site_screenshots. `./dev docs` builds the site and runs this test.

With arguments, only pages whose name contains one of them are tested.
"""

import contextlib
import html
import http.server
import re
import shutil
import sys
import tempfile
import threading
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
# A sample of the pages of sources, and of the pages of Doxygen.
SAMPLES = ("source/examples/entities.cpp.html", "source/include/memory_pool/core/slabs/index.html",
           "reference/index.html", "reference/annotated.html", "reference/files.html", "reference/hierarchy.html",
           "reference/functions.html", "reference/classmemory__pool_1_1concurrent__handle__pool.html",
           "reference/classmemory__pool_1_1basic__block__pool.html",
           "reference/include_2memory__pool_2np__alloc_8h.html",
           "reference/structmemory__pool_1_1pool__options.html", "reference/block__pool_8hpp_source.html")

# Questions of a new user: the links to follow from the first page, at most two, and the answer on the last page.
QUESTIONS = {
    "which pool for packets of 1,500 bytes from 4 threads": (["tasks/which-pool.html"],
                                                             r"concurrent_block_pool\(1500\)"),
    "how to limit the memory of one subsystem": (["tasks/limits.html"], "limit_resource memory"),
    "what happens at the limit": (["tasks/limits.html"], "What happens at the limit.*throws pool_exhausted"),
    "is it safe over fork": (["tasks/fork.html"], "Yes, with these exceptions"),
    "how to find a leak": (["tasks/leaks.html"], "NP_LEAKS=1"),
    "why RSS does not fall": (["tasks/rss.html"], "Freed memory is not always returned"),
    "how to use it with std::unordered_map": (["tasks/containers.html"], "std::pmr::unordered_map"),
    "how to replace malloc for one process": (["tasks/replace-malloc.html"], "LD_PRELOAD=PREFIX/lib/libnp_malloc.so"),
    "what it costs to check": (["tasks/does-it-pay-off.html#what-it-costs-to-check",
                                "../security.html#what-each-check-costs"],
                               "What each check costs.*canaries"),
    "which platforms": (["overview.html#platforms"], "^[^.]*64-bit target.*RISC-V.*macOS"),
}

RESULTS = ("[...document.querySelectorAll('.md-search-result__link')].map(a => a.href.replace(/[?#].*/, ''))")
# {query: pages}: one of the pages must be among the first FIRST results.
FIRST = 3
SEARCHES = {
    "RISC-V": ("overview.html", "guide.html"),
    "double free": ("find-my-bug.html", "errors.html"),
    "use after free": ("find-my-bug.html", "errors.html"),
    "std::bad_alloc": ("tasks/limits.html", "errors.html", "guide.html"),
    "boost::pool": ("migrating.html", "performance.html"),
    "reset arena": ("guide.html", "tasks/requests.html"),
    "thread safe": ("guide.html", "interface.html", "tasks/which-pool.html"),
    "exceptions off": ("guide.html",),
    "-fno-exceptions": ("guide.html",),
    "AddressSanitizer": ("find-my-bug.html", "guide.html"),
    "pool exhausted": ("tasks/limits.html", "errors.html"),
    "how do I limit memory": ("tasks/limits.html",),
    "fork safe": ("tasks/fork.html",),
    "coroutine frame": ("tasks/coroutines.html",),
    "LD_PRELOAD": ("tasks/replace-malloc.html",),
    '"double free"': ("find-my-bug.html", "errors.html"),
}
FRAME = "<!doctype html><meta name=viewport content='width=device-width'><body style='margin:8px'>{}</body>"
WIDE = "<table><tr>" + "<td style='white-space:nowrap'>a cell that does not break" * 20 + "</table>"
NAME = "concurrent_object_pool"
WORDS = f"<tr><th>option<th>default<th>meaning<tr><td>{NAME}<td>{NAME}<td>{NAME}"
GOOD = {
    "text": "<p>" + "some words " * 200 + "</p><p>more</p>",
    "a wide table in its container": f"<div style='overflow-x:auto'>{WIDE}</div>",
    "hidden text": "<p>one</p><p style='margin-top:-40px;visibility:hidden'>other</p>",
    "a table of numbers": "<div style='overflow-x:auto'><table><tr><th>size<th>time"
                          f"<tr><td style='min-width:500px'>{NAME}<td>12</table></div>",
}
BAD = {
    "a wide table": (WIDE, "scrolls sideways"),
    "a wide table that nothing scrolls": (f"<div style='overflow:hidden;width:99999px'>{WIDE}</div>"
                                          "<style>html,body{overflow-x:hidden}</style>", "cut off|scrolls sideways"),
    "text over text": ("<p>one text</p><p style='margin-top:-36px'>other text</p>", "texts overlap"),
    "grey on grey": ("<p style='color:#999;background:#bbb'>some text</p>", "contrast"),
    "a table of words": (f"<div style='overflow-x:auto'><table>{WORDS}</table></div>", "outside the viewport"),
}
BAD_ON_DESKTOP = {
    "a broken name": (f"<table><tr><td style='overflow-wrap:anywhere'>{NAME}<td style='width:100%'>text</table>",
                      "broken across lines"),
}


def names():
    pages = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    pages = [each for each in pages if not each.startswith(("source/", "reference/"))] + list(SAMPLES)
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
    """The layout check fails for pages with faults."""

    def problems_of(self, body, size="phone"):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "page.html")
            path.write_text(FRAME.format(body), encoding="utf-8")
            page = self.open(path, size)
            problems = page.value_of(LAYOUT)
            page.close()
            return problems

    def test_good_pages_pass(self):
        for name, body in GOOD.items():
            with self.subTest(name):
                self.assertEqual(self.problems_of(body), [])

    def test_bad_pages_fail(self):
        for size, bad in (("phone", BAD), ("desktop", BAD_ON_DESKTOP)):
            for name, (body, words) in bad.items():
                with self.subTest(name):
                    self.assertRegex("\n".join(self.problems_of(body, size)), words)

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
            self.assertEqual(page.problems, [], "script errors")
            self.assertEqual([each for each in page.requested if not each.startswith(("file:", "data:"))], [],
                             "is loaded from elsewhere")
            brightness = page.value_of("Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
                                       ".slice(0, 3).map(Number))")
            self.assertEqual(brightness > 128, scheme == "light", "the background of the colour scheme")
        finally:
            page.close()


class Palette(Site):
    def test_the_reference_has_the_configured_colours(self):
        for name in ("Dark", "Light"):
            with self.subTest(name):
                page = self.open(SITE / "index.html", scheme="light" if name == "Dark" else "dark")
                page.value_of(f"document.querySelector('input[data-md-color-media$=\"{name.lower()})\"]').click()")
                page.wait_for(f"document.body.dataset.mdColorMedia.includes('{name.lower()}')")
                page.call("Page.navigate", url=(SITE / "reference" / "annotated.html").as_uri())
                page.wait_for("location.pathname.includes('/reference/') && document.readyState === 'complete'")
                self.assertEqual(page.value_of("getComputedStyle(document.body).backgroundColor"),
                                 {"Dark": "rgb(30, 33, 41)", "Light": "rgb(255, 255, 255)"}[name])
                page.value_of("localStorage.clear()")
                page.close()


class Reference(unittest.TestCase):
    def test_classes_are_one_click_away(self):
        page = Links((SITE / "reference.html").read_text(encoding="utf-8"))
        links = [target for _, target in page.links]
        for name in ("block_pool", "object_pool", "handle_pool", "shared_pool", "arena_resource", "pool_resource"):
            with self.subTest(name):
                encoded = name.replace("_", "__")
                self.assertTrue({f"reference/classmemory__pool_1_1basic__{encoded}.html",
                                 f"reference/classmemory__pool_1_1{encoded}.html"} & set(links))

    def test_headers_of_aliases_lead_to_the_members(self):
        for header, name in (("object__pool", "basic__object__pool"), ("pool__resource", "basic__pool__resource"),
                             ("concurrent__block__pool", "basic__block__pool")):
            with self.subTest(header):
                text = (SITE / "reference" / f"{header}_8hpp.html").read_text(encoding="utf-8")
                self.assertRegex(text, rf'The members of .* are those of <a class="el" href="[^"]*1_1{name}.html">')

    def test_lists_of_members_link_to_every_letter(self):
        for name in ("functions", "functions_func", "globals"):
            with self.subTest(name):
                text = (SITE / "reference" / f"{name}.html").read_text(encoding="utf-8")
                bar = text[text.index('<div class="qindex">'):]
                links = {target.partition("#")[0] for _, target in Links(bar[:bar.index("</div>")]).links}
                letters = {each.name for each in (SITE / "reference").glob(f"{name}_?.html")}
                self.assertEqual(links - {f"{name}.html"}, letters)

    def test_classes_show_inherited_members(self):
        for name, members in (("handle__pool", {"begin", "create", "contains", "reserve"}),
                              ("concurrent__handle__pool", {"visit", "create", "create_wait", "contains"}),
                              ("basic__shared__pool", {"make", "try_make", "reserve"}),
                              ("recycling__pool", {"allocate", "set_recycle_action", "reserve"})):
            with self.subTest(name):
                text = (SITE / "reference" / f"classmemory__pool_1_1{name}.html").read_text(encoding="utf-8")
                declared = text[text.index('<table class="memberdecls">'):text.index('name="details"')]
                self.assertEqual(members - set(re.findall(r'ItemRight" valign="bottom">(?:<b>|<a [^>]*>)(\w+)',
                                                          re.sub('<tr class="[^"]* inherit .*', "", declared))), set())

    def test_inheritance_diagrams_show_only_public_classes(self):
        for path in (SITE / "reference").glob("class*.html"):
            with self.subTest(path.name):
                self.assertNotRegex(path.read_text(encoding="utf-8"), '<area [^>]*alt="[^"]*detail::')


class NotFound(Site):
    """404.html, from a server that returns it for any address."""

    @contextlib.contextmanager
    def served(self, below):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory, below.strip("/"))
            root.parent.mkdir(parents=True, exist_ok=True)
            if below != "/":
                root.symlink_to(SITE)

            class Handler(http.server.SimpleHTTPRequestHandler):
                def __init__(self, *arguments):
                    super().__init__(*arguments, directory=SITE if below == "/" else directory)

                def send_error(self, code, *_):
                    self.send_response(code)
                    self.end_headers()
                    if self.command == "GET":
                        self.wfile.write((SITE / "404.html").read_bytes())

                def log_message(self, *_):
                    pass

            with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                try:
                    yield f"http://127.0.0.1:{server.server_port}{below}"
                finally:
                    server.shutdown()

    def test_links_to_the_home_page_and_the_search(self):
        for below, missing in (("/", "fork_safe.html"), ("/docs/memory_pool/", "tasks/old/fork_safe.html")):
            with self.subTest(below), self.served(below) as site:
                page = self.open(site + missing)
                page.wait_for("document.documentElement.dataset.ready === ''")
                self.assertEqual(page.value_of("document.querySelector('a').href"), site + "index.html")
                self.assertEqual(page.value_of("document.getElementById('place').textContent"), "fork_safe.html")
                self.assertEqual(page.value_of(
                    "Promise.all([...document.querySelectorAll('a')].map(each => fetch(each.href)))"
                    ".then(all => all.every(each => each.ok))"), True)
                page.value_of("document.querySelector('button').click()")
                page.wait_for("document.querySelectorAll('.md-search-result__link').length > 0")
                self.assertIn(f"{site}tasks/fork.html", page.value_of(RESULTS))
                self.assertEqual(page.problems, [])
                page.close()


class Search(Site):
    def test_finds_pages_without_a_server(self):
        for size in WIDTHS:
            with self.subTest(size):
                page = self.open(SITE / "index.html", size)
                self.assertTrue(any("tasks/fork.html" in each for each in self.find(page, "fork")))
                self.assertEqual(page.problems, [])
                page.close()

    def test_finds_the_reference(self):
        for words, place in (("np_trim", "reference/"), ("handle_pool contains", "handle__pool.html")):
            with self.subTest(words):
                page = self.open(SITE / "tasks" / "fork.html")
                found = self.find(page, words)
                self.assertTrue(any(place in each for each in found), found)
                for each in found:
                    self.assertTrue(Path(unquote(each.removeprefix("file://").partition("?")[0])).is_file(), each)
                self.assertFalse(any("/source/" in each for each in found), found)
                page.close()

    def test_punctuation_is_not_part_of_a_word(self):
        for words, places in (("std::bad_alloc", ("errors.html", "tasks/limits.html")),
                              ("bad_alloc", ("errors.html", "tasks/limits.html")),
                              ("unordered_map", ("tasks/containers.html", "tasks/which-pool.html", "index.html"))):
            with self.subTest(words):
                page = self.open(SITE / "index.html")
                found = self.find(page, words)
                for place in places:
                    self.assertTrue(any(each.endswith(place) for each in found), (place, found))
                page.close()

    def test_tasks_come_before_the_reference(self):
        for words, place in (("limit memory", "tasks/limits.html"), ("memory limit", "tasks/limits.html"),
                             ("object_pool", "basic__object__pool.html"), ("find a leak", "tasks/leaks.html")):
            with self.subTest(words):
                page = self.open(SITE / "index.html")
                self.assertIn(place, self.find(page, words)[0])
                page.close()

    def test_answers_rank_first(self):
        for words, places in SEARCHES.items():
            with self.subTest(words):
                page = self.open(SITE / "index.html")
                found = list(dict.fromkeys(self.find(page, words)))[:FIRST]
                self.assertTrue(any(each.endswith(places) for each in found), found)
                self.assertEqual(page.problems, [])
                page.close()

    @staticmethod
    def find(page, words):
        """Returns the results of the search."""
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.value_of("const button = document.querySelector('label.md-header__button[for=__search]');"
                      "if (button.checkVisibility()) button.click();"
                      "document.querySelector('.md-search__input').focus()")
        page.call("Input.insertText", text=words)
        page.press("End") # The search looks when a key is released.
        page.wait_for("document.querySelectorAll('.md-search-result__link').length > 0")
        return page.value_of(RESULTS)


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
