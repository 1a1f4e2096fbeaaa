// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/lab_flags.hpp"

#include "cli/flags/setting_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

// kube-apiserver's flags of the same names.
void add_serving(flags::Verb& verb, UpOptions& options) {
  lab::AuditOptions& audit = options.serving.audit;
  verb.add_option("--audit-policy-file", audit.policy_file,
                  "file of the audit policy: which requests are logged, and how much of them");
  verb.add_option("--audit-log-path", audit.log_path, "file of the audit log; - is stdout");
  verb.add_option("--audit-log-maxsize", audit.max_size,
                  "size of the audit log in MiB at which a new one begins (0: 100)");
  verb.add_option("--audit-log-maxbackup", audit.max_backup,
                  "number of older audit logs to keep (0: all)");
  verb.add_option("--audit-log-maxage", audit.max_age, "days to keep older audit logs (0: always)");
  verb.add_option("--max-requests-inflight", options.serving.max_requests_inflight,
                  "reads under way at a time; more wait a second, then 429")
      ->capture_default_str();
  verb.add_option("--max-mutating-requests-inflight",
                  options.serving.max_mutating_requests_inflight,
                  "writes under way at a time; more wait a second, then 429")
      ->capture_default_str();
  verb.add_option("--max-connections-per-address", options.serving.max_connections_per_address,
                  "connections of one client address; one beyond this number replaces an idle one")
      ->check(flags::positive())
      ->capture_default_str();
  verb.add_option("--encryption-provider-config", options.serving.encryption_config,
                  "file of the encryption: kinds that are encrypted on the disk, and the keys");
  verb.add_option("--request-timeout", options.request_timeout,
                  "timeout of requests other than watches")
      ->capture_default_str();
}

flags::Check port_or_off() {
  return {.shown = "PORT|off", .wrong = [](std::string& value) {
            return value == "off" ? std::string() : flags::in_range(0, 65535).wrong(value);
          }};
}

// Adds how pods run.
void add_pods(flags::Verb& verb, UpOptions& options) {
  verb.add_option(
          "--pods", options.pods,
          "process: run commands; timed: finish in due time without running anything; auto: "
          "process, but timed for pods with an image whose command is not known")
      ->check(flags::one_of({"process", "timed", "auto"}))
      ->capture_default_str();
  verb.add_option(
          "--pod-isolation", options.pod_isolation,
          "isolation of process pods; on: commands write into layers of their own over a read-only "
          "host, and run without new privileges, behind a filter of system calls, in a PID "
          "namespace, without home folders and the data folder in view, where the kernel "
          "allows; off: debuggers and mounts work in them, and what they write stays")
      ->check(flags::one_of({"on", "off"}))
      ->capture_default_str();
  verb.add_flag("--pod-home", options.pod_home,
                "with --pod-isolation on: commands see the home folders of this machine, too "
                "(default: empty folders in their place)");
}

}  // namespace

