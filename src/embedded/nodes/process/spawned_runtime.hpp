// SPDX-License-Identifier: Apache-2.0
// SpawnedRuntime: pods on the spawner. One thread reads what it reports, keeps the pods' deadlines
// and notifies the listener. The functions of pods are in process_runtime.cpp, those of their
// orders in spawned_orders.cpp, of reports in spawned_reports.cpp, of sessions in
// spawned_sessions.cpp, of measuring in spawned_keeping.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/files/descriptor.hpp"
#include "base/mutex.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/process/checks/check_loop.hpp"
#include "embedded/nodes/process/container_ending.hpp"
#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/logs/log_stream.hpp"
#include "embedded/nodes/process/pod_directory.hpp"
#include "embedded/nodes/process/process_runtime.hpp"
#include "embedded/nodes/process/session_loop.hpp"
#include "embedded/nodes/process/spawner.hpp"

namespace athanor::nodes {

// Thread-safe; owns two threads.
class SpawnedRuntime final : public ProcessRuntime {
 public:
  SpawnedRuntime(Spawner spawner, ProcessRuntimeOptions options);
  SpawnedRuntime(const SpawnedRuntime&) = delete;
  SpawnedRuntime& operator=(const SpawnedRuntime&) = delete;
  ~SpawnedRuntime() override;
  void listen(Listener listener) override;
  void start(const Value& spec) override;
  void extend(const Value& spec) override;
  void stop(const std::string& uid, Duration grace) override;
  void update(const Value& change) override;
  void events_written(const std::string& uid, std::int64_t last) override;
  void forget(const std::string& uid) override;
  [[nodiscard]] Value state(std::string_view query) const override;
  Result<std::unique_ptr<net::Stream>> open(const Key& pod, std::string_view uid,
                                            const apiserver::LogOptions& options) override;
  Result<std::unique_ptr<apiserver::PodSession>> exec(
      const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) override;
  Result<std::unique_ptr<apiserver::PodSession>> attach(
      const Key& /*pod*/, std::string_view uid, const apiserver::ExecOptions& options) override;
  Result<std::unique_ptr<apiserver::PodSession>> connect(const Key& pod, std::string_view uid,
                                                         std::uint16_t port) override;
  void keep_only(const std::vector<std::string>& uids) override;
  [[nodiscard]] std::map<std::string, std::map<std::string, ContainerUsage>> usage() const override;
  void shut_down(Duration grace) override;

 private:
  struct Thread;
  using Notices = std::vector<std::pair<std::string, Value>>;  // query and state
  struct Pod {
    PodMachine machine;
    PodDirectory directory;
    std::string query{};
    std::map<std::size_t, std::int64_t> processes{};  // running container to process id
    std::map<std::size_t, Value> orders{};            // container to the order that started it
    std::map<std::size_t, Descriptor> inputs{};       // of running containers that read
    std::set<std::string> given{};                    // folders of volumes that its fsGroup has
    std::optional<Instant> tokens_due{};
    std::optional<Instant> due{};  // as in deadlines_
    Value reported{};              // the newest state that the listener got or will get
  };

  // Opens the log of a pod that ended before this program started: its files are still there.
  Result<std::unique_ptr<net::Stream>> open_of_before(const Key& pod, std::string_view uid,
                                                      const apiserver::LogOptions& options);

  // Makes the order of a command in a container that `run` started; its output and errors are two
  // files.
  static Value exec_order(std::int64_t id, std::int64_t container, const Value& argv,
                          const Value& run);
  static Value nothing();
  void wake() const;

  // Carries out what the pod's machine wants.
  void advance(const std::string& uid, Pod& pod) ATHANOR_REQUIRES(mutex_);

  // Adds a notice of the pod's state, if it has changed.
  void report(Pod& pod) ATHANOR_REQUIRES(mutex_);
  // Returns false when a container could not start: what comes next is another thing.
  bool carry_out(const std::string& uid, Pod& pod, const Order& order) ATHANOR_REQUIRES(mutex_);

  // Mounts the volumes in memory, which only containers see.
  void mount_memory(const Value& spec, const PodDirectory& directory);

