// SPDX-License-Identifier: Apache-2.0
// ListedWorld: a View's source over objects that were listed once: what the command line reads from
// an API server.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

// Not thread-safe while objects are added. Answers only for the kinds added.
class ListedWorld final : public athanor::Snapshot {
 public:
  // Takes `config`, the section "kueue".
  ListedWorld(Value config, std::vector<Index> indexes)
      : config_(std::move(config)), indexes_(std::move(indexes)) {}

  void add(const Kind& kind, std::vector<Object> objects);

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  // Lists the objects. Errors (a broken invariant): an index that was not given.
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

 private:
  Value config_;
  std::vector<Index> indexes_;
  std::map<const Kind*, std::map<Key, Object>> objects_{};
};

}  // namespace athanor::kueue
