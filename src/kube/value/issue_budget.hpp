// SPDX-License-Identifier: Apache-2.0
// Limits how much one document makes a reader say: 3 MB may hold a long key above 200,000 findings,
// and each finding names the whole path.
#pragma once

#include <cstddef>

namespace athanor {

class IssueBudget {
 public:
  // As many as the strict decoder of the reference keeps, and their bytes together.
  static constexpr std::size_t kMostTexts = 100;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

  // Takes a text of `bytes`. False: it is left out, and all after it. The first always fits.
  bool take(std::size_t bytes) {
    if (spent_ || texts_ == kMostTexts || (texts_ > 0 && bytes_ + bytes > kMostBytes)) {
      spent_ = true;
      return false;
    }
    ++texts_;
    bytes_ += bytes;
    return true;
  }
  // Returns true if a text was left out; makes no further text worth building.
  [[nodiscard]] bool spent() const { return spent_; }

 private:
  std::size_t texts_ = 0;
  std::size_t bytes_ = 0;
  bool spent_ = false;
};

}  // namespace athanor
