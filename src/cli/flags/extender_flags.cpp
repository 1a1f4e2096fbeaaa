// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/extender_flags.hpp"

#include "cli/flags/tls_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kExtenderAbout =
    "Serve slices and zones beside the stock kube-scheduler (a scheduler extender)";
constexpr const char* kExtenderFooter =
    R"(Verbs:     POST /scheduler/filter, /scheduler/prioritize, /scheduler/bind, /scheduler/preempt
Endpoints: /healthz /livez /readyz /metrics /debug/queue /debug/watches
Replicas:  the one that holds the Lease answers and is ready; the others answer 503.

  athanor extender --print-scheduler-config --url https://das-extender.das-operator.svc:9443
  athanor extender --print-rbac | kubectl apply -f -
  athanor extender --tls-cert-file tls.crt --tls-private-key-file tls.key
  athanor extender --address 127.0.0.1:9448 --zones-for my-scheduler --leader-elect=false)";

void add_extender_serving(flags::Verb& verb, ExtenderOptions& options) {
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file (default: $KUBECONFIG, ~/.kube/config, then the pod's service "
                  "account)");
  verb.add_option("--context", options.context,
                  "kubeconfig context (default: its current-context)");
  verb.add_option("--address", options.address,
                  "HOST:PORT where the verbs are served (default: 127.0.0.1:9443; in a pod :9443)");
  auto* certificate =
      verb.add_option("--tls-cert-file", options.certificate,
                      "PEM file of the serving certificate, read again when it changes (default: "
                      "plain HTTP)")
          ->type_name("FILE");
  auto* key = verb.add_option("--tls-private-key-file", options.key, "PEM file of its key")
                  ->type_name("FILE");
  add_tls_options(verb, options.tls);
  certificate->needs(key);
  key->needs(certificate);
  verb.add_option(
          "--systems", options.systems,
          "systems whose pods are filtered and scored: das (slices), numa (zones) (default: both)")
      ->delimiter(',');
  auto* zones =
      verb.add_option("--zones-for", options.zones_for,
                      "scheduler profile whose pods are placed by zones (default: the profile of "
                      "a deployed NUMAResourcesScheduler)");
  verb.add_option(
          "--zones-scoring", options.zones_scoring,
          "strategy by which that profile chooses among zones: LeastAllocated, MostAllocated, "
          "BalancedAllocation or LeastNUMANodes")
      ->needs(zones)
      ->check(flags::one_of(
          {"LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes"}))
      ->capture_default_str();
  verb.add_option("--zones-cache", options.zones_cache,
                  "accounting of that profile's pods until their node's data include them: "
                  "over-reserve, passthrough (not at all) or discard-reserved (a node takes one "
                  "at a time)")
      ->needs(zones)
      ->check(flags::one_of({"over-reserve", "passthrough", "discard-reserved"}))
      ->capture_default_str();
  verb.add_option("--kube-api-qps", options.qps, "requests a second to the API server; 0: no limit")
      ->capture_default_str();
  verb.add_option("--kube-api-burst", options.burst, "requests that may exceed it at once")
      ->capture_default_str();
}

void add_preemption(flags::Verb& verb, ExtenderOptions& options) {
  verb.add_option("--preemption", options.preemption,
                  "delete pods of lower priority where only slots or zones are missing; off: "
                  "such a pod waits")
      ->check(flags::one_of({"on", "off"}))
      ->capture_default_str();
}

void add_extender_election(flags::Verb& verb, ExtenderOptions& options) {
  verb.add_option("--leader-elect", options.leader_elect,
                  "answer only while holding a Lease: without it one replica alone may run")
      ->capture_default_str();
  verb.add_option("--leader-elect-resource-namespace", options.lease_namespace,
                  "the Lease's namespace (default: $POD_NAMESPACE, the context's)");
  verb.add_option("--leader-elect-resource-name", options.lease_name, "the Lease's name")
      ->capture_default_str();
  verb.add_option("--lease-duration", options.lease_duration,
                  "lease duration: time after which another candidate may take over")
      ->capture_default_str();
  verb.add_option("--renew-deadline", options.renew_deadline,
                  "stop writing if the lease was not renewed for this long")
      ->capture_default_str();
  verb.add_option("--retry-period", options.retry_period,
                  "time between renewals, and between attempts to get the lease")
      ->capture_default_str();
}

void add_looks(flags::Verb& verb, ExtenderOptions& options) {
  verb.add_option(
      "--metrics-address", options.metrics_address,
      "HOST:PORT of /metrics and /debug; 0: none (default: 127.0.0.1:8080; in a pod :8080)");
  verb.add_flag("--metrics-secure", options.metrics_secure,
                "serve metrics over TLS to clients whose token may get /metrics; with "
                "--print-rbac: include the rights for it");
  verb.add_option(
          "--platform-look", options.platform_look,
          "interval of looks for OpenShift's APIServer (source of the TLS profile) in a cluster "
          "that lacks it")
      ->capture_default_str();
  verb.add_option("--health-address", options.health_address,
                  "HOST:PORT of /healthz, /livez and /readyz; 0: none (default: the metrics')");
  verb.add_option("--log-level", options.log_level, "error, warn, info, debug or trace")
      ->check(flags::one_of({"error", "warn", "info", "debug", "trace"}))
      ->capture_default_str();
  verb.add_option("--log-format", options.log_format, "json, text or auto (text on a terminal)")
      ->check(flags::one_of({"json", "text", "auto"}))
      ->capture_default_str();
}

void add_prints(flags::Verb& verb, ExtenderOptions& options) {
  auto* print = verb.add_flag("--print-scheduler-config", options.print_configuration,
                              "print the KubeSchedulerConfiguration of the scheduler that asks");
  verb.add_option("--url", options.url, "URL of the extender for that scheduler, without a path")
      ->needs(print);
  verb.add_option("--ca-file", options.ca_file,
                  "file with the extender's CA, on that scheduler's machine")
      ->needs(print);
  verb.add_option("--profile", options.profiles,
                  "schedulerName of that scheduler; may be repeated (default: das-scheduler, and "
                  "that of --zones-for)")
      ->needs(print)
      ->delimiter(',');
  verb.add_flag("--print-rbac", options.print_rbac, "print the roles that the extender needs");
}

}  // namespace

void add_extender(flags::Verb& app, ExtenderOptions& options) {
  auto& verb = *app.add_subcommand("extender", kExtenderAbout);
  add_extender_serving(verb, options);
  add_preemption(verb, options);
  add_extender_election(verb, options);
  add_looks(verb, options);
  add_prints(verb, options);
  verb.verify([&options]() -> Result<void> {
    if (options.tls != net::TlsLimits() && options.certificate.empty() && !options.metrics_secure) {
      return Error::bad_request(
          "--tls-min-version or --tls-cipher-suites requires --tls-cert-file or --metrics-secure");
    }
    return {};
  });
  verb.footer(kExtenderFooter);
}

}  // namespace athanor::cli
