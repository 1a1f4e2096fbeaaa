// SPDX-License-Identifier: Apache-2.0
// Claims follow the pods that the kubelet gave their devices to, and a claim ends only after that
// (docs/spec/das.md N-B13). A claim keeps its slice and its slots: its pod changes, in one write.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systems/das/agent/allocate.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/claim.hpp"

namespace athanor::das {

// A claim that belongs to another pod's container from now on.
struct Transfer {
  Claim claim{};
  std::string pod_uid{};
  Key pod{};
  std::string container{};
};
// The merge patch of the claim.
Value patch_of(const Transfer& transfer);

// Writes for one misplaced grant, in order. The holder's own claims, which nothing uses, go to the
// pod that the grant was meant for; then the grant's claims to the holder. After a crash between
// any two of them the rest follows from what is written.
struct Exchange {
  Misplaced of{};
  std::vector<Transfer> transfers{};
  std::vector<Grant> dropped{};  // the holder's lost grants
};

// The exchange that is due first. A grant waits while its holder may have an answer that is not
// noted yet.
std::optional<Exchange> next_exchange(const Ledger& ledger, std::span<const Holder> holders,
                                      const NodeSight& sight);

// Learns from the kubelet's word and carries out exchanges: claims, ledger and files. What fails is
// due again.
void compare(std::span<const Holder> holders, Ledger& ledger, AllocateWorld& world,
             const AllocateOptions& options);

// Whether the slice of a claim whose pod has ended may be destroyed.
enum class Ending : std::uint8_t {
  Destroy,
  Unknown,  // the kubelet does not say who has its devices
  Wait,     // another pod has them: an exchange is due
  Another   // it is another pod's claim by now
};
// Compares first where who has the claim's devices is not known.
Ending end_of(const Claim& claim, Ledger& ledger, AllocateWorld& world,
              const AllocateOptions& options);
// Removes the files among these that name the claim, and forgets what was granted with it.
void drop_grant(const Claim& claim, std::span<const CdiSpec> files, Ledger& ledger,
                AllocateWorld& world);

}  // namespace athanor::das
