// SPDX-License-Identifier: Apache-2.0
// Vendor: one maker's GPUs behind one interface (docs/spec/das.md 15.3). Schedulers, emulated nodes
// and the agent reach shares of GPUs through it alone; a vendor is one file and one line in
// vendor.cpp.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/das/slices/tables.hpp"
#include "systems/das/slices/types.hpp"

namespace athanor::das {

// A program that a node runs for a GPU.
struct Command {
  std::vector<std::string> words{};
  Variables env{};
  // Names what cannot be done without it.
  std::string purpose{};
  friend bool operator==(const Command&, const Command&) = default;
};

// Actions of a node when a GPU enters or leaves a mode. Emulated nodes do none of them.
struct ModeWork {
  std::vector<std::string> folders{};  // are made first
  std::vector<Command> commands{};     // each once, in order
  std::optional<Command> daemon{};     // runs as long as the mode lasts
  friend bool operator==(const ModeWork&, const ModeWork&) = default;
};

// A folder of the node in a container.
struct Mount {
  std::string host{};
  std::string container{};
  friend bool operator==(const Mount&, const Mount&) = default;
};

// A container's view of its shares.
struct ContainerEdits {
  Variables env{};
  std::vector<Mount> mounts{};
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

// Where a node keeps what modes need.
inline constexpr const char* kStateFolder = "/var/run/das";

// Constants of a vendor.
struct VendorFacts {
  std::string_view type{};          // spec.acceleratorType
  std::string_view default_mode{};  // of GPUs that the annotation does not name
  std::string_view forms{};         // of modes, for messages
  // Prefixes of the resources of its shares, each with its slash.
  std::vector<std::string_view> prefixes{};
  // Resources of usual shares: a stock scheduler asks about exact names alone.
  std::vector<std::string> usual_resources{};
};

// Pure and without state. Implementations live as long as the program.
class Vendor {
 public:
  virtual ~Vendor() = default;
  [[nodiscard]] virtual const VendorFacts& facts() const = 0;
  // Models that nodes can emulate.
  [[nodiscard]] virtual std::span<const GpuModel> models() const = 0;
  // Reads a mode as people write it; nullopt: no mode of this vendor.
  [[nodiscard]] virtual std::optional<GpuSharing> mode(std::string_view text) const = 0;

  // Returns status.nodeResources of a node with `count` emulated GPUs.
  [[nodiscard]] virtual Value discover(std::string_view node, const GpuModel& model,
                                       int count) const;
  // Returns how many devices a GPU brings, by resource. `table`: its profiles.
  [[nodiscard]] virtual std::map<std::string, int> capacity(const SharedGpu& gpu,
                                                            const MigTable& table) const = 0;
  // Returns a place for each request; empty: they do not fit. Unless overridden: the fullest GPU
  // with room, each request by itself.
  [[nodiscard]] virtual std::vector<SharePlace> place(
      std::vector<SharedGpu> gpus, const std::vector<ShareRequest>& requests) const;
  // Returns the claim's spec.share for the share `index` of a GPU.
  [[nodiscard]] virtual Value share(const SharedGpu& gpu, int index) const = 0;
  // Returns what the node does before shares of the GPU are handed out. Unless overridden: nothing.
  [[nodiscard]] virtual ModeWork create(const SharedGpu& gpu, std::string_view state_folder) const;
  // Returns what the node does once the GPU leaves its mode. Unless overridden: nothing.
  [[nodiscard]] virtual ModeWork destroy(const SharedGpu& gpu, std::string_view state_folder) const;
  // Returns what the node does while the slice `device` has shares. Unless overridden: nothing.
  [[nodiscard]] virtual ModeWork share_slice(const ShareClaim& claim, const std::string& device,
                                             std::string_view state_folder) const;
  // Returns what a container with these shares sees. `names`: what GPUs and slices are called, by
  // ShareClaim::part().
  [[nodiscard]] virtual ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                             const std::map<std::string, std::string>& names,
                                             std::string_view state_folder) const = 0;
  // Returns why a GPU of status.nodeResources must not be used; empty: it may. Unless overridden:
  // "Unhealthy" as the node's agent wrote it.
  [[nodiscard]] virtual std::string health(const Value& gpu) const;
};

// Returns all vendors, NVIDIA first.
std::span<const Vendor* const> vendors();
// Finds a vendor; nullptr: no such type. An empty type is NVIDIA's.
const Vendor* find_vendor(std::string_view type);
// Returns the vendor whose shares this resource counts; nullptr: none.
const Vendor* vendor_of_resource(std::string_view resource,
                                 std::span<const Vendor* const> among = vendors());

// Finds a model of any vendor; nullptr: no such model.
const GpuModel* find_model(std::string_view key);
// Returns "A100-PCIE-40GB, A100-SXM4-80GB, ...".
std::string known_models();

}  // namespace athanor::das
