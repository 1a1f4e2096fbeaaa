// SPDX-License-Identifier: Apache-2.0
// MIG slices by node and GPU: what `athanor slices` shows, with problems and totals.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/verb/gpu_states.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kSliceResource = "mig.das.com/";
constexpr std::string_view kOrphaned = "orphaned";

Value problem(const std::string& object, const std::string& text) {
  return Value::object({{"object", object}, {"text", text}});
}

// Legal places by profile, as the node publishes them.
Value placements_of(const Value& accelerator) {
  Value all = Value::object();
  for (const Member& profile : accelerator["nodeResources"]["migPlacement"].members()) {
    Value places = Value::list();
    for (const Value& place : profile.value["placements"].items()) {
      places.push_back(Value::object({{"start", place["start"]}, {"size", place["size"]}}));
    }
    all.set(profile.key(), std::move(places));
  }
  return all;
}

// 1 - (what still fits) / (what fits into as many free slots without gaps), by profile.
Value fragmentation_of(const das::GpuState& gpu, const Value& placements) {
  Value all = Value::object();
  for (const auto& [profile, room] : gpu.room) {
    const std::int64_t size = placements[profile][0]["size"].as_int();
    const std::int64_t most = static_cast<std::int64_t>(placements[profile].size());
    const std::int64_t ideal = size > 0 ? std::min<std::int64_t>(gpu.free / size, most) : 0;
    if (ideal > 0) {
      all.set(profile, 1.0 - static_cast<double>(std::min<std::int64_t>(room, ideal)) /
                                 static_cast<double>(ideal));
    }
  }
  return all;
}

bool is_legal(const das::GpuHolder& holder, const Value& placements) {
  const Value& places = placements[holder.profile];
  return places.empty() || std::ranges::any_of(places.items(), [&](const Value& place) {
           return place["start"].as_int() == holder.start && place["size"].as_int() == holder.size;
         });
}

void add_gpu_problems(const das::GpuState& gpu, const Value& placements, const std::set<Key>& pods,
                      Value& problems) {
  const std::string where = fmt::format("{}, GPU {}", gpu.node, gpu.index);
  if (!gpu.healthy) {
    problems.push_back(problem("NodeAccelerator/" + gpu.node, where + " is unhealthy"));
  }
  for (std::size_t i = 0; i < gpu.holders.size(); ++i) {
    const das::GpuHolder& one = gpu.holders[i];
    const std::string object = "AllocationClaim/" + one.claim;
    if (one.state == kOrphaned) {
      problems.push_back(problem(object, where + ": the claim is orphaned"));
    } else if (!one.pod.name.empty() && !pods.contains(one.pod)) {
      problems.push_back(
          problem(object, fmt::format("{}: its pod {} does not exist", where, one.pod.text())));
    }
    if (gpu.sliced() && !is_legal(one, placements)) {
      problems.push_back(problem(
          object, fmt::format("{}: {} may not start at slot {}", where, one.profile, one.start)));
    }
    for (std::size_t j = i + 1; gpu.sliced() && j < gpu.holders.size(); ++j) {
      const das::GpuHolder& other = gpu.holders[j];
      if (one.start < other.start + other.size && other.start < one.start + one.size) {
        problems.push_back(
            problem(object, fmt::format("{}: overlaps claim {}", where, other.claim)));
      }
    }
  }
}

// Pods that ask for slices and are not scheduled.
Value waiting_pods(const Facts& facts) {
  Value waiting = Value::list();
  for (const Object& pod : facts.all(api::kPod)) {
    const std::string_view phase = pod.status()["phase"].as_string();
    if (!pod.spec()["nodeName"].as_string().empty() || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    Value profiles = Value::list();
    for (const Value& container : pod.spec()["containers"].items()) {
      for (const Member& limit : container["resources"]["limits"].members()) {
        if (limit.key().starts_with(kSliceResource)) {
          profiles.push_back(limit.key().substr(kSliceResource.size()));
        }
      }
    }
    if (!profiles.empty()) {
      const Value& scheduled = find_condition(pod.status()["conditions"], "PodScheduled");
      waiting.push_back(Value::object({{"ns", pod.ns()},
                                       {"name", pod.name()},
                                       {"profiles", std::move(profiles)},
                                       {"reason", scheduled["message"]}}));
    }
  }
  return waiting;
}

Value holder_value(const das::GpuHolder& holder) {
  return Value::object({{"claim", holder.claim},
                        {"profile", holder.profile},
                        {"namespace", holder.pod.ns},
                        {"pod", holder.pod.name},
                        {"container", holder.container},
                        {"state", holder.state},
                        {"start", holder.start},
                        {"size", holder.size}});
}

}  // namespace

Value slice_map(const Facts& facts) {
  const std::vector<Object>& accelerators = facts.all(das::kNodeAccelerator);
  const das::GpuStates states = das::gpu_states(accelerators, facts.all(das::kAllocationClaim));
  std::map<std::string, Value, std::less<>> placements;  // by node
  for (const Object& node : accelerators) {
    placements.emplace(node.name(), placements_of(node.status()));
  }
  std::set<Key> pods;
  for (const Object& pod : facts.all(api::kPod)) {
    pods.insert(pod.key());
  }
  Value nodes = Value::list();
  Value problems = Value::list();
  std::map<std::string, std::int64_t> room;
  std::int64_t used = 0;
  std::int64_t total = 0;
  Value gpus = Value::list();
  for (std::size_t i = 0; i < states.gpus.size(); ++i) {
    const das::GpuState& gpu = states.gpus[i];
    Value one = das::to_value(gpu);
    const Value& legal = placements[gpu.node];
    one.set("placements", legal);
    one.set("fragmentation", fragmentation_of(gpu, legal));
    gpus.push_back(std::move(one));
    add_gpu_problems(gpu, legal, pods, problems);
    for (const auto& [profile, count] : gpu.room) {
      room[profile] += count;
    }
    total += gpu.total;
    for (const das::GpuHolder& holder : gpu.holders) {
      used += gpu.sliced() ? holder.size : 1;
    }
    if (i + 1 == states.gpus.size() || states.gpus[i + 1].node != gpu.node) {
      nodes.push_back(Value::object({{"node", gpu.node}, {"gpus", std::move(gpus)}}));
      gpus = Value::list();
    }
  }
  Value lost = Value::list();
  for (const das::GpuHolder& holder : states.lost) {
    lost.push_back(holder_value(holder));
    problems.push_back(problem("AllocationClaim/" + holder.claim, "no node has its GPU"));
  }
  Value totals = Value::list();
  for (const auto& [profile, count] : room) {
    totals.push_back(Value::object({{"profile", profile}, {"free", count}}));
  }
  return Value::object({{"nodes", std::move(nodes)},
                        {"lost", std::move(lost)},
                        {"problems", std::move(problems)},
                        {"totals", std::move(totals)},
                        {"slots", Value::object({{"used", used}, {"total", total}})},
                        {"claims", facts.all(das::kAllocationClaim).size()},
                        {"waiting", waiting_pods(facts)}});
}

}  // namespace athanor::console
