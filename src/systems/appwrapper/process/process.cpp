// SPDX-License-Identifier: Apache-2.0
// From a configuration, flags and variables to a setup. Flags win over the configuration.
#include "systems/appwrapper/process/process.hpp"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <utility>

#include "kube/text/yaml.hpp"
#include "systems/appwrapper/model/settings.hpp"
#include "systems/appwrapper/process/default_config.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kWebhookAddress = ":9443";
constexpr int kTraceFrom = 5;  // a number of verbosity
constexpr std::string_view kFlags[] = {"zap-devel",
                                       "zap-encoder",
                                       "zap-log-level",
                                       "zap-stacktrace-level",
                                       "zap-time-encoding",
                                       "metrics-bind-address",
                                       "health-probe-bind-address",
                                       "metrics-secure",
                                       "enable-http2",
                                       "manage-no-queue"};

using Flags = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> flag(const Flags& flags, std::string_view name) {
  const auto found = flags.find(name);
  return found == flags.end() ? std::nullopt : std::optional(found->second);
}

Result<bool> truth(std::string_view name, std::string_view text) {
  if (text == "true" || text == "1" || text == "t" || text == "T" || text == "True" ||
      text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "0" || text == "f" || text == "F" || text == "False" ||
      text == "FALSE") {
    return false;
  }
  return Error::bad_request(fmt::format("{}: \"{}\" is neither true nor false", name, text));
}

// A flag that is true or false, where it was given.
Result<void> take(const Flags& flags, std::string_view name, bool& into) {
  const auto text = flag(flags, name);
  if (text) {
    ATHANOR_TRY(into, truth(fmt::format("--{}", name), *text));
  }
  return {};
}

Result<bool> flag_of(const Value& config, std::string_view group, std::string_view key) {
  const Value& value = group.empty() ? config[key] : config[group][key];
  if (!value.is_bool()) {
    return Error::invalid(fmt::format("{}{}{}", group, group.empty() ? "" : ".", key),
                          "must be true or false");
  }
  return value.as_bool();
}

Result<std::string> text_of(const Value& config, std::string_view group, std::string_view key) {
  const Value& value = config[group][key];
  if (!value.is_string()) {
    return Error::invalid(fmt::format("{}.{}", group, key), "must be a string");
  }
  return value.str();
}

Result<std::string> address_of(const Value& config, std::string_view endpoint) {
  const Value& value = config["controllerManager"][endpoint]["bindAddress"];
  if (!value.is_string()) {
    return Error::invalid(fmt::format("controllerManager.{}.bindAddress", endpoint),
                          "must be a string");
  }
  return value.str();
}

// ---- the flags of zap, upstream's log

Result<void> read_level(const std::string& text, ProcessSetup& setup) {
  int verbosity = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), verbosity);
  if (failed == std::errc() && end == text.data() + text.size() && verbosity > 0) {
    setup.log_level = verbosity < kTraceFrom ? "debug" : "trace";
  } else if (text == "debug" || text == "info" || text == "error") {
    setup.log_level = text;
  } else if (text == "panic") {
    setup.log_level = "error";
  } else {
    return Error::bad_request(
        fmt::format("--zap-log-level: \"{}\" is no level: debug, info, "
                    "error, panic, or a number above 0",
                    text));
  }
  return {};
}

Result<void> read_log(const Flags& flags, ProcessSetup& setup) {
  if (const auto text = flag(flags, "zap-devel")) {
    ATHANOR_TRY(const bool development, truth("--zap-devel", *text));
    setup.log_level = development ? "debug" : "info";
    setup.log_format = development ? "text" : "json";
  }
  if (const auto encoder = flag(flags, "zap-encoder")) {
    if (*encoder != "json" && *encoder != "console") {
      return Error::bad_request(
          fmt::format("--zap-encoder: \"{}\" is neither json nor console", *encoder));
    }
    setup.log_format = *encoder == "json" ? "json" : "text";
  }
  if (const auto level = flag(flags, "zap-log-level")) {
    ATHANOR_TRY_VOID(read_level(*level, setup));
  }
  if (flag(flags, "zap-stacktrace-level")) {
    setup.warnings.emplace_back(
        "--zap-stacktrace-level has no effect: records have no stack traces");
  }
  const auto time = flag(flags, "zap-time-encoding");
  if (time && !time->starts_with("rfc3339")) {
    setup.warnings.push_back(
        fmt::format("--zap-time-encoding={} has no effect: times are RFC 3339", *time));
  }
  return {};
}

// ---- endpoints, election, webhooks

