// SPDX-License-Identifier: Apache-2.0
// The end of queued objects: every integrated kind, in every state of its Workload, deleted in
// every way, is gone in the end with its Workload, and holds no quota (docs/spec/kueue.md 9).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/check.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"

namespace athanor::sim {
namespace {

constexpr Duration kRunTime = std::chrono::seconds(20);
constexpr Duration kStopped = std::chrono::seconds(60);  // of cells that are evicted
constexpr Duration kDeleted = std::chrono::seconds(90);  // of all cells
constexpr const char* kNs = "default";

// A queued object's pods: how its queue and its containers bring it into a state.
struct State {
  const char* name = "";
  const char* queue = "";       // "lq": quota for all; "none": no quota
  const char* container = "c";  // ends after kRunTime, unless it is kServing
  const char* node = "any";     // label of its node; no node has "none"
  bool evicted = false;         // at kStopped
  bool evicting = false;        // at kDeleted, just before it is deleted
};
constexpr State kStates[] = {
    {.name = "waiting", .queue = "none"},
    {.name = "admitted", .queue = "lq", .container = kServing, .node = "none"},
    {.name = "running", .queue = "lq", .container = kServing},
    {.name = "evicting", .queue = "lq", .container = kServing, .evicting = true},
    {.name = "evicted", .queue = "lq", .container = kServing, .evicted = true},
    {.name = "finished", .queue = "lq"},
};

// One kind of queued objects; `texts` are the objects of one name.
struct Queued {
  const char* name = "";
  const Kind* kind = nullptr;
  std::vector<std::string> (*texts)(const std::string& metadata, const std::string& pod) = nullptr;
  // What is made before them, and is not deleted by itself; null: nothing.
  std::string (*before)(const std::string& metadata, const std::string& pod) = nullptr;
};

std::string one_of(const std::string& form, const std::string& metadata, const std::string& spec) {
  return fmt::format("{{{}, metadata: {}, spec: {{{}}}}}", form, metadata, spec);
}

std::vector<std::string> job(const std::string& metadata, const std::string& pod) {
  return {one_of("apiVersion: batch/v1, kind: Job", metadata,
                 fmt::format("parallelism: 2, completions: 2, backoffLimit: 0, template: {{spec: "
                             "{}}}",
                             pod))};
}
std::vector<std::string> single_pod(const std::string& metadata, const std::string& pod) {
  return {fmt::format("{{apiVersion: v1, kind: Pod, metadata: {}, spec: {}}}", metadata, pod)};
}
// `metadata` of a group's pod has its number and the group's label and annotation added.
std::vector<std::string> pod_group(const std::string& metadata, const std::string& pod) {
  std::vector<std::string> pods;
  const Value parsed = from_yaml(metadata);
  for (const char* number : {"1", "2"}) {
    Value one = parsed;
    one.member("labels").set("kueue.x-k8s.io/pod-group-name", parsed["name"]);
    one.member("annotations").set("kueue.x-k8s.io/pod-group-total-count", "2");
    one.set("name", parsed["name"].str() + "-" + number);
    pods.push_back(single_pod(json::print(one), pod).front());
  }
  return pods;
}
std::vector<std::string> job_set(const std::string& metadata, const std::string& pod) {
  return {one_of("apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet", metadata,
                 fmt::format("replicatedJobs: [{{name: w, replicas: 2, template: {{spec: "
                             "{{backoffLimit: 0, template: {{spec: {}}}}}}}}}]",
                             pod))};
}
std::vector<std::string> pytorch_job(const std::string& metadata, const std::string& pod) {
  return {one_of("apiVersion: kubeflow.org/v1, kind: PyTorchJob", metadata,
                 fmt::format("pytorchReplicaSpecs: {{Worker: {{replicas: 2, restartPolicy: Never, "
                             "template: {{spec: {}}}}}}}",
                             pod))};
}
std::string cluster_spec(const std::string& pod) {
  return fmt::format("headGroupSpec: {{rayStartParams: {{}}, template: {{spec: {}}}}}", pod);
}
std::vector<std::string> ray_cluster(const std::string& metadata, const std::string& pod) {
  return {one_of("apiVersion: ray.io/v1, kind: RayCluster", metadata, cluster_spec(pod))};
}
std::vector<std::string> ray_job(const std::string& metadata, const std::string& pod) {
  return {one_of("apiVersion: ray.io/v1, kind: RayJob", metadata,
                 fmt::format("entrypoint: run, rayClusterSpec: {{{}}}, submitterPodTemplate: "
                             "{{spec: {}}}",
                             cluster_spec(pod), pod))};
}
std::vector<std::string> app_wrapper(const std::string& metadata, const std::string& pod) {
  const std::string name = from_yaml(metadata)["name"].str();
  return {one_of("apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper", metadata,
                 fmt::format("components: [{{template: {}}}]",
                             job(fmt::format("{{name: {}}}", name), pod).front()))};
}

std::vector<std::string> two_components(const std::string& metadata, const std::string& pod) {
  const std::string name = from_yaml(metadata)["name"].str();
  std::string components;
  for (const char* number : {"1", "2"}) {
    components += fmt::format("{{template: {}}}, ",
                              job(fmt::format("{{name: {}-{}}}", name, number), pod).front());
  }
  components += fmt::format(
      "{{template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: "
      "{}}}}}}}",
      name);
  return {one_of("apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper", metadata,
                 fmt::format("components: [{}]", components))};
}
// Its Workload is not made by a controller (prebuilt_workload()).
std::vector<std::string> prebuilt_job(const std::string& metadata, const std::string& pod) {
  Value named = from_yaml(metadata);
  named.member("labels").set("kueue.x-k8s.io/prebuilt-workload-name", named["name"]);
  return job(json::print(named), pod);
}
std::string prebuilt_workload(const std::string& metadata, const std::string& pod) {
  const Value named = from_yaml(metadata);
  return fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: {}, namespace: "
      "{}}}, "
      "spec: {{queueName: {}, podSets: [{{name: main, count: 2, template: {{spec: {}}}}}]}}}}",
      named["name"].str(), named["namespace"].str(),
      named["labels"]["kueue.x-k8s.io/queue-name"].str(), pod);
}

const Queued kQueued[] = {
    {"batch", &api::kJob, job},
    {"pod", &api::kPod, single_pod},
    {"group", &api::kPod, pod_group},
    {"jobset", &kueue::jobs::kJobSet, job_set},
    {"pytorchjob", &kueue::jobs::kPyTorchJob, pytorch_job},
    {"raycluster", &kueue::jobs::kRayCluster, ray_cluster},
    {"rayjob", &kueue::jobs::kRayJob, ray_job},
    {"appwrapper", &kueue::jobs::kAppWrapper, app_wrapper},
    {"appwrapper-of-two", &kueue::jobs::kAppWrapper, two_components},
    {"prebuilt", &api::kJob, prebuilt_job, prebuilt_workload},
};

// How a cell is deleted: by itself, or with its namespace.
struct Way {
  const char* name = "";
  Propagation mode = Propagation::Background;
  bool with_namespace = false;
};
constexpr Way kWays[] = {{"background", Propagation::Background},
                         {"foreground", Propagation::Foreground},
                         {"orphan", Propagation::Orphan},
                         {"namespace", Propagation::Background, true}};

std::string namespace_of(const State& state) {
  return fmt::format("ns-{}", state.name);
}

struct Cell {
  const Queued* queued = nullptr;
  const State* state = nullptr;
  const Way* way = nullptr;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}-{}-{}", queued->name, state->name, way->name);
  }
  [[nodiscard]] std::string ns() const {
    return way->with_namespace ? namespace_of(*state) : std::string(kNs);
  }
  [[nodiscard]] std::string metadata() const {
    return fmt::format("{{name: {}, namespace: {}, labels: {{kueue.x-k8s.io/queue-name: {}}}}}",
                       name(), ns(), state->queue);
  }
  // With the defaults of containers: a prebuilt Workload must have those of its Job.
  [[nodiscard]] std::string pod() const {
    return fmt::format(
        "{{restartPolicy: Never, nodeSelector: {{node: '{}'}}, terminationGracePeriodSeconds: 5, "
        "containers: [{{name: {}, image: i, command: [run], resources: {{requests: {{cpu: "
        "10m}}}}, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, "
        "terminationMessagePolicy: File}}]}}",
        state->node, state->container);
  }
  [[nodiscard]] std::vector<Value> objects() const {
    std::vector<Value> all;
    for (const std::string& text : queued->texts(metadata(), pod())) {
      all.push_back(from_yaml(text));
    }
    return all;
  }
};

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const Queued& queued : kQueued) {
    for (const State& state : kStates) {
      for (const Way& way : kWays) {
        cells.push_back({&queued, &state, &way});
      }
    }
  }
  return cells;
}

