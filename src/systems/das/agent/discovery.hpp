// SPDX-License-Identifier: Apache-2.0
// Discovery of a node's GPUs through its driver, and their publication (docs/spec/das.md 2.3, 8.2).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/value/value.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::das {

// An instance on a GPU, made by DAS or by another program.
struct FoundSlice {
  std::string gpu{};
  std::string device{};  // MIG UUID; empty: it has no compute instance
  int start = 0;
  int size = 0;
};

// A GPU as its driver reports it.
struct FoundGpu {
  std::string uuid{};
  std::string name{};
  std::int64_t memory_bytes = 0;
  int index = 0;
  std::string pci_bus_id{};
  int numa_node = -1;  // -1: not known
  bool healthy = true;
  bool lost = false;   // the driver does not report it any more, or says that it is lost
  bool whole = false;  // without MIG mode: to be shared as a whole, or left out
  MigTable table{};    // empty where `whole`
  MigTable offered{};  // where `whole`: what the driver would offer in MIG mode
};

// GPUs and instances of one node.
struct Discovery {
  std::vector<FoundGpu> gpus{};  // in order of their index
  std::vector<FoundSlice> slices{};
};

// Returns status.nodeResources. Instances that no record names are foreign: their slots are listed.
Value node_resources(const Discovery& found, const std::vector<SliceRecord>& records,
                     const std::string& boot_id);
// Returns the uids of the claims whose slices the driver reports.
Value claims_with_slices(const Discovery& found, const std::vector<SliceRecord>& records);
// Returns for each GPU of these resources how it can be divided.
std::vector<Divisible> divisions_of(const Discovery& found);
// Returns {"status", "reason", "message"} of condition Ready, from status.nodeResources.
Value readiness(const Value& resources);

// Returns the slots of a GPU with these placements: 8 or 4.
int slots_of(const MigTable& table);

}  // namespace athanor::das