void add_up(flags::Verb& app, UpOptions& options) {
  auto& verb = *app.add_subcommand(
      "up", "Start a lab: the whole control plane and its nodes in this process");
  verb.footer(
      "Prints the kubeconfig's path, the API address and what to type next; runs until SIGINT or "
      "SIGTERM.\n\n"
      "  athanor up --data ~/lab &\n"
      "  export KUBECONFIG=~/lab/admin.kubeconfig\n"
      "  kubectl get fournosjobs -A");
  verb.add_option("--data", options.data,
                  "folder of the lab's state (default: $XDG_STATE_HOME/athanor)")
      ->envname("ATHANOR_DATA");
  verb.add_option("--port", options.port, "port of the API server; 0 picks a free one")
      ->check(flags::in_range(0, 65535))
      ->capture_default_str();
  verb.add_option("--storage", options.storage, "disk, or memory: nothing survives the process")
      ->check(flags::one_of({"disk", "memory"}))
      ->capture_default_str();
  verb.add_option(
      "--lab", options.lab,
      "lab file: nodes, clusters, queues, manifests (default: the one with which the data "
      "folder was made, else the built-in lab)");
  verb.add_flag(
      "--merge-lab", options.merge_lab,
      "with --lab on a data folder that was made with another lab file: apply its objects "
      "beside those that are there (default: refuse)");
  add_pods(verb, options);
  verb.add_option("--controllers", options.controllers,
                  "controllers to run: *, name, -name, comma-separated; empty: none; external: "
                  "all but those of kube-controller-manager and kube-scheduler")
      ->capture_default_str();
  verb.add_option("--history-max-bytes", options.history_max_bytes,
                  "size of the history that the disk keeps for watches; KiB, MiB, GiB may follow")
      ->check(flags::as_bytes())
      ->default_str("256MiB");
  add_serving(verb, options);
  verb.add_flag("--proxy-named-endpoints", options.serving.proxy_named_endpoints,
                "services/NAME/proxy follows a Service's annotation athanor.dev/endpoint or its "
                "externalName; users who may edit Services then reach every port of this machine");
  add_settings(verb, options.settings);
  verb.add_option("--console", options.console,
                  "port of the console's pages on 127.0.0.1; 0 picks a free one; off: no console")
      ->check(port_or_off())
      ->capture_default_str();
  verb.add_option(
          "--user", options.users,
          "write DATA/users/NAME.kubeconfig, too, for a person with the role view, edit (the "
          "default) or admin in the jobs' namespace; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME[:ROLE]");
  verb.add_flag(
      "--emulate-cluster-policy", options.emulate_cluster_policy,
      "serve a ready ClusterPolicy of NVIDIA's GPU operator, for agents that wait for it");
  verb.add_option("--allocation-api", options.allocation_api,
                  "APIs that hand out emulated GPUs: device plugins, DRA, or each some of them")
      ->check(flags::one_of({"deviceplugin", "dra", "both"}));
  verb.add_flag(
      "--unsafe-no-sync", options.unsafe_no_sync,
      "acknowledge writes before they are on the disk: a crash of the machine may lose them");
  verb.add_flag(
      "--repair", options.repair,
      "salvage what is readable of damaged data into a new database, naming what is lost");
  verb.add_option("-v,--verbosity", options.verbosity, "0 errors, 1 warnings, 2 info, 4 debug")
      ->capture_default_str();
}

void add_simulate(flags::Verb& app, SimulateOptions& options) {
  auto& verb = *app.add_subcommand(
      "simulate", "Simulate how long the jobs of a trace wait on a fleet; no job runs");
  verb.footer(
      "  athanor simulate --generate --jobs 2000 --days 28 > trace.csv\n"
      "  athanor simulate trace.csv --fleet lab.yaml\n"
      "  athanor simulate trace.csv --fleet lab.yaml --what-if bigger.yaml --html report.html\n"
      "  athanor simulate --slices small --nodes 8 --gpus 8\n"
      "  athanor clusters -o fleet > fleet.yaml; athanor jobs -o trace | athanor simulate - "
      "--fleet "
      "fleet.yaml\n\n"
      "The same controllers as in the lab, in virtual time. docs/simulate.md tells the formats.");
  verb.add_option("trace", options.trace,
                  "trace: times, owners and jobs, as CSV or YAML; - reads CSV from standard input");
  verb.add_option("--fleet", options.fleet, "lab file: clusters with quotas, priority classes");
  verb.add_option("--what-if", options.what_if, "a second fleet, shown beside the first");
  verb.add_option("--html", options.html, "write a page with charts to this file");
  verb.add_option("--seed", options.seed, "seed of names and synthetic traces")
      ->capture_default_str();
  verb.add_flag("--generate", options.generate, "print a synthetic trace as CSV and stop");
  verb.add_option("--jobs", options.jobs, "with --generate: number of jobs")
      ->check(flags::in_range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--days", options.days, "with --generate: number of days")
      ->check(flags::in_range(1, 366))
      ->capture_default_str();
  verb.add_option("--slices", options.slices,
                  "play requests for GPU slices with every placement policy: uniform, small, no7, "
                  "or a file in CSV")
      ->type_name("MIX|FILE");
  verb.add_option("--model", options.model, "with --slices: model of the GPUs (A100-PCIE-40GB)");
  verb.add_option("--nodes", options.nodes, "with --slices: number of nodes (8)")
      ->check(flags::in_range(1, 1000));
  verb.add_option("--gpus", options.gpus, "with --slices: GPUs of each node (8)")
      ->check(flags::in_range(1, 16));
  verb.add_option("--requests", options.requests, "number of requests of a mix (8000)")
      ->check(flags::in_range(1, 1'000'000));
  verb.add_option("--load", options.load, "requested share of all slots, for a mix (0.95)")
      ->check(flags::between(0.01, 10.0));
  add_output(verb, options.output, {Output::Table, Output::Json});
}

}  // namespace athanor::cli
