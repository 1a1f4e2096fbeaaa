// SPDX-License-Identifier: Apache-2.0
// Pods on the spawner: one thread reads what it reports, keeps the pods' deadlines and notifies the
// listener.
#include "embedded/nodes/process/process_runtime.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/files/descriptor.hpp"
#include "base/files/folder.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/process/check_loop.hpp"
#include "embedded/nodes/process/container_ending.hpp"
#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/log_stream.hpp"
#include "embedded/nodes/process/session_files.hpp"
#include "embedded/nodes/process/session_loop.hpp"

namespace athanor::nodes {
namespace {

using Notices = std::vector<std::pair<std::string, Value>>;  // query and state

constexpr int kRefusedStart = 128;

struct Pod {
  PodMachine machine;
  PodDirectory directory;
  std::string query{};
  std::map<std::size_t, std::int64_t> processes{};  // running container to process id
  std::map<std::size_t, Value> orders{};            // container to the order that started it
  std::map<std::size_t, Descriptor> inputs{};       // of running containers that read
};

class SpawnedRuntime final : public ProcessRuntime {
 public:
  SpawnedRuntime(Spawner spawner, ProcessRuntimeOptions options)
      : spawner_(std::move(spawner)),
        options_(std::move(options)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    for (const std::string& folder : options_.own_folders) {
      own_folders_.push_back(folder);
    }
    if (options_.isolate) {
      send_frame(spawner_.socket(),
                 Value::object({{"op", "prepare"}, {"folder", options_.folder}}));
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  SpawnedRuntime(const SpawnedRuntime&) = delete;
  SpawnedRuntime& operator=(const SpawnedRuntime&) = delete;
  ~SpawnedRuntime() override {
    thread_.request_stop();
    wake();
    thread_.join();
    checks_.reset();
    ::close(wake_);
  }

  void listen(Listener listener) override {
    const MutexLock telling(telling_);
    listener_ = std::move(listener);
  }

  void start(const Value& spec) override {
    const std::string uid = spec["uid"].str();
    {
      const MutexLock lock(mutex_);
      if (closing_ || pods_.contains(uid) || !preparing_.insert(uid).second) {
        return;
      }
    }
    // Without the lock: files take time, and a token is asked of the API server, which may be
    // asking for a log right now.
    PodDirectory directory(options_.folder, spec);
    directory.remove();  // a pod of before a restart may have left files: it starts afresh
    const auto prepared = directory.prepare(spec, options_.tokens);
    {
      const MutexLock lock(mutex_);
      preparing_.erase(uid);
      Pod& pod =
          pods_
              .emplace(uid,
                       Pod{.machine = PodMachine(spec),
                           .directory = std::move(directory),
                           .query = pod_query(spec["ns"].as_string(), spec["name"].as_string())})
              .first->second;
      by_query_[pod.query] = uid;
      if (closing_) {
        pod.machine.stop(Duration::zero(), options_.clock->now());
      }
      if (prepared.ok()) {
        mount_memory(spec, pod.directory);
      } else {
        log::warn("cannot prepare a pod",
                  {{"pod", pod.query}, {"error", prepared.error().message}});
        pod.machine.fail(prepared.error().message, options_.clock->now());
      }
      advance(uid, pod);
    }
    wake();
  }

  void extend(const Value& spec) override {
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(spec["uid"].str());
      if (found == pods_.end()) {
        return;
      }
      for (const Value& container : spec["ephemeral"].items()) {
        found->second.machine.add_ephemeral(container);
      }
      advance(found->first, found->second);
    }
    wake();
  }

  void stop(const std::string& uid, Duration grace) override {
    {
      const MutexLock lock(mutex_);
      if (const auto found = pods_.find(uid); found != pods_.end()) {
        found->second.machine.stop(grace, options_.clock->now());
        advance(uid, found->second);
      }
    }
    wake();
  }

  void update(const Value& change) override {
    const std::string uid = change["uid"].str();
    std::optional<PodDirectory> directory;
    Value spec;
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(uid);
      if (found == pods_.end()) {
        return;
      }
      found->second.machine.update_volumes(change["volumes"], change["digest"]);
      directory = found->second.directory;
      spec = found->second.machine.spec();
    }
    if (const auto written = directory->update(spec, options_.tokens); !written.ok()) {
      log::warn("cannot update the volumes of a pod",
                {{"pod", spec["name"].str()}, {"error", written.error().message}});
    }
    {
      const MutexLock lock(mutex_);
      if (const auto found = pods_.find(uid); found != pods_.end()) {
        notices_.emplace_back(found->second.query, found->second.machine.state());
      }
    }
    wake();
  }

