// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/workspaces.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "embedded/tekton/model/names.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

void collect_workspaces(const Value& tree, std::set<std::string>& names) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      const std::string plain = dotted(variable.name);
      constexpr std::string_view kPrefix = "workspaces.";
      const std::size_t end = plain.rfind('.');
      if (plain.starts_with(kPrefix) && end > kPrefix.size()) {
        names.insert(plain.substr(kPrefix.size(), end - kPrefix.size()));
      }
    }
  }
  for (const Value& item : tree.items()) {
    collect_workspaces(item, names);
  }
  for (const Member& member : tree.members()) {
    collect_workspaces(member.value, names);
  }
}

std::string joined_path(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) {
    return std::string(a) + std::string(b);
  }
  return std::string(a) + (a.ends_with('/') ? "" : "/") + std::string(b);
}

// A binding of the run as the TaskRun gets it.
Value binding_for_task(const Object& run, const Value& binding, std::string_view task_workspace,
                       std::string_view sub_path) {
  Value copy = binding;
  if (binding.contains("volumeClaimTemplate")) {
    const std::string_view base =
        binding.at({"volumeClaimTemplate", "metadata", "name"}).as_string();
    copy.erase("volumeClaimTemplate");
    copy.set_path({"persistentVolumeClaim", "claimName"},
                  claim_name(base, binding["name"].as_string(), run.uid()));
  }
  copy.set("name", task_workspace);
  if (const std::string path = joined_path(binding["subPath"].as_string(), sub_path);
      !path.empty()) {
    copy.set("subPath", path);
  }
  return copy;
}

// The pod volume source of a binding: its one member besides name and subPath.
Value volume_of(const Value& binding) {
  Value volume = Value::object();
  for (const Member& member : binding.members()) {
    if (member.key() != "name" && member.key() != "subPath") {
      volume.set(member.key(), member.value);
    }
  }
  return volume;
}

}  // namespace

Value with_defaults(const Object& task_run, const Value& declarations,
                    const Value& default_binding) {
  Value bindings = task_run.spec()["workspaces"];
  if (!bindings.is_list()) {
    bindings = Value::list();
  }
  if (!default_binding.is_object()) {
    return bindings;
  }
  for (const Value& declared : declarations.items()) {
    const std::string_view name = declared["name"].as_string();
    if (!declared["optional"].as_bool() && named(bindings, name).is_null()) {
      Value binding = default_binding;
      binding.set("name", name);
      bindings.push_back(std::move(binding));
    }
  }
  return bindings;
}

Value with_claims(const Object& run, Value bindings) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    bindings.item(i) = binding_for_task(run, bindings[i], bindings[i]["name"].as_string(), {});
  }
  return bindings;
}

std::vector<Value> claims_of(const Object& run) {
  return claims_of(run, run.spec()["workspaces"]);
}

std::vector<Value> claims_of(const Object& run, const Value& bindings) {
  std::vector<Value> claims;
  for (const Value& binding : bindings.items()) {
    const Value& pattern = binding["volumeClaimTemplate"];
    if (!pattern.is_object()) {
      continue;
    }
    Value claim = pattern;
    claim.erase("status");
    claim.set("apiVersion", "v1").set("kind", "PersistentVolumeClaim");
    const std::string name =
        claim_name(pattern["metadata"]["name"].as_string(), binding["name"].as_string(), run.uid());
    claim.set_path({"metadata", "name"}, name);
    claim.set_path({"metadata", "namespace"}, run.ns());
    claim.set_path({"metadata", "ownerReferences"},
                   Value::list({OwnerReference{.api_version = std::string(run.api_version()),
                                               .kind = std::string(run.kind()),
                                               .name = std::string(run.name()),
                                               .uid = std::string(run.uid()),
                                               .controller = true,
                                               .block_owner_deletion = true}
                                    .to_value()}));
    claims.push_back(std::move(claim));
  }
  return claims;
}

Value task_run_workspaces(const Object& run, const Value& pipeline_task, const Value& task_spec) {
  Value bindings = Value::list();
  const auto bind = [&](std::string_view task_workspace, std::string_view workspace,
                        std::string_view sub_path) {
    const Value& binding = named(run.spec()["workspaces"], workspace);
    if (!binding.is_null() && named(bindings, task_workspace).is_null()) {
      bindings.push_back(binding_for_task(run, binding, task_workspace, sub_path));
    }
  };
  for (const Value& wanted : pipeline_task["workspaces"].items()) {
    const std::string_view name = wanted["name"].as_string();
    const std::string_view workspace = wanted["workspace"].as_string();
    bind(name, workspace.empty() ? name : workspace, wanted["subPath"].as_string());
  }
  if (task_spec.is_object()) {
    for (const Value& declared : task_spec["workspaces"].items()) {
      bind(declared["name"].as_string(), declared["name"].as_string(), {});
    }
    for (const std::string& used : used_workspaces(task_spec)) {
      bind(used, used, {});
    }
  }
  return bindings;
}

std::vector<std::string> used_workspaces(const Value& tree) {
  std::set<std::string> names;
  collect_workspaces(tree, names);
  return {names.begin(), names.end()};
}

Result<void> check_bindings(const Value& declarations, const Value& bindings) {
  for (const Value& declared : declarations.items()) {
    const std::string_view name = declared["name"].as_string();
    if (!declared["optional"].as_bool() && named(bindings, name).is_null()) {
      return Error::bad_request("declared workspace " + quoted(name) +
                                " is required but has not been bound");
    }
  }
  for (const Value& binding : bindings.items()) {
    const std::string_view name = binding["name"].as_string();
    if (named(declarations, name).is_null()) {
      return Error::bad_request("workspace binding " + quoted(name) +
                                " does not match any declared workspace");
    }
  }
  return {};
}

std::string workspace_path(const Value& declaration) {
  const std::string_view path = declaration["mountPath"].as_string();
  return path.empty() ? "/workspace/" + declaration["name"].str() : std::string(path);
}

WorkspaceVolumes workspace_volumes(const Value& declarations, const Value& bindings) {
  WorkspaceVolumes result;
  std::map<std::string, std::string> volume_of_claim;
  for (const Value& binding : bindings.items()) {
    const std::string_view name = binding["name"].as_string();
    const Value& declared = named(declarations, name);
    const std::string claim = binding.at({"persistentVolumeClaim", "claimName"}).str();
    std::string volume_name = workspace_volume_name(name);
    if (const auto shared = volume_of_claim.find(claim);
        !claim.empty() && shared != volume_of_claim.end()) {
      volume_name = shared->second;
    } else {
      Value volume = volume_of(binding);
      volume.set("name", volume_name);
      result.volumes.push_back(std::move(volume));
      if (!claim.empty()) {
        volume_of_claim[claim] = volume_name;
      }
    }
    Value mount = Value::object({{"name", volume_name}, {"mountPath", workspace_path(declared)}});
    if (const Value& path = binding["subPath"]; !path.as_string().empty()) {
      mount.set("subPath", path);
    }
    if (declared["readOnly"].as_bool()) {
      mount.set("readOnly", true);
    }
    result.mounts.push_back({std::string(name), std::move(mount)});
  }
  return result;
}

}  // namespace athanor::tekton
