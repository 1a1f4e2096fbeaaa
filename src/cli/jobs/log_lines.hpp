// SPDX-License-Identifier: Apache-2.0
// Which containers of a workload are read, how much of each log, and how its lines look. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::cli {

// Prefix of each line: "[task/step]", "[pod/NAME/CONTAINER]" as kubectl's, or nothing.
enum class LogPrefix : std::uint8_t { Short, Pod, None };

// Flags of `athanor logs` that choose logs and lines.
struct LogChoice {
  std::string task{};       // this pipeline task alone
  std::string container{};  // this container alone; a step's name without "step-", too
  bool failed = false;      // containers with another exit code than 0
  bool previous = false;    // of restarted containers, the instance before
  bool timestamps = false;
  LogPrefix prefix = LogPrefix::Short;
  std::optional<std::int64_t> tail{};  // lines of each container
  std::optional<Instant> since{};
};

// A container that runs or ran.
struct StartedContainer {
  std::string name{};
  std::string started{};  // RFC 3339
  std::size_t place = 0;  // in the pod's specification
  bool terminated = false;
  std::int64_t exit_code = 0;  // of a terminated one
  std::int64_t restarts = 0;
  bool init = false;
};
// Returns the containers that run or ran, those for the start first.
std::vector<StartedContainer> started_containers(const Object& pod);
// Returns those that are to be read. Containers for the start are read where they are named or
// failed.
std::vector<StartedContainer> chosen_containers(const Object& pod, const LogChoice& choice);
// Returns true if `wanted` is the container's name, or its name without "step-".
bool is_container(std::string_view name, std::string_view wanted);

// Returns what stands before a line; a pod without a task is labelled by its own name.
std::string log_prefix(const Object& pod, std::string_view container, LogPrefix prefix);

// How far one log was printed, so that it can be opened again without a gap or a repetition.
class LogProgress {
 public:
  // Returns the part of the request after the container's name: "&tailLines=3".
  [[nodiscard]] std::string query(const LogChoice& choice) const;
  // Returns the line as it is printed; nullopt: it was printed before.
  std::optional<std::string> take(const LogChoice& choice, std::string_view line);
  // Prepares for a request that reads the log anew.
  void resume();
  [[nodiscard]] std::size_t printed() const { return printed_; }

 private:
  std::size_t printed_ = 0;  // lines
  std::size_t to_skip_ = 0;  // of those that come
  std::string last_{};       // time of the last line, where times are asked for
  std::string resume_after_{};
};

}  // namespace athanor::cli
