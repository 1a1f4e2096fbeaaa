// SPDX-License-Identifier: Apache-2.0
// Texts about zones.
#include "systems/numa/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/text/quantity.hpp"
#include "systems/numa/scheduling/fit.hpp"

namespace athanor::numa {
namespace {

constexpr std::int64_t kCells = 10;

std::string text_of(std::string_view resource, std::int64_t amount) {
  const bool bytes = resource == "memory" || resource.starts_with("hugepages-");
  return Quantity::from_milli(amount,
                              bytes ? Quantity::Format::BinarySI : Quantity::Format::DecimalSI)
      .text();
}

std::string ids_of(const std::vector<int>& zones) {
  std::string text;
  for (const int zone : zones) {
    text += fmt::format("{}node-{}", text.empty() ? "" : " ", zone);
  }
  return text.empty() ? "no zone" : text;
}

std::string line_of(const FitStep& step) {
  const std::string who =
      step.container.empty() ? std::string("pod") : "container " + step.container;
  const std::string head =
      fmt::format("{}: {} {}", who, step.resource, text_of(step.resource, step.amount));
  return step.note.empty() ? fmt::format("{}: {}", head, ids_of(step.zones))
                           : fmt::format("{}: {}", head, step.note);
}

void add_part(const std::string& whose, const Amounts& request, const NodeTopology& topology,
              const Scoring& scoring, std::vector<std::string>& lines) {
  std::string parts;
  if (scoring.strategy == Strategy::LeastNumaNodes) {
    const auto set = zones_needed(request, topology.zones);
    for (const std::size_t position : set ? set->positions : std::vector<std::size_t>()) {
      parts += fmt::format(" node-{}", topology.zones[position].id);
    }
    lines.push_back(fmt::format("{}: needs{}{}", whose, set ? parts : " more than there is",
                                set && !set->optimal ? ", others are nearer" : ""));
    return;
  }
  for (const Zone& zone : topology.zones) {
    parts += fmt::format(" node-{} {}", zone.id, zone_score(request, zone, scoring));
  }
  lines.push_back(fmt::format("{}: scores{}", whose, parts));
}

// What the score is made of; nothing where it does not depend on zones.
void add_score_parts(const PodRequest& request, const NodeTopology& topology,
                     const Scoring& scoring, std::vector<std::string>& lines) {
  if (!request.guaranteed ||
      (scoring.strategy != Strategy::LeastNumaNodes && topology.policy != kSingleNumaNode)) {
    return;
  }
  if (topology.scope == "pod") {
    return add_part("pod", request.effective, topology, scoring, lines);
  }
  for (const ContainerRequest& container : request.containers) {
    add_part("container " + container.name, container.requests, topology, scoring, lines);
  }
}

}  // namespace

Row overview_header() {
  return {"NODE", "ZONE", "RESOURCE", "FREE", "ALLOCATABLE", "USE"};
}

std::string bar(std::int64_t used, std::int64_t all) {
  const std::int64_t part = std::clamp<std::int64_t>(used, 0, std::max<std::int64_t>(all, 0));
  __extension__ using Wide = __int128;
  const auto cells =
      all <= 0 ? std::int64_t{0}
               : static_cast<std::int64_t>((static_cast<Wide>(part) * kCells + all - 1) / all);
  return "[" + std::string(static_cast<std::size_t>(cells), '#') +
         std::string(static_cast<std::size_t>(kCells - cells), '.') + "]";
}

std::vector<Row> overview(std::span<const Object> topologies) {
  std::vector<Row> rows;
  for (const Object& object : topologies) {
    const NodeTopology topology = read_topology(object.body());
    for (const Zone& zone : topology.zones) {
      for (const auto& [resource, available] : zone.available) {
        const std::int64_t allocatable = amount_of(zone.allocatable, resource);
        rows.push_back({topology.node, fmt::format("node-{}", zone.id), resource,
                        text_of(resource, available), text_of(resource, allocatable),
                        bar(allocatable - available, allocatable)});
      }
    }
  }
  return rows;
}

std::vector<std::string> explain(const Object& pod, const Object& node, const NodeFacts& facts,
                                 const Profile& profile) {
  const PodRequest request = request_of(pod, profile.sidecars);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("pod {}/{}: {}", pod.ns(), pod.name(),
                              request.guaranteed    ? "Guaranteed"
                              : request.best_effort ? "BestEffort"
                                                    : "Burstable"));
  if (!facts.believed.fresh) {
    lines.push_back(fmt::format("node {}: a pod of another scheduler is not accounted yet: {}",
                                node.name(), kStaleData));
    return lines;
  }
  if (!facts.believed.topology) {
    lines.push_back(
        fmt::format("node {}: no NodeResourceTopology, zones are not checked", node.name()));
    return lines;
  }
  const NodeTopology& known = *facts.believed.topology;
  lines.push_back(
      fmt::format("node {}: policy {}, scope {}", node.name(), known.policy, known.scope));
  lines.push_back(fmt::format(
      "data: {} of {} pods with resources of their own are accounted{}", facts.accounted,
      facts.residents,
      facts.accounted == facts.residents ? "" : ", the others are taken from every zone"));
  FitTrace trace;
  const auto verdict =
      filter(request, known, amounts_of(node.status()["allocatable"]), &trace, profile.filter);
  for (const FitStep& step : trace.steps) {
    lines.push_back(line_of(step));
  }
  for (const auto& [container, zone] : trace.chosen) {
    lines.push_back(fmt::format("{}: placed on node-{}",
                                container.empty() ? "pod" : "container " + container, zone));
  }
  lines.push_back(verdict.ok() ? "verdict: fits" : "verdict: " + verdict.error().message);
  add_score_parts(request, known, profile.scoring, lines);
  lines.push_back(fmt::format("score: {}", score(request, &known, profile.scoring)));
  return lines;
}

}  // namespace athanor::numa
