// SPDX-License-Identifier: Apache-2.0
// Pods in time.
#include "embedded/nodes/timed/timed_pods.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "embedded/nodes/pod_runtime.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr double kUsualSeconds = 0.1;
// What a polite signal takes: the first, and so many more at most, by the pod's uid.
constexpr Duration kLeastStop = std::chrono::milliseconds(10);
constexpr std::uint64_t kStopSpread = 41;
constexpr const char* kNothingRuns =
    "the pod's containers only take time: there is no process to look into. To run it, load its "
    "image with athanor images, or start the lab with --pods process";
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

// What runs nothing: a container that is well stays so, and no volume has a content.
Value timed_spec(Value spec) {
  spec.set("probesOnce", true);
  spec.erase("volumesDigest");
  spec.erase("limits");
  for (const char* list : {"init", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      spec.member(list).item(i).erase("unknownImage");
    }
  }
  return spec;
}

// "3", "0.5", "2m", "infinity" (negative): an argument of sleep(1); nullopt: none.
std::optional<double> sleep_argument(std::string_view text) {
  if (text.starts_with("inf")) {
    return -1;
  }
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || seconds < 0) {
    return std::nullopt;
  }
  constexpr std::pair<char, double> kUnits[] = {{'m', 60}, {'h', 3600}, {'d', 86400}};
  for (const auto& [unit, factor] : kUnits) {
    if (end != text.data() + text.size() && *end == unit) {
      seconds *= factor;
    }
  }
  return seconds;
}

// What the command sleeps: "sleep N", or the sum of them in a script; negative: for ever; nullopt:
// it does not sleep.
std::optional<double> sleep_seconds(const Value& container) {
  std::string text = container["script"].str();
  for (const Value& word : container["command"].items()) {
    text += " " + word.str();
  }
  std::optional<double> sum;
  bool sleeps = false;
  constexpr std::string_view kBetween = " \t\n;&|()\"'";
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    if (const auto argument = sleeps ? sleep_argument(word) : std::nullopt) {
      sum = *argument < 0 ? *argument : sum.value_or(0) + *argument;
      if (*sum < 0) {
        return sum;
      }
    }
    sleeps = word == "sleep" || word.ends_with("/sleep");
    at = text.find_first_not_of(kBetween, end);
  }
  const bool loops =
      text.find("while true") != std::string::npos || text.find("while :") != std::string::npos;
  return sum && loops ? std::optional(-1.0) : sum;
}

Value nothing() {
  return Value::object({{"uid", ""}, {"init", Value::list()}, {"containers", Value::list()}});
}

}  // namespace

std::optional<TimedPods::Ending> TimedPods::ending_of(const Value& spec, std::size_t index,
                                                      const Value& container, Instant now) {
  const Value& simulation = simulation_of(spec, container["name"].as_string());
  const bool init = index < spec["init"].size();
  const bool serves = container["sidecar"].as_bool() || container["native"].as_bool() ||
                      (!init && spec["restartPolicy"].as_string() == "Always");
  if (simulation.is_null() && serves) {
    return std::nullopt;
  }
  const bool steps = spec["sequential"].as_bool();
  const auto slept = steps ? std::nullopt : sleep_seconds(container);
  if (simulation.is_null() && slept && *slept < 0) {
    return std::nullopt;
  }
  const std::chrono::duration<double> time(simulation["seconds"].as_double(
      slept.value_or(container["seconds"].as_double(kUsualSeconds))));
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
          .emplace(uid, Pod{.machine = PodMachine(timed_spec(spec)),
                            .query = pod_query(spec["ns"].as_string(), spec["name"].as_string())})
          .first->second;
  by_query_[pod.query] = uid;
  run(uid, pod, now);
}

void TimedPods::extend(const Value& spec, Instant now) {
  if (const auto found = pods_.find(spec["uid"].str()); found != pods_.end()) {
    for (const Value& container : spec["ephemeral"].items()) {
      found->second.machine.refuse_ephemeral(container, kNothingRuns, now);
    }
    run(found->first, found->second, now);
  }
}

void TimedPods::stop(const std::string& uid, Duration grace, Instant now) {
  if (const auto found = pods_.find(uid); found != pods_.end()) {
    found->second.machine.stop(grace, now);
    run(uid, found->second, now);
  }
}

void TimedPods::update(const Value& change, Instant now) {
  const auto found = pods_.find(change["uid"].str());
  if (found != pods_.end() && change.contains("resources")) {
    found->second.machine.resize(change, now);
    run(found->first, found->second, now);
  }
}

void TimedPods::events_written(const std::string& uid, std::int64_t last) {
  if (const auto found = pods_.find(uid); found != pods_.end()) {
    found->second.machine.events_written(last);
    notices_.emplace_back(found->second.query, found->second.machine.state());
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
      } else if (order.type == Order::Type::Probe) {
        // Nothing runs: who is asked is well, once it may be asked.
        pod.machine.probed(order, {.success = true}, now);
        again = true;
      } else if (order.type == Order::Type::Hook) {
        pod.machine.hooked(order, true, now);
        again = true;
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
