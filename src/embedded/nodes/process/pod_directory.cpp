// SPDX-License-Identifier: Apache-2.0
// Files of a pod.
#include "embedded/nodes/process/pod_directory.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/digest.hpp"
#include "embedded/nodes/process/files/folder_removal.hpp"
#include "embedded/nodes/process/files/group_rights.hpp"
#include "embedded/nodes/process/files/payload_volume.hpp"
#include "embedded/nodes/process/files/regular_file.hpp"
#include "embedded/nodes/process/interpreters.hpp"
#include "embedded/nodes/process/logs/log_files.hpp"
#include "embedded/nodes/process/logs/log_format.hpp"
#include "embedded/nodes/process/token_age.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

// The most a setting may allow (docs/spec/tekton.md 10.3); what it does allow is the TaskRun's
// business.
constexpr std::size_t kMaxMessage = std::size_t{1} << 20;
// Types of entries in a step's message.
constexpr int kTaskResult = 1;
constexpr int kStepResult = 4;
constexpr int kStepArtifacts = 5;
constexpr int kTaskArtifacts = 6;
constexpr std::string_view kTokenVolume = "kube-api-access-";  // as admission names it
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// What a steps pod finds below /tekton.
constexpr const char* kStepFolders[] = {"results", "home",      "steps",    "scripts",
                                        "creds",   "artifacts", "downward", "run"};

Result<void> make_folders(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) {
    return Error::internal(fmt::format("cannot make {}: {}", path, code.message()));
  }
  return {};
}

// What a kubelet takes of a termination log, and of a log in its place.
constexpr std::size_t kMaxTermination = 4096;
constexpr std::size_t kMostLogBytes = 2048;
constexpr std::size_t kMostLogLines = 80;

Value hostname_of(const Value& spec) {
  return spec["hostname"].as_string().empty() ? spec["name"] : spec["hostname"];
}

std::string termination_file(const Value& container) {
  return "termination/" + container["name"].str();
}

std::string end_of_log(const std::string& path) {
  // Each line is behind its time; twice the bytes hold what is wanted.
  const int file = open_regular(path);
  if (file < 0) {
    return {};
  }
  constexpr std::size_t kRead = std::size_t{4} * kMostLogBytes;
  std::string text(kRead, '\0');
  const off_t size = ::lseek(file, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kRead));
  const ssize_t count = ::pread(file, text.data(), text.size(), from);
  ::close(file);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  std::string message;
  std::size_t lines = 0;
  while (!text.empty() && lines < kMostLogLines && message.size() < kMostLogBytes) {
    if (text.back() == '\n') {
      text.pop_back();
    }
    const std::size_t line_end = text.rfind('\n');
    if (line_end == std::string::npos && from > 0) {
      break;  // the beginning of this line was not read
    }
    const std::size_t begin = line_end == std::string::npos ? 0 : line_end + 1;
    const LogLine line = parse_log_line(std::string_view(text).substr(begin));
    message.insert(0, std::string(line.text) + (line.finished ? "\n" : ""));
    text.resize(begin);
    ++lines;
  }
  return message.size() > kMostLogBytes ? message.substr(message.size() - kMostLogBytes) : message;
}

// The group that owns the volumes, where this user may give files away.
std::optional<unsigned> group_of(const Value& spec) {
  const Value& group = spec["fsGroup"];
  return group.is_integer() && ::geteuid() == 0
             ? std::optional(static_cast<unsigned>(group.as_int()))
             : std::nullopt;
}

std::string script_text(std::string_view script) {
  return script.starts_with("#!") ? std::string(script)
                                  : "#!/bin/sh\nset -e\n" + std::string(script);
}

}  // namespace

PodDirectory::PodDirectory(std::string root, const Value& spec)
    : root_(std::move(root)),
      path_(fmt::format("{}/pods/{}", root_, spec["uid"].as_string())),
      ns_(spec["ns"].str()) {}

std::string PodDirectory::volume_path(const Value& volume) const {
  if (volume["type"].as_string() == "claim") {
    return fmt::format("{}/claims/{}/{}", root_, ns_, volume["claim"].as_string());
  }
  return fmt::format("{}/volumes/{}", path_, volume["name"].as_string());
}

std::string PodDirectory::log_path(std::string_view container) const {
  return fmt::format("{}/logs/{}.log", path_, container);
}