// Workloads of a cell: those whose name is its, or has it.
std::vector<Object> workloads_of(const World& world, const Cell& cell) {
  std::vector<Object> found;
  for (Object& one : world.list(api::kueue::kWorkload, cell.ns())) {
    if (one.name().find(cell.name()) != std::string_view::npos) {
      found.push_back(std::move(one));
    }
  }
  return found;
}

void deactivate(World& world, const Cell& cell) {
  for (const Object& workload : workloads_of(world, cell)) {
    const auto done =
        world.patch(api::kueue::kWorkload, workload.key(), from_yaml("{spec: {active: false}}"));
    ATHANOR_CHECK(done.ok(), "a Workload may be deactivated");
  }
}

// The condition that a cell's Workload has at kDeleted, so that no cell is another one's double.
std::string missed_state(const World& world, const Cell& cell) {
  const std::vector<Object> all = workloads_of(world, cell);
  if (all.size() != 1) {
    return fmt::format("{} Workloads", all.size());
  }
  const Value& conditions = all.front().status()["conditions"];
  const auto is = [&](std::string_view type) { return condition_is(conditions, type, "True"); };
  const bool finishes = cell.queued->kind != &kueue::jobs::kRayCluster;
  const std::string_view state = cell.state->name;
  const bool right = state == "waiting"    ? !is("QuotaReserved")
                     : state == "evicted"  ? is("Evicted") && !is("QuotaReserved")
                     : state == "finished" ? is("Finished") == finishes
                                           : is("Admitted") && !is("Evicted") && !is("Finished");
  return right ? "" : json::print(conditions);
}

