#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layer check accepts a good tree, and names file and line of each kind of violation in a bad one."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402

LIBRARY = "include/memory_pool"

SLABS = f"{LIBRARY}/core/slabs"

GOOD = {
    f"{LIBRARY}/base/config.hpp": "#if defined(__linux__) && __cpp_exceptions\n#endif\n",
    f"{LIBRARY}/base/poisoning.hpp": (
        "#if __has_include(<valgrind/memcheck.h>)\n#include <valgrind/memcheck.h>\n#endif\n"
    ),
    f"{LIBRARY}/os/pages.hpp": "#include <memory_pool/base/config.hpp>\n#ifdef _WIN32\n#include <sys/mman.h>\n#endif\n",
    f"{SLABS}/slab.hpp": '#include "../../os/pages.hpp"\n#include <memory_pool/base/config.hpp>\n#include <cstddef>\n',
    f"{LIBRARY}/core/threads/depot.hpp": "#include <memory_pool/core/slabs/slab.hpp>\n",
    f"{LIBRARY}/core/blocks/store.hpp": "#include <memory_pool/core/threads/depot.hpp>\n",
    f"{LIBRARY}/core/resources/arena.hpp": "#include <memory_pool/core/objects/item.hpp>\n",
    f"{LIBRARY}/core/objects/item.hpp": "#include <memory_pool/core/blocks/store.hpp>\n",
    f"{LIBRARY}/core/resources/pools.hpp": "#include <memory_pool/core/objects/item.hpp>\n",
    f"{LIBRARY}/block_pool.hpp": (
        "// #include <memory_pool/memory_pool.hpp>\n#include <memory_pool/core/resources/pools.hpp>\n"
    ),
    f"{LIBRARY}/intrusive_pool.hpp": "#include <boost/smart_ptr/intrusive_ptr.hpp>\n",
    f"{LIBRARY}/np_alloc.h": "#include <stddef.h>\n#ifdef __cplusplus\n#endif\n",
    f"{LIBRARY}/memory_pool.hpp": "#include <memory_pool/block_pool.hpp>\n",
    "drop_in/memory_pool.h": "#include <memory_pool/memory_pool.hpp>\n",
    "src/np_alloc/support/options.hpp": "#include <memory_pool/core/slabs/slab.hpp>\n",
    "src/np_alloc/slices/runs.hpp": '#include "../support/options.hpp"\n',
    "src/np_alloc/hardening/marks.hpp": '#include "../slices/runs.hpp"\n',
    "src/np_alloc/page_heap/page_heap.hpp": '#include "np_alloc/hardening/marks.hpp"\n',
    "src/np_alloc/heaps/heap.hpp": '#include "../page_heap/page_heap.hpp"\n',
    "src/np_alloc/engine/engine.hpp": '#include "../heaps/heap.hpp"\n',
    "src/np_alloc/diagnostics/leaks.hpp": '#include "../engine/engine.hpp"\n',
    "src/np_alloc/api/np_alloc.cpp": '#include "../diagnostics/leaks.hpp"\n#include "np_alloc/heaps/heap.hpp"\n',
}


def upwards(lower, header, layer):
    """A file in a folder, a header of a higher layer that it includes, and the words of the error message."""
    return f"{lower}/bits.hpp", f"#include {header}\n", 1, f"of a higher layer: {layer}"


