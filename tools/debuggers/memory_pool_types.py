# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Describes pools and resources for the debuggers. Only this file names members of the library.

    memory_pool_gdb.py   ->+
                           +-> memory_pool_types.py: describe(value) -> 'object_pool<order> "orders": 12 of 128 ...'
    memory_pool_lldb.py  ->+

This file reads only types and memory, and calls no function of the program, so it works with a core as with a process.
A value has the interface of `gdb_value` and `lldb_value` in the two scripts:

    value.type_name()       without typedefs, references and qualifiers
    value.member(name)      also of a base class; raises Unreadable if there is none
    value.integer()         of a number, a pointer or an enumerator
    value.first_pointer()   the first pointer among its members, which may be in a register; a number
    value.pointee()         the object that a pointer or reference refers to
    value.text()            the C string that a pointer refers to
    value.address()         the address of the value
    value.size()            sizeof its type
    value.argument(n)       the n-th template argument of its type, a type
    value.at(address, type) the object of that type at the address
    value.pointer_at(address), value.memory(address, size)      the contents of the address
    value.symbol_at(address)    the demangled name of the symbol that the address is in
    value.type_named(name), value.pointer_size()
"""

import re


class Unreadable(Exception):
    """The program lacks a member or memory: it has another version, or is corrupted or stripped."""


# ---------------------------------------------------------------------------------------------------------------------
# Names of types

ABI = "memory_pool::(v[0-9][a-z0-9_]*::)?"  # A regular expression for Python, gdb and lldb.
CORE = ABI + "detail::core::"


def split_template(name):
    """'a<b, c<d> >' -> ('a', ['b', 'c<d>'])"""
    base, bracket, rest = name.partition("<")
    if not bracket:
        return name, []
    arguments, depth, begin = [], 0, 0
    rest = rest.rstrip()[:-1]
    for i, character in enumerate(rest):
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            arguments.append(rest[begin:i].strip())
            begin = i + 1
    return base, arguments + [rest[begin:].strip()]


def base_name(name):
    """'memory_pool::v0::block_resource<...>' -> 'block_resource'"""
    return split_template(name)[0].rpartition("::")[2]


def template(name, arguments):
    return f"{name}<{', '.join(arguments)}>" if arguments else name


def without_namespaces(name):
    return re.sub(r" +>", ">", re.sub(ABI + "(detail::core::)?", "", name))


def policy_arguments(policy):
    short = without_namespaces(policy)
    return [] if short == "default_policy" else [short]


def blocks_in(name):
    """Returns the policy of a basic_block_pool, and whether threads share the pool."""
    _, (policy, store) = split_template(name)
    return policy_arguments(policy), base_name(store) == "shared_blocks"


def block_pool_name(name):
    policy, is_shared = blocks_in(name)
    prefix = ("basic_" if policy else "") + ("concurrent_" if is_shared else "")
    return template(prefix + "block_pool", policy)


def named_for_sharing(own, others):
    """For a class template over an object type and blocks: shared and unshared pools have different prefixes."""
    def written(name):
        base, (item, blocks) = split_template(name)
        policy, is_shared = blocks_in(blocks)
        return template((own if is_shared else others) + base_name(base).replace("basic_", ""),
                        [without_namespaces(item)] + policy)
    return written


def with_policy(name):
    base, (item, policy) = split_template(name)
    return template(base_name(base), [without_namespaces(item)] + policy_arguments(policy))


def arena_resource_name(name):
    _, (policy, arenas) = split_template(name)
    policy = policy_arguments(policy)
    kind = "synchronized_" if base_name(arenas) == "shared_arenas" else "unsynchronized_"
    return template(("basic_" if policy else "") + kind + "arena_resource", policy)


def pool_resource_name(name):
    policy, is_shared = blocks_in(split_template(name)[1][0])
    kind = "synchronized_" if is_shared else "unsynchronized_"
    return template(("basic_" if policy else "") + kind + "pool_resource", policy)


NAMES = {
    "basic_block_pool": block_pool_name,
    "basic_object_pool": named_for_sharing("concurrent_", ""),
    "handle_pool": with_policy,
    "concurrent_handle_pool": with_policy,
    "intrusive_pool": with_policy,
    "recycling_pool": with_policy,
    "basic_shared_pool": named_for_sharing("", "unsynchronized_"),
    "basic_recycling_shared_pool": named_for_sharing("", "unsynchronized_"),
    "basic_arena_resource": arena_resource_name,
    "basic_pool_resource": pool_resource_name,
}


def public_name(name):
    """Returns the type in the form that users write: the alias of fwd.hpp, without the inline namespace."""
    return NAMES.get(base_name(name), without_namespaces)(name)


# ---------------------------------------------------------------------------------------------------------------------
# Types of the standard library: only their layout is portable

def loaded(atomic):
    """Returns the value of a std::atomic."""
    return atomic.at(atomic.address(), atomic.argument(0))


def owned(unique_ptr):
    """Returns the store of a std::unique_ptr, or None. The deleter has no data."""
    address = unique_ptr.first_pointer()
    return unique_ptr.at(address, unique_ptr.argument(0)) if address else None


def elements(array):
    """Yields the elements of a std::array that are not all zeros."""
    its_type = array.argument(0)
    size = array.at(array.address(), its_type).size()
    memory = array.memory(array.address(), array.size())
    for offset in range(0, array.size(), size):
        if any(memory[offset:offset + size]):
            yield array.at(array.address() + offset, its_type)


def characters(array):
    """The text in a std::array of characters."""
    return array.memory(array.address(), array.size()).partition(b"\0")[0].decode(errors="replace")


def listed(first, next_name):
    """Yields the nodes of a list of the library. Stops if the list is corrupted."""
    seen = set()
    while first.integer() and first.integer() not in seen:
        seen.add(first.integer())
        node = first.pointee()
        yield node
        first = node.member(next_name)


def whole_at(value, address):
    """Returns the complete object of a polymorphic base at an address. Debuggers find the complete object by its
    virtual table, but not if the base is only declared, as std::pmr::memory_resource often is. Uses the Itanium ABI."""
    table = value.pointer_at(address)
    name = re.match(r"vtable for (.*)", value.symbol_at(table))
    if name is None:
        raise Unreadable(f"cannot read: no virtual function table at {address:#x}")
    bits = 8 * value.pointer_size()
    to_top = value.pointer_at(table - 2 * value.pointer_size())
    return value.at((address + to_top) % (1 << bits), value.type_named(name[1]))


# ---------------------------------------------------------------------------------------------------------------------
# Pools of blocks

class Figures:
    """The counts of one pool."""

    def __init__(self, slabs, bytes_beside_slabs):
        chunks = slabs.member("chunks_")
        number = lambda name: chunks.member(name).integer()  # noqa: E731
        identity = chunks.member("identity_")
        directory = chunks.member("directory_")
        array = directory.member("slabs_").integer()
        own_array = directory.member("few_").address()
        room = directory.member("room_").integer()
        self.block_size = identity.member("block_size").integer()
        self.stride = chunks.member("layout_").member("stride_").integer()
        self.capacity = number("capacity_")
        self.max_capacity = number("limit_")
        self.outstanding = slabs.member("outstanding_").integer()
        self.bytes = number("chunk_bytes_") + number("inherited_bytes_") + bytes_beside_slabs
        if array != own_array:
            self.bytes += room * directory.member("slabs_").size()
        self.cached = 0
        self.is_exact = True
        self.remarks = []
        if self.stride == 0 or self.outstanding > self.capacity or self.capacity > self.max_capacity:
            raise Unreadable("not constructed yet, destroyed, or damaged")
        self.name = identity.member("name").text()

    @property
    def in_use(self):
        return max(self.outstanding - self.cached, 0)

    def line(self, name):
        about = "" if self.is_exact else "about "
        remarks = "".join(f", {remark}" for remark in self.remarks)
        return f'{name} "{self.name}": {about}{self.in_use} of {self.capacity} in use, {self.bytes} bytes{remarks}'


def local_figures(store):
    """As local_store::in_use and bytes_reserved."""
    slabs, caches = store.member("slabs_"), store.member("caches_")
    magazine = caches.member("magazine_")
    pointer_size = magazine.member("top_").size()
    bottom, top, end = (magazine.member(name).integer() for name in ("bottom_", "top_", "end_"))
    own_array = slabs.member("chunks_").member("room_for_magazine_").member("array").integer()
    figures = Figures(slabs, end - bottom if bottom != own_array else 0)
    if not bottom <= top <= end:
        raise Unreadable("not constructed yet, destroyed, or damaged")
    outgoing, incoming = caches.member("outgoing_"), caches.member("incoming_")
    in_span = outgoing.member("end").integer() - outgoing.member("begin").integer()
    in_row = abs(incoming.member("next").integer() - incoming.member("first").integer())
    figures.cached = (top - bottom) // pointer_size + (in_span + in_row) // figures.stride
    return figures


def caches_of(caches, which):
    """Yields the caches of a shared pool, of live threads or unused, each with its complete type."""
    its_type = caches.argument(0)
    for cache in listed(caches.member(which).member("first_"), "next_in_pool"):
        yield cache.at(cache.address(), its_type)


def bytes_of_caches(caches):
    its_size = caches.at(caches.address(), caches.argument(0)).size()
    return caches.member("made_").integer() * its_size


def round_up(number, step):
    return -(-number // step) * step


def bytes_of_header(magazine):
    """As depot_magazine::head_bytes: the pointers to blocks follow its last member."""
    number = magazine.member("number")
    return round_up(number.address() + number.size() - magazine.address(), magazine.pointer_size())


def in_depot(depot):
    """As depot::full_count: blocks in full magazines. Each magazine stores its depth in the stack."""
    links = (1 << 26) - 1  # The other bits of the head of a tagged_stack are a tag.
    first_group, room = depot.member("first_group_").integer(), depot.member("room_").integer()
    its_type = depot.type_named(depot.type_name() + "_magazine")
    magazines = 0
    for shard in elements(depot.member("shards_")):
        link = loaded(shard.member("full").member("head_")).integer() & links
        if link == 0:
            continue
        group = ((link - 1) // first_group + 1).bit_length() - 1
        place = link - 1 - first_group * ((1 << group) - 1)
        begin = depot.pointer_at(depot.member("groups_").address() + group * depot.pointer_size())
        first = depot.at(begin, its_type)
        # The members take less than a cache line, the alignment of the type.
        size = round_up(bytes_of_header(first) + room * depot.pointer_size(), first.size())
        magazines += loaded(depot.at(begin + place * size, its_type).member("depth")).integer()
    return magazines * room


def in_cache(cache, room):
    """As magazine_exchange::blocks_in; None while its thread is in a call: the top of the magazine is then unknown."""
    slot = cache.member("slot").pointee()
    if loaded(slot.member("ceiling")).integer() == 0:
        return 0  # The exchange is closed.
    top = loaded(slot.member("top")).integer()
    if top == 0:
        return None
    magazine = loaded(cache.member("loaded")).pointee()
    in_magazine = (top - magazine.address() - bytes_of_header(magazine)) // cache.pointer_size()
    is_full = loaded(cache.member("previous_is_full")).integer()
    return min(in_magazine, room) + (room if is_full else 0)


def gate_of(store):
    """Returns the cache_revocation of shared blocks (`store` itself may be one); None if the blocks are not shared."""
    if base_name(store.type_name()) == "cache_revocation":
        return store
    return store.member("gate_") if base_name(store.type_name()) == "shared_blocks" else None


def shared_figures(store):
    """As cached_slabs::in_use and bytes_reserved."""
    gate = gate_of(store)
    cached = gate.member("cached")
    caches, depot, spare = cached.member("caches"), gate.member("exchange").member("depot_"), cached.member("spare_")
    figures = Figures(cached.member("slabs"), depot.member("bytes_reserved_").integer() + bytes_of_caches(caches))
    in_span = spare.member("end").integer() - spare.member("begin").integer()
    figures.cached = in_span // figures.stride + in_depot(depot)
    for cache in caches_of(caches, "used_"):
        blocks = in_cache(cache, depot.member("room_").integer())
        figures.is_exact = figures.is_exact and blocks is not None
        figures.cached += blocks or 0
    waiting = sum(1 for _ in listed(gate.member("queue").member("first_"), "next"))
    if waiting:
        figures.remarks.append(f"{waiting} thread{'s wait' if waiting != 1 else ' waits'} for a block")
    return figures


def figures_of_blocks(pool):
    """The counts of a basic_block_pool."""
    store = pool.member("store_")
    is_shared = base_name(store.type_name()) == "shared_blocks"
    return shared_figures(store) if is_shared else local_figures(store)


def figures_of_store(store):
    """The counts of an object_store, which is separate from its pool because objects may outlive the pool."""
    figures = figures_of_blocks(store.member("blocks"))
    figures.bytes += store.size()
    return figures


def describe_block_pool(pool):
    return figures_of_blocks(pool).line(public_name(pool.type_name()))


def describe_object_pool(pool):
    return figures_of_blocks(pool.member("blocks_")).line(public_name(pool.type_name()))


def bytes_of_places(places):
    """As place_table::bytes: each chunk has twice as many slots as the previous one."""
    chunks = list(elements(places.member("chunks_")))
    return 64 * ((1 << len(chunks)) - 1) * loaded(chunks[0]).pointee().size() if chunks else 0


def describe_handle_pool(pool):
    figures = figures_of_blocks(pool.member("blocks_"))
    figures.bytes += bytes_of_places(pool.member("places_"))
    return figures.line(public_name(pool.type_name()))


def describe_store_pool(pool):
    name = public_name(pool.type_name())
    store = owned(pool.member("store_"))
    return f"{name}: moved from" if store is None else figures_of_store(store).line(name)


# ---------------------------------------------------------------------------------------------------------------------
# Resources

def arenas_in(store):
    """Yields the entries that were ever used."""
    size = store.member("arena_size_").integer()
    for chunk in listed(store.member("first_chunk_"), "next_chunk"):
        for i in range(chunk.member("carved_arenas").integer()):
            yield chunk.at(chunk.address() + i * size, store.argument(0))


def in_arena(arena):
    """As bytes_in_use of arena, arena_mark and shared_arena."""
    cursor, floor = arena.member("cursor"), arena.member("floor")
    if base_name(arena.type_name()) in ("arena", "arena_mark"):
        return cursor.integer() - floor.integer()
    return loaded(cursor).integer() - loaded(floor).integer() + loaded(arena.member("balance")).integer()


def filled_arenas(arenas):
    """Yields the arenas that blocks are allocated from."""
    if base_name(arenas.type_name()) == "local_arenas":
        if arenas.member("end_of_current_").integer():  # If it is 0, the current arena is no_arena.
            yield arenas.member("current_").pointee()
        return
    currents = [arenas.member("common_")]
    for which in ("used_", "unused_"):
        currents += [cache.member("current") for cache in caches_of(arenas.member("caches_"), which)]
    for current in map(loaded, currents):
        if current.integer():
            yield current.pointee()


def describe_arena_resource(resource):
    arenas = resource.member("arenas_")
    store, large = arenas.member("store_"), arenas.member("large_")
    count, carved, free = (store.member(name).integer() for name in ("arena_count_", "carved_count_", "free_count_"))
    if not free <= carved <= count:
        raise Unreadable("not constructed yet, destroyed, or damaged")
    free += count - carved + sum(1 for arena in filled_arenas(arenas) if in_arena(arena) == 0)
    in_use = large.member("bytes_in_use_").integer() + sum(map(in_arena, arenas_in(store)))
    reserved = count * store.member("arena_size_").integer() + large.member("bytes_reserved_").integer()
    if base_name(arenas.type_name()) == "shared_arenas":
        reserved += bytes_of_caches(arenas.member("caches_"))
    else:  # If a scope began in this arena, the mark of the scope counts the earlier blocks.
        in_use += sum(in_arena(mark) for mark in listed(arenas.member("innermost_"), "outer")
                      if mark.member("at").integer())
    return (f'{public_name(resource.type_name())} "{store.member("name_").text()}": {count - free} of {count} arenas '
            f"in use, {in_use} bytes in use, {reserved} bytes")


def pools_in(resource):
    """The block pools of a pool resource."""
    for place in elements(resource.member("pools_").member("pools_")):
        yield loaded(place).pointee()


def describe_pool_resource(resource):
    pools, large = resource.member("pools_"), resource.member("pools_").member("large_")
    count, in_use, reserved = 0, large.member("bytes_in_use_").integer(), large.member("bytes_reserved_").integer()
    for pool in pools_in(resource):
        figures = figures_of_blocks(pool)
        count += 1
        in_use += figures.in_use * figures.block_size
        reserved += figures.bytes + pool.size()
    return (f'{public_name(resource.type_name())} "{pools.member("name_").text()}": {count} '
            f"pool{'s' if count != 1 else ''}, {in_use} bytes in use, {reserved} bytes")


def describe_page_resource(resource):
    name = resource.member("options_").member("name").text()
    return f'page_resource "{name}": {loaded(resource.member("bytes_in_use_")).integer()} bytes in use'


def describe_counting_adaptor(resource):
    counters = resource.member("counters_")
    value = lambda name: loaded(counters.member(name)).integer()  # noqa: E731
    return (f"{public_name(resource.type_name())}: {value('bytes_in_use_')} bytes in use (peak "
            f"{value('peak_bytes_in_use_')}), {value('in_use_')} chunks in use (peak {value('peak_in_use_')}), "
            f"{value('allocations_')} allocations, {value('failures_')} failures")


def describe_limit_resource(resource):
    options = resource.member("options_")
    in_use = loaded(resource.member("bytes_in_use_")).integer()
    return (f'limit_resource "{options.member("name").text()}": {in_use} of '
            f"{number_or_unbounded(options.member('limit'))} bytes in use")


def describe_failing_resource(resource):
    calls, failures = resource.member("calls_").integer(), resource.member("failures_").integer()
    return f"failing_resource: {calls} calls, {failures} failures"


def describe_synchronized_resource(resource):
    return f"synchronized_resource over {describe_pool_at(resource.member('upstream_'))}"


def describe_block_resource(resource):
    return f"block_resource over {describe_pool_at(resource.member('pool_'))}"


def describe_resource_allocator(allocator):
    item = without_namespaces(split_template(allocator.type_name())[1][0])
    return f"resource_allocator<{item}> from {describe_pool_at(allocator.member('resource_'))}"


def describe_heap_resource(resource):
    return f"np_heap_resource: heap {resource.member('heap_').integer():#x}"


def describe_pool_at(pointer):
    """Returns the line of the pool or resource that the value refers to, if there is one."""
    address = pointer.pointee().address()
    if address == 0:
        return "nullptr"
    if POOLS.match(pointer.pointee().type_name()):
        return describe(pointer.pointee())
    try:
        return describe(whole_at(pointer, address)) or f"a resource at {address:#x}"
    except Unreadable:
        return f"a resource at {address:#x}"


# ---------------------------------------------------------------------------------------------------------------------
# Values

def number_or_unbounded(value):
    number = value.integer()
    return "unbounded" if number == (1 << 8 * value.size()) - 1 else str(number)


def describe_options(*names):
    def describe_these(options):
        figures = ", ".join(f"{name} {number_or_unbounded(options.member(name))}" for name in names)
        prefault = ", prefault" if options.member("prefault").integer() else ""
        return f'{public_name(options.type_name())} "{options.member("name").text()}": {figures}{prefault}'
    return describe_these


def describe_statistics(*names):
    def describe_these(statistics):
        figures = ", ".join(f"{name} {statistics.member(name).integer()}" for name in names)
        return f"{public_name(statistics.type_name())}: {figures}"
    return describe_these


def describe_limit_options(options):
    return (f'limit_options "{options.member("name").text()}": limit {number_or_unbounded(options.member("limit"))}, '
            f"soft_limit {number_or_unbounded(options.member('soft_limit'))}")


def describe_page_options(options):
    kinds = ["as_the_system_does", "transparent", "reserved"]
    prefault = ", prefault" if options.member("prefault").integer() else ""
    return (f'page_options "{options.member("name").text()}": '
            f"huge_pages {kinds[options.member('huge_pages').integer()]}{prefault}")


def describe_call_site(site):
    return f"{site.member('file').text()}:{site.member('line').integer()}"


def describe_pooled(item):
    """Counts below reference_zones::idle are references; higher ones mark objects without references."""
    count = item.member("count_").member("value_")
    references = (loaded(count) if base_name(count.type_name()) == "atomic" else count).integer()
    if references == 0xC000_0000:
        return "pooled: more references than can be counted"
    if references >= 0x4000_0000:
        return "pooled: no references"
    return f"pooled: {references} reference{'s' if references != 1 else ''}"


DESCRIPTIONS = {
    "basic_block_pool": describe_block_pool,
    "basic_object_pool": describe_object_pool,
    "handle_pool": describe_handle_pool,
    "concurrent_handle_pool": describe_handle_pool,
    "intrusive_pool": describe_store_pool,
    "recycling_pool": describe_store_pool,
    "basic_shared_pool": describe_store_pool,
    "basic_recycling_shared_pool": describe_store_pool,
    "basic_arena_resource": describe_arena_resource,
    "basic_pool_resource": describe_pool_resource,
    "page_resource": describe_page_resource,
    "tracking_resource": describe_counting_adaptor,
    "limit_resource": describe_limit_resource,
    "failing_resource": describe_failing_resource,
    "synchronized_resource": describe_synchronized_resource,
    "block_resource": describe_block_resource,
    "resource_allocator": describe_resource_allocator,
    "np_heap_resource": describe_heap_resource,
    "pool_options": describe_options(
        "initial_capacity", "max_capacity", "growth_step", "max_cached_blocks", "alignment"),
    "arena_options": describe_options("arena_count", "arena_size", "max_arenas"),
    "limit_options": describe_limit_options,
    "page_options": describe_page_options,
    "pool_statistics": describe_statistics(
        "in_use", "peak_in_use", "allocations", "deallocations", "failures", "slabs", "bytes_reserved"),
    "resource_statistics": describe_statistics(
        "bytes_in_use", "peak_bytes_in_use", "in_use", "peak_in_use", "allocations", "deallocations", "failures"),
    "call_site": describe_call_site,
    "pooled": describe_pooled,
}

POOLS = re.compile("^" + ABI + "(basic_block_pool|basic_object_pool|handle_pool|concurrent_handle_pool|"
                   "intrusive_pool|recycling_pool|basic_shared_pool|basic_recycling_shared_pool|basic_arena_resource|"
                   "basic_pool_resource)<.*>$")


def pattern(name):
    """Returns the regular expression for the names of a type that has a description."""
    return "^" + ABI + name + "(<.*>)?$"


def describe(value):
    """Returns one line about a pool, a resource or a value of the library; None if the type has no description."""
    for name, description in DESCRIPTIONS.items():
        if re.match(pattern(name), value.type_name()):
            try:
                return description(value)
            except (Unreadable, RecursionError) as reason:
                return f"{public_name(value.type_name())}: {reason}"
    return None


# ---------------------------------------------------------------------------------------------------------------------
# All pools of a program

class Found:
    """A pool: its line, its location, and the address of its blocks, which identifies it."""

    def __init__(self, key, line, where, parts=()):
        self.key, self.line, self.where, self.parts = key, line, where, parts


def key_of(pool):
    name = base_name(pool.type_name())
    if name == "basic_pool_resource":
        return pool.member("pools_").address()
    if name == "basic_arena_resource":
        return pool.member("arenas_").address()
    if name == "basic_block_pool":
        return pool.member("store_").address()
    if name in ("basic_object_pool", "handle_pool", "concurrent_handle_pool"):
        return key_of(pool.member("blocks_"))
    store = owned(pool.member("store_"))
    return pool.address() if store is None else key_of(store.member("blocks"))


def found(pool, where):
    is_resource = base_name(pool.type_name()) == "basic_pool_resource"
    parts = [key_of(each) for each in pools_in(pool)] if is_resource else []
    return Found(key_of(pool), describe(pool), where, parts)


def is_constructed(pool):
    """Returns whether the variable is a live pool: after the end of its constructor and before its destructor."""
    try:
        key_of(pool)
        return not re.search(": (not constructed|cannot read)", describe(pool))
    except Unreadable:
        return False


POOLS_OF_STORES = {
    "constructing_store": "intrusive_pool",
    "recycling_store": "recycling_pool",
    "constructing_shared_store": "shared_pool",
    "recycling_shared_store": "recycling_shared_pool",
}


def found_store(blocks, figures_of, where, kind=None, more_bytes=0):
    """A block pool, found through its part in a registry. Only a pool with a listener can be shown completely."""
    gate = gate_of(blocks)
    slabs = gate.member("cached").member("slabs") if gate else blocks.member("slabs_")
    listener = slabs.member("chunks_").member("options_").member("listener")
    if not listener.integer():
        figures = figures_of(blocks)
        figures.bytes += more_bytes
        name = kind or f"concurrent pool of {figures.block_size}-byte blocks"
        return Found(blocks.address(), figures.line(name), where)
    store = whole_at(listener, listener.integer())
    base, (item, its_blocks) = split_template(store.type_name())
    figures = figures_of_store(store)
    if (gate.member("is_abandoned") if gate else blocks.member("caches_").member("is_abandoned_")).integer():
        figures.remarks.append("in objects that have outlived the pool")
    name = template(kind or POOLS_OF_STORES[base_name(base)], [without_namespaces(item)] + blocks_in(its_blocks)[0])
    return Found(blocks.address(), figures.line(name), where)


def registered(registry):
    """Yields (value, address) of each pool in the groups of a thread_registry. `value` only serves to read memory."""
    places_in_a_group = 256
    for group in elements(registry.member("groups_")):
        for place in range(places_in_a_group):
            address = group.pointer_at(group.integer() + place * group.pointer_size())
            if address:
                yield group, address


def pools_in_registry(registry):
    """Yields the shared pools only: see thread_registry.hpp."""
    for value, address in registered(registry):
        where = "shared by threads"
        try:
            entry = whole_at(value, address)
            name = base_name(entry.type_name())
            if name == "handlers":
                yield found_store(entry.member("owner_").pointee(), shared_figures, where)
            else:  # shared_arenas or locked_upstream: in a resource, after the pointer to its virtual table.
                yield found(whole_at(entry, entry.address() - entry.pointer_size()), where)
        except Unreadable as reason:
            yield Found(address, f"a pool at {address:#x}: {reason}", where)


def found_by_name(record):
    """A reported pool or resource, from its record (report_registry.hpp), whose function determines the type."""
    where = "by its name"
    source = record.member("source_")
    address, kind = source.member("pool").integer(), loaded(record.member("kind_")).text()
    try:
        function = re.search(r"([\w:]+(<.*>)?)::read_statistics\(", record.symbol_at(source.member("read").integer()))
        if function is None:
            raise Unreadable("cannot read: no symbol of its function read_statistics")
        pool = record.at(address, record.type_named(function[1]))
        name = base_name(pool.type_name())
        if name in ("local_store", "shared_blocks"):
            figures_of = local_figures if name == "local_store" else shared_figures
            return found_store(pool, figures_of, where, kind, loaded(record.member("more_bytes_")).integer())
        return found(pool, where) if POOLS.match(pool.type_name()) else Found(address, describe(pool), where)
    except Unreadable as reason:
        return Found(address, f'{kind} "{characters(record.member("name_"))}": {reason}', where)


def pools_in_reports(registry):
    """Yields the named pools. In the child of a fork, a pool of a lost thread may no longer exist."""
    for record in listed(registry.member("records_").member("first_"), "next_"):
        if loaded(record.member("maker_")).integer():
            yield found_by_name(record)


def all_pools(sources):
    """Returns each pool once, from the first source that has it. A source is a sequence of Found; to list other pools,
    add a source. Pools that are parts of a resource are included in the line of the resource."""
    pools = {}
    for source in sources:
        for each in source:
            pools.setdefault(each.key, each)
    parts = {key for each in pools.values() for key in each.parts}
    return [each for key, each in pools.items() if key not in parts]


def listing(pools):
    """Returns the output of the command that lists the pools."""
    width = max((len(each.line) for each in pools), default=0)
    return [f"{each.line:<{width}}  {each.where}" for each in pools] or ["no pools"]
