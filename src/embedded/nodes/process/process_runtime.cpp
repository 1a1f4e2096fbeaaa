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
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/log_stream.hpp"
#include "embedded/nodes/process/session_files.hpp"
#include "embedded/nodes/process/session_loop.hpp"

namespace athanor::nodes {
namespace {

using Notices = std::vector<std::pair<std::string, Value>>;  // query and state

constexpr int kCannotStart = 128;

// A descriptor, closed with this.
class OwnedFile {
 public:
  explicit OwnedFile(int file) : file_(file) {}
  OwnedFile(OwnedFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  OwnedFile& operator=(OwnedFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~OwnedFile() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }
  [[nodiscard]] int duplicate() const { return ::fcntl(file_, F_DUPFD_CLOEXEC, 0); }

 private:
  int file_;
};

struct Pod {
  PodMachine machine;
  PodDirectory directory;
  std::string query{};
  std::map<std::size_t, std::int64_t> processes{};  // running container to process id
  std::map<std::size_t, Value> orders{};            // container to the order that started it
  std::map<std::size_t, OwnedFile> inputs{};        // of running containers that read
};

class SpawnedRuntime final : public ProcessRuntime {
 public:
  SpawnedRuntime(Spawner spawner, ProcessRuntimeOptions options)
      : spawner_(std::move(spawner)),
        options_(std::move(options)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  SpawnedRuntime(const SpawnedRuntime&) = delete;
  SpawnedRuntime& operator=(const SpawnedRuntime&) = delete;
  ~SpawnedRuntime() override {
    thread_.request_stop();
    wake();
    thread_.join();
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
      if (!prepared.ok()) {
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

  Result<std::unique_ptr<apiserver::Stream>> open(const Key& pod, std::string_view uid,
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
    const Value order = Value::object({{"op", "exec"},
                                       {"id", id},
                                       {"container", target.process},
                                       {"argv", argv},
                                       {"env", run["env"]},
                                       {"cwd", run["cwd"]},
                                       {"isolate", run["isolate"]},
                                       {"stdin", options.input},
                                       {"tty", options.terminal},
                                       {"files", ends.theirs.size()}});
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
      ends.ours.input = input->second.duplicate();
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
    {
      const MutexLock lock(mutex_);
      const auto found = pods_.find(std::string(uid));
      if (found == pods_.end() || found->second.processes.empty()) {
        return Error::not_found(fmt::format("pod {} does not run", pod.text()));
      }
    }
    auto files = dial(port);
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
    std::error_code ignored;  // what cannot be removed now is tried again at the next start
    std::vector<std::filesystem::path> gone;
    for (const auto& entry :
         std::filesystem::directory_iterator(options_.folder + "/pods", ignored)) {
      if (!kept.contains(entry.path().filename().string())) {
        gone.push_back(entry.path());
      }
    }
    for (const std::filesystem::path& path : gone) {
      std::filesystem::remove_all(path, ignored);
    }
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
  Result<std::unique_ptr<apiserver::Stream>> open_of_before(const Key& pod, std::string_view uid,
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
    if (const std::string missing = missing_devices(container); !missing.empty()) {
      pod.machine.not_made(order.container,
                           "CDI device injection failed: unresolvable CDI devices " + missing,
                           options_.clock->now());
      return false;
    }
    pod.directory.rotate_log(container["name"].as_string());
    const std::int64_t id = ++last_process_;
    auto run = pod.directory.run_order(pod.machine.spec(), container, id);
    if (const auto sent = run.ok() ? send_run(pod, order.container, *run) : run.error();
        !sent.ok()) {
      pod.machine.exited(order.container, kCannotStart, sent.error().message,
                         options_.clock->now());
      return false;
    }
    pod.processes[order.container] = id;
    processes_[id] = {uid, order.container};
    return true;
  }

  [[nodiscard]] std::filesystem::path device_file(const Value& device) const {
    return std::filesystem::path(options_.folder) / "nodes" / device["file"].as_string();
  }

  // Names the CDI devices of a container whose file is gone; empty: all are there.
  [[nodiscard]] std::string missing_devices(const Value& container) const {
    std::string missing;
    for (const Value& device : container["devices"].items()) {
      std::error_code failure;
      if (!std::filesystem::exists(device_file(device), failure)) {
        missing += (missing.empty() ? "" : ", ") + device["name"].str();
      }
    }
    return missing;
  }

  // Does what the poststop hooks of its CDI devices say.
  void run_poststop(const Value& container) const {
    for (const Value& device : container["devices"].items()) {
      if (device["poststop"].as_bool()) {
        std::error_code failure;  // the system that wrote it may have removed it
        std::filesystem::remove(device_file(device), failure);
      }
    }
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
    order.set("tty", terminal);
    order.set("logBytes", options_.log_limits.bytes);
    order.set("logFiles", options_.log_limits.files);
    order.set("files", ends.theirs.size());
    const bool sent = send_frame(spawner_.socket(), order, ends.theirs);
    ends.close_theirs();
    pod.inputs.erase(index);
    if (ends.ours.input >= 0) {
      pod.inputs.emplace(index, OwnedFile(ends.ours.input));
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
    std::optional<Ended> ended_one;
    {
      const MutexLock lock(mutex_);
      const auto process = processes_.find(id);
      if (process == processes_.end()) {
        if (execs_.erase(id) > 0 && kind == "exited") {
          sessions_.finish(id, code);
        }
        return;
      }
      const auto [uid, index] = process->second;
      const Pod& pod = pods_.at(uid);
      if (kind == "log") {
        logs_.grew(uid, pod.machine.container(index)["name"].as_string());
      }
      if (kind != "exited") {
        return;
      }
      ended_one = Ended{.directory = pod.directory,
                        .container = pod.machine.container(index),
                        .is_step = pod.machine.spec()["sequential"].as_bool()};
    }
    const Ending ending = ending_of(*ended_one, code);
    run_poststop(ended_one->container);
    const MutexLock lock(mutex_);
    ended(id, ending);
  }

  // A container that has ended, and where its files are.
  struct Ended {
    PodDirectory directory;
    Value container{};
    bool is_step = false;
  };
  struct Ending {
    int code = 0;
    std::string message{};
  };

  // Without the lock: what a container left behind may be anything.
  static Ending ending_of(const Ended& ended, int code) {
    if (std::string problem = ended.container["problem"].str(); !problem.empty()) {
      return {.code = code, .message = std::move(problem)};
    }
    if (!ended.is_step) {
      return {.code = code, .message = ended.directory.termination_message(ended.container, code)};
    }
    ended.directory.write_exit_code(ended.container, code);
    auto results = ended.directory.read_results(ended.container);
    return results.ok() ? Ending{.code = code, .message = *std::move(results)}
                        : Ending{.code = 1, .message = results.error().message};
  }

  void ended(std::int64_t id, const Ending& ending) ATHANOR_REQUIRES(mutex_) {
    const auto [uid, index] = processes_.at(id);
    processes_.erase(id);
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
  std::set<std::int64_t> execs_ ATHANOR_GUARDED_BY(mutex_){};  // running ones
  std::int64_t last_process_ ATHANOR_GUARDED_BY(mutex_) = 0;
  SessionLoop sessions_{};
  LogStreams logs_{};  // its streams have their own lock
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
