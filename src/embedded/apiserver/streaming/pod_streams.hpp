// SPDX-License-Identifier: Apache-2.0
// PodStreams: how a client talks to what runs in a pod: a command, a container's own input and
// output, a port (docs/spec/apiserver.md 12.5). Implemented where pods run (nodes/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"

namespace athanor::apiserver {

// One conversation. Destroying it gives it up. Thread-safe; nothing here blocks.
class PodSession {
 public:
  struct Output {
    std::string out{};
    std::string err{};
    // Set once all output was taken: the exit code (0 for attach and ports).
    std::optional<int> exit_code{};
    // Why it ended badly, where that is no exit code ("connection refused").
    std::string failure{};
  };

  virtual ~PodSession() = default;
  virtual void write(std::string_view bytes) = 0;
  // Ends the input: nothing more will be written.
  virtual void close_input() = 0;
  // Returns the number of bytes written that the other side did not take yet.
  [[nodiscard]] virtual std::size_t unread() const = 0;
  // Resizes the terminal, where there is one.
  virtual void resize(unsigned columns, unsigned rows) = 0;
  // Appends what is there, at most about `limit` bytes each.
  virtual void take(Output& output, std::size_t limit) = 0;
  // Sets `wake`, called from any thread when take() may have more or unread() shrank. Set once.
  virtual void on_ready(std::function<void()> wake) = 0;
};

// The command and which of its streams are connected.
struct ExecOptions {
  std::string container{};
  std::vector<std::string> command{};  // empty: attach to the container itself
  bool input = false;
  bool output = false;
  bool error = false;
  bool terminal = false;
};

// Thread-safe.
class PodStreams {
 public:
  virtual ~PodStreams() = default;
  // Starts a session. Error NotFound: the container does not run.
  virtual Result<std::unique_ptr<PodSession>> exec(const Key& pod, std::string_view pod_uid,
                                                   const ExecOptions& options) = 0;
  virtual Result<std::unique_ptr<PodSession>> attach(const Key& pod, std::string_view pod_uid,
                                                     const ExecOptions& options) = 0;
  // Connects to a port of the pod; a closed port shows as the session's failure.
  virtual Result<std::unique_ptr<PodSession>> connect(const Key& pod, std::string_view pod_uid,
                                                      std::uint16_t port) = 0;
};

}  // namespace athanor::apiserver
