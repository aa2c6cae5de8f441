// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes on a stack of memory resources and on a model of each.
///
///     containers, owners, frames, blocks  ->  watched_resource  ->  adaptor  ->  ...  ->  resource  ->  upstream
///                                                    |                |
///                                              knows each chunk     has a model that predicts refusals
///
/// Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a mismatch.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/no_allocation_scope.hpp>
#include <memory_pool/np_alloc.hpp>
#include <memory_pool/page_resource.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/pooled_frame.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/tape.hpp>
#include <support/filled_blocks.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
/// An adaptor with a model of its behaviour.
class modelled_adaptor
{
public:
    modelled_adaptor() = default;
    modelled_adaptor(const modelled_adaptor&) = delete;
    modelled_adaptor& operator=(const modelled_adaptor&) = delete;
    virtual ~modelled_adaptor() = default;

    virtual std::pmr::memory_resource* resource() = 0;

    /// Called before a chunk is allocated.
    /// Returns: whether the adaptor must refuse the chunk.
    virtual bool refuses(std::size_t /*bytes*/) { return false; }

    /// Called when a resource below has refused a chunk.
    virtual void failed() {}
    virtual void allocated(std::size_t /*bytes*/) {}
    virtual void deallocated(std::size_t /*bytes*/) {}

    /// Changes how a failing adaptor fails.
    virtual void change(tape& /*instructions*/) {}

    /// Returns: whether the statistics of adaptor and model agree.
    virtual bool agrees() { return true; }
};

class modelled_limit : public modelled_adaptor
{
public:
    modelled_limit(tape& instructions, std::pmr::memory_resource* upstream)
        : limit_(instructions.byte() % 4 == 0 ? memory_pool::limit_options::unbounded : instructions.number() * 4),
          soft_limit_(instructions.byte() % 2 == 0 ? limit_ / 2 : memory_pool::limit_options::unbounded),
          adaptor_(memory_pool::limit_options{}
                       .with_limit(limit_)
                       .with_soft_limit(soft_limit_)
                       .with_on_soft_limit([this](memory_pool::limit_resource&) { ++calls_; }),
                   upstream)
    {
    }

    std::pmr::memory_resource* resource() override { return &adaptor_; }

    bool refuses(std::size_t bytes) override
    {
        if (bytes > limit_ - in_use_)
            return true;
        expected_calls_ += in_use_ <= soft_limit_ && in_use_ + bytes > soft_limit_ ? 1 : 0;
        return false;
    }

    void allocated(std::size_t bytes) override { in_use_ += bytes; }
    void deallocated(std::size_t bytes) override { in_use_ -= bytes; }

    bool agrees() override
    {
        return adaptor_.bytes_in_use() == in_use_ && adaptor_.limit() == limit_ && calls_ == expected_calls_;
    }

private:
    const std::size_t limit_;
    const std::size_t soft_limit_;
    std::size_t in_use_ = 0;
    std::size_t calls_ = 0; ///< calls of on_soft_limit
    std::size_t expected_calls_ = 0;
    memory_pool::limit_resource adaptor_;
};

/// Counts the blocks of one call site or of the resource itself.
class modelled_tracker : public modelled_adaptor
{
public:
    modelled_tracker(tape& instructions, std::pmr::memory_resource* upstream)
        : adaptor_(upstream), has_site_(instructions.byte() % 2 == 0)
    {
        if (has_site_)
            site_ = adaptor_.for_site(memory_pool::call_site{"tape.cpp", 7});
    }

    std::pmr::memory_resource* resource() override { return has_site_ ? site_ : &adaptor_; }
    void failed() override { ++expected_.failures; }

    void allocated(std::size_t bytes) override
    {
        ++expected_.allocations;
        expected_.peak_in_use = std::max(expected_.peak_in_use, ++expected_.in_use);
        expected_.bytes_in_use += bytes;
        expected_.peak_bytes_in_use = std::max(expected_.peak_bytes_in_use, expected_.bytes_in_use);
    }

    void deallocated(std::size_t bytes) override
    {
        ++expected_.deallocations;
        --expected_.in_use;
        expected_.bytes_in_use -= bytes;
    }

