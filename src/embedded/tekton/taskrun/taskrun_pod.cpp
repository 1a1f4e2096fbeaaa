// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/taskrun_pod.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/digest.hpp"
#include "embedded/tekton/model/names.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/model/workspaces.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

constexpr std::int64_t kNoDeadline = 2147483647;  // activeDeadlineSeconds when there is no timeout
constexpr std::string_view kPreamble = "#!/bin/sh\nset -e\n";

void copy_members(const Value& from, Value& to, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Value* value = from.find(name)) {
      to.set(name, *value);
    }
  }
}

std::string script_text(const Value& step) {
  const std::string_view script = step["script"].as_string();
  return script.starts_with("#!") ? std::string(script)
                                  : std::string(kPreamble) + std::string(script);
}

// Resources of a step: those of stepSpecs, else its own.
const Value& resources_of(const Object& task_run, const Value& step) {
  const Value& given = named(task_run.spec()["stepSpecs"], step["name"].as_string());
  return given.contains("computeResources") ? given["computeResources"] : step["computeResources"];
}

// Mounts of workspaces: all of them, or where any step lists some, only those it lists.
void mount_workspaces(Value& container, const Value& step, const WorkspaceVolumes& workspaces,
                      const std::set<std::string>& isolated) {
  for (const WorkspaceMount& shared : workspaces.mounts) {
    const Value& own = named(step["workspaces"], shared.workspace);
    if (isolated.contains(shared.workspace) && own.is_null()) {
      continue;
    }
    Value mount = shared.mount;
    if (!own["mountPath"].as_string().empty()) {
      mount.set("mountPath", own["mountPath"]);
    }
    // What the container mounts there itself wins.
    const auto mounted = container["volumeMounts"].items();
    if (std::any_of(mounted.begin(), mounted.end(),
                    [&](const Value& one) { return one["mountPath"] == mount["mountPath"]; })) {
      continue;
    }
    container.member("volumeMounts").push_back(std::move(mount));
  }
}

std::set<std::string> isolated_workspaces(const Value& spec) {
  std::set<std::string> names;
  for (const std::string_view part : {"steps", "sidecars"}) {
    for (const Value& one : spec[part].items()) {
      for (const Value& workspace : one["workspaces"].items()) {
        names.insert(workspace["name"].str());
      }
    }
  }
  return names;
}

Value container_of(const Object& task_run, const ResolvedTask& task, std::size_t index,
                   const WorkspaceVolumes& workspaces, const Value& pod_env) {
  const Value& step = task.spec["steps"][index];
  Value container =
      Value::object({{"name", step_container(step, index)}, {"image", step["image"]}});
  copy_members(step, container,
               {"command", "args", "workingDir", "envFrom", "volumeMounts", "volumeDevices",
                "imagePullPolicy", "securityContext"});
  if (step.contains("script")) {
    const std::string hash = md5_hex(step["script"].as_string()).substr(0, 5);
    const std::string path = "/tekton/scripts/script-" + std::to_string(index) + "-" + hash;
    container.set("command", Value::list({path}));
  }
  if (Value env = merged_named(step["env"], pod_env); !env.empty()) {
    container.set("env", std::move(env));
  }
  if (const Value& resources = resources_of(task_run, step); resources.is_object()) {
    container.set("resources", resources);
  }
  const Value& whole = task_run.spec()["computeResources"];
  if (whole.is_object()) {
    // Limits hold for every step; the requests of the task are counted once.
    Value resources = Value::object();
    copy_members(whole, resources, {"limits"});
    if (index == 0) {
      copy_members(whole, resources, {"requests"});
    }
    container.set("resources", std::move(resources));
  }
  mount_workspaces(container, step, workspaces, isolated_workspaces(task.spec));
  container.set("terminationMessagePath", "/tekton/termination");
  return container;
}

