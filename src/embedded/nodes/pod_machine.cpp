// SPDX-License-Identifier: Apache-2.0
// The rules of a pod's containers.
#include "embedded/nodes/pod_machine.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "embedded/nodes/step_results.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr int kKilled = 137;
constexpr int kCannotStart = 128;
constexpr Duration kFirstBackoff = std::chrono::seconds(10);
constexpr Duration kMostBackoff = std::chrono::seconds(300);
constexpr std::int64_t kSidecarGraceSeconds = 30;
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

void earlier(std::optional<Instant>& due, const std::optional<Instant>& candidate) {
  if (candidate && (!due || *candidate < *due)) {
    due = candidate;
  }
}

}  // namespace

PodMachine::PodMachine(Value spec)
    : spec_(std::move(spec)), sequential_(spec_["sequential"].as_bool()) {
  for (const Value& container : spec_["init"].items()) {
    containers_.push_back({.spec = container, .init = true});
  }
  for (const Value& container : spec_["containers"].items()) {
    containers_.push_back({.spec = container});
  }
  for (const Value& container : spec_["ephemeral"].items()) {
    add_ephemeral(container);
  }
}

void PodMachine::add_ephemeral(const Value& container) {
  const bool known = std::ranges::any_of(
      containers_, [&](const Container& other) { return other.spec["name"] == container["name"]; });
  if (!known && !stopping_) {
    containers_.push_back({.spec = container, .init = false, .ephemeral = true});
  }
}

bool PodMachine::over() const {
  return main_over() && std::ranges::none_of(containers_, [](const Container& c) {
           return c.state == State::Running;
         });
}

// Neither of the steps nor what the pod lives by.
bool PodMachine::is_beside(const Container& container) {
  return container.ephemeral || container.spec["sidecar"].as_bool();
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
  const bool init_failed =
      std::ranges::any_of(containers_, [this](const Container& c) { return c.init && failed(c); });
  return init_failed || std::ranges::all_of(containers_, [](const Container& c) {
           return is_beside(c) || c.state == State::Ended;
         });
}

void PodMachine::advance(Instant now, std::vector<Order>& orders) {
  enforce_ends(now, orders);
  if (stopping_) {
    return;
  }
  start_ready(now, orders);
  if (!steps_over()) {
    return;
  }
  if (!sidecars_kill_at_) {
    sidecars_kill_at_ = now + std::chrono::seconds(spec_["grace"].as_int(kSidecarGraceSeconds));
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    if (containers_[i].spec["sidecar"].as_bool()) {
      end_sidecar(i, now, orders);
    }
  }
}

void PodMachine::end_sidecar(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& sidecar = containers_[index];
  if (sidecar.state == State::Waiting) {
    sidecar.state = State::Ended;
    sidecar.code = 0;
    sidecar.reason = "Completed";
    sidecar.message = kSidecarStopped;
    sidecar.started = sidecar.started ? sidecar.started : now;
    sidecar.finished = now;
    sidecar.restart_at.reset();
  } else if (sidecar.state == State::Running && !sidecar.terminated_asked) {
    sidecar.terminated_asked = true;
    orders.push_back({Order::Type::Terminate, index});
  } else if (sidecar.state == State::Running && *sidecars_kill_at_ <= now && !sidecar.kill_asked) {
    sidecar.kill_asked = true;
    orders.push_back({Order::Type::Kill, index});
  }
}

void PodMachine::enforce_ends(Instant now, std::vector<Order>& orders) {
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (container.state != State::Running) {
      continue;
    }
    if (container.timeout_at && *container.timeout_at <= now && !container.kill_asked) {
      container.timed_out = true;
      container.kill_asked = true;
      orders.push_back({Order::Type::Kill, i});
    }
    if (!stopping_) {
      if (container.ephemeral && !container.kill_asked && main_over()) {
        container.kill_asked = true;
        orders.push_back({Order::Type::Kill, i});
      }
      continue;
    }
    if (kill_at_ && *kill_at_ <= now) {
      if (!container.kill_asked) {
        container.kill_asked = true;
        orders.push_back({Order::Type::Kill, i});
      }
    } else if (!container.terminated_asked) {
      container.terminated_asked = true;
      orders.push_back({Order::Type::Terminate, i});
    }
  }
}

void PodMachine::start_ready(Instant now, std::vector<Order>& orders) {
  const bool inits_over = std::ranges::all_of(
      containers_, [](const Container& c) { return !c.init || c.state == State::Ended; });
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    const Container& beside = containers_[i];
    const bool ready = beside.ephemeral || (!sidecars_kill_at_ && inits_over);
    if (is_beside(beside) && ready && beside.state == State::Waiting &&
        (!beside.restart_at || *beside.restart_at <= now)) {
      start(i, now, orders);
    }
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (is_beside(container)) {
      continue;
    }
    if (container.state == State::Waiting && skip_guarded(i, now, orders)) {
      continue;
    }
    if (container.state == State::Ended) {
      if (failed(container) && container.init) {
        return;
      }
      if (failed(container) && sequential_) {
        skip_from(i + 1, now);
        return;
      }
      continue;
    }
    if (container.state == State::Waiting &&
        (!container.restart_at || *container.restart_at <= now)) {
      start(i, now, orders);
    }
    if (container.init || sequential_) {
      return;  // the next one waits for this one
    }
  }
}

