// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Walks the frames of this thread by the unwind tables of the compiler (.eh_frame), as the exception unwinder does,
/// but caches their rows: a frame costs a few nanoseconds, not a hundred.
///
///     code address -> row:   stack pointer of the caller = stack pointer, or frame pointer, + offset
///                            frame pointer of the caller = unchanged, or in memory at an offset from that
///
///     of a function that aligns the stack (GCC), both are in memory at an offset from its frame pointer
///
/// Where a row is of another kind (signal frames, code without .eh_frame), the walk fails, and the unwinder is needed.
///
/// (x86-64, glibc, libgcc: _Unwind_Find_FDE. Elsewhere, the walk always fails.) Nothing is allocated.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__) && MEMORY_POOL_GNU_BUILTINS
#include <features.h>
#if defined(__GLIBC__)
#define MEMORY_POOL_OS_HAS_UNWIND_ROWS 1 ///< Can frames be walked by rows?
#endif
#endif
#ifndef MEMORY_POOL_OS_HAS_UNWIND_ROWS
#define MEMORY_POOL_OS_HAS_UNWIND_ROWS 0 ///< Can frames be walked by rows?
#endif

#if MEMORY_POOL_OS_HAS_UNWIND_ROWS
// As libgcc's unwind-dw2-fde.h declares it, which is not installed.
extern "C" {
struct memory_pool_eh_bases
{
    void* tbase;
    void* dbase;
    void* func;
};
__attribute__((weak)) const void* memory_pool_find_fde(void* address,
                                                       memory_pool_eh_bases* bases) asm("_Unwind_Find_FDE");
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// How to get from a frame to that of its caller.
struct unwind_row
{
    enum kind : std::uint8_t
    {
        none,       ///< Not known.
        outermost,  ///< There is no caller.
        from_stack, ///< By the stack pointer.
        from_frame, ///< By the frame pointer.
        in_frame,   ///< In memory, below the frame pointer by the offset.
    };

    kind of = none;
    bool saves_frame = false; ///< The frame pointer of the caller is in memory.
    std::int32_t offset = 0;  ///< To the stack pointer of the caller.
    /// Where the frame pointer is saved: from the stack pointer of the caller, or the frame pointer if `in_frame`; a
    /// multiple of 8.
    std::int32_t frame_at = 0;
};

#if MEMORY_POOL_OS_HAS_UNWIND_ROWS
/// Reads the .eh_frame of one function, up to one place: DWARF 5, 6.4, and the Linux Standard Base, 10.6.
class unwind_reader
{
public:
    /// Returns: the row for an instruction.
    static unwind_row row_at(std::uintptr_t address) noexcept
    {
        memory_pool_eh_bases bases{};
        if (&memory_pool_find_fde == nullptr)
            return {};
        const auto* const function =
            static_cast<const unsigned char*>(memory_pool_find_fde(reinterpret_cast<void*>(address), &bases));
        if (function == nullptr)
            return {};
        unwind_reader reader;
        return reader.read(function, reinterpret_cast<std::uintptr_t>(bases.func), address);
    }

private:
    static constexpr std::uint64_t frame_pointer = 6; // The numbers of registers for x86-64.
    static constexpr std::uint64_t stack_pointer = 7;
    static constexpr std::uint64_t return_address = 16;

    struct rules
    {
        std::uint64_t base = 0; ///< The register of the canonical frame address.
        std::int64_t offset = 0;
        bool saves_frame = false;
        std::int64_t frame_at = 0;
        bool is_outermost = false;
        bool is_in_frame = false;       ///< The canonical frame address is in memory, at `offset` from `base`.
        bool is_saved_in_frame = false; ///< `frame_at` is relative to the frame pointer.
    };

    template <class Number>
    Number fixed() noexcept
    {
        Number number;
        std::memcpy(&number, at_, sizeof number);
        at_ += sizeof number;
        return number;
    }

    std::uint64_t unsigned_number() noexcept
    {
        std::uint64_t number = 0;
        for (unsigned shift = 0;; shift += 7) {
            const unsigned char byte = *at_++;
            if (shift < 64)
                number |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80)
                return number;
        }
    }

    std::int64_t signed_number() noexcept
    {
        std::uint64_t number = 0;
        for (unsigned shift = 0;;) {
            const unsigned char byte = *at_++;
            if (shift < 64)
                number |= std::uint64_t{byte & 0x7FU} << shift;
            shift += 7;
            if (byte >= 0x80)
                continue;
            if ((byte & 0x40U) != 0 && shift < 64)
                number |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(number);
        }
    }

    unwind_row read(const unsigned char* function, std::uintptr_t begin, std::uintptr_t wanted) noexcept
    {
        std::uint32_t length = 0;
        std::int32_t to_common = 0;
        std::memcpy(&length, function, sizeof length);
        std::memcpy(&to_common, function + 4, sizeof to_common);
        if (length == 0 || length == ~std::uint32_t{0} || !read_common(function + 4 - to_common))
            return {};
        initial_ = now_;
        at_ = function + 8 + 2 * bytes_of_address_;
        if (has_augmentation_) {
            const std::uint64_t bytes = unsigned_number();
            at_ += bytes;
        }
        place_ = begin;
        run(function + 4 + length, wanted);
        return is_understood_ ? row() : unwind_row{};
    }

    /// Reads what functions have in common (CIE).
    bool read_common(const unsigned char* common) noexcept
    {
        std::uint32_t length = 0;
        std::memcpy(&length, common, sizeof length);
        const unsigned char version = common[8];
        const auto* const augmentation = reinterpret_cast<const char*>(common + 9);
        at_ = common + 9 + std::strlen(augmentation) + 1;
        code_factor_ = unsigned_number();
        data_factor_ = signed_number();
        const std::uint64_t returns_by = version == 1 ? *at_++ : unsigned_number();
        if ((version != 1 && version != 3) || returns_by != return_address || !read_augmentation(augmentation))
            return false;
        run(common + 4 + length, 0);
        return is_understood_;
    }

    bool read_augmentation(const char* letters) noexcept
    {
        if (*letters != 'z')
            return false;
        has_augmentation_ = true;
        const std::uint64_t bytes = unsigned_number();
        const unsigned char* const behind = at_ + bytes;
        for (++letters; *letters != '\0'; ++letters) {
            if (*letters == 'R')
                bytes_of_address_ = bytes_of(*at_++);
            else if (*letters == 'L')
                ++at_;
            else if (*letters == 'P')
                at_ += 1 + bytes_of(*at_);
            else
                return false; // 'S': a signal frame
        }
        at_ = behind;
        return bytes_of_address_ != 0;
    }

    static std::size_t bytes_of(unsigned char encoding) noexcept
    {
        switch (encoding & 0x0FU) {
        case 0x03:
        case 0x0B: return 4;
        case 0x00:
        case 0x04:
        case 0x0C: return 8;
        default: return 0;
        }
    }

    /// Runs instructions up to `end`, or until they are of a place behind `wanted`, if that is not 0.
    void run(const unsigned char* end, std::uintptr_t wanted) noexcept
    {
        while (at_ < end && is_understood_) {
            const unsigned char code = *at_++;
            const unsigned char operand = code & 0x3FU;
            switch (code >> 6U) {
            case 1: place_ += operand * code_factor_; break;
            case 2: set_offset(operand, static_cast<std::int64_t>(unsigned_number()) * data_factor_); break;
            case 3: restore(operand); break;
            default: run_extended(operand); break;
            }
            if (wanted != 0 && place_ > wanted)
                return;
        }
    }

    void run_extended(unsigned char code) noexcept
    {
        switch (code) {
        case 0x00: break; // nop
        case 0x02: place_ += fixed<std::uint8_t>() * code_factor_; break;
        case 0x03: place_ += fixed<std::uint16_t>() * code_factor_; break;
        case 0x04: place_ += fixed<std::uint32_t>() * code_factor_; break;
        case 0x06: restore(unsigned_number()); break;
        case 0x07: set_undefined(unsigned_number()); break;
        case 0x0A: remember(); break;
        case 0x0B: restore_state(); break;
        case 0x0D: now_.base = unsigned_number(); break;
        case 0x0E: now_.offset = static_cast<std::int64_t>(unsigned_number()); break;
        case 0x0F: set_base_by_expression(); break;
        case 0x2E: (void)unsigned_number(); break; // bytes of arguments
        default: run_with_two_operands(code); break;
        }
    }

    void run_with_two_operands(unsigned char code) noexcept
    {
        const std::uint64_t its = unsigned_number();
        switch (code) {
        case 0x05: set_offset(its, static_cast<std::int64_t>(unsigned_number()) * data_factor_); break;
        case 0x0C:
            now_.base = its;
            now_.offset = static_cast<std::int64_t>(unsigned_number());
            now_.is_in_frame = false;
            break;
        case 0x11: set_offset(its, signed_number() * data_factor_); break;
        case 0x10: set_place_by_expression(its); break;
        case 0x16: skip_expression(its); break;
        default: is_understood_ = false; break;
        }
    }

    /// Skips an expression. It is understood only for a register that does not matter.
    void skip_expression(std::uint64_t of) noexcept
    {
        const std::uint64_t bytes = unsigned_number();
        at_ += bytes;
        is_understood_ = !matters(of);
    }

    /// Reads the start of an expression of `bytes` bytes.
    /// Returns: whether it is frame pointer + offset.
    bool read_offset_from_frame(std::uint64_t bytes, std::int64_t& offset) noexcept
    {
        constexpr unsigned char frame_pointer_plus = 0x70 + frame_pointer;
        if (bytes == 0 || *at_ != frame_pointer_plus)
            return false;
        ++at_;
        offset = signed_number();
        return true;
    }

    /// Understands only: the word at frame pointer + offset.
    void set_base_by_expression() noexcept
    {
        constexpr unsigned char dereference = 0x06;
        const std::uint64_t bytes = unsigned_number();
        const unsigned char* const behind = at_ + bytes;
        is_understood_ = read_offset_from_frame(bytes, now_.offset) && at_ + 1 == behind && *at_ == dereference;
        now_.base = frame_pointer;
        now_.is_in_frame = true;
        at_ = behind;
    }

    /// Understands, for the frame pointer, only: at frame pointer + offset.
    void set_place_by_expression(std::uint64_t of) noexcept
    {
        if (of != frame_pointer) {
            skip_expression(of);
            return;
        }
        const std::uint64_t bytes = unsigned_number();
        const unsigned char* const behind = at_ + bytes;
        is_understood_ = read_offset_from_frame(bytes, now_.frame_at) && at_ == behind;
        now_.saves_frame = true;
        now_.is_saved_in_frame = true;
        at_ = behind;
    }

    static bool matters(std::uint64_t of) noexcept
    {
        return of == frame_pointer || of == stack_pointer || of == return_address;
    }

    void set_offset(std::uint64_t of, std::int64_t offset) noexcept
    {
        if (of == frame_pointer) {
            now_.saves_frame = true;
            now_.is_saved_in_frame = false;
            now_.frame_at = offset;
        } else if (of == stack_pointer || (of == return_address && offset != -8)) {
            is_understood_ = false;
        }
    }

    void set_undefined(std::uint64_t of) noexcept
    {
        if (of == return_address)
            now_.is_outermost = true;
        else if (matters(of))
            is_understood_ = false;
    }

    void restore(std::uint64_t of) noexcept
    {
        if (of == frame_pointer) {
            now_.saves_frame = initial_.saves_frame;
            now_.is_saved_in_frame = initial_.is_saved_in_frame;
            now_.frame_at = initial_.frame_at;
        }
    }

    void remember() noexcept
    {
        if (remembered_count_ == remembered_.size())
            is_understood_ = false;
        else
            remembered_[remembered_count_++] = now_;
    }

    void restore_state() noexcept
    {
        if (remembered_count_ == 0)
            is_understood_ = false;
        else
            now_ = remembered_[--remembered_count_];
    }

    unwind_row row() const noexcept
    {
        constexpr std::int64_t most = std::int64_t{1} << 24U;
        if (now_.is_outermost)
            return {unwind_row::outermost, false, 0, 0};
        const std::int64_t offset = now_.is_in_frame ? -now_.offset : now_.offset;
        const bool is_row = (now_.base == stack_pointer || now_.base == frame_pointer) && offset >= 0 &&
                            offset < most && now_.frame_at <= 0 && now_.frame_at > -most && now_.frame_at % 8 == 0 &&
                            (!now_.saves_frame || now_.is_saved_in_frame == now_.is_in_frame);
        if (!is_row)
            return {};
        const unwind_row::kind of = now_.is_in_frame             ? unwind_row::in_frame
                                    : now_.base == stack_pointer ? unwind_row::from_stack
                                                                 : unwind_row::from_frame;
        return {of, now_.saves_frame, static_cast<std::int32_t>(offset), static_cast<std::int32_t>(now_.frame_at)};
    }

    const unsigned char* at_ = nullptr;
    std::uintptr_t place_ = 0;
    std::uint64_t code_factor_ = 1;
    std::int64_t data_factor_ = 1;
    std::size_t bytes_of_address_ = 0;
    bool has_augmentation_ = false;
    bool is_understood_ = true;
    rules initial_;
    rules now_;
    std::array<rules, 4> remembered_{};
    std::size_t remembered_count_ = 0;
};