    bool agrees() override
    {
        bool all_do = is_as_expected(adaptor_.statistics());
        std::size_t sites = 0;
        adaptor_.for_each_site([&](const memory_pool::call_site& site, const memory_pool::resource_statistics& used) {
            all_do = all_do && site == memory_pool::call_site{"tape.cpp", 7} && is_as_expected(used);
            ++sites;
        });
        return all_do && sites == (has_site_ ? 1 : 0);
    }

private:
    bool is_as_expected(const memory_pool::resource_statistics& counted) const
    {
        return counted.allocations == expected_.allocations && counted.deallocations == expected_.deallocations &&
               counted.failures == expected_.failures && counted.in_use == expected_.in_use &&
               counted.peak_in_use == expected_.peak_in_use && counted.bytes_in_use == expected_.bytes_in_use &&
               counted.peak_bytes_in_use == expected_.peak_bytes_in_use;
    }

    memory_pool::tracking_resource adaptor_;
    const bool has_site_;
    std::pmr::memory_resource* site_ = nullptr;
    memory_pool::resource_statistics expected_;
};

/// Fails at a given call or at random. A twin with the same seed must fail at the same calls.
class modelled_failure : public modelled_adaptor
{
public:
    modelled_failure(tape& instructions, std::pmr::memory_resource* upstream) : adaptor_(0, upstream)
    {
        change(instructions);
    }

    std::pmr::memory_resource* resource() override { return &adaptor_; }

    void change(tape& instructions) override
    {
        const std::size_t how = instructions.byte();
        calls_until_failure_ = how % 3 == 1 ? 1 + instructions.byte() % 20 : 0;
        if (how % 3 == 0)
            return adaptor_.never_fail(), twin_.never_fail();
        if (how % 3 == 1)
            return adaptor_.fail_at(calls_until_failure_), twin_.never_fail();
        const memory_pool::failure_chance chance{static_cast<double>(instructions.byte()) / 512, instructions.byte()};
        adaptor_.fail_by_chance(chance);
        twin_.fail_by_chance(chance);
    }

    bool refuses(std::size_t) override
    {
        ++calls_;
        const bool is_the_call = calls_until_failure_ == 1;
        calls_until_failure_ -= calls_until_failure_ != 0 ? 1 : 0;
        const bool does = is_the_call || twin_fails();
        failures_ += does ? 1 : 0;
        return does;
    }

    bool agrees() override { return adaptor_.calls() == calls_ && adaptor_.failures() == failures_; }

private:
    bool twin_fails()
    {
        return !memory_pool::detail::base::succeeds([&] { twin_.deallocate(twin_.allocate(1), 1); });
    }

    memory_pool::failing_resource adaptor_;
    memory_pool::failing_resource twin_{0, std::pmr::new_delete_resource()};
    std::size_t calls_until_failure_ = 0;
    std::size_t calls_ = 0;
    std::size_t failures_ = 0;
};

class modelled_lock : public modelled_adaptor
{
public:
    modelled_lock(tape&, std::pmr::memory_resource* upstream) : adaptor_(upstream) {}
    std::pmr::memory_resource* resource() override { return &adaptor_; }

private:
    memory_pool::synchronized_resource adaptor_;
};

/// The resource under the adaptors.
class any_resource
{
public:
    any_resource(tape& instructions, test::accounting_upstream& upstream)
    {
        using namespace memory_pool;
        const std::size_t kind = instructions.byte() % 12;
        pool_options options;
        options.alignment = std::size_t{1} << instructions.byte() % 8;
        switch (kind) {
        case 0: use(std::make_unique<unsynchronized_arena_resource>(&upstream)); break;
        case 1: use(std::make_unique<basic_synchronized_arena_resource<checking_policy>>(&upstream)); break;
        case 2: use(std::make_unique<unsynchronized_pool_resource>(&upstream)); break;
        case 3: use(std::make_unique<basic_synchronized_pool_resource<checking_policy>>(&upstream)); break;
        case 4:
            pool_.emplace(1 + instructions.byte(), options, &upstream);
            use_blocks(*pool_);
            break;
        case 5:
            shared_pool_.emplace(1 + instructions.byte(), options, &upstream);
            use_blocks(*shared_pool_);
            break;
        case 6: owned_ = std::make_unique<page_resource>(); break;
        case 7: resource_ = np_resource(); break;
        case 8: owned_ = std::make_unique<np_heap_resource>("tape"); break;
        default: resource_ = &upstream; break;
        }
        if (owned_ != nullptr)
            resource_ = owned_.get();
    }

