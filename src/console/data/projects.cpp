// SPDX-License-Identifier: Apache-2.0
#include "console/data/projects.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console {
namespace {

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& one : list.items()) {
    texts.push_back(one.str());
  }
  return texts;
}

// Projects of a checkout: every projects/NAME with orchestration/, presets from its preset files.
std::vector<Project> scan_repository(const std::string& root) {
  std::vector<Project> projects;
  const auto folders = list_folder(root + "/projects");
  if (!folders.ok()) {
    return projects;
  }
  for (const std::string& name : *folders) {
    const std::string place = fmt::format("{}/projects/{}/orchestration", root, name);
    if (name == "core" || name.starts_with('.') || !list_folder(place).ok()) {
      continue;
    }
    std::set<std::string> presets;
    for (const std::string& file : list_folder(place + "/presets.d").value_or({})) {
      const auto text = file.ends_with(".yaml")
                            ? read_text_file(fmt::format("{}/presets.d/{}", place, file))
                            : Result<std::string>(Error::not_found(file));
      const auto document = text.ok() ? yaml::parse(*text) : Result<Value>(text.error());
      if (document.ok()) {
        for (const Member& member : document->members()) {
          presets.emplace(member.key());
        }
      }
    }
    projects.push_back({.name = name, .presets = {presets.begin(), presets.end()}});
  }
  std::ranges::sort(projects, {}, &Project::name);
  return projects;
}

}  // namespace

std::vector<Project> parse_projects(std::string_view text) {
  std::vector<Project> projects;
  const auto document = yaml::parse(text);
  if (!document.ok()) {
    log::warn("the projects file cannot be read", {{"error", document.error().message}});
    return projects;
  }
  for (const Value& one : (*document)["projects"].items()) {
    if (one.is_object() && !one["name"].as_string().empty()) {
      projects.push_back({.name = one["name"].str(),
                          .cluster = one["cluster"].str(),
                          .presets = texts_of(one["presets"]),
                          .config_keys = texts_of(one["config_keys"])});
    }
  }
  return projects;
}

std::vector<Project> read_projects(const Settings& settings) {
  if (!settings.forge_repo.empty() && list_folder(settings.forge_repo + "/projects").ok()) {
    return scan_repository(settings.forge_repo);
  }
  const auto text = read_text_file(settings.projects_file);
  return text.ok() ? parse_projects(*text) : std::vector<Project>();
}

Value to_value(const Project& project) {
  Value presets = Value::list();
  for (const std::string& preset : project.presets) {
    presets.push_back(preset);
  }
  Value keys = Value::list();
  for (const std::string& key : project.config_keys) {
    keys.push_back(key);
  }
  return Value::object({{"name", project.name},
                        {"cluster", project.cluster},
                        {"presets", std::move(presets)},
                        {"configKeys", std::move(keys)}});
}

}  // namespace athanor::console
