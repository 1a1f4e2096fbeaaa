// SPDX-License-Identifier: Apache-2.0
// Starting a pod's containers, their probes and hooks.
#include "embedded/nodes/pod_machine.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "embedded/nodes/steps/step_results.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostEvents = 32;  // a kubelet that does not write them misses the oldest

bool is_due(const std::optional<Instant>& when, Instant now) {
  return !when || *when <= now;
}

void earlier(std::optional<Instant>& due, const std::optional<Instant>& candidate) {
  if (candidate && (!due || *candidate < *due)) {
    due = candidate;
  }
}

}  // namespace

std::string_view hook_member(HookKind kind) {
  return kind == HookKind::PostStart ? "postStart" : "preStop";
}

PodMachine::PodMachine(Value spec)
    : spec_(std::move(spec)), sequential_(spec_["sequential"].as_bool()) {
  for (const Value& container : spec_["init"].items()) {
    containers_.push_back({.spec = container, .init = true});
  }
  for (const Value& container : spec_["containers"].items()) {
    containers_.push_back({.spec = container});
  }
  for (Container& container : containers_) {
    make_probes(container);
  }
  for (const Value& container : spec_["ephemeral"].items()) {
    add_ephemeral(container);
  }
}

void PodMachine::make_probes(Container& container) const {
  container.probes = ContainerProbes(
      container.spec["probes"], spec_["probesOnce"].as_bool() ? ContainerProbes::Mode::UntilSuccess
                                                              : ContainerProbes::Mode::Always);
}

void PodMachine::add_ephemeral(const Value& container) {
  const bool known = std::ranges::any_of(
      containers_, [&](const Container& other) { return other.spec["name"] == container["name"]; });
  if (!known && !stopping_) {
    containers_.push_back({.spec = container, .init = false, .ephemeral = true});
  }
}

void PodMachine::advance(Instant now, std::vector<Order>& orders) {
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (container.sleeps_until && *container.sleeps_until <= now) {
      hooked({.container = i,
              .hook = container.starting ? HookKind::PostStart : HookKind::PreStop,
              .run = container.run},
             true, now);
    }
  }
  if (!stopping_) {
    start_ready(now, orders);
    end_beside_steps(now);
    end_natives(now);
  }
  enforce_ends(now, orders);
  probe(now, orders);
}

void PodMachine::start_ready(Instant now, std::vector<Order>& orders) {
  start_beside(now, orders);
  if (start_inits(now, orders)) {
    start_mains(now, orders);
  }
}

void PodMachine::start_beside(Instant now, std::vector<Order>& orders) {
  const bool inits_over = std::ranges::all_of(containers_, [](const Container& c) {
    return !c.init || is_native(c) || c.state == State::Ended;
  });
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    const Container& beside = containers_[i];
    const bool ready = beside.ephemeral || (!ending_beside_ && inits_over);
    if (is_beside(beside) && !is_native(beside) && ready && beside.state == State::Waiting &&
        is_due(beside.restart_at, now)) {
      start(i, now, orders);
    }
  }
}

bool PodMachine::start_inits(Instant now, std::vector<Order>& orders) {
  const bool failed_one = std::ranges::any_of(
      containers_, [this](const Container& c) { return c.init && !is_native(c) && failed(c); });
  if (failed_one) {
    return false;
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (!container.init) {
      continue;
    }
    if (container.state == State::Waiting && is_due(container.restart_at, now) &&
        !(is_native(container) && main_over())) {
      start(i, now, orders);
    }
    const bool passed = is_native(container) ? container.state == State::Running &&
                                                   !container.starting && container.probes.started()
                                             : container.state == State::Ended;
    if (!passed && !initialized_) {
      return false;  // the next one waits for this one
    }
  }
  initialized_ = true;
  return true;
}