  void events_written(const std::string& uid, std::int64_t last) override {
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(uid);
      if (found == pods_.end()) {
        return;
      }
      found->second.machine.events_written(last);
      notices_.emplace_back(found->second.query, found->second.machine.state());
    }
    wake();
  }

  void forget(const std::string& uid) override {
    std::optional<PodDirectory> directory;
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(uid);
      if (found == pods_.end() || !found->second.machine.over()) {
        return;
      }
      const std::string query = found->second.query;
      directory = std::move(found->second.directory);
      pods_.erase(found);
      if (by_query_[query] == uid) {
        by_query_.erase(query);
        notices_.emplace_back(query, nothing());
      }
      logs_.end_pod(uid);
    }
    directory->remove();
    wake();
  }

  [[nodiscard]] Value state(std::string_view query) const override {
    const MutexLock lock(mutex_);
    const auto found = by_query_.find(query);
    return found == by_query_.end() ? nothing() : pods_.at(found->second).machine.state();
  }

  Result<std::unique_ptr<net::Stream>> open(const Key& pod, std::string_view uid,
                                            const apiserver::LogOptions& options) override {
    const MutexLock lock(mutex_);
    const auto found = pods_.find(std::string(uid));
    if (found == pods_.end()) {
      return open_of_before(pod, uid, options);
    }
    const PodMachine& machine = found->second.machine;
    bool running = false;
    for (std::size_t i = 0; i < machine.size(); ++i) {
      running = running || (machine.container(i)["name"].as_string() == options.container &&
                            machine.running(i));
    }
    return logs_.open(found->second.directory.log_path(options.container), std::string(uid),
                      options, running);
  }

  Result<std::unique_ptr<apiserver::PodSession>> exec(
      const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) override {
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

  Result<std::unique_ptr<apiserver::PodSession>> attach(
      const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) override {
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

  Result<std::unique_ptr<apiserver::PodSession>> connect(const Key& pod, std::string_view uid,
                                                         std::uint16_t port) override {
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

  void keep_only(const std::vector<std::string>& uids) override {
    const std::set<std::string> kept(uids.begin(), uids.end());
    const std::string pods = options_.folder + "/pods";
    for (const std::string& uid : names_in_folder(pods)) {
      if (!kept.contains(uid)) {
        remove_folder(fmt::format("{}/{}", pods, uid));
      }
    }
  }

  [[nodiscard]] std::map<std::string, std::map<std::string, ContainerUsage>> usage()
      const override {
    std::map<int, std::pair<std::string, std::string>> names;  // by first process
    {
      const MutexLock lock(mutex_);
      for (const auto& [id, place] : processes_) {
        if (const auto pid = pids_.find(id); pid != pids_.end()) {
          const PodMachine& machine = pods_.at(place.first).machine;
          names[pid->second] = {place.first, machine.container(place.second)["name"].str()};
        }
      }
    }
    std::vector<int> pids;
    pids.reserve(names.size());
    for (const auto& [pid, name] : names) {
      pids.push_back(pid);
    }
    std::map<std::string, std::map<std::string, ContainerUsage>> result;
    for (const auto& [pid, used] : usage_of(pids)) {
      result[names[pid].first][names[pid].second] = used;
    }
    return result;
  }

  void shut_down(Duration grace) override {
    MutexLock lock(mutex_);
    closing_ = true;
    for (auto& [uid, pod] : pods_) {
      pod.machine.stop(grace, options_.clock->now());
      advance(uid, pod);
    }
    wake();
    constexpr auto kReapTime = std::chrono::seconds(1);
    idle_.wait_for(lock, grace + kReapTime,
                   [this]() ATHANOR_REQUIRES(mutex_) { return processes_.empty(); });
  }

 private:
  // The log of a pod that ended before this program started: its files are still there.
  Result<std::unique_ptr<net::Stream>> open_of_before(const Key& pod, std::string_view uid,
                                                      const apiserver::LogOptions& options) {
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

  // A command in a container that `run` started; its output and errors are two files.
  static Value exec_order(std::int64_t id, std::int64_t container, const Value& argv,
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
                          {"files", 2}});
  }

  static Value nothing() {
    return Value::object({{"uid", ""}, {"init", Value::list()}, {"containers", Value::list()}});
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one));
  }

