// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Coroutine frames that must not compile, one for each value of REFUSED, and valid code for 0.
#include <memory_pool/pooled_frame.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace mp = memory_pool;

namespace {
template <class Frame>
struct promise : Frame
{
};

struct observer
{
    static void allocated(const char*, const void*, std::size_t) noexcept {}
    static void freed(const char*, const void*) noexcept {}
};
} // namespace

int main()
{
    std::pmr::memory_resource* const resource = std::pmr::get_default_resource();
    const std::allocator<int> plain;
    int object = 0;
    mp::resource_frame::operator delete(mp::resource_frame::operator new(100, std::allocator_arg, resource), 100);
    (void)promise<mp::basic_pooled_frame<mp::checking_policy, 64>>();
    (void)plain;
    (void)object;
#if REFUSED == 1
    (void)mp::pooled_frame::operator new(100, std::allocator_arg, resource);
#elif REFUSED == 2
    (void)mp::pooled_frame::operator new(100, object, std::allocator_arg, resource, 3);
#elif REFUSED == 3
    (void)mp::resource_frame::operator new(100, std::allocator_arg, plain);
#elif REFUSED == 4
    (void)mp::resource_frame::operator new(100, object, std::allocator_arg, nullptr, 3);
#elif REFUSED == 5
    (void)promise<mp::basic_pooled_frame<mp::default_policy, 48>>();
#elif REFUSED == 6
    (void)promise<mp::basic_resource_frame<8>>();
#elif REFUSED == 7
    (void)promise<mp::basic_pooled_frame<mp::counting_policy>>();
#elif REFUSED == 8
    (void)promise<mp::basic_pooled_frame<mp::observing_policy<observer>>>();
#endif
}
