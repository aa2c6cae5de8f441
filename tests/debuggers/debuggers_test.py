#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The output of the scripts of tools/debuggers for an optimized program, pools.cpp, which prints the expected output:
in a process and in its core.   debuggers_test.py PROGRAM gdb|lldb

Exits 77 if the debugger is not installed or may not run programs here.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "tools" / "debuggers"
SKIPPED = 77

# Listed by the name of the variable or member.
LISTED = {
    "app::orders", "in_rows", "in_spans", "jobs", "full", "empty", "engine.bolts", "engine.nuts", "counted", "checked",
    "checked_jobs", "shared_orders", "handles", "shared_handles", "sharing", "local_sharing", "kept", "target",
    "source", "shared_sizes", "sizes", "arenas", "shared_arenas", "tasks", "kept_tasks",
}
GLOBALS = {"app::orders", "in_rows", "in_spans", "jobs", "full", "empty"}
# Printed with other text around them, or not named in `main`.
NOT_SHOWN = {"returned", "engine.nuts", "*apart", "*apart_without_name"}
# Members of an object that no variable refers to.
APART = "rooms->"
# Places of pools without a variable.
REGISTRY, NAMES = "shared by threads", "by its name"


class Gdb:
    name = "gdb"
    programs = ["gdb"]
    start = ["-nx", "-batch", "-ex", "set confirm off", "-ex", "set pagination off", "-ex", "set width 0", "-ex",
             "set debuginfod enabled off", "-ex", f"source {SCRIPTS / 'memory_pool_gdb.py'}"]
    go_to_main = ["frame function main"]
    list_pools = "info memory-pools"
    sees_statics_of_functions = True

    @staticmethod
    def options(commands):
        return [word for command in commands for word in ("-ex", command)]

    def live(self, program, core):
        return self.options(["break ready", "run", f"generate-core-file {core}"]), [str(program)]

    def dead(self, program, core):
        return [], [str(program), str(core)]

    @staticmethod
    def show(expression):
        return f"output {expression}"

    @staticmethod
    def mark(name):
        return f"echo \\n<< {name}\\n"


class Lldb:
    name = "lldb"
    programs = ["lldb-19", "lldb"]
    start = ["--no-lldbinit", "--batch"]
    # The threads of a core are unordered.
    go_to_main = ["script [(t.process.SetSelectedThread(t), t.SetSelectedFrame(f.idx)) "
                  "for t in lldb.debugger.GetSelectedTarget().process for f in t if f.name == 'main']"]
    list_pools = "memory-pools"
    sees_statics_of_functions = False

    @staticmethod
    def options(commands):
        return [word for command in commands for word in ("-o", command)]

    def live(self, program, core):
        script = SCRIPTS / "memory_pool_lldb.py"
        return self.options(
            [f"command script import {script}", f"target create {program}", "settings set target.disable-aslr false",
             "breakpoint set --name ready", "process launch", f"process save-core --style full {core}"]), []

    def dead(self, program, core):
        script = SCRIPTS / "memory_pool_lldb.py"
        return self.options([f"command script import {script}", f"target create {program} --core {core}"]), []

    @staticmethod
    def show(expression):
        return f"{'target' if expression in GLOBALS else 'frame'} variable {expression}"

    @staticmethod
    def mark(name):
        return f"script print('<< {name}')"


def lines_of_program(program):
    """Returns the expected line by expression, as the program prints it."""
    text = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False).stdout
    return dict(line.split("|", 1) for line in text.splitlines())


def run(debugger, way, program, core, commands):
    before, after = way(program, core)
    executable = next(filter(None, map(shutil.which, debugger.programs)))
    words = [executable] + debugger.start + before + debugger.options(commands) + after
    # A core takes a few MB. With np_alloc, it would include all reserved addresses.
    most = (1 << 28, 1 << 28)
    environment = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, env=environment,
                          stdin=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, most))
    return done.stdout, done.stderr


