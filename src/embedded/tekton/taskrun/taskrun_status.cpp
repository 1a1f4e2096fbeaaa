// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/taskrun/taskrun_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "embedded/tekton/model/params.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"
#include "embedded/tekton/taskrun/taskrun_resolve.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"

namespace athanor::tekton {
namespace {

// Kinds of entries in a step's termination message.
enum class EntryType : std::uint8_t {
  TaskResult = 1,
  Internal = 3,
  StepResult = 4,
  StepArtifacts = 5,
  TaskArtifacts = 6,
};

// The entries of a step's last words; empty when they are none.
Value entries_of(const Value& container_status) {
  auto words = json::parse(container_status["state"]["terminated"]["message"].as_string());
  return words && words->is_list() ? *std::move(words) : Value::list();
}

bool is_entry(const Value& entry, EntryType type) {
  return entry["type"].as_int() == static_cast<std::int64_t>(type);
}

std::string internal_entry(const Value& entries, std::string_view key) {
  for (const Value& entry : entries.items()) {
    if (is_entry(entry, EntryType::Internal) && entry["key"].as_string() == key) {
      return entry["value"].str();
    }
  }
  return {};
}

// A value as its result's declared type wants it: lists and objects are written as JSON.
Value typed_value(std::string_view text, std::string_view type) {
  if (type == "string") {
    return text;
  }
  auto value = json::parse(text);
  if (value && (value->is_list() || value->is_object())) {
    return *std::move(value);
  }
  return text;
}

Value step_results(const Value& step, const Value& entries) {
  Value results = Value::list();
  for (const Value& entry : entries.items()) {
    const Value& declared = named(step["results"], entry["key"].as_string());
    if (!is_entry(entry, EntryType::StepResult) || declared.is_null()) {
      continue;
    }
    Value value = typed_value(entry["value"].as_string(), declared_type(declared));
    results.push_back(Value::object(
        {{"name", entry["key"]}, {"type", value_type(value)}, {"value", std::move(value)}}));
  }
  return results;
}

// Adds the artifacts of one file of a step to `target`; merges the values of those with the same
// name. The file is the step's own: what is no artifact is left out.
void add_artifacts(const Value& file, Value& target) {
  for (const std::string_view part : {"inputs", "outputs"}) {
    for (const Value& artifact : file[part].items()) {
      if (!artifact.is_object()) {
        continue;
      }
      Value& list = target.member(part);
      if (!list.is_list()) {
        list = Value::list();
      }
      std::size_t at = 0;
      while (at < list.size() && list[at]["name"] != artifact["name"]) {
        ++at;
      }
      if (at == list.size()) {
        list.push_back(artifact);
        continue;
      }
      Value& values = list.item(at).member("values");
      if (!values.is_list()) {
        values = Value::list();
      }
      for (const Value& value : artifact["values"].items()) {
        if (std::ranges::find(values.items(), value) == values.items().end()) {
          values.push_back(value);
        }
      }
    }
  }
}

// The artifacts that entries of a type hold: {inputs, outputs}.
Value artifacts_in(const Value& entries, EntryType type) {
  Value artifacts = Value::object();
  for (const Value& entry : entries.items()) {
    if (is_entry(entry, type)) {
      add_artifacts(json::parse(entry["value"].as_string()).value_or(Value()), artifacts);
    }
  }
  return artifacts;
}

// How a step ended, with the bookkeeping of its words taken out.
void set_terminated(Value& state, const Value& step, const Value& container_status) {
  const Value entries = entries_of(container_status);
  Value terminated = container_status["state"]["terminated"];
  std::string reason = terminated["reason"].str();
  std::string termination = internal_entry(entries, "Reason");
  if (termination.empty()) {
    termination = reason;
  }
  if (reason != "Completed" && reason != "Error" && reason != "OOMKilled") {
    terminated.set("reason", terminated["exitCode"].as_int() == 0 ? "Completed" : "Error");
  }
  if (const std::string code = internal_entry(entries, "ExitCode"); !code.empty()) {
    terminated.set("exitCode", json::parse(code).value_or(Value(1)).as_int(1));
    termination = "Continued";
  }
  if (const std::string started = internal_entry(entries, "StartedAt"); parse_time(started)) {
    terminated.set("startedAt", format_time(*parse_time(started)));
  }
  // A text other than results says why the container could not run.
  if (!entries.empty() || terminated["exitCode"].as_int() == 0) {
    terminated.erase("message");
  }
  Value words = Value::list();
  for (const Value& entry : entries.items()) {
    if (!is_entry(entry, EntryType::Internal)) {
      words.push_back(entry);
    }
  }
  if (!words.empty()) {
    terminated.set("message", json::print(words));
  }
  state.set("terminated", std::move(terminated));
  state.set("terminationReason", termination);
  if (Value results = step_results(step, entries); !results.empty()) {
    state.set("results", std::move(results));
  }
  const Value artifacts = artifacts_in(entries, EntryType::StepArtifacts);
  for (const Member& part : artifacts.members()) {
    state.set(part.key(), part.value);
  }
}

const Value& container_status(const Object& pod, std::string_view container) {
  return named(pod.status()["containerStatuses"], container);
}

// What keeps a pod from starting, in words.
std::string waiting_message(const Object& pod) {
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    const std::string_view message = status["state"]["waiting"]["message"].as_string();
    if (!message.empty()) {
      return fmt::format("build step {} is pending with reason {}",
                         quoted(status["name"].as_string()), quoted(message));
    }
  }
  for (const Value& condition : pod.status()["conditions"].items()) {
    if (condition["status"].as_string() != "True") {
      return fmt::format("pod status {}:{}; message: {}", quoted(condition["type"].as_string()),
                         quoted(condition["status"].as_string()),
                         quoted(condition["message"].as_string()));
    }
  }
  const std::string_view message = pod.status()["message"].as_string();
  return message.empty() ? "Pending" : std::string(message);
}

// A step that can never start: its image, or its configuration.
std::optional<Outcome> unstartable(const Object& task_run, const Value& steps) {
  for (const Value& step : steps.items()) {
    const std::string_view reason = step["waiting"]["reason"].as_string();
    const std::string_view message = step["waiting"]["message"].as_string();
    const std::string intro = fmt::format(
        "the step {} in TaskRun {}", quoted(step["name"].as_string()), quoted(task_run.name()));
    if (reason == "ImagePullBackOff" || reason == "InvalidImageName") {
      return Outcome{
          .status = "False",
          .reason = "TaskRunImagePullFailed",
          .message = fmt::format(
              "{} failed to pull the image {}. The pod errored with the message: \"{}.\"", intro,
              quoted(step["imageID"].as_string()), message)};
    }
    if (reason == "CreateContainerConfigError") {
      return Outcome{
          .status = "False",
          .reason = "CreateContainerConfigError",
          .message =
              message.empty()
                  ? "Failed to create pod due to config error"
                  : fmt::format("{} failed to start. The pod errored with the message: \"{}.\"",
                                intro, message)};
    }
  }
  return std::nullopt;
}

// A sidecar that ended with an error of its own.
bool failed_sidecar(const Value& container_status) {
  return container_status["name"].as_string().starts_with("sidecar-") &&
         container_status["state"]["terminated"]["exitCode"].as_int() != 0;
}

Outcome failure(const Object& pod, const Value& steps, const Settings& settings) {
  Outcome outcome{.status = "False", .reason = "Failed"};
  const auto precise = [&](std::string_view reason) {
    if (settings.precise_failure_reasons) {
      outcome.reason = reason;
    }
  };
  if (pod.status()["reason"].as_string() == "Evicted") {
    precise("PodEvicted");
    outcome.message = pod.status()["message"].str();
    return outcome;
  }
  for (const Value& step : steps.items()) {
    const Value& terminated = step["terminated"];
    const std::string_view why = step["terminationReason"].as_string();
    if (terminated.is_null() || terminated["exitCode"].as_int() == 0 || why == "Continued" ||
        why == "Skipped") {
      continue;
    }
    const std::string container = quoted(step["container"].as_string());
    if (why == "TimeoutExceeded") {
      precise("StepFailed");
      outcome.message = container + " exited because the step exceeded the specified timeout limit";
      return outcome;
    }
    const std::string_view reason = terminated["reason"].as_string();
    precise(reason == "OOMKilled" ? "StepOOM" : "StepFailed");
    outcome.message =
        fmt::format("{} exited with code {}", container, terminated["exitCode"].as_int());
    if (!reason.empty()) {
      outcome.message += ": " + std::string(reason);
    }
    return outcome;
  }
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    if (failed_sidecar(status)) {
      precise(status["state"]["terminated"]["reason"].as_string() == "OOMKilled" ? "SidecarOOM"
                                                                                 : "SidecarFailed");
      outcome.message =
          fmt::format("{} exited with code {}: {}", quoted(status["name"].as_string()),
                      status["state"]["terminated"]["exitCode"].as_int(),
                      status["state"]["terminated"]["reason"].as_string());
      return outcome;
    }
  }
  const std::string_view message = pod.status()["message"].as_string();
  outcome.message =
      message.empty() ? "build failed for unspecified reasons." : std::string(message);
  return outcome;
}

