// SPDX-License-Identifier: Apache-2.0
#include "exporter/ports.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "api/builtin.hpp"
#include "exporter/files.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/exporter/hwloc.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/status_file.hpp"

namespace athanor::exporter {
namespace {

// The path of a kind's objects, of one where `key` names it.
std::string path_of(const Kind& kind, const Key& key) {
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (kind.namespaced && !key.ns.empty()) {
    path += "/namespaces/" + client::escape(key.ns);
  }
  path += fmt::format("/{}", kind.plural);
  return key.name.empty() ? path : path + "/" + client::escape(key.name);
}

}  // namespace

Ports::Ports(const numa::ExporterConfig& config, std::unique_ptr<client::Connection> connection,
             std::string dump, Log log)
    : config_(config),
      connection_(std::move(connection)),
      kubelet_(config.podresources),
      dump_(std::move(dump)),
      log_(std::move(log)) {
  std::error_code none;
  if (!dump_.empty() && !std::filesystem::is_directory(dump_, none)) {
    this->log("PFP_STATUS_DUMP: " + dump_ + " is no folder, no status files are written");
    dump_.clear();
  }
}

Result<numa::Hardware> Ports::hardware() {
  if (!config_.hwloc_file.empty()) {
    ATHANOR_TRY(const std::optional<std::string> text, read_whole(config_.hwloc_file));
    auto hardware = text ? numa::read_hwloc(*text) : Error::not_found("not there");
    return hardware.ok() ? hardware : hardware.error().with_context(config_.hwloc_file);
  }
  const std::string root = config_.sysfs_root + "/";
  return numa::read_hardware(
      {.read = [root](const std::string& path) -> std::optional<std::string> {
         auto text = read_whole(root + path);
         return text.ok() ? *text : std::nullopt;
       },
       .list = [root](const std::string& path) { return names_in(root + path, Entries::All); }});
}

Result<Object> Ports::get(const Kind& kind, const Key& key) {
  if (&kind == &api::kNode) {
    return node(key.name);
  }
  ATHANOR_TRY(Value body, connection_->call({.path = path_of(kind, key)}));
  return Object(std::move(body));
}

// The role grants list and watch of nodes alone.
Result<Object> Ports::node(const std::string& name) {
  ATHANOR_TRY(const Value list,
              connection_->call({.path = path_of(api::kNode, {}) + "?fieldSelector=" +
                                         client::escape("metadata.name=" + name)}));
  if (list["items"].empty()) {
    return Error::not_found("nodes \"" + name + "\" not found");
  }
  return Object(list["items"][0]);
}

Result<void> Ports::create_topology(const Value& body) {
  return send({.method = "POST", .path = path_of(numa::kTopologyKind, {}), .body = body});
}

Result<void> Ports::update_topology(const Value& body) {
  return send({.method = "PUT",
               .path = path_of(numa::kTopologyKind, {"", body["metadata"]["name"].str()}),
               .body = body});
}

Result<void> Ports::patch_topology(const std::string& name, const Value& patch) {
  return send({.method = "PATCH",
               .path = path_of(numa::kTopologyKind, {"", name}),
               .body = patch,
               .content_type = "application/merge-patch+json"});
}

// The role grants update of pods/status alone.
Result<void> Ports::write_pod_conditions(const Key& pod, const Value& conditions) {
  ATHANOR_TRY(const Object live, get(api::kPod, pod));
  Value body = live.body();
  body.set_path({"status", "conditions"}, conditions);
  return send(
      {.method = "PUT", .path = path_of(api::kPod, pod) + "/status", .body = std::move(body)});
}

Result<std::set<Key>> Ports::ended_pods(const std::string& node) {
  ATHANOR_TRY(const Value list,
              connection_->call({.path = path_of(api::kPod, {}) + "?fieldSelector=" +
                                         client::escape("spec.nodeName=" + node)}));
  std::set<Key> ended;
  for (const Value& pod : list["items"].items()) {
    const std::string_view phase = pod["status"]["phase"].as_string();
    if (phase == "Succeeded" || phase == "Failed") {
      ended.insert({pod["metadata"]["namespace"].str(), pod["metadata"]["name"].str()});
    }
  }
  return ended;
}

void Ports::write_status(const std::string& node, const std::vector<Key>& pods,
                         const std::string& fingerprint) {
  const numa::StatusSample sample{
      .computed = fingerprint, .pods = pods, .node = node, .recorded = now()};
  if (!dump_.empty()) {
    const std::string name = numa::status_file_name(node);
    const auto before = read_whole(dump_ + "/" + name);
    const auto text = numa::add_sample(before.ok() ? before->value_or("") : std::string(), sample);
    replace_file(dump_, name, text.ok() ? *text : json::print(numa::to_value(sample)));
  }
  if (const std::string& path = config_.fingerprint_status_file; !path.empty()) {
    const std::filesystem::path file(path);
    replace_file(file.parent_path().string(), file.filename().string(),
                 json::print(numa::to_value(sample)));
  }
}

void Ports::log(std::string_view line) {
  log_(fmt::format("{} {}\n", format_time(now()), line));
}

Result<void> Ports::send(const client::Call& call) {
  const auto answer = connection_->call(call);
  return answer.ok() ? Result<void>() : answer.error();
}

// A reader never sees half a file.
void Ports::replace_file(const std::string& folder, const std::string& name,
                         const std::string& text) {
  const std::string path = (folder.empty() ? std::string(".") : folder) + "/";
  {
    std::ofstream file(path + "__" + name, std::ios::binary | std::ios::trunc);
    file << text;
  }
  std::error_code failed;
  std::filesystem::rename(path + "__" + name, path + name, failed);
  if (failed) {
    log(fmt::format("status file {}{}: {}", path, name, failed.message()));
  }
}

}  // namespace athanor::exporter
