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

// One mapping of /proc/self/smaps: "55d0c0a00000-55d0c0b00000 r-xp 00000000 08:01 1234 /usr/bin/x".
struct Mapping {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  bool of_file = false;  // that is never written to through it
};

Mapping read_mapping(std::string_view line) {
  constexpr int kHex = 16;
  const std::size_t dash = line.find('-');
  const std::size_t blank = line.find(' ');
  Mapping mapping;
  if (dash == std::string_view::npos || blank == std::string_view::npos || dash > blank) {
    return mapping;
  }
  std::from_chars(line.data(), line.data() + dash, mapping.from, kHex);
  std::from_chars(line.data() + dash + 1, line.data() + blank, mapping.to, kHex);
  const std::string_view rights = line.substr(blank + 1, 4);
  mapping.of_file =
      (rights == "r-xp" || rights == "r--p") && line.find('/') != std::string_view::npos;
  return mapping;
}

// The file has all of a mapping that holds no page of the process's own, such as relocations.
void drop(const Mapping& mapping) {
  if (mapping.of_file && mapping.from != 0 && mapping.from < mapping.to) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast)
    ::madvise(reinterpret_cast<void*>(mapping.from), mapping.to - mapping.from, MADV_DONTNEED);
  }
}

}  // namespace

void shrink() {
  memory::give_back();
  constexpr std::string_view kOwn = "Anonymous:";
  std::ifstream maps("/proc/self/smaps");
  Mapping mapping;
  for (std::string line; std::getline(maps, line);) {
    if (!line.empty() && (line.front() < 'A' || line.front() > 'Z')) {
      mapping = read_mapping(line);
    } else if (line.starts_with(kOwn)) {
      const std::size_t digits = line.find_first_of("0123456789");
      if (digits != std::string::npos && line.compare(digits, 2, "0 ") == 0) {
        drop(mapping);
      }
    }
  }
}

}  // namespace athanor::agent