    std::pmr::memory_resource* resource() const { return resource_; }
    bool verify() const { return !verify_ || verify_(); }
    void trim() const
    {
        if (trim_)
            trim_();
    }

    /// Returns: whether all calls of upstream come through this resource.
    bool is_from_upstream() const { return bool(verify_); }

    /// Returns: the block resource, or nullptr if the resource is of another kind.
    memory_pool::block_resource<memory_pool::block_pool>* blocks() const { return blocks_; }

private:
    template <class Resource>
    void use(std::unique_ptr<Resource> resource)
    {
        verify_ = [used = resource.get()] { return used->verify(); };
        trim_ = [used = resource.get()] { (void)used->trim(); };
        resource_ = resource.get();
        owned_ = std::move(resource);
    }

    template <class Pool>
    void use_blocks(Pool& pool)
    {
        auto resource = std::make_unique<memory_pool::block_resource<Pool>>(pool);
        if constexpr (std::is_same_v<Pool, memory_pool::block_pool>)
            blocks_ = resource.get();
        verify_ = [&pool] { return pool.verify(); };
        trim_ = [&pool] { (void)pool.trim(); };
        resource_ = resource.get();
        owned_ = std::move(resource);
    }

    std::optional<memory_pool::block_pool> pool_;
    std::optional<memory_pool::concurrent_block_pool> shared_pool_;
    std::unique_ptr<std::pmr::memory_resource> owned_;
    std::pmr::memory_resource* resource_ = nullptr;
    memory_pool::block_resource<memory_pool::block_pool>* blocks_ = nullptr;
    std::function<bool()> verify_;
    std::function<void()> trim_;
};

/// The top of the stack: compares each call with the predictions of the models.
class watched_resource : public std::pmr::memory_resource
{
public:
    /// Must not return.
    using disagree_function = std::function<void(const char* what)>;

    watched_resource(std::pmr::memory_resource* bottom, disagree_function disagrees)
        : top_(bottom), disagrees_(std::move(disagrees))
    {
    }

    void put_on_top(std::unique_ptr<modelled_adaptor> adaptor)
    {
        top_ = adaptor->resource();
        adaptors_.push_back(std::move(adaptor));
    }

    std::pmr::memory_resource* top() const { return top_; }
    void expect_failure() { bottom_is_to_fail_ = true; }
    bool expects_failure() const { return bottom_is_to_fail_; }
    std::size_t chunks() const { return chunks_.size(); }

    void change(tape& instructions)
    {
        for (const auto& each : adaptors_)
            each->change(instructions);
    }

    void verify() const
    {
        for (const auto& each : adaptors_)
            expect(each->agrees(), "wrong statistics of an adaptor");
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        std::size_t level = adaptors_.size(); // the adaptors above let the chunk pass
        while (level != 0 && !adaptors_[level - 1]->refuses(bytes))
            --level;
        void* chunk = nullptr;
        try {
            chunk = top_->allocate(bytes, alignment);
        } catch (const std::bad_alloc&) {
            expect(level != 0 || bottom_is_to_fail_, "refused without a reason");
            bottom_is_to_fail_ = bottom_is_to_fail_ && level != 0;
            std::for_each(adaptors_.begin() + static_cast<std::ptrdiff_t>(level), adaptors_.end(),
                          [](const auto& each) { each->failed(); });
            throw;
        }
        expect(level == 0, "an adaptor allowed a forbidden chunk");
        add(chunk, bytes, alignment);
        for (const auto& each : adaptors_)
            each->allocated(bytes);
        return chunk;
    }

