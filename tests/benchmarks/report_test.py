#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""make_report.py shows figures and failures, tested with programs that report given times."""
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sys.path.insert(0, str(BENCHMARKS.parent / "tests" / "tools"))
import chromium  # pylint: disable=wrong-import-position
import make_report  # pylint: disable=wrong-import-position
from report import markdown, model, page, plots, progress  # pylint: disable=wrong-import-position
from report import readme, reduced, running  # pylint: disable=wrong-import-position
from report.sections import originals, patterns  # pylint: disable=wrong-import-position

# A program with rows in the format of Google Benchmark. NAME.json next to it controls its behaviour.
PROGRAM = f"""#!{sys.executable}
import json, os, re, signal, sys, time
with open(os.path.realpath(sys.argv[0]) + ".json") as file:
    told = json.load(file)
if "--benchmark_list_tests" in sys.argv:
    sys.exit(0)
if told.get("interrupt"):
    os.kill(os.getppid(), told["interrupt"])
time.sleep(told.get("sleep", 0))
if told.get("signal"):
    os.kill(os.getpid(), told["signal"])
wanted = next((word.partition("=")[2] for word in sys.argv if word.startswith("--benchmark_filter=")), ".")
rows = [row for row in told["rows"] if re.search(wanted, row["run_name"])]
print(json.dumps({{"context": told.get("context", {{}}), "benchmarks": rows}}))
"""
# A program with the output format of workloads: for each side, the sum of its work.
WORKLOAD = f"""#!{sys.executable}
import json, os, sys
with open(os.path.realpath(sys.argv[0]) + ".json") as file:
    told = json.load(file)
figures = " ".join(f"{{name}}={{value}}" for name, value in told["figures"].items())
print("work sum=%s | %s" % (told.get("sums", {{}}).get(sys.argv[1], 1), figures))
"""
LATENCIES = {f"{state}_{quantile}": 20.5 for state in ("clock", "cold_allocate", "warm_allocate", "warm_free")
             for quantile in ("p50", "p90", "p99", "p99_9", "p99_99", "max")}
BLOCK_SIDES = {"new_delete": 10, "block_pool": 2, "boost_pool": 1.5, "foonathan_memory_pool": 4,
               "pmr_unsynchronized_pool": 20}
LISTED = subprocess.run(["ldd", sys.executable], stdout=subprocess.PIPE, text=True, check=True).stdout
NO_MALLOC = next(line.split()[2] for line in LISTED.splitlines() if "libm.so" in line)


def with_matplotlib():
    """Returns a Python that has matplotlib, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import matplotlib"], capture_output=True,
                                                     check=False).returncode == 0:
            return python
    return None


PYTHON = with_matplotlib()


def row(name, nanoseconds, **more):
    return {"name": name, "run_name": name, "run_type": "iteration", "per_block": nanoseconds / 1e9, **more}


def broken(name, reason):
    return {"name": name, "run_name": name, "run_type": "iteration", "error_occurred": True, "error_message": reason}


def rows_of_blocks(**changed):
    sides = {**BLOCK_SIDES, **changed}
    rows = [row(f"{shape}/{side}", time) for shape in ("pair", "bulk", "bulk_reverse", "bulk_random", "churn")
            for side, time in sides.items()]
    return rows


class Reports(unittest.TestCase):
    """Creates programs in a directory, and reports about them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name)
        self.build = self.directory / "build" / "benchmarks"
        self.output = self.directory / "report"
        self.build.mkdir(parents=True)
        self.program("block_pool_benchmark", rows_of_blocks())
        self.program("concurrent_block_pool_benchmark", [
            row(f"{shape}/{side}/{threads}/manual_time", time) for shape in ("pair", "churn") for threads in (1, 2, 8)
            for side, time in (("new_delete", 10), ("concurrent_block_pool", 2.5))])

    def program(self, name, rows, script=PROGRAM, **told):
        path = self.build / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
        Path(f"{path}.json").write_text(json.dumps({"rows": rows, **told}), encoding="utf-8")

    def scaling(self, **told):
        shapes, sides = ("by_size", "by_count", "by_threads"), ("new_delete", "block_pool", "concurrent_block_pool")
        self.program("scaling_benchmark", [row(f"{shape}/{side}/{n}", n) for shape in shapes for side in sides
                                           for n in (64, 8)], **told)

    def words(self, *arguments):
        return [f"--build={self.build}", f"--output={self.output}", "--rounds=1", *arguments]

    def report(self, *arguments, sections="blocks", mallocs="glibc", plots=None):
        """Runs in this process, without plots. Returns (status or message, output)."""
        words = self.words(f"--sections={sections}", f"--mallocs={mallocs}", *arguments)
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["make_report.py", *words]), \
                mock.patch.object(make_report.plots, "draw", plots or (lambda *_: {})), \
                mock.patch.object(sys, "stderr", said), contextlib.redirect_stdout(said):
            try:
                return make_report.main(), said.getvalue()
            except SystemExit as end:
                return end.code, said.getvalue()

    def process(self, *arguments, sections="blocks"):
        words = self.words(*([f"--sections={sections}", "--mallocs=glibc"] if sections else []), *arguments)
        return subprocess.run([PYTHON or sys.executable, BENCHMARKS / "make_report.py", *words], capture_output=True,
                              text=True, check=False, timeout=100)

    def read(self):
        return json.loads((self.output / "report.json").read_text(encoding="utf-8"))

    def markdown(self):
        return (self.output / "report.md").read_text(encoding="utf-8")

    def page(self):
        return (self.output / "index.html").read_text(encoding="utf-8")

    def line(self, label):
        """Returns the cells of the first row of that label in the Markdown."""
        lines = [line for line in self.markdown().splitlines() if line.startswith(f"| {label} |")]
        self.assertTrue(lines, f"no row {label} in {self.markdown()}")
        return [cell.strip() for cell in lines[0].split("|")[2:-1]]


