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
constexpr std::int64_t kDefaultGrace = 30;  // seconds; Kubernetes' own
constexpr std::int64_t kMostGrace = 3600;
// kube-scheduler tries the pod again after its back-off, 10 s at most.
constexpr Duration kBindingTime = std::chrono::seconds(15);

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

void KeptRooms::keep(const Object& pod, const Room& room, Instant now) {
  Duration grace{};
  for (const Object& victim : room.victims) {
    const std::int64_t seconds =
        victim.spec()["terminationGracePeriodSeconds"].as_int(kDefaultGrace);
    grace = std::max<Duration>(grace, std::chrono::seconds(std::min(seconds, kMostGrace)));
  }
  by_uid_[std::string(pod.uid())] = {
      .pod = pod, .node = room.node, .until = now + grace + kBindingTime};
}

void KeptRooms::drop(std::string_view pod_uid) {
  if (const auto at = by_uid_.find(pod_uid); at != by_uid_.end()) {
    by_uid_.erase(at);
  }
}

void KeptRooms::settle(const View& view, Instant now) {
  std::erase_if(by_uid_, [&](const auto& entry) {
    const Kept& kept = entry.second;
    const auto pod = view.get(api::kPod, kept.pod.key());
    return kept.until <= now || !pod || pod->uid() != kept.pod.uid() || pod->deleting() ||
           !pod->spec()["nodeName"].as_string().empty();
  });
}

std::optional<Key> KeptRooms::kept_from(const Object& pod, std::string_view node) const {
  for (const auto& [uid, kept] : by_uid_) {
    if (kept.node == node && uid != pod.uid() &&
        kept.pod.spec()["priority"].as_int() >= pod.spec()["priority"].as_int()) {
      return kept.pod.key();
    }
  }
  return std::nullopt;
}

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
