// SPDX-License-Identifier: Apache-2.0
// Limits the pairs of parts that warnings compare: a pod of 3 MB may hold 100,000 equal ports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace athanor::apiserver {

// `warnings` is the list that the pairs add to, and outlives this.
class PairBudget {
 public:
  explicit PairBudget(const std::vector<std::string>& warnings)
      : warnings_(warnings), before_(warnings.size()) {}

  // Returns true if one more pair may be compared. Answers show 4 KiB of warnings, fewer than
  // kMostWarnings.
  bool take() { return pairs_++ < kMostPairs && warnings_.size() - before_ < kMostWarnings; }

 private:
  static constexpr std::size_t kMostPairs = 1'000'000;
  static constexpr std::size_t kMostWarnings = 1'000;

  const std::vector<std::string>& warnings_;
  std::size_t before_;
  std::size_t pairs_ = 0;
};

}  // namespace athanor::apiserver
