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
#include "systems/das/model/claim.hpp"

namespace athanor::das {

// A claim that belongs to another pod's container from now on.
struct Transfer {
  Key claim{};
  std::string claim_uid{};
  std::string pod_uid{};
  Key pod{};
  std::string container{};
};
// Returns the merge patch of the claim.
Value patch_of(const Transfer& transfer);

// One container of a pod.
struct PodContainer {
  std::string pod_uid{};
  std::string container{};
  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

// Steps that repair one misplaced grant, in order. The holder's own claims, which nothing
// uses, go to the pod that the grant was meant for; then the grant's claims to the holder. It
// begins with one write, of all of it to the node: whatever ends the agent then, the next one
// finishes it before it answers or destroys anything.
struct Exchange {
  std::string device{};  // cdi_id of the grant
  PodContainer from{};
  PodContainer to{};
  std::vector<Transfer> transfers{};
  std::vector<CdiSpec> dropped{};  // files of the holder's lost grants: profile and id
};
// Returns the exchange as the JSON text that parse_exchange() reads.
std::string print_exchange(const Exchange& exchange);
// Parses an exchange; nullopt: the text is none.
std::optional<Exchange> parse_exchange(std::string_view text);

// Finishes the exchange that began, if one did. Returns true if none is left.
bool finish_exchange(Ledger& ledger, AllocateWorld& world, const AllocateOptions& options);

// Returns the exchange that is due first. A grant waits while its holder may have an answer that is
// not noted yet.
std::optional<Exchange> next_exchange(const Ledger& ledger, std::span<const Holder> holders,
                                      const NodeSight& sight);

// Learns from the kubelet's word and carries out exchanges: claims, ledger and files. What fails is
// due again.
void compare(std::span<const Holder> holders, Ledger& ledger, AllocateWorld& world,
             const AllocateOptions& options);

// Whether the slice of a claim whose pod has ended may be destroyed.
enum class Ending : std::uint8_t {
  Destroy,
  Unknown,  // the kubelet does not say who has its devices, or names a pod that is not seen yet
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
