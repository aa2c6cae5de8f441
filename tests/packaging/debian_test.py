#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The Debian packages: built, installed into an empty root, used from there by pkg-config and CMake, and removed.

    debian_test.py SOURCE_DIRECTORY VERSION WORK_DIRECTORY

Exits with 77 if tools or build dependencies are missing. Uses lintian if it is installed.
Needs no network.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
SOURCES = ("CMakeLists.txt", "CHANGELOG.md", "LICENSE", "README.md")
SOURCE_DIRECTORIES = ("cmake", "debian", "docs", "drop_in", "include", "src", "tools")
# dpkg needs ldconfig.
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
# Without optimization and symbols: the same files in half the time.
BUILD = {"DEB_BUILD_OPTIONS": "noopt noautodbgsym parallel=2", "DEB_CXXFLAGS_STRIP": "-g"}


def fail(text):
    sys.exit(f"debian_test: {text}")


def run(*command, cwd=None, **variables):
    """Returns the output of the command. Ends the test if the command fails."""
    result = subprocess.run(
        command, cwd=cwd, env={**ENVIRONMENT, **variables}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if result.returncode != 0:
        fail(f"{' '.join(map(str, command))} exits with {result.returncode}:\n{result.stdout[-8000:]}")
    return result.stdout


def skip_without_tools(source):
    tools = ["dpkg-buildpackage", "dpkg-checkbuilddeps", "pkg-config"]
    if os.geteuid() != 0:
        tools.append("fakeroot")
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not missing:
        result = subprocess.run(
            ["dpkg-checkbuilddeps"], cwd=source, env=ENVIRONMENT, capture_output=True, text=True, check=False
        )
        missing = result.stderr.splitlines()
    if missing:
        print("debian_test: skipped; missing:", ", ".join(missing))
        sys.exit(SKIPPED)


def runtime_package(version):
    """The name of the shared library's package follows its SONAME."""
    major, minor, _ = version.split(".")
    return "libnp-malloc" + (f"0.{minor}" if major == "0" else major)


def build(source, version, work):
    """Builds from a copy of the sources. Returns the packages by name."""
    copy = work / "source"
    for name in SOURCES:
        shutil.copy(source / name, copy / name)
    for name in SOURCE_DIRECTORIES:
        shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    run("dpkg-buildpackage", "--build=binary", "--no-sign", cwd=copy, **BUILD)
    files = {run("dpkg-deb", "--field", path, "Package").strip(): path for path in work.glob("*.deb")}
    expected = {runtime_package(version), "libmemory-pool-dev", "memory-pool-tools"}
    if set(files) != expected:
        fail(f"built {sorted(files)}, not {sorted(expected)}")
    for path in files.values():
        if run("dpkg-deb", "--field", path, "Version").strip() != version:
            fail(f"{path.name} does not have version {version}")
    return files


class Root:
    """A root directory where only the dependencies of the packages count as installed."""

    def __init__(self, directory, packages):
        self.directory = directory
        information = directory / "var/lib/dpkg/info"
        information.mkdir(parents=True)
        (directory / "var/lib/dpkg/updates").mkdir()
        status = ""
        for package in sorted(self.dependencies(packages)):
            stanza = run("dpkg-query", "--status", package)
            status += stanza.rstrip() + "\n\n"
            same = "Multi-Arch: same" in stanza
            architecture = re.search("^Architecture: (.*)", stanza, re.MULTILINE).group(1)
            (information / (f"{package}:{architecture}.list" if same else f"{package}.list")).touch()
        (directory / "var/lib/dpkg/status").write_text(status, encoding="utf-8")

    @staticmethod
    def dependencies(packages):
        for path in packages.values():
            for entry in run("dpkg-deb", "--field", path, "Depends").split(","):
                name = entry.split()[0]
                if name not in packages:
                    yield name

    def dpkg(self, *arguments):
        as_root = [] if os.geteuid() == 0 else ["fakeroot"]
        command = [*as_root, "dpkg", f"--root={self.directory}", "--force-not-root", "--force-script-chrootless"]
        return subprocess.run([*command, *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=False)

    def must(self, *arguments):
        result = self.dpkg(*arguments)
        if result.returncode != 0 or "warning" in result.stderr:
            fail(f"dpkg {' '.join(map(str, arguments))}:\n{result.stdout}{result.stderr}")

    def files(self):
        return sorted(path for path in self.directory.rglob("*") if "var" not in path.relative_to(self.directory).parts)


def check_with_lintian(work):
    if not shutil.which("lintian"):
        return
    run("lintian", "--fail-on=error,warning", *work.glob("*.changes"))


def use_by_pkg_config(source, root, work):
    directory = next(root.directory.glob("usr/lib/*/pkgconfig"))
    for module, program in (
        ("memory_pool", "blocks.cpp"),
        ("memory_pool_np_alloc", "np_new_delete.cpp"),
        ("memory_pool_np_malloc", "np_malloc.c"),
    ):
        flags = run("pkg-config", "--cflags", "--libs", module, PKG_CONFIG_LIBDIR=str(directory), PKG_CONFIG_PATH="")
        if str(root.directory) not in flags:
            fail(f"the flags of {module} are of another copy: {flags}")
        binary = work / module
        compiler = ["cc"] if program.endswith(".c") else ["c++", "-std=c++17"]
        run(*compiler, source / "tests/package" / program, "-o", binary, *flags.split(), "-ldl")
        run(binary, LD_LIBRARY_PATH=str(directory.parent))


def use_by_cmake(source, root, work):
    build_directory = work / "consumer"
    output = run(
        "cmake", "-S", source / "tests/packaging/consumer", "-B", build_directory, "-G", "Ninja",
        "-D", "CMAKE_BUILD_TYPE=Debug", "-D", f"CMAKE_PREFIX_PATH={root.directory / 'usr'}",
        "-D", "COMPONENTS=memory_pool;drop_in;np_alloc;np_alloc_checked;np_alloc_drop_in;np_malloc;np_malloc_checked",
    )  # fmt: skip
    if f"in {root.directory}/usr/lib/" not in output:
        fail(f"CMake found another copy:\n{output}")
    run("cmake", "--build", build_directory)
    run("ctest", "--test-dir", build_directory, "--output-on-failure", "--no-tests=error")


def use_as_malloc(source, root, work):
    program = work / "np_malloc"
    run("cc", source / "tests/package/np_malloc.c", "-o", program, "-ldl")
    for library in root.directory.glob("usr/lib/*/libnp_malloc*.so*"):
        run(program, LD_PRELOAD=str(library))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    source, version, work = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3]).resolve()
    skip_without_tools(source)
    shutil.rmtree(work, ignore_errors=True)
    (work / "source").mkdir(parents=True)

    packages = build(source, version, work)
    check_with_lintian(work)

    root = Root(work / "root", packages)
    alone = root.dpkg("--install", packages["libmemory-pool-dev"])
    if alone.returncode == 0 or f"depends on {runtime_package(version)} (= {version})" not in alone.stderr:
        fail(f"the headers were installed without the library:\n{alone.stdout}{alone.stderr}")
    root.must("--install", *packages.values())
    root.must("--audit")

    use_by_pkg_config(source, root, work)
    use_by_cmake(source, root, work)
    use_as_malloc(source, root, work)
    run(root.directory / "usr/bin/memory-pool-heap-map", "--help")

    root.must("--purge", *packages)
    if root.files():
        fail(f"left after the packages were removed: {root.files()}")


if __name__ == "__main__":
    main()
