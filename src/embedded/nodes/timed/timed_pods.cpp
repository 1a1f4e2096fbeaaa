// SPDX-License-Identifier: Apache-2.0
// Pods in time.
#include "embedded/nodes/timed/timed_pods.hpp"

#include <fmt/core.h>

#include "embedded/nodes/pod_runtime.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr double kUsualSeconds = 0.1;
// What a polite signal takes: the first, and so many more at most, by the pod's uid.
constexpr Duration kLeastStop = std::chrono::milliseconds(10);
constexpr std::uint64_t kStopSpread = 41;
constexpr int kTerminated = 143;
constexpr int kKilled = 137;
constexpr int kTaskResult = 1;
constexpr int kStepResult = 4;
constexpr std::string_view kStepPrefix = "step-";

const Value& simulation_of(const Value& spec, std::string_view container) {
  const std::string_view step =
      container.starts_with(kStepPrefix) ? container.substr(kStepPrefix.size()) : container;
  const Value& by_task = spec["simulate"][fmt::format("{}/{}", spec["task"].as_string(), step)];
  return by_task.is_object() ? by_task : spec["simulate"][container];
}

// A step's message, as the steps of real pods leave it.
std::string results_of(const Value& container, const Value& simulation) {
  Value entries = Value::list();
  const auto add = [&](const Value& declarations, int type) {
    for (const Value& declared : declarations.items()) {
      if (const Value* value = simulation["results"].find(declared.as_string())) {
        entries.push_back(
            Value::object({{"key", declared},
                           {"value", value->is_string() ? value->str() : json::print(*value)},
                           {"type", type}}));
      }
    }
  };
  add(container["results"], kTaskResult);
  add(container["stepResults"], kStepResult);
  return entries.empty() ? std::string{} : json::print(entries);
}

// Between 10 and 50 ms, the same each time.
Duration stop_time(std::string_view uid) {
  std::uint64_t sum = 0;
  for (const char letter : uid) {
    sum = sum * 31 + static_cast<unsigned char>(letter);
  }
  return kLeastStop + std::chrono::milliseconds(sum % kStopSpread);
}

Value nothing() {
  return Value::object({{"uid", ""}, {"init", Value::list()}, {"containers", Value::list()}});
}

}  // namespace

std::optional<TimedPods::Ending> TimedPods::ending_of(const Value& spec, std::size_t index,
                                                      const Value& container, Instant now) {
  const Value& simulation = simulation_of(spec, container["name"].as_string());
  const bool init = index < spec["init"].size();
  const bool serves =
      container["sidecar"].as_bool() || (!init && spec["restartPolicy"].as_string() == "Always");
  if (simulation.is_null() && serves) {
    return std::nullopt;
  }
  const std::chrono::duration<double> time(simulation["seconds"].as_double(kUsualSeconds));
  return Ending{.at = now + std::chrono::duration_cast<Duration>(time),
                .code = static_cast<int>(simulation["exitCode"].as_int()),
                .message = results_of(container, simulation)};
}

void TimedPods::start(const Value& spec, Instant now) {
  const std::string uid = spec["uid"].str();
  if (pods_.contains(uid)) {
    return;
  }
  Pod& pod =
      pods_
          .emplace(uid, Pod{.machine = PodMachine(spec),
                            .query = pod_query(spec["ns"].as_string(), spec["name"].as_string())})
          .first->second;
  by_query_[pod.query] = uid;
  run(uid, pod, now);
}

void TimedPods::stop(const std::string& uid, Duration grace, Instant now) {
  if (const auto found = pods_.find(uid); found != pods_.end()) {
    found->second.machine.stop(grace, now);
    run(uid, found->second, now);
  }
}

void TimedPods::forget(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.machine.over()) {
    return;
  }
  const std::string query = found->second.query;
  pods_.erase(found);
  if (const auto newest = by_query_.find(query); newest->second == uid) {
    by_query_.erase(newest);
    notices_.emplace_back(query, nothing());
  }
}

TimedPods::Notices TimedPods::advance(Instant now) {
  while (!schedule_.empty() && schedule_.begin()->first <= now) {
    const auto [at, uid] = *schedule_.begin();
    run(uid, pods_.at(uid), at);  // at its own time, however late we are
  }
  return std::exchange(notices_, {});
}

std::optional<Instant> TimedPods::next_due() const {
  return schedule_.empty() ? std::nullopt : std::optional(schedule_.begin()->first);
}

Value TimedPods::state(std::string_view query) const {
  const auto found = by_query_.find(query);
  return found == by_query_.end() ? nothing() : pods_.at(found->second).machine.state();
}

// Ends what is over at `now` and starts what follows.
void TimedPods::run(const std::string& uid, Pod& pod, Instant now) {
  if (pod.due) {
    schedule_.erase({*pod.due, uid});
  }
  std::vector<Order> orders;
  for (bool again = true; again;) {
    again = false;
    for (auto at = pod.endings.begin(); at != pod.endings.end();) {
      if (at->second.at > now) {
        ++at;
        continue;
      }
      pod.machine.exited(at->first, at->second.code, std::move(at->second.message), now);
      at = pod.endings.erase(at);
    }
    orders.clear();
    pod.machine.advance(now, orders);
    for (const Order& order : orders) {
      if (order.type == Order::Type::Run) {
        auto ending = ending_of(pod.machine.spec(), order.container,
                                pod.machine.container(order.container), now);
        again = again || (ending && ending->at <= now);
        if (ending) {
          pod.endings[order.container] = *std::move(ending);
        }
      } else if (order.type != Order::Type::Skip) {
        const bool killed = order.type == Order::Type::Kill;
        // Sidecars take no time of the steps.
        const bool at_once = killed || pod.machine.container(order.container)["sidecar"].as_bool();
        pod.endings[order.container] = {.at = at_once ? now : now + stop_time(uid),
                                        .code = killed ? kKilled : kTerminated};
        again = again || at_once;
      }
    }
  }
  pod.due = pod.machine.next_due();
  for (const auto& [index, ending] : pod.endings) {
    if (!pod.due || ending.at < *pod.due) {
      pod.due = ending.at;
    }
  }
  if (pod.due) {
    schedule_.emplace(*pod.due, uid);
  }
  notices_.emplace_back(pod.query, pod.machine.state());
}

}  // namespace athanor::nodes