  // Asks what a probe or a hook says; the answer comes to answered().
  void check(const std::string& uid, Pod& pod, const Order& order) ATHANOR_REQUIRES(mutex_);

  // Takes the answer; runs on the thread of the checks.
  void answered(const std::string& uid, const Order& order, const ProbeAnswer& answer);

  // Starts a container. An exception is its failure: this thread runs the other pods, too.
  Result<void> start_container(Pod& pod, std::size_t index, std::int64_t id)
      ATHANOR_REQUIRES(mutex_);

  // Gives the container of an order a cgroup with its limits, where there are cgroups.
  void add_group(const PodMachine& machine, std::size_t index, Value& order) const;
  // Sets the limits of the pod's running containers anew.
  static void limit_groups(const Pod& pod);
  // Names the process whose PID namespace the container shares (kubectl debug --target).
  void join_target(Pod& pod, const Value& container, Value& order) const;
  // Sends the order, with what the container reads where it wants to read.
  Result<void> send_run(Pod& pod, std::size_t index, Value order);
  struct Running {
    std::string uid{};
    Pod* pod = nullptr;
    std::size_t index = 0;
    std::int64_t process = 0;
  };

  // Finds a container; NotFound when it does not run.
  Result<Running> running(std::string_view uid, const std::string& container)
      ATHANOR_REQUIRES(mutex_);

  // Ends what `kubectl run -i` pipes in.
  void close_input(const std::string& uid, std::size_t index, std::int64_t process);

  // Runs on the thread of the runtime until it stops.
  void loop();
  void handle_deadlines();
  [[nodiscard]] int poll_timeout() const;

  // Notifies the listener, from one thread, so that states arrive in their order.
  void publish();
  void take(const Value& event);
  // Notes what containers lack, at each pod that runs or will.
  void take_isolation(const std::string& missing);
  void warn_of_isolation(Pod& pod) const ATHANOR_REQUIRES(mutex_);
  void take_volume(const Value& event);
  void ended(std::int64_t id, const ContainerEnding& ending) ATHANOR_REQUIRES(mutex_);

  // Runs on a thread of its own: measures what pods use of the disk and of memory, and replaces
  // tokens. The functions are in spawned_keeping.cpp.
  void keep();
  // Waits for that thread's end. Called by one thread at a time.
  void end_keeper();
  void measure_volumes();
  void measure_memory();
  void kill_for_memory(const std::string& uid, std::size_t index, std::int64_t process);
  void replace_tokens();

  // Ends all containers: the spawner died, and its children with it.
  void lose_all();

  Spawner spawner_;
  ProcessRuntimeOptions options_;
  int wake_;
  Mutex telling_{};  // taken alone, never with mutex_
  Listener listener_ ATHANOR_GUARDED_BY(telling_){};
  Mutex writing_{};  // of the files of pods' volumes; taken before mutex_
  mutable Mutex mutex_{};
  ConditionVariable idle_{};
  ConditionVariable stopping_{};
  std::atomic<bool> keeps_ = true;
  bool closing_ ATHANOR_GUARDED_BY(mutex_) = false;
  Notices notices_ ATHANOR_GUARDED_BY(mutex_){};                  // not reported yet, in order
  std::map<std::string, Pod> pods_ ATHANOR_GUARDED_BY(mutex_){};  // by uid
  std::set<std::string> preparing_ ATHANOR_GUARDED_BY(mutex_){};  // uids
  // When machines want to be advanced, with uids.
  std::set<std::pair<Instant, std::string>> deadlines_ ATHANOR_GUARDED_BY(mutex_){};
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
  std::string missing_isolation_ ATHANOR_GUARDED_BY(mutex_){};
  FolderRemover remover_{};
  SessionLoop sessions_{};
  LogStreams logs_{};  // its streams have their own lock
  // Ends before what its answers change.
  std::unique_ptr<CheckLoop> checks_ = std::make_unique<CheckLoop>();
  std::atomic<bool> stops_ = false;
  std::unique_ptr<Thread> thread_;
};

}  // namespace athanor::nodes
