// SPDX-License-Identifier: Apache-2.0
// What an agent makes of what it finds at its start and every minute: claims in use, CDI files,
// slices on the GPUs, and the record of slices that it made (docs/spec/das.md 3.4, 8.4, N-B9).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/claim.hpp"

namespace athanor::das {

// State of the node that measures_of() judges.
struct Findings {
  NodeSight sight{};
  std::vector<CdiSpec> files{};
  std::vector<SliceRecord> records{};
  std::set<std::string> devices{};  // MIG UUIDs that are there
  std::set<std::string> gpus{};     // UUIDs of the GPUs that the driver reports
  bool emulated = false;
  bool rebooted = false;  // the boot id differs from the published one
};

// Actions that bring files, slices, records and claims into agreement.
struct Measures {
  std::vector<CdiSpec> remove_files{};
  std::vector<SliceRecord> destroy{};  // slices without a claim
  std::vector<SliceRecord> forget{};   // records of slices that are gone
  std::vector<Claim> stale_claims{};   // deleted
  std::vector<Object> stale_pods{};    // deleted with them: after a reboot alone
};

// A claim in use is stale only after a reboot, and only if its slice is not there. Slices that no
// record names are foreign and never touched. Records of a GPU that is not reported stay until it
// returns with its slices or the node restarts. Nothing is to be done while claims are not known.
Measures measures_of(const Findings& findings);

// What was granted, as the files tell: a pod's containers are known by their devices' ids.
Ledger ledger_of(const std::vector<CdiSpec>& files, const NodeSight& sight);

}  // namespace athanor::das
