// SPDX-License-Identifier: Apache-2.0
// Logs, commands in containers, attached terminals and forwarded ports.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/session_files.hpp"
#include "embedded/nodes/process/spawned_runtime.hpp"

namespace athanor::nodes {

Result<std::unique_ptr<net::Stream>> SpawnedRuntime::open(const Key& pod, std::string_view uid,
                                                          const apiserver::LogOptions& options) {
  const MutexLock lock(mutex_);
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) {
    return open_of_before(pod, uid, options);
  }
  const PodMachine& machine = found->second.machine;
  bool running = false;
  for (std::size_t i = 0; i < machine.size(); ++i) {
    running = running ||
              (machine.container(i)["name"].as_string() == options.container && machine.running(i));
  }
  return logs_.open(found->second.directory.log_path(options.container), std::string(uid), options,
                    running);
}

Result<std::unique_ptr<apiserver::PodSession>> SpawnedRuntime::exec(
    const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) {
  const MutexLock lock(mutex_);
  ATHANOR_TRY(const Running target, running(uid, options.container));
  ATHANOR_TRY(SessionEnds ends,
              options.terminal ? make_terminal() : make_pipes(options.input, true));
  const Value& run = target.pod->orders.at(target.index);
  Value argv = Value::list();
  for (const std::string& word : options.command) {
    argv.push_back(Value(word));
  }
  const std::int64_t id = ++last_process_;
  Value order = exec_order(id, target.process, argv, run);
  order.set("stdin", options.input);
  order.set("tty", options.terminal);
  order.set("files", ends.theirs.size());
  const bool sent = send_frame(spawner_.socket(), order, ends.theirs);
  ends.close_theirs();
  if (!sent) {
    ends.close_all();
    return Error::internal("the spawner is gone");
  }
  execs_.insert(id);
  return sessions_.add(id, ends.ours);
}

Result<std::unique_ptr<apiserver::PodSession>> SpawnedRuntime::attach(
    const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) {
  const MutexLock lock(mutex_);
  ATHANOR_TRY(const Running target, running(uid, options.container));
  ATHANOR_TRY(SessionEnds ends, make_pipes(false, true));
  // One copy carries everything: a container's errors are in its output.
  ::close(std::exchange(ends.ours.error, -1));
  ::close(ends.theirs.back());
  ends.theirs.pop_back();
  const Value order =
      Value::object({{"op", "tap"}, {"id", target.process}, {"files", ends.theirs.size()}});
  const bool sent = send_frame(spawner_.socket(), order, ends.theirs);
  ends.close_theirs();
  if (!sent) {
    ends.close_all();
    return Error::internal("the spawner is gone");
  }
  const auto input = target.pod->inputs.find(target.index);
  if (options.input && input != target.pod->inputs.end()) {
    ends.ours.input = ::fcntl(input->second.get(), F_DUPFD_CLOEXEC, 0);
    ends.ours.terminal = target.pod->machine.container(target.index)["tty"].as_bool();
  }
  return sessions_.add(target.process, ends.ours, [this, target, reads = ends.ours.input >= 0] {
    if (reads) {
      close_input(target.uid, target.index, target.process);
    }
  });
}

Result<std::unique_ptr<apiserver::PodSession>> SpawnedRuntime::connect(const Key& pod,
                                                                       std::string_view uid,
                                                                       std::uint16_t port) {
  std::optional<std::uint32_t> ip;
  {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(std::string(uid));
    if (found == pods_.end() || found->second.processes.empty()) {
      return Error::not_found(fmt::format("pod {} does not run", pod.text()));
    }
    if (options_.supervised) {
      ip = ip_of(found->second.machine.spec()["network"]["ip"].as_string());
    }
  }
  // As a connection from within the pod.
  const Address machine{.ip = kLoopback, .port = port};
  auto files = ip ? dial({.ip = *ip, .port = port}, machine) : dial(machine);
  if (!files.ok()) {
    return Error{.code = files.error().code,
                 .reason = files.error().reason,
                 .message = fmt::format("error forwarding port {} to pod {}: {}", port, pod.name,
                                        files.error().message)};
  }
  return sessions_.add(0, *files);
}

Result<std::unique_ptr<net::Stream>> SpawnedRuntime::open_of_before(
    const Key& pod, std::string_view uid, const apiserver::LogOptions& options) {
  if (uid.empty() || uid.find('/') != std::string_view::npos || uid.starts_with('.')) {
    return Error::not_found(fmt::format("pod {} has no logs on its node", pod.text()));
  }
  const PodDirectory directory(options_.folder, Value::object({{"uid", uid}, {"ns", pod.ns}}));
  auto log = logs_.open(directory.log_path(options.container), std::string(uid), options,
                        /*running=*/false);
  if (!log.ok()) {
    return Error::not_found(fmt::format("pod {} has no logs on its node", pod.text()));
  }
  return log;
}

Value SpawnedRuntime::exec_order(std::int64_t id, std::int64_t container, const Value& argv,
                                 const Value& run) {
  return Value::object({{"op", "exec"},
                        {"id", id},
                        {"container", container},
                        {"argv", argv},
                        {"env", run["env"]},
                        {"cwd", run["cwd"]},
                        {"isolate", run["isolate"]},
                        {"security", run["security"]},
                        {"network", run["network"]},
                        {"group", run["group"]},
                        {"files", 2}});
}

Result<SpawnedRuntime::Running> SpawnedRuntime::running(std::string_view uid,
                                                        const std::string& container) {
  const auto found = pods_.find(std::string(uid));
  if (found != pods_.end()) {
    for (const auto& [index, process] : found->second.processes) {
      if (found->second.machine.container(index)["name"].as_string() == container) {
        return Running{
            .uid = found->first, .pod = &found->second, .index = index, .process = process};
      }
    }
  }
  return Error::not_found(fmt::format("container not found (\"{}\")", container));
}

void SpawnedRuntime::close_input(const std::string& uid, std::size_t index, std::int64_t process) {
  const MutexLock lock(mutex_);
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) {
    return;
  }
  const auto runs = pod->second.processes.find(index);
  if (runs != pod->second.processes.end() && runs->second == process &&
      pod->second.machine.container(index)["stdinOnce"].as_bool()) {
    pod->second.inputs.erase(index);
  }
}

}  // namespace athanor::nodes
