// SPDX-License-Identifier: Apache-2.0
// athanor up.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "api/describe.hpp"
#include "api/fournos.hpp"
#include "api/kinds.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/default_lab.hpp"
#include "cli/ending.hpp"
#include "cli/operator_list.hpp"
#include "cli/surroundings.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "embedded/lab/control_plane.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/operators.hpp"
#include "fournos/operators.hpp"
#include "fournos/settings.hpp"
#include "hearth/operators.hpp"
#include "hearth/settings.hpp"
#include "systems/appwrapper/system.hpp"

namespace athanor::cli {
namespace {

// What stop() gives pods; then they are killed. Within the 5 s that spec/apiserver.md 1.5 allows.
constexpr Duration kPodGrace = std::chrono::seconds(2);

// The lab file, or the built-in one, with the way to read what it names.
Result<void> load_lab(const UpOptions& options, lab::ControlPlaneOptions& out) {
  if (options.lab.empty()) {
    ATHANOR_TRY(const std::string text, default_lab_file("lab.yaml"));
    ATHANOR_TRY(out.lab, lab::parse_lab(text, "built-in lab"));
    out.read_file = default_lab_file;
    out.objects = appwrapper::lab_objects(out.lab.ns);
    return {};
  }
  ATHANOR_TRY(const std::string text, read_file(options.lab));
  ATHANOR_TRY(out.lab, lab::parse_lab(text, options.lab));
  const std::size_t slash = options.lab.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : options.lab.substr(0, slash + 1);
  out.read_file = [folder](const std::string& name) {
    return read_file(name.front() == '/' ? name : folder + name);
  };
  return {};
}

// Settings of the controllers: the lab file's, and over them the environment's.
Result<fournos::Settings> fournos_settings(const lab::Lab& lab,
                                           const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> variables = environment;
  for (const auto& [name, value] : lab.settings) {
    variables.emplace(name, value);
  }
  if (!variables.contains("FOURNOS_WORKLOAD_NAMESPACE")) {
    variables.emplace("FOURNOS_NAMESPACE", lab.ns);
  }
  return read_fournos_settings(variables);
}

// A laptop has one namespace for jobs, and Fournos looks there for theirs.
Result<hearth::Settings> hearth_settings(const lab::Lab& lab,
                                         const std::map<std::string, std::string>& environment,
                                         const fournos::Settings& jobs) {
  std::map<std::string, std::string> variables = environment;
  for (const auto& [name, value] : lab.settings) {
    variables.emplace(name, value);
  }
  variables.emplace("HEARTH_EXECUTION_NAMESPACE", jobs.workload_namespace);
  variables.emplace("HEARTH_SECRETS_NAMESPACE", jobs.secrets_namespace);
  return hearth::parse_settings(variables);
}

// Every kind, FournosJob in the dialect that FOURNOS_API asks for.
std::vector<const api::CustomKind*> kinds_of(const fournos::Settings& settings) {
  std::vector<const api::CustomKind*> kinds;
  for (const api::CustomKind* kind : api::custom_kinds()) {
    kinds.push_back(kind->kind == &api::kFournosJob ? &api::fournos_job_crd(settings.api()) : kind);
  }
  for (const auto group : {appwrapper::custom_kinds(), wrapped::custom_kinds()}) {
    kinds.insert(kinds.end(), group.begin(), group.end());
  }
  return kinds;
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
  for (const auto system : {fournos::fournos_operators(), hearth::hearth_operators(),
                            appwrapper::appwrapper_operators(), wrapped::operators()}) {
    result.operators.insert(result.operators.end(), system.begin(), system.end());
  }
  result.webhooks = appwrapper::lab_webhooks();
  result.instruments = instruments_of(result.operators);
  ATHANOR_TRY(const fournos::Settings settings, fournos_settings(result.lab, environment));
  result.custom_kinds = kinds_of(settings);
  result.config["fournos"] = api::encode(settings);
  ATHANOR_TRY(const hearth::Settings clusters, hearth_settings(result.lab, environment, settings));
  result.config["hearth"] = api::encode(clusters);
  result.lab.more_namespaces = {clusters.ns, clusters.secrets_namespace};
  result.lab.hearth_ns = clusters.ns;
  result.lab.secrets_ns = clusters.secrets_namespace;
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
