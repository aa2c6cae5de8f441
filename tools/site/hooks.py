# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Extends MkDocs for the documentation site (mkdocs.yml names this file as a hook).

The documents are written for a repository browser: they link to sources, and some are outside of docs/. With this hook:
1. documents at the root of the tree become pages of the site (ROOT_DOCUMENTS);
2. a link to a public header leads to its page in the reference (reference.py), or, if the link text is the name of a
   class, to the page of the class;
3. a link to any other file or folder of the tree leads to a page with its contents, and the search omits that page;
4. the text of a link that is the name of a document becomes the title of its page;
5. links that are alone on a line of the first page become buttons;
6. the search also finds classes and functions of the reference, and ranks answers above reports and internals;
7. 404.html replaces the one of Material, which works only at the root of a server;
8. the words after ```cpp, which tools/extract_snippets.py reads, are removed;
9. the cells of text tables get their column heading as a label, because phones stack these cells (site.css).
"""

import html
import json
import re
import sys
from pathlib import Path, PurePosixPath

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "site")]
import reference  # noqa: E402
from check_documents import CODE, FENCE, LINK, text_lines  # noqa: E402
from version import version  # noqa: E402

ROOT_DOCUMENTS = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "CHANGELOG.md": "changelog.md",
}
LANGUAGES = {".hpp": "cpp", ".h": "cpp", ".c": "c", ".cpp": "cpp", ".cppm": "cpp", ".py": "python", ".json": "json",
             ".cmake": "cmake", ".yml": "yaml", ".pml": "c"}
LINKS_TO_REFERENCE = ("[All classes](reference/annotated.html), [all members](reference/functions.html),"
                      " [functions of C](reference/globals_func.html)\n\n")
ONLY_LINKS = re.compile(r"(\[[^\]]*\]\([^()]*\) *)+")
NAME_OF_CLASS = re.compile(r"\[`(\w+)[^`]*`$")
NAME_OF_DOCUMENT = re.compile(r"\[[\w/.-]+\.md$")
NOT_FOUND = Path(__file__).with_name("404.html")
TEXT_AND_LINK = re.compile(r"(\[[^\[\]]*)?" + LINK.pattern)
IMAGES = (".png", ".svg")
# By prefix of the path of a page; the boost of all other pages is 1.
SEARCH_BOOSTS = {
    "tasks/": 3, "errors": 3, "find-my-bug": 3, "guide": 2,
    "performance": 0.7, "security": 0.7, "contributing": 0.3, "design": 0.3,
    "benchmarks/": 0.2, "changelog": 0.2, "experiments": 0.2, "reading": 0.2, "testing": 0.2,
}
TABLE = re.compile("<table>.*?</table>", re.DOTALL)
HEADING = re.compile("<th[^>]*>(.*?)</th>", re.DOTALL)
CELL = re.compile("<td([^>]*)>(.*?)</td>", re.DOTALL)
MOST_COLUMNS = 5
WORD = re.compile(r"[^\W\d_]{4}")


def document_of(src_uri: str) -> str:
    """Returns the path, in the tree, of the document of a page."""
    for document, page in ROOT_DOCUMENTS.items():
        if page == src_uri:
            return document
    return f"docs/{src_uri}"


def page_of(place: PurePosixPath, pages: dict) -> str:
    """Returns the page of the site for a file or folder of the tree."""
    name = place.as_posix()
    if name in ROOT_DOCUMENTS:
        return ROOT_DOCUMENTS[name]
    if name.startswith("docs/") and place.suffix in (".md", *IMAGES):
        return name.removeprefix("docs/")
    if name in pages:
        return f"reference/{pages[name]}"
    return f"source/{name}/index.md" if (ROOT / name).is_dir() else f"source/{name}.md"


def relative(page: str, base: str) -> str:
    """Returns the link from one page to another, both relative to the site."""
    here, there = PurePosixPath(base).parts[:-1], PurePosixPath(page).parts
    same = 0
    while same < min(len(here), len(there) - 1) and here[same] == there[same]:
        same += 1
    return "/".join((*[".."] * (len(here) - same), *there[same:]))


def place_of(target: str, document: str):
    """Returns the file or folder, relative to the tree, that a link leads to; None for other links."""
    path = target.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path):
        return None
    place = (ROOT / document).parent.joinpath(path).resolve()
    if not place.exists() or not place.is_relative_to(ROOT):
        return None # tools/check_documents.py and MkDocs report it.
    return PurePosixPath(place.relative_to(ROOT).as_posix())


def source_page(place: PurePosixPath) -> str:
    name = place.as_posix()
    heading = f"---\ntitle: {place.name}\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n# `{name}`\n\n"
    path = ROOT / name
    if path.is_dir():
        return heading + "".join(f"- [`{each.name}`]({each.name}.md)\n" for each in files_in(path))
    text = path.read_text(encoding="utf-8")
    fence = "`" * (2 + max((len(run) for run in re.findall("`+", text)), default=1))
    language = LANGUAGES.get(path.suffix, "text")
    return f"{heading}{fence}{language}\n{text.rstrip()}\n{fence}\n"


def files_in(folder: Path) -> list:
    return sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))


class Site:
    headers: dict = {}
    classes: dict = {}
    titles: dict = {}


