// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The code of the program and its libraries, including unloaded ones. A frame of a sample refers to its module, so a
/// library loaded later at the same addresses is not mistaken for that module.
///
///     address  ->  code_frame: module, offset  ->  "lib.so+0x1139" and a build ID, or a symbol while it is loaded
///
/// A library that is loaded again, even at other addresses, keeps its module.
///
/// Thread safety: as documented at each class.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/lasting_memory.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/loaded_code.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An executable segment. Never destroyed.
///
/// Thread safety: any thread.
struct code_module
{
    static constexpr std::size_t max_build_id_bytes = 64; ///< Longer IDs are truncated.

    std::atomic<std::uintptr_t> base;     ///< As in loaded_code, from the last load.
    std::atomic<bool> is_loaded;          ///< As of the last walk.
    std::atomic<const code_module*> next; ///< In the order of discovery.
    const std::uint64_t number;           ///< Counted from 1.
    const std::uintptr_t begin;           ///< As in loaded_code.
    const std::size_t bytes;
    const std::uint64_t file_offset;
    std::string_view path; ///< Null-terminated.
    std::string_view build_id;
    std::uint64_t last_walk; ///< Guarded by the lock of code_modules.

    bool contains(std::uintptr_t address) const noexcept
    {
        return address - base.load(std::memory_order_relaxed) - begin < bytes;
    }
};

/// A place in the code. A default-constructed frame stands for the missing callers of a truncated stack.
struct code_frame
{
    const code_module* module = nullptr;
    std::uintptr_t offset = 0; ///< From the base of the module; without a module, the address.

    bool is_truncation() const noexcept { return module == nullptr && offset == 0; }

    std::uintptr_t address() const noexcept
    {
        return (module != nullptr ? module->base.load(std::memory_order_relaxed) : 0) + offset;
    }

    /// Returns: the location, as far as known.
    os::code_place place() const noexcept
    {
        if (is_truncation())
            return {nullptr, 0, "[truncated]"};
        // NOLINTBEGIN(bugprone-suspicious-stringview-data-usage): the path is terminated
        if (module != nullptr && !module->is_loaded.load(std::memory_order_relaxed))
            return {module->path.data(), offset, nullptr};
        // NOLINTEND(bugprone-suspicious-stringview-data-usage)
        return os::find_code(reinterpret_cast<const void*>(address()));
    }

    friend bool operator==(const code_frame& a, const code_frame& b) noexcept
    {
        return a.module == b.module && a.offset == b.offset;
    }
};

/// All modules found so far, in memory from Pages. To update them, the owner walks over all loaded code: begin, note,
/// ..., end.
///
/// Thread safety: none; the owner has a lock. Any thread may read the modules.
template <class Pages>
class code_modules : base::immovable<code_modules<Pages>>
{
public:
    /// Returns: the number of a walk over all loaded code; 0 if nothing has changed since the last walk.
    std::uint64_t begin(const os::load_counts& now) noexcept
    {
        return now.loads == counts_.loads && now.unloads == counts_.unloads ? 0 : ++walks_;
    }

    /// Effects: records loaded code. Best effort: on OOM the code gets no module.
    void note(const os::loaded_code& code, std::uint64_t walk) noexcept
    {
        code_module* noted = find_if([&](const code_module& each) {
            return each.base.load(std::memory_order_relaxed) == code.base && is_same(each, code);
        });
        if (noted == nullptr)
            noted = find_if([&](const code_module& each) {
                return !each.is_loaded.load(std::memory_order_relaxed) && is_same(each, code);
            });
        if (noted == nullptr)
            noted = add(code);
        if (noted == nullptr || noted->last_walk > walk)
            return;
        noted->last_walk = walk;
        noted->base.store(code.base, std::memory_order_relaxed);
        noted->is_loaded.store(true, std::memory_order_relaxed);
    }

    /// Effects: marks modules that the walk has not visited as unloaded.
    void end(std::uint64_t walk, const os::load_counts& counts) noexcept
    {
        if (walk < last_end_)
            return; // A later walk has already ended.
        last_end_ = walk;
        counts_ = counts;
        (void)find_if([walk](code_module& each) {
            if (each.last_walk < walk)
                each.is_loaded.store(false, std::memory_order_relaxed);
            return false;
        });
    }

    /// Effects: writes the frames of code addresses to `to`.
    /// Complexity: linear in addresses; linear in modules for each address whose module differs from the previous one.
    void find(const void* const* first, const void* const* last, code_frame* to) const noexcept
    {
        const code_module* found = nullptr;
        for (; first != last; ++first, ++to) {
            const auto address = reinterpret_cast<std::uintptr_t>(*first);
            if (found == nullptr || !found->contains(address))
                found = find_if([address](const code_module& each) {
                    return each.is_loaded.load(std::memory_order_relaxed) && each.contains(address);
                });
            *to = {found, address - (found != nullptr ? found->base.load(std::memory_order_relaxed) : 0)};
        }
    }

    const code_module* first() const noexcept { return first_; }

private:
    static constexpr std::size_t max_path_bytes = 4096;

    template <class Condition>
    code_module* find_if(Condition&& condition) const
    {
        for (code_module* each = first_; each != nullptr; each = next_of(*each))
            if (condition(*each))
                return each;
        return nullptr;
    }

    static code_module* next_of(const code_module& one) noexcept
    {
        return const_cast<code_module*>(one.next.load(std::memory_order_relaxed)); // `add` creates it non-const.
    }

    /// Returns whether `one` is the module of `code`. Compares files if there is no build ID.
    static bool is_same(const code_module& one, const os::loaded_code& code) noexcept
    {
        if (one.begin != code.begin || one.bytes != code.bytes || one.file_offset != code.file_offset ||
            one.build_id != code.build_id.substr(0, code_module::max_build_id_bytes))
            return false;
        std::string_view file = code.file;
        if (file.size() > 2 && file[0] == '.' && file[1] == '/')
            file.remove_prefix(2);
        std::string_view end_of_path = one.path;
        end_of_path.remove_prefix(end_of_path.size() - std::min(end_of_path.size(), file.size()));
        return !one.build_id.empty() || end_of_path == file;
    }

    code_module* add(const os::loaded_code& code) noexcept
    {
        std::byte* const memory = memory_.peek(sizeof(code_module) + code_module::max_build_id_bytes + max_path_bytes);
        if (memory == nullptr)
            return nullptr;
        char* const id = reinterpret_cast<char*>(memory + sizeof(code_module));
        const std::size_t id_bytes = std::min(code.build_id.size(), code_module::max_build_id_bytes);
        std::copy_n(code.build_id.begin(), id_bytes, id);
        char* const path = id + id_bytes;
        const std::size_t length = os::write_path_of_code(code.file, path, max_path_bytes);
        memory_.take(sizeof(code_module) + id_bytes + length + 1);
        const std::uint64_t number = last_ != nullptr ? last_->number + 1 : 1;
        auto* const added =
            ::new (memory) code_module{{code.base}, {true},           {nullptr},      number,         code.begin,
                                       code.bytes,  code.file_offset, {path, length}, {id, id_bytes}, 0};
        if (last_ != nullptr)
            last_->next.store(added, std::memory_order_release); // Readers need no lock.
        else
            first_ = added;
        last_ = added;
        return added;
    }

    lasting_memory<Pages> memory_;
    code_module* first_ = nullptr;
    code_module* last_ = nullptr;
    os::load_counts counts_{};
    std::uint64_t walks_ = 0;
    std::uint64_t last_end_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
