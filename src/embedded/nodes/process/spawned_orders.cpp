// SPDX-License-Identifier: Apache-2.0
// Executes the orders of the pods' machines.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/contain.hpp"
#include "base/log.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/session_files.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"
#include "embedded/nodes/sandbox_spec.hpp"

namespace athanor::nodes {
namespace {

constexpr int kRefusedStart = 128;

// Returns the limits of a container, or those that all of its pod share.
GroupLimits group_limits_of(const Value& spec, std::string_view name) {
  const auto limit = [&](std::string_view resource) {
    const Value& own = spec["limits"][name][resource];
    return own.is_integer() ? std::optional(own.as_int()) : std::nullopt;
  };
  return {.memory_bytes = limit("memory"), .cpu_millis = limit("cpu")};
}

Result<std::string> pod_group(const ContainerGroups& groups, const Value& spec) {
  return spec["limits"].contains(kWholePod)
             ? groups.make_pod(spec["uid"].str(), group_limits_of(spec, kWholePod))
             : std::string();
}

}  // namespace

void SpawnedRuntime::advance(const std::string& uid, Pod& pod) {
  std::vector<Order> orders;
  bool again = true;
  while (again) {
    again = false;
    orders.clear();
    pod.machine.advance(options_.clock->now(), orders);
    for (const Order& order : orders) {
      // A container that could not start changes what comes next.
      again = !carry_out(uid, pod, order) || again;
    }
  }
  if (const auto due = pod.machine.next_due(); due != pod.due) {
    if (pod.due) {
      deadlines_.erase({*pod.due, uid});
    }
    if (due) {
      deadlines_.emplace(*due, uid);
    }
    pod.due = due;
  }
  report(pod);
}

void SpawnedRuntime::report(Pod& pod) {
  Value state = pod.machine.state();
  if (state != pod.reported) {
    pod.reported = state;
    notices_.emplace_back(pod.query, std::move(state));
  }
}

bool SpawnedRuntime::carry_out(const std::string& uid, Pod& pod, const Order& order) {
  if (order.type == Order::Type::Skip) {
    pod.directory.skip(pod.machine.container(order.container));
    return true;
  }
  if (order.type == Order::Type::Probe || order.type == Order::Type::Hook) {
    check(uid, pod, order);
    return true;
  }
  if (order.type != Order::Type::Run) {
    const auto process = pod.processes.find(order.container);
    if (process != pod.processes.end()) {
      send_frame(spawner_.socket(),
                 Value::object({{"op", "signal"},
                                {"id", process->second},
                                {"signal", order.type == Order::Type::Kill ? SIGKILL : SIGTERM}}));
    }
    return true;
  }
  const Value& container = pod.machine.container(order.container);
  if (const std::string missing = missing_devices(options_.folder, container); !missing.empty()) {
    pod.machine.not_made(order.container,
                         "CDI device injection failed: unresolvable CDI devices " + missing,
                         options_.clock->now());
    return false;
  }
  const std::int64_t id = ++last_process_;
  if (const auto sent = start_container(pod, order.container, id); !sent.ok()) {
    pod.machine.exited(order.container, kRefusedStart, sent.error().message, options_.clock->now());
    return false;
  }
  pod.processes[order.container] = id;
  processes_[id] = {uid, order.container};
  return true;
}

void SpawnedRuntime::mount_memory(const Value& spec, const PodDirectory& directory) {
  for (const Value& volume : spec["volumes"].items()) {
    if (volume["memory"].as_bool()) {
      send_frame(spawner_.socket(), Value::object({{"op", "memory"},
                                                   {"uid", spec["uid"]},
                                                   {"volume", volume["name"]},
                                                   {"path", directory.volume_path(volume)},
                                                   {"sizeBytes", volume["sizeBytes"]},
                                                   {"group", spec["fsGroup"]}}));
    }
  }
}

void SpawnedRuntime::check(const std::string& uid, Pod& pod, const Order& order) {
  const Value& container = pod.machine.container(order.container);
  const bool probes = order.type == Order::Type::Probe;
  const Value& action =
      probes ? container["probes"][probe_member(order.probe)] : container[hook_member(order.hook)];
  // A hook has the time that its container has.
  const Duration timeout = probes
                               ? Duration(std::chrono::seconds(action["timeoutSeconds"].as_int(1)))
                               : Duration::zero();
  auto done = [this, uid, order](const ProbeAnswer& answer) { answered(uid, order, answer); };
  if (action["type"].as_string() != "exec") {
    return checks_->ask(action, timeout, std::move(done));
  }
  const auto process = pod.processes.find(order.container);
  const auto run = pod.orders.find(order.container);
  const std::int64_t id = ++last_process_;
  int ends[2] = {-1, -1};
  if (process == pod.processes.end() || run == pod.orders.end() || ::pipe2(ends, O_CLOEXEC) != 0) {
    return checks_->ask(
        Value::object({{"type", "error"}, {"message", "the container does not run"}}), timeout,
        std::move(done));
  }
  const int both[] = {ends[1], ends[1]};
  const Value exec = exec_order(id, process->second, action["command"], run->second);
  send_frame(spawner_.socket(), exec, both);
  ::close(ends[1]);
  check_execs_.insert(id);
  checks_->watch(id, ends[0], timeout, action, std::move(done), [this, id] {
    send_frame(spawner_.socket(),
               Value::object({{"op", "signal"}, {"id", id}, {"signal", SIGKILL}}));
  });
}

void SpawnedRuntime::answered(const std::string& uid, const Order& order,
                              const ProbeAnswer& answer) {
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(uid);
    if (found == pods_.end()) {
      return;
    }
    PodMachine& machine = found->second.machine;
    if (order.type == Order::Type::Probe) {
      machine.probed(order, answer, options_.clock->now());
    } else {
      machine.hooked(order, answer.success, options_.clock->now());
    }
    advance(uid, found->second);
  }
  wake();
}

