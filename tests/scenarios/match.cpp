// SPDX-License-Identifier: Apache-2.0
#include "scenarios/match.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace athanor::test {

bool contains(const Value& whole, const Value& part) {
  if (part.is_object()) {
    const auto members = part.members();
    return std::all_of(members.begin(), members.end(), [&](const Member& member) {
      return member.value.is_null() ? whole[member.key()].is_null()
                                    : contains(whole[member.key()], member.value);
    });
  }
  if (part.is_list()) {
    if (!whole.is_list() || whole.size() != part.size()) {
      return false;
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!contains(whole[i], part[i])) {
        return false;
      }
    }
    return true;
  }
  return whole == part;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace athanor::test
