// SPDX-License-Identifier: Apache-2.0
// Listing: rows of objects as data: the command line prints them, the console's pages show them.
#pragma once

#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::views {

// Values that filters by phase and owner compare with.
struct Traits {
  std::string phase{};
  std::string owner{};
};

// One object with its cells.
struct ListRow {
  Object object{};
  std::vector<std::string> cells{};
  Traits traits{};
};

// Rows under their titles.
struct Listing {
  std::vector<std::string> titles{};
  std::vector<ListRow> rows{};
  // Returns JSON: {columns: [titles], rows: [{cells by title, object}]}.
  [[nodiscard]] Value to_value() const;
};

}  // namespace athanor::views
