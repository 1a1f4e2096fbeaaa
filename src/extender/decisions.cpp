// SPDX-License-Identifier: Apache-2.0
#include "extender/decisions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/builtin.hpp"

namespace athanor::extender {
namespace {

constexpr const char* kNodeNotFound = "node not found";
constexpr std::int64_t kMostScore = 100;

std::int64_t priority_of(const Object& pod) {
  return pod.spec()["priority"].as_int();
}

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

Decisions::Decisions(const View& view, Instant now, std::span<const SchedulingHooks* const> hooks,
                     const KeptRooms& rooms)
    : view_(view), rooms_(rooms) {
  for (const SchedulingHooks* one : hooks) {
    sessions_.push_back(one->begin(view, now));
  }
}

Decisions::Sessions Decisions::concerned(const Object& pod) const {
  Sessions sessions;
  for (const auto& session : sessions_) {
    if (session->concerns(pod)) {
      sessions.push_back(session.get());
    }
  }
  return sessions;
}

std::optional<Object> Decisions::node_of(const NodesQuestion& question,
                                         const std::string& name) const {
  const auto given = question.nodes.find(name);
  return given != question.nodes.end() ? std::optional(given->second)
                                       : view_.get(api::kNode, {"", name});
}

std::optional<HookRefusal> Decisions::refusal(const Sessions& sessions, const Object& pod,
                                              const Object& node,
                                              std::span<const std::string_view> leaving) {
  for (SchedulingSession* session : sessions) {
    if (auto refused = session->filter(pod, node, leaving)) {
      return refused;
    }
  }
  return std::nullopt;
}

std::optional<HookRefusal> Decisions::kept_refusal(const Object& pod, std::string_view node) const {
  const auto other = rooms_.kept_from(pod, node);
  return other
             ? std::optional(HookRefusal{
                   .reason = fmt::format("pods were preempted here for pod \"{}\"", other->text())})
             : std::nullopt;
}

FilterAnswer Decisions::filter(const NodesQuestion& question) {
  FilterAnswer answer;
  const Sessions sessions = concerned(question.pod);
  if (sessions.empty()) {
    answer.passed = question.names;
    return answer;
  }
  for (const std::string& name : question.names) {
    const auto node = node_of(question, name);
    auto refused = node ? refusal(sessions, question.pod, *node)
                        : std::optional(HookRefusal{.reason = kNodeNotFound});
    refused = refused ? std::move(refused) : kept_refusal(question.pod, name);
    if (!refused) {
      answer.passed.push_back(name);
    } else {
      (refused->for_good ? answer.unresolvable : answer.failed).emplace(name, refused->reason);
    }
  }
  return answer;
}

Points Decisions::prioritize(const NodesQuestion& question) {
  Points points;
  const Sessions sessions = concerned(question.pod);
  for (const std::string& name : question.names) {
    const auto node = sessions.empty() ? std::nullopt : node_of(question, name);
    std::int64_t sum = 0;
    for (SchedulingSession* session : node ? sessions : Sessions()) {
      sum += std::clamp<std::int64_t>(session->score(question.pod, *node), 0, kMostScore);
    }
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(sessions.size(), 1));
    points.emplace_back(name, sum * kMostPoints / (kMostScore * count));
  }
  return points;
}

std::optional<Victims> Decisions::victims_on(const Sessions& sessions, const Object& pod,
                                             const Object& node, Victims given) const {
  if (!refusal(sessions, pod, node, views_of(given.uids))) {
    return given;
  }
  std::vector<Object> more;
  for (Object& other :
       view_.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    const bool known = std::ranges::find(given.uids, other.uid()) != given.uids.end();
    if (!known && !is_over(other) && priority_of(other) < priority_of(pod) &&
        !concerned(other).empty()) {
      more.push_back(std::move(other));
    }
  }
  std::ranges::stable_sort(more, [](const Object& a, const Object& b) {
    const std::int64_t first = priority_of(a);
    const std::int64_t second = priority_of(b);
    return first != second ? first < second : a.creation_time() > b.creation_time();
  });
  std::vector<std::string> added;
  const auto fits = [&](const std::vector<std::string>& extra) {
    std::vector<std::string> all = given.uids;
    all.insert(all.end(), extra.begin(), extra.end());
    return !refusal(sessions, pod, node, views_of(all));
  };
  auto next = more.begin();
  while (!fits(added)) {
    if (next == more.end()) {
      return std::nullopt;
    }
    added.emplace_back(next->uid());
    ++next;
  }
  // Those that made no difference stay, the most important first.
  for (std::size_t i = added.size(); i-- > 0;) {
    std::vector<std::string> fewer = added;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits(fewer)) {
      added = std::move(fewer);
    }
  }
  std::ranges::move(added, std::back_inserter(given.uids));
  return given;
}

