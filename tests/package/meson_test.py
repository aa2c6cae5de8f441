#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Projects that use Meson.   meson_test.py SOURCE_DIRECTORY INSTALLED LIBDIR CASE COMPILER...

CASE is Subproject, Installed or InstalledByCMake. INSTALLED is an installation by CMake. Exits 77 without
Meson, Ninja or pkg-config.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, INSTALLED, LIBDIR, CASE, *COMPILER = sys.argv[1:]
SKIPPED = 77

sys.path.insert(0, f"{SOURCE}/tools")
from version import version  # noqa: E402

NOT_IN_THE_ARCHIVES = {"malloc.cpp", "operators.cpp"}  # only in libnp_malloc.so


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name).resolve()

    def run_command(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], cwd=self.directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=250,
                              env={**os.environ, "CXX": " ".join(COMPILER), **environment})
        return done.returncode, done.stdout

    def succeed(self, *command, **environment):
        status, output = self.run_command(*command, **environment)
        self.assertEqual(status, 0, output)
        return output

    def make_consumer(self, *options, **environment):
        """Builds the project in consumer/build, unoptimized, and runs its programs. Returns their number."""
        consumer = self.directory / "consumer"
        if not consumer.exists():
            shutil.copytree(f"{SOURCE}/tests/package/meson", consumer)
            for name in ("blocks.cpp", "drop_in.cpp", "np_new_delete.cpp"):
                shutil.copy(f"{SOURCE}/tests/package/{name}", consumer)
            self.prepare(consumer)
        build = consumer / "build"
        shutil.rmtree(build, ignore_errors=True)
        self.succeed("meson", "setup", build, consumer, "-Dbuildtype=plain", *options, **environment)
        self.succeed("meson", "compile", "-C", build)
        self.succeed("meson", "test", "-C", build, "--no-rebuild")
        return len(json.loads(self.succeed("meson", "introspect", "--tests", build)))

    def prepare(self, consumer):
        pass


class Subproject(InDirectory):
    def prepare(self, consumer):
        (consumer / "subprojects").mkdir()
        shutil.move(consumer / "memory_pool.wrap", consumer / "subprojects")
        (consumer / "subprojects/memory_pool").symlink_to(SOURCE)

    def test_programs_use_it_and_unused_libraries_are_not_built(self):
        self.assertEqual(self.make_consumer("-Dnp_alloc=np_alloc"), 3)
        build = self.directory / "consumer/build"
        self.assertEqual([file.name for file in build.rglob("*.a")], ["libmemory_pool_np_alloc.a"])
        projects = json.loads(self.succeed("meson", "introspect", "--projectinfo", build))
        self.assertEqual([each["version"] for each in projects["subprojects"]], [version(Path(SOURCE))])
        self.succeed("meson", "install", "-C", build, "--destdir", self.directory / "root")
        self.assertFalse((self.directory / "root").exists())

    def test_without_np_alloc_there_is_no_dependency_of_that_name(self):
        self.assertEqual(self.make_consumer("-Dnp_alloc=none", "-Dmemory_pool:np_alloc=disabled"), 2)
        status, output = self.run_command("meson", "setup", "consumer/other", "consumer",
                                          "-Dmemory_pool:np_alloc=disabled")
        self.assertNotEqual(status, 0)
        self.assertRegex(output, "memory_pool_np_alloc")


class Installed(InDirectory):
    def install(self, *options):
        """Installs a build of the project and moves it. Returns its new directory."""
        build = self.directory / "build"
        self.succeed("meson", "setup", build, SOURCE, "-Dbuildtype=plain", f"-Dprefix={self.directory}/installed",
                     "-Dlibdir=lib", *options)
        self.succeed("meson", "install", "-C", build)
        (self.directory / "installed").rename(self.directory / "moved")
        return self.directory / "moved"

    def files(self, root, *patterns):
        return sorted(str(file.relative_to(root)) for pattern in patterns for file in Path(root).glob(pattern)
                      if file.is_file())

    def test_it_installs_the_same_files_as_cmake_and_is_found(self):
        moved = self.install("-Dnp_alloc=enabled")
        self.assertEqual(self.files(moved, "include/**/*", "share/doc/**/*"),
                         self.files(INSTALLED, "include/**/*", "share/doc/**/*"))
        self.assertEqual(self.files(moved / "lib", "*.a"), self.files(f"{INSTALLED}/{LIBDIR}", "*.a"))
        self.assertEqual(self.make_consumer("-Dnp_alloc=np_alloc_checked", PKG_CONFIG_PATH=f"{moved}/lib/pkgconfig"), 3)
        targets = json.loads(self.succeed("meson", "introspect", "--targets", "build"))
        parts = [part for target in targets for part in target["target_sources"]]
        sources = {Path(source) for part in parts for source in part.get("sources", [])}
        there = {path for path in Path(SOURCE, "src/np_alloc").glob("*/*.cpp") if path.name not in NOT_IN_THE_ARCHIVES}
        self.assertEqual(sources, there, "src/np_alloc/meson.build does not name all sources")

    def test_without_np_alloc(self):
        moved = self.install("-Dnp_alloc=disabled")
        self.assertEqual(self.files(moved, "**/*np_*"),
                         self.files(moved, "include/memory_pool/np_alloc*.h"))
        self.assertEqual(self.make_consumer("-Dnp_alloc=none", PKG_CONFIG_PATH=f"{moved}/lib/pkgconfig"), 2)


class InstalledByCMake(InDirectory):
    def test_its_pc_files_are_found(self):
        pkg_config = Path(INSTALLED, LIBDIR, "pkgconfig")
        np_alloc = "np_alloc" if (pkg_config / "memory_pool_np_alloc.pc").exists() else "none"
        self.assertEqual(self.make_consumer(f"-Dnp_alloc={np_alloc}", PKG_CONFIG_PATH=pkg_config),
                         2 if np_alloc == "none" else 3)


if __name__ == "__main__":
    for tool in ("meson", "ninja", "pkg-config"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], defaultTest=CASE)