// What an orphaned Workload may leave: one that is finished, and is held by nothing.
bool is_harmless(const Object& workload) {
  return condition_is(workload.status()["conditions"], "Finished", "True") &&
         workload.metadata()["finalizers"].empty() && workload.owners().empty();
}

bool is_gone(const World& world, const Cell& cell) {
  const std::vector<Value> objects = cell.objects();
  const std::vector<Object> workloads = workloads_of(world, cell);
  return std::ranges::none_of(
             objects,
             [&](const Value& object) {
               return world.get(*cell.queued->kind, {cell.ns(), object["metadata"]["name"].str()})
                   .has_value();
             }) &&
         std::ranges::all_of(workloads, is_harmless);
}

void remove_cell(World& world, const Cell& cell) {
  if (cell.state->evicted && cell.queued->texts == single_pod) {
    EXPECT_TRUE(is_gone(world, cell)) << "an evicted pod is over: " << cell.name();
    return;
  }
  if (const std::string wrong = missed_state(world, cell); !wrong.empty()) {
    ADD_FAILURE() << cell.name() << " is not " << cell.state->name << ": " << wrong;
  }
  if (cell.state->evicting) {
    deactivate(world, cell);
  }
  if (cell.way->with_namespace) {
    static_cast<void>(world.remove(api::kNamespace, {"", cell.ns()}));
    return;
  }
  for (const Value& object : cell.objects()) {
    const Key key{cell.ns(), object["metadata"]["name"].str()};
    const auto done = world.remove(*cell.queued->kind, key, cell.way->mode);
    EXPECT_TRUE(done.ok()) << cell.name();
  }
}

std::string local_queue(const std::string& ns, const char* name) {
  return fmt::format(
      "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {{name: {0}, namespace: "
      "{1}}}, spec: {{clusterQueue: {0}}}}}",
      name, ns);
}

