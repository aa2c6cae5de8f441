// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of a resource, filled to the last byte to detect overlaps and foreign writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace test {
/// A block of a resource, with the size and alignment of its request.
struct filled_block
{
    unsigned char* address;
    std::size_t bytes;
    std::size_t alignment;

    bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(address) % alignment == 0; }
    bool is_intact() const
    {
        return std::all_of(address, address + bytes, [value = filling()](unsigned char byte) { return byte == value; });
    }
    void fill() const { std::memset(address, filling(), bytes); }

private:
    /// Differs between blocks that begin a granule apart.
    unsigned char filling() const
    {
        return static_cast<unsigned char>((reinterpret_cast<std::uintptr_t>(address) / 8 * 37 + bytes) & 0xFF);
    }
};

/// Effects: allocates a block and fills it.
template <class Resource>
filled_block allocate_filled(Resource& resource, std::size_t bytes, std::size_t alignment = alignof(std::max_align_t))
{
    const filled_block block{static_cast<unsigned char*>(resource.allocate(bytes, alignment)), bytes, alignment};
    block.fill();
    return block;
}

/// Effects: frees a block.
/// Returns whether its contents were intact.
template <class Resource>
bool give_back(Resource& resource, const filled_block& block)
{
    const bool is_intact = block.is_intact();
    resource.deallocate(block.address, block.bytes, block.alignment);
    return is_intact;
}

/// Effects: frees blocks.
/// Returns whether the contents of all blocks were intact.
template <class Resource>
bool give_back_all(Resource& resource, const std::vector<filled_block>& blocks)
{
    bool are_intact = true;
    for (const filled_block& block : blocks)
        are_intact = give_back(resource, block) && are_intact;
    return are_intact;
}
} // namespace test
