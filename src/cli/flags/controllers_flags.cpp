// SPDX-License-Identifier: Apache-2.0
// Flags and the configuration file.
#include "cli/flags/controllers_flags.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/flags/setting_flags.hpp"
#include "cli/flags/tls_flags.hpp"
#include "flags/verb.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kAbout =
    "Run the controllers on a Kubernetes cluster (with Kueue and Tekton, or with Athanor's own)";
constexpr const char* kFooter =
    R"(Endpoints: /healthz /livez /readyz /metrics /debug/queue /debug/watches
Signals:   SIGTERM ends gracefully (writes under way are awaited, the lease is released), a
           second one at once, with exit code 1;
           SIGHUP, or a change of the --config file, takes its log-level over.
Settings of the systems come from the environment (FOURNOS_*, HEARTH_*).

  athanor controllers --kubeconfig ~/.kube/config -n psap-automation
  athanor controllers --controllers '*,kueue,tekton' --all-namespaces --leader-elect=false
  athanor controllers --controllers '*,-fournos-gc-jobs' --log-level debug --log-format text
  athanor rbac | kubectl apply -f -)";

void add_connection(flags::Verb& verb, ControllersOptions& options) {
  verb.add_option("--config", options.config,
                  "YAML file with the flags' names as keys; flags win over it. With --systems and "
                  "without a slash: the name of the system's ConfigMap")
      ->type_name("FILE");
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file (default: $KUBECONFIG, ~/.kube/config, then the pod's service "
                  "account)");
  verb.add_option("--context", options.context,
                  "kubeconfig context (default: its current-context)");
  verb.add_option("--kube-api-qps", options.qps, "requests a second to the API server; 0: no limit")
      ->capture_default_str();
  verb.add_option("--kube-api-burst", options.burst, "requests that may exceed it at once")
      ->capture_default_str();
  verb.add_option("--max-concurrent-writes", options.concurrent_writes,
                  "writes of one controller under way at the same time")
      ->check(flags::in_range(1, 1000))
      ->capture_default_str();
}

void add_scope(flags::Verb& verb, ControllersOptions& options) {
  add_settings(verb, options.settings);
  verb.add_option("--controllers", options.controllers,
                  "systems and controllers to run; * is all systems, -name leaves one out")
      ->capture_default_str();
  verb.add_option("--systems", options.systems,
                  "take the place of upstream's executable of this system: its ConfigMap (--config "
                  "names it), flags, variables and names: appwrapper or numa");
  verb.add_option("-n,--namespace", options.namespaces,
                  "namespace in which all systems work; may be repeated (default: each where its "
                  "own settings "
                  "say, FOURNOS_* and HEARTH_*, else everywhere)")
      ->delimiter(',');
  verb.add_flag("-A,--all-namespaces", options.all_namespaces, "work everywhere");
  verb.add_option("--watch-selector", options.selectors,
                  "keep only objects with these labels in memory: pods=team=a,tier!=b");
  verb.add_option("--drop", options.drops,
                  "keep objects without this field in memory: configmaps=data");
  verb.add_option(
          "--platform-look", options.platform_look,
          "interval of looks for OpenShift's APIServer (source of the TLS profile) in a cluster "
          "that lacks it")
      ->capture_default_str();
}

void add_election(flags::Verb& verb, ControllersOptions& options) {
  verb.add_option("--leader-elect", options.leader_elect,
                  "work only while holding a Lease, so that one replica works at a time")
      ->each([&options](const std::string& /*text*/) { options.leader_elect_given = true; })
      ->capture_default_str();
  verb.add_option("--leader-elect-namespace,--leader-elect-resource-namespace",
                  options.leader_namespace,
                  "the Lease's namespace (default: $POD_NAMESPACE, the context's)");
  verb.add_option("--leader-elect-resource-name", options.leader_name,
                  "the Lease's name (default: athanor; of Hearth alone: hearth, in its namespace)");
  verb.add_option("--lease-duration,--leader-elect-lease-duration", options.lease_duration,
                  "wait this long after the last renewal before another replica leads")
      ->capture_default_str();
  verb.add_option("--renew-deadline,--leader-elect-renew-deadline", options.renew_deadline,
                  "stop writing if the lease was not renewed for this long")
      ->capture_default_str();
  verb.add_option("--retry-period,--leader-elect-retry-period", options.retry_period,
                  "time between renewals, and between attempts to lead")
      ->capture_default_str();
}

