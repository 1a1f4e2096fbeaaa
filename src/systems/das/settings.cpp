// SPDX-License-Identifier: Apache-2.0
#include "systems/das/settings.hpp"

#include <fmt/core.h>

#include <initializer_list>

#include "api/describe_ops.hpp"
#include "base/environment.hpp"
#include "systems/das/placement/tables.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMostGpus = 16;

Result<void> read_choice(const Environment& environment, std::string_view name,
                         std::initializer_list<std::string_view> choices, std::string& into) {
  environment.text(name, into);
  std::string known;
  for (const std::string_view choice : choices) {
    if (into == choice) {
      return {};
    }
    known += fmt::format("{}\"{}\"", known.empty() ? "" : " or ", choice);
  }
  return Error::bad_request(fmt::format("invalid {} \"{}\": must be {}", name, into, known));
}

}  // namespace

PlacementOptions Settings::placement() const {
  PlacementOptions options;
  options.policy =
      placement_policy == "fragmin" ? PlacementPolicy::FragMin : PlacementPolicy::FirstFit;
  options.order = gpu_order == "emptiest"  ? GpuOrder::Emptiest
                  : gpu_order == "fullest" ? GpuOrder::Fullest
                                           : GpuOrder::Listed;
  return options;
}

Result<Settings> parse_settings(const std::map<std::string, std::string>& environment) {
  const Environment variables(environment);
  Settings settings;
  variables.text("INSTASLICE_NAMESPACE", settings.ns);
  ATHANOR_TRY_VOID(
      read_choice(variables, "EMULATED_MODE", {"enabled", "disabled"}, settings.emulated_mode));
  ATHANOR_TRY_VOID(
      read_choice(variables, "EMULATED_DEVICE_IDS", {"test", "uuid"}, settings.device_ids));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_CUDA_VISIBLE_DEVICES", {"index", "same"},
                               settings.cuda_visible_devices));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_PLACEMENT_POLICY", {"firstfit", "fragmin"},
                               settings.placement_policy));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_GPU_ORDER", {"listed", "emptiest", "fullest"},
                               settings.gpu_order));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_NODE_SCORING_POLICY", {"spread", "pack"},
                               settings.node_scoring_policy));
  variables.text("EMULATED_GPU_MODEL", settings.gpu_model);
  if (find_model(settings.gpu_model) == nullptr) {
    return Error::bad_request(fmt::format("unknown emulated GPU model \"{}\"; known: {}",
                                          settings.gpu_model, known_models()));
  }
  if (variables.find("EMULATED_GPU_COUNT") != nullptr) {
    ATHANOR_TRY_VOID(variables.whole("EMULATED_GPU_COUNT", kMostGpus,
                                     "must be a whole number from 1 to 16", settings.gpu_count));
  }
  return settings;
}

Settings settings_of(const View& view) {
  return api::decode<Settings>(view.config(kSettingsSection));
}

}  // namespace athanor::das

namespace athanor::api {

const TypeInfo& Describe<das::Settings>::type() {
  using T = das::Settings;
  static const FieldInfo kFields[] = {
      field<&T::ns>("namespace", "Where the operator, claims and NodeAccelerators live."),
      field<&T::emulated_mode>("emulatedMode", "Whether nodes publish synthetic GPUs."),
      field<&T::gpu_model>("gpuModel", "Model of synthetic GPUs without an annotation."),
      field<&T::gpu_count>("gpuCount", "Synthetic GPUs of a node without an annotation."),
      field<&T::device_ids>("deviceIds", "What emulated slices are called in the container."),
      field<&T::cuda_visible_devices>("cudaVisibleDevices",
                                      "What CUDA_VISIBLE_DEVICES lists: index or same."),
      field<&T::placement_policy>("placementPolicy", "firstfit or fragmin."),
      field<&T::gpu_order>("gpuOrder", "listed, emptiest or fullest."),
      field<&T::node_scoring_policy>("nodeScoringPolicy", "spread or pack."),
  };
  static const TypeInfo kType{.name = "DasSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