bool lacks_resources(const Object& pod) {
  const Value& scheduled = find_condition(pod.status()["conditions"], "PodScheduled");
  return scheduled["reason"].as_string() == "Unschedulable" &&
         scheduled["message"].as_string().find("Insufficient") != std::string_view::npos;
}

// "<r>": task result is expected to be …, of each result of another type than declared.
std::string type_problems(const Value& declarations, const Value& results) {
  std::vector<std::string> problems;
  for (const Value& result : results.items()) {
    const std::string type = declared_type(named(declarations, result["name"].as_string()));
    const std::string_view actual = value_type(result["value"]);
    if (type != actual) {
      problems.push_back(fmt::format(
          "{}: task result is expected to be {} type but was initialized to a different type {}",
          quoted(result["name"].as_string()), quoted(type), quoted(actual)));
    }
  }
  return join(problems, ", ");
}

}  // namespace

Value step_states(const Value& task_spec, const Object& pod) {
  Value states = Value::list();
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    const Value& step = task_spec["steps"][i];
    const std::string container = step_container(step, i);
    const Value& status = container_status(pod, container);
    if (status.is_null()) {
      continue;
    }
    Value state = Value::object({{"name", step_name(step, i)}, {"container", container}});
    if (!status["imageID"].as_string().empty()) {
      state.set("imageID", status["imageID"]);
    }
    const Value& now = status["state"];
    if (now.contains("terminated")) {
      set_terminated(state, step, status);
    } else if (now.contains("running")) {
      state.set("running", now["running"]);
    } else if (now.contains("waiting")) {
      state.set("waiting", now["waiting"]);
    }
    states.push_back(std::move(state));
  }
  return states;
}

