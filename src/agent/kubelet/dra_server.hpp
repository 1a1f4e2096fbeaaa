// SPDX-License-Identifier: Apache-2.0
// DraServer: the driver of ResourceClaims that a kubelet finds by its socket (docs/spec/das.md
// 15.1): one socket to introduce itself, one for the kubelet's questions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace athanor::agent {

// A ResourceClaim, as a kubelet names it.
struct ClaimName {
  std::string ns{};
  std::string name{};
  std::string uid{};
};

struct PreparedDevice {
  std::vector<std::string> requests{};
  std::string pool{};
  std::string name{};
  std::vector<std::string> cdi_devices{};
};

// One answer for each claim, in order.
using PrepareDone = std::function<void(std::vector<Result<std::vector<PreparedDevice>>> answers)>;
using UnprepareDone = std::function<void(std::vector<Result<void>> answers)>;

struct DraServerOptions {
  std::string driver{};
  std::string registry = "/var/lib/kubelet/plugins_registry";
  std::string folder = "/var/lib/kubelet/plugins";  // the socket lies in a folder of the driver's
  // Called on the server's thread; must not block. `done` is called once, from any thread.
  std::function<void(std::vector<ClaimName> claims, PrepareDone done)> prepare{};
  std::function<void(std::vector<ClaimName> claims, UnprepareDone done)> unprepare{};
};

// Thread-safe.
class DraServer {
 public:
  // Listens. Errors: a socket that cannot be made.
  static Result<std::unique_ptr<DraServer>> start(DraServerOptions options);
  DraServer(const DraServer&) = delete;
  DraServer& operator=(const DraServer&) = delete;
  ~DraServer();  // removes the sockets

  // Returns true once a kubelet confirmed the registration.
  [[nodiscard]] bool registered() const;

 private:
  struct State;
  explicit DraServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
