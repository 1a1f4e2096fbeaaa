// SPDX-License-Identifier: Apache-2.0
// Hearth with Fournos and the queueing engine, Kueue's write-time rules included: clusters come,
// are locked, fail, leave.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "product/list.hpp"
#include "sim/scenes/invariants.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kHearth = "hearth";
constexpr const char* kJobs = "psap-automation";
constexpr const char* kSecrets = "psap-secrets";
constexpr const char* kPassword = "dGhlIHBhc3N3b3Jk";

constexpr Operator kTekton = stand_in<api::kPipelineRun>(
    "tekton-stand-in", [](const View& view, const Key& key, Instant now) {
      return finish_run(view, key, now, std::chrono::minutes(2), /*fails=*/false);
    });

Value secret(const std::string& cluster, const std::string& user = "") {
  const std::string text =
      "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: "
      "[{name: k, cluster: "
      "{server: \"https://10.0.0.1\"}}]\nusers: [{name: u, user: {token: " +
      std::string(kPassword) + user + "}}]\n";
  Value object = from_yaml("{apiVersion: v1, kind: Secret, metadata: {name: kubeconfig-" + cluster +
                           ", namespace: psap-secrets, labels: {fournos.dev/cluster-kubeconfig: "
                           "\"true\"}}, type: Opaque}");
  object.set_path({"data", "kubeconfig"}, base64_encode(text));
  return object;
}

Value job(const std::string& name, const std::string& cluster) {
  return from_yaml(
      "{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: " + name +
      ", namespace: psap-automation}, spec: {forge: {project: p, args: []}, cluster: " + cluster +
      "}}");
}

// c1, c2, ...: as many GPUs as the number says. "dead" never answers, c2 not at first.
Result<Value> answer(World& world, std::string_view query) {
  const auto question = json::parse(query.substr(query.find(':') + 1));
  const std::string cluster = (*question)["secret"].str().substr(std::string("kubeconfig-").size());
  const bool early = world.now() < *parse_time("2026-01-05T00:03:00Z");
  if (cluster == "dead" || (cluster == "c2" && early)) {
    return Error::unavailable("connection refused");
  }
  const Value labels = Value::object({{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}});
  return Value::object(
      {{"serverVersion", "v1.30.0"},
       {"nodeCount", 1},
       {"nodes", Value::list({Value::object(
                     {{"names", Value::list({"n"})},
                      {"count", 1},
                      {"labels", labels},
                      {"allocatable", Value::object({{"nvidia.com/gpu", cluster.substr(1)}})},
                      {"ready", true},
                      {"schedulable", true}})})}});
}

bool holds(const Object& workload, const std::string& cluster) {
  if (!condition_is(workload.status()["conditions"], "QuotaReserved", "True") ||
      condition_is(workload.status()["conditions"], "Finished", "True")) {
    return false;
  }
  const Value& admission = workload.status()["admission"];
  for (const Value& pod_set : admission["podSetAssignments"].items()) {
    for (const Member& flavor : pod_set["flavors"].members()) {
      if (flavor.value.as_string() == cluster) {
        return true;
      }
    }
  }
  return false;
}

std::vector<std::string> flavors_of_queue(const World& world) {
  std::vector<std::string> names;
  const auto queue = world.get(api::kueue::kClusterQueue, {"", "fournos-queue"});
  const Value spec = queue ? queue->spec() : Value();
  for (const Value& group : spec["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      names.push_back(flavor["name"].str());
    }
  }
  return names;
}

