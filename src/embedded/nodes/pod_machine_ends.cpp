// SPDX-License-Identifier: Apache-2.0
// The ends of a pod's containers: exits, restarts, stopping.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr int kKilled = 137;
constexpr int kCannotStart = 128;
constexpr Duration kFirstBackoff = std::chrono::seconds(10);
constexpr Duration kMostBackoff = std::chrono::seconds(300);
// A container that ran for so long starts its back-off anew.
constexpr Duration kRanWell = 2 * kMostBackoff;
// What is left to a container that waited for its hook or its turn until the grace was over.
constexpr Duration kLeastGrace = std::chrono::seconds(2);
constexpr std::int64_t kUsualGraceSeconds = 30;
// What Tekton's kubelets say of a sidecar that ended with its steps.
constexpr const char* kSidecarStopped = "Sidecar container successfully stopped by nop image";
constexpr int kExitCodeResult = 3;  // the type of bookkeeping entries in a step's message

// Real code of a step that may fail: its container ends with 0 and the message has it
// (docs/spec/tekton.md 10.2).
std::string with_exit_code(const std::string& message, int code) {
  const auto parsed = json::parse(message);
  Value entries = parsed.ok() && parsed->is_list() ? *parsed : Value::list();
  entries.push_back(Value::object(
      {{"key", "ExitCode"}, {"value", fmt::format("{}", code)}, {"type", kExitCodeResult}}));
  return json::print(entries);
}

Duration backoff_of(std::int64_t restarts) {
  Duration backoff = kFirstBackoff;
  for (std::int64_t i = 1; i < restarts && backoff < kMostBackoff; ++i) {
    backoff *= 2;
  }
  return std::min(backoff, kMostBackoff);
}

bool in_list(const Value& list, std::int64_t number) {
  return std::ranges::any_of(list.items(),
                             [number](const Value& item) { return item.as_int() == number; });
}

// True if a rule of the container says that it restarts after this code.
bool rule_restarts(const Value& rules, int code) {
  return std::ranges::any_of(rules.items(), [code](const Value& rule) {
    const Value& codes = rule["exitCodes"];
    return rule["action"].as_string() == "Restart" &&
           in_list(codes["values"], code) == (codes["operator"].as_string() == "In");
  });
}

}  // namespace

bool PodMachine::over() const {
  return main_over() && std::ranges::none_of(containers_, [](const Container& c) {
           return c.state == State::Running;
         });
}

// Neither of the steps nor what the pod lives by.
bool PodMachine::is_beside(const Container& container) {
  return container.ephemeral || container.spec["sidecar"].as_bool() || is_native(container);
}

bool PodMachine::is_native(const Container& container) {
  return container.init && container.spec["native"].as_bool();
}

Duration PodMachine::grace() const {
  return std::chrono::seconds(spec_["grace"].as_int(kUsualGraceSeconds));
}

bool PodMachine::steps_over() const {
  return sequential_ && std::ranges::all_of(containers_, [](const Container& c) {
           return is_beside(c) || (c.state == State::Ended && !c.restart_at);
         });
}

bool PodMachine::main_over() const {
  if (std::ranges::any_of(containers_, [](const Container& c) {
        return !is_beside(c) && (c.state == State::Running || c.restart_at);
      })) {
    return false;
  }
  const bool init_failed = std::ranges::any_of(
      containers_, [this](const Container& c) { return c.init && !is_native(c) && failed(c); });
  return init_failed || std::ranges::all_of(containers_, [](const Container& c) {
           return is_beside(c) || c.state == State::Ended;
         });
}

void PodMachine::end_beside_steps(Instant now) {
  if (!steps_over()) {
    return;
  }
  ending_beside_ = true;
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& sidecar = containers_[i];
    if (!sidecar.spec["sidecar"].as_bool()) {
      continue;
    }
    if (sidecar.state == State::Waiting) {
      sidecar.state = State::Ended;
      sidecar.code = 0;
      sidecar.reason = "Completed";
      sidecar.message = kSidecarStopped;
      sidecar.started = sidecar.started ? sidecar.started : now;
      sidecar.finished = now;
      sidecar.restart_at.reset();
    } else if (sidecar.state == State::Running && sidecar.ending == Ending::None) {
      begin_end(i, grace(), {}, now);
    }
  }
}

