// SPDX-License-Identifier: Apache-2.0
// Settings of DAS: a pure reading of the environment (docs/spec/das.md 1, 9).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/describe.hpp"
#include "base/result.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::das {

// Section of the configuration that holds Settings.
inline constexpr const char* kSettingsSection = "das";

// The content of view.config("das").
struct Settings {
  std::string ns = "das-operator";
  std::string emulated_mode = "disabled";  // enabled, disabled
  std::string gpu_model = "A100-PCIE-40GB";
  std::int64_t gpu_count = 2;
  std::string device_ids = "test";                  // test, uuid
  std::string cuda_visible_devices = "index";       // index, same
  std::string placement_policy = "firstfit";        // firstfit, fragmin
  std::string gpu_order = "listed";                 // listed, emptiest, fullest
  std::string node_scoring_policy = "spread";       // spread, pack
  std::map<std::string, double> profile_weights{};  // of fragmin, by profile
  std::string whole_gpu = "keep";                   // keep, map (docs/spec/das.md W-B4)
  // A resource that stands for GPU memory in quotas; empty: none (docs/spec/das.md K7).
  std::string memory_quota_resource{};
  // Latency and faults of emulated slices (docs/spec/das.md E-B4).
  std::int64_t slice_create_ms = 0;
  std::int64_t slice_destroy_ms = 0;
  std::int64_t fail_per_million = 0;
  // True: not a lab; nodes run an agent of their own in this image (docs/spec/das.md 8.1).
  bool production = false;
  std::string agent_image = "athanor-agent:latest";
  // Image of the stock kube-scheduler; empty: the operator deploys no scheduler.
  std::string scheduler_image{};
  // Image of a webhook of its own, which labs alone have: on a cluster the operator serves it.
  std::string webhook_image{};
  // The ClusterPolicy that agents wait for; empty: none; nullopt: that of the agent's default.
  std::optional<std::string> cluster_policy_name{};
  // The API that hands out GPUs: deviceplugin, dra or both (docs/spec/das.md 15.1).
  std::string allocation_api = "deviceplugin";
  // True: ClusterPolicy of the GPU operator is served, and ready (docs/spec/das.md E6).
  bool cluster_policy = false;

  [[nodiscard]] bool emulated() const { return emulated_mode == "enabled"; }
  [[nodiscard]] bool dra() const { return allocation_api != "deviceplugin"; }
  [[nodiscard]] PlacementOptions placement() const;
  [[nodiscard]] NodeScoring node_scoring() const;
  // Returns profile_weights as JSON: {"1g.5gb":0.5}.
  [[nodiscard]] std::string weights_text() const;
};

// Parses. Errors name the variable: `invalid EMULATED_MODE "x": must be "enabled" or "disabled"`.
Result<Settings> parse_settings(const std::map<std::string, std::string>& environment);
// Reads the section; absent members keep their defaults.
Settings settings_of(const View& view);

}  // namespace athanor::das

ATHANOR_DESCRIBED(athanor::das::Settings);
