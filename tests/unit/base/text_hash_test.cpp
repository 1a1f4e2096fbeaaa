// SPDX-License-Identifier: Apache-2.0
#include "base/text_hash.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace athanor::text_hash_test {
namespace {

TEST(TextHash, OfTheBytesAloneWhereverTheyLie) {
  const std::string text = "a-name-of-some-words";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string elsewhere = "x" + text.substr(0, size) + "yz";
    EXPECT_EQ(hash_text(std::string_view(text).substr(0, size)),
              hash_text(std::string_view(elsewhere).substr(1, size)))
        << size;
  }
}

TEST(TextHash, EveryByteCounts) {
  for (std::size_t size = 1; size <= 24; ++size) {
    const std::string text(size, 'a');
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'b';
      EXPECT_NE(hash_text(text), hash_text(other)) << size << " bytes, the one at " << at;
    }
    EXPECT_NE(hash_text(text), hash_text(text + "a"));
  }
}

// Numbered names are what a cluster is full of.
TEST(TextHash, SpreadsNumberedNamesOverATable) {
  constexpr std::size_t kSlots = 4096;
  for (const char* form : {"job-{}", "job-{}-pipeline-run-pod", "{:06}"}) {
    std::vector<int> held(kSlots);
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < kSlots; ++i) {
      const std::size_t hash = hash_text(fmt::format(fmt::runtime(form), i));
      seen.insert(hash);
      ++held[hash % kSlots];
    }
    EXPECT_EQ(seen.size(), kSlots) << form;
    EXPECT_LE(*std::max_element(held.begin(), held.end()), 9) << form;
  }
}

}  // namespace
}  // namespace athanor::text_hash_test
