#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Units of different build configurations, or of different releases of the headers, can be linked into one program.

Usage: abi_test.py <C++ compiler with its flags, one argument> <library of np_alloc, or -> [<argument of unittest>...]

Compiles the programs beside it in a temporary directory, and runs them. Skips those whose libraries, for example of a
sanitizer, are not installed.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
COMPILER = shlex.split(sys.argv[1]) if len(sys.argv) > 1 else ["c++"]
NP_ALLOC = sys.argv[2] if len(sys.argv) > 2 else "-"
LANGUAGE = [] if any(flag.startswith("-std=") for flag in COMPILER) else ["-std=c++17"]

# Build configurations, and the name of the inline namespace for each.
WAYS = {
    "noexcept": ["-fno-exceptions"],
    "asan": ["-fsanitize=address"],
    "valgrind": ["-DMEMORY_POOL_VALGRIND=1", f"-I{HERE}/memcheck"],
}

HIDDEN = ["-fvisibility=hidden", "-fvisibility-inlines-hidden"]

# Names outside of the inline namespaces: unique in a process, or replaceable. See errors.hpp.
OUTSIDE = {
    "": {"std"},  # The specialisation of std::hash.
    "memory_pool": {
        "error_kind", "error_report", "error_handler", "set_error_handler", "get_error_handler",
        "pool_exhausted", "size_overflow", "limit_exceeded", "out_of_memory",
    },
    "memory_pool::process_wide": {
        "message", "abort_program", "current_error_handler", "text_of_exhausted", "text_of_size_overflow",
        "text_of_limit_exceeded",
    },
}

# Supports C++14, where base/config.hpp does not compile. Its functions call only C functions.
FILES_OUTSIDE = ["drop_in/np_alloc.h"]


def run(command, **options):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, errors="replace", check=False, **options
    )


def headers(root: Path):
    """Returns all headers below include/ and drop_in/ of a tree, as include paths."""
    folders = [root / "include", root / "drop_in"]
    files = [(folder, file) for folder in folders for file in sorted(folder.rglob("*.h*"))]
    return [file.relative_to(folder).as_posix() for folder, file in files]


