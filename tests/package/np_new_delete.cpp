// SPDX-License-Identifier: MIT
#include <memory_pool/np_new_delete.hpp>

#include <string>

int main()
{
    const std::string text(100, 'x');
    return np_owns(text.data()) ? 0 : 1;
}