std::optional<std::string> intruder(const World& world) {
  const auto workloads = world.list(api::kueue::kWorkload, kJobs);
  const std::string prefix = "cluster-lock-";
  for (const Object& lock : workloads) {
    const std::string name(lock.name());
    if (!name.starts_with(prefix) || !holds(lock, name.substr(prefix.size()))) {
      continue;
    }
    for (const Object& other : workloads) {
      if (other.name() != name && holds(other, name.substr(prefix.size()))) {
        return std::string(other.name()) + " is admitted beside " + name;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> stray_flavor(const World& world) {
  for (const std::string& flavor : flavors_of_queue(world)) {
    if (!world.get(api::kueue::kResourceFlavor, {"", flavor})) {
      return "the queue names flavor " + flavor + ", which is not there";
    }
  }
  for (const Object& flavor : world.list(api::kueue::kResourceFlavor)) {
    if (!flavor.deleting() && !world.get(api::kFournosCluster, {kHearth, flavor.key().name})) {
      return "flavor " + std::string(flavor.name()) + " outlived its cluster";
    }
  }
  return std::nullopt;
}

bool over(const Object& object) {
  const std::string_view phase = object.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

// The queue's quotas are what spec.hardware says, and the slots are open unless it is cordoned.
std::optional<std::string> wrong_quota(const World& world) {
  const auto queue = world.get(api::kueue::kClusterQueue, {"", "fournos-queue"});
  const Value groups = queue ? queue->spec()["resourceGroups"] : Value();
  std::size_t found = 0;
  for (const Value& flavor : groups[0]["flavors"].items()) {
    const auto cluster = world.get(api::kFournosCluster, {kHearth, flavor["name"].str()});
    if (!cluster) {
      return "the queue names " + flavor["name"].str() + ", which is no cluster";
    }
    for (const Value& resource : flavor["resources"].items()) {
      const bool slot = resource["name"].as_string() == "fournos/cluster-slot";
      const bool open = !cluster->spec()["cordoned"].as_bool();
      const std::int64_t want =
          slot ? (open ? 100 : 0) : cluster->spec()["hardware"]["totalGPUs"].as_int();
      if (Quantity::parse(resource["nominalQuota"]) != Quantity::from_int(want)) {
        return "the quota of " + resource["name"].str() + " on " + flavor["name"].str() +
               " is not what was discovered";
      }
    }
    ++found;
  }
  return found == world.list(api::kFournosCluster, kHearth).size()
             ? std::nullopt
             : std::optional<std::string>("a cluster is missing in the queue");
}

// Only a Secret may say it.
std::optional<std::string> leak(const World& world) {
  for (const Kind* kind :
       {&api::kFournosCluster, &api::kEvent, &api::kFournosJob, &api::kConfigMap,
        &api::kueue::kClusterQueue, &api::kueue::kResourceFlavor, &api::kPipelineRun}) {
    for (const Object& object : world.list(*kind)) {
      if (json::print(object.body()).find(kPassword) != std::string::npos) {
        return std::string(kind->name) + " " + object.key().text() + " holds a password";
      }
    }
  }
  return std::nullopt;
}

// The whole story is told.
bool told(const World& world) {
  const auto jobs = world.list(api::kFournosJob, kJobs);
  return world.list(api::kFournosCluster, kHearth).size() == 5 &&
         !world.get(api::kFournosCluster, {kHearth, "c3"}) && jobs.size() == 3 &&
         std::all_of(jobs.begin(), jobs.end(), over) && !wrong_quota(world);
}

Invariant rule(const char* name, Invariant::When when,
               std::optional<std::string> (*check)(const World& world)) {
  return {.name = name, .when = when, .check = [check](const World& world, auto) {
            return check(world);
          }};
}

void act(Scene& scene, int seconds, std::function<void(World&)> what) {
  scene.actors.push_back({.at = std::chrono::seconds(seconds), .act = std::move(what)});
}
void create(Scene& scene, int seconds, Value object) {
  act(scene, seconds, [object = std::move(object)](World& world) {
    const auto made = world.create(object);
    ATHANOR_CHECK(made.ok(), "the API server takes the scene's objects");
  });
}
// A person tries until it works: a cluster that is not there yet is waited for.
void edit(World& world, const std::string& cluster, const std::string& patch) {
  if (!world.patch(api::kFournosCluster, {kHearth, cluster}, from_yaml(patch)).ok()) {
    world.after(std::chrono::seconds(10), [=](World& later) { edit(later, cluster, patch); });
  }
}
void edit(Scene& scene, int seconds, const std::string& cluster, const std::string& patch) {
  act(scene, seconds, [=](World& world) { edit(world, cluster, patch); });
}

// People submit jobs to clusters that they see in the queue.
void submit(World& world, const std::string& name, const std::string& cluster) {
  const auto flavors = flavors_of_queue(world);
  if (std::find(flavors.begin(), flavors.end(), cluster) == flavors.end()) {
    world.after(std::chrono::seconds(10), [=](World& later) { submit(later, name, cluster); });
    return;
  }
  const auto made = world.create(job(name, cluster));
  ATHANOR_CHECK(made.ok(), "the API server takes a job for a cluster in the queue");
}
void submit(Scene& scene, int seconds, const std::string& name, const std::string& cluster) {
  act(scene, seconds, [=](World& world) { submit(world, name, cluster); });
}
// A cluster goes while its job runs.
void remove_busy(World& world, const std::string& name, const std::string& cluster) {
  const auto one = world.get(api::kFournosJob, {kJobs, name});
  if (!one || (one->status()["phase"].as_string() != "Running" && !over(*one))) {
    world.after(std::chrono::seconds(10), [=](World& later) { remove_busy(later, name, cluster); });
    return;
  }
  ATHANOR_CHECK(world.remove(api::kFournosCluster, {kHearth, cluster}).ok(),
                "a cluster can be deleted");
}

void stop_queue(World& world, const std::string& policy) {
  const auto stopped = world.patch(api::kueue::kClusterQueue, {"", "fournos-queue"},
                                   from_yaml("{spec: {stopPolicy: " + policy + "}}"));
  ATHANOR_CHECK(stopped.ok(), "a queue can be stopped and started");
}
// Kueue evicts everything, locks and the job whose cluster goes among it, and starts again.
void evict_all(World& world) {
  stop_queue(world, "HoldAndDrain");
  world.after(std::chrono::seconds(10), [](World& later) { stop_queue(later, "None"); });
}

void add_objects(Scene& scene) {
  for (const api::CustomKind* custom : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*custom));
  }
  for (const char* ns : {kHearth, kSecrets, kJobs}) {
    scene.objects.push_back(
        from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: " + std::string(ns) + "}}"));
  }
  scene.objects.push_back(
      from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: "
                "fournos-queue}, spec: {namespaceSelector: {}}}"));
  scene.objects.push_back(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: "
      "fournos-queue, namespace: psap-automation}, spec: {clusterQueue: fournos-queue}}"));
}

