// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Iterative instead of recursive destruction of objects that release others, so that a chain of any length needs no
/// stack.
///
///     end(A) { destructor of A releases B: pending = B }   end(B) { releases C: pending = C }   end(C) ...
///
/// While an object of a store is destroyed, other objects of that store released in the same thread are pending. Those
/// of other stores are destroyed at once, so the stack depth is bounded by the number of stores.
///
/// Thread safety: a local variable.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
class release_scope;

// Without constructor or destructor to run, so that the compiler puts no guard before each access.
inline thread_local release_scope* innermost_release_scope = nullptr;

/// During its lifetime, released objects of a store are pending.
class release_scope : base::immovable<release_scope>
{
public:
    /// Effects: begins one for `store`.
    MEMORY_POOL_ALWAYS_INLINE explicit release_scope(const void* store) noexcept
        : store_(store), outer_(innermost_release_scope)
    {
        innermost_release_scope = this;
    }
    MEMORY_POOL_ALWAYS_INLINE ~release_scope() { innermost_release_scope = outer_; }

    /// Returns: that of `store` in this thread, or nullptr.
    /// Complexity: linear in stores with an active scope in this thread.
    MEMORY_POOL_ALWAYS_INLINE static release_scope* of(const void* store) noexcept
    {
        release_scope* scope = innermost_release_scope;
        while (MEMORY_POOL_UNLIKELY(scope != nullptr) && scope->store_ != store)
            scope = scope->outer_;
        return scope;
    }

    /// The pending object released last; each links to the one before it.
    void* pending = nullptr;

    /// The object that is ending, and those that wait.
    std::size_t objects = 1;

private:
    const void* store_;
    release_scope* outer_;
};

/// Effects: calls `end(object)`, now or, if it is called by `end` for another object of `store`, later; until then,
///   `link(object, next)` keeps in the object what `linked(object)` gives back.
template <class Object, class End, class Link, class Linked>
MEMORY_POOL_ALWAYS_INLINE void end_in_turn(const void* store, Object* object, End&& end, Link&& link, Linked&& linked)
{
    if (release_scope* const scope = release_scope::of(store)) {
        link(object, scope->pending);
        scope->pending = object;
        ++scope->objects;
        return;
    }
    release_scope scope(store);
    end(object);
    while (MEMORY_POOL_UNLIKELY(scope.pending != nullptr)) {
        auto* const next = static_cast<Object*>(scope.pending);
        scope.pending = linked(next);
        --scope.objects;
        end(next);
    }
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
