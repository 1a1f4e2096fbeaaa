// SPDX-License-Identifier: Apache-2.0
#include "systems/das/system.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "api/own_node_policy.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/das/admission/webhook.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/instruments.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/operands/operands.hpp"
#include "systems/das/operators.hpp"
#include "systems/das/scheduling/hooks.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/tables.hpp"
#include "systems/das/verb/verb.hpp"

namespace athanor::das {
namespace {

constexpr const char* kAsked = "askedFor";  // the user set EMULATED_MODE
constexpr std::int64_t kMostEmulatedGpus = 16;

std::vector<const api::CustomKind*> kinds(const Value& settings) {
  std::vector<const api::CustomKind*> kinds(das_kinds().begin(), das_kinds().end());
  if (api::decode<Settings>(settings).cluster_policy) {
    kinds.push_back(&cluster_policy_kind());
  }
  return kinds;
}

bool runs(const Operator& op, const Value& settings) {
  return !is_dra(op) || api::decode<Settings>(settings).dra();
}

// Quota counts both spellings of a slice as one resource (docs/spec/das.md K1).
Value counted_as_one() {
  std::set<std::string> profiles;
  for (const GpuModel& model : gpu_models()) {
    for (const MigProfile& profile : model.table.profiles) {
      profiles.insert(profile.name);
    }
  }
  Value list = Value::list();
  for (const std::string& profile : profiles) {
    const std::string resource = resource_of(profile);
    std::string spelled = profile;  // as NVIDIA's device plugin spells it: 1g.5gb.me
    std::ranges::replace(spelled, '+', '.');
    list.push_back(Value::object({{"input", std::string(kNvidiaMigPrefix) + spelled},
                                  {"strategy", "Replace"},
                                  {"outputs", Value::object({{resource, "1"}})}}));
  }
  return list;
}

// The nodes of a lab have no other GPUs than emulated ones.
Result<Value> read(const SettingsSource& source) {
  std::map<std::string, std::string> variables = source.variables;
  const bool asked = variables.contains("EMULATED_MODE");
  if (source.in_lab) {
    variables.emplace("EMULATED_MODE", "enabled");
  }
  ATHANOR_TRY(Settings settings, parse_settings(variables));
  settings.production = !source.in_lab;
  Value section = api::encode(settings);
  section.set(kAsked, asked && settings.emulated());
  if (settings.emulated()) {
    section.set("resourceTransformations", counted_as_one());
  }
  return section;
}

// A lab whose nodes have no GPUs runs no pods of DAS.
std::vector<Value> lab_objects(const LabFacts& lab) {
  const auto section = lab.config.find(kSettingsSection);
  if (section == lab.config.end()) {
    return {};
  }
  const auto settings = api::decode<Settings>(section->second);
  std::vector<Value> objects;
  if (lab.equipped) {
    objects = das_lab_objects(settings);
  }
  if (settings.cluster_policy) {
    objects.push_back(Value::object({{"apiVersion", kClusterPolicy.api_version()},
                                     {"kind", kClusterPolicy.name},
                                     {"metadata", Value::object({{"name", "gpu-cluster-policy"}})},
                                     {"status", Value::object({{"state", "ready"}})}}));
  }
  return objects;
}

// Emulated GPUs of a node that can be sliced: {model, count} (docs/spec/das.md 9.2). What is not
// written follows the settings, as on a node without the member.
Result<LabNodeExtra> read_gpus(const Value& written, const Value& settings) {
  if (!written.is_object()) {
    return Error::bad_request("must be an object with model and count");
  }
  for (const Member& member : written.members()) {
    if (member.key() != "model" && member.key() != "count" && member.key() != "sharing") {
      return Error::bad_request(
          fmt::format("unknown field \"{}\"; known are model, count and sharing", member.key()));
    }
  }
  const Value& count = written["count"];
  const auto defaults = api::decode<Settings>(settings);
  const std::int64_t gpus = count.is_null() ? defaults.gpu_count : count.as_int(-1);
  if ((!count.is_null() && !count.is_integer()) || gpus < 1 || gpus > kMostEmulatedGpus) {
    return Error::bad_request(
        fmt::format("count must be an integer from 1 to {}", kMostEmulatedGpus));
  }
  const Value& model = written["model"];
  if (!model.is_null() && !model.is_string()) {
    return Error::bad_request("model must be a string");
  }
  if (!model.as_string().empty() && find_model(model.as_string()) == nullptr) {
    return Error::bad_request(fmt::format("unknown emulated GPU model \"{}\"; known: {}",
                                          model.as_string(), known_models()));
  }
  const GpuModel* const known = find_model(
      model.as_string().empty() ? std::string_view(defaults.gpu_model) : model.as_string());
  const std::string_view type = known->type;
  LabNodeExtra extra{.annotations = {{kCountAnnotation, fmt::format("{}", gpus)}}};
  if (type == kNvidiaMig) {
    extra.labels[kMigCapableLabel] = "true";
  } else {
    extra.labels[kAcceleratorLabel] = type;
  }
  if (!model.as_string().empty()) {
    extra.annotations[kModelAnnotation] = model.str();
  }
  if (const Value& sharing = written["sharing"]; !sharing.is_null()) {
    const auto read = wanted_sharing(sharing.as_string(), static_cast<std::size_t>(gpus), type);
    if (!sharing.is_string() || !read.ok()) {
      return read.ok() ? Error::bad_request("sharing must be a string") : read.error();
    }
    for (const GpuSharing& one : *read) {
      if (!one.profile.empty() && known->table.find(one.profile) < 0) {
        return Error::bad_request(
            fmt::format("sharing: {} has no profile {}", known->key, one.profile));
      }
    }
    extra.annotations[kSharingAnnotation] = sharing.str();
  }
  return extra;
}

// Of the cluster's EndpointSlices only the API server's are read (docs/spec/das.md O-B7).
Places places(const SystemConfig& /*config*/) {
  return {{&api::kEndpointSlice, {.watched = {"default"}}}};
}

// EMULATED_MODE=enabled gives every node GPUs, as upstream's emulated agent does.
Value usual_gpus(const Value& settings) {
  return settings[kAsked].as_bool() ? Value::object() : Value();
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = kSettingsSection,
      .summary = "GPU slices on demand",
      .kinds = kinds,
      .operators = {das_operators().begin(), das_operators().end()},
      .runs = runs,
      .optional_kinds = {&kOpenShiftServer, &api::kValidatingPolicy,
                         &api::kValidatingPolicyBinding},
      .webhooks = {das_webhooks().begin(), das_webhooks().end()},
      .instruments = &das_instruments(),
      .settings = read,
      .variables = {"DAS_ALLOCATION_API",
                    "DAS_CLUSTER_POLICY_NAME",
                    "DAS_CUDA_VISIBLE_DEVICES",
                    "DAS_GPU_ORDER",
                    "DAS_MEMORY_QUOTA_RESOURCE",
                    "DAS_NODE_SCORING_POLICY",
                    "DAS_PLACEMENT_POLICY",
                    "DAS_PROFILE_WEIGHTS",
                    "DAS_WHOLE_GPU",
                    "EMULATED_DEVICE_IDS",
                    "EMULATED_FAIL_RATE",
                    "EMULATED_GPU_COUNT",
                    "EMULATED_GPU_MODEL",
                    "EMULATED_MODE",
                    "EMULATED_SLICE_CREATE_MS",
                    "EMULATED_SLICE_DESTROY_MS",
                    "EMULATE_CLUSTER_POLICY",
                    "INSTASLICE_NAMESPACE",
                    "RELATED_IMAGE_DAEMONSET_IMAGE",
                    "RELATED_IMAGE_SCHEDULER_IMAGE",
                    "RELATED_IMAGE_WEBHOOK_IMAGE"},
      .places = places,
      .scheduling = {das_scheduling().begin(), das_scheduling().end()},
      .node_hooks = {das_nodes().begin(), das_nodes().end()},
      .lab_node_members = {{.name = "gpus", .read = read_gpus, .usual = usual_gpus}},
      .verbs = {slices_verb()},
      .lab_objects = lab_objects};
  return kSystem;
}

}  // namespace athanor::das