Value sidecar_states(const Value& task_spec, const Object& pod) {
  Value states = Value::list();
  for (std::size_t i = 0; i < task_spec["sidecars"].size(); ++i) {
    const Value& sidecar = task_spec["sidecars"][i];
    const std::string container = sidecar_container(sidecar, i);
    const Value& status = container_status(pod, container);
    if (status.is_null()) {
      continue;
    }
    Value state = Value::object({{"name", sidecar["name"]}, {"container", container}});
    if (!status["imageID"].as_string().empty()) {
      state.set("imageID", status["imageID"]);
    }
    for (const std::string_view member : {"terminated", "running", "waiting"}) {
      if (const Value* now = status["state"].find(member)) {
        state.set(member, *now);
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

Value terminated_steps(Value steps, std::string_view pod, std::string_view reason, Instant now) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].contains("terminated")) {
      continue;
    }
    Value& step = steps.item(i);
    const Value started = step["running"]["startedAt"].is_string() ? step["running"]["startedAt"]
                                                                   : Value(format_time(now));
    step.set("terminated",
             Value::object({{"exitCode", 1},
                            {"reason", reason},
                            {"message", fmt::format("Step {} terminated as pod {} is terminated",
                                                    step["name"].as_string(), pod)},
                            {"startedAt", started},
                            {"finishedAt", format_time(now)}}));
    step.set("terminationReason", reason);
    step.erase("running");
    step.erase("waiting");
  }
  return steps;
}

