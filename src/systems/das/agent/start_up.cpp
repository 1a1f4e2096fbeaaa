// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/start_up.hpp"

#include <algorithm>

#include "kube/value/condition.hpp"
#include "kube/value/object.hpp"
#include "systems/das/agent/allocate.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {
namespace {

bool has_claim(const std::vector<Claim>& claims, std::string_view uid) {
  return std::ranges::any_of(claims, [&](const Claim& claim) { return claim.object.uid() == uid; });
}

// The slice at a record's place.
enum class Left : std::uint8_t { Nothing, Part, All };
Left left_of(const SliceRecord& record, const std::vector<FoundSlice>& slices) {
  for (const FoundSlice& slice : slices) {
    if (slice.gpu != record.gpu || slice.start != record.start || slice.size != record.size) {
      continue;
    }
    if (!slice.device.empty() && slice.device == record.device) {
      return Left::All;
    }
    if (slice.device.empty() || record.device.empty()) {
      return Left::Part;
    }
  }
  return Left::Nothing;
}

// While the node runs a claim in use is never stale: the end of its pod releases it.
bool is_stale(const Claim& claim, const Findings& findings) {
  if (!findings.rebooted || claim.state != kInUse || claim.object.deleting()) {
    return false;
  }
  return findings.emulated ||
         std::ranges::none_of(findings.records, [&](const SliceRecord& record) {
           return record.claim_uid == claim.object.uid() &&
                  left_of(record, findings.slices) == Left::All;
         });
}

// The pod of a file, and one of its claims that says so.
struct Owner {
  std::string pod_uid{};
  std::string container{};
  bool has_claim = false;  // one that is still there
};

// Finds whose a file is by the claims as they are: an exchange may have made them another pod's
// since the file was written. It is over once no claim names the pod of before.
Owner owner_of(const CdiSpec& file, const NodeSight& sight) {
  const Value& written = file.claims.front()["spec"];
  Owner owner{.pod_uid = written["podRef"]["uid"].str(), .container = written["container"].str()};
  const Claim* other = nullptr;
  for (const Value& one : file.claims) {
    const std::string_view uid = one["metadata"]["uid"].as_string();
    const auto live = std::ranges::find_if(
        sight.claims, [&](const Claim& claim) { return claim.object.uid() == uid; });
    if (live == sight.claims.end()) {
      continue;
    }
    if (live->pod_uid == owner.pod_uid) {
      owner.container = live->container;
      owner.has_claim = true;
      return owner;
    }
    other = other == nullptr ? &*live : other;
  }
  return other == nullptr
             ? owner
             : Owner{.pod_uid = other->pod_uid, .container = other->container, .has_claim = true};
}

}  // namespace

Measures measures_of(const Findings& findings) {
  Measures measures;
  const NodeSight& sight = findings.sight;
  if (!sight.seen) {
    return measures;
  }
  for (const Claim& claim : sight.claims) {
    if (is_stale(claim, findings)) {
      measures.stale_claims.push_back(claim);
    }
  }
  for (const CdiSpec& file : findings.files) {
    const bool live = std::ranges::any_of(file.claims, [&](const Value& claim) {
      const std::string_view uid = claim["metadata"]["uid"].as_string();
      return has_claim(sight.claims, uid) && !has_claim(measures.stale_claims, uid);
    });
    if (!live) {
      measures.remove_files.push_back(file);
    }
  }
  for (const SliceRecord& record : findings.records) {
    if (!findings.rebooted && !findings.gpus.contains(record.gpu)) {
      continue;
    }
    const Left left = left_of(record, findings.slices);
    if (left == Left::Nothing) {
      measures.forget.push_back(record);
    } else if (record.leaving || !has_claim(sight.claims, record.claim_uid) ||
               (left == Left::Part && !record.device.empty())) {
      measures.destroy.push_back(record);
    }
  }
  return measures;
}

Value restarted_status(const Claim& claim, Instant now) {
  const Object& object = claim.object;
  Value status = claim_status(object.status(), {kOrphaned}, object.generation(), now);
  set_condition(status.member("conditions"),
                {.type = kNodeRestarted,
                 .status = "True",
                 .reason = "SliceLost",
                 .message = "the slice did not outlive the restart of the node",
                 .observed_generation = object.generation()},
                now);
  return status;
}

Ledger ledger_of(const std::vector<CdiSpec>& files, const NodeSight& sight) {
  Ledger ledger;
  for (const CdiSpec& file : files) {
    if (file.claims.empty()) {
      continue;
    }
    const Owner owner = owner_of(file, sight);
    const std::string& uid = owner.pod_uid;
    const Object* pod = sight.pod(uid);
    if (uid.empty() || (pod == nullptr && !owner.has_claim)) {
      continue;
    }
    Grant grant{.profile = file.profile, .ids = file.ids, .pod_uid = uid, .cdi_id = file.id};
    const Value spec = pod == nullptr ? Value::object() : pod->spec();
    for (const char* list : {"initContainers", "containers"}) {
      for (const Value& container : spec[list].items()) {
        const std::string name = container["name"].str();
        if (cdi_id_of(uid, name, file.profile) == file.id) {
          grant.container = name;
        }
      }
    }
    if (grant.container.empty()) {
      grant.container = owner.container;
    }
    for (const Value& claim : file.claims) {
      grant.claims.push_back(claim["metadata"]["uid"].str());
    }
    ledger.add(std::move(grant));
  }
  return ledger;
}

}  // namespace athanor::das
