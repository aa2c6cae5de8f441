// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Upstream resources that account for their memory and fail on request.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

namespace test {
/// Tracks every allocated chunk, and whether the chunk is freed with the same size and alignment.
/// Only one thread at a time may use it.
class accounting_upstream : public std::pmr::memory_resource
{
public:
    /// Makes call `call` throw std::bad_alloc. The next call has the number 1.
    void fail_at(std::size_t call) { calls_until_failure_ = call; }
    /// Makes call `call` and all later calls throw std::bad_alloc. The next call has the number 1.
    void fail_from(std::size_t call)
    {
        never_fail();
        calls_until_all_fail_ = call;
    }
    /// Makes every call throw std::bad_alloc.
    void fail_always() { fails_always_ = true; }
    /// Makes every call for more than `bytes` throw std::bad_alloc.
    void allow_chunks_of_at_most(std::size_t bytes) { largest_chunk_ = bytes; }
    void never_fail()
    {
        calls_until_failure_ = never;
        calls_until_all_fail_ = never;
        fails_always_ = false;
    }

    std::size_t live_bytes() const { return live_bytes_; }
    std::size_t live_chunks() const { return chunks_.size(); }
    std::size_t calls() const { return calls_; }
    std::size_t successes() const { return calls_ - failures_; }
    std::size_t mismatched() const { return mismatched_; }

protected:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        ++calls_;
        if (calls_until_failure_ != never)
            --calls_until_failure_;
        if (calls_until_all_fail_ != never)
            fails_always_ = fails_always_ || --calls_until_all_fail_ == 0;
        if (fails_always_ || bytes > largest_chunk_ || calls_until_failure_ == 0) {
            if (calls_until_failure_ == 0 && !fails_always_)
                never_fail();
            ++failures_;
            throw std::bad_alloc();
        }
        void* const chunk = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        chunks_.emplace(chunk, shape(bytes, alignment));
        live_bytes_ += bytes;
        return chunk;
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const auto known = chunks_.find(chunk);
        if (known == chunks_.end() || known->second != shape(bytes, alignment)) {
            ++mismatched_;
            return;
        }
        chunks_.erase(known);
        live_bytes_ -= bytes;
        std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
    }

private:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    using shape = std::pair<std::size_t, std::size_t>;

    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::map<void*, shape> chunks_;
    std::size_t calls_until_failure_ = never;
    std::size_t calls_until_all_fail_ = never;
    bool fails_always_ = false;
    std::size_t largest_chunk_ = std::numeric_limits<std::size_t>::max();
    std::size_t calls_ = 0;
    std::size_t failures_ = 0;
    std::size_t live_bytes_ = 0;
    std::size_t mismatched_ = 0;
};

/// A thread-safe accounting_upstream. Query its statistics only while no other thread uses it.
class shared_accounting_upstream : public accounting_upstream
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const std::lock_guard lock(mutex_);
        return accounting_upstream::do_allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const std::lock_guard lock(mutex_);
        accounting_upstream::do_deallocate(chunk, bytes, alignment);
    }

    std::mutex mutex_;
};
} // namespace test
