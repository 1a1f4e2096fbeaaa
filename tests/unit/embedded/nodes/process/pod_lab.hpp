// SPDX-License-Identifier: Apache-2.0
// PodLab: a ProcessRuntime with a folder of its own, and ways to wait for what its pods do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "embedded/nodes/process/process_runtime.hpp"

namespace athanor::nodes {

class PodLab {
 public:
  // Without isolation a pod's pids are those of the test.
  enum class Isolation : std::uint8_t { On, Off };
  explicit PodLab(Isolation isolation = Isolation::On, LogLimits log_limits = {});
  explicit PodLab(LogLimits log_limits) : PodLab(Isolation::On, log_limits) {}
  ~PodLab();
  PodLab(const PodLab&) = delete;
  PodLab& operator=(const PodLab&) = delete;

  [[nodiscard]] ProcessRuntime& runtime() { return *runtime_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // Ends everything, the spawner too.
  void close() { runtime_.reset(); }
  // As the program when it is started again on its folder.
  void restart();

  // Starts a pod of sandbox_spec.hpp given as YAML; uid and ns are filled in: the uid is
  // "uid-<name>".
  void start(std::string_view yaml);
  // The state of a pod once `done` holds for it; a failure of the test and the last state when it
  // does not within a minute.
  Value wait(const std::string& pod, const std::function<bool(const Value& state)>& done);
  // Until all of its containers have ended.
  Value wait_end(const std::string& pod);
  // What the container has written so far.
  std::string log(const std::string& pod, const std::string& container,
                  apiserver::LogOptions options = {});
  // Host path of a pod's volume.
  [[nodiscard]] std::string volume(const std::string& pod, const std::string& name) const;

  TokenSource tokens{};  // used if set before start()
  // Used by restart(): folders that pods see empty.
  std::vector<std::string> own_folders{"/root", "/home"};

 private:
  void open();

  Isolation isolation_;
  LogLimits log_limits_;
  std::string folder_;
  std::unique_ptr<Clock> clock_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::string, Value> states_{};
  std::unique_ptr<ProcessRuntime> runtime_{};
};

// Asks again and again, for at most a minute.
bool eventually(const std::function<bool()>& holds);
std::string read_text(const std::string& path);
void write_text(const std::string& path, std::string_view text);
// Runs `body` in a forked child and returns its answer; 128 and the signal if one killed it.
int in_child(const std::function<int()>& body);
// The process exists and has not ended.
bool alive(int pid);
// The container's entry in a state.
Value container_of(const Value& state, std::string_view name);

}  // namespace athanor::nodes