void PodMachine::start_mains(Instant now, std::vector<Order>& orders) {
  // Steps wait for what runs beside them, as Tekton's entrypoint does.
  const bool beside_ready = std::ranges::all_of(containers_, [](const Container& c) {
    return c.ephemeral || c.init || !is_beside(c) || c.state != State::Running ||
           (!c.starting && c.probes.ready());
  });
  const bool begun = std::ranges::any_of(
      containers_, [](const Container& c) { return !c.init && !is_beside(c) && c.run > 0; });
  if (sequential_ && !begun && !beside_ready) {
    return;
  }
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (container.init || is_beside(container)) {
      continue;
    }
    if (container.state == State::Waiting) {
      prepare_step(i, now, orders);
    }
    if (container.state == State::Ended) {
      if (failed(container) && sequential_) {
        skip_from(i + 1, now);
        return;
      }
      continue;
    }
    if (container.state == State::Waiting && is_due(container.restart_at, now)) {
      start(i, now, orders);
    }
    if (sequential_) {
      return;  // the next one waits for this one
    }
  }
}

void PodMachine::start(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& container = containers_[index];
  container.state = State::Running;
  ++container.run;
  if (container.not_made == 0 && container.last.is_object()) {
    ++container.restarts;  // counted where the next run begins, as a kubelet does
  }
  container.started = now;
  container.finished.reset();
  container.restart_at.reset();
  container.reason.clear();
  container.message.clear();
  container.out_of_memory = false;
  if (const std::int64_t timeout = container.spec["timeoutMs"].as_int(); timeout > 0) {
    container.timeout_at = now + std::chrono::milliseconds(timeout);
  }
  orders.push_back({.type = Order::Type::Run, .container = index});
  container.starting = container.spec["postStart"].is_object();
  if (container.starting) {
    begin_hook(index, HookKind::PostStart, now, orders);
  } else {
    container.probes.begin(now);
  }
}

void PodMachine::begin_hook(std::size_t index, HookKind kind, Instant now,
                            std::vector<Order>& orders) {
  Container& container = containers_[index];
  const Value& hook = container.spec[hook_member(kind)];
  if (hook["type"].as_string() == "sleep") {
    container.sleeps_until = now + std::chrono::seconds(hook["seconds"].as_int());
    return;
  }
  orders.push_back(
      {.type = Order::Type::Hook, .container = index, .hook = kind, .run = container.run});
}

void PodMachine::hooked(const Order& order, bool success, Instant now) {
  Container& container = containers_[order.container];
  if (container.run != order.run || container.state != State::Running) {
    return;
  }
  if (order.hook == HookKind::PreStop) {
    if (container.ending == Ending::Hook) {
      container.sleeps_until.reset();
      container.ending = Ending::Turn;
      container.waited = true;
      if (!success) {
        note(container, "Warning", "FailedPreStopHook", "PreStopHook failed");
      }
    }
    return;
  }
  if (!container.starting) {
    return;
  }
  container.sleeps_until.reset();
  container.starting = false;
  if (success) {
    container.probes.begin(now);
    if (container.ending != Ending::None) {
      container.probes.stop();
    }
    return;
  }
  note(container, "Warning", "FailedPostStartHook", "PostStartHook failed");
  begin_end(order.container, grace(), "FailedPostStartHook", now);
}

void PodMachine::probe(Instant now, std::vector<Order>& orders) {
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    Container& container = containers_[i];
    if (container.state != State::Running || container.starting) {
      continue;
    }
    for (const ProbeKind kind : container.probes.take_due(now)) {
      orders.push_back(
          {.type = Order::Type::Probe, .container = i, .probe = kind, .run = container.run});
    }
  }
}

void PodMachine::probed(const Order& order, const ProbeAnswer& answer, Instant now) {
  Container& container = containers_[order.container];
  if (container.run != order.run || container.state != State::Running) {
    return;
  }
  const bool ends = container.probes.answered(order.probe, answer.success, now);
  if (!answer.success) {
    note(container, "Warning", "Unhealthy",
         answer.errored
             ? fmt::format("{} probe errored and resulted in unknown state: {}",
                           probe_title(order.probe), answer.message)
             : fmt::format("{} probe failed: {}", probe_title(order.probe), answer.message));
  }
  if (answer.success && answer.warned) {
    note(container, "Warning", "ProbeWarning",
         fmt::format("{} probe warning: {}", probe_title(order.probe), answer.message));
  }
  if (ends && container.ending == Ending::None) {
    const Value& own = container.spec["probes"][probe_member(order.probe)]["graceSeconds"];
    begin_end(order.container,
              own.is_null() ? grace() : Duration(std::chrono::seconds(own.as_int())),
              fmt::format("Container {} failed {} probe{}", container.spec["name"].as_string(),
                          probe_member(order.probe),
                          restarts_after(container) ? ", will be restarted" : ""),
              now);
  }
}

