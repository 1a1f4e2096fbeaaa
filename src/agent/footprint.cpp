// SPDX-License-Identifier: Apache-2.0
#include "agent/footprint.hpp"

#include <sys/mman.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "base/memory.hpp"

namespace athanor::agent {
namespace {

// "55d0c0a00000-55d0c0b00000 r-xp 00000000 08:01 1234  /usr/bin/athanor-agent": code alone is
// never written to, so that the file has all of it.
void drop_code(std::string_view line) {
  constexpr int kHex = 16;
  const std::size_t dash = line.find('-');
  const std::size_t blank = line.find(' ');
  if (dash == std::string_view::npos || blank == std::string_view::npos ||
      line.substr(blank + 1, 4) != "r-xp" || line.find('/') == std::string_view::npos) {
    return;
  }
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::from_chars(line.data(), line.data() + dash, from, kHex);
  std::from_chars(line.data() + dash + 1, line.data() + blank, to, kHex);
  if (from != 0 && from < to) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast)
    ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
}

}  // namespace

void shrink() {
  memory::give_back();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    drop_code(line);
  }
}

}  // namespace athanor::agent
