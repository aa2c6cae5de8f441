# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Writes the parts of a page as HTML, for narrow and wide windows, light and dark."""
import html
import re

from report import page

STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --back: #ffffff; --line: #c8c8c8; --soft: #f2f2f2; --bad: #a40000;
  --link: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --back: #16181c; --line: #4a4f57; --soft: #22262c;
  --bad: #ff9c91; --link: #8ab4f8; } }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--text); background: var(--back);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
a { color: var(--link); }
.box { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .3rem .5rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
table.facts th, table.facts td { text-align: left; }
table.facts td + td { white-space: normal; overflow-wrap: anywhere; }
th, th:first-child { background: var(--soft); }
td.best { font-weight: bold; }
td.failed, .failed, .warning { color: var(--bad); font-weight: bold; }
.note { font-size: .875rem; }
pre { overflow-x: auto; background: var(--soft); padding: .5rem; font-size: .875rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
pre code { font-size: 1em; overflow-wrap: normal; }
figure { margin: 1rem 0; background: #ffffff; max-width: 40rem; }
figure img { display: block; width: 100%; height: auto; }
nav ul { padding-left: 1.2rem; }
"""


def inline(text):
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"\[([^\]]+)\]\(([^()\s\"]+)\)", r'<a href="\2">\1</a>', escaped)


def anchor(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def with_class(tag, kind):
    return f'<{tag} class="{kind}">' if kind else f"<{tag}>"


def grid(part):
    kind = "facts" if part.header == ["what", "value"] else ""
    head = "".join(f'<th scope="col">{inline(title)}</th>' for title in part.header)
    yield f'<div class="box" tabindex="0">{with_class("table", kind)}'
    yield f"<thead><tr>{head}</tr></thead><tbody>"
    for row in part.rows:
        yield "<tr>" + "".join(f"{with_class('td', cell.kind)}{inline(cell.text)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def text_of(part):
    if isinstance(part, page.Heading):
        return f'<h{part.level} id="{anchor(part.text)}">{inline(part.text)}</h{part.level}>'
    if isinstance(part, page.Text):
        return f"{with_class('p', part.kind)}{inline(part.text)}</p>"
    if isinstance(part, page.List):
        return with_class("ul", part.kind) + "".join(f"<li>{inline(item)}</li>" for item in part.items) + "</ul>"
    if isinstance(part, page.Code):
        return f'<pre tabindex="0"><code>{html.escape(part.text, quote=False)}</code></pre>'
    if isinstance(part, page.Picture):
        return f'<figure><img src="{part.file}" alt="{html.escape(part.title)}"></figure>'
    return "\n".join(grid(part))


def contents(parts):
    items = "".join(f'<li><a href="#{anchor(part.text)}">{inline(part.text)}</a></li>' for part in parts
                    if isinstance(part, page.Heading) and part.level == 2)
    return f"<nav><ul>{items}</ul></nav>"


def write(parts, path):
    parts = list(parts)
    second = next((i for i, part in enumerate(parts) if isinstance(part, page.Heading) and part.level == 2), len(parts))
    body = [*map(text_of, parts[:second]), contents(parts), *map(text_of, parts[second:])]
    with open(path, "w", encoding="utf-8") as out:
        out.write('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                  '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                  f"<title>{html.escape(parts[0].text)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n")
        out.write("\n".join(body) + "\n</body>\n</html>\n")