/// Rows by address, for all threads, without a lock: a row whose halves do not fit together is not there.
class unwind_rows
{
public:
    /// Effects: stores the return addresses, less 1, of the callers of this function, innermost first, in `addresses`.
    ///   `unloads`: load_counts::unloads, as it is: after an unload, another library may be at the same addresses, with
    ///   other rows.
    /// Returns: how many; 0 if a frame is of another kind.
    // Not inline: it needs a frame of its own. Not instrumented: it reads the stack.
    MEMORY_POOL_NOINLINE __attribute__((no_sanitize("address", "thread", "undefined"))) static std::size_t walk(
        const void** addresses, std::size_t most, std::uint64_t unloads) noexcept
    {
        std::uintptr_t code = 0;
        std::uintptr_t stack = 0;
        std::uintptr_t frame = 0;
        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                         : "=&r"(code), "=&r"(stack), "=&r"(frame));
        const std::uint64_t generation = unloads << 48U; // Addresses of programs have fewer bits.
        for (std::size_t count = 0;;) {
            const unwind_row row = find(code, generation);
            if (row.of == unwind_row::outermost)
                return count;
            const std::uintptr_t next = caller_of(row, stack, frame);
            if (row.of == unwind_row::none || next <= stack || next % 8 != 0 || next - stack > longest_frame)
                return 0;
            const auto* const words = reinterpret_cast<const std::uintptr_t*>(next);
            if (row.saves_frame)
                frame = (row.of == unwind_row::in_frame ? reinterpret_cast<const std::uintptr_t*>(frame)
                                                        : words)[row.frame_at / 8];
            stack = next;
            if (words[-1] == 0)
                return count;
            code = words[-1] - 1;
            addresses[count++] = reinterpret_cast<const void*>(code);
            if (count == most)
                return count;
        }
    }