// The pod's work is done: its native sidecars end, the last one first.
void PodMachine::end_natives(Instant now) {
  if (!main_over()) {
    return;
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& native = containers_[i];
    if (!is_native(native)) {
      continue;
    }
    if (native.state == State::Waiting) {
      native.state = State::Ended;
      native.code = native.run > 0 ? native.code : kKilled;
      native.reason = native.run > 0 ? "Error" : "ContainerStatusUnknown";
      native.message.clear();
      native.started = native.started ? native.started : now;
      native.finished = native.finished ? native.finished : now;
      native.restart_at.reset();
    } else if (native.state == State::Running && native.ending == Ending::None) {
      begin_end(i, grace(), fmt::format("Stopping container {}", native.spec["name"].as_string()),
                now);
    }
  }
}

void PodMachine::enforce_ends(Instant now, std::vector<Order>& orders) {
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (container.state != State::Running || container.ending == Ending::Killed) {
      continue;
    }
    const bool timed_out = container.timeout_at && *container.timeout_at <= now;
    if (timed_out || (container.ephemeral && !stopping_ && main_over())) {
      container.timed_out = timed_out;
      container.ending = Ending::Killed;
      orders.push_back({.type = Order::Type::Kill, .container = i});
      continue;
    }
    if (stopping_ && container.ending == Ending::None) {
      begin_end(i, *stop_at_ - now,
                fmt::format("Stopping container {}", container.spec["name"].as_string()), now);
    }
    go_on_ending(i, now, orders);
  }
}

void PodMachine::begin_end(std::size_t index, Duration grace, const std::string& text,
                           Instant now) {
  Container& container = containers_[index];
  if (container.ending != Ending::None) {
    return;
  }
  if (!text.empty()) {
    note(container, "Normal", "Killing", text);
  }
  const bool hook =
      grace > Duration::zero() && container.spec["preStop"].is_object() && !container.starting;
  container.ending = hook ? Ending::Hook : Ending::Turn;
  container.kill_at = now + grace;
  container.waited = false;
  container.hook_asked = false;
  container.probes.stop();
}

void PodMachine::go_on_ending(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& container = containers_[index];
  const bool grace_over = container.kill_at && *container.kill_at <= now;
  const bool no_grace = grace_over && stopping_ && stop_grace_ <= Duration::zero();
  if (container.ending == Ending::Hook) {
    if (!container.hook_asked && !grace_over) {
      container.hook_asked = true;
      begin_hook(index, HookKind::PreStop, now, orders);
    }
    if (!grace_over) {
      return;
    }
    container.sleeps_until.reset();
    container.waited = true;
    container.ending = Ending::Turn;
  }
  if (container.ending == Ending::Turn) {
    if (!grace_over && !its_turn(index)) {
      container.waited = true;
      return;
    }
    if (!grace_over || (container.waited && !no_grace)) {
      container.ending = Ending::Asked;
      if (container.waited) {
        container.kill_at = std::max(*container.kill_at, now + kLeastGrace);
      }
      orders.push_back({.type = Order::Type::Terminate, .container = index});
      return;
    }
    container.ending = Ending::Asked;
  }
  if (container.ending == Ending::Asked && grace_over) {
    container.ending = Ending::Killed;
    orders.push_back({.type = Order::Type::Kill, .container = index});
  }
}

// A native sidecar ends after all that started after it.
bool PodMachine::its_turn(std::size_t index) const {
  if (!is_native(containers_[index])) {
    return true;
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    const Container& other = containers_[i];
    const bool later = is_native(other) ? i > index : !other.ephemeral;
    if (later && other.state == State::Running) {
      return false;
    }
  }
  return true;
}

void PodMachine::not_made(std::size_t index, std::string message, Instant now) {
  Container& container = containers_[index];
  container.state = State::Waiting;
  container.reason = "CreateContainerError";
  container.message = std::move(message);
  container.started.reset();
  container.timeout_at.reset();
  container.restart_at = now + backoff_of(++container.not_made);
}

void PodMachine::exited(std::size_t index, int code, std::string message, Instant now) {
  Container& container = containers_[index];
  const bool asked = container.ending == Ending::Asked || container.ending == Ending::Killed;
  container.not_made = 0;
  container.state = State::Ended;
  container.code = code;
  container.reason = code == 0                                    ? "Completed"
                     : container.out_of_memory && code == kKilled ? "OOMKilled"
                                                                  : "Error";
  container.message = std::move(message);
  container.finished = now;
  container.timeout_at.reset();
  container.kill_at.reset();
  container.sleeps_until.reset();
  container.starting = false;
  container.ending = Ending::None;
  container.probes.end();
  if (container.spec["sidecar"].as_bool() && asked && ending_beside_ && !stopping_) {
    container.code = 0;
    container.reason = "Completed";
    container.message = kSidecarStopped;
  } else if (container.timed_out) {
    container.code = 1;
    container.reason = "TimeoutExceeded";
  } else if (code != 0 && container.spec["onError"].as_string() == "continue" && !stopping_) {
    container.message = with_exit_code(container.message, code);
    container.code = 0;
    container.reason = "Completed";
  }
  if (code != 0 && !asked && !stopping_) {
    note_unknown_image(container, code);
  }
  if (std::exchange(container.resized, false) && !stopping_) {
    container.last = outcome(container);
    container.state = State::Waiting;
    container.reason.clear();
    container.message.clear();
    container.restart_at = now;
  } else if (restarts_after(container)) {
    wait_for_restart(container, now);
  }
}