void add_status_server(flags::Verb& verb, ControllersOptions& options) {
  verb.add_option(
      "--metrics-address", options.metrics_address,
      "HOST:PORT of /metrics and /debug; 0: none (default: 127.0.0.1:8080; in a pod :8080)");
  verb.add_flag("--metrics-secure", options.metrics_secure,
                "serve metrics over TLS to clients whose token may get /metrics")
      ->each(
          [&options](const std::string& text) { options.upstream_flags["metrics-secure"] = text; });
  verb.add_option("--health-address", options.health_address,
                  "HOST:PORT of /healthz, /livez and /readyz; 0: none (default: the metrics')");
  verb.add_option("--liveness", options.liveness,
                  "http://HOST:PORT/PATH of the health endpoint, in the form of kopf's flag");
  verb.add_option("--log-level", options.log_level,
                  "error, warn, info, debug or trace (default: FOURNOS_LOG_LEVEL, "
                  "HEARTH_LOG_LEVEL, then info)")
      ->check(flags::one_of({"error", "warn", "info", "debug", "trace"}));
  verb.add_option("--log-format", options.log_format, "json, text or auto (text on a terminal)")
      ->check(flags::one_of({"json", "text", "auto"}))
      ->capture_default_str();
  verb.add_option("--otlp-endpoint", options.otlp_endpoint,
                  "collector of traces, OTLP over HTTP (default: $OTEL_EXPORTER_OTLP_ENDPOINT)");
  verb.add_option("--drain-timeout", options.drain_timeout,
                  "time limit of writes under way when the process ends")
      ->capture_default_str();
}

// Flags of executables that --systems takes the place of; other choices refuse them.
void add_upstream(flags::Verb& verb, ControllersOptions& options) {
  struct Flag {
    const char* name;
    const char* help;
    bool is_switch = false;  // as Go has it: without a value it is true
  };
  static constexpr Flag kFlags[] = {
      {"zap-devel", "true: log-level debug as text, false: info as JSON", true},
      {"zap-encoder", "json or console"},
      {"zap-log-level", "debug, info, error, panic, or a number above 0"},
      {"zap-stacktrace-level", "accepted; records have no stack traces"},
      {"zap-time-encoding", "accepted; times are RFC 3339"},
      {"metrics-bind-address", "as --metrics-address; without TLS unless --metrics-secure"},
      {"health-probe-bind-address", "as --health-address"},
      {"enable-http2", "accepted; webhooks are served by HTTP/1.1", true},
      {"manage-no-queue", "let AppWrappers without a queue's name wait for quota, too", true},
      {"platform",
       "platform of the cluster: kubernetes, openshift or hypershift (default: detected)"},
      {"platform-version", "version of OpenShift (default: detected)"},
      {"image-exporter", "image of exporters whose object names none"},
      {"image-scheduler", "accepted; a NUMAResourcesScheduler names its image"},
      {"enable-scheduler", "reconcile NUMAResourcesSchedulers (default: true)", true},
      {"enable-webhooks", "serve the conversion of v1alpha1 (default: false)", true},
      {"webhook-port", "port of the webhooks (default: 9443)"},
      {"enable-metrics", "serve metrics (default: true)", true},
      {"enable-mcp-conds-fwd", "copy conditions of MachineConfigPools (default: false)", true},
      {"v", "klog's verbosity: debug from 4 on, trace from 6 on"},
      {"vmodule", "accepted; the log has one level"},
      {"add_dir_header", "accepted; records name no source file", true},
      {"alsologtostderr", "accepted; the log goes to standard error", true},
      {"legacy_stderr_threshold_behavior", "accepted; the log goes to standard error", true},
      {"log_backtrace_at", "accepted; records have no stack traces"},
      {"log_dir", "accepted; the log goes to standard error"},
      {"log_file", "accepted; the log goes to standard error"},
      {"log_file_max_size", "accepted; the log goes to standard error"},
      {"logtostderr", "accepted; the log goes to standard error", true},
      {"one_output", "accepted; the log goes to standard error", true},
      {"skip_headers", "accepted; records have no headers", true},
      {"skip_log_headers", "accepted; records have no headers", true},
      {"stderrthreshold", "accepted; the log goes to standard error"}};
  for (const Flag& flag : kFlags) {
    const std::string name = flag.name;
    flags::Flag* option = verb.add_option_function(
        name == "v" ? "-v,--v" : "--" + name,
        [&options, name](const std::string& value) -> Result<void> {
          options.upstream_flags[name] = value;
          return {};
        },
        flag.help);
    option->group("With --systems");
    if (flag.is_switch) {
      option->expected(0, 1)->default_str("true");
    }
  }
}

