// SPDX-License-Identifier: Apache-2.0
// ControlPlane: the whole lab in one process, put together: store, API server, HTTPS, controllers,
// nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "embedded/lab/serving/serving_options.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// Where objects are kept: in the data directory, or in memory until the end.
enum class StorageKind : std::uint8_t { Disk, Memory };
// How pods run: as local processes, or as timers alone.
enum class PodsKind : std::uint8_t { Process, Timed, Auto };

// A person beside the administrator, with a kubeconfig of its own in DATA/users.
struct LabUser {
  std::string name{};
  std::string role = "edit";  // view, edit or admin: in the jobs' namespace
};

// What `athanor up` starts with.
struct ControlPlaneOptions {
  std::string data{};  // the data directory
  std::string host = "127.0.0.1";
  int port = 6443;  // 0: any free one
  StorageKind storage = StorageKind::Disk;
  bool sync = true;     // false: acknowledged writes may be lost when the machine crashes
  bool repair = false;  // go on without damaged objects
  std::int64_t history_max_bytes = std::int64_t{256} << 20;  // of watchable history on the disk
  PodsKind pods = PodsKind::Process;
  bool isolate_pods = true;  // PodsKind::Process: as far as the kernel allows
  // Folders of this machine that isolated pods see empty: homes.
  std::vector<std::string> hidden_from_pods{};
  // "*", "name", "-name", "external", comma-separated; empty: none.
  std::string controllers = "*";
  ServingOptions serving{};
  Lab lab{};
  ReadFile read_file{};                  // resolves Lab::manifests
  std::vector<const System*> systems{};  // stand-ins among them
  SystemConfig config{};                 // their settings, by section
  // The scheduler and the nodes with the systems' hooks: each takes the place of the operator of
  // its name.
  std::vector<const Operator*> hooked{};
  std::vector<Value> roles{};  // ClusterRoles of people
  std::vector<LabUser> users{};
};

// A running lab.
class ControlPlane {
 public:
  // Lights the lab; returns once it is ready. To be called while the program has one thread (the
  // spawner is forked first). Errors say what is wrong and where: a held directory, a used port, a
  // bad manifest. Objects that the server refuses for now are no error: see waiting().
  static Result<std::unique_ptr<ControlPlane>> start(ControlPlaneOptions options);
  virtual ~ControlPlane() = default;

  [[nodiscard]] virtual const std::string& kubeconfig() const = 0;  // path
  [[nodiscard]] virtual const std::string& address() const = 0;     // https://127.0.0.1:6443
  // Returns the lab's objects that the server refuses so far, with the reasons; they are retried.
  [[nodiscard]] virtual std::vector<std::string> waiting() const = 0;
  // Ends pods (at most `grace`), controllers, connections, storage: in that order.
  virtual void stop(Duration grace) = 0;
};

// Returns the names that --controllers knows.
std::vector<std::string> controller_names(std::span<const Operator* const> operators);
// Returns true if a --controllers list lets a name run: the first word that names it decides, else
// "*", or "external", which is "*" without what kube-controller-manager and kube-scheduler do. The
// list is checked by check_controllers().
bool controller_enabled(const std::string& list, std::string_view name);
// Returns the parts of a control plane that such a lab runs itself, as componentstatuses name them.
std::vector<std::string> own_components(const std::string& list);
// Checks the list. Errors name the first unknown controller.
Result<void> check_controllers(const std::string& list, std::span<const Operator* const> operators);

}  // namespace athanor::lab