  // Carries out what the pod's machine wants.
  void advance(const std::string& uid, Pod& pod) ATHANOR_REQUIRES(mutex_) {
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
    if (pod.machine.next_due()) {
      with_deadlines_.insert(uid);
    } else {
      with_deadlines_.erase(uid);
    }
    notices_.emplace_back(pod.query, pod.machine.state());
  }

  bool carry_out(const std::string& uid, Pod& pod, const Order& order) ATHANOR_REQUIRES(mutex_) {
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
        send_frame(
            spawner_.socket(),
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
      pod.machine.exited(order.container, kRefusedStart, sent.error().message,
                         options_.clock->now());
      return false;
    }
    pod.processes[order.container] = id;
    processes_[id] = {uid, order.container};
    return true;
  }

  // Its volumes in memory are mounts that only containers see.
  void mount_memory(const Value& spec, const PodDirectory& directory) {
    for (const Value& volume : spec["volumes"].items()) {
      if (volume["memory"].as_bool()) {
        send_frame(spawner_.socket(), Value::object({{"op", "memory"},
                                                     {"path", directory.volume_path(volume)},
                                                     {"sizeBytes", volume["sizeBytes"]},
                                                     {"group", spec["fsGroup"]}}));
      }
    }
  }

  // Asks what a probe or a hook says; the answer comes to answered().
  void check(const std::string& uid, Pod& pod, const Order& order) ATHANOR_REQUIRES(mutex_) {
    const Value& container = pod.machine.container(order.container);
    const bool probes = order.type == Order::Type::Probe;
    const Value& action = probes ? container["probes"][probe_member(order.probe)]
                                 : container[hook_member(order.hook)];
    // A hook has the time that its container has.
    const Duration timeout =
        probes ? Duration(std::chrono::seconds(action["timeoutSeconds"].as_int(1)))
               : Duration::zero();
    auto done = [this, uid, order](const ProbeAnswer& answer) { answered(uid, order, answer); };
    if (action["type"].as_string() != "exec") {
      return checks_->ask(action, timeout, std::move(done));
    }
    const auto process = pod.processes.find(order.container);
    const auto run = pod.orders.find(order.container);
    const std::int64_t id = ++last_process_;
    int ends[2] = {-1, -1};
    if (process == pod.processes.end() || run == pod.orders.end() ||
        ::pipe2(ends, O_CLOEXEC) != 0) {
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

  // On the thread of the checks.
  void answered(const std::string& uid, const Order& order, const ProbeAnswer& answer) {
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

  // What breaks is the container's failure: this thread runs the other pods, too.
  Result<void> start_container(Pod& pod, std::size_t index, std::int64_t id)
      ATHANOR_REQUIRES(mutex_) {
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

  // Sends the order, with what the container reads where it wants to read.
  Result<void> send_run(Pod& pod, std::size_t index, Value order) {
    const Value& container = pod.machine.container(index);
    const bool terminal = container["tty"].as_bool();
    SessionEnds ends;
    if (terminal) {
      ATHANOR_TRY(ends, make_terminal());
      ends.theirs.push_back(std::exchange(ends.ours.output, -1));  // the spawner reads it
    } else if (container["stdin"].as_bool()) {
      ATHANOR_TRY(ends, make_pipes(true, false));
    }
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

  struct Running {
    std::string uid{};
    Pod* pod = nullptr;
    std::size_t index = 0;
    std::int64_t process = 0;
  };

  // NotFound when that container does not run.
  Result<Running> running(std::string_view uid, const std::string& container)
      ATHANOR_REQUIRES(mutex_) {
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

  // The end of what `kubectl run -i` pipes in.
  void close_input(const std::string& uid, std::size_t index, std::int64_t process) {
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

  void loop(const std::stop_token& stop) {
    FrameReader reader;
    bool connected = true;
    while (!stop.stop_requested()) {
      // A negative descriptor is not polled.
      pollfd polled[] = {{connected ? spawner_.socket() : -1, POLLIN, 0}, {wake_, POLLIN, 0}};
      ::poll(polled, 2, poll_timeout());
      std::uint64_t count = 0;
      static_cast<void>(::read(wake_, &count, sizeof count));
      if (polled[0].revents != 0) {
        connected = reader.fill(spawner_.socket());
        while (const auto event = reader.next()) {
          take(*event);
        }
        if (!connected) {
          lose_all();
        }
      }
      handle_deadlines();
      publish();
    }
  }

  void handle_deadlines() {
    const MutexLock lock(mutex_);
    const Instant now = options_.clock->now();
    const std::vector<std::string> uids(with_deadlines_.begin(), with_deadlines_.end());
    for (const std::string& uid : uids) {
      Pod& pod = pods_.at(uid);
      if (const auto due = pod.machine.next_due(); due && *due <= now) {
        advance(uid, pod);
      }
    }
  }

  [[nodiscard]] int poll_timeout() const {
    const MutexLock lock(mutex_);
    constexpr std::int64_t kLongest = 60'000;
    std::int64_t timeout = notices_.empty() ? kLongest : 0;
    const Instant now = options_.clock->now();
    for (const std::string& uid : with_deadlines_) {
      if (const auto due = pods_.at(uid).machine.next_due()) {
        timeout = std::min(timeout, std::max<std::int64_t>(0, (*due - now).count() / 1000 + 1));
      }
    }
    return static_cast<int>(timeout);
  }

  // From this thread alone, so that states arrive in their order.
  void publish() {
    Notices notices;
    {
      const MutexLock lock(mutex_);
      notices.swap(notices_);
    }
    const MutexLock telling(telling_);
    if (listener_) {
      for (const auto& [query, state] : notices) {
        listener_(query, state);
      }
    }
  }

  void take(const Value& event) {
    const std::int64_t id = event["id"].as_int();
    const int code = static_cast<int>(event["code"].as_int());
    const std::string_view kind = event["event"].as_string();
    if (kind == "isolation") {
      if (const std::string missing = event["missing"].str(); !missing.empty()) {
        log::warn("containers are isolated less than they could be", {{"missing", missing}});
      }
      return;
    }
    std::optional<EndedContainer> ended_one;
    {
      const MutexLock lock(mutex_);
      const auto process = processes_.find(id);
      if (process == processes_.end()) {
        if (kind == "exited" && execs_.erase(id) > 0) {
          sessions_.finish(id, code);
        } else if (kind == "exited" && check_execs_.erase(id) > 0) {
          checks_->ended(id, code);
        }
        return;
      }
      const auto [uid, index] = process->second;
      const Pod& pod = pods_.at(uid);
      if (kind == "started") {
        pids_[id] = static_cast<int>(event["pid"].as_int());
      }
      if (kind == "log") {
        logs_.grew(uid, pod.machine.container(index)["name"].as_string());
      }
      if (kind != "exited") {
        return;
      }
      ended_one = EndedContainer{.directory = pod.directory,
                                 .container = pod.machine.container(index),
                                 .is_step = pod.machine.spec()["sequential"].as_bool()};
    }
    const ContainerEnding ending = ending_of(*ended_one, code);
    run_poststop(options_.folder, ended_one->container);
    remover_.add(ended_one->directory.layer_path(id));
    const MutexLock lock(mutex_);
    ended(id, ending);
  }

  void ended(std::int64_t id, const ContainerEnding& ending) ATHANOR_REQUIRES(mutex_) {
    const auto [uid, index] = processes_.at(id);
    processes_.erase(id);
    pids_.erase(id);
    sessions_.finish(id, 0);  // those who are attached
    Pod& pod = pods_.at(uid);
    pod.processes.erase(index);
    pod.inputs.erase(index);
    const std::string name = pod.machine.container(index)["name"].str();
    pod.machine.exited(index, ending.code, ending.message, options_.clock->now());
    logs_.end_container(uid, name);
    advance(uid, pod);
    if (processes_.empty()) {
      idle_.notify_all();
    }
  }

  // The spawner died, and its children with it.
  void lose_all() {
    const MutexLock lock(mutex_);
    constexpr int kKilled = 137;
    log::error("the spawner of pod processes ended unexpectedly; pods cannot run any more");
    while (!processes_.empty()) {
      ended(processes_.begin()->first, {.code = kKilled});
    }
    for (const std::int64_t exec : std::exchange(execs_, {})) {
      sessions_.finish(exec, kKilled);
    }
    for (const std::int64_t exec : std::exchange(check_execs_, {})) {
      checks_->ended(exec, kKilled);
    }
  }

  Spawner spawner_;
  ProcessRuntimeOptions options_;
  int wake_;
  Mutex telling_{};  // taken alone, never with mutex_
  Listener listener_ ATHANOR_GUARDED_BY(telling_){};
  mutable Mutex mutex_{};
  ConditionVariable idle_{};
  bool closing_ ATHANOR_GUARDED_BY(mutex_) = false;
  Notices notices_ ATHANOR_GUARDED_BY(mutex_){};                       // not reported yet, in order
  std::map<std::string, Pod> pods_ ATHANOR_GUARDED_BY(mutex_){};       // by uid
  std::set<std::string> preparing_ ATHANOR_GUARDED_BY(mutex_){};       // uids
  std::set<std::string> with_deadlines_ ATHANOR_GUARDED_BY(mutex_){};  // uids
  std::map<std::string, std::string, std::less<>> by_query_
      ATHANOR_GUARDED_BY(mutex_){};  // query to the newest uid
  // Process to uid and container.
  std::map<std::int64_t, std::pair<std::string, std::size_t>> processes_
      ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::int64_t, int> pids_ ATHANOR_GUARDED_BY(mutex_){};    // of running ones
  std::set<std::int64_t> execs_ ATHANOR_GUARDED_BY(mutex_){};        // running ones
  std::set<std::int64_t> check_execs_ ATHANOR_GUARDED_BY(mutex_){};  // of probes and hooks
  std::int64_t last_process_ ATHANOR_GUARDED_BY(mutex_) = 0;
  Value own_folders_ = Value::list();
  FolderRemover remover_{};
  SessionLoop sessions_{};
  LogStreams logs_{};  // its streams have their own lock
  // Ends before what its answers change.
  std::unique_ptr<CheckLoop> checks_ = std::make_unique<CheckLoop>();
  std::jthread thread_{};
};

}  // namespace

Result<std::unique_ptr<ProcessRuntime>> ProcessRuntime::create(Spawner spawner,
                                                               ProcessRuntimeOptions options) {
  // Mounts and working directories are made elsewhere: the path must not depend on where we are.
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  const std::filesystem::path folder = std::filesystem::canonical(options.folder, error);
  if (error) {
    return Error::internal(fmt::format("cannot use {}: {}", options.folder, error.message()));
  }
  options.folder = folder.string();
  return std::unique_ptr<ProcessRuntime>(
      std::make_unique<SpawnedRuntime>(std::move(spawner), std::move(options)));
}

}  // namespace athanor::nodes
