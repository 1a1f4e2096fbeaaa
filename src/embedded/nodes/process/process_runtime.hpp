// SPDX-License-Identifier: Apache-2.0
// The `process` runtime: containers are local processes, run by the spawner in views of their own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "embedded/apiserver/request/pod_logs.hpp"
#include "embedded/apiserver/streaming/pod_streams.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/process/container_groups.hpp"
#include "embedded/nodes/process/container_usage.hpp"
#include "embedded/nodes/process/logs/log_files.hpp"
#include "embedded/nodes/process/pod_directory.hpp"
#include "embedded/nodes/process/spawner.hpp"

namespace athanor::nodes {

// Settings of the runtime. The clock must outlive it.
struct ProcessRuntimeOptions {
  std::string folder{};  // for pods/ and claims/; files of emulated nodes are below nodes/
  TokenSource tokens{};
  Clock* clock = nullptr;
  // Containers see neither the folder nor other processes, write into layers of their own
  // (layered_root.hpp), and give up what they need no more (confinement.hpp), where the kernel
  // allows.
  bool isolate = true;
  // Folders that isolated containers see empty: homes.
  std::vector<std::string> own_folders{};
  LogLimits log_limits{};
  // Isolated containers have the addresses of their pods (network/socket_supervisor.hpp): somebody
  // reads the spawner's channel.
  bool supervised = false;
  // Limits of containers; without it memory is measured, and cpu is not limited.
  std::optional<ContainerGroups> groups{};
};

// A PodRuntime that also serves its pods' logs and streams. Thread-safe; owns one thread.
// Destroying it ends every container.
class ProcessRuntime : public PodRuntime, public apiserver::PodLogs, public apiserver::PodStreams {
 public:
  static Result<std::unique_ptr<ProcessRuntime>> create(Spawner spawner,
                                                        ProcessRuntimeOptions options);
  // Removes the files of pods other than these: they were deleted while no program was there to
  // hear of it, or ended before it. To be called before pods are started.
  virtual void keep_only(const std::vector<std::string>& uids) = 0;
  // Returns what the running containers of each pod use, by uid and container.
  [[nodiscard]] virtual std::map<std::string, std::map<std::string, ContainerUsage>> usage()
      const = 0;
  // Asks every container to end and waits for it, at most `grace`; then they are killed.
  virtual void shut_down(Duration grace) = 0;
};

}  // namespace athanor::nodes
