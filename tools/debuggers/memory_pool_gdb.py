# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Shows pools and resources in gdb, one line each, in a process and in a core:

    (gdb) source .../memory_pool_gdb.py
    (gdb) print orders                     by name; print /r shows the members
    (gdb) info memory-pools                lists all pools that are found
"""

import itertools
import os
import re
import sys

import gdb
import gdb.printing

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import memory_pool_types as types  # noqa: E402
sys.path.pop(0)


def bare(its_type):
    return its_type.strip_typedefs().unqualified()


def first_pointer(value):
    its_type = bare(value.type)
    if its_type.code == gdb.TYPE_CODE_PTR:
        return gdb_value(value).integer()
    if its_type.code != gdb.TYPE_CODE_STRUCT:
        return None
    found = (first_pointer(value[field]) for field in its_type.fields() if hasattr(field, "bitpos"))
    return next((pointer for pointer in found if pointer is not None), None)


class gdb_value:  # noqa: N801, see memory_pool_types.py
    """A value as memory_pool_types.py reads it."""

    def __init__(self, value):
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        self.value = value
        self.type = bare(value.type)

    def type_name(self):
        return str(self.type.name or self.type)

    def member(self, name):
        try:
            return gdb_value(self.value[name])
        except gdb.MemoryError as reason:
            raise types.Unreadable(f"cannot read: {reason}") from None
        except (gdb.error, TypeError):
            raise types.Unreadable(
                f"cannot read: {self.type_name()} has no member {name} here; use the scripts of the same version of "
                "memory_pool, and compile with -g") from None

    def integer(self):
        try:
            return int(self.value)
        except gdb.error as reason:
            raise types.Unreadable(f"cannot read: {reason}") from None

    def first_pointer(self):
        return first_pointer(self.value)

    def pointee(self):
        return self if self.type.code != gdb.TYPE_CODE_PTR else gdb_value(self.value.dereference())

    def text(self):
        try:
            return self.value.string(errors="replace", length=-1)
        except gdb.error as reason:
            raise types.Unreadable(f"cannot read: {reason}") from None

    def address(self):
        if self.value.address is None:
            raise types.Unreadable("cannot read: it was optimized out")
        return int(self.value.address)

    def size(self):
        return self.type.sizeof

    def argument(self, number):
        return bare(self.type).template_argument(number)

    def at(self, address, its_type):
        return gdb_value(gdb.Value(address).cast(its_type.pointer()).dereference())

    def symbol_at(self, address):
        return re.sub(r"( \+ \d+)?( in section .*)?\n$", "", gdb.execute(f"info symbol {address:#x}", to_string=True))

    def pointer_at(self, address):
        return self.at(address, gdb.lookup_type("char").pointer()).integer()

    def pointer_size(self):
        return gdb.lookup_type("char").pointer().sizeof

    def memory(self, address, size):
        try:
            return gdb.selected_inferior().read_memory(address, size).tobytes()
        except gdb.MemoryError as reason:
            raise types.Unreadable(f"cannot read: {reason}") from None

    def type_named(self, name):
        try:
            return gdb.lookup_type(name)
        except gdb.error as reason:
            raise types.Unreadable(f"cannot read: {reason}") from None


class Printer:
    """Prints the line, and no members."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return types.describe(gdb_value(self.value))


def make_printers():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("memory_pool")
    for name in types.DESCRIPTIONS:
        printers.add_printer(name, types.pattern(name), Printer)
    return printers


# ---------------------------------------------------------------------------------------------------------------------
# Locations of pools

def listed_symbols(arguments):
    """Returns the declarations or names that `info variables` lists."""
    text = gdb.execute("info variables -q " + arguments, to_string=True)
    return [line.strip() for line in text.splitlines() if line.strip()]


def split_declaration(declaration):
    """'static const app::pool app::pools[3];' -> ('app::pool', 'app::pools'). Both may have spaces, in templates and in
    the anonymous namespace."""
    text = re.sub(r"(\[\d*\])+$", "", declaration.rstrip(";"))
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] in ")>") - (text[i] in "(<")
        if depth == 0 and text[i] in " *&":
            its_type = re.sub(r"\b(static|const|volatile|struct|class|union|enum) ", "", text[:i + 1])
            return its_type.strip(" *&"), text[i + 1:]
    return "", text


def may_have_pools(type_name):
    """False if the type has no pools. True if it may: gdb prints alias templates without their arguments."""
    try:
        return bool(fields_with_pools(gdb.lookup_type(type_name)))
    except gdb.error:
        return True


def fields_with_pools(its_type, depth=8):
    """Returns the member paths of pools in an object of that type; an empty path if the type is a pool."""
    its_type = bare(its_type)
    if its_type.code != gdb.TYPE_CODE_STRUCT or depth == 0:
        return []
    if types.POOLS.match(str(its_type.name)):
        return [()]
    if its_type.name not in fields_with_pools.known:
        fields_with_pools.known[its_type.name] = []  # For a type that is among its own template arguments.
        fields_with_pools.known[its_type.name] = [
            (field,) + path for field in its_type.fields() if hasattr(field, "bitpos") and not field.artificial
            for path in fields_with_pools(field.type, depth - 1)]
    return fields_with_pools.known[its_type.name]


fields_with_pools.known = {}


