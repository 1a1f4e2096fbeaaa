// SPDX-License-Identifier: Apache-2.0
// Reading through a View: every read is recorded before it is answered.
#include "runtime/view/view.hpp"

namespace athanor {

std::optional<Object> View::get(const Kind& kind, const Key& key) const {
  reads_.objects.push_back({&kind, key});
  return snapshot_.get(kind, key);
}

std::vector<Object> View::list(const Kind& kind, const Select& select) const {
  reads_.lists.push_back({&kind, select});
  return snapshot_.list(kind, select);
}

Observed View::observe(std::string_view query, Duration max_age) const {
  reads_.observations.emplace_back(std::string(query), max_age);
  return snapshot_.observe(query, max_age);
}

}  // namespace athanor
