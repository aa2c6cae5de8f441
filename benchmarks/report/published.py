# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Figures that the five originals publish in their README, each measured on its author's machine. They are shown beside
ours: ratios within a column can be compared, times across columns cannot."""

SIZES = (8, 32, 128, 512, 2048, 8192, 32768)
# memory_pool (Apple M1): nanoseconds of CPU time for all objects of a pool.
MEMORY_POOL = {
    "creation": (275, 258, 394, 871, 2755, 9479, 36014),
    "destruction": (886, 910, 930, 1085, 1712, 4037, 13314),
    "sequential_allocation": (813, 807, 888, 1178, 2245, 6016, 21381),
    "random_allocation": (61722, 63001, 74192, 110492, 241700, 756558, 2789341),
    "sequential_deallocation": (817, 839, 997, 1544, 3565, 11751, 43179),
    "random_deallocation": (62230, 62921, 73990, 111396, 259046, 829298, 3095656),
}
# boost-intrusive-pool (Intel Core i5-4570, Ubuntu 18.04): savings over plain malloc in per cent, by malloc and pattern.
INTRUSIVE_POOL_SAVES = {("glibc", "continuous"): 44, ("tcmalloc", "continuous"): 67, ("jemalloc", "continuous"): 76,
                        ("glibc", "mixed"): 40, ("tcmalloc", "mixed"): 73, ("jemalloc", "mixed"): 53}
# ArenaMR (Rocky Linux, GCC 11), in milliseconds, by benchmark.
ARENA_MR = {"benchmark1": {"ArenaMR": 159.07, "new/delete": 244.94, "std::pmr pool": 246.66,
                           "std::pmr monotonic": 191.30},
            "benchmark2": {"ArenaMR": 7.35, "new/delete": 10.25, "std::pmr pool": 12.28, "std::pmr monotonic": 7.37}}
# poolAllocator (Intel Core i7-9700K), nanoseconds: (PoolAllocator, new and delete).
POOL_ALLOCATOR = {"single": (0.772, 10.3), "bulk": (19364, 175021), "churn": (165, 1526)}
# np_alloc (two Xeon X5570, Windows 10), seconds: (malloc, np_alloc).
NP_ALLOC = {"random_many": (5.1139, 1.2951), "small_many": (0.7339, 0.6819), "big_many": (3.0850, 0.8270),
            "random_one": (1.4316, 0.2296), "small_one": (0.2810, 0.0977), "big_one": (1.7625, 0.2321)}
