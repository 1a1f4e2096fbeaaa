// SPDX-License-Identifier: Apache-2.0
// An agent's start, its looks at the node and the end of its slices (src/agent/agent.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "sim/scenes/slice_agent.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/placement/profile.hpp"
#include "systems/das/vendor/vendor.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kSystemNs = das::kDefaultNamespace;

}  // namespace

das::Findings SliceAgents::Agent::findings() {
  // Records first: what they name is in a view that is taken later.
  das::Findings found{.files = node.specs(), .records = node.records};
  found.sight = look();
  for (const SliceNode::Slice& slice : node.slices) {
    found.devices.insert(slice.found.device);
  }
  found.gpus.insert(node.gpu.uuid);
  return found;
}

void SliceAgents::Agent::recover() {
  step();
  const auto known = world_->get(das::kNodeAccelerator, {kSystemNs, node.name});
  const std::string before = known ? known->status()["nodeResources"]["bootId"].str() : "";
  das::Findings found = findings();
  while (!found.sight.seen) {
    found = findings();  // a start is tried until it succeeds
  }
  found.rebooted = !before.empty() && before != node.boot_id();
  if (all_.mistake_ == Mistake::FalseReboot) {
    found.rebooted = true;
    found.devices.clear();
  }
  for (const auto& [uid, pod] : found.sight.pods) {
    if (all_.mistake_ == Mistake::FailsPods && pod.status()["phase"].as_string() == "Running") {
      static_cast<void>(world_->patch(
          api::kPod, pod.key(), Value::object({{"status", Value::object({{"phase", "Failed"}})}}),
          "status"));
    }
  }
  const das::Measures measures = das::measures_of(found);
  for (const das::Claim& claim : measures.stale_claims) {
    remove(das::kAllocationClaim, claim.object);
  }
  for (const Object& pod : measures.stale_pods) {
    if (!all_.deaths_) {
      all_.flaw_ = "pod " + pod.key().text() + " is deleted at a start of its agent";
    }
    remove(api::kPod, pod);
  }
  for (const das::CdiSpec& file : measures.remove_files) {
    remove_file(file);
  }
  for (const das::SliceRecord& record : measures.forget) {
    std::erase(node.records, record);
  }
  for (const das::SliceRecord& record :
       all_.mistake_ == Mistake::DestroysAll ? found.records : measures.destroy) {
    destroy(record);
  }
  ledger_ = das::ledger_of(node.specs(), found.sight);
  alive_ = true;
  compare_soon();
}

void SliceAgents::Agent::remove(const Kind& kind, const Object& object) {
  step();
  const auto now = world_->get(kind, object.key());
  if (now && now->uid() == object.uid()) {
    static_cast<void>(world_->remove(kind, object.key()));
  }
}

Value SliceAgents::Agent::published() {
  const Value resources = node.resources();
  return Value::object({{"nodeResources", resources},
                        {"ready", das::readiness(resources)},
                        {"type", das::kNvidiaMig}});
}

Value SliceAgents::Agent::offered() {
  const int more = all_.mistake_ == Mistake::Overstates ? 1 : 0;
  Value devices = Value::object();
  for (const das::DeviceList& list :
       das::device_lists(node.resources(), *das::find_vendor(das::kNvidiaMig))) {
    const auto usable = std::ranges::count(list.devices, true, &das::PluginDevice::healthy) + more;
    devices.set(das::resource_of(list.profile),
                Value::object({{"all", std::to_string(list.devices.size())},
                               {"usable", std::to_string(usable)}}));
  }
  return devices;
}

Result<Value> SliceAgents::Agent::tidy() {
  const das::Measures measures = das::measures_of(findings());
  for (const das::CdiSpec& file : measures.remove_files) {
    remove_file(file);
  }
  for (const das::SliceRecord& record : measures.destroy) {
    destroy(record);
  }
  compare_soon();
  return Value::object();
}

Result<Value> SliceAgents::Agent::release(const das::Claim& claim) {
  const das::Ending ending = all_.mistake_ == Mistake::SkipsComparison
                                 ? das::Ending::Destroy
                                 : das::end_of(claim, ledger_, *this, {});
  if (ending == das::Ending::Unknown || ending == das::Ending::Wait) {
    return Value::object({{"waits", true}});
  }
  if (ending == das::Ending::Destroy) {
    das::drop_grant(claim, node.specs(), ledger_, *this);
    destroy(claim);
    step();
  }
  return Value::object();
}

// A second after an answer, as soon as it has the time (src/agent/agent.cpp).
void SliceAgents::Agent::compare_soon() {
  world_->after(std::chrono::seconds(1), [all = all_.shared_from_this(), this](World& now) {
    static_cast<void>(enter(now, [this] {
      if (const auto seen = holders()) {
        das::compare(*seen, ledger_, *this, {});
      }
      return Result<Value>(Value());
    }));
  });
}

}  // namespace athanor::sim
