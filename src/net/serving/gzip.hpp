// SPDX-License-Identifier: Apache-2.0
// Compression of answers for clients that take gzip.
#pragma once

#include <string>
#include <string_view>

namespace athanor::net {

// Returns the bytes in the format of gzip, packed for speed; empty where zlib has no memory, or the
// bytes are too many for one step (2 GiB): they then go out as they are.
std::string gzip(std::string_view bytes);

}  // namespace athanor::net
