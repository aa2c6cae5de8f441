#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C++20 module.   module_test.py SOURCE_DIRECTORY CMAKE_DIRECTORY OLD_CMAKE Names|Projects

Names: the module exports the public names of the headers, and programs compiled by hand can use it. Exits 77 without
Clang.
Projects: CMake projects use it as a subdirectory and installed. Exits 77 without Clang, clang-scan-deps, Ninja, or a
new CMake: see new_cmake.py. OLD_CMAKE may have any version.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, CMAKE_DIRECTORY, OLD_CMAKE, CASE = sys.argv[1:]
SKIPPED = 77
CLANG = "clang++-19"

sys.path.insert(0, f"{SOURCE}/tools")
import amalgamate  # noqa: E402
import new_cmake  # noqa: E402
from version import version  # noqa: E402

# Namespaces that are not part of the interface.
NOT_FOR_USERS = re.compile(r"detail|process_wide|v\d\w*")

PROGRAM = """
#include <functional>
#include <memory_resource>
#include <string>
#include <type_traits>
import memory_pool;
namespace mp = memory_pool;
int main()
{
    mp::handle_pool<int> pool;
    const auto handle = pool.create(3);
    const bool has_hash = std::hash<std::remove_const_t<decltype(handle)>>{}(handle) != 1; // the specialization
    mp::unsynchronized_arena_resource arena;
    const mp::resource_allocator<int, mp::unsynchronized_arena_resource> allocator(arena);
    const std::pmr::string text(100, 'x', &arena);
    const bool are_equal = allocator == allocator && mp::call_site{"file", 1} < mp::call_site{"file", 2}; // operators
    try {
        throw mp::size_overflow(2, 3);
    } catch (const std::bad_alloc&) { // the unit and the module share the type
    }
    return has_hash && are_equal && pool.contains(handle) && arena.owns(text.data()) ? 0 : 1;
}
"""
UNIT_WITH_HEADERS = """
#include <memory_pool/object_pool.hpp>
int made_by(memory_pool::object_pool<int>& pool) { return *pool.make_unique(42); }
"""
UNIT_WITH_MODULE = """
import memory_pool;
int made_by(memory_pool::object_pool<int>& pool);
int main() { memory_pool::object_pool<int> pool; return made_by(pool) == 42 ? 0 : 1; }
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class InDirectory(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_command(self, *command):
        done = subprocess.run([str(word) for word in command], cwd=self.directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=100)
        return done.returncode, done.stdout

    def succeed(self, *command):
        status, output = self.run_command(*command)
        self.assertEqual(status, 0, output)
        return output

    def write(self, name, text):
        (self.directory / name).write_text(text, encoding="utf-8")
        return name


class Names(InDirectory):
    FLAGS = ["-std=c++20", f"-I{SOURCE}/include"]

    def precompile(self, source):
        self.succeed(CLANG, *self.FLAGS, "-Wall", "-Wextra", "-Werror", "--precompile", source, "-o", "memory_pool.pcm")
        return "-fmodule-file=memory_pool=memory_pool.pcm"

    def names_after(self, line, *flags):
        """Returns: the names that clang knows in the namespace memory_pool after `line`."""
        source = self.write("names.cpp", f"{line}\nauto f() {{ return memory_pool::; }}\n")
        output = self.succeed(CLANG, *self.FLAGS, *flags, "-fsyntax-only", "-Xclang",
                              f"-code-completion-at={source}:2:32", source)
        names = set(re.findall(r"^COMPLETION: (operator\W+|\w+) :", output, re.MULTILINE))
        return {name for name in names if not NOT_FOR_USERS.fullmatch(name)}

    def test_every_public_name_is_exported_and_a_missing_one_is_detected(self):
        self.write("single.hpp", amalgamate.amalgamation(Path(SOURCE)))
        in_headers = self.names_after('#include "single.hpp"')
        self.assertLessEqual({"block_pool", "object_pool", "snapshot", "operator=="}, in_headers)
        text = Path(SOURCE, "src/memory_pool.cppm").read_text(encoding="utf-8")
        for forgotten in (set(), {"report_statistics"}):
            for name in forgotten:
                text = text.replace(f"using memory_pool::{name};\n", "")
            source = self.write("memory_pool.cppm", text)
            exported = self.names_after("import memory_pool;", self.precompile(source))
            self.assertEqual(in_headers - exported, forgotten, "add them to src/memory_pool.cppm")
            self.assertEqual(exported - in_headers, set())

    def test_programs_can_mix_units_that_import_it_and_units_with_headers(self):
        flag = self.precompile(f"{SOURCE}/src/memory_pool.cppm")
        self.write("program.cpp", PROGRAM)
        self.write("headers.cpp", UNIT_WITH_HEADERS)
        self.write("module.cpp", UNIT_WITH_MODULE)
        for sources in (["program.cpp"], ["headers.cpp", "module.cpp"]):
            with self.subTest(sources):
                self.succeed(CLANG, *self.FLAGS, "-Wall", "-Wextra", "-Werror", flag, "-o", "program", *sources,
                             "memory_pool.pcm")
                self.succeed("./program")


class Projects(InDirectory):
    OPTIONS = ["-G", "Ninja", "-D", f"CMAKE_CXX_COMPILER={CLANG}"]
    OF_PROJECT = [word for name in ("ENABLE_NP_ALLOC", "ENABLE_TESTING", "ENABLE_BENCHMARKING", "ENABLE_EXAMPLES")
                  for word in ("-D", f"MEMORY_POOL_{name}=OFF")] + ["-D", "MEMORY_POOL_MODULE=ON"]

    def run_consumer(self, cmake, project, program, *options):
        self.succeed(cmake, *self.OPTIONS, "-S", f"{SOURCE}/tests/package/{project}", "-B", project, *options)
        self.succeed(cmake, "--build", project)
        self.succeed(f"{project}/{program}")

    def test_a_subdirectory(self):
        self.run_consumer(new_cmake.find(CMAKE_DIRECTORY, (3, 28)), "module", "import", "-D", f"SOURCE={SOURCE}")

    def test_an_installed_copy_moved_elsewhere(self):
        cmake = new_cmake.find(CMAKE_DIRECTORY, (3, 28))
        self.succeed(cmake, *self.OPTIONS, "-S", SOURCE, "-B", "build", *self.OF_PROJECT)
        self.succeed(cmake, "--build", "build")
        self.succeed(cmake, "--install", "build", "--prefix", self.directory / "installed")
        (self.directory / "installed").rename(self.directory / "moved")
        found = ["-D", f"CMAKE_PREFIX_PATH={self.directory}/moved",
                 "-D", f"VERSION_WANTED={version(Path(SOURCE))}"]
        self.run_consumer(cmake, "module", "import", *found)
        if new_cmake.version(cmake) >= (4, 3):
            self.succeed(cmake, "--install", "build", "--prefix", self.directory / "moved",
                         "--component", "memory_pool_cps")
            self.run_consumer(cmake, "cps", "with_module", *found, "-D", "COMPONENTS=module")

    def refusal(self, cmake, *options):
        status, output = self.run_command(cmake, "-S", SOURCE, "-B", "build", *self.OF_PROJECT, *options)
        shutil.rmtree(self.directory / "build")
        self.assertEqual(status, 1, output)
        return " ".join(output.split())

    def test_tools_that_cannot_build_modules_are_rejected_by_name(self):
        cmake = new_cmake.find(CMAKE_DIRECTORY, (3, 28))
        self.assertIn("needs a generator that can build modules",
                      self.refusal(cmake, "-G", "Unix Makefiles", "-D", f"CMAKE_CXX_COMPILER={CLANG}"))
        self.assertIn("needs a compiler that CMake can build modules with",
                      self.refusal(cmake, *self.OPTIONS, "-D", "CMAKE_CXX_COMPILER_CLANG_SCAN_DEPS="))
        if new_cmake.version(OLD_CMAKE) < (3, 28):
            self.assertIn("MEMORY_POOL_MODULE needs CMake 3.28", self.refusal(OLD_CMAKE, *self.OPTIONS))


if __name__ == "__main__":
    if not shutil.which(CLANG):
        skip(f"{CLANG} is not installed")
    if CASE == "Projects":
        for tool in ("clang-scan-deps-19", "ninja"):
            if not shutil.which(tool):
                skip(f"{tool} is not installed")
        new_cmake.find_or_skip(CMAKE_DIRECTORY, (3, 28))
    unittest.main(argv=sys.argv[:1], defaultTest=CASE)
