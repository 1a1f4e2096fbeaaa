// SPDX-License-Identifier: Apache-2.0
#include "cli/lab/up_hints.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "kube/text/quantity.hpp"

namespace athanor::cli {
namespace {

constexpr std::string_view kQueuedGpuPrefix = "fournos/gpu-";
constexpr std::string_view kUsualPipeline = "fournos-full";  // spec.pipeline's default

// The names of the lab's pipelines; a lab whose files cannot be read does not start anyway.
std::vector<std::string> pipelines_of(const lab::Lab& lab, const lab::ReadFile& read_file) {
  std::vector<std::string> names;
  const auto objects = lab::lab_objects(lab, read_file);
  if (!objects.ok()) {
    return names;
  }
  for (const Value& object : *objects) {
    if (object["kind"].as_string() == "Pipeline") {
      names.push_back(object["metadata"]["name"].str());
    }
  }
  return names;
}

// "--cluster cluster-1 --gpu a100:2" of the first cluster that has GPUs, else of the first one.
std::string place_of(const lab::Lab& lab) {
  for (const lab::Cluster& cluster : lab.clusters) {
    for (const auto& [resource, amount] : cluster.quota) {
      const auto quantity = Quantity::parse(std::string_view(amount));
      const std::int64_t most = quantity ? quantity->value() : 0;
      if (resource.starts_with(kQueuedGpuPrefix) && most > 0) {
        return fmt::format("--cluster {} --gpu {}:{}", cluster.name,
                           resource.substr(kQueuedGpuPrefix.size()),
                           std::min<std::int64_t>(2, most));
      }
    }
  }
  if (!lab.clusters.empty()) {
    return "--cluster " + lab.clusters.front().name;
  }
  const auto known = std::ranges::find(lab.targets, true, &lab::LabTarget::onboard);
  return known == lab.targets.end() ? "" : "--cluster " + known->name;
}

}  // namespace

std::string up_hints(const lab::Lab& lab, const lab::ReadFile& read_file) {
  std::string hints;
  const std::string place = place_of(lab);
  if (!place.empty()) {
    hints += "  athanor clusters\n";
  }
  const std::vector<std::string> pipelines = pipelines_of(lab, read_file);
  if (!place.empty() && !lab.queues.empty() && !pipelines.empty()) {
    const bool usual = std::ranges::find(pipelines, kUsualPipeline) != pipelines.end();
    hints += fmt::format(
        "  athanor submit {} --project llmd --arg cks{} --follow\n"
        "  kubectl get fournosjobs,workloads,pipelineruns -A\n",
        place, usual ? "" : " --pipeline " + pipelines.front());
  }
  return hints + (lab.nodes.empty() ? "  kubectl api-resources\n" : "  kubectl get nodes\n");
}

}  // namespace athanor::cli