void add_story(Scene& scene) {
  for (const char* cluster : {"c1", "c2", "c3", "c4", "dead"}) {
    create(scene, 1, secret(cluster));
  }
  create(scene, 2, secret("bad", ", exec: {command: sh}"));
  submit(scene, 30, "first", "c1");
  edit(scene, 40, "c1", "{spec: {owner: alice, ttl: 10m}}");
  submit(scene, 45, "second", "c1");  // waits for the lock
  submit(scene, 50, "third", "c3");
  edit(scene, 100, "c4", "{spec: {cordoned: true}}");
  act(scene, 60, [](World& world) { remove_busy(world, "third", "c3"); });
  act(scene, 200, [](World& world) { evict_all(world); });
  edit(scene, 240, "c2", "{metadata: {annotations: {fournos.dev/rediscover: again}}}");
  edit(scene, 250, "c1", "{spec: {owner: bob}}");
  act(scene, 300, [](World& world) {
    (void)world.remove(api::kFournosJob, {kJobs, "cluster-lock-c1"});
  });
  edit(scene, 310, "c4", "{spec: {cordoned: false}}");
  act(scene, 320, [](World& world) {
    ATHANOR_CHECK(world.remove(api::kSecret, {kSecrets, "kubeconfig-c4"}).ok() &&
                      world.create(secret("c4")).ok(),
                  "a Secret can be made anew");
  });
}

}  // namespace

Scene hearth_scene() {
  Scene scene;
  for (const auto system : {fournos::fournos_operators(), hearth::hearth_operators()}) {
    scene.operators.insert(scene.operators.end(), system.begin(), system.end());
  }
  for (const Operator* op :
       {&kueue::scheduler_operator(), &kueue::workload_operator(), &kueue::cluster_queue_operator(),
        &kueue::local_queue_operator(), &kueue::resource_flavor_operator(), &kTekton}) {
    scene.operators.push_back(op);
  }
  add_objects(scene);
  fournos::Settings jobs;
  jobs.workload_namespace = kJobs;
  scene.config["fournos"] = api::encode(jobs);
  // So seldom that the world comes to rest between two probes.
  const auto settings =
      hearth::parse_settings({{"HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC", "2000000"}});
  scene.config["hearth"] = api::encode(settings.value_or({}));
  scene.probes["cluster"] = answer;
  scene.admission = system_webhooks;
  add_story(scene);
  scene.invariants = job_invariants();
  scene.invariants.push_back(ready_in_time());
  using When = Invariant::When;
  scene.invariants.push_back(
      rule("a locked cluster admits its owner alone", When::EveryStep, intruder));
  scene.invariants.push_back(
      rule("a flavor exists while its cluster does", When::EveryStep, stray_flavor));
  scene.invariants.push_back(rule("quotas are those last discovered", When::AtRest, wrong_quota));
  scene.invariants.push_back(rule("no kubeconfig leaves its Secret", When::AtRest, leak));
  scene.converged = told;
  return scene;
}

// What runs with and without faults share. Times and counts of attempts differ.
Value hearth_ending(const World& world) {
  Value all = Value::object();
  for (const Object& cluster : world.list(api::kFournosCluster, kHearth)) {
    const Value& status = cluster.status();
    Value conditions = Value::object();
    for (const Value& condition : status["conditions"].items()) {
      conditions.set(condition["type"].as_string(),
                     condition["status"].str() + "/" + condition["reason"].str());
    }
    all.set(cluster.name(), Value::object({{"kubeconfig", status["kubeconfigStatus"]},
                                           {"gpus", status["gpuSummary"]},
                                           {"lock", status["lockState"]},
                                           {"conditions", std::move(conditions)}}));
  }
  for (const Object& one : world.list(api::kFournosJob, kJobs)) {
    // Whether the third was done before it was evicted and its cluster went is a matter of time.
    const bool either = one.name() == "third" && over(one);
    all.set("job " + std::string(one.name()), either ? Value("over") : one.status()["phase"]);
  }
  for (const Object& flavor : world.list(api::kueue::kResourceFlavor)) {
    Value labels = flavor.metadata()["labels"];
    labels.erase("foreign.example.com/mark");  // P9
    all.set("flavor " + std::string(flavor.name()), std::move(labels));
  }
  return all;
}

}  // namespace athanor::sim
