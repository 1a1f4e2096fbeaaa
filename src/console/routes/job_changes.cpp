// SPDX-License-Identifier: Apache-2.0
#include "console/routes/job_changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "console/data/job_rows.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostName = 63;
constexpr int kTries = 5;
constexpr int kConflictCode = 409;

Error no_job() {
  return Error::not_found("Job not found");
}

// Merges as RFC 7396 does.
Value merged(const Value& target, const Value& patch) {
  if (!patch.is_object()) {
    return patch;
  }
  Value out = target.is_object() ? target : Value::object();
  for (const Member& member : patch.members()) {
    if (member.value.is_null()) {
      out.erase(member.key());
    } else {
      out.set(member.key(), merged(out[member.key()], member.value));
    }
  }
  return out;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  const std::size_t end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

// One "key: value" a line; all values are texts, as upstream's.
Value overrides_of(std::string_view text) {
  Value overrides = Value::object();
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      const std::string key = trimmed(line.substr(0, colon));
      if (!key.empty()) {
        overrides.set(key, trimmed(line.substr(colon + 1)));
      }
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return overrides;
}

bool is_ticked(std::string_view text) {
  const std::string word = lower(text);
  return word == "true" || word == "on" || word == "1" || word == "yes";
}

// The name without the suffix of an earlier copy.
std::string base_name(std::string_view name) {
  const std::size_t at = name.rfind("-rerun-");
  return std::string(name.substr(0, at == std::string_view::npos ? name.size() : at));
}

}  // namespace

std::string job_name_of(std::string_view project, Instant now) {
  std::string stamp = format_time(now);  // 2026-01-31T08:00:05Z
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(stamp, 'T', '-');
  const std::string raw = lower(fmt::format("forge-{}-{}", project, stamp));
  std::string name;
  for (const char c : raw) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name.resize(std::min(name.size(), kMostName));
  while (name.ends_with('-')) {
    name.pop_back();
  }
  return name;
}

Result<FoundJob> find_job(Exchange& exchange, const Key& key, std::string_view uid) {
  Services& services = exchange.services;
  if (!services.settings.shows(key.ns)) {
    return no_job();
  }
  ATHANOR_TRY(const bool may,
              services.access.may(exchange.viewer(), "get", api::kFournosJob, key.ns, key.name));
  if (!may) {
    return Error{.code = 403,
                 .reason = "Forbidden",
                 .message = fmt::format("you may not see jobs of namespace {}", key.ns)};
  }
  const auto facts = services.world.facts();
  const Object* live = facts->find(api::kFournosJob, key);
  if (live != nullptr && (uid.empty() || live->uid() == uid)) {
    return FoundJob{.object = *live};
  }
  for (const HistoryEntry& entry : services.history.find(key.ns, key.name)) {
    if (uid.empty() || entry.uid == uid) {
      return FoundJob{.object = Object(entry.object), .archived = true};
    }
  }
  return no_job();
}

Result<FoundJob> find_named_job(Exchange& exchange, std::string_view name) {
  Services& services = exchange.services;
  if (const auto given = exchange.parameter("ns")) {
    return find_job(exchange, {std::string(*given), std::string(name)});
  }
  auto found = find_job(exchange, {services.settings.jobs_ns, std::string(name)});
  if (found.ok() || found.error().code != 404) {
    return found;
  }
  for (const Object& job : services.world.facts()->all(api::kFournosJob)) {
    if (job.name() == name) {
      return find_job(exchange, job.key());
    }
  }
  for (const HistoryEntry& entry : services.history.find("", name)) {
    return find_job(exchange, {entry.ns, entry.name});
  }
  return found;
}

Result<void> stop_job(Exchange& exchange, const Key& key, std::string_view how) {
  const Value patch = Value::object({{"spec", Value::object({{"shutdown", how}})}});
  const auto patched =
      exchange.services.port.patch(exchange.viewer(), api::kFournosJob, key, patch);
  const std::string action = how == "Stop" ? "stop" : "terminate";
  note_change(exchange, action, "FournosJob/" + key.text(),
              patched.ok() ? nullptr : &patched.error());
  return patched.ok() ? Result<void>() : patched.error();
}

