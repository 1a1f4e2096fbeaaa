// SPDX-License-Identifier: Apache-2.0
// Plugins: the device plugins of a node: one server for each resource, registered with the kubelet
// once, and again whenever a kubelet starts (docs/spec/das.md 8.3, N-B3, N-B8).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/kubelet/plugin_server.hpp"
#include "systems/das/agent/device_list.hpp"

namespace athanor::agent {

// The kubelet's folder, and how its questions are answered.
struct PluginsOptions {
  std::string folder = "/var/lib/kubelet/device-plugins";
  std::function<void()> registers{};  // with a kubelet: it may be another than before
  std::function<void(const std::string& profile, AllocateAsk ask, AllocateDone done)> allocate{};
};

// Owns a thread that watches the kubelet's folder. Thread-safe.
class Plugins {
 public:
  explicit Plugins(PluginsOptions options);
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;
  ~Plugins();  // stops

  // Sets the node's resources: serves and registers new ones, closes those that are gone, and sends
  // the list to the others.
  void offer(std::vector<das::DeviceList> lists);
  // Returns true once every resource is registered with the kubelet that runs.
  [[nodiscard]] bool registered() const;
  // Closes the streams and removes the sockets.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
