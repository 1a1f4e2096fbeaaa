// SPDX-License-Identifier: Apache-2.0
#include "systems/das/system.hpp"

#include "systems/das/kinds.hpp"
#include "systems/das/operators.hpp"
#include "systems/das/settings.hpp"
#include "systems/das/slice_map.hpp"
#include "systems/das/webhook.hpp"

namespace athanor::das {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {das_kinds().begin(), das_kinds().end()};
}

Result<Value> read(const SettingsSource& source) {
  ATHANOR_TRY(const Settings settings, parse_settings(source.variables));
  return api::encode(settings);
}

// A lab whose nodes have no GPUs runs no pods of DAS.
std::vector<Value> lab_objects(const SystemConfig& config) {
  const auto found = config.find(kSettingsSection);
  const Settings settings =
      found == config.end() ? Settings{} : api::decode<Settings>(found->second);
  return settings.emulated() ? das_lab_objects(settings) : std::vector<Value>{};
}

Result<int> show_slices(VerbContext& context) {
  ATHANOR_TRY(const std::vector<Object> nodes, context.list(kNodeAccelerator, ""));
  ATHANOR_TRY(const std::vector<Object> claims, context.list(kAllocationClaim, ""));
  const std::string text = slice_map(nodes, claims);
  context.print(text.empty() ? "no node has GPUs that can be sliced\n" : text);
  return 0;
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = kSettingsSection,
      .summary = "slices of GPUs made on demand (emulated nodes)",
      // Production runs it only where it is named, until there is an agent for real nodes.
      .stand_in = true,
      .kinds = kinds,
      .operators = {das_operators().begin(), das_operators().end()},
      .webhooks = {das_webhooks().begin(), das_webhooks().end()},
      .settings = read,
      .variables = {"EMULATED_MODE", "EMULATED_DEVICE_IDS", "EMULATED_GPU_MODEL",
                    "EMULATED_GPU_COUNT", "INSTASLICE_NAMESPACE", "DAS_CUDA_VISIBLE_DEVICES",
                    "DAS_PLACEMENT_POLICY", "DAS_GPU_ORDER", "DAS_NODE_SCORING_POLICY"},
      .verbs = {Verb{.name = "slices",
                     .summary = "Show the slots of every GPU, and what still fits",
                     .footer = "  athanor slices",
                     .namespaced = false,
                     .run = show_slices}},
      .lab_objects = lab_objects};
  return kSystem;
}

}  // namespace athanor::das
