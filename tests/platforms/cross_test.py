#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles np_alloc for other platforms, with the cross compilers that are installed.

    cross_test.py SOURCE_DIRECTORY PLATFORM [--all]

Compiles np_alloc without warnings (with --all, the checked build as well), and units that use every public class
template. Links the programs of tests/contract that need only np_alloc, and runs them if an emulator for the platform is
installed. Exits with 77 if the compiler is missing.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Werror"]
NP_ALLOC = [
    "-fasynchronous-unwind-tables",
    "-fno-exceptions",
    "-fno-rtti",
    "-ftls-model=initial-exec",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]
PROGRAMS = ["np_alloc", "concurrent_pool"]
HEADER_UNITS = ["names", "np_alloc", "pools", "resources"]
NOT_IN_THE_ARCHIVE = {"malloc.cpp", "operators.cpp"}  # Part of libnp_malloc.so.


def zig(target):
    return [sys.executable, "-m", "ziglang", "c++", "-target", target]


# For each: the compiler, further libraries to link, and the emulator for programs, or None.
PLATFORMS = {
    "windows": (["x86_64-w64-mingw32-g++-posix"], ["-static"], ["wine64"]),
    "aarch64_linux": (["aarch64-linux-gnu-g++"], [], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "riscv64_linux": (["riscv64-linux-gnu-g++"], ["-latomic"], ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"]),
    "musl": (zig("x86_64-linux-musl"), [], []),
    "aarch64_macos": (zig("aarch64-macos"), [], None),
    "x86_64_macos": (zig("x86_64-macos"), [], None),
    "freebsd": (zig("x86_64-freebsd"), [], None),
}


def is_installed(compiler):
    try:
        return subprocess.run(compiler + ["--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def found_emulator(emulator):
    """Returns the command with the path of the emulator, or None if it is not installed."""
    if not emulator:
        return emulator
    path = shutil.which(emulator[0]) or shutil.which(emulator[0], path="/usr/lib/wine")
    return [path] + emulator[1:] if path else None


def run(command, **options):
    """Returns the output of the command if it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **options
    )
    return "" if done.returncode == 0 else f"{' '.join(map(str, command))}: exits with {done.returncode}\n{done.stdout}"


def environment(directory):
    found = dict(os.environ, WINEPREFIX=str(directory / "wine"), WINEDEBUG="-all")
    found["NP_REGION_BYTES"] = "1G"  # QEMU keeps a table of all reserved addresses.
    return found


class Build:
    """Builds both kinds of the library, and the programs, in one directory."""

    def __init__(self, source, platform, directory):
        self.source = source
        self.directory = directory
        self.compiler, self.libraries, self.emulator = PLATFORMS[platform]

    def common(self):
        return self.compiler + ["-std=c++17", "-O0", f"-I{self.source / 'include'}"]

    def compilations(self, kind):
        defined = ["-DMEMORY_POOL_NP_CHECKED=1"] if kind == "checked" else []
        of_other_builds = "plain.cpp" if kind == "checked" else "checked.cpp"
        for source in sorted((self.source / "src/np_alloc").glob("*/*.cpp")):
            if source.name in NOT_IN_THE_ARCHIVE or source.name == of_other_builds:
                continue
            yield (self.common() + WARNINGS + NP_ALLOC + defined +
                   ["-c", source, "-o", self.directory / f"{kind}_{source.stem}.o"])

    def header_units(self):
        for unit in HEADER_UNITS:
            yield (self.common() + WARNINGS +
                   [f"-I{self.source / 'drop_in'}", f"-I{self.source / 'tests'}", "-c",
                    self.source / f"tests/headers/{unit}.cpp", "-o", self.directory / f"headers_{unit}.o"])

    def links(self, kind):
        objects = sorted(self.directory.glob(f"{kind}_*.o"))
        for program in PROGRAMS:
            yield (
                self.common()
                + ["-Wall", "-Wextra", "-Werror", self.source / f"tests/contract/{program}.cpp"]
                + objects
                + self.libraries
                + ["-pthread", "-o", self.directory / f"{kind}_{program}.exe"]
            )

    def runs(self):
        emulator = found_emulator(self.emulator)
        if emulator is None:
            print("compiled and linked; not run: no emulator installed")
            return
        for program in sorted(self.directory.glob("*.exe")):
            yield emulator + [program]


def failures_of(steps, at_once, **options):
    with concurrent.futures.ThreadPoolExecutor(at_once) as workers:
        return [said for said in workers.map(lambda command: run(command, **options), steps) if said]


def check(build, with_checked):
    """Returns the exit status of this script."""
    kinds = ("plain", "checked") if with_checked else ("plain",)
    # Programs run one by one: the first run of Wine creates its directory.
    for steps, at_once in ((lambda: [each for kind in kinds for each in build.compilations(kind)], os.cpu_count()),
                           (build.header_units, os.cpu_count()),
                           (lambda: [each for kind in kinds for each in build.links(kind)], os.cpu_count()),
                           (build.runs, 1)):
        failures = failures_of(steps(), at_once, env=environment(build.directory))
        if failures:
            print("\n".join(failures))
            return 1
    return 0


def main():
    source, platform = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not is_installed(PLATFORMS[platform][0]):
        print(f"{' '.join(PLATFORMS[platform][0])}: not installed")
        return SKIPPED
    directory = pathlib.Path(tempfile.mkdtemp())
    try:
        return check(Build(source, platform, directory), with_checked="--all" in sys.argv[3:])
    finally:
        shutil.rmtree(directory, ignore_errors=True)  # The Wine server may still be running.


if __name__ == "__main__":
    sys.exit(main())
