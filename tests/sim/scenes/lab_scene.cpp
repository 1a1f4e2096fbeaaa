// SPDX-License-Identifier: Apache-2.0
// Putting the lab together.
#include "sim/scenes/lab_scene.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "base/check.hpp"
#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "sim/scenes/timed_pods.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::sim {

namespace {

// Results by key, each made once: worlds of a process start with the same objects. Thread-safe.
template <class Key, class Result>
class Made {
 public:
  template <class Make>
  Result get(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(key);
    return found != made_.end() ? found->second : made_.emplace(key, make()).first->second;
  }

 private:
  std::mutex mutex_{};
  std::map<Key, Result> made_{};
};

std::vector<Value> parsed_file(const std::string& file) {
  const std::string path = std::string(athanor::test::source_dir()) + "/" + file;
  std::ifstream stream(path, std::ios::binary);
  ATHANOR_CHECK(stream.good(), "the examples are part of the source tree");
  auto objects = yaml::parse_all(std::string{std::istreambuf_iterator<char>(stream), {}});
  ATHANOR_CHECK(objects.ok(), "the examples are YAML");
  return *std::move(objects);
}

}  // namespace

std::vector<Value> objects_of(const std::string& file) {
  static Made<std::string, std::vector<Value>> made;
  return made.get(file, [&] { return parsed_file(file); });
}

Value definition_of(const api::CustomKind& kind) {
  static Made<const api::CustomKind*, Value> made;
  return made.get(&kind, [&] { return api::crd_manifest(kind); });
}

std::vector<apiserver::AdmissionStep> system_webhooks() {
  return bridge::webhook_steps({.systems = all_systems()});
}

Scene lab_scene() {
  Scene scene;
  for (const Operator* op : fournos::fournos_operators()) {
    scene.operators.push_back(op);
  }
  for (const System* system : all_systems()) {
    if (system->name == "kueue" || system->name == "tekton" || system->name == "nodes") {
      scene.operators.insert(scene.operators.end(), system->operators.begin(),
                             system->operators.end());
    }
  }
  for (const Operator* op : lab::embedded_operators()) {
    scene.operators.push_back(op);
  }
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  for (const char* file :
       {"00-namespace", "10-kueue", "11-local-queue", "20-secrets", "30-tasks", "31-pipelines"}) {
    for (Value& object : objects_of("examples/fournos/setup/" + std::string(file) + ".yaml")) {
      scene.objects.push_back(std::move(object));
    }
  }
  scene.objects.push_back(
      from_yaml("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "
                "fournos-local-dev}}"));
  scene.objects.push_back(from_yaml(
      "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {athanor.dev/emulated: "
      "'true'}}}"));
  const auto settings = fournos::parse_settings({{"FOURNOS_NAMESPACE", kLabNamespace}});
  ATHANOR_CHECK(settings.ok(), "the settings of the scene are right");
  scene.config["fournos"] = api::encode(settings.value_or({}));
  scene.admission = system_webhooks;
  TimedPods::install(scene, std::chrono::seconds(30));
  return scene;
}

Value sample_job(const std::string& name, const std::string& cluster) {
  Value job = objects_of("examples/fournos/sample-job.yaml").front();
  job.set_path({"metadata", "name"}, name);
  job.erase_path({"metadata", "generateName"});
  job.set_path({"spec", "cluster"}, cluster);
  return job;
}

}  // namespace athanor::sim
