#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layer check accepts a good tree, and names file and line of each kind of violation in a bad one."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"
LIBRARY = "include/memory_pool"

GOOD = {
    f"{LIBRARY}/base/config.hpp": "#if defined(__linux__) && __cpp_exceptions\n#endif\n",
    f"{LIBRARY}/base/poisoning.hpp": "#if __has_include(<valgrind/memcheck.h>)\n#include <valgrind/memcheck.h>\n#endif\n",
    f"{LIBRARY}/os/pages.hpp": "#include <memory_pool/base/config.hpp>\n#ifdef _WIN32\n#include <sys/mman.h>\n#endif\n",
    f"{LIBRARY}/core/slab.hpp": '#include "../os/pages.hpp"\n#include <memory_pool/base/config.hpp>\n#include <cstddef>\n',
    f"{LIBRARY}/block_pool.hpp": "// #include <memory_pool/report/text.hpp>\n#include <memory_pool/core/slab.hpp>\n",
    f"{LIBRARY}/intrusive_pool.hpp": "#include <boost/smart_ptr/intrusive_ptr.hpp>\n",
    f"{LIBRARY}/np_alloc.h": "#include <stddef.h>\n#ifdef __cplusplus\n#endif\n",
    f"{LIBRARY}/report/text.hpp": "#include <memory_pool/block_pool.hpp>\n#include <ostream>\n",
    f"{LIBRARY}/memory_pool.hpp": "#include <memory_pool/block_pool.hpp>\n#include <memory_pool/report/text.hpp>\n",
    "drop_in/memory_pool.h": "#include <memory_pool/memory_pool.hpp>\n",
    "src/np_alloc/heap.hpp": "#include <memory_pool/core/slab.hpp>\n",
    "src/np_alloc/heap.cpp": '#include "heap.hpp"\n#include "np_alloc/heap.hpp"\n',
}

# What is written into a file of the good tree, and the place and words of the complaint.
BAD = {
    "base includes os": (f"{LIBRARY}/base/bits.hpp", "\n#include <memory_pool/os/pages.hpp>\n", 2, "floor 1 (os)"),
    "os includes core": (f"{LIBRARY}/os/barrier.hpp", "#include <memory_pool/core/slab.hpp>\n", 1, "floor 2 (core)"),
    "core includes a face": (f"{LIBRARY}/core/depot.hpp", "#include <memory_pool/block_pool.hpp>\n", 1, "floor 3 (faces)"),
    "a face includes report": (f"{LIBRARY}/object_pool.hpp", "#include <memory_pool/report/text.hpp>\n", 1, "floor 4 (report)"),
    "a face includes the umbrella": (f"{LIBRARY}/object_pool.hpp", "#include <memory_pool/memory_pool.hpp>\n", 1, "floor 4"),
    "report includes drop_in": (f"{LIBRARY}/report/json.hpp", "#include <memory_pool.h>\n", 1, "floor 5 (drop_in)"),
    "src includes drop_in": ("src/np_alloc/api.cpp", '#include "memory_pool.h"\n', 1, "floor 5 (drop_in)"),
    "upwards by a relative path": (f"{LIBRARY}/base/bits.hpp", '#include "../core/slab.hpp"\n', 1, "floor 2 (core)"),
    "a folder outside the ladder": (f"{LIBRARY}/util/bits.hpp", "", 1, "not a floor"),
    "a header that is not there": (f"{LIBRARY}/block_pool.hpp", "#include <memory_pool/core/none.hpp>\n", 1, "no such header"),
    "system header outside os": (f"{LIBRARY}/core/slab.hpp", "#include <cstddef>\n#include <sys/mman.h>\n", 2, "<sys/mman.h>"),
    "quotes for a standard header": (f"{LIBRARY}/core/slab.hpp", '#include "vector"\n', 1, "quotes"),
    "boost in another face": (f"{LIBRARY}/block_pool.hpp", "#include <boost/assert.hpp>\n", 1, "<boost/assert.hpp>"),
    "valgrind outside poisoning": (f"{LIBRARY}/core/slab.hpp", "#include <valgrind/memcheck.h>\n", 1, "<valgrind/memcheck.h>"),
    "#if on the system": (f"{LIBRARY}/core/slab.hpp", "#if defined(__linux__)\n#endif\n", 1, "__linux__"),
    "#ifdef on the compiler": (f"{LIBRARY}/block_pool.hpp", "\n\n#ifdef __GNUC__\n#endif\n", 3, "__GNUC__"),
    "#elif on the compiler": (f"{LIBRARY}/block_pool.hpp", "#if MEMORY_POOL_X\n#elif _MSC_VER\n#endif\n", 2, "_MSC_VER"),
    "#if over two lines": (f"{LIBRARY}/block_pool.hpp", "#if MEMORY_POOL_X && \\\n    __SANITIZE_ADDRESS__\n#endif\n", 1, "__SANITIZE_ADDRESS__"),
    "#if on a feature": (f"{LIBRARY}/core/slab.hpp", "#if __has_feature(address_sanitizer)\n#endif\n", 1, "__has_feature"),
    "#if on exceptions": (f"{LIBRARY}/block_pool.hpp", "#if __cpp_exceptions\n#endif\n", 1, "__cpp_exceptions"),
    "#if on NDEBUG": (f"{LIBRARY}/block_pool.hpp", "#ifndef NDEBUG\n#endif\n", 1, "NDEBUG"),
    "#if in src": ("src/np_alloc/api.cpp", "#ifdef __APPLE__\n#endif\n", 1, "__APPLE__"),
    "#if in drop_in": ("drop_in/np_alloc.h", "#ifdef __unix__\n#endif\n", 1, "__unix__"),
}


def run_checker(files: dict):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, CHECKER, directory], capture_output=True, text=True, check=False)


class CheckLayers(unittest.TestCase):
    def test_good_tree_passes(self):
        result = run_checker(GOOD)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{len(GOOD)} files, 0 violations", result.stdout)

    def test_each_violation_is_named(self):
        for what, (name, text, line, words) in BAD.items():
            with self.subTest(what):
                result = run_checker({**GOOD, name: text})
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                complaints = result.stdout.splitlines()[:-1]
                self.assertEqual(len(complaints), 1, result.stdout)
                self.assertTrue(complaints[0].startswith(f"{name}:{line}: "), complaints[0])
                self.assertIn(words, complaints[0])

    def test_several_violations_are_all_told(self):
        result = run_checker({**GOOD, "drop_in/a.h": "#include <x.h>\n#include <y.h>\n"})
        self.assertIn("2 violations", result.stdout)


if __name__ == "__main__":
    unittest.main()