class Figures(Reports):
    def test_a_table_has_times_and_ratios(self):
        status, said = self.report()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.line("one block, allocated and freed"),
                         ["10.0", "2.00 (5.00x)", "**1.50 (6.67x)**", "4.00 (2.50x)", "20.0 (0.50x)"])
        self.assertIn('<td class="best">1.50 (6.67x)</td>', self.page())
        self.assertIn("0 failed or wrong", said)

    def test_each_table_has_a_unit_a_direction_and_a_command(self):
        self.report()
        for text in (self.markdown(), self.page()):
            self.assertIn("Unit: ns to allocate and free a block; lower is better.", text)
            self.assertIn("./dev bench '^(pair|bulk|churn)' --repetitions 5", text)

    def test_rows_are_sorted_whatever_order_a_program_runs_them_in(self):
        self.scaling()
        self.report(sections="scaling")
        labels = [each["label"] for each in model.tables_of(self.read())["scaling_by_size"]["rows"]]
        self.assertEqual(labels, ["8", "64"])

    def test_the_data_keep_their_schema(self):
        self.report()
        report = self.read()
        self.assertEqual(sorted(report), ["environment", "is_reduced", "kind", "left_out", "schema", "seconds",
                                          "sections", "unfinished"])
        self.assertEqual(report["schema"], "memory_pool benchmark report 1")
        self.assertEqual(sorted(report["environment"]), sorted([
            "date", "command", "processor", "machine", "cores", "memory_kilobytes", "caches", "governor", "kernel",
            "distribution", "python", "versions", "commit", "is_changed", "mallocs", "load_before", "load_after"]))
        self.assertEqual(sorted(report["sections"][0]), ["left_out", "name", "plots", "problems", "seconds",
                                                         "tables", "text", "title"])
        table = report["sections"][0]["tables"][0]
        self.assertEqual(sorted(table), sorted([
            "name", "title", "unit", "better", "command", "statistic", "shows", "reference", "heading", "floor",
            "notes", "is_reduced", "apart", "best", "columns", "rows", "column_failures"]))
        self.assertEqual(table["rows"][0]["cells"]["new/delete"], {"samples": [10.0]})

    def test_only_selected_sections_run(self):
        self.report(sections="blocks")
        self.assertEqual([section["name"] for section in self.read()["sections"]], ["blocks"])
        self.assertEqual(self.report(sections="scaling,blocks")[0], 1, "there is no scaling_benchmark")
        self.assertEqual([section["name"] for section in self.read()["sections"]], ["blocks", "scaling"])

    def test_originals_are_shown_beside_their_drop_ins(self):
        (self.build / "drop_in").mkdir()
        self.program("drop_in/memory_pool_benchmark", [
            row(f"sequential_allocation/16/{n}/{side}", time)
            for n in (8, 512) for side, time in (("stand_in", 3), ("drop_in", 2))])
        self.program("drop_in/custAlloc_benchmark", [
            row(f"single/1_thread/1/{side}/manual_time", time) for side, time in (("stand_in", 3), ("drop_in", 4))])
        status, said = self.report(sections="originals")
        self.assertEqual(self.line("sequential_allocation/8"), ["102", "3.00", "**2.00 (1.50x)**"])
        self.assertEqual(self.line("sequential_allocation/32768"), ["0.65", "", ""])
        self.assertEqual(self.line("memory_pool"), ["0.67"])
        self.assertEqual(self.line("single, published"), ["13.3", "**1.00**", "", ""])
        self.assertEqual(self.line("single, here, drop-in"), ["", "**1.00**", "1.33", ""])
        self.assertEqual(status, 1, "other columns are missing")
        self.assertIn("there is no ArenaMR_benchmark in the directory of the drop-ins", said)
        self.assertEqual(self.line("ArenaMR"), ["failed [1]"])

    def test_ratios_are_to_the_best_of_a_row_and_means_are_geometric(self):
        table = model.Table("t", "t", "s", "c", ["a", "b"], shows="ratio", best=["s", 1])
        for label, a, b in (("one", 2, 1), ("two", 8, 1)):
            table.add(label, "a", a)
            table.add(label, "b", b)
        grid, _ = page.grid_of(table.data)
        self.assertEqual([cell.text for cell in grid.rows[0]], ["one", "1.00 s", "2.00", "1.00"])
        self.assertEqual([cell.text for cell in grid.rows[-1]], ["geometric mean", "", "4.00", "1.00"])

    def test_text_is_escaped(self):
        self.assertEqual(make_report.html.inline('[a](b"c=d) <e> [f](g)'), '[a](b"c=d) &lt;e&gt; <a href="g">f</a>')
        grid = page.Grid(["a|b"], [[page.Cell("c|d")]])
        self.assertEqual(markdown.text_of(grid), "| a\\|b |\n|---|\n| c\\|d |")

    def test_published_values_are_not_compared(self):
        table = model.Table("t", "t", "ns", "c", ["published", "a", "b"], reference="a", apart=["published"])
        for column, value in (("published", 1), ("a", 4), ("b", 2)):
            table.add("row", column, value)
        grid, _ = page.grid_of(table.data)
        self.assertEqual([cell.text for cell in grid.rows[0]], ["row", "1.00", "4.00", "2.00 (2.00x)"])
        self.assertEqual([cell.kind for cell in grid.rows[0]], ["", "", "", "best"])