Result<void> PodDirectory::write_contents(const Value& spec, const Value& volume,
                                          const TokenSource& tokens, Instant now) const {
  const std::string folder = volume_path(volume);
  std::vector<PayloadFile> files;
  for (const Value& file : volume["files"].items()) {
    files.push_back({.path = file["path"].str(),
                     .data = base64_decode(file["data"].as_string()).value_or(""),
                     .mode = static_cast<unsigned>(file["mode"].as_int(0644))});
  }
  for (const Value& wish : volume["tokens"].items()) {
    PayloadFile file{.path = wish["path"].str()};
    auto known = payload_data(folder, file.path);
    if (known && refresh_time(*known).value_or(Instant::max()) > now) {
      file.data = *std::move(known);  // an update of what is beside it
    } else {
      ATHANOR_TRY(file.data, tokens({.ns = ns_,
                                     .service_account = volume["serviceAccount"].str(),
                                     .pod = spec["name"].str(),
                                     .pod_uid = spec["uid"].str(),
                                     .audience = wish["audience"].str(),
                                     .seconds = wish["seconds"].as_int()}));
    }
    files.push_back(std::move(file));
  }
  auto written = write_payload(folder, files, group_of(spec));
  return written.ok() ? written
                      : Error{written.error()}.with_context(
                            fmt::format("volume {}", volume["name"].as_string()));
}

std::optional<Instant> PodDirectory::tokens_due(const Value& spec) const {
  std::optional<Instant> due;
  for (const Value& volume : spec["volumes"].items()) {
    for (const Value& wish : volume["tokens"].items()) {
      const auto known = payload_data(volume_path(volume), wish["path"].str());
      const auto when = known ? refresh_time(*known) : std::nullopt;
      due = when && (!due || *when < *due) ? when : due;
    }
  }
  return due;
}

Result<void> PodDirectory::update(const Value& spec, const TokenSource& tokens, Instant now) const {
  for (const Value& volume : spec["volumes"].items()) {
    if (volume["type"].as_string() == "files") {
      ATHANOR_TRY_VOID(write_contents(spec, volume, tokens, now));
    }
  }
  return {};
}

Result<void> PodDirectory::prepare(const Value& spec, const TokenSource& tokens,
                                   Instant now) const {
  ATHANOR_TRY_VOID(make_folders(path_ + "/logs"));
  for (const Value& volume : spec["volumes"].items()) {
    const std::string folder = volume_path(volume);
    ATHANOR_TRY_VOID(make_folders(folder));
    if (volume["type"].as_string() == "empty") {
      ::chmod(folder.c_str(), 0777);
    }
    if (const auto group = group_of(spec); group && volume["type"].as_string() != "files") {
      give_to_group(folder, *group, GroupRights::ReadAndWrite);
    }
  }
  ATHANOR_TRY_VOID(update(spec, tokens, now));
  if (const std::string_view hosts = spec["hosts"].as_string(); !hosts.empty()) {
    ATHANOR_TRY_VOID(write_new_file(path_ + "/hosts", hosts, 0644));
  }
  ATHANOR_TRY_VOID(write_new_file(path_ + "/hostname", hostname_of(spec).str() + "\n", 0644));
  if (const std::string_view resolver = spec["resolver"].as_string(); !resolver.empty()) {
    ATHANOR_TRY_VOID(write_new_file(path_ + "/resolver", resolver, 0644));
  }
  if (spec["sequential"].as_bool()) {
    ATHANOR_TRY_VOID(make_folders(path_ + "/workspace"));
    for (const char* folder : kStepFolders) {
      ATHANOR_TRY_VOID(make_folder_below(path_, fmt::format("tekton/{}", folder)));
    }
  }
  // A copy for HOME, where programs may change it, and one that stays.
  for (const Value& file : spec["credentials"].items()) {
    const std::string data = base64_decode(file["data"].as_string()).value_or("");
    for (const char* folder : {"home", "creds"}) {
      ATHANOR_TRY_VOID(
          write_new_file_below(path_, fmt::format("tekton/{}/{}", folder, file["path"].as_string()),
                               data, static_cast<unsigned>(file["mode"].as_int())));
    }
  }
  return {};
}

