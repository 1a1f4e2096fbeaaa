// SPDX-License-Identifier: Apache-2.0
// A FakeWorld with a ClusterQueue, kubeconfig Secrets, target clusters that answer as they are
// told, and hands for Fournos and Kueue.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/settings.hpp"

namespace athanor::hearth {

inline constexpr const char* kSecrets = "psap-secrets";
inline constexpr const char* kJobs = "psap-automation";
inline constexpr const char* kQueue = "fournos-queue";

inline std::string kubeconfig(const std::string& user = "token: t0ps3cret",
                              const std::string& cluster = "server: \"https://10.0.0.1:6443\"") {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: "
         "[{name: k, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

class Lab : public testing::Test {
 protected:
  Lab() {
    configure({});
    put("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: fournos-queue}, "
        "spec: {namespaceSelector: {}}}");
    world.probes["cluster"] = [this](test::FakeWorld& /*world*/, std::string_view query) {
      const auto question = json::parse(query.substr(query.find(':') + 1));
      const std::string secret = (*question)["secret"].str();
      ++asked[secret];
      questions.emplace_back(query);
      const auto answer = targets.find(secret.substr(secret.find('-') + 1));
      return answer == targets.end() ? Result<Value>(Error::unavailable("connection refused"))
                                     : answer->second;
    };
  }

  void configure(const std::map<std::string, std::string>& environment) {
    const auto settings = parse_settings(environment);
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    world.configure("hearth", api::encode(*settings));
  }
  Object put(const std::string& text) {
    const auto value = yaml::parse(text);
    EXPECT_TRUE(value.ok()) << text;
    return world.put(value.value_or(Value()));
  }

  // A Secret as an administrator makes it.
  void secret(const std::string& name, const std::string& text,
              const std::string& annotations = "{}", const std::string& ns = kSecrets) {
    Value object = *yaml::parse(
        "{apiVersion: v1, kind: Secret, metadata: {name: " + name + ", namespace: " + ns +
        ", labels: {fournos.dev/cluster-kubeconfig: \"true\"}, annotations: " + annotations +
        "}, type: Opaque}");
    object.set_path({"data", "kubeconfig"}, base64_encode(text));
    world.put(object);
  }
  // A target cluster of `nodes` nodes with `gpus` A100 each.
  void target(const std::string& name, int nodes, int gpus,
              const std::string& product = "NVIDIA-A100-SXM4-80GB") {
    const Value labels = Value::object({{"nvidia.com/gpu.product", product}});
    const Value group =
        Value::object({{"names", Value::list({"n1"})},
                       {"count", nodes},
                       {"labels", labels},
                       {"allocatable", Value::object({{"nvidia.com/gpu", std::to_string(gpus)}})},
                       {"ready", true},
                       {"schedulable", true}});
    targets.insert_or_assign(
        name,
        Result<Value>(Value::object({{"serverVersion", "v1.30.2"},
                                     {"nodeCount", nodes},
                                     {"nodes", gpus > 0 ? Value::list({group}) : Value::list()}})));
  }
  void fail(const std::string& name, const std::string& cause) {
    targets.insert_or_assign(name, Result<Value>(Error::unavailable(cause)));
  }
  // A labelled Secret and a target with 2 nodes of 8 GPUs.
  void onboard(const std::string& name) {
    target(name, 2, 8);
    secret("kubeconfig-" + name, kubeconfig());
    settle();
  }

  static std::vector<const Operator*> operators() {
    return {hearth_operators().begin(), hearth_operators().end()};
  }
  void settle() { world.settle(operators()); }
  void pass(Duration time) { world.settle_for(operators(), time); }

  static Key key(const std::string& name) { return {"hearth", name}; }
  [[nodiscard]] bool has(const std::string& name) const {
    return world.has(api::kFournosCluster, key(name));
  }
  [[nodiscard]] Object cluster(const std::string& name) const {
    return world.must(api::kFournosCluster, key(name));
  }
  Value status(const std::string& name) { return cluster(name).status(); }
  Value hardware(const std::string& name) { return cluster(name).spec()["hardware"]; }
  void edit(const std::string& name, const std::function<void(Value& object)>& change) {
    world.update(api::kFournosCluster, key(name), change);
    settle();
  }
  void set_owner(const std::string& name, const std::string& owner, const std::string& ttl = "") {
    edit(name, [&](Value& object) {
      object.set_path({"spec", "owner"}, owner);
      if (!ttl.empty()) {
        object.set_path({"spec", "ttl"}, ttl);
      }
    });
  }
  // "False/Missing text", or "" when absent.
  std::string condition(const std::string& name, std::string_view type) {
    const Value entry = world.condition(api::kFournosCluster, key(name), type);
    return entry.is_null()
               ? std::string()
               : entry["status"].str() + "/" + entry["reason"].str() +
                     (entry["message"].as_string().empty() ? "" : " ") + entry["message"].str();
  }
  // "flavor a=1 b=2; ..." of the queue.
  std::string queue() {
    std::string all;
    const Object object = world.must(api::kueue::kClusterQueue, {"", kQueue});
    for (const Value& group : object.spec()["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        all += (all.empty() ? "" : "; ") + flavor["name"].str();
        for (const Value& resource : flavor["resources"].items()) {
          all += " " + resource["name"].str().substr(8) + "=" + resource["nominalQuota"].str();
        }
      }
    }
    return all;
  }

  // Fournos' and Kueue's hands: the sentinel's Workload, admitted or not.
  void sentinel_is(const std::string& job, bool admitted) {
    const Object sentinel = world.must(api::kFournosJob, {kJobs, job});
    workload(job, admitted ? sentinel.spec()["cluster"].str() : "", 100, &sentinel);
    world.update(api::kFournosJob, {kJobs, job}, [&](Value& object) {
      object.set_path({"status", "phase"}, admitted ? "Admitted" : "Pending");
      object.set_path({"status", "message"},
                      admitted ? "Cluster lock held" : "Cluster lock pending admission");
    });
    settle();
  }
  // A Workload in the jobs' namespace; flavor "" while it waits.
  void workload(const std::string& name, const std::string& flavor, int slots,
                const Object* owner = nullptr) {
    Value object = *yaml::parse(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: "
        "{name: " +
        name + ", namespace: psap-automation}}");
    if (const auto old = world.get(api::kueue::kWorkload, {kJobs, name})) {
      object.set_path({"metadata", "uid"}, old->uid());
    }
    if (owner != nullptr) {
      const OwnerReference reference{.api_version = "fournos.dev/v1",
                                     .kind = "FournosJob",
                                     .name = std::string(owner->name()),
                                     .uid = std::string(owner->uid()),
                                     .controller = true};
      object.set_path({"metadata", "ownerReferences"}, Value::list({reference.to_value()}));
    }
    if (!flavor.empty()) {
      object.set("status",
                 *yaml::parse("{conditions: [{type: QuotaReserved, status: \"True\"}, {type: "
                              "Admitted, status: \"True\"}], admission: {clusterQueue: "
                              "fournos-queue, podSetAssignments: [{name: launcher, flavors: "
                              "{fournos/cluster-slot: " +
                              flavor + "}, resourceUsage: {fournos/cluster-slot: \"" +
                              std::to_string(slots) + "\"}}]}}"));
    }
    world.put(object);
  }

  test::FakeWorld world;
  std::map<std::string, Result<Value>> targets{};  // by cluster
  std::map<std::string, int> asked{};              // by Secret
  std::vector<std::string> questions{};
};

}  // namespace athanor::hearth
