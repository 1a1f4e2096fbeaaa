// SPDX-License-Identifier: Apache-2.0
// The Lab itself (lab.hpp).
#include "unit/embedded/tekton/lab.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/runs.hpp"
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
  test::play_pods(world, {&pipelinerun_operator(), &taskrun_operator()}, ends_of_pods());
}

void Lab::start(std::string_view pod) {
  test::start_pod(world, {"ns", std::string(pod)});
}

void Lab::finish(std::string_view pod) {
  test::end_pod(world, {"ns", std::string(pod)}, ends_of_pods());
}

test::ContainerEnds Lab::ends_of_pods() const {
  return [this](const Value& pod, std::string_view container) {
    return ends(pod["metadata"]["labels"][kTaskRunLabel].as_string(), container);
  };
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
