// SPDX-License-Identifier: Apache-2.0
// Groups are named "namespace/queue", shape and digest of the last message, with a separator that
// no name contains.
#include "embedded/kueue/cycle/waiting.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr char kSeparator = '\n';
constexpr std::string_view kWaitingIndex = "kueue-waiting";
constexpr std::string_view kWaitingInIndex = "kueue-waiting-in";
constexpr std::string_view kAllWaiting = "all";
// Read at a time from a group, behind its head: about as many as one cycle admits.
constexpr std::size_t kWaitingChunk = 16;

Key queue_key(const Object& workload) {
  return {std::string(workload.ns()), workload.spec()["queueName"].str()};
}

std::vector<std::string> waiting(const Object& workload) {
  return is_waiting(workload) ? std::vector{std::string(kAllWaiting)} : std::vector<std::string>{};
}
std::vector<std::string> waiting_in_queue(const Object& workload) {
  return is_waiting(workload) ? std::vector{queue_key(workload).text()}
                              : std::vector<std::string>{};
}

std::string waiting_group_of(const Object& workload) {
  const Value& status = workload.status();
  // Everything that the rules of a cycle look at, besides the queue.
  std::string shape = json::print(workload.spec()["podSets"]);
  for (const Value* part : {&status["reclaimablePods"], &status["requeueState"]}) {
    shape += json::print(*part);
  }
  for (const Value& check : status["admissionChecks"].items()) {
    shape += check["state"].as_string();
    shape += kSeparator;
  }
  shape += find_condition(status["conditions"], "Requeued")["status"].as_string();
  shape += kSeparator;
  shape += workload.label(kLockLabel);
  shape += kSeparator;
  shape += workload.annotation(kGatedBy);
  const Value& reserved = find_condition(status["conditions"], "QuotaReserved");
  return fmt::format(
      "{}{}{}{}{}", queue_key(workload).text(), kSeparator, sha1_hex(shape), kSeparator,
      message_digest(reserved["reason"].as_string(), reserved["message"].as_string()));
}

// Sorts as queue_order does.
std::string waiting_place_of(const Object& workload, RequeueTimestamp timestamp) {
  const auto [priority, queued, uid] = queue_order(workload, timestamp);
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63U;
  return fmt::format("{:016x}{} {}", static_cast<std::uint64_t>(priority) ^ kSign, queued, uid);
}
std::string place_by_eviction(const Object& workload) {
  return waiting_place_of(workload, RequeueTimestamp::Eviction);
}
std::string place_by_creation(const Object& workload) {
  return waiting_place_of(workload, RequeueTimestamp::Creation);
}

constexpr Ranking kByEviction{.group = waiting_group_of, .place = place_by_eviction};
constexpr Ranking kByCreation{.group = waiting_group_of, .place = place_by_creation};

const Ranking& line_of(RequeueTimestamp timestamp) {
  return timestamp == RequeueTimestamp::Creation ? kByCreation : kByEviction;
}

Select all_waiting() {
  return {.index = std::string(kWaitingIndex), .index_value = std::string(kAllWaiting)};
}

}  // namespace

bool is_waiting(const Object& workload) {
  return !has_quota(workload) && is_active(workload) && !is_finished(workload) &&
         !workload.deleting() &&
         !condition_is(workload.status()["conditions"], api::kueue::kWaitingForReplacement, "True");
}

bool is_message_due(const Object& workload) {
  return find_condition(workload.status()["conditions"], "QuotaReserved")["reason"]
             .as_string()
             .empty() ||
         awaits_preemption(workload);
}

const Index& waiting_index() {
  static const Index kIndex{
      .kind = &api::kueue::kWorkload, .name = kWaitingIndex, .values = waiting};
  return kIndex;
}

const Index& waiting_in_index() {
  static const Index kIndex{
      .kind = &api::kueue::kWorkload, .name = kWaitingInIndex, .values = waiting_in_queue};
  return kIndex;
}

Select waiting_in(const Key& local_queue) {
  return {.index = std::string(kWaitingInIndex), .index_value = local_queue.text()};
}