Value PodDirectory::mounts_of(const Value& spec, const Value& container) const {
  Value mounts = Value::list();
  const auto add = [&](const std::string& from, std::string_view to, bool read_only) {
    mounts.push_back(Value::object({{"from", from}, {"to", to}, {"readOnly", read_only}}));
  };
  // Adds a mount that every container gets, also one whose pod has no volumes.
  const auto add_optional = [&](const std::string& from, std::string_view to, bool read_only) {
    add(from, to, read_only);
    mounts.item(mounts.size() - 1).set("optional", true);
  };
  const bool sealed = container["readOnlyRoot"].as_bool();  // hosts stay writable, as a kubelet's
  add_optional(path_ + "/hostname", "/etc/hostname", sealed);
  if (!spec["hosts"].as_string().empty()) {
    add_optional(path_ + "/hosts", "/etc/hosts", false);
  }
  if (!spec["resolver"].as_string().empty()) {
    add_optional(path_ + "/resolver", "/etc/resolv.conf", sealed);
  }
  if (container["sidecar"].as_bool()) {
    if (container.contains("script")) {
      add(path_ + "/tekton/scripts", "/tekton/scripts", true);
    }
  } else if (spec["sequential"].as_bool()) {
    add(path_ + "/tekton", "/tekton", false);
    add(path_ + "/workspace", "/workspace", false);
  }
  if (const std::string message = container["messagePath"].str();
      !message.empty() && !spec["sequential"].as_bool()) {
    add_optional(fmt::format("{}/{}", path_, termination_file(container)), message, false);
  }
  for (const Value& mount : container["mounts"].items()) {
    for (const Value& volume : spec["volumes"].items()) {
      if (volume["name"] != mount["volume"]) {
        continue;
      }
      // A kubelet keeps what it writes itself from being written by others.
      const bool read_only = mount["readOnly"].as_bool() || volume["readOnly"].as_bool() ||
                             volume["type"].as_string() == "files";
      add(volume_path(volume), mount["path"].as_string(), read_only);
      Value& added = mounts.item(mounts.size() - 1);
      added.set("below", mount["subPath"].str());
      added.set("optional", volume["name"].as_string().starts_with(kTokenVolume));
      added.set("volume", volume_path(volume));
      added.set("contents", volume["type"].as_string() == "files");
    }
  }
  return mounts;
}

namespace {

// What every container has, then its own, which wins.
Value environment_of(const Value& spec, const Value& container) {
  const Value& own = container["env"];
  Value env = Value::list();
  const auto add_default = [&](const char* name, Value value) {
    if (std::ranges::none_of(own.items(),
                             [&](const Value& pair) { return pair[0].as_string() == name; })) {
      env.push_back(Value::list({name, std::move(value)}));
    }
  };
  add_default("PATH", kDefaultPath);
  if (spec["sequential"].as_bool()) {
    add_default("HOME", "/tekton/home");  // elsewhere that of the user (container_process.cpp)
  }
  add_default("HOSTNAME", hostname_of(spec));
  for (const Value& pair : own.items()) {
    env.push_back(pair);
  }
  return env;
}

}  // namespace

Result<Value> PodDirectory::run_order(const Value& spec, const Value& container,
                                      std::int64_t id) const {
  const std::string name = container["name"].str();
  const std::string layer = layer_path(id);
  const std::string scratch = layer + "/root";
  ATHANOR_TRY_VOID(make_folders(scratch));
  const bool steps = spec["sequential"].as_bool() && !container["sidecar"].as_bool();
  Value argv = container["command"];
  if (container.contains("script")) {
    const std::string path = fmt::format("tekton/scripts/{}", name);
    const std::string script = script_text(container["script"].as_string());
    ATHANOR_TRY_VOID(write_new_file_below(path_, path, script, 0755));
    argv.insert_item(0, "/" + path);
    const std::vector<std::string> interpreter = container.contains("image")
                                                     ? std::vector<std::string>()
                                                     : script_interpreter(script, find_program);
    for (auto word = interpreter.rbegin(); word != interpreter.rend(); ++word) {
      argv.insert_item(0, *word);
    }
  } else if (!container.contains("image")) {  // whose own programs run
    argv = container["busybox"].as_bool() ? with_busybox(std::move(argv), find_program)
                                          : with_present_shell(std::move(argv), find_program);
  }
  if (!spec["sequential"].as_bool()) {
    ATHANOR_TRY_VOID(make_folders(path_ + "/termination"));
    ATHANOR_TRY_VOID(
        write_new_file(fmt::format("{}/{}", path_, termination_file(container)), "", 0666));
  }
  if (steps) {
    ATHANOR_TRY_VOID(make_folder_below(path_, fmt::format("tekton/steps/{}/results", name)));
    ATHANOR_TRY_VOID(make_folder_below(path_, fmt::format("tekton/steps/{}/artifacts", name)));
  }
  const Value env = environment_of(spec, container);
  std::string folder = container["workingDir"].str();
  if (folder.empty()) {
    folder = steps ? "/workspace" : "/";
  } else {
    // As a path in the container's view, whatever ".." it holds.
    folder = (std::filesystem::path("/workspace") / folder).lexically_normal().string();
    if (folder.size() > 1 && folder.back() == '/') {
      folder.pop_back();
    }
  }
  return Value::object(
      {{"op", "run"},
       {"id", id},
       {"argv", argv},
       {"env", env},
       {"cwd", folder},
       {"scratch", scratch},
       {"layer", layer},
       {"image", container.contains("image")
                     ? fmt::format("{}/images/{}/root", root_, container["image"].as_string())
                     : std::string()},
       {"readOnlyRoot", container["readOnlyRoot"]},
       {"security", container["security"]},
       {"fsGroup", spec["fsGroup"]},
       {"hostname", hostname_of(spec)},
       {"mounts", mounts_of(spec, container)},
       {"stdout", container["stdout"]},
       {"stderr", container["stderr"]},
       {"problem", container["problem"]},
       {"log", log_path(name)}});
}