Result<void> read_endpoints(const Value& config, const Flags& flags, ProcessSetup& setup) {
  ATHANOR_TRY(setup.metrics_address, address_of(config, "metrics"));
  ATHANOR_TRY(setup.health_address, address_of(config, "health"));
  // Releases up to v0.5 served metrics without encryption unless a flag said otherwise.
  if (const auto address = flag(flags, "metrics-bind-address")) {
    setup.metrics_address = *address;
    setup.metrics_secure = false;
  }
  ATHANOR_TRY_VOID(take(flags, "metrics-secure", setup.metrics_secure));
  if (const auto address = flag(flags, "health-probe-bind-address")) {
    setup.health_address = *address;
  }
  ATHANOR_TRY(setup.leader_elect, flag_of(config, "controllerManager", "leaderElection"));
  ATHANOR_TRY_VOID(take(flags, "leader-elect", setup.leader_elect));
  ATHANOR_TRY(bool http2, flag_of(config, "controllerManager", "enableHTTP2"));
  ATHANOR_TRY_VOID(take(flags, "enable-http2", http2));
  if (http2) {
    setup.warnings.emplace_back(
        "HTTP/2 has no effect: webhooks and metrics are served by HTTP/1.1, which API servers "
        "speak");
  }
  return {};
}

Result<void> read_webhooks(const Value& config, const ProcessInput& input, ProcessSetup& setup) {
  ATHANOR_TRY(bool enabled, flag_of(config, "", "webhooksEnabled"));
  if (const auto variable = input.variables.find("ENABLE_WEBHOOKS");
      variable != input.variables.end() && variable->second == "false") {
    enabled = false;
  }
  if (!enabled) {
    return {};
  }
  constexpr std::string_view kGroup = "certManagement";
  ProcessSetup::Webhooks webhooks{.address = std::string(kWebhookAddress)};
  ATHANOR_TRY(webhooks.ns, text_of(config, kGroup, "namespace"));
  ATHANOR_TRY(webhooks.service, text_of(config, kGroup, "webhookServiceName"));
  ATHANOR_TRY(webhooks.secret, text_of(config, kGroup, "webhookSecretName"));
  ATHANOR_TRY(webhooks.authority, text_of(config, kGroup, "certificateName"));
  ATHANOR_TRY(webhooks.organization, text_of(config, kGroup, "certificateOrg"));
  for (const std::string_view key : {"mutatingWebhookConfigName", "validatingWebhookConfigName"}) {
    ATHANOR_TRY(std::string name, text_of(config, kGroup, key));
    webhooks.configurations.push_back(std::move(name));
  }
  ATHANOR_TRY(const std::string folder, text_of(config, kGroup, "certificateDir"));
  if (folder != default_config("")[kGroup]["certificateDir"].as_string()) {
    setup.warnings.emplace_back(
        "certManagement.certificateDir has no effect: the certificate is read from its Secret");
  }
  setup.webhooks = std::move(webhooks);
  return {};
}

std::string default_text(const std::string& ns) {
  return yaml::print(default_config(ns));
}

Result<ProcessSetup> set_up(const ProcessInput& input) {
  if (!input.config.is_object() && !input.config.is_null()) {
    return Error::bad_request("the configuration is no map");
  }
  ProcessSetup setup;
  Value config = merged_config(input.config, input.ns);
  for (const std::string& key : unknown_keys(input.config)) {
    setup.warnings.push_back(not_a_setting(key));
  }
  ATHANOR_TRY_VOID(read_log(input.flags, setup));
  ATHANOR_TRY_VOID(read_endpoints(config, input.flags, setup));
  ATHANOR_TRY_VOID(read_webhooks(config, input, setup));
  if (const auto manage = flag(input.flags, "manage-no-queue")) {
    ATHANOR_TRY(const bool all, truth("--manage-no-queue", *manage));
    config.member("appwrapper")
        .member("kueueJobReconciller")
        .set("manageJobsWithoutQueueName", all);
  }
  setup.settings = config["appwrapper"];
  ATHANOR_TRY(const Settings settings, read_settings(setup.settings));
  if (settings.queueing.integrated) {
    setup.systems.emplace_back("appwrapper-kueue");
  } else if (setup.settings.contains("kueueJobReconciller")) {
    setup.warnings.emplace_back(
        "kueueJobReconciller and --manage-no-queue have no effect without "
        "appwrapper.enableKueueIntegrations: Kueue's own configuration decides");
  }
  return setup;
}

}  // namespace

const Process& operator_process() {
  static constexpr Process kProcess{.config_map = "appwrapper-operator-config",
                                    .config_key = "config.yaml",
                                    .namespace_variable = "NAMESPACE",
                                    .flags = kFlags,
                                    .default_config = default_text,
                                    .set_up = set_up};
  return kProcess;
}

}  // namespace athanor::appwrapper