class Debugging(unittest.TestCase):
    """The same commands in a process and in its core."""
    debugger = None
    program = None
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.expected = lines_of_program(cls.program)
        cls.core = Path(cls.folder) / "core"
        # Between marks, as debuggers print other text, too.
        mark, show = cls.debugger.mark, cls.debugger.show
        commands = list(cls.debugger.go_to_main)
        cls.apart = {name for name in cls.expected if name.startswith(APART)} | {"limited"}
        cls.shown = {name for name in cls.expected.keys() - NOT_SHOWN if not name.startswith(APART)}
        for name in cls.shown | {"*damaged"}:
            commands += [mark(name), show(name)]
        commands += [mark("list"), cls.debugger.list_pools]
        cls.outputs = {"process": run(cls.debugger, cls.debugger.live, cls.program, cls.core, commands)}
        refused = re.search(r"ptrace: Operation not permitted|Could not trace|process launch failed.*|'A' packet.*",
                            "".join(cls.outputs["process"]))
        if refused:
            print(f"skipped: {cls.debugger.name} may not run programs here: {refused[0]}")
            sys.exit(SKIPPED)
        cls.outputs["core"] = run(cls.debugger, cls.debugger.dead, cls.program, cls.core, commands)

    def part(self, kind, name):
        """Returns the output after the mark `name`."""
        text, errors = self.outputs[kind]
        match = re.search(rf"^<< {re.escape(name)}\n(.*?)(?:^<< |\Z)", text, re.MULTILINE | re.DOTALL)
        self.assertIsNotNone(match, f"no {name} in {kind}:\n{text[-3000:]}\n{errors[-3000:]}")
        return match[1]

    def test_prints_one_line_per_object_with_the_statistics_of_the_library(self):
        self.assertGreater(len(self.expected), 35, self.expected)
        for kind in self.outputs:
            for name in self.shown:
                with self.subTest(kind=kind, name=name):
                    printed = [each for each in self.part(kind, name).splitlines()
                               if each and not each.startswith(("(lldb)", "error: "))]
                    before = r"^\([^=]*\) \S+ = (0x[0-9a-f]+ )?"  # lldb prints type and name first.
                    self.assertEqual([re.sub(before, "", each) for each in printed], [self.expected[name]])

    def test_lists_every_pool_once(self):
        for kind in self.outputs:
            with self.subTest(kind=kind):
                listed = [line.strip() for line in self.part(kind, "list").splitlines()
                          if '"' in line or "moved from" in line]
                expected = {name: line for name, line in self.expected.items() if name in LISTED}
                for name, line in expected.items():
                    found = [each for each in listed if each.startswith(line + "  ")
                             and re.search(rf"[ :]{re.escape(name)}( in main, thread [0-9]+)?$", each[len(line):])]
                    self.assertEqual(len(found), 1, f"{name}: {line}\n" + "\n".join(listed))
                others = [
                    rf"concurrent_object_pool {self.after_kind('*apart')} +{NAMES}",
                    r'shared_pool<app::order> "gone": 1 of \d+ in use, \d+ bytes, in objects that have outlived the '
                    rf"pool +{NAMES}",
                    rf"concurrent pool of 40-byte blocks {self.after_kind('*apart_without_name')} +{REGISTRY}",
                ]
                others += [rf"{re.escape(self.expected[name])} +{NAMES}" for name in [*self.apart, "pages"]]
                if self.debugger.sees_statics_of_functions:
                    others.append(rf"object_pool<app::order> {self.after_kind('returned')} +returned_orders\(\)::pool")
                else:
                    others.append(rf"object_pool {self.after_kind('returned')} +{NAMES}")
                for other in others:
                    self.assertEqual(sum(re.fullmatch(other, each) is not None for each in listed), 1,
                                     other + "\n" + "\n".join(listed))
                self.assertEqual(len(listed), len(expected) + len(others), "\n".join(listed))

    def after_kind(self, name):
        """Returns the name and the statistics of a pool as a regular expression."""
        return re.escape(self.expected[name][self.expected[name].index('"'):])

    def test_reports_unreadable_pools(self):
        for kind, output in self.outputs.items():
            with self.subTest(kind=kind):
                self.assertIn("block_pool: cannot read: ", self.part(kind, "*damaged"))
                self.assertNotRegex("".join(output), "Traceback|Python Exception")


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("gdb", "lldb"):
        sys.exit(__doc__)
    Debugging.program = sys.argv[1]
    Debugging.debugger = Gdb() if sys.argv[2] == "gdb" else Lldb()
    if not any(map(shutil.which, Debugging.debugger.programs)):
        print(f"skipped: no {sys.argv[2]} here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as Debugging.folder:
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