class Failures(Reports):
    def test_a_wrong_row_is_shown_as_wrong(self):
        rows = [each for each in rows_of_blocks() if each["run_name"] != "pair/boost_pool"]
        self.program("block_pool_benchmark", [*rows, row("pair/boost_pool", 1), broken("pair/boost_pool", "blocks "
                                                                                                          "overlap")])
        status, said = self.report()
        self.assertEqual(status, 1)
        self.assertEqual(self.line("one block, allocated and freed")[2], "wrong [1]")
        self.assertEqual(self.line("one block, allocated and freed")[0], "10.0", "other columns have their figures")
        self.assertIn("- [1] blocks overlap", self.markdown())
        self.assertIn('<td class="failed">wrong [1]</td>', self.page())
        self.assertIn("1 failed or wrong\n  wrong: blocks overlap "
                      "(in: Blocks of 32 bytes: one block, allocated and freed, boost::pool)\n", said)
        self.assertIn("1 failed or wrong:", self.markdown())

    def test_a_program_that_crashes(self):
        self.program("block_pool_benchmark", [], signal=int(signal.SIGABRT))
        status, said = self.report()
        self.assertEqual(status, 1)
        self.assertEqual(self.line("one block, allocated and freed"), ["failed [1]"] * 5)
        self.assertIn("block_pool_benchmark ended with signal 6", self.markdown())
        self.assertEqual(self.line("one block, allocated and freed, 1")[1], "**2.50 (4.00x)**", "the report continues")
        self.assertIn("ended with signal 6: (in: Blocks of 32 bytes: new/delete / block_pool / boost::pool and 2 more)",
                      said)

    def test_a_program_that_is_missing(self):
        (self.build / "block_pool_benchmark").unlink()
        self.assertEqual(self.report()[0], 1)
        self.assertIn("there is no block_pool_benchmark in the directory of the programs; build the target",
                      self.markdown())
        self.assertNotIn("no program has rows of clock alone", self.report(sections="latency")[1])

    def test_a_program_that_takes_too_long(self):
        self.program("block_pool_benchmark", rows_of_blocks(), sleep=30)
        with mock.patch.object(make_report.environment, "built_with", lambda _: ({}, [])):
            self.assertEqual(self.report("--timeout=1")[0], 1)
        self.assertIn("block_pool_benchmark took more than 1 s", self.markdown())

    def test_a_side_without_rows_is_left_out_and_listed(self):
        self.program("block_pool_benchmark", [each for each in rows_of_blocks() if "boost" not in each["run_name"]])
        status, said = self.report()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.line("one block, allocated and freed"), ["10.0", "**2.00 (5.00x)**", "4.00 (2.50x)",
                                                                "20.0 (0.50x)"])
        for where in (said, self.markdown()):
            self.assertIn("Blocks of 32 bytes: no program has rows of boost::pool", where)

    def test_a_program_that_prints_truncated_json(self):
        path = self.build / "block_pool_benchmark"
        path.write_text("#!/bin/sh\necho '{\"benchmarks\": ['\n", encoding="utf-8")
        self.assertEqual(self.report()[0], 1)
        self.assertIn("block_pool_benchmark printed invalid JSON: Expecting value",
                      " ".join(self.markdown().split()))

    def test_a_filter_that_matches_no_row(self):
        self.program("block_pool_benchmark", [])
        self.report()
        self.assertEqual(self.line("one block, allocated and freed"), [""] * 5, "without rows, there are no figures")

    def test_a_result_that_differs_from_other_mallocs(self):
        self.program("call_latency", [], WORKLOAD, figures={**LATENCIES, "resolution": 10}, sums={"boost_pool": 2})
        self.assertEqual(self.report(sections="latency")[0], 1)
        table = model.tables_of(self.read())["latency_warm_free"]
        self.assertEqual(list(table["column_failures"]), ["boost::pool"])
        self.assertIn("its output is not that of the others", table["column_failures"]["boost::pool"])
        self.assertNotIn("boost::pool", table["rows"][0]["cells"])
        self.assertIn("wrong [1]", self.line("p50"))
        self.assertIn("20.5", self.line("p50"))

    def test_a_failed_column_stays_failed(self):
        table = model.Table("t", "t", "ns", "c", ["a"])
        table.add("row", "a", 1)
        table.fail_column("a", "it crashed")
        table.add("row", "a", 2)
        self.assertEqual(model.values_of(table.data, table.data["rows"][0]), {})
        self.assertEqual(list(model.failures_in(table.data)), [("a", "it crashed")])

    def test_patterns_that_fail_in_one_round_have_no_savings(self):
        saved, tables = patterns.saved_table(), {"glibc": patterns.steps_table("glibc")}
        setting = mock.Mock(at_most=lambda quick, full: quick)
        least = {("glibc", pattern, side, step, state): patterns.returning_patterns.Sample(time, 0)
                 for pattern in patterns.PATTERNS for side, time in (("plain_malloc", 4), ("virtual_recycle", 3),
                                                                     ("recycling_pool", 1))
                 for step in (0 if side == "plain_malloc" else 10,) for state in ("new", "reused")}
        step = patterns.step_of(setting, tables, saved, {}, "glibc", 0)
        with mock.patch.object(patterns, "measured", lambda *_: least):
            step.run()
        row = saved.data["rows"][0]
        self.assertEqual(model.values_of(saved.data, row), {"published": 44, "stand-in": 25, "recycling_pool, new": 75,
                                                            "recycling_pool, reused": 75})
        with mock.patch.object(patterns, "measured", side_effect=patterns.race.Failure("it crashed")):
            step.run()
        self.assertEqual(model.values_of(saved.data, row), {"published": 44})
        with mock.patch.object(patterns, "measured", lambda *_: least):
            step.run()
        self.assertEqual(model.values_of(saved.data, row), {"published": 44})
        self.assertIn(("glibc, mixed, stand-in", "it crashed"), list(model.failures_in(saved.data)))

    def test_patterns_that_take_too_long(self):
        (self.build / "returning_patterns").write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
        (self.build / "returning_patterns").chmod(0o755)
        with self.assertRaisesRegex(SystemExit, "returning_patterns took more than 0.2 s"):
            patterns.returning_patterns.run(str(self.build / "returning_patterns"), None, [], 0.2)

    def test_published_values_stay_if_the_program_fails(self):
        self.report(sections="originals")
        self.assertEqual(self.line("benchmark 1, published")[0], "1.54")
        self.assertEqual(self.line("benchmark 1, here"), ["failed [1]"] * 5)
        self.assertEqual(self.line("single, published"), ["13.3", "**1.00**", "", ""])
        self.assertEqual(self.line("random: 100 to 8,100 bytes, 50 threads, published"), ["**1.00**", "3.95"])
        self.assertEqual(self.line("random: 100 to 8,100 bytes, 50 threads, here"), ["", "failed [1]"])

    def test_columns_of_steps_that_did_not_run_are_kept(self):
        table = model.Table("t", "t", "ns", "c", ["a", "b"])

        def interrupted():
            raise KeyboardInterrupt
        steps = [running.Step("a", 1, lambda: table.add("row", "a", 1)), running.Step("b", 1, interrupted)]
        plan = running.Plan(model.section("s", "s", "", [table]), steps)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(running.run_all([plan]), "interrupted: 1 of 2 steps were done")
            self.assertEqual((table.data["columns"], plan.section["left_out"]), (["a", "b"], []))
            self.assertIsNone(running.run_all([plan._replace(steps=steps[:1])]))
        self.assertEqual((table.data["columns"], plan.section["left_out"]), (["a"], ["t: no program has rows of b"]))

    def test_a_failed_cell_fails_the_mean(self):
        cells = model.Table("cells", "cells", "ns", "c", ["stand-in", "drop-in"])
        for cell, time in (("a", 1), ("b", 4)):
            cells.add(cell, "stand-in", 2)
            cells.add(cell, "drop-in", time)
        cells.fail("b", "drop-in", "blocks overlap", is_wrong=True)
        summary = originals.summary_table(mock.Mock(is_full=False, wanted=None))
        originals.summarize(summary, {"memory_pool": cells})
        self.assertEqual(summary.data["rows"][0]["cells"]["drop-in / stand-in"],
                         {"failure": "b, drop-in: blocks overlap", "is_wrong": True})

    def test_missing_values_in_the_output_of_a_program(self):
        self.program("block_memory", [], WORKLOAD, figures={})
        status, said = self.report(sections="memory")
        self.assertEqual(status, 1)
        self.assertIn("its output has no figure 'live'", said)

    def test_a_busy_machine_is_reported(self):
        busy = {"load_before": [1.2, 1, 1], "load_after": [3.65, 2, 1], "cores": 2}
        self.assertRegex("".join(page.warnings_of(busy)), "load average 3.[67] on 2 cores")
        self.assertEqual(list(page.warnings_of({**busy, "load_after": None})), [])

    def test_a_row_within_the_clock_overhead_has_no_best(self):
        table = {"floor": 10, "apart": ["clock"], "better": "less"}
        compared = {"a": 10, "b": 20}
        self.assertEqual(page.best_of(table, {**compared, "clock": 20}, compared), ())
        self.assertEqual(page.best_of(table, {**compared, "clock": 5}, compared), ["a"])

    def test_a_page_without_plots_says_so(self):
        self.report()
        report = self.read()
        for pictures, is_reported in ((None, True), ({}, False)):
            texts = [part.text for part in page.parts_of(report, pictures) if isinstance(part, page.Text)]
            self.assertEqual(any("No plots" in text for text in texts), is_reported)

    def test_without_glibc_pools_are_left_out_beside_mallocs(self):
        self.scaling()
        library = self.directory / "libmine.so"
        library.symlink_to(NO_MALLOC)
        with mock.patch.dict(make_report.mallocs.LIBRARIES, mine=str(library)):
            _, said = self.report(sections="blocks,scaling", mallocs="mine")
        self.assertEqual(self.line("one block, allocated and freed")[1], "2.00 (5.00x)", said)
        self.assertIn("pools and arenas are left out of tables with mallocs, as they run over glibc", said)
        self.assertNotIn("no program has rows of block_pool", said)

    def test_a_malloc_that_is_not_in_use(self):
        self.scaling()
        library = self.directory / "libmine.so"
        library.symlink_to(NO_MALLOC)
        with mock.patch.dict(make_report.mallocs.LIBRARIES, mine=str(library)):
            status, _ = self.report(sections="scaling", mallocs="glibc,mine")
        self.assertEqual(status, 1)
        table = model.tables_of(self.read())["scaling_by_size"]
        self.assertIn("not loaded: the malloc in use is that of", table["column_failures"]["mine"])
        self.assertEqual(table["rows"][0]["cells"]["glibc"], {"samples": [8.0]})

    def test_a_missing_malloc_is_left_out_and_listed(self):
        self.scaling()
        with mock.patch.dict(make_report.mallocs.LIBRARIES, mine=str(self.directory / "libmine.so")):
            status, said = self.report(sections="scaling", mallocs="glibc,mine")
        self.assertEqual(status, 0, said)
        for text in (said, self.markdown(), self.page()):
            self.assertIn("mine is left out: there is no", " ".join(text.split()))
        self.assertEqual(self.report(mallocs="snmalloc,glibc")[0], 0)

    def test_a_step_that_fails_is_reported_and_the_report_goes_on(self):
        with mock.patch.object(make_report.SECTIONS["blocks"], "run_unshared", side_effect=KeyError("row")):
            status, said = self.report()
        self.assertEqual(status, 1)
        self.assertIn("pools of one thread: KeyError: 'row'", said)
        self.assertIn("pools of one thread: KeyError: 'row'", self.markdown())
        self.assertNotIn("no program has rows of", said, "a section with a problem keeps its empty columns")
        self.assertEqual(self.line("one block, allocated and freed, 1")[1], "**2.50 (4.00x)**")

    def test_rows_of_the_race_without_its_programs(self):
        self.program("structures_benchmark", [row("hash_table/new_delete/1000", 3)])
        (self.build / "np_alloc").mkdir()
        (self.build / "np_alloc" / "litter.so").touch()
        status, _ = self.report(sections="heaps")
        self.assertEqual(status, 1)
        failures = list(model.failures_in(model.tables_of(self.read())["race_cpu_fresh"]))
        self.assertIn("pairs, glibc", dict(failures))
        self.assertIn("it does not start", dict(failures)["pairs, glibc"])

    def test_no_reason_contains_the_path_of_the_tree(self):
        reason = model.tidy(f"there is no {make_report.mallocs.ROOT}/build/x,\n  not one " + "y" * 400)
        self.assertTrue(reason.startswith("there is no build/x, not one y"))
        self.assertLessEqual(len(reason), 300)


