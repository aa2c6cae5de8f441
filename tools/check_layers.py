#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the folders are the layers, by reading the #include and #if lines of the library.

1. A file includes its own layer or a lower one. Within core/ and src/np_alloc/, each folder is a sub-layer.
2. A file includes only headers of the standard library, of this project, and those listed in EXTERNAL.
3. Quotes are for this project's headers.
4. Only os/ and base/config.hpp test for the platform. Elsewhere, an #if may name only MEMORY_POOL_ macros, __cplusplus
   and __has_include; in drop-ins, also macros that programs define (BOOST_INTRUSIVE_POOL_).

Prints one line for each violation, as `file:line: message`, and exits with 1 if there is one.
"""

import argparse
import re
import sys
from pathlib import Path

# Lowest first. The umbrella header and libmemory_pool include all public headers, which must include neither.
LAYERS = [
    "base",
    "os",
    "core/reports",
    "core/slabs",
    "core/threads",
    "core/blocks",
    "core/objects",
    "core/resources",
    "public headers",
    "umbrella header",
    "np_alloc/os",
    "np_alloc/support",
    "np_alloc/slices",
    "np_alloc/release",
    "np_alloc/hardening",
    "np_alloc/page_heap",
    "np_alloc/heaps",
    "np_alloc/engine",
    "np_alloc/diagnostics",
    "np_alloc/api",
    "drop_in",
]
UMBRELLA = "include/memory_pool/memory_pool.hpp"
# Public headers of types that all layers share. These headers belong to the lowest layer.
SHARED_TYPES = re.compile(
    r"include/memory_pool/(version\.h|"
    r"(errors|fwd|policies|pool_options|statistics)\.hpp)")
# A shared header of the C interface, which needs the attributes of os/.
SHARED_C_TYPES = re.compile(r"include/memory_pool/no_allocation_scope\.h")
PLATFORM_FILES = re.compile(r"include/memory_pool/(os/.*|base/config\.hpp)|src/np_alloc/os/.*")

# Permitted external headers: (files, headers).
EXTERNAL = [
    (r"include/memory_pool/(intrusive_pool|recycling_pool)\.hpp|drop_in/.*", r"boost/.*"),
    (r"include/memory_pool/tracy_policy\.hpp", r"tracy/.*"),
    (r"include/memory_pool/heaptrack_policy\.hpp", r"heaptrack_api\.h"),
    (r"include/memory_pool/massif_policy\.hpp", r"valgrind/.*"),
    # Pseudo-headers whose #include stops the compiler with a message.
    (r"include/memory_pool/base/config\.hpp|drop_in/np_alloc\.h", r"memory_pool: th(is|ese) headers? needs? .*"),
    (r"include/memory_pool/base/poisoning\.hpp", r"(sanitizer|valgrind)/.*"),
    (r"(include/memory_pool|src/np_alloc)/os/.*", r".*"),
]

STANDARD = set("""
algorithm any array atomic barrier bit bitset charconv chrono compare complex concepts condition_variable coroutine
deque exception execution expected filesystem format forward_list fstream functional future initializer_list iomanip ios
iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional
ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack
stdexcept stop_token streambuf string string_view syncstream system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version
cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio
cstdlib cstring ctime cuchar cwchar cwctype
assert.h ctype.h errno.h float.h inttypes.h limits.h math.h signal.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h
stdio.h stdlib.h string.h time.h
""".split())

INCLUDE = re.compile(r'\s*#\s*include\s*(?:<(?P<angle>[^>]+)>|"(?P<quote>[^"]+)")')
CONDITION = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b(?P<text>.*)")
HAS_INCLUDE = re.compile(r"__has_include\s*\(\s*[<\"][^>\"]*[>\"]\s*\)")
ALLOWED_IN_CONDITION = re.compile(
    r"MEMORY_POOL_\w*|BOOST_INTRUSIVE_POOL_\w*|__cplusplus|__has_include|defined|true|false|and|or|not")


def logical_lines(text: str):
    """Yields (line number, line) with comments blanked and continued lines joined."""

    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found

    # Strings are matched so that comment markers inside them are ignored.
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)
    start, joined = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not joined:
            start = number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield start, joined + line
        joined = ""


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.include = root / "include"
        self.library = self.include / "memory_pool"
        self.drop_in = root / "drop_in"
        self.src = root / "src"

    def files(self):
        for folder in (self.library, self.drop_in, self.src):
            yield from sorted(p for p in folder.rglob("*") if p.suffix in (".hpp", ".h", ".cpp", ".c", ".ipp", ".inc"))

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def layer(self, path: Path):
        """Returns the index in LAYERS of the layer of a file; None if its folder is not a layer."""
        if path.is_relative_to(self.drop_in):
            layer = "drop_in"
        elif path.parent == self.src / "compiled":
            layer = "umbrella header"
        elif path.is_relative_to(self.src):
            layer = path.parent.relative_to(self.src).as_posix()
        elif self.name(path) == UMBRELLA:
            layer = "umbrella header"
        elif SHARED_TYPES.fullmatch(self.name(path)):
            layer = "base"
        elif SHARED_C_TYPES.fullmatch(self.name(path)):
            layer = "os"
        elif path.parent == self.library:
            layer = "public headers"
        else:
            layer = path.parent.relative_to(self.library).as_posix()
        return LAYERS.index(layer) if layer in LAYERS else None

    def find(self, header: str, places):
        for place in places:
            found = (place / header).resolve()
            if found.is_file() and found.is_relative_to(self.root):
                return found
        return None

    def check_include(self, path: Path, match):
        """Returns the error message for an #include, or None."""
        header = match["angle"] or match["quote"]
        own = self.find(header, ([path.parent] if match["quote"] else []) + [self.include, self.drop_in, self.src])
        if own is None:
            if header.startswith("memory_pool/"):
                return f"no such header of this project: {header}"
            if match["quote"]:
                return f'"{header}" is not of this project: quotes are for its own headers'
            if header in STANDARD:
                return None
            name = self.name(path)
            if any(re.fullmatch(files, name) and re.fullmatch(headers, header) for files, headers in EXTERNAL):
                return None
            return f"<{header}> is neither of the standard library nor of this project"
        mine, its = self.layer(path), self.layer(own)
        if mine is not None and its is not None and its > mine:
            return f"{LAYERS[mine]} includes {header}, which is of a higher layer: {LAYERS[its]}"
        return None

    def check_condition(self, path: Path, text: str):
        if PLATFORM_FILES.fullmatch(self.name(path)):
            return None
        words = re.findall(r"[A-Za-z_]\w*", HAS_INCLUDE.sub(" ", text))
        platform = [word for word in words if not ALLOWED_IN_CONDITION.fullmatch(word)]
        if platform:
            return f"#if asks for {', '.join(platform)}: only os/ and base/config.hpp ask for the platform"
        return None

    def check(self):
        for path in self.files():
            if self.layer(path) is None:
                yield f"{self.name(path)}:1: this folder is not a layer; layers are {', '.join(LAYERS)}"
            for number, line in logical_lines(path.read_text(encoding="utf-8")):
                message = None
                if match := INCLUDE.match(line):
                    message = self.check_include(path, match)
                elif match := CONDITION.match(line):
                    message = self.check_condition(path, match["text"])
                if message:
                    yield f"{self.name(path)}:{number}: {message}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="root of the source tree")
    tree = Tree(parser.parse_args().root.resolve())
    violations = list(tree.check())
    for violation in violations:
        print(violation)
    print(f"{len(list(tree.files()))} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
