// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/counted_object.hpp>

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/objects/reference_count.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/errors.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace core = memory_pool::detail::core;
using core::object_access;
using memory_pool::error_kind;

namespace {
/// Records the objects whose last reference is gone.
class recording_listener final : public core::slab_listener
{
public:
    recording_listener() noexcept : slab_listener(&record, false) {}

    std::vector<void*> returned;

private:
    static void record(slab_listener& self, void* counted)
    {
        static_cast<recording_listener&>(self).returned.push_back(counted);
    }

    void add_blocks(core::slab& home, std::size_t count, std::size_t) override { home.extend(count); }
    void leave(core::slab&, std::size_t) noexcept override {}
    void survivor_returned(void*) noexcept override {}
};

template <class Count>
class counted_object : public testing::Test
{
protected:
    /// Its header is not at offset 0.
    struct item
    {
        char before[24] = {};
        struct counted : core::counted_object<Count>
        {
        } header;
    };
    using header = core::counted_object<Count>;

    /// Creates `count` items with one reference each, in blocks of `stride` bytes, in slabs of the listener.
    template <class Use>
    void with_items(std::size_t count, std::size_t stride, Use&& use)
    {
        constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();
        const core::slab_layout layout(stride, 16, count, unbounded, core::slab_granule);
        core::slab_store store(layout, count, {false, false, false, 0, &listener_}, {"test", stride}, &upstream_);
        while (store.capacity() != count)
            store.grow(count - store.capacity());
        std::vector<header*> items;
        while (void* const block = store.take_one_late()) {
            memory_pool::detail::base::permit_access(block, sizeof(item));
            header& object_header = (::new (block) item)->header;
            object_access::settle(object_header, layout);
            object_access::count(object_header).begin();
            items.push_back(&object_header);
        }
        ASSERT_EQ(items.size(), count);
        use(items, store);
    }

    test::accounting_upstream upstream_;
    recording_listener listener_;
};

using counts = testing::Types<core::plain_reference_count<std::uint32_t>, core::atomic_reference_count<std::uint32_t>>;
TYPED_TEST_SUITE(counted_object, counts, );

TYPED_TEST(counted_object, has_a_header_of_8_bytes)
{
    EXPECT_EQ(sizeof(typename TestFixture::header), 8U);
}

TYPED_TEST(counted_object, finds_its_slab_from_any_block_of_any_size)
{
    for (const std::size_t stride : {std::size_t{32}, std::size_t{4096}, std::size_t{100'000}, std::size_t{1'000'000}})
        this->with_items(50, stride, [&](const auto& items, const core::slab_store& store) {
            for (const auto* const each : items)
                ASSERT_EQ(&object_access::slab_of(*each), store.chunks().slab_of(each)) << stride;
        });
}

TYPED_TEST(counted_object, returns_to_its_store_with_its_last_reference)
{
    for (const std::size_t stride : {std::size_t{32}, std::size_t{1'000'000}})
        this->with_items(2, stride, [this](const auto& items, const core::slab_store&) {
            this->listener_.returned.clear();
            object_access::count(*items[1]).add();
            object_access::release(*items[1]);
            EXPECT_TRUE(this->listener_.returned.empty());
            object_access::release(*items[1]);
            EXPECT_EQ(this->listener_.returned, std::vector<void*>{items[1]});
        });
}

TYPED_TEST(counted_object, reports_a_reference_that_is_dropped_twice)
{
    const test::error_recorder recorder;
    this->with_items(1, 32, [&](const auto& items, const core::slab_store&) {
        object_access::release(*items[0]);
        EXPECT_TRUE(recorder.reports().empty());
        object_access::release(*items[0]);
        object_access::release(*items[0]);
        EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::double_free));
        EXPECT_EQ(recorder.reports()[0].address, items[0]);
        EXPECT_EQ(this->listener_.returned.size(), 1U);
    });
}

TYPED_TEST(counted_object, can_store_a_link_in_place_of_count_and_place)
{
    this->with_items(20, 100'000, [](const auto& items, const core::slab_store& store) {
        void* const next = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x0123'4567'89ab'cde8U));
        for (void* const link : {next, static_cast<void*>(items[0]), static_cast<void*>(nullptr)}) {
            object_access::link(*items[19], link);
            EXPECT_EQ(object_access::linked(*items[19]), link);
        }
        object_access::settle_again(*items[19], store.layout());
        EXPECT_EQ(&object_access::slab_of(*items[19]), store.chunks().slab_of(items[19]));
    });
}

TYPED_TEST(counted_object, does_not_copy_references_or_place)
{
    this->with_items(20, 100'000, [](const auto& items, const core::slab_store& store) {
        object_access::count(*items[0]).add();
        const typename TestFixture::item::counted copy(
            static_cast<const typename TestFixture::item::counted&>(*items[0]));
        EXPECT_EQ(object_access::count(copy).read(), object_access::count(typename TestFixture::item().header).read());
        static_cast<typename TestFixture::item::counted&>(*items[19]) = copy;
        static_cast<typename TestFixture::item::counted&>(*items[19]) =
            static_cast<const typename TestFixture::item::counted&>(*items[0]);
        EXPECT_EQ(object_access::count(*items[19]).read(), 1U);
        EXPECT_EQ(&object_access::slab_of(*items[19]), store.chunks().slab_of(items[19]));
    });
}
} // namespace