    void add(void* chunk, std::size_t bytes, std::size_t alignment)
    {
        expect(reinterpret_cast<std::uintptr_t>(chunk) % alignment == 0, "misaligned");
        const auto added = chunks_.emplace(static_cast<char*>(chunk), shape(bytes, alignment));
        expect(added.second, "allocated twice");
        const auto next = std::next(added.first);
        expect(next == chunks_.end() || added.first->first + bytes <= next->first, "two chunks overlap");
        expect(added.first == chunks_.begin() ||
                   std::prev(added.first)->first + std::prev(added.first)->second.first <= added.first->first,
               "two chunks overlap");
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const auto known = chunks_.find(static_cast<char*>(chunk));
        expect(known != chunks_.end() && known->second == shape(bytes, alignment),
               "freed an unknown chunk or one of another size");
        chunks_.erase(known);
        top_->deallocate(chunk, bytes, alignment);
        for (const auto& each : adaptors_)
            each->deallocated(bytes);
    }

    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    void expect(bool condition, const char* otherwise) const
    {
        if (!condition)
            disagrees_(otherwise);
    }

    using shape = std::pair<std::size_t, std::size_t>; ///< bytes and alignment

    std::vector<std::unique_ptr<modelled_adaptor>> adaptors_; ///< from bottom to top
    std::pmr::memory_resource* top_;
    disagree_function disagrees_;
    std::map<char*, shape> chunks_; ///< outstanding
    bool bottom_is_to_fail_ = false;
};

class adaptor_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        const std::size_t frames_before = memory_pool::pooled_frame::bytes_in_use();
        {
            adaptor_player player(instructions, upstream);
            while (!instructions.at_end())
                player.step();
            player.end();
        }
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "a resource leaked upstream memory");
        if (memory_pool::pooled_frame::bytes_in_use() != frames_before)
            disagree({}, "a frame leaked");
    }

