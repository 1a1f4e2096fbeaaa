// SPDX-License-Identifier: Apache-2.0
// Reconciliation of an agent with its node at its start and every minute: claims in use, CDI files,
// slices on the GPUs, and the record of slices that it made (docs/spec/das.md 3.4, 8.4, N-B9).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/discovery.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::das {

// State of the node that measures_of() judges.
struct Findings {
  NodeSight sight{};
  std::vector<CdiSpec> files{};
  std::vector<SliceRecord> records{};
  std::vector<FoundSlice> slices{};  // instances that are there, also half made ones
  std::set<std::string> gpus{};      // UUIDs of the GPUs that the driver reports
  bool emulated = false;
  bool rebooted = false;  // the boot id differs from the published one
};

// Actions that bring files, slices, records and claims into agreement.
struct Measures {
  std::vector<CdiSpec> remove_files{};
  std::vector<SliceRecord> destroy{};  // slices without a claim, or half destroyed
  std::vector<SliceRecord> forget{};   // records whose place is free
  std::vector<Claim> stale_claims{};   // after a reboot: their pods have no slices
};

// Derives the measures. A claim in use is stale only after a reboot, and only if its slice is
// missing. Slices without a record are foreign and never touched. A record is forgotten only when
// its place is empty: an instance without its compute instance is half made or half destroyed.
// Records of a GPU that is not reported stay until it returns with its slices or the node restarts.
// Returns no measures while claims are not known.
Measures measures_of(const Findings& findings);

// Returns the status of a claim in use whose slice did not outlive the node's restart: orphaned,
// with the condition kNodeRestarted. The controllers delete its pod, and the claim ends with that:
// an agent deletes no pods.
Value restarted_status(const Claim& claim, Instant now);

// Reads grants from the files: the ids of their devices identify a pod's containers.
Ledger ledger_of(const std::vector<CdiSpec>& files, const NodeSight& sight);

}  // namespace athanor::das
