// SPDX-License-Identifier: Apache-2.0
// Pending: what this process wrote and the caches do not show yet. A second decision must count it
// (docs/spec/das.md 7.3 X5, 7.4). Overlay: a View's source that shows both.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::extender {

// How long an object counts after its write was answered although no cache shows it.
inline constexpr Duration kPendingLife = std::chrono::seconds(30);

// Not thread-safe.
class Pending {
 public:
  struct Entry {
    const Kind* kind = nullptr;
    Object object{};
    Instant until{};  // kForever while its write is under way
  };
  static constexpr Instant kForever = Instant::max();

  // Counts until erase() or, once until() was called, until the caches show it or time is over.
  void put(const Kind& kind, Object object);
  void erase(const Kind& kind, const Key& key);
  void until(const Kind& kind, const Key& key, Instant when);
  // Forgets what `base` shows by now, and what is over.
  void settle(const View& base, Instant now);

  [[nodiscard]] const Entry* find(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::vector<const Entry*> of(const Kind& kind) const;
  // Returns true if something counts on after its write was answered.
  [[nodiscard]] bool answered() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  using Id = std::tuple<std::string, std::string, Key>;  // group, kind, key
  static Id id_of(const Kind& kind, const Key& key);
  std::map<Id, Entry> entries_{};
};

// Shows the base view with the pending objects instead of, and beside, its own.
class Overlay final : public Snapshot {
 public:
  // Requires all to outlive it; selects may name the `indexes` only.
  Overlay(const View& base, const Pending& pending, std::span<const Index> indexes)
      : base_(base), pending_(pending), indexes_(indexes) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  // Returns the base's result while no object of its kinds is pending.
  [[nodiscard]] std::shared_ptr<const void> derived(const Derivation& derivation) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

 private:
  const View& base_;
  const Pending& pending_;
  std::span<const Index> indexes_;
};

}  // namespace athanor::extender