private:
    /// Returns: the stack pointer of the caller; 0 if it is invalid.
    MEMORY_POOL_ALWAYS_INLINE static std::uintptr_t caller_of(const unwind_row& row, std::uintptr_t stack,
                                                              std::uintptr_t frame) noexcept
    {
        const auto offset = static_cast<std::uintptr_t>(row.offset);
        if (row.of != unwind_row::in_frame)
            return (row.of == unwind_row::from_stack ? stack : frame) + offset;
        const bool may_be =
            frame % 8 == 0 && offset % 8 == 0 && frame - offset >= stack && frame - stack <= longest_frame;
        return may_be ? *reinterpret_cast<const std::uintptr_t*>(frame - offset) : 0;
    }

    static constexpr std::uintptr_t longest_frame = std::uintptr_t{1} << 24U;

    struct place
    {
        std::atomic<std::uint64_t> key; ///< Address and generation, exclusive or row.
        std::atomic<std::uint64_t> row; ///< 0: empty.
    };

    static unwind_row find(std::uintptr_t address, std::uintptr_t generation) noexcept
    {
        static std::array<place, 4096> places{};
        place& its = places[(address * 0x9E37'79B9'7F4A'7C15U) >> 52U];
        const std::uint64_t row = its.row.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(row != 0 && (its.key.load(std::memory_order_relaxed) ^ row) == (address ^ generation)))
            return unpacked(row);
        const unwind_row found = unwind_reader::row_at(address);
        const std::uint64_t packed_row = packed(found);
        its.row.store(packed_row, std::memory_order_relaxed);
        its.key.store(packed_row ^ address ^ generation, std::memory_order_relaxed);
        return found;
    }

    static std::uint64_t packed(const unwind_row& row) noexcept
    {
        constexpr std::uint64_t is_there = std::uint64_t{1} << 63U;
        return is_there | std::uint64_t{row.of} << 56U | std::uint64_t{row.saves_frame} << 55U |
               static_cast<std::uint64_t>(-row.frame_at) << 24U | static_cast<std::uint64_t>(row.offset);
    }

    static unwind_row unpacked(std::uint64_t row) noexcept
    {
        return {static_cast<unwind_row::kind>(row >> 56U & 0x7FU), (row >> 55U & 1U) != 0,
                static_cast<std::int32_t>(row & 0xFF'FFFFU), -static_cast<std::int32_t>(row >> 24U & 0xFF'FFFFU)};
    }
};
#else
/// None.
class unwind_rows
{
public:
    /// Returns: 0.
    static std::size_t walk(const void** /*addresses*/, std::size_t /*most*/, std::uint64_t /*unloads*/) noexcept
    {
        return 0;
    }
};
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
