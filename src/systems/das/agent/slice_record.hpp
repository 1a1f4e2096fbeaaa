// SPDX-License-Identifier: Apache-2.0
// Slices that the agent made on real GPUs, as it keeps them beside the CDI files: they die with the
// node's run, as the slices do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systems/das/model/claim.hpp"

namespace athanor::das {

// One slice that the agent made for a claim; `start` and `size` in slots.
struct SliceRecord {
  std::string claim_uid{};
  std::string claim{};  // name
  std::string profile{};
  std::string gpu{};
  int start = 0;
  int size = 0;
  std::string device{};  // MIG UUID; empty: it was about to be made
  bool leaving = false;  // its teardown began
  friend bool operator==(const SliceRecord&, const SliceRecord&) = default;
};

// Returns the record of the claim's slice.
SliceRecord record_of(const Claim& claim, std::string device);
// Returns the records as the JSON text that parse_records() reads.
std::string print_records(const std::vector<SliceRecord>& records);
// Leaves out what cannot be read.
std::vector<SliceRecord> parse_records(std::string_view text);

}  // namespace athanor::das