void add_record(flags::Verb& verb, ControllersOptions& options) {
  verb.add_option("--record", options.record,
                  "write every input and decision of the controllers to this file, for "
                  "athanor replay")
      ->type_name("FILE");
  verb.add_flag("--record-secrets", options.record_secrets,
                "include the data of Secrets in the record");
  verb.add_option("--record-limit", options.record_limit, "MiB after which the record ends")
      ->capture_default_str();
}

void add_admission(flags::Verb& verb, ControllersOptions& options) {
  verb.add_option("--webhook-address", options.webhook_address,
                  "HOST:PORT where admission webhooks are served: :9443 (default: none are)");
  verb.add_option("--webhook-service", options.webhook_service,
                  "the Service that leads there, by which configurations are recognised")
      ->capture_default_str();
  verb.add_option("--webhook-namespace", options.webhook_namespace,
                  "the Service's and the Secret's namespace (default: as the Lease's)");
  verb.add_option("--webhook-secret", options.webhook_secret,
                  "the Secret of the serving certificate, made and renewed by the leader")
      ->capture_default_str();
  verb.add_option("--webhook-url", options.webhook_url,
                  "https://HOST:PORT that configurations may name instead of the Service");
  verb.add_option("--webhook-host", options.webhook_hosts,
                  "one more name or address for the certificate; may be repeated")
      ->delimiter(',');
  verb.add_option(
          "--webhook-crd", options.webhook_crds,
          "custom resource definition whose conversion webhook leads there; may be repeated")
      ->delimiter(',');
  verb.add_option(
          "--webhook-certificate-life", options.webhook_certificate_life,
          "life of a serving certificate; renewed 90 days, or a quarter of it, before its end")
      ->capture_default_str();
  add_tls_options(verb, options.webhook_tls);
}

std::string scalar_text(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

}  // namespace

void add_controllers(flags::Verb& app, ControllersOptions& options) {
  auto& verb = *app.add_subcommand("controllers", kAbout);
  add_connection(verb, options);
  add_scope(verb, options);
  add_election(verb, options);
  add_admission(verb, options);
  add_record(verb, options);
  add_status_server(verb, options);
  add_upstream(verb, options);
  verb.footer(fmt::format("Systems: {}.\n\n{}", system_names(), kFooter));
}

bool is_config_map(const std::string& config) {
  return config.find('/') == std::string::npos;
}

Result<std::vector<std::string>> config_arguments(const std::string& text,
                                                  const std::string& name) {
  auto parsed = yaml::parse(text);
  if (!parsed.ok()) {
    return parsed.error().with_context(name);
  }
  const Value config = *std::move(parsed);
  if (!config.is_object() && !config.is_null()) {
    return Error::bad_request(fmt::format("{}: not a map of flags", name));
  }
  std::vector<std::string> arguments;
  for (const Member& member : config.members()) {
    const Value& value = member.value;
    if (value.is_object() || value.is_null()) {
      return Error::bad_request(fmt::format("{}: {} has no value", name, member.key()));
    }
    if (!value.is_list()) {
      arguments.push_back(fmt::format("--{}={}", member.key(), scalar_text(value)));
    }
    for (const Value& item : value.items()) {
      arguments.push_back(fmt::format("--{}={}", member.key(), scalar_text(item)));
    }
  }
  return arguments;
}

Result<std::vector<std::string>> with_config_file(std::vector<std::string> arguments) {
  constexpr std::string_view kFlag = "--config";
  if (arguments.size() < 2 || arguments[1] != "controllers") {
    return arguments;
  }
  std::string file;
  bool stands_in = false;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    stands_in = stands_in || argument.starts_with("--systems");
    if (argument == kFlag && i + 1 < arguments.size()) {
      file = arguments[i + 1];
    } else if (argument.starts_with("--config=")) {
      file = argument.substr(kFlag.size() + 1);
    }
  }
  if (file.empty() || (stands_in && is_config_map(file))) {
    return arguments;
  }
  ATHANOR_TRY(const std::string text, read_text_file(file));
  ATHANOR_TRY(std::vector<std::string> more, config_arguments(text, file));
  arguments.insert(arguments.begin() + 2, std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  return arguments;
}

}  // namespace athanor::cli
