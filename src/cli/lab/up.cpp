// SPDX-License-Identifier: Apache-2.0
// athanor up.
#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "base/memory.hpp"
#include "cli/console/lab_console.hpp"
#include "cli/controllers/operator_list.hpp"
#include "cli/flags/environment.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/lab/default_lab.hpp"
#include "cli/lab/lab_records.hpp"
#include "cli/lab/remembered_lab.hpp"
#include "cli/lab/up_hints.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/ending.hpp"
#include "cli/session/verbs.hpp"
#include "console/console.hpp"
#include "embedded/lab/control_plane.hpp"
#include "embedded/lab/file/node_members.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"
#include "product/people.hpp"
#include "runtime/view/usage.hpp"

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

// Adds what to do where a port is taken.
Error with_way_out(Error error) {
  if (error.message.find("Address already in use") != std::string::npos) {
    error.message += "; --port 0 takes a free one; athanor labs lists running labs";
  }
  return error;
}

// The lab file, or the built-in one, with the way to read what it names.
Result<void> load_lab(const LabFile& file, lab::ControlPlaneOptions& out) {
  const std::vector<LabNodeMember> members = node_members();
  const std::vector<std::string_view> settings = setting_names();
  const lab::LabWords words{.members = members, .settings = settings};
  if (file.path.empty()) {
    ATHANOR_TRY(const std::string text, default_lab_file("lab.yaml"));
    ATHANOR_TRY(out.lab, lab::parse_lab(text, "built-in lab", words));
    out.lab.built_in = true;
    out.read_file = default_lab_file;
    return {};
  }
  ATHANOR_TRY(out.lab, lab::parse_lab(file.text, file.name, words));
  const std::string folder = file.path.substr(0, file.path.rfind('/') + 1);
  for (lab::LabImage& image : out.lab.images) {
    if (!image.archive.empty() && image.archive.front() != '/') {
      image.archive = folder + image.archive;
    }
  }
  out.read_file = [folder](const std::string& name) {
    return read_text_file(name.front() == '/' ? name : folder + name);
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

// The folders that hold homes, and this user's own, which may be elsewhere.
std::vector<std::string> home_folders(const std::string& home) {
  std::vector<std::string> folders{"/root", "/home"};
  std::vector<char> buffer(std::size_t{1} << 14);
  passwd entry{};
  passwd* found = nullptr;
  const bool known = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
                     found != nullptr;
  for (const std::string& folder : {home, known ? std::string(entry.pw_dir) : std::string()}) {
    if (folder.size() > 1 && folder.starts_with('/')) {
      folders.push_back(folder);
    }
  }
  return folders;
}

// Reads NAME or NAME:ROLE of --user.
Result<std::vector<lab::LabUser>> lab_users(const std::vector<std::string>& words) {
  std::vector<lab::LabUser> users;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    lab::LabUser user{.name = word.substr(0, colon)};
    if (colon != std::string::npos) {
      user.role = word.substr(colon + 1);
    }
    const bool plain = !user.name.empty() && std::ranges::all_of(user.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    if (!plain || (user.role != "view" && user.role != "edit" && user.role != "admin")) {
      return wrong_usage(
          fmt::format("--user {}: write NAME, NAME:view, NAME:edit or NAME:admin; a name has the "
                      "characters a-z, "
                      "0-9, - and _",
                      word));
    }
    users.push_back(std::move(user));
  }
  return users;
}

Result<lab::ControlPlaneOptions> plan(const UpOptions& options, const LabFile& file) {
  auto environment = environment_map();
  ATHANOR_TRY_VOID(apply_settings(options.settings, environment));
  lab::ControlPlaneOptions result;
  result.data = options.data.empty() ? default_data() : options.data;
  result.port = options.port;
  result.storage = options.storage == "memory" ? lab::StorageKind::Memory : lab::StorageKind::Disk;
  result.pods = options.pods == "timed"     ? lab::PodsKind::Timed
                : options.pods == "process" ? lab::PodsKind::Process
                                            : lab::PodsKind::Auto;
  result.isolate_pods = options.pod_isolation == "on";
  if (!options.pod_home) {
    result.hidden_from_pods = home_folders(variable(environment, "HOME"));
  }
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
  ATHANOR_TRY_VOID(load_lab(file, result));
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
                                              .read_file = read_text_file,
                                              .warn = log_setting_warning});
  if (!config.ok()) {
    return blame_flag(placed(config.error(), result.lab, environment), options.settings);
  }
  result.config = *std::move(config);
  ATHANOR_TRY_VOID(lab::equip_nodes(result.lab, all_systems(), result.config));
  move_lab(result);
  result.hooked = hooked_operators();
  result.roles = people_roles(all_systems());
  ATHANOR_TRY(result.users, lab_users(options.users));
  return result;
}

// Names the objects that the lab still lacks.
std::string waiting_text(const std::vector<std::string>& waiting) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(waiting.size(), kMost); ++i) {
    text += fmt::format("  {}\n", waiting[i]);
  }
  if (waiting.size() > kMost) {
    text += fmt::format("  and {} more\n", waiting.size() - kMost);
  }
  return text.empty()
             ? text
             : "\nThese objects of the lab wait; they are retried until they are there:\n" + text;
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

  const std::string data = options.data.empty() ? default_data() : options.data;
  const auto file = choose_lab(options.storage == "memory" ? "" : data, options.lab,
                               options.merge_lab ? OtherLab::Merge : OtherLab::Refuse);
  if (!file.ok()) {
    return fail(file.error());
  }
  auto planned = plan(options, *file);
  if (!planned.ok()) {
    return fail(planned.error());
  }
  const std::string hints = up_hints(planned->lab, planned->read_file);
  const std::string jobs_ns = planned->lab.ns;
  auto plane = lab::ControlPlane::start(*std::move(planned));
  if (!plane.ok()) {
    return fail(with_way_out(plane.error()));
  }
  if (options.storage != "memory") {
    if (const auto kept = remember_lab(data, *file); !kept.ok()) {
      log::warn("the lab file is not remembered", {{"error", kept.error().message}});
    }
  }
  const auto recorded =
      record_lab(lab_records_folder(), {.data = data,
                                        .kubeconfig = (*plane)->kubeconfig(),
                                        .address = (*plane)->address(),
                                        .lab = file->path,
                                        .started = format_time(wall_clock()->now())});
  if (!recorded.ok()) {
    log::warn("the lab is not in the list of athanor labs", {{"error", recorded.error().message}});
  }
  std::unique_ptr<console::Console> pages;
  if (options.console != "off") {
    int console_port = 0;  // the flag's check takes numbers alone
    std::from_chars(options.console.data(), options.console.data() + options.console.size(),
                    console_port);
    auto started = start_lab_console({.kubeconfig = (*plane)->kubeconfig(),
                                      .jobs_ns = jobs_ns,
                                      .data = options.storage == "memory" ? "" : data,
                                      .port = console_port});
    if (!started.ok()) {
      return fail(started.error().with_context("--console"));
    }
    pages = *std::move(started);
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("listening {}\nkubeconfig {}\n{}\nThe lab is lit. In another terminal:\n"
                         "  export KUBECONFIG={}\n{}",
                         (*plane)->address(), (*plane)->kubeconfig(),
                         pages ? fmt::format("console: {}\n", pages->url()) : "",
                         (*plane)->kubeconfig(), hints) +
             waiting_text((*plane)->waiting()));
  log::info("ending the lab", {{"signal", ending.wait()}});
  const EndGuard guard(kEndTime);
  pages.reset();
  (*plane)->stop(kPodGrace);
  plane->reset();
  return 0;
}

}  // namespace athanor::cli