# A file of the good tree, its new text, and the place and words of the error message.
BAD = {
    "a type that all layers share includes a pool": (
        f"{LIBRARY}/pool_options.hpp", "\n#include <memory_pool/block_pool.hpp>\n", 2, "higher layer: public headers"),
    "base includes os": (f"{LIBRARY}/base/bits.hpp", "\n#include <memory_pool/os/pages.hpp>\n", 2, "higher layer: os"),
    "os includes core": upwards(f"{LIBRARY}/os", "<memory_pool/core/slabs/slab.hpp>", "core/slabs"),
    "slabs include threads": upwards(SLABS, '"../threads/depot.hpp"', "core/threads"),
    "threads include blocks": upwards(f"{LIBRARY}/core/threads", '"../blocks/store.hpp"', "core/blocks"),
    "blocks include objects": upwards(f"{LIBRARY}/core/blocks", "<memory_pool/core/objects/item.hpp>", "core/objects"),
    "objects include resources": upwards(
        f"{LIBRARY}/core/objects", "<memory_pool/core/resources/pools.hpp>", "core/resources"
    ),
    "core includes a public header": upwards(
        f"{LIBRARY}/core/resources", "<memory_pool/block_pool.hpp>", "public headers"
    ),
    "a public header includes the umbrella": upwards(LIBRARY, "<memory_pool/memory_pool.hpp>", "umbrella header"),
    "a public header includes src": upwards(LIBRARY, '"np_alloc/support/options.hpp"', "np_alloc/support"),
    "support includes slices": upwards("src/np_alloc/support", '"../slices/runs.hpp"', "np_alloc/slices"),
    "slices include hardening": upwards("src/np_alloc/slices", '"../hardening/marks.hpp"', "np_alloc/hardening"),
    "hardening includes the page heap": upwards(
        "src/np_alloc/hardening", '"../page_heap/page_heap.hpp"', "np_alloc/page_heap"
    ),
    "the page heap includes heaps": upwards("src/np_alloc/page_heap", '"../heaps/heap.hpp"', "np_alloc/heaps"),
    "heaps include the engine": upwards("src/np_alloc/heaps", '"np_alloc/engine/engine.hpp"', "np_alloc/engine"),
    "the engine includes diagnostics": upwards(
        "src/np_alloc/engine", '"../diagnostics/leaks.hpp"', "np_alloc/diagnostics"
    ),
    "src includes drop_in": upwards("src/np_alloc/api", '"memory_pool.h"', "drop_in"),
    "upwards by a relative path": upwards(f"{LIBRARY}/base", '"../core/slabs/slab.hpp"', "core/slabs"),
    "a folder that is no layer": (f"{LIBRARY}/util/bits.hpp", "", 1, "not a layer"),
    "a file beside the sub-layers of core": (f"{LIBRARY}/core/bits.hpp", "", 1, "not a layer"),
    "a file beside the sub-layers of src": ("src/np_alloc/bits.hpp", "", 1, "not a layer"),
    "a folder below a sub-layer": (f"{SLABS}/more/bits.hpp", "", 1, "not a layer"),
    "a header that is not there": (
        f"{LIBRARY}/block_pool.hpp",
        "#include <memory_pool/core/none.hpp>\n",
        1,
        "no such header",
    ),
    "system header outside os": (f"{SLABS}/slab.hpp", "#include <cstddef>\n#include <sys/mman.h>\n", 2, "<sys/mman.h>"),
    "quotes for a standard header": (f"{SLABS}/slab.hpp", '#include "vector"\n', 1, "quotes"),
    "boost in another public header": (
        f"{LIBRARY}/block_pool.hpp",
        "#include <boost/assert.hpp>\n",
        1,
        "<boost/assert.hpp>",
    ),
    "valgrind outside poisoning": (f"{SLABS}/slab.hpp", "#include <valgrind/memcheck.h>\n", 1, "<valgrind/memcheck.h>"),
    "#if on the system": (f"{SLABS}/slab.hpp", "#if defined(__linux__)\n#endif\n", 1, "__linux__"),
    "#ifdef on the compiler": (f"{LIBRARY}/block_pool.hpp", "\n\n#ifdef __GNUC__\n#endif\n", 3, "__GNUC__"),
    "#elif on the compiler": (
        f"{LIBRARY}/block_pool.hpp",
        "#if MEMORY_POOL_X\n#elif _MSC_VER\n#endif\n",
        2,
        "_MSC_VER",
    ),
    "#if over two lines": (
        f"{LIBRARY}/block_pool.hpp",
        "#if MEMORY_POOL_X && \\\n    __SANITIZE_ADDRESS__\n#endif\n",
        1,
        "__SANITIZE_ADDRESS__",
    ),
    "#if on a feature": (f"{SLABS}/slab.hpp", "#if __has_feature(address_sanitizer)\n#endif\n", 1, "__has_feature"),
    "#if on exceptions": (f"{LIBRARY}/block_pool.hpp", "#if __cpp_exceptions\n#endif\n", 1, "__cpp_exceptions"),
    "#if on NDEBUG": (f"{LIBRARY}/block_pool.hpp", "#ifndef NDEBUG\n#endif\n", 1, "NDEBUG"),
    "#if in src": ("src/np_alloc/api/api.cpp", "#ifdef __APPLE__\n#endif\n", 1, "__APPLE__"),
    "#if in drop_in": ("drop_in/np_alloc.h", "#ifdef __unix__\n#endif\n", 1, "__unix__"),
}


def run_checker(files: dict):
    """Returns the exit status and the output of the checker on a tree of these files."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        output = io.StringIO()
        with mock.patch.object(sys, "argv", ["check_layers.py", directory]), contextlib.redirect_stdout(output):
            return check_layers.main(), output.getvalue()


class CheckLayers(unittest.TestCase):
    def test_good_tree_passes(self):
        status, output = run_checker(GOOD)
        self.assertEqual(status, 0, output)
        self.assertIn(f"{len(GOOD)} files, 0 violations", output)

    def test_each_violation_is_named(self):
        for what, (name, text, line, words) in BAD.items():
            with self.subTest(what):
                status, output = run_checker({**GOOD, name: text})
                self.assertEqual(status, 1, output)
                complaints = output.splitlines()[:-1]
                self.assertEqual(len(complaints), 1, output)
                self.assertTrue(complaints[0].startswith(f"{name}:{line}: "), complaints[0])
                self.assertIn(words, complaints[0])

    def test_all_violations_are_listed(self):
        _, output = run_checker({**GOOD, "drop_in/a.h": "#include <x.h>\n#include <y.h>\n"})
        self.assertIn("2 violations", output)


if __name__ == "__main__":
    unittest.main()
