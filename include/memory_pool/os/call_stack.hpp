// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Captures call stacks as code addresses, and symbolizes an address.
///
///     main -> parse -> malloc -> call_stack::of_this_thread()      | in malloc | in parse | in main | ...
///
/// (GCC and Clang, but not for Windows: _Unwind_Backtrace, dladdr. Elsewhere, stacks are empty.) Does not allocate.
///
/// Thread safety: any thread; also in the handler of a synchronous signal.
#pragma once

#include <memory_pool/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if MEMORY_POOL_GNU_BUILTINS && !defined(_WIN32)
#define MEMORY_POOL_OS_HAS_CALL_STACKS 1 ///< Can call stacks be captured?
#include <dlfcn.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <unwind.h>
#if defined(__GLIBC__)
#include <link.h>
#endif
#else
#define MEMORY_POOL_OS_HAS_CALL_STACKS 0 ///< Can call stacks be captured?
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The innermost frames of a thread, at most `MaxFrames`; may be empty.
template <std::size_t MaxFrames>
class basic_call_stack
{
public:
    static constexpr std::size_t max_frames = MaxFrames;

    constexpr basic_call_stack() noexcept = default;

    /// Returns: the call stack of this thread.
    /// Complexity: linear in calls, without a system call.
    MEMORY_POOL_NOINLINE static basic_call_stack of_this_thread() noexcept
    {
        basic_call_stack taken;
        taken.take(false);
        return taken;
    }

    /// Returns: the call stack of this thread at the point where a signal has interrupted it. If that stack is unknown,
    ///   the current call stack, with the frames of the handler.
    /// Preconditions: called from a signal handler.
    MEMORY_POOL_NOINLINE static basic_call_stack of_interrupted() noexcept
    {
        basic_call_stack taken;
        taken.take(true);
        if (taken.count_ == 0)
            taken.take(false);
        return taken;
    }

    /// Each element is an address within the calling, or interrupted, instruction.
    const void* const* begin() const noexcept { return addresses_.data(); }
    const void* const* end() const noexcept { return addresses_.data() + count_; }

private:
#if MEMORY_POOL_OS_HAS_CALL_STACKS
    /// State of the unwind callback.
    struct walk
    {
        basic_call_stack& taken;
        bool is_before_interrupted;
    };

    static _Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) noexcept
    {
        walk& state = *static_cast<walk*>(argument);
        int is_interrupted = 0;
        std::uintptr_t address = _Unwind_GetIPInfo(frame, &is_interrupted);
        if (state.is_before_interrupted && is_interrupted == 0)
            return _URC_NO_REASON;
        state.is_before_interrupted = false;
        if (address == 0 || state.taken.count_ == max_frames)
            return _URC_END_OF_STACK;
        address -= is_interrupted == 0 ? 1 : 0; // A return address may belong to the line after the call.
        state.taken.addresses_[state.taken.count_++] = reinterpret_cast<const void*>(address);
        return _URC_NO_REASON;
    }

    void take(bool only_interrupted) noexcept
    {
        walk state{*this, only_interrupted};
        (void)_Unwind_Backtrace(&visit, &state);
    }
#else
    void take(bool) noexcept {}
#endif

    std::array<const void*, max_frames> addresses_{};
    std::size_t count_ = 0;
};

using call_stack = basic_call_stack<16>;

/// Returns: the return address of the calling function, or of the function into which it is inlined; nullptr if
///   unknown.
MEMORY_POOL_ALWAYS_INLINE const void* caller_of_this_function() noexcept
{
#if MEMORY_POOL_OS_HAS_CALL_STACKS
    return __builtin_return_address(0);
#else
    return nullptr;
#endif
}

/// The location of code. The strings live as long as the module is loaded.
struct code_place
{
    const char* module = nullptr;   ///< The file of the program or library; nullptr if unknown.
    std::uintptr_t offset = 0;      ///< In the module, as addr2line expects it.
    const char* function = nullptr; ///< The mangled name, if the module exports it; else nullptr.
};

/// Returns: the location of a code address, as far as known.
/// Complexity: linear in modules, and in the module's exported symbols.
inline code_place find_code([[maybe_unused]] const void* address) noexcept
{
#if MEMORY_POOL_OS_HAS_CALL_STACKS
    Dl_info found{};
#if defined(__GLIBC__)
    void* map = nullptr;
    if (::dladdr1(address, &found, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr)
        return {};
    const std::uintptr_t begin = static_cast<const link_map*>(map)->l_addr; // 0 if loaded at its link address
#else
    if (::dladdr(address, &found) == 0)
        return {};
    const auto begin = reinterpret_cast<std::uintptr_t>(found.dli_fbase);
#endif
    return {found.dli_fname, reinterpret_cast<std::uintptr_t>(address) - begin, found.dli_sname};
#else
    return {};
#endif
}

/// Returns: the file of the library that contains a code address; nullptr for the program itself, or if unknown.
///   (Linux.)
inline const char* file_of_library([[maybe_unused]] const void* address) noexcept
{
#if MEMORY_POOL_OS_HAS_CALL_STACKS && defined(__linux__)
    const char* const module = find_code(address).module;
    const char* const program = find_code(reinterpret_cast<const void*>(::getauxval(AT_ENTRY))).module;
    return module != nullptr && program != nullptr && std::strcmp(module, program) != 0 ? module : nullptr;
#else
    return nullptr;
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
