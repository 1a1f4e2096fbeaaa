// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/slice_rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "product/list.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/stand_ins.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kNs = "default";

}  // namespace

Invariant no_slot_twice() {
  return {.name = "no slot of a GPU is promised twice",
          .check = [](const World& world,
                      std::span<const store::EventPtr> news) -> std::optional<std::string> {
            const bool about_claims = std::ranges::any_of(news, [](const store::EventPtr& event) {
              return event->object->resource.starts_with(das::kAllocationClaim.plural);
            });
            if (!about_claims) {
              return std::nullopt;
            }
            std::map<std::pair<std::string, int>, std::string> owners;
            for (const Object& object : world.list(das::kAllocationClaim)) {
              const auto claim = das::read_claim(object);
              for (int slot = claim ? claim->start : 0; claim && slot < claim->start + claim->size;
                   ++slot) {
                const auto [at, first] = owners.try_emplace({claim->gpu, slot}, claim->pod_uid);
                if (!first && at->second != claim->pod_uid) {
                  return "slot " + std::to_string(slot) + " of " + claim->gpu +
                         " belongs to pods " + at->second + " and " + claim->pod_uid;
                }
              }
            }
            return std::nullopt;
          }};
}

Invariant claims_are_those_of_pods() {
  return {
      .name = "claims are those of live pods",
      .when = Invariant::When::AtRest,
      .check = [](const World& world,
                  std::span<const store::EventPtr> /*news*/) -> std::optional<std::string> {
        std::set<std::string> holders;
        for (const Object& object : world.list(das::kAllocationClaim)) {
          const auto claim = das::read_claim(object);
          const auto pod = claim ? world.get(api::kPod, claim->pod) : std::nullopt;
          if (!pod || pod->uid() != claim->pod_uid ||
              pod->status()["phase"].as_string() != "Running") {
            return "claim " + std::string(object.name()) + " is of no running pod";
          }
          if (claim->state != das::kInUse || claim->node != pod->spec()["nodeName"].as_string()) {
            return "claim " + std::string(object.name()) + " is " + claim->state;
          }
          holders.insert(claim->pod_uid);
        }
        for (const Object& pod : world.list(api::kPod, kNs)) {
          if (pod.status()["phase"].as_string() == "Running" &&
              !holders.contains(std::string(pod.uid()))) {
            return "pod " + std::string(pod.name()) + " runs without a slice";
          }
        }
        return std::nullopt;
      }};
}

Value wanting(const std::string& name, int replicas, const std::string& profile) {
  return from_yaml("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: " + name +
                   ", namespace: default}, spec: {replicas: " + std::to_string(replicas) +
                   ", selector: {matchLabels: {app: " + name +
                   "}}, template: {metadata: {labels: {app: " + name +
                   "}}, spec: {containers: [{name: c, image: v1, command: [run], resources: "
                   "{limits: {nvidia.com/mig-" +
                   profile + ": 1}}}]}}}}");
}

void add_slice_objects(Scene& scene) {
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    scene.objects.push_back(definition_of(*kind));
  }
  for (const char* text :
       {"{apiVersion: v1, kind: Namespace, metadata: {name: das-operator}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}",
        "{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: {name: cluster, "
        "namespace: das-operator}, spec: {}}"}) {
    scene.objects.push_back(from_yaml(text));
  }
}

}  // namespace athanor::sim