std::string message_digest(std::string_view reason, std::string_view message) {
  return reason.empty() ? std::string() : fingerprint_hex(fmt::format("{} {}", reason, message));
}

void Shape::add_group(std::string group, std::string message_digest) {
  groups_.push_back({.group = std::move(group), .message_digest = std::move(message_digest)});
}

const Object* Shape::head_of(Entries& entries) {
  if (entries.next == entries.read.size() && !entries.whole) {
    // Of most groups a cycle sees the head alone.
    const Object last = entries.read.empty() ? Object() : entries.read.back();
    const std::size_t wanted = entries.read.empty() ? 1 : kWaitingChunk;
    entries.read = view_.ranked(api::kueue::kWorkload, all_waiting(), line_of(timestamp_),
                                entries.group, entries.read.empty() ? nullptr : &last, wanted);
    entries.next = 0;
    entries.whole = entries.read.size() < wanted;
  }
  return entries.next < entries.read.size() ? &entries.read[entries.next] : nullptr;
}

void Shape::put_preemptors_first() {
  preemptors_first_ = true;
  first_ = nullptr;
}

const Object* Shape::head() {
  if (first_ == nullptr) {
    std::optional<std::tuple<bool, QueueOrder>> best;
    for (Entries& entries : groups_) {
      const Object* candidate = head_of(entries);
      if (candidate == nullptr) {
        continue;
      }
      std::tuple order(!preemptors_first_ || !awaits_preemption(*candidate),
                       queue_order(*candidate, timestamp_));
      if (!best || order < *best) {
        best = std::move(order);
        first_ = &entries;
      }
    }
  }
  return first_ == nullptr ? nullptr : head_of(*first_);
}

void Shape::take() {
  ++first_->next;
  first_ = nullptr;
}

template <typename Chosen>
std::vector<Object> Shape::rest_of(const Chosen& chosen) {
  std::vector<Object> rest;
  for (Entries& entries : groups_) {
    if (!chosen(entries)) {
      continue;
    }
    while (const Object* object = head_of(entries)) {
      rest.push_back(*object);
      ++entries.next;
    }
  }
  first_ = nullptr;
  return rest;
}

std::vector<Object> Shape::with_other_message(std::string_view digest) {
  return rest_of([&](const Entries& entries) { return entries.message_digest != digest; });
}

bool Shape::has_other_message(std::string_view digest) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Entries& entries) { return entries.message_digest != digest; });
}

std::vector<Object> Shape::with_due_message(std::string_view digest) {
  return rest_of([&](Entries& entries) {
    const Object* first = entries.message_digest == digest ? nullptr : head_of(entries);
    return first != nullptr && is_message_due(*first);  // all of a group have one message
  });
}

bool Shape::has_message() const {
  return std::none_of(groups_.begin(), groups_.end(),
                      [](const Entries& entries) { return entries.message_digest.empty(); });
}

std::vector<Object> Shape::without_message() {
  return rest_of([](const Entries& entries) { return entries.message_digest.empty(); });
}

std::vector<WaitingShape> waiting_shapes(const View& view, RequeueTimestamp timestamp) {
  std::vector<WaitingShape> shapes;
  std::string shape;  // "namespace/queue" and shape of the last one
  for (const Group& group : view.groups(api::kueue::kWorkload, all_waiting(), line_of(timestamp))) {
    const std::size_t queue_end = group.name.find(kSeparator);
    const std::size_t shape_end = group.name.rfind(kSeparator);
    if (shapes.empty() || group.name.compare(0, shape_end, shape) != 0) {
      shape = group.name.substr(0, shape_end);
      const std::string queue = group.name.substr(0, queue_end);
      const std::size_t slash = queue.find('/');
      shapes.push_back({.local_queue = {queue.substr(0, slash), queue.substr(slash + 1)},
                        .shape = Shape(view, timestamp)});
    }
    shapes.back().shape.add_group(group.name, group.name.substr(shape_end + 1));
  }
  return shapes;
}

}  // namespace athanor::kueue
