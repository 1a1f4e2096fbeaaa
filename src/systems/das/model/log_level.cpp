// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/log_level.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kLevels[] = {"Normal", "Debug", "Trace", "TraceAll"};

// Unknown ones are Normal; the schema lets none through.
std::ptrdiff_t rank_of(std::string_view level) {
  const auto* const found = std::ranges::find(kLevels, level);
  return found == std::end(kLevels) ? 0 : found - std::begin(kLevels);
}

Plan reconcile_log_level(const View& view, const Key& key, Instant /*now*/) {
  const auto op = view.get<DASOperator>(key);
  const bool ours = key == Key{settings_of(view).ns, kOperatorName};
  return op && ours && !op->object.deleting() ? take_log_level(*op) : Plan::done();
}

}  // namespace

std::string log_level_of(const DASOperator& op) {
  return std::string(
      kLevels[std::max(rank_of(op.spec.log_level), rank_of(op.spec.operator_log_level))]);
}

Plan take_log_level(const DASOperator& op) {
  const std::string level = log_level_of(op);
  Plan plan;
  if (level != kLevels[0] || op.object.generation() > 1) {
    plan.then(Act{.id = fmt::format("{}/{}/{}", op.object.uid(), op.object.generation(), level),
                  .verb = "log.level",
                  .args = Value::object({{"level", level}})});
  }
  return plan;
}

const Operator& log_level_operator() {
  static constexpr const Kind* kReads[] = {&kDASOperator};
  static const Operator kOperator{.name = "das-log-level",
                                  .primary = &kDASOperator,
                                  .reads = kReads,
                                  .reconcile = reconcile_log_level};
  return kOperator;
}

}  // namespace athanor::das
