// SPDX-License-Identifier: Apache-2.0
// The Lab itself (lab.hpp).
#include "unit/embedded/tekton/lab.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/runs.hpp"
#include "embedded/tekton/validation/admission.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {

Lab::Lab() {
  world.on_create = [](test::FakeWorld&, Value& object) { apply_defaults(object); };
  ends = [](std::string_view, std::string_view) { return End{}; };
}

void Lab::put(std::string_view yaml) {
  const auto documents = yaml::parse_all(yaml);
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  for (Value document : *documents) {
    if (document["metadata"]["namespace"].is_null()) {
      document.member("metadata").set("namespace", "ns");
    }
    apply_defaults(document);
    world.put(std::move(document));
  }
}

void Lab::settle() {
  world.settle({&pipelinerun_operator(), &taskrun_operator()});
}

void Lab::play() {
  for (int round = 0; round < 100; ++round) {
    settle();
    std::vector<std::string> open;
    for (const Object& pod : world.list(api::kPod)) {
      const std::string_view phase = pod.status()["phase"].as_string();
      if (phase != "Succeeded" && phase != "Failed") {
        open.emplace_back(pod.name());
      }
    }
    if (open.empty()) {
      return;
    }
    for (const std::string& name : open) {
      start(name);
    }
    settle();
    for (const std::string& name : open) {
      if (has_pod(name)) {
        finish(name);
      }
    }
  }
  ADD_FAILURE() << "the lab never comes to rest";
}

void Lab::start(std::string_view pod) {
  world.update(api::kPod, {"ns", std::string(pod)}, [&](Value& object) {
    Value statuses = Value::list();
    for (const Value& container : object["spec"]["containers"].items()) {
      statuses.push_back(Value::object(
          {{"name", container["name"]},
           {"imageID", container["image"]},
           {"state", Value::object(
                         {{"running", Value::object({{"startedAt", format_time(world.now)}})}})}}));
    }
    object.set("status",
               Value::object({{"phase", "Running"}, {"containerStatuses", std::move(statuses)}}));
  });
}

void Lab::finish(std::string_view pod) {
  world.update(api::kPod, {"ns", std::string(pod)}, [&](Value& object) {
    const std::string task_run = object["metadata"]["labels"][kTaskRunLabel].str();
    Value statuses = Value::list();
    bool failed = false;
    for (const Value& container : object["spec"]["containers"].items()) {
      End end = failed ? End{.exit_code = 1, .reason = "Skipped"}
                       : ends(task_run, container["name"].as_string());
      failed = failed || end.exit_code != 0;
      if (end.reason.empty()) {
        end.reason = end.exit_code == 0 ? "Completed" : "Error";
      }
      Value terminated = Value::object({{"exitCode", end.exit_code},
                                        {"reason", end.reason},
                                        {"startedAt", format_time(world.now)},
                                        {"finishedAt", format_time(world.now)}});
      if (!end.message.empty()) {
        terminated.set("message", end.message);
      }
      statuses.push_back(Value::object({{"name", container["name"]},
                                        {"imageID", container["image"]},
                                        {"state", Value::object({{"terminated", terminated}})}}));
    }
    object.set("status", Value::object({{"phase", failed ? "Failed" : "Succeeded"},
                                        {"containerStatuses", std::move(statuses)}}));
  });
}

void Lab::set_pod_status(std::string_view pod, std::string_view yaml) {
  const auto status = yaml::parse(yaml);
  ASSERT_TRUE(status.ok()) << status.error().message;
  world.update(api::kPod, {"ns", std::string(pod)},
               [&](Value& object) { object.set("status", *status); });
}

void Lab::cancel(std::string_view run, std::string_view how) {
  world.update(api::kPipelineRun, {"ns", std::string(run)},
               [&](Value& object) { object.member("spec").set("status", how); });
}

void Lab::advance(Duration duration) {
  world.settle_for({&pipelinerun_operator(), &taskrun_operator()}, duration);
}

Object Lab::run(std::string_view name) const {
  return world.must(api::kPipelineRun, {"ns", std::string(name)});
}
Object Lab::task_run(std::string_view name) const {
  return world.must(api::kTaskRun, {"ns", std::string(name)});
}
Object Lab::pod(std::string_view name) const {
  return world.must(api::kPod, {"ns", std::string(name)});
}
bool Lab::has_task_run(std::string_view name) const {
  return world.has(api::kTaskRun, {"ns", std::string(name)});
}
bool Lab::has_pod(std::string_view name) const {
  return world.has(api::kPod, {"ns", std::string(name)});
}

std::string Lab::outcome(const Object& run) {
  const Value& condition = succeeded(run);
  return condition["status"].str() + "/" + condition["reason"].str() + ": " +
         condition["message"].str();
}

std::string Lab::skipped(const Object& run) {
  std::string text;
  for (const Value& task : run.status()["skippedTasks"].items()) {
    text += (text.empty() ? "" : ", ") + task["name"].str() + " (" + task["reason"].str() + ")";
  }
  return text;
}

int Lab::status_writes() const {
  int count = 0;
  for (const test::Write& write : world.writes) {
    count += write.verb == "status" ? 1 : 0;
  }
  return count;
}

std::string results_message(const std::map<std::string, std::string>& results) {
  Value entries = Value::list();
  for (const auto& [name, value] : results) {
    entries.push_back(Value::object({{"key", name}, {"value", value}, {"type", 1}}));
  }
  return json::print(entries);
}

}  // namespace athanor::tekton
