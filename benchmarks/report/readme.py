# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The quotes of the committed report in README.md and docs/index.md. The passage of the README is generated; tests
compare both documents with the report."""
import difflib

from report import markdown, model, page

BEGIN = "<!-- Figures of docs/benchmarks/report.json, by ./dev report --reduced: -->"
END = "<!-- End of these figures. -->"
COLUMNS = {"new/delete": "new/delete", "block_pool": "`block_pool`", "boost::pool": "`boost::pool`",
           "foonathan": "foonathan", "std::pmr pool": "`std::pmr` pool"}
MALLOCS = {"np_alloc": "np_alloc", "mimalloc3": "mimalloc 3", "mimalloc": "mimalloc 2", "tcmalloc": "tcmalloc",
           "snmalloc": "snmalloc", "tbb": "TBB", "jemalloc": "jemalloc", "glibc": "glibc"}
MEANS = {"race_cpu_fresh": "CPU time", "race_cpu_littered": "CPU time, littered heap",
         "race_memory_fresh": "peak memory"}
SHARED_ROW = "100 blocks, freed in order, 8"
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


def lines_about_mallocs(report):
    """Yields a table of geometric means and its explanation; nothing if the report has no race. A malloc that
    failed in any row has no mean, because it would cover fewer rows than the others."""
    tables = model.tables_of(report)
    race = tables.get("race_cpu_fresh")
    if race is None:
        return
    means = {title: model.means_of_all_rows(tables[name]) for name, title in MEANS.items() if name in tables}
    columns = [name for name in MALLOCS if any(name in each for each in means.values())]
    failed = [MALLOCS[name] for name in race["columns"] if name not in columns]
    left_out = "is left out: it" if len(failed) == 1 else "are left out: they"
    without = f" {' and '.join(failed)} {left_out} failed in at least one row." if failed else ""
    yield from markdown.wrapped(
        f"`libnp_malloc.so` and other mallocs in {len(race['rows'])} workloads and programs: each malloc's result over "
        f"the best of the {len(race['columns'])}, geometric mean.{without}").splitlines()
    yield ""
    yield "| | " + " | ".join(MALLOCS[name] for name in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for title, each in means.items():
        yield f"| {title} | " + " | ".join(page.number(each[name]) if name in each else "" for name in columns) + " |"
    littered = ", with `--litter 1000000` for littered heaps" if "race_cpu_littered" in tables else ""
    yield ""
    yield from markdown.wrapped(f"The command: `{race['command']}`{littered}.").splitlines()


def passage(report):
    """Returns the lines between BEGIN and END."""
    lines = [*table_of_blocks(model.tables_of(report)["blocks"]), "", *markdown.wrapped(machine(report)).splitlines()]
    about_mallocs = list(lines_about_mallocs(report))
    if about_mallocs:
        lines += ["", *about_mallocs]
    return lines


def claims(report):
    """Yields sentences of the README outside of the passage, if the report has their figures."""
    table = model.tables_of(report)["blocks"]
    values = model.values_of(table, table["rows"][0])
    if "block_pool" in values:
        nanoseconds = round(values["block_pool"])
        time = "a nanosecond" if nanoseconds <= 1 else f"{nanoseconds} nanoseconds"
        yield f"A pool hands out a block in about {time}"
        if values.get("boost::pool", values["block_pool"]) < values["block_pool"]:
            yield BOOST_IS_AHEAD


def claims_of_index(report):
    """Yields the figures of docs/index.md that the report has."""
    tables = model.tables_of(report)
    single = model.values_of(tables["blocks"], tables["blocks"]["rows"][0])
    if {"block_pool", "new/delete"} <= single.keys():
        yield f"{page.number(single['block_pool'])} ns; new/delete of glibc: {page.number(single['new/delete'])}"
    shared = model.row_of(tables["shared_blocks"], SHARED_ROW) if "shared_blocks" in tables else None
    values = model.values_of(tables["shared_blocks"], shared) if shared else {}
    if values.keys() >= {"concurrent_block_pool", "new/delete", "mutex and block_pool"}:
        yield (f"{page.number(values['concurrent_block_pool'])} ns of core time; new/delete: "
               f"{page.number(values['new/delete'])}; a mutex around a pool: "
               f"{page.number(values['mutex and block_pool'])}")
    race = tables.get("race_cpu_fresh")
    means = model.means_of_all_rows(race) if race else {}
    if {"np_alloc", "glibc"} <= means.keys():
        yield (f"in {len(race['rows'])} workloads and programs, {page.number(means['np_alloc'])} times the CPU time of "
               f"the best of {len(race['columns'])} mallocs, np_alloc included; glibc: {page.number(means['glibc'])}")


def missing_in_index(text, report):
    """Yields the figures of the report that docs/index.md lacks."""
    for claim in claims_of_index(report):
        if claim not in text:
            yield f"docs/index.md does not say: {claim}"


def with_passage(text, report):
    """Returns the text of the README with the passage of that report."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n\n" + "\n".join(passage(report)) + f"\n\n{END}{tail}"


def differences(text, report):
    """Yields the necessary changes of the README as a unified diff, and the sentences that it lacks."""
    changed = with_passage(text, report)
    yield from difflib.unified_diff(text.splitlines(), changed.splitlines(), "README.md", "README.md of this report",
                                    n=0, lineterm="")
    said, claimed = " ".join(text.split()), list(claims(report))
    for claim in claimed:
        if claim not in said:
            yield f"README.md does not say: {claim}"
    if BOOST_IS_AHEAD in said and BOOST_IS_AHEAD not in claimed:
        yield f"README.md says what the report does not show: {BOOST_IS_AHEAD}"
