// SPDX-License-Identifier: Apache-2.0
// A pod's folder on the host: its volumes with their contents, its steps' files, its logs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// A service account's token for a mounted volume: audience (may be empty) and lifetime in seconds.
struct TokenWish {
  std::string ns{}, service_account{}, pod{}, pod_uid{}, audience{};
  std::int64_t seconds = 0;
};
using TokenSource = std::function<Result<std::string>(const TokenWish& wish)>;

// The folder of one pod. Holds no state but the path.
class PodDirectory {
 public:
  // Takes `root`, which holds pods/ and claims/.
  PodDirectory(std::string root, const Value& spec);

  // Makes the folders and writes what the volumes hold. Errors name the file.
  Result<void> prepare(const Value& spec, const TokenSource& tokens, Instant now) const;
  // Writes the contents of volumes again, where they have changed, and tokens that are old.
  Result<void> update(const Value& spec, const TokenSource& tokens, Instant now) const;
  // Returns when the first of the volumes' tokens is old; nullopt: they have none.
  [[nodiscard]] std::optional<Instant> tokens_due(const Value& spec) const;
  // Returns the spawner's order to run one container; writes its script. `id` names the process.
  Result<Value> run_order(const Value& spec, const Value& container, std::int64_t id) const;
  // Returns a step's results as its status message. Error: the failure of the step (too large).
  Result<std::string> read_results(const Value& container) const;
  void write_exit_code(const Value& container, int code) const;
  // Returns the message that a container of an ordinary pod left: its termination log, else, where
  // it failed and asks for that, the end of its log.
  [[nodiscard]] std::string termination_message(const Value& container, int code) const;

  // Returns the folder of a volume.
  [[nodiscard]] std::string volume_path(const Value& volume) const;
  [[nodiscard]] std::string log_path(std::string_view container) const;
  // Leaves what a step leaves that did not run: exit code 0 and an empty log.
  void skip(const Value& container) const;
  // Keeps the log of the run before for `logs --previous`.
  void rotate_log(std::string_view container) const;
  // Returns the folder in which one run of a container writes (spawner.hpp), to be removed after
  // it.
  [[nodiscard]] std::string layer_path(std::int64_t id) const;
  void remove() const;

 private:
  Result<void> write_contents(const Value& spec, const Value& volume, const TokenSource& tokens,
                              Instant now) const;
  [[nodiscard]] Value mounts_of(const Value& spec, const Value& container) const;

  std::string root_;
  std::string path_;
  std::string ns_;
};

}  // namespace athanor::nodes
