# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The passage of the README that quotes the committed report: it is made from it, and a test compares both."""
import difflib

from report import markdown, model, page

BEGIN = "<!-- Figures of docs/benchmarks/report.json, by ./dev report --reduced: -->"
END = "<!-- End of these figures. -->"
COLUMNS = {"new/delete": "new/delete", "block_pool": "`block_pool`", "boost::pool": "`boost::pool`",
           "foonathan": "foonathan", "std::pmr pool": "`std::pmr` pool"}
MALLOCS = {"mimalloc3": "mimalloc 3", "mimalloc": "mimalloc", "snmalloc": "snmalloc", "glibc": "glibc"}
MEANS = (("race_cpu_fresh", "times the CPU time of the best malloc"), ("race_cpu_littered", "on a littered heap"),
         ("race_memory_fresh", "times the peak memory"))
BOOST_IS_AHEAD = "`boost::pool`, which checks nothing, is ahead where a single block goes in and out"


def cell(table, row, column):
    values = model.values_of(table, row)
    if column not in values:
        return "failed" if model.cell_of(table, row, column) else ""
    text = page.number(values[column])
    if column == "block_pool" and "new/delete" in values and values[column] > 0:
        text += f" ({values['new/delete'] / values[column]:.1f}x)"
    return text


def table_of_blocks(table):
    yield "| shape | " + " | ".join(COLUMNS.values()) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for row in table["rows"]:
        yield f"| {row['label']} | " + " | ".join(cell(table, row, column) for column in COLUMNS) + " |"


def short_versions(environment):
    versions = environment["versions"]
    compiler = " ".join(versions.get("compiler", "unknown compiler").split()[:2])
    known = [("glibc", "glibc"), ("boost", "Boost"), ("foonathan_memory", "foonathan/memory")]
    return ", ".join([environment["distribution"], compiler, *(f"{title} {versions[name]}" for name, title in known
                                                               if name in versions)])


def machine(report):
    environment = report["environment"]
    return (f"{environment['processor']}, {environment['cores']} cores; {short_versions(environment)}; the least of "
            f"the repetitions, which alternate. The command: `{model.tables_of(report)['blocks']['command']}`.")


def means_of(table):
    """Returns (the mean of np_alloc, the means of those in MALLOCS) as texts; None if np_alloc has no mean. A malloc
    that failed in any row has none, as it would cover fewer rows than the others."""
    means = {name: page.number(mean) for name, mean in model.means_of_all_rows(table).items()}
    others = [(MALLOCS[name], means[name]) for name in MALLOCS if name in means]
    return (means["np_alloc"], others) if "np_alloc" in means else None


def sentence_about_mallocs(report):
    """Returns the sentence; nothing without a race in the report."""
    tables = model.tables_of(report)
    clauses = []
    titles = None
    for name, what in MEANS:
        found = means_of(tables[name]) if name in tables else None
        if found is None and not clauses:
            return ""  # Later clauses build on the first.
        if found is None:
            continue
        mean, others = found
        # A clause names the mallocs only if they differ from those of the clause before.
        is_named = titles == [title for title, _ in others]
        titles = [title for title, _ in others]
        texts = [text if is_named else f"{title}: {text}" for title, text in others]
        clauses.append(f"{mean} {what} ({', '.join(texts)})")
    rows = len(tables["race_cpu_fresh"]["rows"])
    command = tables["race_cpu_fresh"]["command"]
    listed = ", ".join(clauses[:-1]) + f", and {clauses[-1]}" if len(clauses) > 1 else clauses[0]
    return (f"Over {rows} workloads and programs, `libnp_malloc.so` in place of malloc takes {listed}: "
            f"geometric means; {len(tables['race_cpu_fresh']['columns'])} mallocs compared. The command: `{command}`.")


def passage(report):
    """Returns the lines between BEGIN and END."""
    lines = [*table_of_blocks(model.tables_of(report)["blocks"]), "", *markdown.wrapped(machine(report)).splitlines()]
    about_mallocs = sentence_about_mallocs(report)
    if about_mallocs:
        lines += ["", *markdown.wrapped(about_mallocs).splitlines()]
    return lines


def claims(report):
    """Yields what the README says in words elsewhere, as far as the report has these figures."""
    table = model.tables_of(report)["blocks"]
    values = model.values_of(table, table["rows"][0])
    if "block_pool" in values:
        nanoseconds = round(values["block_pool"])
        time = "a nanosecond" if nanoseconds <= 1 else f"{nanoseconds} nanoseconds"
        yield f"A pool hands out a block in about {time}"
        if values.get("boost::pool", values["block_pool"]) < values["block_pool"]:
            yield BOOST_IS_AHEAD


def with_passage(text, report):
    """Returns the text of the README with the passage of that report."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n" + "\n".join(passage(report)) + f"\n\n{END}{tail}"


def differences(text, report):
    """Yields the lines of the README that have to change, as a unified diff, and sentences that it lacks."""
    changed = with_passage(text, report)
    yield from difflib.unified_diff(text.splitlines(), changed.splitlines(), "README.md", "README.md of this report",
                                    n=0, lineterm="")
    said, claimed = " ".join(text.split()), list(claims(report))
    for claim in claimed:
        if claim not in said:
            yield f"README.md does not say: {claim}"
    if BOOST_IS_AHEAD in said and BOOST_IS_AHEAD not in claimed:
        yield f"README.md says what the report does not show: {BOOST_IS_AHEAD}"
