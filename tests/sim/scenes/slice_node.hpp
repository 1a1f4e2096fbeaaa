// SPDX-License-Identifier: Apache-2.0
// What a simulated GPU node keeps when its agent dies: one GPU with its slices, the agent's files,
// and what the kubelet noted of its pods.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/discovery.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor::sim {

struct SliceNode {
  struct Slice {
    das::FoundSlice found{};
    std::string profile{};
    std::string claim_uid{};             // for which it was made
    std::optional<Instant> unclaimed{};  // since when that claim is gone
  };
  // What the kubelet keeps of a pod that it asked for.
  struct Admitted {
    std::string profile{};
    std::vector<std::string> ids{};
    std::string device{};  // of CDI
  };
  struct User {
    Key key{};
    std::string uid{};
  };

  explicit SliceNode(std::string name);

  [[nodiscard]] std::string boot_id() const;
  [[nodiscard]] Value resources() const;  // status.nodeResources
  [[nodiscard]] das::SliceRecord record_of(std::string_view claim_uid) const;
  [[nodiscard]] std::vector<das::CdiSpec> specs() const;
  // The slices that the CDI file of this device brings into a container.
  [[nodiscard]] std::vector<std::string> devices_of(const std::string& device) const;
  // The lowest devices of the profile that no pod holds.
  [[nodiscard]] std::vector<std::string> free_ids(const std::string& profile,
                                                  std::size_t count) const;
  // As a driver: legal places alone.
  Result<std::string> create(const das::Claim& claim);
  // In the two calls of a driver: the compute instance ends, then the instance. An instance at the
  // place with another device stays.
  void destroy_compute(const das::SliceRecord& record);
  void destroy_instance(const das::SliceRecord& record);
  // Slices and files end, and so does what ran.
  void reboot();

  std::string name;
  int boot = 1;
  int made = 0;
  das::FoundGpu gpu{};
  std::vector<Slice> slices{};
  std::vector<das::SliceRecord> records{};
  std::map<std::string, std::string> files{};  // CDI files by name
  std::string exchange{};                      // that an agent began
  std::map<std::string, Admitted> admitted{};  // by pod uid
  std::map<std::string, User> used{};          // by slice: the pod whose containers have it
};

}  // namespace athanor::sim
