#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""./dev in a read-only tree, without permission to install packages, and with nothing to build. It runs in a copy of
the tree, with only the programs listed here in its PATH, and a scripted apt-get."""
import html
import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("dev", "tools", "docs", "benchmarks", "include", "drop_in", "src", "README.md")
PROGRAMS = (
    "bash",
    "cat",
    "chmod",
    "dirname",
    "env",
    "git",
    "grep",
    "head",
    "mkdir",
    "mktemp",
    "nproc",
    "python3",
    "rm",
    "sed",
    "sleep",
    "tail",
    "true",
    "xargs",
)
UNPRIVILEGED = 65534
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
UNREACHABLE = "W: Failed to fetch http://deb.invalid/InRelease  Temporary failure resolving 'deb.invalid'"


class Dev(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.directory.chmod(0o755)
        self.tree = self.directory / "tree"
        self.tree.mkdir()
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.tree / name)
        for command in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", "-C", self.tree, *command], check=True)
        self.bin = self.directory / "bin"
        self.bin.mkdir()
        for program in PROGRAMS:
            (self.bin / program).symlink_to(shutil.which(program, path="/usr/bin:/bin") or shutil.which(program))
        self.calls = self.directory / "calls"
        self.calls.touch(0o666)
        self.calls.chmod(0o666)
        self.add_program("sudo", 'shift; exec "$@"')
        self.set_apt("exit 1")

    def add_program(self, name, script):
        program = self.bin / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def set_apt(self, script):
        """Installs an apt-get that logs each call and then runs the script, with the number of calls in $calls."""
        self.add_program("apt-get", f'echo "$*" >>{self.calls}; calls=$(grep -c "" {self.calls})\n{script}')

    def forbid_writing(self):
        for path in (self.tree, *self.tree.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        self.addCleanup(lambda: subprocess.run(["chmod", "-R", "u+w", self.tree], check=True))

    def dev(self, *arguments, patience=20, **environment):
        def become_nobody():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(UNPRIVILEGED)
                os.setuid(UNPRIVILEGED)
        temporary = self.directory / "temporary"
        temporary.mkdir(exist_ok=True)
        temporary.chmod(0o777)
        return subprocess.run(
            [self.tree / "dev", *arguments],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={
                "PATH": str(self.bin),
                "TMPDIR": str(temporary),
                "HOME": str(temporary),
                "MEMORY_POOL_LOCK_SECONDS": str(patience),
                **environment,
            },
            preexec_fn=become_nobody,
        )

    def allow_writing(self):
        for path in (self.tree, *self.tree.rglob("*")):
            path.chmod(0o777)

    def install_shellcheck(self, patience=20):
        """Runs a check that must install a package."""
        self.allow_writing()
        self.bin.chmod(0o777)
        return self.dev("check", "scripts", patience=patience)

    def assert_one_line(self, result, *words):
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


class WithoutWriting(Dev):
    def setUp(self):
        super().setUp()
        self.forbid_writing()

    def test_commands_that_build_print_one_line(self):
        for command in (
            "tour",
            "tour --html",
            "tour --map",
            "test",
            "test dev",
            "bench",
            "bench race",
            "bench patterns",
            "check",
            "check docs",
            "check --long",
            "docs",
            "docs --serve",
        ):
            with self.subTest(command):
                self.assert_one_line(self.dev(*command.split()), f"cannot write to {self.tree}/build; copy the tree")
        self.assert_one_line(self.dev("format"), "cannot write to the sources")
        self.assertEqual(self.calls.read_text(encoding="utf-8"), "", "nothing is installed")

    def test_commands_that_do_not_build_work(self):
        self.add_program("shellcheck", "exit 0")
        before = sorted(self.tree.rglob("*"))
        for command in (
            "help",
            "check layers licence text scripts",
            "bench race --help",
            "bench --help",
            "bench patterns --help",
        ):
            with self.subTest(command):
                result = self.dev(*command.split())
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertNotEqual(result.stdout, "")
        self.assertEqual(sorted(self.tree.rglob("*")), before)
        self.assertEqual(list((self.directory / "temporary").iterdir()), [], "temporary logs")

    def test_a_failing_check_still_prints_the_reason(self):
        self.add_program("shellcheck", "echo line 7 is wrong; exit 1")
        result = self.dev("check", "scripts")
        self.assertEqual(result.returncode, 1)
        self.assertIn("line 7 is wrong", result.stdout)


class WithoutBuilding(Dev):
    def test_help_builds_and_installs_nothing(self):
        for command in ("bench --help", "bench -h", "bench race --help", "bench patterns --help"):
            with self.subTest(command):
                result = self.dev(*command.split())
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("usage: ", result.stdout)
        self.assertEqual(self.calls.read_text(encoding="utf-8"), "")
        self.assertFalse((self.tree / "build").exists())

    def test_invalid_arguments_are_rejected_before_the_build(self):
        for command in (
            "bench --nonsense",
            "bench pair --min-time=0",
            "bench race --rounds=0",
            "bench patterns --items=x",
            "test dev nonsense",
            "check scripts nonsense",
            "docs nonsense",
            "docs --serve nonsense",
            "docs --serve 8000 nonsense",
        ):
            with self.subTest(command):
                result = self.dev(*command.split())
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, "nonsense|min-time|rounds|items")
        self.assertEqual(self.calls.read_text(encoding="utf-8"), "")
        self.assertFalse((self.tree / "build").exists())


class Workflows(Dev):
    """The check of the workflows, with a fake go that installs a fake actionlint."""

    def check(self, go):
        self.add_program("shellcheck", "exit 0")
        self.add_program("go", go)
        self.allow_writing()
        return self.dev("check", "workflows")

    @staticmethod
    def go_that_makes(actionlint):
        return f"""mkdir -p "$GOBIN"
            printf '#!/bin/sh\\n[ "$1" != -version ] || {{ echo v1.7.7; exit; }}\\n{actionlint}\\n' >"$GOBIN/actionlint"
            chmod +x "$GOBIN/actionlint\""""

    def test_findings_of_actionlint_fail_the_check(self):
        result = self.check(self.go_that_makes("exit 0"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, "^workflows ok")
        (self.tree / "build/tools/actionlint").unlink()
        result = self.check(self.go_that_makes("echo ci.yml is wrong; exit 1"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("ci.yml is wrong", result.stdout)

    def test_actionlint_is_fetched_once(self):
        self.check(self.go_that_makes("exit 0"))
        result = self.check("exit 1")
        self.assertRegex(result.stdout, "^workflows ok")

    def test_actionlint_is_skipped_without_a_network(self):
        result = self.check("echo dial tcp: no route to host >&2; exit 1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, "^workflows skipped 0 s: actionlint could not be fetched")
        log = (self.tree / "build/log/check-workflows.log").read_text(encoding="utf-8")
        self.assertIn("no route to host", log)


class TourPage(Dev):
    """`./dev tour --html`, with a scripted cmake that creates a scripted tour."""

    FIGURES = {"schema": "memory_pool.tour", "version": 1, "command": ["tour"], "text": "a text", "text_notes": [],
               "rounds": 1, "threads": 2, "machine": [], "sides": [], "jobs": [], "legend": [], "agreement": "",
               "conclusion": "For this text, pools gain nothing."}

    def tour(self, *arguments, fails=0):
        self.set_apt("exit 0")
        self.allow_writing()
        figures = self.directory / "figures"
        figures.write_text(json.dumps(self.FIGURES), encoding="utf-8")
        tour = self.directory / "tour"
        tour.write_text(f"""#!/bin/sh
            [ {fails} = 0 ] || {{ echo "tour: no such text: $3" >&2; exit {fails}; }}
            [ "$3" != --help ] || {{ echo usage; exit; }}
            echo "the tour of $3"; cat {figures} >"$2"
            """, encoding="utf-8")
        folder = "build/release/examples"
        self.add_program("cmake", f"mkdir -p {folder}; cat {tour} >{folder}/tour; chmod +x {folder}/tour")
        self.bin.joinpath("ninja").unlink(missing_ok=True)
        return self.dev("tour", "--html", *arguments)

    def test_prints_the_tour_and_the_path_of_its_page(self):
        result = self.tour('a <&" b')
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        page = self.tree / "build/tour.html"
        self.assertTrue(result.stdout.startswith('the tour of a <&" b\n'), result.stdout)
        self.assertEqual(result.stdout.splitlines()[-1], f"The page: {page}")
        self.assertIn(html.escape('./dev tour --html a\\ \\<\\&\\"\\ b'), page.read_text(encoding="utf-8"))

    def test_a_failed_tour_removes_the_page_of_an_earlier_one(self):
        self.tour("a")
        result = self.tour("nowhere", fails=2)
        self.assertEqual((result.returncode, result.stderr), (2, "tour: no such text: nowhere\n"))
        self.assertEqual(list(self.tree.glob("build/tour.*")), [])

    def test_an_unwritable_page_is_reported_before_the_tour(self):
        (self.tree / "build/tour.html").mkdir(parents=True)
        result = self.tour("a")
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assert_one_line(result, f"cannot write {self.tree}/build/tour.html", "remove it")

    def test_html_is_rejected_with_json_or_map(self):
        for option in ("--json", "--map", "--json=file"):
            result = self.tour(option, "file")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assert_one_line(result, "leave out " + option.split("=", maxsplit=1)[0])

    def test_help_makes_no_page(self):
        result = self.tour("--help")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "usage\n", ""))


class Documentation(Dev):
    """`./dev docs` with scripted tools: pip leaves a mark, and Doxygen and MkDocs write one page each."""

    PYTHON = """case "$*" in
        *"pip install"*) echo pip >>{calls}; while [ "$1" != --target ]; do shift; done; mkdir -p "$2" ;;
        *mkdocs*) mkdir -p build/site; echo "<a href='{link}'>" >build/site/index.html ;;
        *http.server*) echo "serves $*" ;;
        *site_test.py*) echo looked at >>{calls}; exit {status} ;;
        *) exec {python} "$@" ;;
        esac"""

    def docs(self, *arguments, link="#", status=0):
        self.set_apt("exit 0")
        self.allow_writing()
        for program in ("paste",):
            if not (self.bin / program).exists():
                (self.bin / program).symlink_to(shutil.which(program))
        if (self.bin / "python3").is_symlink():
            self.python = (self.bin / "python3").readlink()
            (self.bin / "python3").unlink()
        self.add_program("python3", self.PYTHON.format(calls=self.calls, link=link, status=status, python=self.python))
        self.add_program("doxygen", "cat >/dev/null")
        self.add_program("chromium", "exit 0")
        return self.dev("docs", *arguments)

    def test_builds_and_checks_the_pages_and_prints_their_path(self):
        result = self.docs()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{self.tree}/build/site/index.html", result.stdout.splitlines()[-1])
        self.assertEqual(self.calls.read_text(encoding="utf-8").splitlines()[-2:], ["pip", "looked at"])

    def test_tools_are_fetched_once(self):
        self.docs()
        self.docs()
        self.assertEqual(self.calls.read_text(encoding="utf-8").splitlines().count("pip"), 1)

    def test_a_broken_link_fails(self):
        result = self.docs(link="none.html")
        self.assertEqual(result.returncode, 1)
        self.assertIn("index.html:1: no such page: none.html", result.stdout)
        self.assertNotIn("looked at", self.calls.read_text(encoding="utf-8"))

    def test_a_page_with_layout_faults_fails(self):
        result = self.docs(status=1)
        self.assertEqual(result.returncode, 1)
        self.assertIn("tests of the documentation site failed", result.stderr)

    def test_serves_on_loopback_only(self):
        result = self.docs("--serve", "8123")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("serves -m http.server --bind 127.0.0.1 --directory build/site 8123", result.stdout)
        self.assertNotIn("looked at", self.calls.read_text(encoding="utf-8"))


class Testing(Dev):
    """./dev test, with a scripted cmake and ctest."""

    CTEST = """for log; do :; done; cat >"$log" <<TEXT
60% tests passed, 2 tests failed out of 5

The following tests did not run:
\t  1 - needs.a_program (Skipped)
\t  6 - not.here (Disabled)

The following tests FAILED:
\t  2 - fails (Failed)
\t  3 - says.it_was_skipped (Failed)
TEXT
exit 8"""

    def test_skipped_tests_are_not_counted_as_passed(self):
        self.set_apt("exit 0")
        self.allow_writing()
        self.add_program("cmake", "true")
        self.add_program("ctest", self.CTEST)
        result = self.dev("test", "dev")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stdout, r"dev +2 passed, 2 failed, 1 skipped  \(")
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 2 failed, 1 skipped")


class Fuzzing(Dev):
    """The step fuzz, with a scripted cmake that creates scripted fuzzers."""

    PASSES = "echo '#7 NEW cov: 123 ft: 4'; echo 'stat::number_of_executed_units: 567'"
    FAILS = """for argument; do case $argument in
        -artifact_prefix=*) echo "Test unit written to ${argument#-artifact_prefix=}crash-1" >&2 ;;
        *crash-1) echo 'the model disagrees: in_use is wrong' >&2 ;;
        esac; done; exit 77"""

    def check(self, scripts, **environment):
        self.set_apt("exit 0")
        self.allow_writing()
        commands = ["mkdir -p build/fuzz/tests"]
        for name, script in scripts.items():
            program = self.directory / name
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            commands.append(f"cat {program} >build/fuzz/tests/{name}; chmod +x build/fuzz/tests/{name}")
        self.add_program("cmake", "\n".join(commands))
        return self.dev("check", "fuzz", **environment)

    def test_each_fuzzer_has_a_line(self):
        result = self.check({"one_fuzzer": f"echo \"$@\" >{self.calls}; {self.PASSES}", "two_fuzzer": self.PASSES})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, "^fuzz +ok")
        for name in ("one_fuzzer", "two_fuzzer"):
            self.assertRegex(result.stdout, f"\n{name} +567 executions in 60 s, 123 edges covered\n")
        self.assertIn("-max_total_time=60 ", self.calls.read_text(encoding="utf-8"))

    def test_the_time_is_configurable(self):
        result = self.check({"one_fuzzer": f"echo \"$@\" >{self.calls}; {self.PASSES}"}, FUZZ_SECONDS="3")
        self.assertIn("in 3 s", result.stdout)
        self.assertIn("-max_total_time=3 ", self.calls.read_text(encoding="utf-8"))
        for wrong in ("x", "0", "-1"):
            self.assertIn("FUZZ_SECONDS is", self.check({"one_fuzzer": self.PASSES}, FUZZ_SECONDS=wrong).stdout)

    def test_a_failure_names_the_input_and_the_error(self):
        result = self.check({"one_fuzzer": self.FAILS, "two_fuzzer": self.PASSES})
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, "(?m)^fuzz +FAILED")
        self.assertRegex(result.stdout, "the input that fails: .*/build/fuzz/found/one_fuzzer/failures/crash-1\n")
        self.assertIn("disagrees: in_use is wrong", result.stdout)
        self.assertIn("two_fuzzer", result.stdout)

    def test_missing_fuzzers_are_a_failure(self):
        result = self.check({})
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no fuzzer", result.stdout)


