// SPDX-License-Identifier: Apache-2.0
// Settings from variables and from the configuration.
#include "systems/numa/model/settings.hpp"

#include <fmt/core.h>

#include "api/describe_ops.hpp"
#include "base/ascii.hpp"
#include "base/time.hpp"
#include "kube/names/names.hpp"
#include "systems/numa/model/image.hpp"

namespace athanor::numa {
namespace {

Result<void> read_flag(const std::map<std::string, std::string>& variables, const char* name,
                       bool& flag) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) {
    return {};
  }
  if (found->second != "true" && found->second != "false") {
    return Error::bad_request(
        fmt::format("{} must be true or false, not \"{}\"", name, found->second));
  }
  flag = found->second == "true";
  return {};
}

}  // namespace

Result<Settings> parse_settings(const std::map<std::string, std::string>& variables, bool lab) {
  Settings settings;
  settings.emulated = lab;
  settings.emulate_openshift = lab;
  settings.scheduler_image_validation = !lab;
  const auto text = [&](const char* name, std::string& into) {
    if (const auto found = variables.find(name); found != variables.end()) {
      into = found->second;
    }
  };
  text("NUMA_NAMESPACE", settings.ns);
  text("NUMA_PLATFORM", settings.platform);
  text("NUMA_PLATFORM_VERSION", settings.platform_version);
  text("NUMA_EXPORTER_IMAGE", settings.exporter_image);
  if (const auto wrong = validate_dns1123_label(settings.ns)) {
    return Error::bad_request(fmt::format("NUMA_NAMESPACE: \"{}\": {}", settings.ns, *wrong));
  }
  settings.platform = lower(settings.platform);
  if (!settings.platform.empty() && settings.platform != "kubernetes" &&
      settings.platform != "openshift" && settings.platform != "hypershift") {
    return Error::bad_request(
        fmt::format("NUMA_PLATFORM must be kubernetes, openshift or hypershift, not \"{}\"",
                    settings.platform));
  }
  ATHANOR_TRY_VOID(
      read_flag(variables, "EXPORTER_IMAGE_RESTRICTION", settings.exporter_image_restriction));
  ATHANOR_TRY_VOID(
      read_flag(variables, "SCHEDULER_IMAGE_VALIDATION", settings.scheduler_image_validation));
  ATHANOR_TRY_VOID(read_flag(variables, "NUMA_EMULATE_OPENSHIFT", settings.emulate_openshift));
  ATHANOR_TRY_VOID(read_flag(variables, "NUMA_EXPORTER_PERIODS", settings.exporter_periods));
  ATHANOR_TRY_VOID(read_flag(variables, "NUMA_STRICT_PLATFORM", settings.strict_platform));
  ATHANOR_TRY_VOID(read_flag(variables, "NUMA_POOL_CONDITIONS", settings.pool_conditions));
  ATHANOR_TRY_VOID(
      read_flag(variables, "NUMA_MACHINE_CONFIG_DRAIN", settings.machine_config_drain));
  text("NUMA_MACHINE_CONFIG_DELAY", settings.machine_config_delay);
  if (const auto delay = parse_go_duration(settings.machine_config_delay);
      !delay.ok() || *delay < Duration(0)) {
    return Error::bad_request(
        fmt::format("NUMA_MACHINE_CONFIG_DELAY must be a duration such as 2s, not \"{}\"",
                    settings.machine_config_delay));
  }
  if (const auto found = variables.find("SCHEDULER_IMAGE_DIGESTS"); found != variables.end()) {
    for (const std::string_view word : words_of(found->second, ',')) {
      const std::string_view digest = trimmed(word);
      if (is_digest(digest)) {
        settings.scheduler_image_digests.emplace_back(digest);
      } else if (lab) {
        return Error::bad_request(
            fmt::format("SCHEDULER_IMAGE_DIGESTS: \"{}\" is not sha256:<64 hex chars>", digest));
      }
    }
  }
  return settings;
}

Settings settings_of(const Value& section) {
  return api::decode<Settings>(section);
}

Value to_value(const Settings& settings) {
  return api::encode(settings);
}

}  // namespace athanor::numa

namespace athanor::api {

const TypeInfo& Describe<numa::Settings>::type() {
  using T = numa::Settings;
  static const FieldInfo kFields[] = {
      field<&T::ns>("namespace", "Namespace of the operands."),
      field<&T::platform>("platform", "kubernetes, openshift or hypershift; empty: detected."),
      field<&T::platform_version>("platformVersion", "Version of the platform; empty: detected."),
      field<&T::exporter_image>("exporterImage", "Image of the exporter by default."),
      field<&T::exporter_image_restriction>("exporterImageRestriction",
                                            "Whether an exporter image in the spec is refused."),
      field<&T::scheduler_image_validation>("schedulerImageValidation",
                                            "Whether the scheduler's image needs a digest."),
      field<&T::scheduler_image_digests>("schedulerImageDigests", "Digests that are trusted."),
      field<&T::emulated>("emulated", "Whether the lab does the operands' work."),
      field<&T::emulate_openshift>("emulateOpenshift", "Whether OpenShift's kinds are served."),
      field<&T::exporter_periods>("exporterPeriods",
                                  "Whether emulated exporters publish at their periods alone."),
      field<&T::strict_platform>("strictPlatform", "Whether plain Kubernetes is refused."),
      field<&T::pool_conditions>("poolConditions",
                                 "Whether conditions of MachineConfigPools are copied."),
      field<&T::machine_config_delay>("machineConfigDelay",
                                      "How long an emulated pool updates after a change."),
      field<&T::machine_config_drain>("machineConfigDrain",
                                      "Whether nodes are drained before they change."),
  };
  static const TypeInfo kType{
      .name = "NumaSettings", .doc = "Settings of the NUMA operators.", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