std::map<std::string, Victims> Decisions::preempt(const PreemptQuestion& question) {
  const Sessions sessions = concerned(question.pod);
  if (sessions.empty()) {
    return question.nodes;
  }
  std::map<std::string, Victims> answer;
  for (const auto& [name, given] : question.nodes) {
    const auto node = view_.get(api::kNode, {"", name});
    auto victims = node ? victims_on(sessions, question.pod, *node, given) : std::nullopt;
    // A node without any victim is an error to the scheduler (docs/spec/das.md 7.3 X9).
    if (victims && !victims->uids.empty()) {
      answer.emplace(name, *std::move(victims));
    }
  }
  return answer;
}

std::optional<Room> Decisions::make_room(const Object& pod, std::span<const std::string> nodes) {
  const Sessions sessions = concerned(pod);
  if (sessions.empty() || pod.spec()["preemptionPolicy"].as_string() == "Never") {
    return std::nullopt;
  }
  std::optional<Room> best;
  for (const std::string& name : nodes) {
    const auto node = view_.get(api::kNode, {"", name});
    if (!node) {
      continue;
    }
    std::vector<Object> there =
        view_.list(api::kPod, {.index = "node", .index_value = std::string(node->name())});
    Victims leaving;
    for (const Object& other : there) {
      if (other.deleting()) {
        leaving.uids.emplace_back(other.uid());
      }
    }
    const std::size_t given = leaving.uids.size();
    const auto victims = victims_on(sessions, pod, *node, std::move(leaving));
    if (!victims) {
      continue;
    }
    if (victims->uids.size() == given) {
      return std::nullopt;
    }
    Room room{.node = name};
    for (Object& other : there) {
      if (std::find(victims->uids.begin() + static_cast<std::ptrdiff_t>(given), victims->uids.end(),
                    other.uid()) != victims->uids.end()) {
        room.victims.push_back(std::move(other));
      }
    }
    if (!best || costs_less(room, *best)) {
      best = std::move(room);
    }
  }
  return best;
}

Result<Plan> Decisions::reserve(const Object& pod, const Object& node) {
  const Sessions sessions = concerned(pod);
  auto refused = refusal(sessions, pod, node);
  if (!refused && !sessions.empty()) {
    refused = kept_refusal(pod, node.name());
  }
  if (refused) {
    return Error::conflict(refused->reason);
  }
  Plan plan;
  for (SchedulingSession* session : sessions) {
    Plan reserved = session->reserve(pod, node);
    if (reserved.error()) {
      return *reserved.error();
    }
    plan.merge(std::move(reserved));
  }
  return plan;
}

Step binding_of(const Object& pod, std::string_view node) {
  return Replace{
      .target = {&api::kPod, pod.key()},
      .object = Value::object(
          {{"apiVersion", "v1"},
           {"kind", "Binding"},
           {"metadata",
            Value::object({{"name", pod.name()}, {"namespace", pod.ns()}, {"uid", pod.uid()}})},
           {"target", Value::object({{"kind", "Node"}, {"name", node}})}}),
      .subresource = "binding"};
}

}  // namespace athanor::extender