class Installing(Dev):
    def log(self):
        return (self.tree / "build/log/install.log").read_text(encoding="utf-8")

    def test_waits_for_a_lock(self):
        # The lock is free at the second call (update) and at the fourth (install).
        self.set_apt(f"""[ $calls = 2 ] && exit 0
            [ $calls = 4 ] || {{ echo '{LOCKED}' >&2; exit 100; }}
            printf '#!/bin/sh\\n' >{self.bin}/shellcheck; chmod +x {self.bin}/shellcheck""")
        result = self.install_shellcheck()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        calls = self.calls.read_text(encoding="utf-8").splitlines()
        self.assertEqual(["update" in call for call in calls], [True, True, False, False])
        self.assertIn("install -y --no-install-recommends shellcheck", calls[-1])
        self.assertIn("waiting for up to", result.stderr)

    def test_gives_up_waiting_for_a_lock(self):
        self.set_apt(f"echo '{LOCKED}' >&2; exit 100")
        result = self.install_shellcheck(patience=1)
        self.assertEqual(result.returncode, 3)
        self.assertIn(
            "could not install shellcheck: another process still holds the lock", result.stderr.splitlines()[-1]
        )
        self.assertNotIn("E: ", result.stderr)

    def test_reports_a_missing_network_in_one_line(self):
        self.set_apt(f"""[ $calls = 1 ] && {{ echo "{UNREACHABLE}"; exit 0; }}
            echo 'E: Unable to locate package shellcheck' >&2; exit 100""")
        result = self.install_shellcheck()
        self.assert_one_line(result, "could not install shellcheck: no package server can be reached; "
                                     f"see {self.tree}/build/log/install.log")
        self.assertIn("Temporary failure resolving", self.log())
        self.assertIn("Unable to locate package", self.log())

    def test_reports_the_log_of_other_failures(self):
        self.set_apt("echo 'E: No space left' >&2; exit 100")
        result = self.install_shellcheck()
        self.assert_one_line(result, f"could not install shellcheck; see {self.tree}/build/log/install.log")
        self.assertIn("No space left", self.log())


if __name__ == "__main__":
    unittest.main()
