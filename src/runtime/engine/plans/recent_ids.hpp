// SPDX-License-Identifier: Apache-2.0
// RecentIds: which ids have been seen, as far back as a fixed number of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace athanor::runtime {

// Remembers at least the last `count` ids and at most twice as many, by a digest of 128 bits each:
// in a few long-lived blocks whatever the ids look like. Not thread-safe.
class RecentIds {
 public:
  explicit RecentIds(std::size_t count);
  // Returns false if the id was seen before.
  bool insert(std::string_view id);

 private:
  using Digest = std::array<std::uint64_t, 2>;  // zeros: a free slot
  // Open addressing, never more than half full.
  struct Table {
    std::vector<Digest> slots{};
    std::size_t used = 0;
    [[nodiscard]] std::size_t slot_of(const Digest& digest) const;
    [[nodiscard]] bool contains(const Digest& digest) const;
    void insert(const Digest& digest);
  };

  std::size_t count_;
  Table newer_{};
  Table older_{};
};

}  // namespace athanor::runtime