def pages_of(nav) -> dict:
    """The titles of pages, in the order of the navigation."""
    if isinstance(nav, list):
        return {page: title for each in nav for page, title in pages_of(each).items()}
    return {page: title for title, below in nav.items()
            for page, title in (pages_of(below) if isinstance(below, list) else {below: title}).items()}


def tabs_of(nav: list) -> dict:
    """The first page of each tab, by the title of the tab."""
    return {title: f"{next(iter(pages_of([{title: below}]))).removesuffix('.md')}.html"
            for each in nav for title, below in each.items()}


def on_files(files, config):
    def add(src_uri, **what):
        files.append(File.generated(config, src_uri, inclusion=InclusionLevel.NOT_IN_NAV, **what))

    Site.headers, Site.classes, Site.titles = reference.headers(), reference.classes(), pages_of(config.nav)
    reference.mend(tabs_of(config.nav))
    for page in reference.PAGES.rglob("*"):
        if page.is_file():
            add(f"reference/{page.relative_to(reference.PAGES).as_posix()}", abs_src_path=str(page))
    documents = [*ROOT_DOCUMENTS, *(f"docs/{each.src_uri}" for each in files.documentation_pages())]
    for document, page in ROOT_DOCUMENTS.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / document)))
    places = {place_of(target, document) for document in documents
              for _, line in text_lines(ROOT / document) for target in LINK.findall(CODE.sub("code", line))} - {None}
    for place in list(places):
        if (ROOT / place).is_dir():
            places.update(PurePosixPath(each.relative_to(ROOT).as_posix()) for each in files_in(ROOT / place))
    for place in sorted(places):
        page = f"source/{place}/index.md" if (ROOT / place).is_dir() else f"source/{place}.md"
        if page == page_of(place, {}):
            add(page, content=source_page(place))
    return files


def on_page_markdown(markdown, page, config, files): # noqa: ARG001
    src_uri = page.file.src_uri
    if src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"] # It has links to everything.
        markdown = markdown.replace("# memory_pool\n", f"# memory_pool {version(ROOT)}\n", 1)
    if src_uri == "overview.md":
        markdown = markdown.replace("# memory_pool\n", f"# {Site.titles[src_uri]}\n", 1)
    for begin, boost in SEARCH_BOOSTS.items():
        if src_uri.startswith(begin):
            page.meta["search"] = {"boost": boost}
    if src_uri.startswith("source/"):
        return markdown
    document = document_of(src_uri)

    def rewrite(match, masked):
        text, target = match[1] or "", match[2]
        if masked[match.start() + len(text):match.end()] != match[0].removeprefix(text):
            return match[0] # It is code.
        place = place_of(target, document)
        if place is None:
            return match[0]
        there = page_of(place, Site.headers)
        name = NAME_OF_CLASS.search(text)
        if name and place.as_posix() in Site.headers and name[1] in Site.classes:
            there = f"reference/{Site.classes[name[1]]}"
        if there in Site.titles and NAME_OF_DOCUMENT.search(text):
            text = NAME_OF_DOCUMENT.sub(f"[{Site.titles[there]}", text)
        return f"{text}]({relative(there, src_uri)}{''.join(target.partition('#')[1:])})"

    lines, fence = [], None
    for line in markdown.splitlines():
        if match := FENCE.match(line):
            if fence is None:
                fence = match[1]
                line = re.sub(r"^(\s*[`~]+cpp) .*$", r"\1", line)
            elif match[1].startswith(fence):
                fence = None
        elif fence is None:
            masked = CODE.sub(lambda code: "\0" * len(code[0]), line)
            line = TEXT_AND_LINK.sub(lambda match, masked=masked: rewrite(match, masked), line)
            if src_uri == "index.md" and ONLY_LINKS.fullmatch(line):
                line = LINK.sub(r"\g<0>{ .md-button }", line)
        lines.append(line)
    text = "\n".join(lines) + "\n"
    if src_uri == "reference.md":
        text = text.replace("\n\n", f"\n\n{LINKS_TO_REFERENCE}", 1)
    return text


def labelled(table: str) -> str:
    """Returns a text table with labels on its cells; tables of numbers, or with many columns, unchanged."""
    def plain(text):
        return html.unescape(re.sub("<[^>]*>", "", text))

    headings = [plain(each) for each in HEADING.findall(table)]
    others = [plain(text) for row in table.split("<tr>") for _, text in CELL.findall(row)[1:]]
    words = sum(WORD.search(each) is not None for each in others)
    if not 1 < len(headings) <= MOST_COLUMNS or 5 * words < 2 * len(others):
        return table

    def row_of(row):
        labels = iter(headings)
        return CELL.sub(lambda cell: f'<td data-label="{html.escape(next(labels))}"{cell[1]}>{cell[2]}</td>', row)

    return "<tr>".join(map(row_of, table.replace("<table>", "<table data-stacks>").split("<tr>")))


def on_page_content(content, page, config, files): # noqa: ARG001
    return TABLE.sub(lambda match: labelled(match[0]), content)


def on_post_template(output_content, template_name, config): # noqa: ARG001
    return NOT_FOUND.read_text(encoding="utf-8") if template_name == "404.html" else output_content


# After the search has written its index, and before the plugin `offline` copies it.
@event_priority(-50)
def on_post_build(config):
    path = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(path.read_text(encoding="utf-8"))
    index["docs"] += reference.search_entries()
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