// One entry of annotation athanor.dev/steps.
Value step_entry(const Value& spec, std::size_t index, const Settings& settings) {
  const Value& step = spec["steps"][index];
  Value entry = Value::object({{"container", step_container(step, index)}});
  if (step.contains("script")) {
    entry.set("script", script_text(step));
  }
  const auto names = [](const Value& results) {
    Value list = Value::list();
    for (const Value& result : results.items()) {
      list.push_back(result["name"]);
    }
    return list;
  };
  if (Value results = names(spec["results"]); !results.empty()) {
    entry.set("results", std::move(results));
  }
  if (Value results = names(step["results"]); !results.empty()) {
    entry.set("stepResults", std::move(results));
  }
  if (settings.artifacts) {
    entry.set("artifacts", true);
  }
  for (const std::string_view member : {"onError", "timeout"}) {
    if (!step[member].as_string().empty()) {
      entry.set(member, step[member]);
    }
  }
  if (!step["when"].empty()) {
    entry.set("when", step["when"]);
  }
  constexpr std::pair<std::string_view, std::string_view> kCopies[] = {{"stdoutConfig", "stdout"},
                                                                       {"stderrConfig", "stderr"}};
  for (const auto& [config, member] : kCopies) {
    if (const Value& path = step[config]["path"]; !path.as_string().empty()) {
      entry.set(member, path);
    }
  }
  return entry;
}

Value sidecar_entry(const Value& sidecar, std::size_t index) {
  Value entry =
      Value::object({{"container", sidecar_container(sidecar, index)}, {"sidecar", true}});
  if (sidecar.contains("script")) {
    entry.set("script", script_text(sidecar));
  }
  if (!sidecar["restartPolicy"].as_string().empty()) {
    entry.set("restartPolicy", sidecar["restartPolicy"]);
  }
  return entry;
}

// A container beside the steps.
Value sidecar_of(const Object& task_run, const ResolvedTask& task, std::size_t index,
                 const WorkspaceVolumes& workspaces, const Value& pod_env) {
  const Value& sidecar = task.spec["sidecars"][index];
  Value container =
      Value::object({{"name", sidecar_container(sidecar, index)}, {"image", sidecar["image"]}});
  copy_members(
      sidecar, container,
      {"command", "args", "workingDir", "envFrom", "ports", "volumeMounts", "imagePullPolicy",
       "securityContext", "readinessProbe", "livenessProbe", "startupProbe", "lifecycle", "stdin",
       "stdinOnce", "tty", "terminationMessagePath", "terminationMessagePolicy"});
  if (sidecar.contains("script")) {
    container.set("command", Value::list({"/tekton/scripts/sidecar-" + std::to_string(index)}));
  }
  if (Value env = merged_named(sidecar["env"], pod_env); !env.empty()) {
    container.set("env", std::move(env));
  }
  const Value& given =
      named(task_run.spec()["sidecarSpecs"], sidecar["name"].as_string())["computeResources"];
  if (const Value& resources = given.is_object() ? given : sidecar["computeResources"];
      resources.is_object()) {
    container.set("resources", resources);
  }
  mount_workspaces(container, sidecar, workspaces, isolated_workspaces(task.spec));
  return container;
}

Result<Value> volumes_of(const ResolvedTask& task, const WorkspaceVolumes& workspaces,
                         const Value& pod_template) {
  Value volumes = workspaces.volumes;
  for (const Value* more : {&task.spec["volumes"], &pod_template["volumes"]}) {
    for (const Value& volume : more->items()) {
      const std::string_view name = volume["name"].as_string();
      if (!named(volumes, name).is_null()) {
        return Error::bad_request("multiple volumes with same name " + quoted(name));
      }
      volumes.push_back(volume);
    }
  }
  return volumes;
}

