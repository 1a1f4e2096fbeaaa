// SPDX-License-Identifier: Apache-2.0
// MIG slices by node and GPU: what `athanor slices` shows, with problems and totals.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/saturate.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/row_texts.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/request.hpp"
#include "systems/das/verb/gpu_states.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kOrphaned = "orphaned";

// `ns`: of the pod that it is about; empty: of none.
Value problem(const std::string& object, const std::string& text, std::string_view ns = {}) {
  Value one = Value::object({{"object", object}, {"text", text}});
  set_text(one, "ns", ns);
  return one;
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

// The largest profile that fits, and how many slots it has; empty: none.
std::string largest_free(const das::GpuState& gpu, const Value& placements) {
  std::string largest;
  std::int64_t slots = 0;
  for (const auto& [profile, count] : gpu.room) {
    const std::int64_t size = placements[profile][0]["size"].as_int();
    if (count > 0 && size > slots) {
      largest = profile;
      slots = size;
    }
  }
  return largest;
}

// Free places by profile or resource: [{profile, free}].
Value room_list(const std::map<std::string, std::int64_t, std::less<>>& room) {
  Value list = Value::list();
  for (const auto& [profile, count] : room) {
    list.push_back(Value::object({{"profile", profile}, {"free", count}}));
  }
  return list;
}

// Returns 1 - (placements that fit) / (placements that would fit without gaps), by profile.
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
      problems.push_back(problem(object, where + ": the claim is orphaned", one.pod.ns));
    } else if (!one.pod.name.empty() && !pods.contains(one.pod)) {
      problems.push_back(problem(
          object, fmt::format("{}: its pod {} does not exist", where, one.pod.text()), one.pod.ns));
    }
    if (gpu.sliced() && !is_legal(one, placements)) {
      problems.push_back(problem(
          object, fmt::format("{}: {} may not start at slot {}", where, one.profile, one.start),
          one.pod.ns));
    }
    for (std::size_t j = i + 1; gpu.sliced() && j < gpu.holders.size(); ++j) {
      const das::GpuHolder& other = gpu.holders[j];
      if (one.start < other.start + other.size && other.start < one.start + one.size) {
        Value overlap =
            problem(object, fmt::format("{}: overlaps claim {}", where, other.claim), one.pod.ns);
        set_text(overlap, "otherNs", other.pod.ns);
        problems.push_back(std::move(overlap));
      }
    }
  }
}

using Room = std::map<std::string, std::int64_t, std::less<>>;

// Returns true if GPUs of one node have the room for all of it now: a pod runs on one node.
bool fits(const Room& wanted, const std::vector<Room>& nodes) {
  return std::ranges::any_of(nodes, [&](const Room& room) {
    return std::ranges::all_of(wanted, [&](const auto& one) {
      const auto found = room.find(one.first);
      return found != room.end() && found->second >= one.second;
    });
  });
}

// Returns the slices and shares that a pod requests, by profile or resource.
Room wanted_of(const Object& pod, const std::set<std::string, std::less<>>& shares) {
  Room wanted;
  for (const std::string& profile : das::slices_of(pod.spec()).profiles()) {
    ++wanted[profile];
  }
  for (const Value& container : pod.spec()["containers"].items()) {
    for (const Member& limit : container["resources"]["limits"].members()) {
      const auto amount = Quantity::parse(limit.value);
      if (amount && shares.contains(limit.key())) {
        std::int64_t& sum = wanted[std::string(limit.key())];
        sum = saturating_add(sum, amount->value());
      }
    }
  }
  return wanted;
}

// Pods that ask for slices or shares of GPUs and are not scheduled. `shares`: resources of shares.
Value waiting_pods(const Facts& facts, const std::vector<Room>& nodes,
                   const std::set<std::string, std::less<>>& shares) {
  Value waiting = Value::list();
  for (const Object& pod : facts.all(api::kPod)) {
    const std::string_view phase = pod.status()["phase"].as_string();
    if (!pod.spec()["nodeName"].as_string().empty() || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    const Room wanted = wanted_of(pod, shares);
    if (wanted.empty()) {
      continue;
    }
    Value profiles = Value::list();
    for (const auto& [profile, count] : wanted) {
      profiles.push_back(profile);
    }
    const Value& scheduled = find_condition(pod.status()["conditions"], "PodScheduled");
    waiting.push_back(Value::object({{"ns", pod.ns()},
                                     {"name", pod.name()},
                                     {"profiles", std::move(profiles)},
                                     {"fits", fits(wanted, nodes)},
                                     {"reason", scheduled["message"]}}));
  }
  return waiting;
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
  Room room;
  Room on_node;
  std::vector<Room> rooms;  // by node
  std::set<std::string, std::less<>> shares;
  std::int64_t used = 0;
  std::int64_t total = 0;
  Value gpus = Value::list();
  for (std::size_t i = 0; i < states.gpus.size(); ++i) {
    const das::GpuState& gpu = states.gpus[i];
    Value one = das::to_value(gpu);
    const Value& legal = placements[gpu.node];
    one.set("placements", legal);
    one.set("fragmentation", fragmentation_of(gpu, legal));
    set_text(one, "largestFree", largest_free(gpu, legal));
    if (!gpu.sliced()) {
      shares.insert(gpu.resource);
    }
    gpus.push_back(std::move(one));
    add_gpu_problems(gpu, legal, pods, problems);
    for (const auto& [profile, count] : gpu.room) {
      room[profile] += count;
      on_node[profile] += count;
    }
    total += gpu.total;
    for (const das::GpuHolder& holder : gpu.holders) {
      used += gpu.sliced() ? holder.size : 1;
    }
    if (i + 1 == states.gpus.size() || states.gpus[i + 1].node != gpu.node) {
      nodes.push_back(Value::object(
          {{"node", gpu.node}, {"gpus", std::move(gpus)}, {"totals", room_list(on_node)}}));
      gpus = Value::list();
      rooms.push_back(std::exchange(on_node, {}));
    }
  }
  Value lost = Value::list();
  for (const das::GpuHolder& holder : states.lost) {
    lost.push_back(das::to_value(holder));
    problems.push_back(
        problem("AllocationClaim/" + holder.claim, "no node has its GPU", holder.pod.ns));
  }
  return Value::object({{"nodes", std::move(nodes)},
                        {"lost", std::move(lost)},
                        {"problems", std::move(problems)},
                        {"totals", room_list(room)},
                        {"slots", Value::object({{"used", used}, {"total", total}})},
                        {"claims", facts.all(das::kAllocationClaim).size()},
                        {"waiting", waiting_pods(facts, rooms, shares)}});
}

}  // namespace athanor::console