Scene ends_scene(const std::vector<Cell>& cells) {
  Scene scene;
  scene.pace = Pace::Orderly;
  scene.operators = lab::embedded_operators();
  for (const System* system : all_systems()) {
    for (const std::string_view wanted :
         {"kueue", "nodes", "wrapped", "appwrapper", "appwrapper-kueue"}) {
      if (system->name != wanted) {
        continue;
      }
      for (const Operator* op : system->operators) {
        if (op->name != "appwrapper-slack" && op->name != "appwrapper-workload-integrated") {
          scene.operators.push_back(op);
        }
      }
    }
  }
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  scene.objects.push_back(from_yaml(
      "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {athanor.dev/emulated: "
      "'true', node: any}}}"));
  scene.objects.push_back(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}"));
  for (const auto& [name, quota] : {std::pair("lq", 100), std::pair("none", 0)}) {
    scene.objects.push_back(from_yaml(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {}}}, spec: "
        "{{namespaceSelector: {{}}, resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: "
        "any, resources: [{{name: cpu, nominalQuota: {}}}]}}]}}]}}}}",
        name, quota)));
  }
  std::vector<std::string> namespaces{kNs};
  for (const State& state : kStates) {
    namespaces.push_back(namespace_of(state));
    scene.objects.push_back(from_yaml(fmt::format(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", namespaces.back())));
  }
  for (const std::string& ns : namespaces) {
    scene.objects.push_back(from_yaml(fmt::format(
        "{{apiVersion: v1, kind: ServiceAccount, metadata: {{name: default, namespace: {}}}}}",
        ns)));
    scene.objects.push_back(from_yaml(local_queue(ns, "lq")));
    scene.objects.push_back(from_yaml(local_queue(ns, "none")));
  }
  scene.config["kueue"] = Value::object({{"waitForPodsReady", false}});
  scene.admission = system_webhooks;
  TimedPods::install(scene, kRunTime);
  for (const Cell& cell : cells) {
    scene.actors.push_back({.at = std::chrono::seconds(1), .act = [cell](World& world) {
                              if (cell.queued->before != nullptr) {
                                const auto made = world.create(
                                    from_yaml(cell.queued->before(cell.metadata(), cell.pod())));
                                EXPECT_TRUE(made.ok()) << cell.name();
                              }
                              for (Value& object : cell.objects()) {
                                const auto made = world.create(std::move(object));
                                EXPECT_TRUE(made.ok()) << cell.name();
                              }
                            }});
    if (cell.state->evicted) {
      scene.actors.push_back(
          {.at = kStopped, .act = [cell](World& world) { deactivate(world, cell); }});
    }
    scene.actors.push_back(
        {.at = kDeleted, .act = [cell](World& world) { remove_cell(world, cell); }});
  }
  return scene;
}

TEST(Deletion, EndsEveryQueuedKindInEveryState) {
  const std::vector<Cell> cells = all_cells();
  Scene scene = ends_scene(cells);
  scene.limit = std::chrono::hours(1);
  scene.converged = [&](const World& all) {
    return std::ranges::none_of(
               kStates,
               [&](const State& state) {
                 return all.get(api::kNamespace, {"", namespace_of(state)}).has_value();
               }) &&
           std::ranges::all_of(cells, [&](const Cell& cell) { return is_gone(all, cell); });
  };
  World world(std::move(scene), 1);
  EXPECT_EQ(world.run().failure.value_or(""), "");
  for (const Cell& cell : cells) {
    for (const Value& object : cell.objects()) {
      const auto left =
          world.get(*cell.queued->kind, {cell.ns(), object["metadata"]["name"].str()});
      EXPECT_FALSE(left) << cell.name() << ": " << json::print(left->body());
    }
    for (const Object& workload : workloads_of(world, cell)) {
      EXPECT_TRUE(cell.way->mode == Propagation::Orphan && is_harmless(workload))
          << cell.name() << ": " << json::print(workload.body());
    }
  }
  for (const State& state : kStates) {
    EXPECT_FALSE(world.get(api::kNamespace, {"", namespace_of(state)})) << state.name;
  }
  for (const Object& queue : world.list(api::kueue::kClusterQueue)) {
    EXPECT_EQ(queue.status()["reservingWorkloads"], Value(0)) << queue.name();
    EXPECT_EQ(queue.status()["pendingWorkloads"], Value(0)) << queue.name();
    EXPECT_EQ(queue.status()["flavorsReservation"][0]["resources"][0]["total"], Value("0"))
        << queue.name();
  }
}

}  // namespace
}  // namespace athanor::sim
