#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The race shows the cost of commands, detects which malloc was in use, and shows no time of a failed command.

    race_test.py DIRECTORY LIBRARY [--sanitized]

DIRECTORY has `measure`; LIBRARY is faulty_malloc, which is correct unless FAULTY_MALLOC is set. The commands are
shell scripts that behave differently under that library.
"""
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import fetch_mallocs  # pylint: disable=wrong-import-position
import race  # pylint: disable=wrong-import-position
import race_rows  # pylint: disable=wrong-import-position


def under_the_library(then: str, otherwise: str = "echo done"):
    """A command that runs one script under the library, and another one otherwise."""
    return ["sh", "-c", f'case "$LD_PRELOAD" in *faulty*) {then};; *) {otherwise};; esac']


class Race(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def race(self, *arguments, library=None):
        """Runs a race of glibc and another malloc. Returns the process, and {malloc: entry}."""
        told = self.directory / "race.json"
        result = subprocess.run(
            [
                sys.executable,
                BENCHMARKS / "race.py",
                "--build",
                PROGRAMS,
                "--mallocs",
                "glibc",
                "--rounds",
                "2",
                "--json",
                told,
                "--warm",
                "16",
                "--add",
                f"other={library or LIBRARY}",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        rows = json.loads(told.read_text(encoding="utf-8"))["rows"] if told.exists() else {}
        return result, next(iter(rows.values()), {})

    def assert_failed(self, raced, words):
        """Asserts that the other malloc has failed with these words and has no figures, and that glibc has figures."""
        result, row = raced
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(words, row["other"]["failure"])
        self.assertEqual(list(row["other"]), ["failure"])
        self.assertIn(f"other: {row['other']['failure']}", result.stdout)
        self.assertEqual(result.stdout.count("            failed\n"), 3)
        self.assertIsNone(row["glibc"]["failure"])
        self.assertEqual(len(row["glibc"]["seconds"]), 2)

    def test_each_malloc_has_its_samples(self):
        result, row = self.race("--", "sh", "-c", "echo done")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for name in ("glibc", "other"):
            self.assertIsNone(row[name]["failure"])
            for field in ("seconds", "processor", "kilobytes"):
                self.assertEqual(len(row[name][field]), 2)
        self.assertIn("0 failed", result.stdout)

    def test_a_row_that_was_tried_before_has_no_trials(self):
        row = race_rows.Row(["true"], "", {})
        arguments = race.parse_arguments(["--rounds", "1"])
        run = race.Run(1, 1, 1, "")
        with mock.patch.object(race, "measure", return_value=run), \
                mock.patch.object(race, "try_out", side_effect=race.Failure("tried")):
            self.assertEqual(race.run_row(row, {"glibc": None}, arguments)["glibc"].failure, "tried")
            self.assertEqual(race.run_row(row, {"glibc": None}, arguments, is_tried=True)["glibc"].runs, [run])

    def test_a_slow_command_takes_longer(self):
        _, row = self.race("--", *under_the_library("sleep 0.1; echo done"))
        self.assertGreaterEqual(min(row["other"]["seconds"]), 0.1)
        self.assertLess(max(row["other"]["processor"]), min(row["other"]["seconds"]))

    def test_memory_excludes_the_race(self):
        eight_mebibytes = "head -c 8388608 /dev/zero | tail -c 8388608 >/dev/null; echo done"
        _, row = self.race("--", *under_the_library("echo done", eight_mebibytes))
        self.assertGreater(min(row["glibc"]["kilobytes"]), 8192)
        self.assertLess(max(row["other"]["kilobytes"]), 8192)

    def test_warmed_memory_is_not_counted(self):
        report = self.directory / "report"
        measurer = subprocess.Popen([f"{PROGRAMS}/measure", report, "64", "", "true"])
        _, status, usage = os.wait4(measurer.pid, 0)
        measurer.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(measurer.returncode, 0)
        self.assertGreater(usage.ru_maxrss, 65536)
        self.assertLess(int(report.read_text(encoding="utf-8").split()[3]), 65536)

    def test_a_command_that_fails(self):
        self.assert_failed(self.race("--", *under_the_library("echo broken >&2; exit 3")), "status 3: broken")

    def test_a_command_that_is_killed(self):
        self.assert_failed(self.race("--", *under_the_library("kill -SEGV $$")), "signal 11")

    def test_a_command_that_fails_after_the_trial(self):
        marker = self.directory / "marker"
        late = f"if [ -e {marker} ]; then exit 4; fi; touch {marker}; echo done"
        self.assert_failed(self.race("--", *under_the_library(late)), "status 4")

    def test_a_command_that_takes_too_long(self):
        self.assert_failed(self.race("--timeout", "2", "--", *under_the_library("sleep 60")), "more than 2 s")

    def test_different_output(self):
        self.assert_failed(self.race("--", *under_the_library("echo gone")), "its output is not that of glibc: gone")

    def test_different_output_in_the_unchecked_part(self):
        result, row = self.race(
            "--checked", "^sum=.*", "--", *under_the_library("echo 5 s; echo sum=1", "echo 3 s; echo sum=1")
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIsNone(row["other"]["failure"])

    def test_different_output_in_the_checked_part(self):
        command = under_the_library("echo 5 s; echo sum=1", "echo 5 s; echo sum=2")
        self.assert_failed(self.race("--checked", "^sum=.*", "--", *command), "its output is not that of glibc")

    def test_output_without_the_checked_part(self):
        command = under_the_library("echo 5 s", "echo sum=1")
        self.assert_failed(self.race("--checked", "^sum=.*", "--", *command), "nothing in its output matches --checked")

    def test_output_is_not_checked_with_an_empty_pattern(self):
        result, _ = self.race("--checked", "", "--", *under_the_library("echo 5 s", "echo 10 s"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_an_invalid_library(self):
        library = self.directory / "empty.so"
        library.touch()
        self.assert_failed(self.race("--", "true", library=library), "not loaded: the malloc in use is that of /")

    def test_a_library_without_malloc(self):
        libraries = subprocess.run(["ldd", sys.executable], stdout=subprocess.PIPE, text=True, check=True).stdout
        library = next(line.split()[2] for line in libraries.splitlines() if "libm.so" in line)
        self.assert_failed(self.race("--", "true", library=library), "not loaded")

    def test_a_command_that_resets_ld_preload(self):
        command = under_the_library("unset LD_PRELOAD; cat /dev/null; echo done")
        self.assert_failed(self.race("--", *command), "not loaded")

    def test_a_missing_library(self):
        result, _ = self.race("--", "true", library=self.directory / "none.so")
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no library", result.stderr)

    def test_an_added_malloc_without_a_name_or_library(self):
        for added in ("mine", "mine=", f"={LIBRARY}"):
            with self.subTest(added):
                result, _ = self.race("--add", added, "--", "true")
                self.assertEqual((result.returncode, result.stderr),
                                 (1, f"race.py: --add {added}: say NAME=LIBRARY, with the path of a library\n"))

    def test_a_duplicate_name(self):
        for name in ("glibc", "other"):
            with self.subTest(name):
                result, _ = self.race("--add", f"{name}={LIBRARY}", "--", "true")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(f"there is a malloc of the name {name} already", result.stderr)

    def test_a_variable_that_is_set_for_one_malloc(self):
        show = "echo ${RACED_WITH:-nothing}"
        raced = self.race("--set", "other:RACED_WITH=a=b c", "--", "sh", "-c", show)
        self.assert_failed(raced, "its output is not that of glibc: a=b c")
        raced = self.race("--set", "other:RACED_WITH=x", "--set", "glibc:RACED_WITH=x", "--", "sh", "-c", show)
        self.assertEqual(raced[0].returncode, 0, raced[0].stdout + raced[0].stderr)

    def test_a_variable_that_cannot_be_set(self):
        for setting, words in (("other", "is not NAME:VARIABLE=VALUE"), ("other:X", "is not NAME:VARIABLE=VALUE"),
                               ("third:X=1", "--set third:X=1: there is no malloc of the name third")):
            with self.subTest(setting):
                result, _ = self.race("--set", setting, "--", "true")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)

    def test_a_missing_command(self):
        result, row = self.race("--", str(self.directory / "none"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("it does not start", row["glibc"]["failure"])
        self.assertIn("2 failed", result.stdout)

    def test_an_unknown_malloc(self):
        result, _ = self.race("--mallocs", "glibc,fastest", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such malloc: fastest", result.stderr)
        self.assertIn("np_alloc)", result.stderr, "the known names")

    def test_a_malloc_that_is_not_installed(self):
        with mock.patch.dict(race.mallocs.LIBRARIES, absent="libabsent_malloc.so.1"), \
                mock.patch.dict(race.mallocs.PACKAGES, absent="libabsent1"), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(race.mallocs.installed(["glibc", "absent"]), {"glibc": None})
        self.assertIn(
            "absent is left out: there is no libabsent_malloc.so.1 (Debian package: libabsent1)", said.getvalue()
        )

    def test_a_malloc_that_must_be_fetched(self):
        path = str(self.directory / "libmine.so")
        with mock.patch.dict(race.mallocs.LIBRARIES, mine=path), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(race.mallocs.installed(["mine"]), {})
            Path(path).touch()
            self.assertEqual(race.mallocs.installed(["mine"]), {"mine": path})
        self.assertEqual(said.getvalue(),
                         f"mine is left out: there is no {path} (benchmarks/fetch_mallocs.py mine gets it)\n")

    def test_a_malloc_that_cannot_be_fetched(self):
        """A missing tool, a tool that fails, and an unknown malloc."""
        nothing = self.directory / "bin"
        nothing.mkdir()
        with mock.patch.dict(os.environ, PATH=str(nothing)), \
                mock.patch.object(fetch_mallocs.mallocs, "FETCHED_TO", str(self.directory)), \
                mock.patch.dict(race.mallocs.LIBRARIES, snmalloc=str(self.directory / "libsnmalloc.so")), \
                mock.patch.object(sys, "argv", ["fetch_mallocs.py", "snmalloc"]), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(fetch_mallocs.main(), 1)
            self.assertIn("cannot fetch snmalloc: there is no cargo (Debian package: cargo)", said.getvalue())
            (nothing / "cargo").write_text("#!/bin/sh\necho no registry; exit 7\n", encoding="utf-8")
            (nothing / "cargo").chmod(0o755)
            self.assertEqual(fetch_mallocs.main(), 1)
            self.assertIn("`cargo vendor vendor` ended with status 7:\nno registry\n", said.getvalue())
        result = subprocess.run([sys.executable, BENCHMARKS / "fetch_mallocs.py", "glibc"], capture_output=True,
                                text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("'glibc' is none of snmalloc, mimalloc3", result.stderr)
        self.assertEqual(os.listdir(self.directory), ["bin"], "no other files remain")

    def test_the_malloc_of_this_library_takes_part_if_it_was_built(self):
        programs = self.directory / "benchmarks" / "np_alloc"
        library = self.directory / "src" / "np_alloc" / "libnp_malloc.so"
        arguments = race.parse_arguments(["--build", str(programs), "--mallocs", "glibc,np_alloc"])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(race.entrants(arguments), {"glibc": None})
        self.assertIn("np_alloc is left out: there is no ", said.getvalue())
        for directory in (programs, library.parent):
            directory.mkdir(parents=True)
        library.touch()
        self.assertEqual(race.entrants(arguments), {"glibc": None, "np_alloc": str(library)})

    def test_an_unknown_row(self):
        result, _ = self.race("--filter", "nothing_like_it")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row matches", result.stderr)

    def test_a_workload_under_a_faulty_malloc(self):
        if SANITIZED:
            self.skipTest("a sanitizer replaces malloc")
        os.environ["FAULTY_MALLOC"] = "1"
        self.addCleanup(os.environ.pop, "FAULTY_MALLOC")
        command = [os.path.join(PROGRAMS, "table"), "blocks=500", "live=50"]
        self.assert_failed(self.race("--", *command), "status 1: a block was overwritten")


class Litter(unittest.TestCase):
    """Programs that start on a littered heap."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.report = self.directory / "litter"

    def counted(self, *command, **environment):
        """Runs the command under the library. Returns its output, and for each process (allocated, freed)."""
        counts = self.directory / "counts"
        result = subprocess.run(command, env={**os.environ, "LD_PRELOAD": LIBRARY, "COUNTING_MALLOC": str(counts),
                                              **environment}, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        lines = counts.read_text(encoding="utf-8").splitlines()
        counts.unlink()
        return result.stdout, [tuple(map(int, line.split())) for line in lines]

    def littered(self, *command, wanted="1000 16 512 40 1"):
        return self.counted(*command, LD_PRELOAD=f"{PROGRAMS}/litter.so:{LIBRARY}", LITTER=wanted,
                            LITTER_REPORT=str(self.report))

    def counts_of(self, wanted):
        """Returns the numbers of allocated and freed blocks."""
        _, [without] = self.counted("/bin/true", LD_PRELOAD=f"{PROGRAMS}/litter.so:{LIBRARY}")
        _, [littered] = self.littered("/bin/true", wanted=wanted)
        return littered[0] - without[0], littered[1] - without[1]

    def test_blocks_are_allocated_and_most_are_freed(self):
        self.assertEqual(self.counts_of("1000 16 512 40 1"), (1000, 600))
        cost = race.litter.cost(self.report)
        self.assertGreater(cost.seconds, 0)
        self.assertGreater(cost.processor, 0)
        self.assertGreater(cost.kilobytes, 16)

    def test_all_or_none_may_be_kept(self):
        for kept, freed in ((100, 0), (0, 3)):
            self.assertEqual(self.counts_of(f"3 8 8 {kept} 1"), (3, freed))

    def test_children_are_not_littered_and_keep_their_malloc(self):
        start_another = "import subprocess; subprocess.run(['env'], check=True)"
        said, [child, parent] = self.littered(sys.executable, "-c", start_another, wanted="100000 16 512 40 1")
        self.assertIn(f"LD_PRELOAD={LIBRARY}\n", said)
        self.assertNotIn("litter", said.lower())
        self.assertLess(child[0], 100000)
        self.assertGreater(parent[0], 100000)

    def test_ld_preload_is_removed_without_another_library(self):
        said = subprocess.run(["sh", "-c", "env; exit"], stdout=subprocess.PIPE, text=True, check=True, env={
            **os.environ, "LD_PRELOAD": f"{PROGRAMS}/litter.so", "LITTER": "10 16 512 40 1"}).stdout
        self.assertNotIn("LD_PRELOAD", said)

    def test_an_invalid_variable_ends_the_program(self):
        for wanted in ("10", "0 16 512 40 1", "10 7 512 40 1", "10 16 15 40 1", "10 16 512 101 1", "x"):
            with self.subTest(wanted):
                with self.assertRaises(subprocess.CalledProcessError), contextlib.redirect_stderr(io.StringIO()):
                    self.littered("/bin/true", wanted=wanted)

    def test_the_peak_of_memory_is_measured_after_the_litter(self):
        peak = self.directory / "peak"
        subprocess.run([f"{PROGRAMS}/measure", peak, "0", f"{PROGRAMS}/litter.so", "true"], check=True, timeout=60,
                       env={**os.environ, "LITTER": "100 262144 262144 0 1", "LITTER_REPORT": str(self.report)})
        fresh = self.directory / "fresh"
        subprocess.run([f"{PROGRAMS}/measure", fresh, "0", "", "true"], check=True, timeout=60)
        difference = [int(path.read_text(encoding="utf-8").split()[3]) for path in (peak, fresh)]
        self.assertLess(difference[0] - difference[1], 1024, difference)

    def race(self, build, *command):
        arguments = race.parse_arguments(["--build", str(build), "--litter", "10", "--", *command])
        return race.measure(race_rows.Row(list(command), "", {}), None, arguments)

    def measurer(self, script):
        """Creates a substitute for `measure`."""
        path = self.directory / "measure"
        path.write_text(f"#!/bin/sh\necho 0 5.5 4.25 1000 > $1; {script}\n", encoding="utf-8")
        path.chmod(0o755)

    def test_its_time_is_subtracted(self):
        self.measurer("echo 3.5 3.0 77 > $LITTER_REPORT")
        self.assertEqual(self.race(self.directory, "true"), race.Run(2, 1.25, 1000, "", 77))

    def test_a_heap_that_was_not_littered_has_no_time(self):
        self.measurer("true")
        with self.assertRaisesRegex(race.Failure, "its heap was not littered"):
            self.race(self.directory, "true")

    def test_the_race_litters(self):
        run = self.race(PROGRAMS, "sh", "-c", "echo done")
        self.assertEqual(run.output, "done\n")

    def test_a_litter_library_that_is_not_built(self):
        self.measurer("true")
        result = subprocess.run([sys.executable, BENCHMARKS / "race.py", f"--build={self.directory}", "--litter=10"],
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"there is no {self.directory}/litter.so; build the target `race` first", result.stderr)

    def test_programs_do_their_work_in_their_own_process(self):
        for name, row in race_rows.programs().items():
            if shutil.which(row.command[0]):
                self.assertNotIn(os.path.basename(row.command[0]), ("env", "sh", "g++"), name)


class Figures(unittest.TestCase):
    """The figures for given samples."""

    @staticmethod
    def entry(*seconds, failure=None):
        made = race.Entry()
        made.runs = [race.Run(value, value, 1024, "x | in_use=7 taken=9.5") for value in seconds]
        made.failure = failure
        return made

    def test_ratios_are_to_the_best_of_the_row(self):
        entries = {"a": self.entry(2, 8, 4), "b": self.entry(2, 1, 16), "c": self.entry(1, failure="it ended")}
        row_ratios, best = race.ratios(entries, race.METRICS[0])
        self.assertEqual(best, 2)
        self.assertEqual(row_ratios, {"a": (2, 2), "b": (1, 1)})

    def test_a_row_in_which_all_failed_has_no_best(self):
        self.assertEqual(race.ratios({"a": self.entry(failure="it ended")}, race.METRICS[0]), ({}, None))

    def test_the_malloc_in_use_is_not_the_table_of_calls_of_a_program(self):
        def binding(source, target):
            return f" 1:\tbinding file {source} [0] to {target} [0]: normal symbol `malloc' [GLIBC_2.2.5]\n"

        start = " 1:\tinitialize program: node\n"
        self.assertEqual(
            race.malloc_in_use([start, binding("/a.so", "node"), binding("node", "/a.so"), binding("node", "node")]),
            {"/a.so"},
        )
        found = race.malloc_in_use([start, binding("/a.so", "node"), binding("node", "node")])
        self.assertEqual(found, {os.path.realpath("node")}, "of a program that defines malloc")

    def test_means_are_geometric_and_list_failed_rows(self):
        self.assertEqual(race.mean_cell([(1, 1), (4, 16)], 2), "2.00 [4.00]")
        self.assertEqual(race.mean_cell([(1, 1), None, (4, 16)], 3), "2.00 [4.00] 2/3")
        self.assertEqual(race.mean_cell([None], 1), "failed")

    def test_statistics_follow_the_bar(self):
        self.assertEqual(race.figures_of("x operations=3 | in_use=7 taken=9.5\n"), {"in_use": 7, "taken": 9.5})
        self.assertEqual(race.figures_of("x operations=3\n"), {})
        self.assertEqual(race.figures_of("| a=1...\n| b=2\n"), {}, "of a program with more output")

    def test_programs_have_reproducible_output(self):
        for name, row in race_rows.programs().items():
            if shutil.which(row.command[0]):
                with self.subTest(row=name):
                    said = [
                        subprocess.run(
                            row.command,
                            env={**os.environ, **row.environment},
                            capture_output=True,
                            check=True,
                            timeout=100,
                        ).stdout
                        for _ in range(2)
                    ]
                    self.assertGreater(len(said[0]), 10)
                    self.assertEqual(*said)

    def test_each_row_is_a_workload(self):
        for line in race_rows.ROWS.values():
            self.assertTrue((BENCHMARKS / "np_alloc" / f"{line.split()[0]}.cpp").exists(), line)

    def test_each_workload_has_a_row(self):
        programs = {path.stem for path in (BENCHMARKS / "np_alloc").glob("*.cpp")} - {"measure", "litter", "lock_times"}
        self.assertEqual({line.split()[0] for line in race_rows.ROWS.values()}, programs)


if __name__ == "__main__":
    PROGRAMS, LIBRARY, SANITIZED = sys.argv[1], sys.argv[2], "--sanitized" in sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
