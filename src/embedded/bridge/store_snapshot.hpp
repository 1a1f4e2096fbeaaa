// SPDX-License-Identifier: Apache-2.0
// StoreSnapshot: a View's source over the store itself, for pure functions that run inside a
// request instead of on the engine: in-process webhooks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/bridge/kind_feed.hpp"
#include "embedded/store/store.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/system.hpp"
#include "runtime/view/view.hpp"

namespace athanor::bridge {

// Answers an observation at once, on the caller's thread.
using AnswerQuery = std::function<Result<Value>(const std::string& query)>;

// Reads the newest commit; two reads may see two commits. References outlive the snapshot.
class StoreSnapshot final : public Snapshot {
 public:
  // Takes `indexes`, which the systems' operators declare.
  StoreSnapshot(const store::Store& store, const SystemConfig& config,
                std::span<const Index> indexes, const AnswerQuery& answer, Instant now)
      : store_(store), config_(config), indexes_(indexes), answer_(answer), now_(now) {}

  // Sets how objects stored in another version are read. Requires that `forms` outlive it.
  void read_by(const StoredForms& forms) { forms_ = &forms; }

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  // Returns the answer; unknown and never in flight where there is no answer function.
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

 private:
  [[nodiscard]] const StoredForms& forms() const;

  const store::Store& store_;
  const SystemConfig& config_;
  std::span<const Index> indexes_;
  const AnswerQuery& answer_;
  Instant now_;
  const StoredForms* forms_ = nullptr;
};

}  // namespace athanor::bridge
