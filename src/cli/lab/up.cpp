// SPDX-License-Identifier: Apache-2.0
// athanor up.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/controllers/environment.hpp"
#include "cli/controllers/operator_list.hpp"
#include "cli/ending.hpp"
#include "cli/lab/default_lab.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "embedded/lab/control_plane.hpp"
#include "systems/hooked.hpp"
#include "systems/list.hpp"

namespace athanor::cli {
namespace {

// What stop() gives pods; then they are killed. Within the 5 s that docs/spec/apiserver.md 1.5
// allows.
constexpr Duration kPodGrace = std::chrono::seconds(2);

std::vector<LabNodeMember> node_members() {
  std::vector<LabNodeMember> members;
  for (const System* system : all_systems()) {
    members.insert(members.end(), system->lab_node_members.begin(), system->lab_node_members.end());
  }
  return members;
}

// The lab file, or the built-in one, with the way to read what it names.
Result<void> load_lab(const UpOptions& options, lab::ControlPlaneOptions& out) {
  if (options.lab.empty()) {
    ATHANOR_TRY(const std::string text, default_lab_file("lab.yaml"));
    ATHANOR_TRY(out.lab, lab::parse_lab(text, "built-in lab", node_members()));
    out.lab.built_in = true;
    out.read_file = default_lab_file;
    return {};
  }
  ATHANOR_TRY(const std::string text, read_file(options.lab));
  ATHANOR_TRY(out.lab, lab::parse_lab(text, options.lab, node_members()));
  const std::size_t slash = options.lab.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : options.lab.substr(0, slash + 1);
  out.read_file = [folder](const std::string& name) {
    return read_file(name.front() == '/' ? name : folder + name);
  };
  return {};
}

log::Level level_of(int verbosity) {
  return verbosity <= 0   ? log::Level::Error
         : verbosity == 1 ? log::Level::Warn
         : verbosity <= 3 ? log::Level::Info
                          : log::Level::Debug;
}

Result<lab::ControlPlaneOptions> plan(const UpOptions& options) {
  const auto environment = environment_map();
  lab::ControlPlaneOptions result;
  result.data = options.data.empty() ? default_data() : options.data;
  result.port = options.port;
  result.storage = options.storage == "memory" ? lab::StorageKind::Memory : lab::StorageKind::Disk;
  result.pods = options.pods == "timed" ? lab::PodsKind::Timed : lab::PodsKind::Process;
  result.isolate_pods = options.pod_isolation == "on";
  result.controllers = options.controllers;
  result.sync = !options.unsafe_no_sync;
  result.repair = options.repair;
  result.history_max_bytes = static_cast<std::int64_t>(options.history_max_bytes);
  result.serving = options.serving;
  auto timeout = parse_go_duration(options.request_timeout);
  if (!timeout.ok()) {
    return timeout.error().with_context("--request-timeout");
  }
  result.serving.request_timeout = *timeout;
  ATHANOR_TRY_VOID(load_lab(options, result));
  result.systems = {all_systems().begin(), all_systems().end()};
  // The lab file's settings lie below the environment's.
  std::map<std::string, std::string> variables = environment;
  variables.insert(result.lab.settings.begin(), result.lab.settings.end());
  ATHANOR_TRY(result.config, read_settings(all_systems(), {.variables = variables,
                                                           .jobs_namespace = result.lab.ns,
                                                           .in_lab = true,
                                                           .read_file = read_file}));
  result.hooked = hooked_operators();
  return result;
}

}  // namespace

std::string default_data() {
  const auto environment = environment_map();
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string{} : found->second;
  };
  if (const std::string state = value("XDG_STATE_HOME"); !state.empty()) {
    return state + "/athanor";
  }
  return value("HOME") + "/.local/state/athanor";
}

int run(const UpOptions& options) {
  log::configure(level_of(options.verbosity), log::Format::Auto);
  memory::keep_little();
  EndSignals ending;

  auto planned = plan(options);
  if (!planned.ok()) {
    return fail(planned.error());
  }
  auto plane = lab::ControlPlane::start(*std::move(planned));
  if (!plane.ok()) {
    return fail(plane.error());
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("listening {}\nkubeconfig {}\n\nThe lab is lit. In another terminal:\n"
                         "  export KUBECONFIG={}\n"
                         "  kubectl get fournosjobs,workloads,pipelineruns -A\n"
                         "  athanor submit --cluster cluster-2 --gpu a100:2 --project llmd "
                         "--arg cks --follow\n",
                         (*plane)->address(), (*plane)->kubeconfig(), (*plane)->kubeconfig()));
  log::info("ending the lab", {{"signal", ending.wait()}});
  (*plane)->stop(kPodGrace);
  return 0;
}

}  // namespace athanor::cli