Result<Value> task_results(const Value& task_spec, const Object& pod) {
  const Value& declarations = task_spec["results"];
  std::map<std::string, Value> written;
  Replacements from_steps;
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    const Value& step = task_spec["steps"][i];
    const Value entries = entries_of(container_status(pod, step_container(step, i)));
    for (const Value& entry : entries.items()) {
      const Value& declared = named(declarations, entry["key"].as_string());
      if (is_entry(entry, EntryType::TaskResult) && !declared.is_null()) {
        written[entry["key"].str()] =
            typed_value(entry["value"].as_string(), declared_type(declared));
      }
    }
    const Value own = step_results(step, entries);
    for (const Value& result : own.items()) {
      from_steps.set("steps." + step_name(step, i) + ".results." + result["name"].str(),
                     result["value"]);
    }
  }
  Value results = Value::list();
  std::map<std::string, std::vector<std::string>> missing_keys;
  for (const Value& declared : declarations.items()) {
    const std::string name = declared["name"].str();
    auto found = written.find(name);
    if (const auto variable = only_variable(declared["value"].as_string())) {
      if (auto value = from_steps.find(*variable)) {
        found = written.insert_or_assign(name, *std::move(value)).first;
      }
    }
    if (found == written.end()) {
      continue;
    }
    for (const Member& property : declared["properties"].members()) {
      if (found->second.is_object() && !found->second.contains(property.key())) {
        missing_keys[name].emplace_back(property.key());
      }
    }
    results.push_back(Value::object(
        {{"name", name}, {"type", value_type(found->second)}, {"value", found->second}}));
  }
  if (const std::string problems = type_problems(declarations, results); !problems.empty()) {
    return Error::bad_request(user_error_prefix() +
                              "Provided results don't match declared results; may be invalid JSON "
                              "or missing result declaration:  " +
                              problems);
  }
  if (!missing_keys.empty()) {
    return Error::bad_request(
        user_error_prefix() +
        "missing keys for these results which are required in TaskResult's properties " +
        go_map(missing_keys));
  }
  return results;
}

Value task_artifacts(const Value& task_spec, const Object& pod) {
  Value artifacts = Value::object();
  for (std::size_t i = 0; i < task_spec["steps"].size(); ++i) {
    const Value entries =
        entries_of(container_status(pod, step_container(task_spec["steps"][i], i)));
    for (const EntryType type : {EntryType::StepArtifacts, EntryType::TaskArtifacts}) {
      add_artifacts(artifacts_in(entries, type), artifacts);
    }
  }
  return artifacts;
}

std::string oversized_result(const Object& pod, const Settings& settings) {
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    const Value entries = entries_of(status);
    for (const Value& entry : entries.items()) {
      const auto size = static_cast<std::int64_t>(entry["value"].as_string().size());
      if (!is_entry(entry, EntryType::Internal) && size > settings.max_result_size) {
        return fmt::format("result {} of {} has {} bytes, more than the allowed {}",
                           quoted(entry["key"].as_string()), quoted(status["name"].as_string()),
                           size, settings.max_result_size);
      }
    }
  }
  return {};
}

Outcome pod_outcome(const Object& task_run, const Value& task_spec, const Object& pod,
                    const Value& steps, const Settings& settings) {
  const std::string_view phase = pod.status()["phase"].as_string();
  bool all_ended = steps.size() == task_spec["steps"].size();
  bool any_failed = phase == "Failed";
  for (const Value& step : steps.items()) {
    all_ended = all_ended && step.contains("terminated");
    any_failed = any_failed || (step["terminated"]["exitCode"].as_int() != 0 &&
                                step["terminationReason"].as_string() != "Continued");
  }
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    any_failed = any_failed || failed_sidecar(status);
  }
  if (phase == "Failed" || phase == "Succeeded" || all_ended) {
    if (any_failed) {
      return failure(pod, steps, settings);
    }
    return {
        .status = "True", .reason = "Succeeded", .message = "All Steps have completed executing"};
  }
  if (auto never = unstartable(task_run, steps)) {
    return *std::move(never);
  }
  if (phase == "Running") {
    return {.status = "Unknown",
            .reason = "Running",
            .message = "Not all Steps in the Task have finished executing"};
  }
  if (lacks_resources(pod)) {
    return {.status = "Unknown",
            .reason = "ExceededNodeResources",
            .message = "TaskRun Pod exceeded available resources"};
  }
  return {.status = "Unknown", .reason = "Pending", .message = waiting_message(pod)};
}

}  // namespace athanor::tekton
