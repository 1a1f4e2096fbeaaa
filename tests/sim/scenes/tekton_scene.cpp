// SPDX-License-Identifier: Apache-2.0
// One PipelineRun of five tasks, and a node that plays its pods.
#include <algorithm>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "base/check.hpp"
#include "embedded/apiserver/request/admission.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/validation/admission.hpp"
#include "kube/text/yaml.hpp"
#include "sim/scenes/invariants.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"

namespace athanor::sim {
namespace {

constexpr Duration kStepsTake = std::chrono::seconds(3);
constexpr Duration kSidecarsTake = std::chrono::minutes(45);  // a signal to end is not heard

struct PodClock {
  Instant since{};
  Instant now{};
  bool fails = false;
  [[nodiscard]] bool steps_end() const { return now >= since + kStepsTake; }
  [[nodiscard]] bool sidecars_end() const { return now >= since + kSidecarsTake; }
};

Value played_state(const PodClock& clock, bool sidecar) {
  if (sidecar ? !clock.sidecars_end() : !clock.steps_end()) {
    return Value::object({{"running", Value::object({{"startedAt", format_time(clock.since)}})}});
  }
  const bool failed = clock.fails && !sidecar;
  Value end = Value::object(
      {{"exitCode", failed ? 1 : 0},
       {"reason", failed ? "Error" : "Completed"},
       {"startedAt", format_time(clock.since)},
       {"finishedAt", format_time(clock.since + (sidecar ? kSidecarsTake : kStepsTake))}});
  if (!sidecar) {
    end.set("message", R"j([{"key":"r","value":"v","type":1}])j");
  }
  return Value::object({{"terminated", std::move(end)}});
}

// A node that runs the steps of every pod for three seconds, and its sidecars for long after them.
// Steps of TaskRun run-b fail; all write result r.
Plan play_node(const View& view, const Key& key, Instant now) {
  const auto pod = view.get(api::kPod, key);
  const std::string_view phase = pod ? pod->status()["phase"].as_string() : "Succeeded";
  if (!pod || pod->deleting() || phase == "Succeeded" || phase == "Failed") {
    return Plan::done();
  }
  const PodClock clock{.since = parse_time(pod->status()["startTime"].as_string()).value_or(now),
                       .now = now,
                       .fails = pod->label(tekton::kPipelineTaskLabel) == "b"};
  bool waits = !clock.steps_end();
  Value statuses = Value::list();
  for (const Value& container : pod->spec()["containers"].items()) {
    const bool sidecar = container["name"].as_string().starts_with("sidecar-");
    waits = waits || (sidecar && !clock.sidecars_end());
    Value state = played_state(clock, sidecar);
    const bool ready = state.contains("running");
    statuses.push_back(Value::object({{"name", container["name"]},
                                      {"image", container["image"]},
                                      {"imageID", container["image"]},
                                      {"ready", ready},
                                      {"restartCount", 0},
                                      {"state", std::move(state)}}));
  }
  Plan plan;
  plan.then(Status{.target = {&api::kPod, key},
                   .status = Value::object({{"phase", waits         ? "Running"
                                                      : clock.fails ? "Failed"
                                                                    : "Succeeded"},
                                            {"startTime", format_time(clock.since)},
                                            {"containerStatuses", std::move(statuses)}}),
                   .guard = {.uid = std::string(pod->uid())}});
  if (waits) {
    plan.wake_at(clock.since + (clock.steps_end() ? kSidecarsTake : kStepsTake));
  }
  return plan;
}

constexpr Operator kNode = stand_in<api::kPod>("play-node", play_node);

std::vector<apiserver::AdmissionStep> tekton_admission() {
  using apiserver::AdmissionAttributes;
  using apiserver::AdmissionContext;
  using apiserver::StatusResult;
  return {
      {.name = "TektonWebhooks",
       .mutate = [](AdmissionAttributes& request, const AdmissionContext&) -> StatusResult<void> {
         if (request.subresource.empty() && !request.object.is_null()) {
           tekton::apply_defaults(request.object, request.operation == apiserver::Operation::Create
                                                      ? tekton::WriteKind::Create
                                                      : tekton::WriteKind::Update);
         }
         return {};
       },
       .validate = [](AdmissionAttributes& request, const AdmissionContext&) -> StatusResult<void> {
         if (!request.subresource.empty() || request.object.is_null()) {
           return {};
         }
         const Value* old = request.old_object.is_null() ? nullptr : &request.old_object;
         if (const auto denial = tekton::validate(request.object, old)) {
           return apiserver::status::of(*denial);
         }
         return {};
       }}};
}

constexpr std::string_view kObjects = R"y(
apiVersion: tekton.dev/v1
kind: Task
metadata: {name: work, namespace: default, labels: {from: task}}
spec:
  params: [{name: p, default: none}]
  results: [{name: r}]
  steps: [{name: main, image: i, script: "echo $(params.p)"}]
  sidecars: [{name: stubborn, image: i}]
---
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: full, namespace: default, labels: {team: a}}
spec:
  tasks:
  - {name: a, taskRef: {name: work}}
  - {name: b, retries: 1, taskRef: {name: work}, params: [{name: p, value: "$(tasks.a.results.r)"}]}
  - {name: c, runAfter: [b], taskRef: {name: work}}
  - {name: d, onError: continue, taskRef: {name: work}, params: [{name: p, value: d}]}
  finally:
  - {name: f, taskRef: {name: work}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run, namespace: default}
spec:
  pipelineRef: {name: full}
)y";

}  // namespace

Scene tekton_scene() {
  Scene scene;
  scene.operators = {&tekton::pipelinerun_operator(), &tekton::taskrun_operator(), &kNode};
  for (const api::CustomKind* custom : api::tekton_kinds()) {
    scene.objects.push_back(definition_of(*custom));
  }
  const auto documents = yaml::parse_all(kObjects);
  ATHANOR_CHECK(documents.ok(), "the scene's text is YAML");
  for (const Value& document : *documents) {
    scene.objects.push_back(document);
  }
  scene.admission = tekton_admission;
  scene.invariants = tekton_invariants();
  scene.converged = [](const World& world) {
    const auto run = world.get(api::kPipelineRun, {"default", "run"});
    const auto pods = world.list(api::kPod, "default");
    // The sidecars' ends are written after the run's.
    return (!run || tekton::is_done(*run)) && std::ranges::none_of(pods, [](const Object& pod) {
             return pod.status()["phase"].as_string() == "Running";
           });
  };
  return scene;
}

// How the run, its TaskRuns and pods ended, without times.
Value tekton_ending(const World& world) {
  Value all = Value::object();
  const auto run = world.get(api::kPipelineRun, {"default", "run"});
  if (run) {
    all.set("run", tekton::succeeded(*run)["message"]);
    all.set("skipped", run->status()["skippedTasks"]);
    all.set("children", run->status()["childReferences"]);
    all.set("team", run->label("team"));
  }
  for (const Object& task_run : world.list(api::kTaskRun, "default")) {
    Value entry = tekton::succeeded(task_run);
    entry.erase("lastTransitionTime");
    entry.set("attempts", task_run.status()["retriesStatus"].size());
    entry.set("from", task_run.label("from"));
    all.set("taskrun " + std::string(task_run.name()), std::move(entry));
  }
  for (const Object& pod : world.list(api::kPod, "default")) {
    all.set("pod " + std::string(pod.name()), pod.status()["phase"]);
  }
  return all;
}

}  // namespace athanor::sim
