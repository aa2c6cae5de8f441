#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The natvis file is valid XML and names only existing members of the types in the program pools.cpp. Checks them with
gdb, since no debugger on Linux reads natvis files.   natvis_test.py PROGRAM

Exits 77 without gdb.
"""

import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

NATVIS = Path(__file__).resolve().parents[2] / "tools" / "debuggers" / "memory_pool.natvis"
SKIPPED = 77

def types():
    """Yields (name, [expression...]) of each type in the file."""
    root = xml.etree.ElementTree.parse(NATVIS).getroot()
    space = root.tag.partition("}")[0] + "}"
    for each in root.iter(space + "Type"):
        expressions = []
        for item in each.iter():
            if item.tag == space + "Intrinsic":
                expressions.append(" ".join(item.get("Expression").split()))
            elif item.tag == space + "DisplayString":
                expressions += re.findall(r"\{([^{}]*)\}", item.text)
            elif item.tag in (space + "Item", space + "ExpandedItem"):
                expressions.append(item.text)
        yield each.get("Name"), [re.sub(r",s$", "", expression) for expression in expressions]


def regular_expression(name):
    """Returns a pattern for the types, without spaces, that a natvis name matches."""
    return re.escape(name.replace(" ", "")).replace(r"\*", r"\w+", 1).replace(r"\*", ".*") + "$"


class Natvis(unittest.TestCase):
    program = None

    def gdb(self, commands):
        words = ["gdb", "-nx", "-batch", "-ex", "set width 0", "-ex", "set debuginfod enabled off"]
        words += [word for command in commands for word in ("-ex", command)]
        return subprocess.run(words + [self.program], capture_output=True, text=True, timeout=120, check=False)

    def test_names_types_and_members_that_exist(self):
        listed = self.gdb(["info types -q memory_pool::"]).stdout
        known = {re.sub(r"^\d+:\s*(class|struct)? *|;$", "", line.strip()).strip(): None
                 for line in listed.splitlines() if "memory_pool::" in line}
        self.assertGreater(len(known), 50, listed[:2000])
        asked = []
        for name, expressions in types():
            instances = [each for each in known if re.match(regular_expression(name), each.replace(" ", ""))]
            self.assertTrue(instances, f"no type {name} in {self.program}")
            instance = min(instances, key=len)
            for expression in expressions:
                # Prefixes each path with a null pointer to the type; whatis reads no memory.
                without_calls = re.sub(r"\w+\(\)", "0", expression)
                asked.append((instance, re.sub(r"(?<![\w.])([a-z]\w*)", rf"(('{instance}'*)0)->\1", without_calls)))
        self.assertGreater(len(asked), 40)
        marked = [command for number, (_, expression) in enumerate(asked)
                  for command in (f"echo << {number}\\n", f"whatis {expression}")]
        answers = self.gdb(marked)
        for number, (instance, expression) in enumerate(asked):
            self.assertRegex(answers.stdout, rf"(?m)^<< {number}\ntype = ",
                             f"{instance}: {expression}\n{answers.stderr}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not shutil.which("gdb"):
        print("skipped: no gdb here")
        sys.exit(SKIPPED)
    Natvis.program = sys.argv[1]
    unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
