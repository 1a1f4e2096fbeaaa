// SPDX-License-Identifier: Apache-2.0
// athanor up.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/controllers/environment.hpp"
#include "cli/controllers/operator_list.hpp"
#include "cli/ending.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/lab/default_lab.hpp"
#include "cli/terminal.hpp"
#include "cli/up_hints.hpp"
#include "cli/verbs.hpp"
#include "embedded/lab/control_plane.hpp"
#include "embedded/lab/file/node_members.hpp"
#include "systems/hooked.hpp"
#include "systems/list.hpp"

namespace athanor::cli {
namespace {

// What stop() gives pods; then they are killed. Within the 5 s that docs/spec/apiserver.md 1.5
// allows.
constexpr Duration kPodGrace = std::chrono::seconds(2);
// Pods and requests in turn have had theirs by then.
constexpr Duration kEndTime = std::chrono::seconds(6);
// Where the examples' secrets are.
constexpr const char* kSecretsNamespace = "psap-secrets";

std::vector<LabNodeMember> node_members() {
  std::vector<LabNodeMember> members;
  for (const System* system : all_systems()) {
    members.insert(members.end(), system->lab_node_members.begin(), system->lab_node_members.end());
  }
  return members;
}

std::vector<std::string_view> setting_names() {
  std::vector<std::string_view> names;
  for (const System* system : all_systems()) {
    names.insert(names.end(), system->variables.begin(), system->variables.end());
  }
  return names;
}

// Where a text names a setting as a whole word, in any case; npos: nowhere.
std::size_t place_in(std::string_view said, const std::string& name) {
  const std::string text = lower(said);
  const std::string word = lower(name);
  const auto belongs = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !belongs(text[at - 1])) && (end == text.size() || !belongs(text[end]))) {
      return at;
    }
  }
  return std::string::npos;
}

// A wrong value in the lab file is reported with its line. Which one it is follows from the
// first name in the refusal, or from the value if that is given alone.
Error placed(const Error& error, const lab::Lab& lab,
             const std::map<std::string, std::string>& outer) {
  constexpr std::string_view kMark = "ERROR: ";
  constexpr std::size_t kTelling = 3;  // letters of a value
  const std::string& said = error.message;
  std::size_t first = std::string::npos;
  std::string found;
  for (const auto& [name, place] : lab.setting_places) {
    const std::size_t at = place_in(said, name);
    if (!outer.contains(name) && at < first) {
      first = at;
      found = place;
    }
  }
  for (const auto& [name, value] : lab.settings) {
    if (found.empty() && !outer.contains(name) && value.size() >= kTelling &&
        said.find(value) != std::string::npos) {
      found = lab.setting_places.at(name);
    }
  }
  if (found.empty()) {
    return error;
  }
  return Error{.code = error.code,
               .reason = error.reason,
               .message = fmt::format("{}: {}", found,
                                      said.substr(said.starts_with(kMark) ? kMark.size() : 0))};
}

// The lab file, or the built-in one, with the way to read what it names.
Result<void> load_lab(const UpOptions& options, lab::ControlPlaneOptions& out) {
  const std::vector<LabNodeMember> members = node_members();
  const std::vector<std::string_view> settings = setting_names();
  const lab::LabWords words{.members = members, .settings = settings};
  if (options.lab.empty()) {
    ATHANOR_TRY(const std::string text, default_lab_file("lab.yaml"));
    ATHANOR_TRY(out.lab, lab::parse_lab(text, "built-in lab", words));
    out.lab.built_in = true;
    out.read_file = default_lab_file;
    return {};
  }
  ATHANOR_TRY(const std::string text, read_file(options.lab));
  ATHANOR_TRY(out.lab, lab::parse_lab(text, options.lab, words));
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

// Settings may have moved the jobs and the secrets: the queue, kubeconfigs, secrets and pipelines
// of the lab go with them.
void move_lab(lab::ControlPlaneOptions& plan) {
  const Value& fournos = plan.config["fournos"];
  const std::string jobs = fournos["workloadNamespace"].str();
  if (!jobs.empty() && jobs != plan.lab.ns) {
    plan.lab.moved.emplace(plan.lab.ns, jobs);
    plan.lab.ns = jobs;
  }
  const std::string secrets = fournos["secretsNamespace"].str();
  if (!secrets.empty() && secrets != kSecretsNamespace) {
    plan.lab.moved.emplace(kSecretsNamespace, secrets);
  }
}

Result<lab::ControlPlaneOptions> plan(const UpOptions& options) {
  auto environment = environment_map();
  ATHANOR_TRY_VOID(apply_settings(options.settings, environment));
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
  if (options.emulate_cluster_policy) {
    variables["EMULATE_CLUSTER_POLICY"] = "true";
  }
  if (!options.allocation_api.empty()) {
    variables["DAS_ALLOCATION_API"] = options.allocation_api;
  }
  auto config = read_settings(all_systems(), {.variables = variables,
                                              .jobs_namespace = result.lab.ns,
                                              .in_lab = true,
                                              .read_file = read_file,
                                              .warn = log_setting_warning});
  if (!config.ok()) {
    return placed(config.error(), result.lab, environment);
  }
  result.config = *std::move(config);
  ATHANOR_TRY_VOID(lab::equip_nodes(result.lab, all_systems(), result.config));
  move_lab(result);
  result.hooked = hooked_operators();
  return result;
}

}  // namespace

std::string default_data() {
  const auto environment = environment_map();
  if (const std::string state = variable(environment, "XDG_STATE_HOME"); !state.empty()) {
    return state + "/athanor";
  }
  return variable(environment, "HOME") + "/.local/state/athanor";
}

int run(const UpOptions& options) {
  log::configure(level_of(options.verbosity), log::Format::Auto);
  memory::keep_little();
  EndSignals ending;

  auto planned = plan(options);
  if (!planned.ok()) {
    return fail(planned.error());
  }
  const std::string hints = up_hints(planned->lab, planned->read_file);
  auto plane = lab::ControlPlane::start(*std::move(planned));
  if (!plane.ok()) {
    return fail(plane.error());
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("listening {}\nkubeconfig {}\n\nThe lab is lit. In another terminal:\n"
                         "  export KUBECONFIG={}\n{}",
                         (*plane)->address(), (*plane)->kubeconfig(), (*plane)->kubeconfig(),
                         hints));
  log::info("ending the lab", {{"signal", ending.wait()}});
  const EndGuard guard(kEndTime);
  (*plane)->stop(kPodGrace);
  plane->reset();
  return 0;
}

}  // namespace athanor::cli