class Arguments(Reports):
    def test_an_unknown_section(self):
        for python in filter(None, {sys.executable, PYTHON}):
            command = [python, BENCHMARKS / "check_arguments.py", "make_report.py", "--sections=blocks,speed"]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("no such section: speed (there are blocks, originals, heaps, scaling, latency, memory)",
                          result.stderr)

    def test_unreadable_and_unwritable_paths(self):
        other = self.directory / "other.json"
        other.write_text("{}", encoding="utf-8")
        for words, text in (([f"--from={other}"], "is not a memory_pool benchmark report 1; make it with ./dev report"),
                            ([f"--from={other}2"], "cannot be read as JSON"),
                            ([f"--output={other}/x"], "is not a writable directory"),
                            ([f"--output={self.output}", f"--reduced={self.directory}/./report"],
                             "--reduced and --output are the same directory"),
                            (["--update-readme"], "--update-readme needs --reduced DIRECTORY"),
                            (["--sections=,"], "name at least one section"),
                            (["--rounds=0"], "is not a whole number from 1")):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as end:
                make_report.parse_arguments(words)
            self.assertEqual(end.exception.code, 2, words)
            self.assertIn(text, said.getvalue())

    def test_an_incomplete_report_is_rejected(self):
        self.report()
        whole, other = self.read(), self.directory / "other.json"
        no_title, no_sample = json.loads(json.dumps(whole)), json.loads(json.dumps(whole))
        del no_title["sections"][0]["title"]
        no_sample["sections"][0]["tables"][0]["rows"][0]["cells"]["new/delete"]["samples"] = [float("nan")]
        for report, text in ((no_title, "is incomplete: KeyError('title'); make it with ./dev report"),
                             ({**whole, "seconds": "many"}, "is incomplete: TypeError"),
                             ({**whole, "sections": None}, "is incomplete: TypeError"),
                             (no_sample, "cannot be read as JSON: NaN is not a JSON number")):
            other.write_text(json.dumps(report), encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as end:
                make_report.parse_arguments([f"--from={other}"])
            self.assertEqual(end.exception.code, 2)
            self.assertIn(text, said.getvalue())

    def test_a_file_that_cannot_be_written(self):
        (self.output / "report.md").mkdir(parents=True)
        status, _ = self.report()
        self.assertRegex(status, r"make_report.py: .*/report.md cannot be written: Is a directory")

    def test_reading_a_report_runs_nothing(self):
        self.report()
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            make_report.parse_arguments([f"--from={self.output / 'report.json'}", "--full"])
        self.assertIn("--from runs nothing: leave out --full", said.getvalue())

    def test_a_small_copy_does_not_overwrite_all_samples(self):
        self.report()
        of_all = self.output / "report.json"
        small = self.directory / "small.json"
        small.write_text(json.dumps(reduced.reduce(json.loads(of_all.read_text(encoding="utf-8")))), encoding="utf-8")
        for path, name in ((of_all, "report"), (small, "report_reduced")):
            self.assertEqual(Path(make_report.parse_arguments([f"--from={path}"]).output).name, name)

    def test_options_cannot_be_abbreviated(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            make_report.parse_arguments(["--fro", "report.json"])
        self.assertIn("unrecognized arguments: --fro", said.getvalue())


class Pages(Reports):
    def setUp(self):
        super().setUp()
        if PYTHON is None:
            self.skipTest("there is no matplotlib")

    def test_the_page_is_reproducible_from_its_data(self):
        self.scaling()
        first = self.process(sections="blocks,scaling")
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        made = {path.name: path.read_bytes() for path in self.output.iterdir()}
        self.assertIn("scaling_by_size.svg", made)
        again = self.directory / "again"
        second = self.process(f"--from={self.output / 'report.json'}", f"--output={again}", sections=None)
        self.assertEqual(second.returncode, 2, "--rounds runs something")
        second = subprocess.run([PYTHON, BENCHMARKS / "make_report.py", f"--from={self.output / 'report.json'}",
                                 f"--output={again}"], capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual({path.name: path.read_bytes() for path in again.iterdir()}, made)

    def test_plots_are_legible_without_colours(self):
        self.scaling()
        self.process(sections="scaling")
        plot = (self.output / "scaling_by_size.svg").read_text(encoding="utf-8")
        self.assertIn("ns to allocate and free a block", plot, "text is stored as text, with the unit")
        self.assertIn("size of a block (bytes)", plot)
        self.assertIn("stroke-dasharray", plot)
        self.assertIn("fill: #ffffff", plot, "the background is light even on a dark page")
        self.assertIn('<img src="scaling_by_size.svg" alt=', self.page())

    def test_no_plot_without_data(self):
        self.scaling(signal=int(signal.SIGABRT))
        result = self.process(sections="scaling")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(list(self.output.glob("*.svg")), [])
        self.assertNotIn("<img", self.page())

    def test_an_interrupted_run_keeps_its_measurements(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                self.program("concurrent_block_pool_benchmark", [], interrupt=int(number), sleep=5)
                result = self.process(f"--reduced={self.directory / 'small'}")
                self.assertEqual(result.returncode, 130, result.stdout + result.stderr)
                self.assertIn("small is unchanged, as the report is partial", result.stdout)
                self.assertFalse((self.directory / "small").exists())
                self.assertIn("partial: interrupted: 1 of 2 steps were done", result.stdout)
                self.assertIn("This report is partial: interrupted: 1 of 2 steps were done.",
                              " ".join(self.markdown().split()))
                self.assertIn("partial", self.page())
                self.assertEqual(self.line("one block, allocated and freed")[0], "10.0")

    def test_an_interruption_before_the_first_step(self):
        self.program("block_pool_benchmark", [], interrupt=int(signal.SIGINT), sleep=5)
        result = self.process()
        self.assertEqual((result.returncode, result.stderr),
                         (130, "make_report.py: interrupted; nothing was written\n"))
        self.assertFalse(self.output.exists())

    def test_each_step_is_a_line_unless_stderr_is_a_terminal(self):
        lines = self.process().stderr.splitlines()
        self.assertRegex(lines[0], r"^1/2 blocks: pools of one thread, \d+ s left$")
        self.assertRegex(lines[1], r"^2/2 blocks: pools that threads share, \d+ s left$")


@unittest.skipIf(chromium.PROGRAM is None, "there is no Chromium: apt-get install chromium")
class InBrowser(Reports):
    def test_the_page_fits_phones_and_desktops_light_and_dark(self):
        self.scaling()
        self.program("block_pool_benchmark", [*rows_of_blocks(), broken("pair/boost_pool", "blocks overlap, " * 20)])
        plot = '<svg xmlns="http://www.w3.org/2000/svg" width="374" height="500"></svg>'

        def draw(report, directory, _):
            Path(directory, "plot.svg").write_text(plot, encoding="utf-8")
            return {each["name"]: ("plot.svg", "a plot") for section in report["sections"] for each in section["plots"]}
        self.report(sections="blocks,scaling", plots=draw)
        self.assertIn("<img", self.page())
        layout = (BENCHMARKS.parent / "tests" / "site" / "layout.js").read_text(encoding="utf-8")
        with chromium.Browser() as browser:
            for width in (390, 1440):
                for scheme in ("light", "dark"):
                    with self.subTest(width=width, scheme=scheme):
                        opened = browser.open(self.output / "index.html", width=width, scheme=scheme)
                        self.assertEqual(opened.value_of(layout), [])
                        self.assertGreater(opened.value_of("document.querySelector('img').width"), 340)


class Reduced(Reports):
    def test_a_reduced_report_shows_the_same_with_one_sample(self):
        self.program("block_pool_benchmark", [*rows_of_blocks(), *rows_of_blocks(block_pool=1.23456)])
        self.report()
        report = self.read()
        small = reduced.reduce(report)
        cell = model.tables_of(small)["blocks"]["rows"][0]["cells"]["block_pool"]
        self.assertEqual(cell, {"samples": [1.2346]})
        self.assertEqual(list(page.grid_of(model.tables_of(small)["blocks"])),
                         list(page.grid_of(model.tables_of(report)["blocks"])))
        self.assertEqual(reduced.reduce(small), small)

    def test_failures_and_tables_that_are_left_out(self):
        self.program("call_latency", [], WORKLOAD, figures={**LATENCIES, "resolution": 10}, sums={"boost_pool": 2})
        self.report(sections="latency")
        small = reduced.reduce(self.read())
        self.assertNotIn("latency_cold_allocate", model.tables_of(small))
        self.assertIn("boost::pool", model.tables_of(small)["latency_warm_free"]["column_failures"])

    def test_the_readme_is_compared_and_updated(self):
        document = self.directory / "README.md"
        document.write_text(f"A pool hands out a block in\nabout a "
                            f"nanosecond.\n{readme.BEGIN}\nold\n{readme.END}\nend\n",
                            encoding="utf-8")
        small = self.directory / "small"
        with mock.patch.object(make_report, "README", str(document)):
            _, said = self.report(f"--reduced={small}")
            self.assertIn("+| one block, allocated and freed | 10.0 | 2.00 (5.0x) | 1.50 | 4.00 | 20.0 |", said)
            self.assertIn("-old", said)
            self.assertIn("README.md does not say: A pool hands out a block in about 2 nanoseconds", said)
            self.report(f"--reduced={small}", "--update-readme")
        text = document.read_text(encoding="utf-8")
        self.assertIn("| 10,000 blocks, freed in order | 10.0 | 2.00 (5.0x) | 1.50 | 4.00 | 20.0 |\n", text)
        self.assertTrue(text.endswith(f"{readme.END}\nend\n"))
        self.assertEqual(sorted(path.name for path in small.iterdir()), ["report.json", "report.md"])

    def race_tables(self, **times):
        """Returns a report with these tables: {name: {malloc: times of its rows}}."""
        self.report()
        report = self.read()
        for name, of_mallocs in times.items():
            table = model.Table(name, name, "x", "./dev bench race", of_mallocs, shows="ratio", best=["s", 1])
            for malloc, row_times in of_mallocs.items():
                for number, time in enumerate(row_times):
                    if time is None:
                        table.fail(f"row {number}", malloc, "it crashed")
                    else:
                        table.add(f"row {number}", malloc, time)
            report["sections"][0]["tables"].append(table.data)
        return report

    def test_the_means_of_mallocs_are_quoted(self):
        report = self.race_tables(race_cpu_fresh={"glibc": (2, 2), "np_alloc": (1, 1)},
                                  race_memory_fresh={"glibc": (1, 1), "np_alloc": (3, 3)})
        self.assertEqual(list(readme.lines_about_mallocs(report)),
                         ["`libnp_malloc.so` and other mallocs in 2 workloads and programs: each malloc's result over "
                          "the best of the 2,", "geometric mean.", "",
                          "| | np_alloc | glibc |", "|---|---|---|",
                          "| CPU time | 1.00 | 2.00 |", "| peak memory | 3.00 | 1.00 |", "",
                          "The command: `./dev bench race`."])

    def test_means_of_fewer_rows_are_not_quoted(self):
        report = self.race_tables(race_cpu_fresh={"glibc": (2, 2), "snmalloc": (3, 3), "np_alloc": (1, 1)},
                                  race_cpu_littered={"glibc": (4, 4), "snmalloc": (3, None), "np_alloc": (1, 1)})
        lines = list(readme.lines_about_mallocs(report))
        self.assertIn("| CPU time | 1.00 | 3.00 | 2.00 |", lines)
        self.assertIn("| CPU time, littered heap | 1.00 |  | 4.00 |", lines)
        self.assertEqual(plots.bar_values(model.tables_of(report), "race_cpu_littered", page.MEAN),
                         {"glibc": 4, "np_alloc": 1})

    def test_a_time_of_zero_has_no_ratio(self):
        self.program("block_pool_benchmark", rows_of_blocks(block_pool=0))
        self.report()
        self.assertIn("| one block, allocated and freed | 10.0 | 0 | 1.50 | 4.00 | 20.0 |", readme.passage(self.read()))

    def test_a_claim_of_the_readme_that_the_report_contradicts(self):
        text = f"{readme.BEGIN}\n{readme.END}\n{readme.BOOST_IS_AHEAD}"
        missing = f"README.md says what the report does not show: {readme.BOOST_IS_AHEAD}"
        self.report()
        self.assertNotIn(missing, list(readme.differences(text, self.read())))
        self.program("block_pool_benchmark", rows_of_blocks(block_pool=1))
        self.report()
        self.assertIn(missing, list(readme.differences(text, self.read())))

    def test_a_small_copy_does_not_promise_all_samples(self):
        self.report()
        report = self.read()
        self.assertIn("All samples and the environment", self.markdown())
        parts = "".join(map(markdown.text_of, page.parts_of(reduced.reduce(report), {})))
        self.assertNotIn("All samples", parts)
        self.assertIn("The figures in these tables and the environment are in [report.json]", parts)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Bar(unittest.TestCase):
    def test_the_bar_shows_the_share_and_the_time_left(self):
        times = iter([0, 30])
        stream = Terminal()
        shown = progress.Progress(100, 4, stream, lambda: next(times))
        shown.start("first")
        shown.finish(25)
        shown.start("second")
        first, second = stream.getvalue().split("\r\x1b[K")[1:]
        self.assertIn("  0%  1 min 40 s left  first", first)
        self.assertIn("[######..................]  25%  1 min 30 s left  second", second)


if __name__ == "__main__":
    unittest.main()