def pools_in_value(value, name, place=""):
    """Yields pools in an object, or in the object that a pointer, such as `this`, or a reference refers to."""
    its_type = bare(value.type)
    if its_type.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        if not fields_with_pools(its_type.target()):
            return
        value = value.referenced_value()
    for path in fields_with_pools(value.type):
        part = value
        for field in path:
            part = part[field]
        names = [field.name for field in path if not field.is_base_class]
        pool = gdb_value(part)
        if types.is_constructed(pool):
            yield types.found(pool, ".".join([name] + names) + place)


def pools_of_symbol(symbol, name, frame=None, place=""):
    try:
        if symbol.is_variable or symbol.is_argument:
            yield from pools_in_value(symbol.value(frame) if symbol.needs_frame else symbol.value(), name, place)
    except (gdb.error, types.Unreadable):
        pass  # Optimized out, or an invalid pointer.


def global_symbols():
    """Variables of namespaces and classes."""
    fields_with_pools.known.clear()
    declared = {split_declaration(line.split(":", 1)[1].strip())
                for line in listed_symbols("-n") if re.match(r"\d+:", line)}
    with_pools = {name for name in {its_type for its_type, _ in declared} if may_have_pools(name)}
    for name in sorted({name for its_type, name in declared if its_type in with_pools}):
        symbol = gdb.lookup_global_symbol(name)
        found = [symbol] if symbol is not None else gdb.lookup_static_symbols(name)
        yield from ((name, each) for each in found)


def static_locals():
    """Static local variables with a constructor, which have a guard variable."""
    for line in listed_symbols("^guard variable for "):
        name = re.sub(r"^0x[0-9a-f]+\s+guard variable for ", "", line)
        function, _, variable = name.rpartition("::")
        if not re.search(r"(\)|\]|const|^\w+)$", function) or re.match(types.CORE, function):
            continue
        try:
            _, places = gdb.decode_line(function)
        except gdb.error:
            continue  # There is no debug information.
        for place in places or ():
            block = gdb.block_for_pc(place.pc)
            while block is not None and not block.is_global and not block.is_static:
                yield from ((name, each) for each in block if each.name == variable)
                block = block.superblock


def pools_in_globals():
    for name, symbol in itertools.chain(global_symbols(), static_locals()):
        yield from pools_of_symbol(symbol, name)


def pools_in_frames():
    """Locals of all functions of all threads."""
    selected = gdb.selected_thread()
    frame_before = gdb.selected_frame() if selected is not None else None
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
        thread.switch()
        frame = gdb.newest_frame()
        while frame is not None:
            yield from pools_in_frame(frame, thread.num)
            frame = frame.older()
    if selected is not None:
        selected.switch()
        frame_before.select()


def pools_in_frame(frame, thread):
    try:
        block = frame.block()
    except RuntimeError:
        return  # There is no debug information.
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.needs_frame:
                yield from pools_of_symbol(symbol, symbol.name, frame, f" in {frame.name()}, thread {thread}")
        if block.function is not None:
            return
        block = block.superblock


def in_registries(its_type, pools_in):
    """Yields the pools that `pools_in` finds in the registries. Each module of the program may have a registry."""
    for line in listed_symbols(its_type + "::get()::memory$"):
        address, name = line.split(None, 1)
        try:
            registry = gdb_value(gdb.Value(int(address, 16))).at(
                int(address, 16), gdb.lookup_type(name.rpartition("::get()")[0]))
            yield from pools_in(registry)
        except (gdb.error, types.Unreadable) as reason:
            yield types.Found(address, f"{name}: {reason}", its_type)


def pools_with_names():
    return in_registries("report_registry", types.pools_in_reports)


def pools_of_threads():
    return in_registries("thread_registry", types.pools_in_registry)


# To list pools from another place, add a function that yields a types.Found for each.
SOURCES = [pools_in_globals, pools_in_frames, pools_with_names, pools_of_threads]


def np_alloc_lines():
    """Prints the central counters of np_alloc. Its heaps have other counters: see np_print_statistics."""
    name = "memory_pool::np::the_registry"
    registry = gdb.lookup_global_symbol(name)
    if registry is None:
        return ["np_alloc: no debug information"] if listed_symbols(name) else []
    try:
        pages = gdb_value(registry.value()).member("heaps_").member("pages")
        source, large = pages.member("source_"), pages.member("large_")
        return [f"np_alloc: {types.loaded(pages.member('slabs_')).integer()} slabs, "
                f"{large.member('large_blocks_').integer()} large blocks of {large.member('large_bytes_').integer()} "
                f"bytes, {source.member('peak_reserved').integer()} bytes reserved at most, "
                f"{types.loaded(source.member('purged_')).integer()} bytes purged"]
    except types.Unreadable as reason:
        return [f"np_alloc: {reason}"]


class InfoMemoryPools(gdb.Command):
    """List the pools of the program: pools in global, static and local variables of all threads, and in members of
these; and named and shared pools anywhere."""

    def __init__(self):
        super().__init__("info memory-pools", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for line in types.listing(types.all_pools(source() for source in SOURCES)) + np_alloc_lines():
            print(line)


gdb.printing.register_pretty_printer(gdb.current_objfile(), make_printers(), replace=True)
InfoMemoryPools()
