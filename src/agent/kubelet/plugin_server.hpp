// SPDX-License-Identifier: Apache-2.0
// PluginServer: one device plugin: one resource on one unix socket (docs/spec/das.md 8.3).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "systems/das/agent/device_list.hpp"

namespace athanor::agent {

// One list of device IDs for each container that asks.
using AllocateAsk = std::vector<std::vector<std::string>>;
// CDI device names, one for each container. An error of code 412 is FailedPrecondition.
using AllocateDone = std::function<void(Result<std::vector<std::string>> answer)>;

// Socket, devices and callbacks of a PluginServer.
struct PluginServerOptions {
  std::string socket{};  // path; what is there is removed
  std::vector<das::PluginDevice> devices{};
  // Called on the server's thread; must not block. `done` is called once, from any thread.
  std::function<void(AllocateAsk ask, AllocateDone done)> allocate{};
};

// Thread-safe.
class PluginServer {
 public:
  // Listens. Errors: a socket that cannot be made.
  static Result<std::unique_ptr<PluginServer>> start(PluginServerOptions options);
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;
  ~PluginServer();  // ends the streams and removes the socket

  // Sends the list to every stream, unless it is unchanged.
  void set_devices(std::vector<das::PluginDevice> devices);
  // Kubelets that listen now.
  [[nodiscard]] int streams() const;

 private:
  struct State;
  explicit PluginServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
