# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd, stdcpp_library
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import collect_libs, copy, load, rmdir
from conan.tools.microsoft import is_msvc

required_conan_version = ">=2.0"


class MemoryPoolConan(ConanFile):
    name = "memory_pool"
    description = "Memory pools and arenas for C++17, and a general allocator that can replace malloc"
    license = "MIT"
    topics = ("memory-pool", "arena", "allocator", "malloc", "pmr")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    # np_alloc is the compiled part. Its archives hold position-independent code whatever fPIC is: they may be linked
    # into a shared library.
    options = {"np_alloc": [True, False], "shared": [True, False], "fPIC": [True, False]}
    default_options = {"np_alloc": True, "shared": False, "fPIC": True}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "drop_in/*", "include/*", "src/*", "tools/*"
    test_package_folder = "tests/packaging/consumer"

    def set_version(self):
        header = os.path.join(self.recipe_folder, "include", "memory_pool", "version.h")
        numbers = re.findall(r"#define MEMORY_POOL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", load(self, header))
        self.version = ".".join(numbers)

    def config_options(self):
        if self.settings.os == "Windows":
            del self.options.fPIC
        if is_msvc(self):
            self.options.np_alloc = False

    def configure(self):
        if not self.options.np_alloc:
            self.options.rm_safe("shared")
            self.package_type = "header-library"
        if self.options.get_safe("shared", True):
            self.options.rm_safe("fPIC")

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 17)
        if not re.match(r"x86_64|armv8(?!_32)|arm64|ppc64|riscv64|s390x|mips64|sparcv9", str(self.settings.arch)):
            raise ConanInvalidConfiguration(f"{self.ref} needs a 64-bit target; {self.settings.arch} is not one")
        if self.options.np_alloc and is_msvc(self):
            raise ConanInvalidConfiguration(
                f"np_alloc of {self.ref} needs GCC or Clang (on Windows, MinGW-w64); for the rest: "
                f"-o '{self.name}/*:np_alloc=False'"
            )

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.options.rm_safe("fPIC")
        if not self.info.options.np_alloc:
            self.info.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["MEMORY_POOL_ENABLE_NP_ALLOC"] = bool(self.options.np_alloc)
        for part in ("COMPILED", "TESTING", "BENCHMARKING", "EXAMPLES"):
            toolchain.cache_variables[f"MEMORY_POOL_ENABLE_{part}"] = False
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for directory in ("lib/cmake", "lib/pkgconfig", "share/doc"):  # Conan generates these for its users.
            rmdir(self, os.path.join(self.package_folder, directory))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "memory_pool")
        # The target of the whole package would link the malloc replacement; memory_pool::memory_pool is the headers.
        self.cpp_info.set_property("cmake_target_name", "memory_pool::all")
        self.cpp_info.set_property("pkg_config_name", "memory_pool_all")
        self._add_component("memory_pool")
        self._add_component("drop_in").includedirs = ["include/memory_pool_drop_in"]

        installed = set(collect_libs(self)) if self.options.np_alloc else set()
        for name in ("np_alloc", "np_alloc_checked", "np_malloc", "np_malloc_checked"):
            # A static library is named memory_pool_*, unlike a shared one, and does not record its dependencies.
            for library in installed & {name, f"memory_pool_{name}"}:
                component = self._add_component(name)
                component.libs = [library]
                if library != name:
                    component.system_libs = self._system_libraries()
        if "np_alloc" in self.cpp_info.components:
            self._add_component("np_alloc_drop_in").requires = ["drop_in", "np_alloc"]

    def _system_libraries(self):
        libraries = {"Linux": ["dl", "pthread"], "FreeBSD": ["pthread"]}.get(str(self.settings.os), [])
        if self.settings.arch == "riscv64":
            libraries.append("atomic")
        # For programs in C.
        return libraries + [library for library in (stdcpp_library(self),) if library]

    def _add_component(self, name):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"memory_pool::{name}")
        component.set_property("pkg_config_name", "memory_pool" if name == "memory_pool" else f"memory_pool_{name}")
        component.bindirs, component.libdirs = [], []
        if name.startswith("np_"):
            component.bindirs, component.libdirs = ["bin"], ["lib"]
        if name != "memory_pool":
            component.requires = ["memory_pool"]
        return component
