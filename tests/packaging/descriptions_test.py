#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The package recipes match CMake: versions, options, sources, compiler options.

    descriptions_test.py SOURCE_DIRECTORY VERSION BUILD_DIRECTORY SOURCES COMPILE_OPTIONS

SOURCES and COMPILE_OPTIONS belong to np_alloc and are separated by commas. For packages whose tools are missing, this
is the only test.
"""
import json
import re
import sys
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1])
VERSION = sys.argv[2]
BUILD = Path(sys.argv[3])
NP_SOURCES = {f"src/np_alloc/{name}" for name in sys.argv[4].split(",")}
COMPILE_OPTIONS = set(sys.argv[5].split(","))
NOT_IN_THE_ARCHIVE = {"src/np_alloc/api/malloc.cpp", "src/np_alloc/api/operators.cpp"}  # only in libnp_malloc.so


def text(name):
    return (SOURCE / name).read_text(encoding="utf-8")


class Bazel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Runs the files as Python: Starlark is a subset of Python."""
        cls.rules, cls.module, cls.packages = {}, {}, []

        def glob(patterns):
            found = [str(path.relative_to(SOURCE)) for pattern in patterns for path in SOURCE.glob(pattern)]
            return found or sys.exit(f"BUILD.bazel: no file matches {patterns}")

        environment = {
            "load": lambda *_: None,
            "package": lambda **_: None,
            "exports_files": lambda names: cls.packages.extend(names),
            "glob": glob,
            "cc_library": lambda **rule: cls.rules.update({rule["name"]: rule}),
            "module": lambda **module: cls.module.update(module),
            "bazel_dep": lambda **_: None,
        }
        exec(text("MODULE.bazel"), dict(environment))  # pylint: disable=exec-used
        exec(text("BUILD.bazel"), dict(environment))  # pylint: disable=exec-used

    def test_the_version_matches_cmake(self):
        self.assertEqual(self.module["version"], VERSION)

    def test_it_has_every_header(self):
        for name, directory in (("memory_pool", "include"), ("drop_in", "drop_in")):
            headers = {str(path.relative_to(SOURCE)) for path in (SOURCE / directory).rglob("*.h*") if path.is_file()}
            self.assertEqual(set(self.rules[name]["hdrs"]), headers)
            self.assertEqual(self.rules[name]["includes"], [directory])

    def test_np_alloc_has_the_same_sources_as_cmake(self):
        for name, wanted in (
            ("np_alloc", NP_SOURCES),
            ("np_alloc_checked", {source.replace("engine/plain", "engine/checked") for source in NP_SOURCES}),
        ):
            sources = self.rules[name]["srcs"]
            self.assertEqual({source for source in sources if source.endswith(".cpp")}, wanted)
            self.assertEqual(len(set(sources)), len(sources))
            for source in (*sources, *self.packages):
                self.assertTrue((SOURCE / source).is_file(), source)

    def test_np_alloc_has_the_same_compiler_options_as_cmake(self):
        for name, definition in (("np_alloc", "0"), ("np_alloc_checked", "1")):
            rule = self.rules[name]
            self.assertEqual(set(rule["copts"]) - {"-std=c++17"}, COMPILE_OPTIONS)
            self.assertEqual(rule["local_defines"], [f"MEMORY_POOL_NP_CHECKED={definition}"])


class Meson(unittest.TestCase):
    def test_it_replaces_every_placeholder_of_the_pc_files(self):
        filled_in = set(re.findall(r"(?m)^ +'(\w+)':", text("cmake/meson.build")))
        for template in ("memory_pool", "memory_pool_drop_in", "memory_pool_np_alloc"):
            content = text(f"cmake/{template}.pc.in")
            self.assertLessEqual(set(re.findall(r"@(\w+)@", content)), filled_in)
            self.assertNotIn("$<", content, "only CMake evaluates generator expressions")


class Vcpkg(unittest.TestCase):
    def setUp(self):
        self.port = json.loads(text("packaging/vcpkg/ports/memory-pool/vcpkg.json"))
        self.portfile = text("packaging/vcpkg/ports/memory-pool/portfile.cmake")

    def test_the_version_matches_cmake(self):
        self.assertEqual(self.port["version"], VERSION)

    def test_the_features_match_the_portfile(self):
        named = re.search(r"FEATURES\n((?: +\S+ MEMORY_POOL_\w+\)?\n)+)", self.portfile)[1]
        self.assertEqual({line.split()[0] for line in named.splitlines()}, set(self.port["features"]))

    def test_its_source_paths_exist(self):
        relative = re.search(r"CMAKE_CURRENT_LIST_DIR}(/[./]+)\" ABSOLUTE", self.portfile)[1]
        port = SOURCE / "packaging/vcpkg/ports/memory-pool"
        self.assertEqual(Path(f"{port}{relative}").resolve(), SOURCE.resolve())
        self.assertTrue((port / "usage").is_file())


class Debian(unittest.TestCase):
    def test_the_version_matches_cmake(self):
        self.assertEqual(re.match(r"memory-pool \((.*)\) ", text("debian/changelog"))[1], VERSION)

    def test_the_name_of_the_library_follows_its_soname(self):
        major, minor, _ = VERSION.split(".")
        interface_version = f"0.{minor}" if major == "0" else major
        self.assertIn(f"\nPackage: libnp-malloc{interface_version}\n", text("debian/control"))
        for suffix in ("install", "lintian-overrides"):
            self.assertTrue((SOURCE / f"debian/libnp-malloc{interface_version}.{suffix}").is_file())
        for name in ("debian/control", "debian/memory-pool-heap-map.1"):
            self.assertIn(f"LD_PRELOAD=libnp_malloc.so.{interface_version}", text(name))


class Documents(unittest.TestCase):
    """Versions in commands and file names."""

    def test_they_match_cmake(self):
        minor = VERSION.rpartition(".")[0]
        interface = minor if minor.startswith("0.") else minor.partition(".")[0]
        for name, wanted in (
            ("CHANGELOG.md", f"\n## [{VERSION}]"),
            ("README.md", f"lib*{VERSION}*.deb"),
            ("README.md", f'"memory_pool/[~{minor}]"'),
            ("docs/versioning.md", f"find_package(memory_pool {minor})"),
            ("docs/versioning.md", f"`libnp_alloc.so.{interface}`"),
            ("docs/versioning.md", f"`libnp_malloc.so.{interface}`"),
            ("docs/versioning.md", f"`NP_ALLOC_{interface}`"),
            ("docs/guide.md", f"`libnp-malloc{interface}`"),
        ):
            with self.subTest(wanted):
                self.assertIn(wanted, text(name))

    def test_no_other_version_is_named(self):
        name = r"(?:libnp_\w+\.so\.|libnp-malloc|NP_ALLOC_|find_package\(memory_pool |memory_pool/\[~)(\d[\d.]*\d)"
        for document in (SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))):
            for version in re.findall(name, document.read_text(encoding="utf-8")):
                with self.subTest(f"{document.name}: {version}"):
                    self.assertTrue(f"{VERSION}.".startswith(f"{version}."))


class Options(unittest.TestCase):
    def test_every_used_option_exists(self):
        options = set(re.findall(r"^(MEMORY_POOL_\w+):BOOL=", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
        for name in ("debian/rules", "conanfile.py", "packaging/vcpkg/ports/memory-pool/portfile.cmake",
                     ".github/workflows/ci.yml"):
            named = set(re.findall(r"(?:\b|-D)(MEMORY_POOL_[A-Z_]+[A-Z])\b", text(name)))
            self.assertTrue(named)
            self.assertLessEqual(named, options, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
