// SPDX-License-Identifier: Apache-2.0
// Allocate: from a kubelet's question to slices, claims in use and CDI files, or to nothing at all
// (docs/spec/das.md 8.5, N-B10 to N-B14, N-B19). Decides only; AllocateWorld does.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::das {

struct Transfer;

// Services for an Allocate call. Every function may block; a call takes less than 10 s in all.
class AllocateWorld {
 public:
  virtual ~AllocateWorld() = default;
  // Returns the caches' present state of the node.
  virtual NodeSight look() = 0;
  // Reads the pod of a claim from the API server; nullopt: it is not bound to the node, or it is
  // gone. An error: there was no answer within a second.
  virtual Result<std::optional<Object>> find_pod(const Claim& claim) = 0;
  virtual void wait(Duration time) = 0;
  // Writes the claims' next state. Claims that have it are left alone.
  virtual Result<void> write_state(std::span<const Claim> claims, std::string_view state) = 0;
  // Makes the claims' slices, or sees to it that their shares can be used; those that are there are
  // found. Answers their names, in order. On an
  // error none that it made is left.
  virtual Result<std::vector<std::string>> make_slices(std::span<const Claim> claims) = 0;
  virtual void destroy_slices(std::span<const Claim> claims) = 0;
  // Returns the name in containers of a claim's slice, or of its share's GPU; empty: not known.
  virtual std::string slice_of(const Claim& claim) = 0;
  virtual Result<void> write_file(const CdiSpec& spec) = 0;
  virtual void remove_file(const CdiSpec& spec) = 0;
  // Returns the owners of devices as the kubelet reports them; nullopt: it does not answer.
  virtual std::optional<std::vector<Holder>> holders() = 0;
  // Makes a claim another pod's.
  virtual Result<void> give(const Transfer& transfer) = 0;
  // Keeps the text of an exchange that begins, beyond the agent's life, in one write; empty: it is
  // over.
  virtual Result<void> keep_exchange(const std::string& text) = 0;
  virtual std::string kept_exchange() = 0;
};

// Options of allocate(): values of CUDA_VISIBLE_DEVICES and the node's folder for modes of shared
// GPUs.
struct AllocateOptions {
  std::string cuda_visible_devices = "index";  // or "same"
  std::string state_folder = kStateFolder;
};

// Answers one question for each container, in order: the CDI device's full name. One call at a
// time: the ledger is its own. After an error nothing of the call is left. The first question of a
// kubelet settles the ledger.
Result<std::vector<std::string>> allocate(std::span<const DeviceAsk> asks, Ledger& ledger,
                                          AllocateWorld& world, const AllocateOptions& options);

// Returns the wanted files of a container: each lists the union of the container's slices, and
// names its own claims (docs/spec/das.md N-B19).
std::vector<CdiSpec> container_files(const Ledger& ledger, std::string_view pod_uid,
                                     std::string_view container, const NodeSight& sight,
                                     AllocateWorld& world, const AllocateOptions& options);

// Returns the id of a container's device, the same for the same container and profile. The name of
// a device that an exchange moved stays taken: the next has another.
std::string cdi_id_of(std::string_view pod_uid, std::string_view container,
                      std::string_view profile);

}  // namespace athanor::das
