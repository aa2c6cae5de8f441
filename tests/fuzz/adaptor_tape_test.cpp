// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/adaptor_tape.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

namespace {
TEST(adaptor_tape, agrees_with_the_models_on_random_tapes)
{
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != (test::under_a_sanitizer ? 60 : 300); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_adaptor(tape.data(), tape.size());
    }
}

/// Expects a failure that did not occur.
struct wrong_tracker : fuzz::modelled_tracker
{
    using modelled_tracker::modelled_tracker;
    void allocated(std::size_t bytes) override
    {
        modelled_tracker::allocated(bytes);
        modelled_tracker::failed();
    }
};

/// Expects the adaptor to refuse every chunk.
struct wrong_limit : fuzz::modelled_limit
{
    using modelled_limit::modelled_limit;
    bool refuses(std::size_t) override { return true; }
};

/// Allocates the same chunk every time.
class generous_resource : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t, std::size_t) override { return chunk_; }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    alignas(std::max_align_t) char chunk_[64]{};
};

template <class Adaptor>
void use()
{
    fuzz::watched_resource watched(std::pmr::new_delete_resource(), [](const char* what) { fuzz::disagree({}, what); });
    fuzz::tape unbounded(nullptr, 0);
    watched.put_on_top(std::make_unique<Adaptor>(unbounded, watched.top()));
    watched.deallocate(watched.allocate(8), 8);
    watched.verify();
}

TEST(adaptor_tape_death, detects_a_wrong_adaptor)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    use<fuzz::modelled_tracker>();
    use<fuzz::modelled_limit>();
    EXPECT_DEATH(use<wrong_tracker>(), "wrong statistics of an adaptor");
    EXPECT_DEATH(use<wrong_limit>(), "an adaptor allowed a forbidden chunk");
    generous_resource generous;
    fuzz::watched_resource watched(&generous, [](const char* what) { fuzz::disagree({}, what); });
    void* const chunk = watched.allocate(8);
    EXPECT_DEATH((void)watched.allocate(8), "allocated twice");
    watched.deallocate(chunk, 8);
}
} // namespace
