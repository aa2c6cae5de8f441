# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""What MkDocs does not do for the documentation site by itself (mkdocs.yml names this file as a hook).

The documents are written for a repository browser, so they link to sources, and some lie outside of docs/. Here,
1. documents at the root of the tree become pages of the site (ROOT_DOCUMENTS);
2. a link to a public header leads to its page in the reference, which Doxygen has written to build/site_reference;
3. a link to any other file or folder of the tree leads to a page made of it, which the search leaves out;
4. links of Doxygen to anchors that it has not written (it documents no friends without a comment) lead to the page;
5. links that have a line of the first page for themselves become buttons;
6. the search finds the classes and functions of the reference, too;
7. the words after ```cpp, which tools/extract_snippets.py reads, are left out.
"""

import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path, PurePosixPath

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT / "tools" / "site"))
from check_documents import CODE, FENCE, LINK, text_lines  # noqa: E402
from check_links import Checker  # noqa: E402

REFERENCE = ROOT / "build" / "site_reference"
ROOT_DOCUMENTS = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "CHANGELOG.md": "changelog.md",
}
LANGUAGES = {".hpp": "cpp", ".h": "cpp", ".c": "c", ".cpp": "cpp", ".cppm": "cpp", ".py": "python", ".json": "json",
             ".cmake": "cmake", ".yml": "yaml", ".pml": "c"}
PUBLIC = ("include/memory_pool", "include/memory_pool/report")
SITE_NAME = "memory_pool"
LINK_HOME = f'<a href="../index.html">{SITE_NAME}</a>'
LINKS_TO_REFERENCE = ("[All classes](reference/annotated.html), [all members](reference/functions.html),"
                      " [functions of C](reference/globals_func.html)\n\n")
ONLY_LINKS = re.compile(r"(\[[^\]]*\]\([^()]*\) *)+")
IMAGES = (".png", ".svg")


def document_of(src_uri: str) -> str:
    """The path, in the tree, of the document that a page is made of."""
    for document, page in ROOT_DOCUMENTS.items():
        if page == src_uri:
            return document
    return f"docs/{src_uri}"


def page_of(place: PurePosixPath, reference: dict) -> str:
    """The page of the site for a file or folder of the tree."""
    name = place.as_posix()
    if name in ROOT_DOCUMENTS:
        return ROOT_DOCUMENTS[name]
    if name.startswith("docs/") and place.suffix in (".md", *IMAGES):
        return name.removeprefix("docs/")
    if name in reference:
        return f"reference/{reference[name]}"
    return f"source/{name}/index.md" if (ROOT / name).is_dir() else f"source/{name}.md"


def relative(page: str, base: str) -> str:
    """The link to a page in a page, both relative to the site."""
    here, there = PurePosixPath(base).parts[:-1], PurePosixPath(page).parts
    same = 0
    while same < min(len(here), len(there) - 1) and here[same] == there[same]:
        same += 1
    return "/".join((*[".."] * (len(here) - same), *there[same:]))


def place_of(target: str, document: str):
    """The file or folder, relative to the tree, that a link in a document leads to; None if that is no such link."""
    path = target.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path):
        return None
    place = (ROOT / document).parent.joinpath(path).resolve()
    if not place.exists() or not place.is_relative_to(ROOT):
        return None # tools/check_documents.py and MkDocs report it.
    return PurePosixPath(place.relative_to(ROOT).as_posix())


def read_reference() -> dict:
    """The pages of Doxygen, by the header that they are about."""
    found = {}
    for compound in xml.etree.ElementTree.parse(REFERENCE / "reference.tag").iterfind("compound[@kind='file']"):
        path = compound.findtext("path", "")
        header = Path(path, compound.findtext("name", ""))
        page = compound.findtext("filename", "")
        page = page if page.endswith(".html") else f"{page}.html"
        if header.is_relative_to(ROOT) and (REFERENCE / "html" / page).exists():
            name = header.relative_to(ROOT)
            if name.parts[0] == "drop_in" or name.parent.as_posix() in PUBLIC:
                found[name.as_posix()] = page
    return found


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
    reference: dict = {}


def mend_reference(folder: Path) -> None:
    checker = Checker(folder)
    for path in sorted(folder.glob("*.html")):
        text = path.read_text(encoding="utf-8")
        text = text.replace(f'<div id="projectname">{SITE_NAME}', f'<div id="projectname">{LINK_HOME}')
        targets = {target for _, target in checker.page(path).links
                   if "#" in target and checker.is_broken(path, target) == "no such anchor"}
        for target in targets:
            text = text.replace(f'href="{target}"', f'href="{target.partition("#")[0] or path.name}"')
        path.write_text(text, encoding="utf-8")


def reference_entries() -> list:
    """What the search is to find of the reference: a class with the names of its members, a function of C."""
    entries = []
    for compound in xml.etree.ElementTree.parse(REFERENCE / "reference.tag").iterfind("compound"):
        name, page = compound.findtext("name", ""), compound.findtext("filename", "")
        members = list(compound.iterfind("member"))
        if compound.get("kind") in ("class", "struct"):
            words = " ".join(dict.fromkeys(each.findtext("name", "") for each in members))
            entries.append({"location": f"reference/{page}", "title": f"{compound.get('kind')} {name}", "text": words})
        elif compound.get("kind") == "file" and name.endswith(".h"):
            page = page if page.endswith(".html") else f"{page}.html"
            entries.append({"location": f"reference/{page}", "title": f"header {name}", "text": ""})
            entries += [{"location": f"reference/{each.findtext('anchorfile')}#{each.findtext('anchor')}",
                         "title": f"function {each.findtext('name')}", "text": f"in {name}"}
                        for each in members if each.get("kind") == "function"]
    return [each for each in entries
            if (REFERENCE / "html" / each["location"].removeprefix("reference/").partition("#")[0]).exists()]


def on_files(files, config):
    def add(src_uri, **what):
        files.append(File.generated(config, src_uri, inclusion=InclusionLevel.NOT_IN_NAV, **what))

    mend_reference(REFERENCE / "html")
    Site.reference = read_reference()
    for page in REFERENCE.joinpath("html").rglob("*"):
        if page.is_file():
            add(f"reference/{page.relative_to(REFERENCE / 'html').as_posix()}", abs_src_path=str(page))
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
    if src_uri.startswith("source/"):
        return markdown
    document = document_of(src_uri)

    def rewrite(match, masked):
        target = match[1]
        if masked[match.start():match.end()] != match[0]:
            return match[0] # It is code.
        place = place_of(target, document)
        if place is None:
            return match[0]
        anchor = target.partition("#")[1:]
        return f"]({relative(page_of(place, Site.reference), src_uri)}{''.join(anchor)})"

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
            line = LINK.sub(lambda match, masked=masked: rewrite(match, masked), line)
            if src_uri == "index.md" and ONLY_LINKS.fullmatch(line):
                line = LINK.sub(r"\g<0>{ .md-button }", line)
        lines.append(line)
    text = "\n".join(lines) + "\n"
    if src_uri == "reference.md":
        text = text.replace("\n\n", f"\n\n{LINKS_TO_REFERENCE}", 1)
    return text


# After the search has written its index, and before the plugin `offline` copies that.
@event_priority(-50)
def on_post_build(config):
    path = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(path.read_text(encoding="utf-8"))
    index["docs"] += reference_entries()
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