void PodMachine::note_unknown_image(const Container& container, int code) {
  const std::string image = container.spec["unknownImage"].str();
  if (image.empty() || container.spec.contains("problem")) {
    return;  // a problem is in the container's message
  }
  note(container, "Warning", "ImageNotRun",
       fmt::format("Container {} ended with {}. Image \"{}\" is not run here: the command ran with "
                   "the programs of this machine. Load the image with athanor images, or let the "
                   "pod only take time: annotation {} on it, or athanor up --pods timed",
                   container.spec["name"].as_string(), code, image, kSimulateAnnotation));
}

void PodMachine::wait_for_restart(Container& container, Instant now) {
  container.last = outcome(container);
  container.backoffs = now - *container.started >= kRanWell ? 1 : container.backoffs + 1;
  container.state = State::Waiting;
  container.reason = "CrashLoopBackOff";
  // The first restart comes at once.
  const Duration backoff =
      container.backoffs == 1 ? Duration::zero() : backoff_of(container.backoffs - 1);
  container.restart_at = now + backoff;
  const std::string pod = fmt::format("{}_{}({})", spec_["name"].as_string(),
                                      spec_["ns"].as_string(), spec_["uid"].as_string());
  container.message =
      fmt::format("back-off {} restarting failed container={} pod={}", format_go_duration(backoff),
                  container.spec["name"].as_string(), pod);
  if (backoff > Duration::zero()) {
    note(container, "Warning", "BackOff",
         fmt::format("Back-off restarting failed container {} in pod {}",
                     container.spec["name"].as_string(), pod));
  }
}

void PodMachine::stop(Duration grace, Instant now) {
  stopping_ = true;
  const Instant stop_at = now + grace;
  if (!stop_at_ || stop_at < *stop_at_) {
    stop_at_ = stop_at;
    stop_grace_ = grace;
    for (Container& container : containers_) {
      if (container.kill_at) {
        container.kill_at = std::min(*container.kill_at, stop_at);
      }
    }
  }
  for (Container& container : containers_) {
    if (container.state == State::Waiting) {
      container.state = State::Ended;
      container.code = kKilled;
      container.reason = "ContainerStatusUnknown";
      container.started = container.started ? container.started : now;
      container.finished = now;
      container.restart_at.reset();
    }
  }
}

void PodMachine::refuse_ephemeral(const Value& container, const std::string& message, Instant now) {
  const std::size_t known = containers_.size();
  add_ephemeral(container);
  if (containers_.size() == known) {
    return;
  }
  Container& refused = containers_.back();
  refused.state = State::Ended;
  refused.code = kCannotStart;
  refused.reason = "StartError";
  refused.message = message;
  refused.started = now;
  refused.finished = now;
  note(refused, "Warning", "Failed",
       fmt::format("Ephemeral container {} is not started: {}", container["name"].as_string(),
                   message));
}

void PodMachine::fail(const std::string& message, Instant now) {
  stopping_ = true;
  for (Container& container : containers_) {
    container.state = State::Ended;
    container.code = kCannotStart;
    container.reason = "StartError";
    container.message = message;
    container.started = container.started ? container.started : now;
    container.finished = now;
    container.restart_at.reset();
  }
}

bool PodMachine::failed(const Container& container) const {
  return container.state == State::Ended && container.code != 0;
}

bool PodMachine::restarts_after(const Container& container) const {
  if (stopping_ || container.ephemeral) {
    return false;
  }
  if (container.spec["sidecar"].as_bool()) {
    return container.spec["restartPolicy"].as_string() == "Always" && !ending_beside_;
  }
  if (is_native(container)) {
    return !main_over();
  }
  if (rule_restarts(container.spec["restartRules"], container.code)) {
    return true;
  }
  const Value& own = container.spec["ownRestartPolicy"];
  const std::string_view policy =
      own.is_null() ? spec_["restartPolicy"].as_string() : own.as_string();
  if (container.init) {
    return container.code != 0 && policy != "Never";
  }
  return policy == "Always" || (policy == "OnFailure" && container.code != 0);
}

}  // namespace athanor::nodes
