// SPDX-License-Identifier: Apache-2.0
#include "extender/room.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "extender/cache_operator.hpp"
#include "kube/value/condition.hpp"

namespace athanor::extender {
namespace {

constexpr std::size_t kNameInEvent = 200;  // of the victim's; an Event's has at most 253 characters
constexpr std::size_t kSuffix = 16;

std::tuple<std::int64_t, std::int64_t, std::size_t> cost_of(const Room& room) {
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  std::int64_t sum = 0;
  for (const Object& victim : room.victims) {
    const std::int64_t priority = victim.spec()["priority"].as_int();
    highest = std::max(highest, priority);
    sum += priority;
  }
  return {highest, sum, room.victims.size()};
}

Value event_about(const Object& victim, const Object& preemptor, std::string_view node,
                  Instant now) {
  const std::string time = format_time(now);
  const std::string suffix =
      sha256_hex(fmt::format("{} {}", victim.uid(), preemptor.uid())).substr(0, kSuffix);
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata",
        Value::object(
            {{"name", fmt::format("{}.{}", victim.name().substr(0, kNameInEvent), suffix)},
             {"namespace", victim.ns()}})},
       {"involvedObject", Value::object({{"apiVersion", "v1"},
                                         {"kind", "Pod"},
                                         {"name", victim.name()},
                                         {"namespace", victim.ns()},
                                         {"uid", victim.uid()}})},
       {"type", "Normal"},
       {"reason", "Preempted"},
       {"message", fmt::format("Preempted by pod {} on node {}", preemptor.uid(), node)},
       {"source", Value::object({{"component", kName}})},
       {"reportingComponent", kName},
       {"firstTimestamp", time},
       {"lastTimestamp", time},
       {"count", 1}});
}

}  // namespace

bool costs_less(const Room& a, const Room& b) {
  return cost_of(a) < cost_of(b);
}

std::vector<Step> eviction_steps(const Object& victim, const Object& preemptor,
                                 std::string_view node, Instant now) {
  const Guard guard{.uid = std::string(victim.uid())};
  Value conditions = victim.status()["conditions"];
  set_condition(
      conditions,
      {.type = "DisruptionTarget",
       .status = "True",
       .reason = "PreemptionByScheduler",
       .message = fmt::format("{}: preempting to accommodate a higher priority pod", kName)},
      now);
  Value event = event_about(victim, preemptor, node, now);
  const Key key{std::string(victim.ns()), event["metadata"]["name"].str()};
  return {Status{.target = {&api::kPod, victim.key()},
                 .status = Value::object({{"conditions", std::move(conditions)}}),
                 .guard = guard},
          Delete{.target = {&api::kPod, victim.key()}, .guard = guard},
          Create{.target = {&api::kEvent, key}, .object = std::move(event)}};
}

}  // namespace athanor::extender