Value metadata_of(const Object& task_run, const Value& labels, const Value& annotations,
                  const Value& spec, const Settings& settings) {
  Value pod_labels = labels.is_object() ? labels : Value::object();
  pod_labels.set(kTaskRunLabel, task_run.name());
  pod_labels.set(kTaskRunUidLabel, task_run.uid());
  pod_labels.set(kManagedByLabel, "tekton-pipelines");
  Value pod_annotations = inherited_annotations(annotations);
  pod_annotations.erase(kManagedByLabel);
  pod_annotations.set(kReleaseAnnotation, kRelease);
  pod_annotations.set("tekton.dev/ready", "READY");
  Value steps = Value::list();
  for (std::size_t i = 0; i < spec["steps"].size(); ++i) {
    steps.push_back(step_entry(spec, i, settings));
  }
  for (std::size_t i = 0; i < spec["sidecars"].size(); ++i) {
    steps.push_back(sidecar_entry(spec["sidecars"][i], i));
  }
  pod_annotations.set(kStepsAnnotation, json::print(steps));
  return Value::object(
      {{"name", current_pod_name(task_run)},
       {"namespace", task_run.ns()},
       {"labels", std::move(pod_labels)},
       {"annotations", std::move(pod_annotations)},
       {"ownerReferences", Value::list({OwnerReference{.api_version = "tekton.dev/v1",
                                                       .kind = "TaskRun",
                                                       .name = std::string(task_run.name()),
                                                       .uid = std::string(task_run.uid()),
                                                       .controller = true,
                                                       .block_owner_deletion = true}
                                            .to_value()})}});
}

// Returns the variables of a pod template without the forbidden ones.
Value allowed_env(const Value& env, const std::set<std::string, std::less<>>& forbidden) {
  Value allowed = Value::list();
  for (const Value& one : env.items()) {
    if (!forbidden.contains(one["name"].as_string())) {
      allowed.push_back(one);
    }
  }
  return allowed;
}

}  // namespace

std::string current_pod_name(const Object& task_run) {
  const Value& status = task_run.status();
  if (const std::string_view name = status["podName"].as_string(); !name.empty()) {
    return std::string(name);
  }
  return pod_name(task_run.name(), status["retriesStatus"].size());
}

std::optional<Duration> attempt_timeout(const Object& task_run, const Settings& settings) {
  const Duration limit = duration_of(task_run.spec()["timeout"]).value_or(settings.default_timeout);
  return limit == Duration::zero() ? std::nullopt : std::optional(limit);
}

Result<Value> make_pod(const Object& task_run, const Value& labels, const Value& annotations,
                       const ResolvedTask& task, const Settings& settings) {
  Value pod_template = merged_pod_templates(settings.default_pod_template, task.pod_template);
  if (!settings.forbidden_env.empty() && pod_template.contains("env")) {
    pod_template.set("env", allowed_env(pod_template["env"], settings.forbidden_env));
  }
  const WorkspaceVolumes workspaces = workspace_volumes(task.spec["workspaces"], task.bindings);
  ATHANOR_TRY(Value volumes, volumes_of(task, workspaces, pod_template));
  Value containers = Value::list();
  for (std::size_t i = 0; i < task.spec["steps"].size(); ++i) {
    containers.push_back(container_of(task_run, task, i, workspaces, pod_template["env"]));
  }
  for (std::size_t i = 0; i < task.spec["sidecars"].size(); ++i) {
    containers.push_back(sidecar_of(task_run, task, i, workspaces, pod_template["env"]));
  }
  Value spec = Value::object({{"restartPolicy", "Never"}});
  const Value& account = task_run.spec()["serviceAccountName"];
  spec.set("serviceAccountName",
           account.as_string().empty() ? Value(settings.default_service_account) : account);
  const auto timeout = attempt_timeout(task_run, settings);
  spec.set(
      "activeDeadlineSeconds",
      timeout ? std::chrono::ceil<std::chrono::seconds>(*timeout * 3 / 2).count() : kNoDeadline);
  for (const Member& member : pod_template.members()) {
    if (member.key() != "volumes" && member.key() != "env") {
      spec.set(member.key(), member.value);
    }
  }
  if (!volumes.empty()) {
    spec.set("volumes", std::move(volumes));
  }
  spec.set("containers", std::move(containers));
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", metadata_of(task_run, labels, annotations, task.spec, settings)},
       {"spec", std::move(spec)}});
}

}  // namespace athanor::tekton
