// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Mismatched deallocation, and deallocation with a wrong size.
#include "attacks.hpp"

namespace attacks {
namespace {
/// Returns: a block that the owner has allocated by that form of new.
void* from_new(scene& here, form_of_new form)
{
    void* block = nullptr;
    here.by_owner([&] { block = by_new(here.bytes(), form); });
    here.is_about(block);
    here.begin_attack(block);
    return block;
}

void* from_malloc(scene& here)
{
    void* const block = here.block();
    here.begin_attack(block);
    return block;
}

constexpr form_of_new plain{};
constexpr form_of_new array{0, true, 0};
constexpr form_of_new aligned{64, false, 0};
constexpr form_of_new aligned_array{64, true, 0};

form_of_new with_size(std::size_t bytes)
{
    return {0, false, bytes};
}
} // namespace

std::vector<attack> mismatches()
{
    return {
        {"malloc, free", always, [](scene& here) { np_free(from_malloc(here)); }},
        {"malloc, delete", always, [](scene& here) { by_delete(from_malloc(here), plain); }},
        {"new, free", always, [](scene& here) { np_free(from_new(here, plain)); }},
        {"new[], free", always, [](scene& here) { np_free(from_new(here, array)); }},
        {"aligned new, free", always, [](scene& here) { np_free(from_new(here, aligned)); }},
        {"new, realloc", always, [](scene& here) { here.keep(np_realloc(from_new(here, plain), here.bytes() + 1)); }},
        {"malloc, aligned delete", always, [](scene& here) { by_delete(from_malloc(here), aligned); }},
        {"new[], delete", always, [](scene& here) { by_delete(from_new(here, array), plain); }},
        {"new, delete[]", always, [](scene& here) { by_delete(from_new(here, plain), array); }},
        {"aligned new, plain delete", always, [](scene& here) { by_delete(from_new(here, aligned), plain); }},
        {"plain new, aligned delete", always, [](scene& here) { by_delete(from_new(here, plain), aligned); }},
        {"aligned new[], aligned delete", always,
         [](scene& here) { by_delete(from_new(here, aligned_array), aligned); }},
        {"new[], delete of the right size", always,
         [](scene& here) { by_delete(from_new(here, array), with_size(here.bytes())); }},
        {"delete of a smaller size", always,
         [](scene& here) { by_delete(from_new(here, plain), with_size(here.bytes() / 4)); }},
        {"delete of a larger size", always,
         [](scene& here) { by_delete(from_new(here, plain), with_size(here.bytes() * 4)); }},
        {"free_sized, smaller", always, [](scene& here) { np_free_sized(from_malloc(here), here.bytes() / 4); }},
        {"free_sized, larger", always, [](scene& here) { np_free_sized(from_malloc(here), here.bytes() * 4); }},
        {"free_aligned_sized, misaligned", always,
         [](scene& here) { np_free_aligned_sized(from_malloc(here), 65536, here.bytes()); }},
    };
}
} // namespace attacks
