// SPDX-License-Identifier: Apache-2.0
// Pods of the simulator: nothing runs, virtual time alone ends their containers. They outlive
// crashes of the engine, as containers outlive their kubelet.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// The name of a container that exits with 1; all others exit with 0.
inline constexpr const char* kFailing = "fails";
// And of one that runs until it is stopped.
inline constexpr const char* kServing = "serves";

class TimedPods : public std::enable_shared_from_this<TimedPods> {
 public:
  // Every container runs this long.
  explicit TimedPods(Duration run_time) : run_time_(run_time) {}
  // New pods for one run, put under the verbs and the prefix of nodes/pod_runtime.hpp.
  static void install(Scene& scene, Duration run_time);

 private:
  struct Pod {
    std::string query{};
    Value state{};
  };
  Value start(World& world, const Value& spec);
  Value stop(World& world, const Value& args);
  Value forget(World& world, const Value& args);
  [[nodiscard]] Value state(std::string_view query) const;
  void kill_pod(World& world, std::uint64_t pick);
  void kill_node(World& world, std::uint64_t pick);
  void end(World& world, const std::string& uid, std::int64_t exit_code);

  Duration run_time_;
  std::map<std::string, Pod> pods_{};  // by uid
};

}  // namespace athanor::sim
