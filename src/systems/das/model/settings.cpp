// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/settings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <system_error>

#include "api/describe_ops.hpp"
#include "base/environment.hpp"
#include "kube/text/json.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/quota.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/tables.hpp"

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

// From 0 to `most`, with a fraction where `scale` has room for one.
Result<void> read_number(const Environment& environment, std::string_view name, double most,
                         std::int64_t scale, std::int64_t& into) {
  const std::string* text = environment.find(name);
  if (text == nullptr) {
    return {};
  }
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || !(number >= 0) || number > most) {
    return refuse_setting(name, *text, fmt::format("must be a number from 0 to {}", most));
  }
  into = static_cast<std::int64_t>(number * static_cast<double>(scale));
  return {};
}

// "1g.5gb=0.5,3g.20gb=2".
Result<void> read_weights(const Environment& environment, std::string_view name,
                          std::map<std::string, double>& into) {
  constexpr double kMostWeight = 1'000'000;
  const std::string* text = environment.find(name);
  for (std::string_view rest = text == nullptr ? std::string_view() : *text; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    const auto profile = parse_profile(one.substr(0, equals));
    double weight = -1;
    if (equals != std::string_view::npos) {
      const char* const end = one.data() + one.size();
      const auto [stop, error] = std::from_chars(one.data() + equals + 1, end, weight);
      weight = error == std::errc() && stop == end ? weight : -1;
    }
    if (!profile || !(weight >= 0) || weight > kMostWeight ||
        !into.emplace(profile->text(), weight).second) {
      return Error::bad_request(fmt::format(
          "invalid {} \"{}\": must be PROFILE=NUMBER, separated by commas, each profile once, with "
          "numbers from 0 to {}",
          name, *text, kMostWeight));
    }
  }
  return {};
}

}  // namespace

PlacementOptions Settings::placement() const {
  PlacementOptions options;
  options.weights.insert(profile_weights.begin(), profile_weights.end());
  options.policy =
      placement_policy == "fragmin" ? PlacementPolicy::FragMin : PlacementPolicy::FirstFit;
  options.order = gpu_order == "emptiest"  ? GpuOrder::Emptiest
                  : gpu_order == "fullest" ? GpuOrder::Fullest
                                           : GpuOrder::Listed;
  return options;
}

NodeScoring Settings::node_scoring() const {
  return node_scoring_policy == "pack" ? NodeScoring::Pack : NodeScoring::Spread;
}

std::string Settings::weights_text() const {
  Value weights = Value::object();
  for (const auto& [profile, weight] : profile_weights) {
    weights.set(profile, weight);
  }
  return json::print(weights);
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
  ATHANOR_TRY_VOID(read_weights(variables, "DAS_PROFILE_WEIGHTS", settings.profile_weights));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_WHOLE_GPU", {"keep", "map"}, settings.whole_gpu));
  ATHANOR_TRY_VOID(read_choice(variables, "DAS_ALLOCATION_API", {"deviceplugin", "dra", "both"},
                               settings.allocation_api));
  constexpr double kMostMs = 600'000;
  constexpr std::int64_t kMillion = 1'000'000;
  ATHANOR_TRY_VOID(
      read_number(variables, "EMULATED_SLICE_CREATE_MS", kMostMs, 1, settings.slice_create_ms));
  ATHANOR_TRY_VOID(
      read_number(variables, "EMULATED_SLICE_DESTROY_MS", kMostMs, 1, settings.slice_destroy_ms));
  ATHANOR_TRY_VOID(
      read_number(variables, "EMULATED_FAIL_RATE", 1, kMillion, settings.fail_per_million));
  variables.text("DAS_MEMORY_QUOTA_RESOURCE", settings.memory_quota_resource);
  if (!settings.memory_quota_resource.empty()) {
    if (const auto checked = check_quota_resource(settings.memory_quota_resource); !checked.ok()) {
      return checked.error().with_context("invalid DAS_MEMORY_QUOTA_RESOURCE");
    }
  }
  variables.text("RELATED_IMAGE_DAEMONSET_IMAGE", settings.agent_image);
  variables.text("RELATED_IMAGE_SCHEDULER_IMAGE", settings.scheduler_image);
  variables.text("RELATED_IMAGE_WEBHOOK_IMAGE", settings.webhook_image);
  if (const std::string* name = variables.given("DAS_CLUSTER_POLICY_NAME")) {
    settings.cluster_policy_name = *name;
  }
  std::string policy = "false";
  ATHANOR_TRY_VOID(read_choice(variables, "EMULATE_CLUSTER_POLICY", {"true", "false"}, policy));
  settings.cluster_policy = policy == "true";
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
      field<&T::profile_weights>("profileWeights", "Weights of profiles for fragmin."),
      field<&T::whole_gpu>("wholeGPU", "What becomes of nvidia.com/gpu: keep or map."),
      field<&T::memory_quota_resource>("memoryQuotaResource",
                                       "A resource that stands for GPU memory in quotas."),
      field<&T::slice_create_ms>("sliceCreateMs", "How long making an emulated slice takes."),
      field<&T::slice_destroy_ms>("sliceDestroyMs", "How long removing one takes."),
      field<&T::fail_per_million>("failPerMillion", "Emulated slices of a million that fail."),
      field<&T::production>("production", "Whether nodes run agents of their own."),
      field<&T::agent_image>("agentImage", "Image of these agents."),
      field<&T::scheduler_image>("schedulerImage",
                                 "Image of kube-scheduler; empty: none is deployed."),
      field<&T::webhook_image>("webhookImage", "Image of a webhook of its own."),
      field<&T::cluster_policy_name>("clusterPolicyName",
                                     "The ClusterPolicy that agents wait for; empty: none."),
      field<&T::allocation_api>("allocationApi", "What hands out GPUs: deviceplugin, dra or both."),
      field<&T::cluster_policy>("clusterPolicy", "Whether the GPU operator's policy is served."),
  };
  static const TypeInfo kType{.name = "DasSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
