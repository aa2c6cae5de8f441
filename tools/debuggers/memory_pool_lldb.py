# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Shows pools and resources in lldb, one line each, in a process and in a core:

    (lldb) command script import .../memory_pool_lldb.py
    (lldb) frame variable orders           or p orders; frame variable --raw-output orders shows the members
    (lldb) memory-pools                    lists all pools that are found
"""

import os
import re
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import memory_pool_types as types  # noqa: E402
sys.path.pop(0)


def bare(its_type):
    return its_type.GetCanonicalType().GetUnqualifiedType()


def first_pointer(value):
    value = value.GetNonSyntheticValue()
    if bare(value.GetType()).IsPointerType():
        return lldb_value(value).integer()
    found = (first_pointer(value.GetChildAtIndex(i)) for i in range(value.GetNumChildren()))
    return next((pointer for pointer in found if pointer is not None), None)


class lldb_value:  # noqa: N801, see memory_pool_types.py
    """A value as memory_pool_types.py reads it."""

    def __init__(self, value):
        value = value.GetNonSyntheticValue()
        if value.GetType().IsReferenceType():
            value = value.Dereference()
        self.value = value
        self.type = bare(value.GetType())

    def type_name(self):
        return self.type.GetName()

    def member(self, name):
        found = self.value.GetChildMemberWithName(name)
        if not found.IsValid():
            raise types.Unreadable(
                f"cannot read: {self.type_name()} has no member {name} here; use the scripts of the same version of "
                "memory_pool, and compile with -g")
        return lldb_value(found)

    def integer(self):
        error = lldb.SBError()
        is_signed = self.type.GetTypeFlags() & lldb.eTypeIsSigned
        number = self.value.GetValueAsSigned(error) if is_signed else self.value.GetValueAsUnsigned(error)
        if error.Fail():
            raise types.Unreadable(f"cannot read: {error.GetCString()}")
        return number

    def first_pointer(self):
        return first_pointer(self.value)

    def pointee(self):
        return lldb_value(self.value.Dereference()) if self.type.IsPointerType() else self

    def text(self):
        characters = b""
        while b"\0" not in characters and len(characters) < 1000:
            characters += self.memory(self.integer() + len(characters), 1)
        return characters.partition(b"\0")[0].decode(errors="replace")

    def address(self):
        address = self.value.GetLoadAddress()
        if address == lldb.LLDB_INVALID_ADDRESS:
            raise types.Unreadable("cannot read: it was optimized out")
        return address

    def size(self):
        return self.type.GetByteSize()

    def argument(self, number):
        return self.type.GetTemplateArgumentType(number)

    def place(self, address):
        return lldb.SBAddress(address % (1 << 64), self.value.GetTarget())

    def at(self, address, its_type):
        return lldb_value(self.value.GetTarget().CreateValueFromAddress("at", self.place(address), its_type))

    def symbol_at(self, address):
        return self.place(address).GetSymbol().GetName() or ""

    def pointer_at(self, address):
        target = self.value.GetTarget()
        return self.at(address, target.GetBasicType(lldb.eBasicTypeVoid).GetPointerType()).integer()

    def pointer_size(self):
        return self.value.GetTarget().GetAddressByteSize()

    def memory(self, address, size):
        # Reads from the target, not from the process: a core lacks the contents of mapped files.
        error = lldb.SBError()
        memory = self.value.GetTarget().ReadMemory(self.place(address), size, error)
        if error.Fail() or memory is None:
            raise types.Unreadable(f"cannot read: {error.GetCString() or f'no memory at {address:#x}'}")
        return memory

    def type_named(self, name):
        # The compiler writes `> >` in the names of types, the demangler `>>`.
        for spelled in (name, re.sub(r">(?=>)", "> ", name)):
            found = self.value.GetTarget().FindFirstType(spelled)
            if found.IsValid():
                return found
        raise types.Unreadable(f"cannot read: no type {name}")


def summary(value, _):
    return types.describe(lldb_value(value))


# ---------------------------------------------------------------------------------------------------------------------
# Locations of pools

def pools_in_value(value, name, place="", depth=8):
    """Yields pools in an object, or in the object that a pointer, such as `this`, or a reference refers to."""
    value = value.GetNonSyntheticValue()
    its_type = bare(value.GetType())
    if its_type.IsPointerType() or its_type.IsReferenceType():
        its_type = bare(its_type.GetPointeeType() if its_type.IsPointerType() else its_type.GetDereferencedType())
        if not has_pools(its_type):
            return
        value = value.Dereference()
    if types.POOLS.match(its_type.GetName() or ""):
        pool = lldb_value(value)
        if types.is_constructed(pool):
            yield types.found(pool, name + place)
    elif depth != 0 and has_pools(its_type):
        bases = its_type.GetNumberOfDirectBaseClasses() - its_type.GetNumberOfVirtualBaseClasses()
        for i in range(value.GetNumChildren()):
            child = value.GetChildAtIndex(i)
            if not bare(child.GetType()).IsPointerType() and not child.GetType().IsReferenceType():
                inner = name if i < bases else f"{name}.{child.GetName()}"
                yield from pools_in_value(child, inner, place, depth - 1)


def has_pools(its_type, depth=8):
    name = its_type.GetName() or ""
    if types.POOLS.match(name):
        return True
    if its_type.GetTypeClass() not in (lldb.eTypeClassStruct, lldb.eTypeClassClass) or depth == 0:
        return False
    if name not in has_pools.known:
        has_pools.known[name] = False  # For a type that is among its own template arguments.
        parts = [its_type.GetDirectBaseClassAtIndex(i) for i in range(its_type.GetNumberOfDirectBaseClasses())]
        parts += [its_type.GetFieldAtIndex(i) for i in range(its_type.GetNumberOfFields())]
        has_pools.known[name] = any(has_pools(bare(part.GetType()), depth - 1) for part in parts)
    return has_pools.known[name]


has_pools.known = {}


def pools_in_globals(target):
    """Variables of namespaces, classes and functions, in the modules that have debug information of the library."""
    modules = [module for module in target.modules
               if any(len(module.FindTypes(name)) for name in ("pool_options", "arena_options"))]
    for value in target.FindGlobalVariables(".*", 1 << 20, lldb.eMatchTypeRegex):
        try:
            if value.GetAddress().GetModule() in modules:
                yield from pools_in_value(value, re.sub("^::", "", value.GetName()))
        except types.Unreadable:
            pass  # An invalid pointer.


def pools_in_frames(target):
    """Locals of all functions of all threads."""
    for thread in target.GetProcess():
        for frame in thread:
            for value in frame.GetVariables(True, True, True, True):
                place = f" in {frame.GetDisplayFunctionName()}, thread {thread.GetIndexID()}"
                try:
                    yield from pools_in_value(value, value.GetName(), place)
                except types.Unreadable:
                    pass  # Optimized out, or an invalid pointer.


def in_registries(target, its_type, pools_in):
    """Yields the pools that `pools_in` finds in the registries. Each module of the program may have a registry."""
    for module in target.modules:
        for registry_type in module.FindTypes(its_type):
            if not re.match(types.CORE + its_type + "$", registry_type.GetName()):
                continue
            name = registry_type.GetName() + "::get()::memory"
            for found in module.FindSymbols(name):
                address = found.GetSymbol().GetStartAddress()
                registry = target.CreateValueFromAddress("registry", address, registry_type)
                yield from pools_in(lldb_value(registry))


def pools_with_names(target):
    return in_registries(target, "report_registry", types.pools_in_reports)


def pools_of_threads(target):
    return in_registries(target, "thread_registry", types.pools_in_registry)


# To list pools from another place, add a function that yields a types.Found for each.
SOURCES = [pools_in_globals, pools_in_frames, pools_with_names, pools_of_threads]


def list_memory_pools(debugger, command, result, _):
    """List the pools of the program: pools in global, static and local variables of all threads, and in members of
these; and named and shared pools anywhere."""
    target = debugger.GetSelectedTarget()
    for line in types.listing(types.all_pools(source(target) for source in SOURCES)):
        result.AppendMessage(line)


def __lldb_init_module(debugger, _):
    for name in types.DESCRIPTIONS:
        debugger.HandleCommand(f"type summary add -w memory_pool -x '{types.pattern(name)}' -F {__name__}.summary")
    debugger.HandleCommand("type category enable memory_pool")
    debugger.HandleCommand(f"command script add -o -f {__name__}.list_memory_pools memory-pools")