namespace {

// The results that were written into `folder` below `root`, as entries of a step's message; no more
// of them than make it too large.
void add_results(const std::string& root, const std::string& folder, const Value& declared,
                 int type, std::size_t& left, Value& entries) {
  for (const Value& name : declared.items()) {
    // One byte more than may be is enough to refuse it.
    auto text = read_regular_below(root, fmt::format("{}/{}", folder, name.as_string()), left + 1);
    if (text) {
      left -= std::min(left, text->size());
      entries.push_back(Value::object({{"key", name}, {"value", *text}, {"type", type}}));
    }
  }
}

Error too_large(std::string message) {
  return Error{
      .code = 413, .reason = "TaskRunResultLargerThanAllowedLimit", .message = std::move(message)};
}

// The files of artifacts below `root`, as entries of a step's message. Errors: one that is no JSON
// object, or larger than `left`.
Result<void> add_artifacts(const std::string& root, std::string_view step, std::size_t& left,
                           Value& entries) {
  const std::pair<std::string, int> files[] = {
      {fmt::format("tekton/steps/{}/artifacts/provenance.json", step), kStepArtifacts},
      {"tekton/artifacts/provenance.json", kTaskArtifacts}};
  for (const auto& [file, type] : files) {
    auto text = read_regular_below(root, file, left + 1);
    if (!text || text->empty()) {
      continue;
    }
    if (text->size() > left) {
      return too_large(fmt::format(
          "/{} is larger than the {} bytes that the step's results and artifacts leave of {}", file,
          left, kMaxMessage));
    }
    const auto content = json::parse(*text);
    if (!content.ok() || !content->is_object()) {
      return Error::bad_request(fmt::format("/{} holds no JSON object of artifacts", file));
    }
    left -= std::min(left, text->size());
    entries.push_back(
        Value::object({{"key", "/" + file}, {"value", json::print(*content)}, {"type", type}}));
  }
  return {};
}

}  // namespace

Result<std::string> PodDirectory::read_results(const Value& container) const {
  Value results = Value::list();
  std::size_t left = kMaxMessage;
  add_results(path_, "tekton/results", container["results"], kTaskResult, left, results);
  add_results(path_, fmt::format("tekton/steps/{}/results", container["name"].as_string()),
              container["stepResults"], kStepResult, left, results);
  if (container["artifacts"].as_bool()) {
    ATHANOR_TRY_VOID(add_artifacts(path_, container["name"].as_string(), left, results));
  }
  if (results.empty()) {
    return std::string{};
  }
  std::string text = json::print(results);
  if (text.size() > kMaxMessage) {
    return too_large(fmt::format(
        "Termination message is above max allowed size {}, caused by large task result.",
        kMaxMessage));
  }
  return text;
}

void PodDirectory::write_exit_code(const Value& container, int code) const {
  // A step that asks for the code of an earlier one misses it only if the disk is full.
  static_cast<void>(write_new_file_below(
      path_, fmt::format("tekton/steps/{}/exitCode", container["name"].as_string()),
      fmt::format("{}", code), 0644));
}

std::string PodDirectory::termination_message(const Value& container, int code) const {
  auto message = read_regular_below(path_, termination_file(container), kMaxTermination);
  if (message && !message->empty()) {
    return *std::move(message);
  }
  return code != 0 && container["logsOnError"].as_bool()
             ? end_of_log(log_path(container["name"].as_string()))
             : std::string{};
}

void PodDirectory::skip(const Value& container) const {
  write_exit_code(container, 0);
  static_cast<void>(write_new_file(log_path(container["name"].as_string()), "", 0600));
}

void PodDirectory::rotate_log(std::string_view container) const {
  const std::string before = fmt::format("{}/logs/{}.previous.log", path_, container);
  move_logs(log_path(container), before);
}

std::string PodDirectory::layer_path(std::int64_t id) const {
  return fmt::format("{}/layers/{}", path_, id);
}

void PodDirectory::remove() const {
  remove_folder(path_);  // what stays is found by name when the data folder is cleaned
}

}  // namespace athanor::nodes