void PodMachine::note(const Container& container, const char* type, const char* reason,
                      std::string text) {
  if (events_.size() == kMostEvents) {
    events_.erase(events_.begin());
  }
  events_.push_back({.number = ++last_event_,
                     .type = type,
                     .reason = reason,
                     .note = std::move(text),
                     .container = container.spec["name"].str()});
}

void PodMachine::warn(const char* reason, std::string text) {
  note({}, "Warning", reason, std::move(text));
}

void PodMachine::update_volumes(const Value& volumes, const Value& digest) {
  spec_.set("volumes", volumes);
  spec_.set("volumesDigest", digest);
  ++volumes_version_;
}

void PodMachine::resize(const Value& change, Instant now) {
  spec_.set("resources", change["resources"]);
  spec_.set("limits", change["limits"]);
  ++resources_version_;
  for (const Value& name : change["restarts"].items()) {
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      Container& container = containers_[i];
      if (container.spec["name"] == name && container.state == State::Running && !stopping_) {
        container.resized = true;
        begin_end(i, grace(), fmt::format("Container {} resize requires restart", name.as_string()),
                  now);
      }
    }
  }
}

void PodMachine::evict(const std::string& message) {
  if (evicted_.empty() && !stopping_) {
    evicted_ = message;
  }
}

void PodMachine::out_of_memory(std::size_t index) {
  containers_[index].out_of_memory = running(index);
}

void PodMachine::events_written(std::int64_t last) {
  std::erase_if(events_, [last](const Event& event) { return event.number <= last; });
}

void PodMachine::prepare_step(std::size_t index, Instant now, std::vector<Order>& orders) {
  Container& container = containers_[index];
  if (!sequential_ || container.init) {
    return;
  }
  StepResults results;
  for (std::size_t i = 0; i < index; ++i) {
    results.add(containers_[i].spec["name"].as_string(), containers_[i].message);
  }
  const auto allowed = results.allow(container.spec["when"]);
  if (allowed && !*allowed) {
    container.started = now;
    exited(index, 0, skipped_message(), now);
    orders.push_back({Order::Type::Skip, index});
    return;
  }
  auto spec = allowed ? results.substituted(container.spec) : Result<Value>(allowed.error());
  if (spec) {
    container.spec = *std::move(spec);
  } else {
    container.started = now;
    exited(index, 1, spec.error().message, now);
  }
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

std::optional<Instant> PodMachine::next_due() const {
  std::optional<Instant> due;
  for (const Container& container : containers_) {
    earlier(due, container.restart_at);
    if (container.state != State::Running) {
      continue;
    }
    earlier(due, container.sleeps_until);
    if (!container.starting) {
      earlier(due, container.probes.next_due());
    }
    if (container.ending != Ending::Killed) {
      earlier(due, container.timeout_at);
      earlier(due, container.kill_at);
    }
  }
  return due;
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
      if (container.starting) {  // a kubelet reports it once its hook has ended
        state.set("state", "waiting");
        state.set("reason", "");
        break;
      }
      state.set("state", "running");
      state.set("startedAt", format_time(*container.started));
      state.set("started", container.probes.started());
      state.set("ready", container.probes.ready());
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
  if (is_native(container)) {
    state.set("sidecar", true);
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
  if (spec_.contains("resources")) {
    state.set("resources", spec_["resources"]);
    state.set("resourcesVersion", resources_version_);
  }
  if (!evicted_.empty()) {
    state.set("evicted", evicted_);
  }
  if (spec_.contains("volumesDigest")) {
    state.set("volumes",
              Value::object({{"version", volumes_version_}, {"digest", spec_["volumesDigest"]}}));
  }
  if (!events_.empty()) {
    Value events = Value::list();
    for (const Event& event : events_) {
      events.push_back(Value::object({{"number", event.number},
                                      {"type", event.type},
                                      {"reason", event.reason},
                                      {"note", event.note}}));
    }
    state.set("events", std::move(events));
  }
  return state;
}

}  // namespace athanor::nodes
