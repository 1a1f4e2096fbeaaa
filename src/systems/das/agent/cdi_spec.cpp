// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/cdi_spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/text/json.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kAnnotation = "mig.das.com/allocation";
constexpr std::string_view kDevicesAnnotation = "mig.das.com/devices";  // ids, with commas between
constexpr std::string_view kSuffix = ".cdi.json";

std::string path_of(const CdiSpec& spec, std::string_view folder) {
  return fmt::format("{}/{}", folder, spec.file_name());
}

}  // namespace

std::string CdiSpec::file_name() const {
  return fmt::format("{}_{}{}", cdi_class_of(profile), id, kSuffix);
}

std::string CdiSpec::device() const {
  return fmt::format("{}={}", cdi_kind_of(profile), id);
}

std::string print_cdi(const CdiSpec& spec, std::string_view folder) {
  Value env = Value::list();
  for (const std::string& variable : spec.env) {
    env.push_back(variable);
  }
  Value edits = Value::object({{"env", std::move(env)}});
  if (!spec.mounts.empty()) {
    Value mounts = Value::list();
    for (const Mount& mount : spec.mounts) {
      mounts.push_back(
          Value::object({{"hostPath", mount.host},
                         {"containerPath", mount.container},
                         {"options", Value::list({"rw", "nosuid", "nodev", "bind"})}}));
    }
    edits.set("mounts", std::move(mounts));
  }
  if (spec.poststop) {
    edits.set("hooks",
              Value::list({Value::object({{"hookName", "poststop"},
                                          {"path", "/bin/rm"},
                                          {"args", Value::list({"-f", path_of(spec, folder)})}})}));
  }
  Value device = Value::object({{"name", spec.id}});
  Value annotations = Value::object();
  if (!spec.claims.empty()) {
    annotations.set(kAnnotation, json::print(Value::list(spec.claims)));
  }
  if (!spec.ids.empty()) {
    annotations.set(kDevicesAnnotation, fmt::format("{}", fmt::join(spec.ids, ",")));
  }
  if (!annotations.empty()) {
    device.set("annotations", std::move(annotations));
  }
  device.set("containerEdits", std::move(edits));
  return json::print(Value::object({{"cdiVersion", "0.8.0"},
                                    {"kind", cdi_kind_of(spec.profile)},
                                    {"devices", Value::list({std::move(device)})},
                                    {"containerEdits", Value::object()}}));
}

std::optional<CdiSpec> parse_cdi(std::string_view text) {
  const auto document = json::parse(text);
  if (!document.ok()) {
    return std::nullopt;
  }
  std::string_view kind = (*document)["kind"].as_string();
  const std::string prefix = std::string(kResourcePrefix) + "c";
  const bool share = is_share_resource(kind) && std::ranges::count(kind, '/') == 1;
  if ((!share && !kind.starts_with(prefix)) || (*document)["devices"].size() != 1) {
    return std::nullopt;
  }
  const Value& device = (*document)["devices"][0];
  CdiSpec spec{
      .profile = share ? resource_of_kind(kind) : decode_profile(kind.substr(prefix.size())),
      .id = device["name"].str()};
  if (spec.id.empty() || spec.id.find('/') != std::string::npos ||
      (!share && !parse_profile(spec.profile))) {
    return std::nullopt;
  }
  for (const Value& mount : device["containerEdits"]["mounts"].items()) {
    spec.mounts.push_back(
        {.host = mount["hostPath"].str(), .container = mount["containerPath"].str()});
  }
  for (const Value& variable : device["containerEdits"]["env"].items()) {
    spec.env.push_back(variable.str());
  }
  for (const Value& hook : device["containerEdits"]["hooks"].items()) {
    spec.poststop = spec.poststop || hook["hookName"].as_string() == "poststop";
  }
  const auto claims = json::parse(device["annotations"][kAnnotation].as_string());
  if (claims.ok()) {
    spec.claims.assign(claims->items().begin(), claims->items().end());
  }
  std::string_view ids = device["annotations"][kDevicesAnnotation].as_string();
  while (!ids.empty()) {
    const std::size_t comma = std::min(ids.find(','), ids.size());
    if (comma > 0) {
      spec.ids.emplace_back(ids.substr(0, comma));
    }
    ids.remove_prefix(std::min(comma + 1, ids.size()));
  }
  return spec;
}

bool is_cdi_file(std::string_view name) {
  const std::size_t bar = name.find('_');
  if (!name.ends_with(kSuffix) || bar == std::string_view::npos) {
    return false;
  }
  if (name.starts_with("c") && parse_profile(name.substr(1, bar - 1))) {
    return true;
  }
  std::string resource(name.substr(0, bar));  // its first dash after the group was a slash
  const std::size_t group = resource.find(".com-");
  if (group == std::string::npos) {
    return false;
  }
  resource.replace(group, 5, ".com/");
  return is_share_resource(resource);
}

std::vector<std::string> slice_environment(const std::vector<std::string>& slices,
                                           std::string_view cuda) {
  std::string names;
  std::string numbers;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    names += (i == 0 ? "" : ",") + slices[i];
    numbers += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  if (slices.empty()) {
    names = "test";  // no claim at all (docs/spec/das.md 8.7)
    numbers = names;
  }
  return {"NVIDIA_VISIBLE_DEVICES=" + names,
          "CUDA_VISIBLE_DEVICES=" + (cuda == "same" ? names : numbers)};
}

}  // namespace athanor::das
