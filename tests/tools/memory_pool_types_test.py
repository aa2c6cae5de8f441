#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debuggers recognise the types of the library in each inline namespace, and show them as users write them."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "debuggers"))
import memory_pool_types  # noqa: E402

POLICY = "memory_pool::{0}::default_policy"
STORE = "memory_pool::{0}::detail::core::local_store<" + POLICY + ">"
LOCAL = "memory_pool::{0}::basic_block_pool<" + POLICY + ", " + STORE + " >"
SHARED = LOCAL.replace("local_store", "shared_blocks")
COUNTED = LOCAL.replace("default_policy", "counting_policy")

PUBLIC_NAMES = {
    LOCAL: "block_pool",
    SHARED: "concurrent_block_pool",
    COUNTED: "basic_block_pool<counting_policy>",
    "memory_pool::{0}::basic_object_pool<app::order, " + LOCAL + " >": "object_pool<app::order>",
    "memory_pool::{0}::basic_object_pool<std::pair<int, (anonymous namespace)::item>, " + COUNTED + " >":
        "object_pool<std::pair<int, (anonymous namespace)::item>, counting_policy>",
    "memory_pool::{0}::basic_object_pool<app::order, " + SHARED + ">": "concurrent_object_pool<app::order>",
    "memory_pool::{0}::handle_pool<app::order, " + POLICY + ">": "handle_pool<app::order>",
    "memory_pool::{0}::concurrent_handle_pool<app::order, memory_pool::{0}::counting_policy>":
        "concurrent_handle_pool<app::order, counting_policy>",
    "memory_pool::{0}::intrusive_pool<app::order, " + POLICY + ">": "intrusive_pool<app::order>",
    "memory_pool::{0}::basic_shared_pool<app::order, " + SHARED + " >": "shared_pool<app::order>",
    "memory_pool::{0}::basic_recycling_shared_pool<app::order, " + LOCAL + " >":
        "unsynchronized_recycling_shared_pool<app::order>",
    "memory_pool::{0}::basic_arena_resource<" + POLICY + ", memory_pool::{0}::detail::core::shared_arenas>":
        "synchronized_arena_resource",
    "memory_pool::{0}::basic_pool_resource<" + COUNTED + ", memory_pool::{0}::detail::core::plain_upstream>":
        "basic_unsynchronized_pool_resource<counting_policy>",
    "memory_pool::{0}::limit_resource": "limit_resource",
}


class MemoryPoolTypes(unittest.TestCase):
    def test_names_types_as_users_write_them_in_every_inline_namespace(self):
        for abi in ("v0", "v1_noexcept", "v12_asan_valgrind"):
            for written, name in PUBLIC_NAMES.items():
                with self.subTest(abi=abi, written=written):
                    self.assertEqual(memory_pool_types.public_name(written.replace("{0}", abi)), name)

    def test_has_a_pattern_that_matches_exactly_these_types(self):
        patterns = [memory_pool_types.pattern(name) for name in memory_pool_types.DESCRIPTIONS]
        for written in PUBLIC_NAMES:
            full = written.replace("{0}", "v3_tsan")
            self.assertEqual(sum(re.match(pattern, full) is not None for pattern in patterns), 1, full)
            self.assertFalse(any(re.match(pattern, f"std::vector<{full}>") for pattern in patterns), full)

    def test_lists_each_pool_once_from_its_first_source(self):
        found = memory_pool_types.Found
        pools = memory_pool_types.all_pools([
            [found(1, "first", "here")],
            [found(1, "the same", "there"), found(2, "a part", "there"), found(3, "a resource", "there", [2])],
        ])
        self.assertEqual([each.line for each in pools], ["first", "a resource"])
        self.assertEqual(memory_pool_types.listing(pools), ["first       here", "a resource  there"])
        self.assertEqual(memory_pool_types.listing([]), ["no pools"])


if __name__ == "__main__":
    unittest.main()
