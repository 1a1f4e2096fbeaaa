// SPDX-License-Identifier: Apache-2.0
// Watching: the operator that keeps the extender's caches: what scheduling hooks read. It
// reconciles nothing; it reports when everything was listed anew under this process' leadership, so
// that no decision is made on a state from before it (docs/spec/das.md 6.5 S-B11).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/view/operator.hpp"
#include "runtime/view/scheduling.hpp"

namespace athanor::extender {

// Name of this operator.
inline constexpr std::string_view kName = "athanor-extender";
// The Act that reports it.
inline constexpr std::string_view kSightedVerb = "extender.on_first_lists";

// Owns the operator and the lists of kinds, indexes and rights that it refers to.
class Watching {
 public:
  // Requires `hooks` to outlive it. Asks for the right to delete pods if `preempts`.
  explicit Watching(std::span<const SchedulingHooks* const> hooks, bool preempts = true);
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

  [[nodiscard]] const Operator& get() const { return operator_; }

 private:
  Operator operator_{};
  std::vector<const Kind*> reads_{};
  std::vector<const Kind*> writes_{};
  std::vector<const Kind*> small_{};
  std::vector<Index> indexes_{};
  std::vector<Access> access_{};
};

}  // namespace athanor::extender