void PodMachine::start(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& container = containers_[index];
  container.state = State::Running;
  container.started = now;
  container.finished.reset();
  container.restart_at.reset();
  container.reason.clear();
  container.message.clear();
  if (const std::int64_t timeout = container.spec["timeoutMs"].as_int(); timeout > 0) {
    container.timeout_at = now + std::chrono::milliseconds(timeout);
  }
  orders.push_back({Order::Type::Run, index});
}

bool PodMachine::skip_guarded(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& container = containers_[index];
  if (!sequential_ || container.init) {
    return false;
  }
  StepResults results;
  for (std::size_t i = 0; i < index; ++i) {
    results.add(containers_[i].spec["name"].as_string(), containers_[i].message);
  }
  if (results.allow(container.spec["when"])) {
    container.spec = results.substituted(std::move(container.spec));
    return false;
  }
  container.state = State::Ended;
  container.code = 0;
  container.reason = "Completed";
  container.message = skipped_message();
  container.started = now;
  container.finished = now;
  orders.push_back({Order::Type::Skip, index});
  return true;
}

void PodMachine::skip_from(std::size_t index, Instant now) {
  for (; index < containers_.size(); ++index) {
    Container& container = containers_[index];
    if (container.state == State::Waiting && !is_beside(container)) {
      container.state = State::Ended;
      container.code = 1;
      container.reason = "Skipped";
      container.started = now;
      container.finished = now;
    }
  }
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
  container.not_made = 0;
  container.state = State::Ended;
  container.code = code;
  container.reason = code == 0 ? "Completed" : "Error";
  container.message = std::move(message);
  container.finished = now;
  container.timeout_at.reset();
  const bool asked = container.terminated_asked || container.kill_asked;
  if (container.spec["sidecar"].as_bool() && asked && !stopping_) {
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
  if (restarts_after(container)) {
    container.last = outcome(container);
    ++container.restarts;
    container.state = State::Waiting;
    container.reason = "CrashLoopBackOff";
    // The first restart comes at once.
    const Duration backoff =
        container.restarts == 1 ? Duration::zero() : backoff_of(container.restarts - 1);
    container.restart_at = now + backoff;
    container.message =
        fmt::format("back-off {} restarting failed container={} pod={}_{}({})",
                    format_go_duration(backoff), container.spec["name"].as_string(),
                    spec_["name"].as_string(), spec_["ns"].as_string(), spec_["uid"].as_string());
  }
}

void PodMachine::stop(Duration grace, Instant now) {
  stopping_ = true;
  const Instant kill_at = now + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
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

std::optional<Instant> PodMachine::next_due() const {
  std::optional<Instant> due;
  for (const Container& container : containers_) {
    earlier(due, container.restart_at);
    if (container.state == State::Running && !container.kill_asked) {
      earlier(due, container.timeout_at);
      earlier(due, stopping_ ? kill_at_ : std::nullopt);
      earlier(due, container.spec["sidecar"].as_bool() ? sidecars_kill_at_ : std::nullopt);
    }
  }
  return due;
}

bool PodMachine::failed(const Container& container) const {
  return container.state == State::Ended && container.code != 0;
}

bool PodMachine::restarts_after(const Container& container) const {
  if (stopping_ || container.ephemeral) {
    return false;
  }
  if (container.spec["sidecar"].as_bool()) {
    return container.spec["restartPolicy"].as_string() == "Always" && !container.terminated_asked;
  }
  const std::string_view policy = spec_["restartPolicy"].as_string();
  if (container.init) {
    return container.code != 0 && policy != "Never";
  }
  return policy == "Always" || (policy == "OnFailure" && container.code != 0);
}

Value PodMachine::outcome(const Container& container) {
  return Value::object({{"exitCode", container.code},
                        {"reason", container.reason},
                        {"message", container.message},
                        {"startedAt", format_time(*container.started)},
                        {"finishedAt", format_time(*container.finished)}});
}

Value PodMachine::describe(const Container& container) {
  Value state = Value::object({{"name", container.spec["name"]}, {"restarts", container.restarts}});
  switch (container.state) {
    case State::Waiting:
      state.set("state", "waiting");
      state.set("reason", container.reason);
      state.set("message", container.message);
      break;
    case State::Running:
      state.set("state", "running");
      state.set("startedAt", format_time(*container.started));
      break;
    case State::Ended: {
      state.set("state", "terminated");
      const Value facts = outcome(container);
      for (const Member& fact : facts.members()) {
        state.set(fact.key(), fact.value);
      }
      break;
    }
  }
  if (container.last.is_object()) {
    state.set("last", container.last);
  }
  return state;
}

Value PodMachine::state() const {
  Value init = Value::list();
  Value containers = Value::list();
  Value ephemeral = Value::list();
  for (const Container& container : containers_) {
    Value& list = container.init ? init : container.ephemeral ? ephemeral : containers;
    list.push_back(describe(container));
  }
  Value state = Value::object(
      {{"uid", spec_["uid"]}, {"stopping", stopping_}, {"init", init}, {"containers", containers}});
  if (!ephemeral.empty()) {
    state.set("ephemeral", std::move(ephemeral));
  }
  return state;
}

}  // namespace athanor::nodes
