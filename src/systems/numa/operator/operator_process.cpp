// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/operator_process.hpp"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "systems/numa/model/image.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"

namespace athanor::numa {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kFlags[] = {
    "metrics-bind-address", "health-probe-bind-address", "platform", "platform-version",
    "image-exporter", "image-scheduler", "enable-scheduler", "enable-webhooks", "webhook-port",
    "enable-metrics", "enable-http2", "enable-mcp-conds-fwd",
    // klog's
    "v", "vmodule", "add_dir_header", "alsologtostderr", "legacy_stderr_threshold_behavior",
    "log_backtrace_at", "log_dir", "log_file", "log_file_max_size", "logtostderr", "one_output",
    "skip_headers", "skip_log_headers", "stderrthreshold"};

std::optional<std::string> given(const Flags& flags, std::string_view name) {
  const auto found = flags.find(name);
  return found == flags.end() ? std::nullopt : std::optional(found->second);
}

Result<bool> truth(const Flags& flags, std::string_view name, bool initial) {
  const auto text = given(flags, name);
  if (!text) {
    return initial;
  }
  if (*text != "true" && *text != "false") {
    return Error::bad_request(fmt::format("--{}: \"{}\" is neither true nor false", name, *text));
  }
  return *text == "true";
}

Result<int> port_of(const Flags& flags) {
  constexpr int kDefault = 9443;
  constexpr int kMost = 65535;
  const auto text = given(flags, "webhook-port");
  if (!text) {
    return kDefault;
  }
  int port = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), port);
  if (failed != std::errc() || end != text->data() + text->size() || port < 1 || port > kMost) {
    return Error::bad_request(fmt::format("--webhook-port: \"{}\" is no port", *text));
  }
  return port;
}

// The log level of klog's verbosity; empty: none is given, or the usual one.
Result<std::string> level_of(const Flags& flags) {
  constexpr int kDebug = 4;
  constexpr int kTrace = 6;
  const auto text = given(flags, "v");
  if (!text) {
    return std::string();
  }
  int verbosity = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), verbosity);
  if (failed != std::errc() || end != text->data() + text->size()) {
    return Error::bad_request(fmt::format("-v: \"{}\" is no number", *text));
  }
  return std::string(verbosity >= kTrace ? "trace" : verbosity >= kDebug ? "debug" : "");
}

// The section's members that flags and variables set.
Result<Value> settings_from(const ProcessInput& input) {
  std::map<std::string, std::string> variables = input.variables;
  Value section = Value::object();
  const auto set = [&](std::string_view flag, const char* variable, const char* member) {
    if (const auto text = given(input.flags, flag)) {
      variables[variable] = *text;
      section.set(member, *text);
    }
  };
  if (variables["NUMA_NAMESPACE"].empty()) {
    variables["NUMA_NAMESPACE"] = input.ns;
    section.set("namespace", input.ns);
  }
  set("platform", "NUMA_PLATFORM", "platform");
  set("platform-version", "NUMA_PLATFORM_VERSION", "platformVersion");
  set("image-exporter", "NUMA_EXPORTER_IMAGE", "exporterImage");
  if (!input.image.empty() && variables["NUMA_EXPORTER_IMAGE"].empty()) {
    section.set("exporterImage", input.image);
  }
  if (given(input.flags, "enable-mcp-conds-fwd")) {
    ATHANOR_TRY(const bool forwards, truth(input.flags, "enable-mcp-conds-fwd", false));
    section.set("poolConditions", forwards);
  }
  ATHANOR_TRY(const Settings settings, parse_settings(variables, false));
  if (section.contains("platform")) {
    section.set("platform", settings.platform);
  }
  return section;
}

ProcessSetup::Webhooks conversion(const std::string& ns, int port) {
  ProcessSetup::Webhooks webhooks{.address = fmt::format(":{}", port),
                                  .ns = ns,
                                  .service = "numaresources-webhook-service",
                                  .secret = "numaresources-webhook-server-cert",
                                  .authority = "numaresources-ca",
                                  .organization = "numaresources"};
  for (const Kind* kind : {&kOperatorKind, &kSchedulerKind}) {
    webhooks.definitions.push_back(fmt::format("{}.{}", kind->plural, kind->group));
  }
  return webhooks;
}

Result<ProcessSetup> set_up(const ProcessInput& input) {
  const Flags& flags = input.flags;
  ProcessSetup setup{.leader_elect = true, .metrics_address = ":8080", .health_address = ":8081"};
  ATHANOR_TRY(setup.settings, settings_from(input));
  ATHANOR_TRY(setup.leader_elect, truth(flags, "leader-elect", true));
  setup.metrics_address = given(flags, "metrics-bind-address").value_or(setup.metrics_address);
  setup.health_address = given(flags, "health-probe-bind-address").value_or(setup.health_address);
  ATHANOR_TRY(setup.metrics_secure, truth(flags, "metrics-secure", true));
  ATHANOR_TRY(setup.log_level, level_of(flags));
  for (const char* file : {"log_dir", "log_file"}) {
    if (given(flags, file)) {
      setup.warnings.push_back(
          fmt::format("--{} has no effect: the log goes to standard error", file));
    }
  }
  ATHANOR_TRY(const bool metrics, truth(flags, "enable-metrics", true));
  if (!metrics) {
    setup.metrics_address = "0";
  }
  ATHANOR_TRY(const bool scheduler, truth(flags, "enable-scheduler", true));
  if (!scheduler) {
    setup.systems.emplace_back("-numaresourcesscheduler");
  }
  ATHANOR_TRY(const bool webhooks, truth(flags, "enable-webhooks", false));
  ATHANOR_TRY(const int port, port_of(flags));
  if (webhooks) {
    setup.webhooks = conversion(input.ns, port);
  } else if (given(flags, "webhook-port")) {
    setup.warnings.emplace_back("--webhook-port has no effect without --enable-webhooks");
  }
  ATHANOR_TRY(const bool http2, truth(flags, "enable-http2", false));
  if (http2) {
    setup.warnings.emplace_back(
        "--enable-http2 has no effect: webhooks and metrics are served by HTTP/1.1, which API "
        "servers speak");
  }
  if (const auto digests = input.variables.find("SCHEDULER_IMAGE_DIGESTS");
      digests != input.variables.end()) {
    for (const std::string_view word : words_of(digests->second, ',')) {
      if (!is_digest(trimmed(word))) {
        setup.warnings.push_back(fmt::format(
            "SCHEDULER_IMAGE_DIGESTS: \"{}\" is skipped: it is not sha256:<64 hex chars>",
            trimmed(word)));
      }
    }
  }
  if (given(flags, "image-scheduler")) {
    setup.warnings.emplace_back(
        "--image-scheduler has no effect: a NUMAResourcesScheduler names its image");
  }
  return setup;
}

}  // namespace

const Process& operator_process() {
  static constexpr Process kProcess{.namespace_variable = "NAMESPACE",
                                    .pod_variable = "PODNAME",
                                    .default_namespace = "numaresources-operator",
                                    .flags = kFlags,
                                    .set_up = set_up};
  return kProcess;
}

}  // namespace athanor::numa