private:
    struct owned_object : marked_item, owned_base
    {
    };

    /// The allocating bases of a coroutine's promise.
    using frames = memory_pool::resource_frame;
    using nothrow_frames = memory_pool::nothrow_frame<memory_pool::resource_frame>;

    adaptor_player(tape& instructions, test::accounting_upstream& upstream)
        : tape_(instructions), upstream_(upstream), bottom_(tape_, upstream),
          watched_(bottom_.resource(), [this](const char* what) { disagree(log_, what); })
    {
        for (std::size_t adaptors = tape_.byte() % 5; adaptors != 0; --adaptors)
            switch (tape_.byte() % 4) {
            case 0: put<modelled_limit>(); break;
            case 1: put<modelled_tracker>(); break;
            case 2: put<modelled_failure>(); break;
            default: put<modelled_lock>(); break;
            }
    }

    template <class Adaptor>
    void put()
    {
        watched_.put_on_top(std::make_unique<Adaptor>(tape_, watched_.top()));
    }

    void step()
    {
        switch (tape_.byte() % 19) {
        case 0:
        case 1: return log("allocate"), allocate(1 + tape_.byte() % 8, tape_.byte(), tape_.byte() % 5);
        case 2: return log("allocate a large one"), allocate(1, tape_.number(), tape_.byte() % 14);
        case 3: return log("free"), give_back(tape_.number(), 1 + tape_.byte() % 32);
        case 4: return log("free all"), give_back(0, blocks_.size());
        case 5: return log("change what fails"), watched_.change(tape_);
        case 6: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 7: return log("append to a vector"), append(vector_, expected_vector_, 1 + tape_.byte());
        case 8: return log("append to a list"), append(list_, expected_list_, 1 + tape_.byte() % 20);
        case 9: return log("insert into a map"), insert(tape_.number(), 1 + tape_.byte() % 20);
        case 10: return log("erase from a map"), erase(tape_.number(), 1 + tape_.byte() % 20);
        case 11: return log("append to a string"), append_text(tape_.byte());
        case 12: return log("clear containers"), clear(tape_.byte());
        case 13: return log("make owners"), make_unique(1 + tape_.byte() % 9, tape_.byte());
        case 14: return log("drop owners"), owners_.resize(owners_.size() / (1 + tape_.byte() % 3));
        case 15: return log("begin frames"), begin_frames(1 + tape_.byte() % 9, tape_.number() % 2000);
        case 16: return log("end frames"), end_frames(1 + tape_.byte() % 20);
        case 17: return log("trim"), bottom_.trim();
        default: return log("allocate at least"), allocate_at_least(tape_.byte() * 2, tape_.byte());
        }
    }

    void log(const char* operation)
    {
        verify();
        log_.emplace_back(operation);
    }

    void fail(std::size_t call)
    {
        upstream_.fail_at(call);
        watched_.expect_failure();
    }

    /// Returns: whether there was enough memory. After a planned failure, upstream no longer fails.
    template <class Action>
    bool succeeds(Action&& action)
    {
        if (memory_pool::detail::base::succeeds(std::forward<Action>(action)))
            return true;
        if (!watched_.expects_failure())
            upstream_.never_fail();
        return false;
    }

    // Blocks.

    void allocate(std::size_t count, std::size_t bytes, std::size_t alignment_exponent)
    {
        const std::size_t before = upstream_.successes();
        const memory_pool::no_allocation_scope scope("tape", memory_pool::allocating::counted);
        for (; count != 0; --count)
            if (!succeeds([&] {
                    blocks_.push_back(test::allocate_filled(watched_, bytes, std::size_t{1} << alignment_exponent));
                }))
                break;
        if (bottom_.is_from_upstream())
            expect(scope.allocations() == upstream_.successes() - before, "wrong number of upstream calls");
    }

    void give_back(std::size_t first, std::size_t count)
    {
        for (; count != 0 && !blocks_.empty(); --count) {
            const auto gone = blocks_.begin() + static_cast<std::ptrdiff_t>(first % blocks_.size());
            expect(test::give_back(watched_, *gone), "content changed");
            blocks_.erase(gone);
        }
    }

    void allocate_at_least(std::size_t bytes, std::size_t count)
    {
        allocator<std::uint64_t> of_chunks(watched_);
        (void)succeeds([&] {
            const auto [ptr, got] = of_chunks.allocate_at_least(count);
            std::fill_n(ptr, got, std::uint64_t{1});
            expect(got >= count, "allocated fewer than requested");
            of_chunks.deallocate(ptr, got);
        });
        if (bottom_.blocks() == nullptr)
            return;
        memory_pool::block_resource<memory_pool::block_pool>& blocks = *bottom_.blocks();
        memory_pool::resource_allocator<char, memory_pool::block_resource<memory_pool::block_pool>> of_blocks(blocks);
        const bool had_memory = memory_pool::detail::base::succeeds([&] {
            const auto [ptr, got] = of_blocks.allocate_at_least(bytes);
            std::memset(ptr, 1, got);
            expect(got == std::max(bytes, blocks.good_size(bytes, 1)), "allocated a size other than good_size()");
            of_blocks.deallocate(ptr, got);
        });
        expect(had_memory || watched_.expects_failure(), "refused without a reason");
    }

    // Containers.

    template <class Container, class Expected>
    void append(Container& container, Expected& expected, std::size_t count)
    {
        for (; count != 0; --count) {
            const auto value = static_cast<typename Expected::value_type>(expected.size() * 3);
            if (!succeeds([&] { container.push_back(value); }))
                return;
            expected.push_back(value);
        }
    }

    void insert(std::size_t key, std::size_t count)
    {
        for (; count != 0; --count, key += 7) {
            if (!succeeds([&] { map_.emplace(key, key * 2); }))
                return;
            expected_map_.emplace(key, key * 2);
        }
    }

    void erase(std::size_t key, std::size_t count)
    {
        for (; count != 0; --count, key += 7)
            expect(map_.erase(key) == expected_map_.erase(key), "erased the wrong elements");
    }

    void append_text(std::size_t count)
    {
        const std::string more(count, static_cast<char>('a' + count % 26));
        if (succeeds([&] { text_ += more; }))
            expected_text_ += more;
    }

    void clear(std::size_t which)
    {
        if (which % 2 == 0) {
            vector_.clear();
            expected_vector_.clear();
            (void)succeeds([&] { vector_.shrink_to_fit(); });
        }
        if (which / 2 % 2 == 0) {
            list_.clear();
            expected_list_.clear();
        }
        if (which / 4 % 2 == 0) {
            map_.clear();
            expected_map_.clear();
        }
    }

    // Objects and coroutine frames.

    void make_unique(std::size_t count, std::size_t throws_at)
    {
        marked_item::throw_at(throws_at % 16);
        for (; count != 0; --count)
            if (!succeeds([&] { owners_.push_back(memory_pool::allocate_unique<owned_object>(watched_)); }))
                break;
        marked_item::throw_at(0);
    }

    struct frame
    {
        unsigned char* address;
        std::size_t bytes;
        int kind;
    };

    void begin_frames(std::size_t count, std::size_t bytes)
    {
        std::pmr::memory_resource* const resource = &watched_;
        for (; count != 0; --count) {
            const int kind = static_cast<int>(count % 4);
            void* address = nullptr;
            (void)succeeds([&] {
                address = kind == 0   ? frames::operator new(bytes, std::allocator_arg, resource)
                          : kind == 1 ? nothrow_frames::operator new(bytes, std::allocator_arg, resource)
                          : kind == 2 ? frames::operator new(bytes)
                                      : memory_pool::pooled_frame::operator new(bytes);
            });
            if (address == nullptr)
                return;
            std::memset(address, static_cast<int>(bytes % 251), bytes);
            frames_.push_back({static_cast<unsigned char*>(address), bytes, kind});
        }
    }

    void end_frames(std::size_t count)
    {
        for (; count != 0 && !frames_.empty(); --count) {
            const frame ended = frames_.back();
            frames_.pop_back();
            expect(std::all_of(ended.address, ended.address + ended.bytes,
                               [&](unsigned char each) { return each == ended.bytes % 251; }),
                   "a frame was overwritten");
            if (ended.kind == 3)
                memory_pool::pooled_frame::operator delete(ended.address, ended.bytes);
            else
                frames::operator delete(ended.address, ended.bytes);
        }
        if (count % 4 == 0)
            (void)memory_pool::pooled_frame::trim();
        expect(memory_pool::pooled_frame::verify(), "the frame pools are invalid");
    }

    void end()
    {
        verify();
        log_.emplace_back("the end");
        end_frames(frames_.size());
        owners_.clear();
        give_back(0, blocks_.size());
        clear(0);
        expected_vector_.clear();
    }

    void verify()
    {
        watched_.verify();
        for (const test::filled_block& each : blocks_)
            expect(each.is_intact(), "content changed");
        expect(std::equal(vector_.begin(), vector_.end(), expected_vector_.begin(), expected_vector_.end()) &&
                   std::equal(list_.begin(), list_.end(), expected_list_.begin(), expected_list_.end()) &&
                   std::equal(map_.begin(), map_.end(), expected_map_.begin(), expected_map_.end()) &&
                   std::equal(text_.begin(), text_.end(), expected_text_.begin(), expected_text_.end()),
               "wrong contents of a container");
        expect(marked_item::alive() == owners_.size(), "wrong number of live objects");
        if (log_.size() % 8 == 0)
            expect(bottom_.verify(), "verify() failed");
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    template <class T>
    using allocator = memory_pool::resource_allocator<T, watched_resource>;

    tape& tape_;
    test::accounting_upstream& upstream_;
    std::vector<std::string> log_;
    any_resource bottom_;
    watched_resource watched_;
    std::vector<test::filled_block> blocks_;
    std::pmr::vector<std::uint32_t> vector_{&watched_};
    std::vector<std::uint32_t> expected_vector_;
    std::list<std::uint64_t, allocator<std::uint64_t>> list_{allocator<std::uint64_t>(watched_)};
    std::list<std::uint64_t> expected_list_;
    std::pmr::map<std::size_t, std::size_t> map_{&watched_};
    std::map<std::size_t, std::size_t> expected_map_;
    std::pmr::string text_{&watched_};
    std::string expected_text_;
    std::vector<std::unique_ptr<owned_base, memory_pool::polymorphic_deleter>> owners_;
    std::vector<frame> frames_;
};

/// Plays the tape on a stack of resources.
inline void play_adaptor(const std::uint8_t* bytes, std::size_t size)
{
    adaptor_player::play(bytes, size);
}
} // namespace fuzz