Result<Object> create_job(Exchange& exchange, Value job, bool dry_run) {
  const std::string query =
      dry_run ? "?fieldValidation=Strict&dryRun=All" : "?fieldValidation=Strict";
  const std::string name = job["metadata"]["name"].str();
  Result<Object> created = Error::internal("not sent");
  for (int i = 0; i < kTries; ++i) {
    created = exchange.services.port.create(exchange.viewer(), api::kFournosJob, job, query);
    if (created.ok() || created.error().code != kConflictCode || name.empty()) {
      break;
    }
    const std::string suffix =
        "-" + std::string(sha256_hex(name + std::to_string(i) + format_micro_time(exchange.now())))
                  .substr(0, 5);
    job.set_path({"metadata", "name"}, name.substr(0, kMostName - suffix.size()) + suffix);
  }
  if (!dry_run) {
    note_change(exchange, "submit",
                "FournosJob/" + job["metadata"]["namespace"].str() + "/" +
                    (created.ok() ? std::string(created->name()) : name),
                created.ok() ? nullptr : &created.error());
  }
  return created;
}

Result<Object> rerun_job(Exchange& exchange, const FoundJob& job, const Value& merge) {
  Value spec = job.object.spec();
  spec.erase("shutdown");
  if (merge.is_object()) {
    spec = merged(spec, merge);
  }
  const std::string project = forge_of(job.object)["project"].str();
  const std::string name = project.empty() ? base_name(job.object.name()) + "-rerun"
                                           : job_name_of(project, exchange.now());
  Value metadata = Value::object({{"namespace", job.object.ns()}});
  if (project.empty()) {
    metadata.set("generateName", name + "-");
  } else {
    metadata.set("name", name);
  }
  return create_job(exchange,
                    Value::object({{"apiVersion", api::kFournosJob.api_version()},
                                   {"kind", api::kFournosJob.name},
                                   {"metadata", std::move(metadata)},
                                   {"spec", std::move(spec)}}),
                    false);
}

Result<Value> job_of_form(const std::map<std::string, std::string, std::less<>>& form,
                          const std::string& ns, Instant now) {
  const auto field = [&](std::string_view name, const std::string& fallback = {}) {
    const auto found = form.find(name);
    return found == form.end() || found->second.empty() ? fallback : found->second;
  };
  for (const char* required : {"project", "cluster"}) {
    if (field(required).empty()) {
      return Error::invalid(required, "is required");
    }
  }
  const std::string project = field("project");
  const std::string preset = field("preset");
  Value overrides = overrides_of(field("config_overrides_raw"));
  if (const std::string version = field("version"); !version.empty()) {
    overrides.set(
        project == "mcp_gateway" ? "infrastructure.mcp_gateway_version" : "infrastructure.version",
        version);
  }
  Value arguments = Value::list();
  if (!preset.empty()) {
    arguments.push_back(preset);
  }
  Value forge = Value::object({{"project", project}, {"args", std::move(arguments)}});
  if (!overrides.empty()) {
    forge.set("configOverrides", std::move(overrides));
  }
  Value spec = Value::object({{"owner", field("owner", "fournos-dashboard")},
                              {"displayName", preset.empty() ? project : project + " " + preset},
                              {"pipeline", field("pipeline", "forge-test-only")},
                              {"cluster", field("cluster")},
                              {"exclusive", is_ticked(field("exclusive"))},
                              {"executionEngine", Value::object({{"forge", std::move(forge)}})}});
  if (const std::string sha = field("pull_sha"); !sha.empty()) {
    spec.set("env", Value::object({{"PULL_PULL_SHA", sha}}));
  }
  return Value::object(
      {{"apiVersion", api::kFournosJob.api_version()},
       {"kind", api::kFournosJob.name},
       {"metadata", Value::object({{"name", job_name_of(project, now)}, {"namespace", ns}})},
       {"spec", std::move(spec)}});
}

}  // namespace athanor::console
