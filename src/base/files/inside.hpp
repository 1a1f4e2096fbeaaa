// SPDX-License-Identifier: Apache-2.0
// Opens what is below a folder whose contents others choose, and may change at any moment: no link
// in it leads out. Needs Linux 5.6; before that nothing opens (ENOSYS).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/descriptor.hpp"

namespace athanor {

// Treatment of links below the folder. InRoot: they lead as if the folder were "/". Beneath: one
// that leaves the folder is an error (EXDEV). Refused: each is an error (ELOOP).
enum class Links : std::uint8_t { InRoot, Beneath, Refused };

// Opens `path` below `folder` with these flags of open(). Invalid, with errno: it does not open.
Descriptor open_inside(int folder, const std::string& path, int flags, Links links);

// Opens the folder `path` below `folder` (O_PATH); makes what is missing on the way, with the
// rights `mode`, whatever the umask. Invalid, with errno: something is in the way, or cannot be
// made.
Descriptor make_folder_inside(int folder, const std::string& path, unsigned mode, Links links);

// Returns the path by which calls that take no descriptor reach an open file.
std::string path_of_open(int file);

}  // namespace athanor
