// Handles and iteration, one thread. Link: memory_pool::memory_pool. (From the issue on handles and coroutines on.)
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include "check.hpp"
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace mp = memory_pool;

struct entity {
    static inline int live = 0;
    explicit entity(int id) : id(id) { ++live; }
    entity(const entity&) = delete;
    ~entity() { --live; }
    int id;
};

int main()
{
    mp::handle_pool<entity> entities;
    using handle = mp::handle_pool<entity>::handle;
    static_assert(sizeof(handle) == 8 && std::is_trivially_copyable_v<handle>);
    CHECK(entities.get(handle{}) == nullptr);               // the null handle
    const handle a = entities.create(1), b = entities.create(2);
    CHECK(a != b && entities.get(a)->id == 1 && entities.get(b)->id == 2 && entities.size() == 2);
    CHECK(entities.destroy(a) && !entities.destroy(a));     // a stale handle is noticed, not misused
    CHECK(entities.get(a) == nullptr && entities.size() == 1);
    const handle c = entities.create(3);                    // perhaps in a's place
    CHECK(entities.get(a) == nullptr && entities.get(c)->id == 3);
    entities.clear();
    (void)entities.trim();
    CHECK(entities.get(b) == nullptr && entities.get(c) == nullptr && entity::live == 0);
    const handle d = entities.create(4);
    CHECK(d != a && d != b && d != c);
    std::unordered_set<handle> seen{a, b, c, d};            // std::hash
    CHECK(seen.size() == 4);
    int visited = 0;
    for (entity& e : entities) visited += e.id;
    CHECK(visited == 4);
}
