# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Adapts the pages that Doxygen has written to build/site_reference to the site, and finds the page of each name.

1. The navigation bar of the pages gets the links of the site, and the pages follow the colour scheme chosen there
   (reference.js).
2. Names such as object_pool are aliases, which Doxygen documents only in fwd.hpp. The pages of their headers and the
   list of classes lead to the class that has the members.
3. A link to an anchor that Doxygen has not written (it documents no friends without a comment) leads to the page.
4. Lists of members with one page per letter get links to the letters, which Doxygen has only in a menu.
5. Classes that derive from a specialization of a template, such as handle_pool, list the members of the template,
   which Doxygen omits. Inheritance diagrams with implementation classes (detail::) are removed.
"""

import functools
import re
import xml.etree.ElementTree
from pathlib import Path

from check_links import Checker

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "site_reference"
PAGES = FOLDER / "html"
CONTENTS = '<div class="contents">\n'
DIAGRAM = re.compile(r'<div class="dynheader">\nInheritance diagram.*?</div></div>\n', re.DOTALL)
SCRIPT = Path(__file__).with_name("reference.js")
SITE_NAME = "memory_pool"


@functools.cache
def compounds(kind: str) -> list:
    """(name, page, element) of each class, file or other kind."""
    found = []
    for each in xml.etree.ElementTree.parse(FOLDER / "reference.tag").iterfind("compound"):
        page = each.findtext("filename", "")
        page = page if page.endswith(".html") else f"{page}.html"
        if each.get("kind") in kind.split() and (PAGES / page).exists():
            found.append((each.findtext("name", ""), page, each))
    return found


def headers() -> dict:
    """The pages of public headers, by their path in the tree."""
    found = {}
    for name, page, element in compounds("file"):
        header = Path(element.findtext("path", ""), name)
        if header.is_relative_to(ROOT):
            found[header.relative_to(ROOT).as_posix()] = page
    return found


@functools.cache
def aliases() -> dict:
    """Returns {alias of fwd.hpp: class}."""
    found = {}
    for name, _, element in compounds("file"):
        if name == "fwd.hpp":
            for each in element.iterfind("member[@kind='typedef']"):
                found[each.findtext("name")] = re.match(r"\w*", each.findtext("type", ""))[0]
    for name in found:
        while found[name] in found:
            found[name] = found[found[name]]
    return found


def classes() -> dict:
    """The pages of classes of memory_pool, by their name or alias."""
    found = {name.removeprefix("memory_pool::"): page for name, page, _ in compounds("class struct")}
    return {**found, **{alias: found[name] for alias, name in aliases().items() if name in found}}


def link_to(name: str, pages: dict) -> str:
    return f'<a class="el" href="{pages[name]}">{name}</a>'


def members_of_aliases(header: str, pages: dict) -> str:
    """Returns HTML that links the aliases of a header to the class with their members."""
    stem = Path(header).stem
    mine = {}
    for alias, name in aliases().items():
        has_its_own = (ROOT / "include" / "memory_pool" / f"{alias}.hpp").exists()
        if not alias.startswith("basic_") and (alias == stem or (alias.endswith(f"_{stem}") and not has_its_own)):
            mine.setdefault(name, []).append(f"<code>{alias}</code>")
    return "".join(f"<p>The members of {' and '.join(names)} are those of {link_to(name, pages)}.</p>\n"
                   for name, names in mine.items())


def letters() -> dict:
    """Returns {page: HTML with links to the letters} for each page of a list of members."""
    found = {}
    menu = (PAGES / "menudata.js").read_text(encoding="utf-8")
    for group in re.findall(r"children:\[((?:\s*\{text:\"[^\"]\",url:\"[^\"]*#index_\w+\"\},?)+)\]", menu):
        entries = re.findall(r'text:"([^"])",url:"([^"]*)"', group)
        bar = "&#160; ".join(f'<a class="qindex" href="{url}">{letter}</a>' for letter, url in entries)
        found.update({url.partition("#")[0]: f'<div class="qindex">{bar}</div>\n' for _, url in entries})
    return found


def members_of_template(element, pages: dict) -> str:
    """Returns HTML with the public members of the templates whose specializations a class derives from."""
    tables = []
    for base in element.iterfind("base"):
        name = base.text.partition("<")[0].removeprefix("memory_pool::")
        if "<" not in base.text or name not in pages:
            continue
        text = (PAGES / pages[name]).read_text(encoding="utf-8")
        for table in re.findall(r'<table class="memberdecls">.*?</table>', text, re.DOTALL):
            if 'id="pub-' in table:
                table = re.sub(r'<a id="[^"]*" name="[^"]*"></a>\n?', "", table)
                tables.append(table.replace("</h2>", f" of {link_to(name, pages)}</h2>", 1) + "\n")
    return "".join(tables)


def mend(tabs: dict) -> None:
    """`tabs` are the pages in the bar of the site, by title."""
    checker, pages, by_page = Checker(PAGES), classes(), {page: header for header, page in headers().items()}
    links = " ".join(f'<a href="../{page}">{title}</a>' for title, page in tabs.items())
    script = f"<script>\n{SCRIPT.read_text(encoding='utf-8')}</script>\n"
    others = ", ".join(link_to(alias, pages) for alias in aliases() if not alias.startswith("basic_"))
    members = {page: members_of_template(element, pages) for _, page, element in compounds("class struct")}
    lists = letters()
    for path in sorted(PAGES.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        text = text.replace("</head>", f"{script}</head>", 1)
        text = text.replace(f'<div id="projectname">{SITE_NAME}',
                            f'<div id="projectname"><a href="../index.html">{SITE_NAME}</a>')
        text = re.sub(r'<div id="projectbrief">[^<]*</div>', f'<div id="projectbrief">{links}</div>', text)
        details = '<a name="details" id="details"></a>'
        if path.name in by_page:
            text = text.replace(details, members_of_aliases(by_page[path.name], pages) + details, 1)
        text = text.replace(details, members.get(path.name, "") + details, 1)
        text = DIAGRAM.sub(lambda match: "" if "detail::" in match[0] else match[0], text)
        text = text.replace(CONTENTS, f"{CONTENTS}{lists.get(path.name, '')}", 1)
        if path.name == "annotated.html":
            text = text.replace('<div class="textblock">', f'<div class="textblock"><p>Aliases: {others}.</p>', 1)
        targets = {target for _, target in checker.page(path).links
                   if "#" in target and checker.is_broken(path, target) == "no such anchor"}
        for target in targets:
            text = text.replace(f'href="{target}"', f'href="{target.partition("#")[0] or path.name}"')
        path.write_text(text, encoding="utf-8")
    menu = PAGES / "menudata.js"
    menu.write_text(menu.read_text(encoding="utf-8").replace('"Main Page"', '"Overview"'), encoding="utf-8")


def search_entries() -> list:
    """Entries for the search: classes with the names of their members, and functions of C. Pages that explain how to
    use these names come first, unless the words are the name of a class."""
    entries, of_class = [], {}
    for alias, name in aliases().items():
        if not alias.startswith("basic_"):
            of_class.setdefault(name, []).append(alias)
    for name, page, element in compounds("class struct"):
        words = dict.fromkeys(each.findtext("name", "") for each in element.iterfind("member"))
        names = [name.removeprefix("memory_pool::"), *of_class.get(name.removeprefix("memory_pool::"), [])]
        entries.append({"location": f"reference/{page}", "title": f"{element.get('kind')} {', '.join(names)}",
                        "text": " ".join(words), "boost": 0.2 if "<" in name else 0.5})
    for name, page, element in compounds("file"):
        if name.endswith(".h"):
            entries.append({"location": f"reference/{page}", "title": f"header {name}", "text": "", "boost": 0.5})
            entries += [{"location": f"reference/{each.findtext('anchorfile')}#{each.findtext('anchor')}",
                         "title": f"function {each.findtext('name')}", "text": f"in {name}", "boost": 0.5}
                        for each in element.iterfind("member[@kind='function']")
                        if (PAGES / each.findtext("anchorfile")).exists()]
    return entries