class Programs(unittest.TestCase):
    """A directory to compile in."""

    project = PROJECT

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)

    def compiler(self, project=None):
        project = project or self.project
        return [*COMPILER, *LANGUAGE, f"-I{project}/include", f"-I{project}/drop_in"]

    def succeed(self, command, **options):
        result = run(command, cwd=self.directory, **options)
        self.assertEqual(result.returncode, 0, f"{shlex.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result.stdout

    def compile(self, source, name, *flags, project=None):
        """Returns the object file, which is position-independent, for programs and libraries."""
        output = self.directory / name
        self.succeed([*self.compiler(project), "-fPIC", *flags, "-c", HERE / source, "-o", output])
        return output

    def link_flags_of(self, way):
        """Returns the link options for units of a configuration. Skips the test if the compiler does not support it."""
        flags = [flag for flag in WAYS[way] if flag.startswith("-fsanitize")]
        (self.directory / "nothing.cpp").write_text("int main() {}\n", encoding="utf-8")
        if run([*COMPILER, *flags, "nothing.cpp", "-o", "nothing"], cwd=self.directory).returncode != 0:
            self.skipTest(f"{COMPILER[0]} does not link with {flags}")
        return [*flags, "-pthread"]


    def make_library(self, project=None):
        """Builds library.so, with hidden visibility."""
        self.succeed([*self.compiler(project), "-fPIC", "-shared", *HIDDEN, HERE / "library.cpp", "-o", "library.so"])

    def link_host(self, *arguments):
        """Builds the program `host`, which uses the library."""
        self.succeed([*self.compiler(), HERE / "library_host.cpp", *arguments, "-o", "host"])


class Mixtures(Programs):
    """Two units of one program, one in the default configuration: each behaves as configured, in any link order."""

    def act_as_built(self, way):
        flags = self.link_flags_of(way)
        main = self.compile("mixed_program.cpp", "main.o")
        units = [
            self.compile("pools.cpp", "plain.o", "-DUNIT=plain"),
            self.compile("pools.cpp", "other.o", "-DUNIT=other", *WAYS[way]),
        ]
        libraries = [self.directory / f"lib{unit.stem}.so" for unit in units]
        for unit, library in zip(units, libraries):
            self.succeed([*COMPILER, "-shared", unit, "-o", library])
        for parts in itertools.chain(itertools.permutations(units), itertools.permutations(libraries)):
            with self.subTest(order=[part.name for part in parts]):
                self.succeed([*COMPILER, *flags, main, *parts, "-o", "program"])
                self.succeed(["./program"])

    def test_with_and_without_exceptions(self):
        self.act_as_built("noexcept")

    def test_with_and_without_address_sanitizer(self):
        self.act_as_built("asan")

    def test_with_and_without_valgrind(self):
        self.act_as_built("valgrind")


class NpAlloc(Programs):
    """Units of any configuration can use a single build of np_alloc."""

    def test_links_with_units_of_every_kind(self):
        if NP_ALLOC == "-":
            self.skipTest("np_alloc is not built")
        main = self.compile("mixed_program.cpp", "main.o")
        plain = self.compile("np_alloc.cpp", "plain.o", "-DUNIT=plain")
        for way, flags in WAYS.items():
            with self.subTest(way=way):
                link_flags = self.link_flags_of(way)
                other = self.compile("np_alloc.cpp", "other.o", "-DUNIT=other", *flags)
                for units in ([plain, other], [other, plain]):
                    self.succeed([*COMPILER, *link_flags, main, *units, NP_ALLOC, "-ldl", "-o", "program"])
                    self.succeed(["./program"])


class Libraries(Programs):
    """A library with hidden visibility uses the program's error handler, and the program can catch its exceptions."""

    def setUp(self):
        self.make_library()

    def test_linked_library(self):
        for flags in ([], HIDDEN):
            with self.subTest(flags=flags):
                self.link_host("-DLOADS_THE_LIBRARY=0", *flags, "./library.so")
                self.succeed(["./host"])

    def test_loaded_by_a_program_that_exports_its_symbols(self):
        self.link_host("-DLOADS_THE_LIBRARY=1", "-rdynamic", "-ldl")
        self.succeed(["./host", "./library.so"])


class Passing(Programs):
    """Passing a pool between units of different configurations is a link error that names the configuration."""

    def test_equal_configurations_link(self):
        units = [self.compile("passes.cpp", f"{part}.o", f"-DTAKES_THE_POOL={part}") for part in (0, 1)]
        self.succeed([*COMPILER, *units, "-pthread", "-o", "program"])
        self.succeed(["./program"])

    def test_different_configurations_do_not_link(self):
        taker = self.compile("passes.cpp", "taker.o", "-DTAKES_THE_POOL=1")
        for way, flags in WAYS.items():
            with self.subTest(way=way):
                link_flags = self.link_flags_of(way)
                main = self.compile("passes.cpp", "main.o", "-DTAKES_THE_POOL=0", *flags)
                result = run([*COMPILER, *link_flags, main, taker, "-o", "program"], cwd=self.directory)
                self.assertNotEqual(result.returncode, 0, "it links")
                self.assertRegex(result.stderr, rf"take\(memory_pool::v0_{way}::")


class Releases(Programs):
    """Headers of a later release beside the current ones: with an additional option and an incremented version."""

    def later_headers(self, version):
        later = self.directory / f"later_{version}"
        for header in sorted((PROJECT / "include").rglob("*.h*")):
            text = header.read_text(encoding="utf-8")
            if header.name == "config.hpp":
                text = self.replaced(r"(#define MEMORY_POOL_ABI_VERSION) 0\b", rf"\1 {version}", text)
            elif header.name == "pool_options.hpp":
                text = self.replaced(r"(struct pool_options\n\{)", r"\1\n    std::size_t later_option = 1;\n", text)
            copy = later / header.relative_to(PROJECT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
        return later

    def replaced(self, pattern, replacement, text):
        text, count = re.subn(pattern, replacement, text)
        self.assertEqual(count, 1, pattern)
        return text

    def test_can_be_mixed_in_one_program(self):
        units = [
            self.compile("pools.cpp", "plain.o", "-DUNIT=plain"),
            self.compile("pools.cpp", "other.o", "-DUNIT=other", project=self.later_headers(version=1)),
        ]
        main = self.compile("mixed_program.cpp", "main.o")
        for first, second in itertools.permutations(units):
            with self.subTest(first=first.name):
                self.succeed([*COMPILER, main, first, second, "-pthread", "-o", "program"])
                self.succeed(["./program"])

    def test_a_library_of_a_later_release_is_loaded(self):
        self.make_library(self.later_headers(version=1))
        self.link_host("-DLOADS_THE_LIBRARY=1", "-rdynamic", "-ldl")
        self.succeed(["./host", "./library.so"])

    def test_a_changed_layout_needs_a_new_version(self):
        check = ["-w", "-fsyntax-only", HERE / "layout.cpp"]
        self.succeed([*self.compiler(), *check])
        result = run([*self.compiler(self.later_headers(version=0)), *check])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("raise MEMORY_POOL_ABI_VERSION", result.stderr)


class Declarations:
    """Parses preprocessed text for declarations in namespaces: (namespaces, name, file)."""

    TOKEN = re.compile(
        r'#\s*(?P<line>\d+)\s+"(?P<file>[^"]*)"[^\n]*|#[^\n]*'
        r'|(?P<raw>R"(?P<end>[^(\s]*)\(.*?\)(?P=end)")|(?P<text>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])+\''
        r"|(?P<word>[A-Za-z_]\w*)|\d[\w.']*|(?P<sign>::|\S)", re.DOTALL)

    def __init__(self, text):
        self.found = []
        self.scopes = []  # for each open brace: the names of the namespaces, or None
        self.file = ""
        self.statement = []
        for match in self.TOKEN.finditer(text):
            if match["file"] is not None:
                self.file = match["file"]
            elif not match[0].startswith("#"):
                self.take(match[0])

    def take(self, token):
        if None in self.scopes:
            self.skip(token)
        elif token == "{":
            self.open()
        elif token == "}":
            self.scopes.pop()
            self.statement = []
        elif token == ";":
            self.declare()
        else:
            self.statement.append(token)

    def skip(self, token):
        if token == "{":
            self.scopes.append(None)
        elif token == "}":
            self.scopes.pop()

    def open(self):
        words = [word for word in self.statement if word not in ("inline", "::")]
        if words[:1] == ["namespace"]:
            self.scopes.append(words[1:] or ["(anonymous)"])
            self.statement = []
        elif words == ["extern", '"C"'] or words == ["extern", '"C++"']:
            self.scopes.append([words[1]])
            self.statement = []
        else:
            self.declare()
            self.scopes.append(None)

    def declare(self):
        name = self.name(" ".join(self.statement))
        if name and self.statement[:2] != ["extern", '"C"']:
            self.found.append(([name for scope in self.scopes for name in scope], name, self.file))
        self.statement = []

    @staticmethod
    def name(statement):
        statement = re.sub(r"\b__attribute__ \( \( .*? \) \)(?= [^)])", "", statement)
        statement = re.sub(r"\[ \[ .*? \] \]|alignas \( [^)]* \)", "", statement)
        for pattern in (
            r"^(?:template < .* > )?(?:class|struct|union|enum(?: class| struct)?) +(\w+)",
            r"^using (\w+) =",
            r"\b(operator[^(]*(?:\( \))?) \(",
            r"(\w+) \(",
            r"(\w+)(?: \[.*\])?(?: =.*)?$",
        ):
            match = re.search(pattern, statement)
            if match:
                return match[1]
        return None


class Names(Programs):
    """All declarations of the headers are in the inline namespace, except entities that are unique in a process."""

    def test_name_the_configuration(self):
        for flags, name in (([], "v0"), (["-fno-exceptions", "-fno-rtti"], "v0_noexcept"),
                            (["-fsanitize=address"], "v0_asan"), (["-fsanitize=thread"], "v0_tsan"),
                            (["-DMEMORY_POOL_VALGRIND=1"], "v0_valgrind"),
                            (["-fsanitize=address", "-fno-exceptions", "-DMEMORY_POOL_VALGRIND=1"],
                             "v0_noexcept_asan_valgrind")):
            with self.subTest(flags=flags):
                text = "#include <memory_pool/base/config.hpp>\nMEMORY_POOL_ABI MEMORY_POOL_GLOBAL_ABI\n" \
                    "MEMORY_POOL_ABI_NAMED(, _suffix)\n"
                output = self.succeed([*self.compiler(), *flags, "-E", "-P", "-x", "c++", "-"], input=text)
                self.assertEqual(output.split()[-3:], [name, f"memory_pool_{name}", f"{name}_suffix"])

    def test_parser_finds_declarations(self):
        found = Declarations("""# 1 "a.hpp" 1
            namespace outer { inline namespace v0 { enum class shade : int { dark = f({1}) }; }
            template <class T = int> class [[nodiscard]] thing : public std::list<T> { int member; } ; namespace inner {
            __attribute__((visibility("default"))) inline auto function(int n = 0) noexcept -> int { return '}'; } } }
            # 2 "b.hpp" 2
            extern "C" { struct in_c { int member; }; } inline constexpr char text[] = "{"; using alias = int;
        """.replace("            ", "")).found
        self.assertEqual(
            found,
            [
                (["outer", "v0"], "shade", "a.hpp"),
                (["outer"], "thing", "a.hpp"),
                (["outer", "inner"], "function", "a.hpp"),
                (['"C"'], "in_c", "b.hpp"),
                ([], "text", "b.hpp"),
                ([], "alias", "b.hpp"),
            ],
        )

    def test_of_declarations(self):
        # These policies need headers of other tools.
        left_out = r"(heaptrack|massif|tracy)_policy" + ("|intrusive|recycling" if self.is_boost_missing() else "")
        includes = "".join(f"#include <{header}>\n" for header in headers(PROJECT) if not re.search(left_out, header))
        text = self.succeed([*self.compiler(), "-fno-exceptions", "-E", "-x", "c++", "-"], input=includes)
        ours = [(scopes, name) for scopes, name, file in Declarations(text).found
                if re.match(rf"{PROJECT}/(include|drop_in)/", file) and not file.endswith(tuple(FILES_OUTSIDE))]
        tags = {"v0_noexcept", "memory_pool_v0_noexcept"}
        self.assertGreater(len([scopes for scopes, _ in ours if tags & set(scopes)]), 300)
        outside = {("::".join(scopes), name) for scopes, name in ours if not tags & set(scopes) and '"C"' not in scopes}
        outside = {(scope, name) for scope, name in outside if not re.match(r"operator (new|delete)", name)}
        self.assertEqual(outside, {(scope, name) for scope, names in OUTSIDE.items() for name in names})

    def test_of_symbols(self):
        inline_functions = ["-fkeep-inline-functions"] if "clang" not in COMPILER[0] else []
        file = self.compile("everything.cpp", "everything.o", "-fno-exceptions", *inline_functions)
        symbols = [
            line.split(maxsplit=2)[-1] for line in self.succeed(["nm", "-C", "--defined-only", file]).splitlines()
        ]
        named = [symbol for symbol in symbols if "memory_pool::" in symbol]
        self.assertGreater(len(named), 500)
        allowed = "|".join([*OUTSIDE["memory_pool"], "process_wide", "v0_noexcept"])
        self.assertEqual([symbol for symbol in named if re.search(rf"\bmemory_pool::(?!({allowed})\b)", symbol)], [])

    def is_boost_missing(self):
        return run([*COMPILER, "-fsyntax-only", "-x", "c++", "-"],
                   input="#include <boost/smart_ptr/intrusive_ptr.hpp>\n").returncode != 0


if __name__ == "__main__":
    os.environ.pop("ASAN_OPTIONS", None)  # The options of a test preset are for single-configuration programs.
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
