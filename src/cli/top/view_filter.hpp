// SPDX-License-Identifier: Apache-2.0
// ViewFilter: the filter line of the live views (docs/spec/dashboard.md B3 G3): free text and
// "key:value" parts, "-" negates, "*" stands for any text, values of one key are alternatives:
// "phase:Failed owner:alice label:team=x age:<2h -cluster:c1". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "views/listing.hpp"

namespace athanor::cli {

// Immutable after parse().
class ViewFilter {
 public:
  // Reads a filter line. Errors (wrong usage) name the part that is wrong.
  static Result<ViewFilter> parse(std::string_view text);
  // Returns true if the filter takes the row, as pages and the JSON API do. A key is a column's
  // title, "label", "age" or "ns"; a part with a key that the list lacks takes no row.
  [[nodiscard]] bool takes(const views::Listing& listing, const views::ListRow& row,
                           Instant now) const;
  [[nodiscard]] bool empty() const { return parts_.empty(); }

 private:
  struct Part {
    bool negated = false;
    std::string key{};    // lower case; empty: free text
    std::string value{};  // lower case
    bool younger = false;
    std::optional<Duration> age{};
  };
  [[nodiscard]] static bool matches(const Part& part, const views::Listing& listing,
                                    const views::ListRow& row, Instant now);
  std::vector<Part> parts_{};
};

}  // namespace athanor::cli
