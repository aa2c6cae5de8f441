// SPDX-License-Identifier: MIT
#include <np_alloc.h>

static_assert(__cplusplus == 201402L, "the target must not require a later C++");

int main()
{
    void* const block = np_alloc(100);
    void* const other = np_alloc(100, __FILE__, __LINE__);
    np_free(other);
    np_free(block);
    return block != other ? 0 : 1;
}
