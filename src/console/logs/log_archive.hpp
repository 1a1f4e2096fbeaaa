// SPDX-License-Identifier: Apache-2.0
// LogArchive: keeps logs of jobs' containers beyond their pods (docs/spec/dashboard.md L4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "base/result.hpp"
#include "console/world/api_port.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::console {

// The resource that readers of logs need.
inline constexpr Kind kPodLogs{"", "v1", "Pod", "pods/log", true};

// A log in the archive.
struct KeptLogName {
  Key pod{};
  std::string container{};
  std::string source{};  // "task/step"
};

// State of the archive, for the page about the system.
struct LogArchiveState {
  std::int64_t bytes = 0;
  std::int64_t limit = 0;
  std::size_t held = 0;  // logs in memory that could not be written yet
  std::size_t lost = 0;  // logs that had no place there
  std::string error{};   // of the last write; empty: it succeeded
};

// Thread-safe.
class LogArchive {
 public:
  // Opens the database; `again`: how often the log of a running container is read; ":memory:" lasts
  // as long as the program. `limit`: bytes that are kept, the oldest job's logs go first; 0:
  // nothing is archived. Errors: the file cannot be opened.
  static Result<std::unique_ptr<LogArchive>> open(const std::string& path, std::int64_t limit,
                                                  ApiPort port,
                                                  Duration again = std::chrono::seconds(60));
  LogArchive(const LogArchive&) = delete;
  LogArchive& operator=(const LogArchive&) = delete;
  ~LogArchive();

  // Takes a state of a pod: its logs are read once a container ends, which may be several times,
  // once it is being deleted, and each minute before. Must not block.
  void see(const Object& pod);
  // Forgets a pod that is gone: its log stays.
  void gone(const Key& pod);
  // Returns a container's log with timestamps; nullopt: it is not kept.
  [[nodiscard]] std::optional<std::string> find(const Key& pod, const std::string& container);
  // Returns the logs of a job ("namespace/name"), in the order in which their pods began.
  [[nodiscard]] std::vector<KeptLogName> of_job(const std::string& job);
  [[nodiscard]] LogArchiveState state() const;

 private:
  struct State;
  explicit LogArchive(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::console
