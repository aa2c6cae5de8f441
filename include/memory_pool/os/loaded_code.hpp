// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The code that the loader has mapped, and the numbers of libraries that it has loaded and unloaded.
///
///     program headers of a library:   PT_LOAD, executable  -> one loaded_code        PT_NOTE  -> its build ID
///
/// (Linux: dl_iterate_phdr. Elsewhere: none.) Does not allocate.
///
/// Thread safety: any thread. These functions take the lock of the loader, which stays locked in the child of a fork if
/// another thread holds it during the fork: see core/reports/loader_gate.hpp.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/pages.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__linux__)
#include <link.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// An executable segment of the program or of a library. The strings live as long as the visit.
struct loaded_code
{
    std::uintptr_t base;       ///< Address in memory minus address in the file.
    std::uintptr_t begin;      ///< Relative to `base`; a multiple of the page size.
    std::size_t bytes;         ///< A multiple of the page size.
    std::uint64_t file_offset; ///< Of `begin`.
    const char* file;          ///< The path under which it was loaded; empty for the program itself.
    std::string_view build_id; ///< Raw bytes; empty if there is none.
};

/// The numbers of libraries loaded and unloaded so far.
struct load_counts
{
    std::uint64_t loads;
    std::uint64_t unloads;
};

#if defined(__linux__)
/// The program headers of the program or a library.
class program_headers
{
public:
    explicit program_headers(const dl_phdr_info& of) noexcept : of_(of) {}

    /// Effects: calls `visit(const loaded_code&)` for each executable segment.
    template <class Visit>
    void for_each_code(Visit&& visit) const
    {
        const std::string_view id = build_id();
        for (const ElfW(Phdr) & each : *this) {
            if (each.p_type != PT_LOAD || (each.p_flags & PF_X) == 0)
                continue;
            const std::size_t before = each.p_vaddr % page_size(); // in the first page
            visit(loaded_code{of_.dlpi_addr, each.p_vaddr - before, base::round_up(before + each.p_memsz, page_size()),
                              each.p_offset - before, of_.dlpi_name, id});
        }
    }

    const ElfW(Phdr) * begin() const noexcept { return of_.dlpi_phdr; }
    const ElfW(Phdr) * end() const noexcept { return of_.dlpi_phdr + of_.dlpi_phnum; }

private:
    /// Returns: whether a segment is in readable memory.
    bool is_readable(const ElfW(Phdr) & part) const noexcept
    {
        for (const ElfW(Phdr) & each : *this)
            if (each.p_type == PT_LOAD && (each.p_flags & PF_R) != 0 && part.p_vaddr >= each.p_vaddr &&
                part.p_memsz <= each.p_filesz && part.p_vaddr - each.p_vaddr <= each.p_filesz - part.p_memsz)
                return true;
        return false;
    }

    std::string_view build_id() const noexcept
    {
        for (const ElfW(Phdr) & each : *this) {
            if (each.p_type != PT_NOTE || !is_readable(each))
                continue;
            const std::string_view notes(reinterpret_cast<const char*>(of_.dlpi_addr + each.p_vaddr), each.p_memsz);
            const std::string_view found = build_id_in(notes, each.p_align == 8 ? 8 : 4);
            if (!found.empty())
                return found;
        }
        return {};
    }

    static std::string_view build_id_in(std::string_view notes, std::size_t alignment) noexcept
    {
        ElfW(Nhdr) note;
        while (notes.size() >= sizeof note) {
            std::memcpy(&note, notes.data(), sizeof note);
            const std::size_t name_end = sizeof note + std::size_t{note.n_namesz};
            const std::size_t content = base::round_up(name_end, alignment);
            const std::size_t end = content + note.n_descsz;
            if (end > notes.size())
                break;
            if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes.data() + sizeof note, note.n_namesz) ==
                                                      std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU))
                return {notes.data() + content, note.n_descsz};
            const std::size_t next = base::round_up(end, alignment);
            notes.remove_prefix(next < notes.size() ? next : notes.size());
        }
        return {};
    }

    const dl_phdr_info& of_;
};

/// Effects: if `is_new(const load_counts&)` returns true, calls `visit(const loaded_code&)` for each executable
///   segment, those of the program first. Holds the lock of the loader during these calls.
/// Returns: the counts.
template <class IsNew, class Visit>
load_counts for_each_loaded_code(IsNew&& is_new, Visit&& visit)
{
    struct walk
    {
        IsNew& is_new;
        Visit& visit;
        load_counts counts;
        bool has_begun;
    };
    walk state{is_new, visit, {}, false};
    (void)::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* argument) {
            auto& current = *static_cast<walk*>(argument);
            if (!current.has_begun) {
                current.has_begun = true;
                current.counts = {info->dlpi_adds, info->dlpi_subs};
                if (!current.is_new(static_cast<const load_counts&>(current.counts)))
                    return 1;
            }
            program_headers(*info).for_each_code(current.visit);
            return 0;
        },
        &state);
    return state.counts;
}

/// Effects: writes the path of a loaded_code::file, absolute if possible, and a null byte to `to`.
/// Returns: the length of the path, less than `room`.
inline std::size_t write_path_of_code(const char* file, char* to, std::size_t room) noexcept
{
    std::size_t length = 0;
    if (*file == '\0') {
        const ssize_t read = ::readlink("/proc/self/exe", to, room - 1);
        length = read > 0 ? static_cast<std::size_t>(read) : 0;
    } else if (*file != '/' && std::strchr(file, '/') != nullptr && ::getcwd(to, room) != nullptr) {
        length = std::strlen(to);
        file += std::strncmp(file, "./", 2) == 0 ? 1 : 0;
        if (*file != '/' && length + 1 < room)
            to[length++] = '/';
    }
    for (; *file != '\0' && length + 1 < room; ++file)
        to[length++] = *file;
    to[length] = '\0';
    return length;
}
#else
/// Effects: none.
template <class IsNew, class Visit>
load_counts for_each_loaded_code(IsNew&&, Visit&&)
{
    return {};
}

/// Effects: writes an empty string.
inline std::size_t write_path_of_code(const char*, char* to, std::size_t) noexcept
{
    *to = '\0';
    return 0;
}
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
