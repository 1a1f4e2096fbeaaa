// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/file/node_members.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::lab {
namespace {

Result<void> equip(Lab& lab, const LabNodeMember& member, const Value& settings) {
  const auto has = [&](const Node& node) { return node.members.contains(member.name); };
  if (member.usual != nullptr && std::ranges::none_of(lab.nodes, has)) {
    if (const Value usual = member.usual(settings); !usual.is_null()) {
      for (Node& node : lab.nodes) {
        node.members.emplace(member.name, usual);
      }
    }
  }
  for (Node& node : lab.nodes) {
    const auto written = node.members.find(member.name);
    if (written == node.members.end()) {
      continue;
    }
    const auto extra = member.read(written->second, settings);
    if (!extra.ok()) {
      return extra.error().with_context(fmt::format("nodes: {}: {}", node.name, member.name));
    }
    node.labels.insert(extra->labels.begin(), extra->labels.end());
    node.annotations.insert(extra->annotations.begin(), extra->annotations.end());
  }
  return {};
}

}  // namespace

Result<void> equip_nodes(Lab& lab, std::span<const System* const> systems,
                         const SystemConfig& config) {
  for (const System* system : systems) {
    const auto section = config.find(system->name);
    const Value settings = section == config.end() ? Value() : section->second;
    for (const LabNodeMember& member : system->lab_node_members) {
      ATHANOR_TRY_VOID(equip(lab, member, settings));
    }
  }
  return {};
}

}  // namespace athanor::lab