Result<void> SpawnedRuntime::start_container(Pod& pod, std::size_t index, std::int64_t id) {
  Result<void> sent;
  const auto broken = contain([&] {
    mutex_.assert_held();  // contain() runs it at once, on this thread
    const Value& container = pod.machine.container(index);
    pod.directory.rotate_log(container["name"].as_string());
    auto run = pod.directory.run_order(pod.machine.spec(), container, id);
    sent = run.ok() ? send_run(pod, index, *run) : run.error();
  });
  return broken ? Error::internal(*broken) : sent;
}

void SpawnedRuntime::add_group(const PodMachine& machine, std::size_t index, Value& order) const {
  if (!options_.groups) {
    return;
  }
  const std::string_view name = machine.container(index)["name"].as_string();
  const Value& spec = machine.spec();
  auto group = pod_group(*options_.groups, spec);
  if (group.ok()) {
    group = options_.groups->make(
        *group, fmt::format("{}-{}-{}", spec["uid"].as_string(), name, order["id"].as_int()),
        group_limits_of(spec, name));
  }
  if (group.ok()) {
    order.set("group", *std::move(group));
  } else {
    log::warn("a container has no cgroup: its memory is measured, its cpu is not limited",
              {{"container", name}, {"error", group.error().message}});
  }
}

void SpawnedRuntime::limit_groups(const Pod& pod) {
  for (const auto& [index, process] : pod.processes) {
    const auto order = pod.orders.find(index);
    if (order == pod.orders.end() || !order->second["group"].is_string() ||
        pod.machine.restarts_for_resize(index)) {
      continue;  // one that restarts gets a group with the new limits
    }
    const auto set = ContainerGroups::limit(
        order->second["group"].str(),
        group_limits_of(pod.machine.spec(), pod.machine.container(index)["name"].as_string()));
    if (!set.ok()) {
      log::warn("cannot change a container's limits", {{"error", set.error().message}});
    }
  }
}

void SpawnedRuntime::join_target(Pod& pod, const Value& container, Value& order) const {
  const std::string target = container["target"].str();
  if (target.empty()) {
    return;
  }
  // Another user's namespace belongs to that container's user namespace.
  const bool allowed = options_.isolate && ::geteuid() == 0;
  for (const auto& [index, process] : pod.processes) {
    if (allowed && pod.machine.container(index)["name"].as_string() == target) {
      order.set("target", process);
      return;
    }
  }
  pod.machine.warn("TargetNotJoined",
                   fmt::format("Container {} does not see the processes of {}: {}",
                               container["name"].as_string(), target,
                               allowed ? "it does not run" : "the lab does not run as root"));
}

Result<void> SpawnedRuntime::send_run(Pod& pod, std::size_t index, Value order) {
  const Value& container = pod.machine.container(index);
  const bool terminal = container["tty"].as_bool();
  SessionEnds ends;
  if (terminal) {
    ATHANOR_TRY(ends, make_terminal());
    ends.theirs.push_back(std::exchange(ends.ours.output, -1));  // the spawner reads it
  } else if (container["stdin"].as_bool()) {
    ATHANOR_TRY(ends, make_pipes(true, false));
  }
  // Once for each volume, as a kubelet does: a program may have narrowed its rights since.
  Value& mounts = order.member("mounts");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (mounts[i]["volume"].is_string() && !pod.given.insert(mounts[i]["volume"].str()).second) {
      mounts.item(i).set("given", true);
    }
  }
  add_group(pod.machine, index, order);
  join_target(pod, container, order);
  order.set("isolate", options_.isolate);
  order.set("hide", options_.folder);
  if (options_.supervised) {
    order.set("network", pod.machine.spec()["network"]);
  }
  order.set("ownFolders", own_folders_);
  order.set("tty", terminal);
  order.set("logBytes", options_.log_limits.bytes);
  order.set("logFiles", options_.log_limits.files);
  order.set("files", ends.theirs.size());
  const bool sent = send_frame(spawner_.socket(), order, ends.theirs);
  ends.close_theirs();
  pod.inputs.erase(index);
  if (ends.ours.input >= 0) {
    pod.inputs.emplace(index, Descriptor(ends.ours.input));
  }
  pod.orders.insert_or_assign(index, std::move(order));
  return sent ? Result<void>() : Error::internal("the spawner is gone");
}

}  // namespace athanor::nodes
