// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/rules/left_out.hpp"

#include <fmt/core.h>

#include <string_view>

#include "embedded/kueue/cycle/snapshot.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kFairAdmission = "admission fair sharing";
constexpr std::string_view kTopology = "topology-aware scheduling";
constexpr std::string_view kElastic = "resizing of running jobs";

std::string without_effect(std::string_view what, std::string_view feature) {
  return fmt::format("{} has no effect: {} is not available in the embedded engine", what, feature);
}

// The annotations athanor.dev/* of an object whose kind has one of them.
void of_annotations(std::vector<std::string>& sentences, const Value& object,
                    std::string_view known) {
  constexpr std::string_view kPrefix = "athanor.dev/";
  for (const Member& one : object["metadata"]["annotations"].members()) {
    if (one.key().starts_with(kPrefix) && one.key() != known) {
      sentences.push_back(fmt::format(
          "metadata.annotations[{}] has no effect: the embedded engine does not read it on a {}",
          one.key(), object["kind"].as_string()));
    }
  }
}

// The topology annotations of an object itself.
void of_topologies(std::vector<std::string>& sentences, const Value& object) {
  for (const Member& annotation : object["metadata"]["annotations"].members()) {
    if (is_topology_annotation(annotation.key())) {
      sentences.push_back(
          without_effect(fmt::format("metadata.annotations[{}]", annotation.key()), kTopology));
    }
  }
}

}  // namespace

std::string left_out_weight(const Value& object, bool fair_sharing) {
  const std::string_view kind = object["kind"].as_string();
  const Value& weight = object["spec"]["fairSharing"]["weight"];
  if (fair_sharing || (kind != "ClusterQueue" && kind != "Cohort") || weight.is_null() ||
      Quantity::parse(weight) == Quantity::parse(std::string_view("1"))) {
    return {};
  }
  return "spec.fairSharing.weight has no effect: the configuration has no fairSharing";
}

std::vector<std::string> left_out(const Value& object) {
  std::vector<std::string> sentences;
  const std::string_view kind = object["kind"].as_string();
  if (kind == "ClusterQueue") {
    of_annotations(sentences, object, kStrictFifo);
  } else if (kind == "LocalQueue") {
    of_annotations(sentences, object, kMaxWait);
  }
  const Value& spec = object["spec"];
  if (kind == "ClusterQueue" && !spec["admissionScope"].is_null()) {
    sentences.push_back(without_effect("spec.admissionScope", kFairAdmission));
  } else if (kind == "LocalQueue" && !spec["fairSharing"].is_null()) {
    sentences.push_back(without_effect("spec.fairSharing", kFairAdmission));
  } else if (kind == "ResourceFlavor" && !spec["topologyName"].is_null()) {
    sentences.push_back(without_effect("spec.topologyName", kTopology));
  } else if (kind == "Topology") {
    sentences.push_back(without_effect("spec", kTopology));
  } else if (kind.starts_with("MultiKueue")) {
    sentences.push_back(without_effect("spec", "MultiKueue"));
  } else if (kind == "ProvisioningRequestConfig") {
    sentences.push_back(without_effect("spec", "its admission check"));
  } else if (kind == "Workload") {
    return api::kueue::left_out_topologies(spec["podSets"], "spec.podSets");
  }
  return sentences;
}

std::vector<std::string> left_out_of_job(const Value& job, const Value& pod_sets) {
  std::vector<std::string> sentences = api::kueue::left_out_topologies(pod_sets, "pod set");
  const Value& elastic = job["metadata"]["annotations"][kElasticAnnotation];
  if (elastic.as_string() == "true") {
    sentences.push_back(
        without_effect(fmt::format("metadata.annotations[{}]", kElasticAnnotation), kElastic));
  }
  of_topologies(sentences, job);
  return sentences;
}

std::vector<std::string> left_out_of_pod(const Value& pod) {
  std::vector<std::string> sentences;
  of_topologies(sentences, pod);
  return sentences;
}

}  // namespace athanor::kueue
