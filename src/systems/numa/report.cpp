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

std::string name_of(std::string_view container) {
  return container.empty() ? "pod" : fmt::format("container {}", container);
}

std::string line_of(const FitStep& step) {
  const std::string head = fmt::format("{}: {} {}", name_of(step.container), step.resource,
                                       text_of(step.resource, step.amount));
  return step.note.empty() ? fmt::format("{}: {}", head, ids_of(step.zones))
                           : fmt::format("{}: {}", head, step.note);
}

void add_part(std::string_view container, const Amounts& request, const NodeTopology& topology,
              const Scoring& scoring, std::vector<std::string>& lines) {
  std::string parts;
  for (const Zone& zone : topology.zones) {
    parts += fmt::format(" node-{} {}", zone.id, zone_score(request, zone, scoring));
  }
  lines.push_back(fmt::format("{}: scores{}", name_of(container), parts));
}

void add_zone_sets(const PodRequest& request, const NodeTopology& topology, const Scoring& scoring,
                   std::vector<std::string>& lines) {
  for (const ZoneStep& step : zone_steps(request, topology, scoring)) {
    std::string needed = step.listed ? " more than there is" : " no zone";
    if (step.set) {
      needed.clear();
      for (const std::size_t position : step.set->positions) {
        needed += fmt::format(" node-{}", topology.zones[position].id);
      }
      needed += step.set->optimal ? "" : ", others are nearer";
    }
    lines.push_back(fmt::format("{}: needs{}", name_of(step.container), needed));
  }
}

// Parts of the score; none where it does not depend on zones.
void add_score_parts(const PodRequest& request, const NodeTopology& topology,
                     const Scoring& scoring, std::vector<std::string>& lines) {
  if (!request.guaranteed) {
    return;
  }
  if (scoring.strategy == Strategy::LeastNumaNodes) {
    return add_zone_sets(request, topology, scoring, lines);
  }
  if (topology.policy != kSingleNumaNode) {
    return;
  }
  if (topology.scope == "pod") {
    return add_part({}, request.effective, topology, scoring, lines);
  }
  for (const ContainerRequest& container : request.containers) {
    add_part(container.name, container.requests, topology, scoring, lines);
  }
}

// Returns the line about a node whose zones are not looked at.
std::string unseen_line(const Object& node, const NodeView& known, const Profile& profile) {
  if (known.fresh) {
    return fmt::format(
        "node {}: no NodeResourceTopology, {}", node.name(),
        profile.require_topology ? "which the scheduler requires" : "zones are not checked");
  }
  return fmt::format("node {}: {}", node.name(),
                     profile.cache == Cache::DiscardReserved
                         ? "the binding of another pod is under way"
                         : "a pod of another scheduler is not accounted yet");
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
  const bool usable = facts.believed.fresh && facts.believed.topology;
  if (!usable) {
    lines.push_back(unseen_line(node, facts.believed, profile));
    const auto refusal = refusal_without_zones(request, facts.believed, profile);
    lines.push_back(refusal ? "verdict: " + *refusal : "verdict: fits");
    lines.push_back(fmt::format("score: {}", score(request, nullptr, profile.scoring)));
    return lines;
  }
  const NodeTopology& known = *facts.believed.topology;
  lines.push_back(
      fmt::format("node {}: policy {}, scope {}", node.name(), known.policy, known.scope));
  lines.push_back(
      fmt::format("data: the zones count {} of {} pods that have CPUs or devices of their own{}",
                  facts.accounted, facts.residents,
                  facts.accounted == facts.residents    ? ""
                  : profile.cache == Cache::OverReserve ? ", the others are taken from every zone"
                                                        : ", the others are ignored"));
  FitTrace trace;
  const auto verdict =
      filter(request, known, amounts_of(node.status()["allocatable"]), &trace, profile.filter);
  for (const FitStep& step : trace.steps) {
    lines.push_back(line_of(step));
  }
  for (const auto& [container, zone] : trace.chosen) {
    lines.push_back(fmt::format("{}: placed on node-{}", name_of(container), zone));
  }
  lines.push_back(verdict.ok() ? "verdict: fits" : "verdict: " + verdict.error().message);
  add_score_parts(request, known, profile.scoring, lines);
  lines.push_back(fmt::format("score: {}", score(request, &known, profile.scoring)));
  return lines;
}

FitAnswer fit_on(const PodRequest& request, const Object& node, const NodeView& known,
                 const Amounts& taken, const Profile& profile) {
  if (!known.topology || !known.fresh) {
    const auto refusal = refusal_without_zones(request, known, profile);
    return {.reason = refusal.value_or("zones unknown: no NodeResourceTopology")};
  }
  const Amounts allocatable = amounts_of(node.status()["allocatable"]);
  FitTrace trace;
  const auto verdict = filter(request, *known.topology, allocatable, &trace, profile.filter);
  if (!verdict.ok()) {
    return {.reason = verdict.error().message};
  }
  for (const auto& [resource, amount] : request.effective) {
    if (amount > amount_of(allocatable, resource) - amount_of(taken, resource)) {
      return {.reason = "Insufficient " + resource};
    }
  }
  return {.fits = true,
          .zone = trace.chosen.empty() ? "" : fmt::format("node-{}", trace.chosen.front().second),
          .reason = "fits"};
}

}  // namespace athanor::numa
