#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CPS file of an installed copy.   cps_test.py SOURCE_DIRECTORY BUILD CONFIGURATION CMAKE CMAKE_DIRECTORY CXX

Installs BUILD with CMAKE. Builds programs from the CPS file if a CMake that reads it is available: see new_cmake.py.
"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD, CONFIGURATION, CMAKE, CMAKE_DIRECTORY, CXX = sys.argv[1:]

sys.path.insert(0, f"{SOURCE}/tools")
import new_cmake  # noqa: E402
from version import version  # noqa: E402

READS_CPS = (4, 3)


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=200)
    if done.returncode != 0:
        raise AssertionError(f"{command} exited {done.returncode}: {done.stdout}")
    return done.stdout


class Cps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        for component in ([], ["--component", "memory_pool_cps"]):
            run(CMAKE, "--install", BUILD, "--config", CONFIGURATION, "--prefix", cls.directory / "installed",
                *component)
            cls.files_by_default = cls.files_by_default if component else cls.cps_files("installed")
        cls.prefix = (cls.directory / "installed").rename(cls.directory / "moved")
        [cls.file] = cls.cps_files("moved")
        cls.cps = json.loads(cls.file.read_text(encoding="utf-8"))
        cls.components = cls.cps["components"]

    @classmethod
    def cps_files(cls, name):
        return list((cls.directory / name).glob("**/*.cps"))

    def path(self, text):
        self.assertTrue(text.startswith("@prefix@/"), text)
        return self.prefix / text[len("@prefix@/"):]

    def test_it_is_optional(self):
        self.assertEqual(self.files_by_default, [])

    def test_it_has_the_name_version_and_path_of_the_package(self):
        self.assertEqual(self.cps["name"], "memory_pool")
        self.assertRegex(self.cps["cps_version"], r"^0\.\d+\.\d+$")
        self.assertEqual(self.cps["version"], version(Path(SOURCE)))
        self.assertEqual(self.path(self.cps["cps_path"]), self.file.parent)
        self.assertNotIn(str(self.directory), self.file.read_text(encoding="utf-8"))

    def test_it_has_the_components_of_the_cmake_package(self):
        targets = "".join(file.read_text(encoding="utf-8") for file in self.prefix.glob("**/memory_pool-targets.cmake"))
        of_cmake = set(re.findall(r"add_library\(memory_pool::(\w+) ", targets))
        self.assertEqual(of_cmake, set(self.components) - {"module"})
        self.assertLessEqual(set(self.cps["default_components"]), set(self.components))

    def test_the_paths_and_components_that_it_names_exist(self):
        for name, component in self.components.items():
            with self.subTest(name):
                self.assertIn(component["type"], ("interface", "archive", "dylib"))
                self.assertEqual("location" in component, component["type"] != "interface")
                for key in ("location", "cpp_module_metadata"):
                    if key in component:
                        self.assertTrue(self.path(component[key]).is_file(), component[key])
                for include in component.get("includes", []):
                    self.assertTrue(self.path(include).is_dir(), include)
                for required in component.get("requires", []) + component.get("link_requires", []):
                    self.assertEqual(required[0], ":")
                    self.assertIn(required[1:], self.components)

    def test_libraries_are_named_without_options(self):
        for component in self.components.values():
            for library in component.get("link_libraries", []):
                self.assertRegex(library, r"^([^-].*|-pthread)$")

    def test_programs_find_it(self):
        cmake = new_cmake.find(CMAKE_DIRECTORY, READS_CPS)
        if not cmake:
            self.skipTest("needs CMake 4.3: see new_cmake.py")
        build = self.directory / "consumer"
        run(cmake, "-G", "Ninja", "-S", f"{SOURCE}/tests/package/cps", "-B", build, "-D", f"CMAKE_CXX_COMPILER={CXX}",
            "-D", f"CMAKE_PREFIX_PATH={self.prefix}", "-D", f"COMPONENTS={';'.join(self.components)}",
            "-D", "VERSION_WANTED=" + self.cps["version"].rpartition(".")[0])
        run(cmake, "--build", build)
        output = run(Path(cmake).parent / "ctest" if "/" in cmake else "ctest", "--test-dir", build)
        self.assertIn("100% tests passed", output)
        self.assertEqual(len(re.findall(" Passed ", output)), len(self.components))

    def test_projects_in_c_find_it(self):
        cmake = new_cmake.find(CMAKE_DIRECTORY, READS_CPS)
        if not cmake or "np_alloc" not in self.components:
            self.skipTest("needs CMake 4.3, and np_alloc")
        build = self.directory / "consumer_in_c"
        run(cmake, "-G", "Ninja", "-S", f"{SOURCE}/tests/package/c", "-B", build,
            "-D", f"CMAKE_PREFIX_PATH={self.prefix}", "-D", f"VERSION_WANTED={self.cps['version']}")
        self.assertIn(str(self.file.parent), Path(build, "CMakeCache.txt").read_text(encoding="utf-8"))
        run(cmake, "--build", build)
        run(build / "np_blocks")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
