// SPDX-License-Identifier: Apache-2.0
// Work of a system on a node: pure functions that the emulated kubelet calls, as a kubelet calls
// device plugins. The kubelet knows no system by name: it is handed a list of these.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// A CDI device that a container is made with.
struct NodeDevice {
  std::string name{};     // qualified: "vendor/class=device"
  std::string file{};     // the file that defines it, absolute on the node
  bool poststop = false;  // its hook removes the file when the container has stopped
};

// The decision about a pod that is to start on a node.
struct NodeAdmission {
  enum class Answer : std::uint8_t {
    Ready,  // it may start
    Wait,   // asked again when something that was read changes
    // The pod fails: UnexpectedAdmissionError with `message`. Asked again if the node changed
    // since.
    Refuse,
  };
  Answer answer = Answer::Ready;
  std::string message{};
  // The reason of a refusal, instead of UnexpectedAdmissionError; `message` is then the whole
  // message.
  std::string reason{};
  Plan steps{};  // carried out before the pod starts
  // Environment by container, in this order, over what the pod says.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>
      environment{};
  // Devices by container, which is not made while the file of one of them is missing.
  std::map<std::string, std::vector<NodeDevice>, std::less<>> devices{};
};

// A unix socket of an emulated node that answers unary gRPC calls, as a kubelet does for what runs
// beside it: a pure function of what is stored.
struct NodeSocketAnswer {
  int status = 0;         // of gRPC; 0: OK
  std::string message{};  // of an error
  std::string body{};     // the encoded message of an answer
};
struct NodeSocket {
  std::string_view path{};  // absolute on the node
  // Returns true if the node has it.
  bool (*present)(const Object& node) = nullptr;
  // Requires as `method` "/v1.PodResourcesLister/List", as `message` its encoded argument.
  NodeSocketAnswer (*answer)(const View& view, const Object& node, std::string_view method,
                             std::string_view message) = nullptr;
};

// A file of an emulated node that what runs beside it may read, such as its part of sysfs.
struct NodeFile {
  std::string path{};  // absolute on the node
  std::string content{};
};

// Work of a system on each node: an emulated kubelet and the agent carry it out.
struct NodeHooks {
  std::string_view name{};
  std::span<const Kind* const> reads{};
  std::span<const Kind* const> writes{};
  std::span<const Index> indexes{};
  std::span<const Access> access{};
  // Resources that the node reports besides its own: an object of names and quantities.
  Value (*capacity)(const View& view, const Object& node) = nullptr;
  // Returns the resources that pods may use, where that is less than the capacity.
  Value (*allocatable)(const View& view, const Object& node) = nullptr;
  // Decides before a pod's containers start, and again after a restart of the node.
  NodeAdmission (*admit)(const View& view, const Object& pod, const Object& node,
                         Instant now) = nullptr;
  std::span<const NodeSocket> sockets{};
  // Returns files, again when the node changes; earlier files stay. nullptr: none.
  std::vector<NodeFile> (*files)(const Object& node) = nullptr;
};

// Verbs of Act that write to an emulated node's file system: args {node, path, content} and {node,
// path}; paths are absolute on the node.
inline constexpr std::string_view kWriteNodeFile = "node-file.write";
inline constexpr std::string_view kRemoveNodeFile = "node-file.remove";

}  // namespace athanor
