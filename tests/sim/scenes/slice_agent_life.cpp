// SPDX-License-Identifier: Apache-2.0
// An agent's start, its looks at the node and the end of its slices (src/agent/agent.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "sim/scenes/slice_agent.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::sim {
namespace {

constexpr const char* kSystemNs = das::kDefaultNamespace;

}  // namespace

das::Findings SliceAgents::Agent::findings() {
  // Records first: what they name is in a view that is taken later.
  das::Findings found{.files = node.specs(), .records = node.records};
  found.sight = look();
  for (const SliceNode::Slice& slice : node.slices) {
    found.slices.push_back(slice.found);
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
    found.slices.clear();
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
    const auto pod = found.sight.pods.find(claim.pod_uid);
    if (!all_.deaths_ && pod != found.sight.pods.end() && !das::has_ended(pod->second)) {
      all_.flaw_ = "pod " + claim.pod.text() + " is deleted at a start of its agent";
    }
    static_cast<void>(
        write({claim.object.key(), std::string(claim.object.uid())},
              Value::object({{"status", das::restarted_status(claim, world_->now())}}), "status"));
  }
  for (const das::CdiSpec& file : measures.remove_files) {
    remove_file(file);
  }
  for (const das::SliceRecord& record : measures.forget) {
    std::erase(node.records, record);
  }
  if (all_.mistake_ == Mistake::TrustsNames) {
    std::erase_if(node.records, [&](const das::SliceRecord& record) {
      return std::ranges::none_of(node.slices, [&](const SliceNode::Slice& slice) {
        return slice.found.device == record.device;
      });
    });
  }
  for (const das::SliceRecord& record :
       all_.mistake_ == Mistake::DestroysAll ? found.records : measures.destroy) {
    if (std::ranges::find(node.records, record) != node.records.end()) {
      destroy(record);
    }
  }
  ledger_ = das::ledger_of(node.specs(), found.sight);
  alive_ = true;
  compare_soon();
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
