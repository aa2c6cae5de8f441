// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Iterative destruction of objects that release other objects, so that a chain of any length cannot overflow the
/// stack.
///
///     end(A) { destructor of A releases B: pending = B }   end(B) { releases C: pending = C }   end(C) ...
///
/// While an object of a store is destroyed, other objects of that store that this thread releases are pending. Objects
/// of other stores are destroyed at once, so the number of stores bounds the stack depth.
///
/// Thread safety: a local variable.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
class release_scope;

// Trivial, so that the compiler does not guard each access.
inline thread_local release_scope* innermost_release_scope = nullptr;

/// While a scope exists, objects of its store that this thread releases are pending.
class release_scope : base::immovable<release_scope>
{
public:
    /// Effects: begins a scope for `store`.
    MEMORY_POOL_ALWAYS_INLINE explicit release_scope(const void* store) noexcept
        : store_(store), outer_(innermost_release_scope)
    {
        innermost_release_scope = this;
    }
    MEMORY_POOL_ALWAYS_INLINE ~release_scope() { innermost_release_scope = outer_; }

    /// Returns: the scope of `store` in this thread, or nullptr.
    /// Complexity: linear in the active scopes of this thread.
    MEMORY_POOL_ALWAYS_INLINE static release_scope* of(const void* store) noexcept
    {
        release_scope* scope = innermost_release_scope;
        while (MEMORY_POOL_UNLIKELY(scope != nullptr) && scope->store_ != store)
            scope = scope->outer_;
        return scope;
    }

    /// The pending object released last. Each pending object links to the one released before it.
    void* pending = nullptr;

    /// The number of pending objects, plus the object that is ending.
    std::size_t objects = 1;

private:
    const void* store_;
    release_scope* outer_;
};

/// Effects: calls `end(object)`. If this thread is in `end` of another object of `store`, the call is deferred until
///   that one returns. Until then, the object holds a pointer, which `link(object, next)` stores and `linked(object)`
///   returns.
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
