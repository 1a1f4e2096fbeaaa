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

std::vector<std::string> explain(const Object& pod, const Object& node, const Object* topology,
                                 const Scoring& scoring) {
  const PodRequest request = request_of(pod);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("pod {}/{}: {}", pod.ns(), pod.name(),
                              request.guaranteed    ? "Guaranteed"
                              : request.best_effort ? "BestEffort"
                                                    : "Burstable"));
  if (topology == nullptr) {
    lines.push_back(
        fmt::format("node {}: no NodeResourceTopology, zones are not checked", node.name()));
    return lines;
  }
  const NodeTopology known = read_topology(topology->body());
  lines.push_back(
      fmt::format("node {}: policy {}, scope {}", node.name(), known.policy, known.scope));
  FitTrace trace;
  const auto verdict = filter(request, known, amounts_of(node.status()["allocatable"]), &trace);
  for (const FitStep& step : trace.steps) {
    lines.push_back(line_of(step));
  }
  for (const auto& [container, zone] : trace.chosen) {
    lines.push_back(fmt::format("{}: placed on node-{}",
                                container.empty() ? "pod" : "container " + container, zone));
  }
  lines.push_back(verdict.ok() ? "verdict: fits" : "verdict: " + verdict.error().message);
  lines.push_back(fmt::format("score: {}", score(request, &known, scoring)));
  return lines;
}

}  // namespace athanor::numa
