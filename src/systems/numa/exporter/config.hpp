// SPDX-License-Identifier: Apache-2.0
// The exporter's configuration and its layers (docs/spec/numa.md 9.2, 9.3). Each later one wins:
// defaults, daemon files, the extra file, environment (for what is empty), flags.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/exporter/pod_filter.hpp"

namespace athanor::numa {

// TLS settings of the metrics endpoint (section metricsTLS).
struct ExporterTls {
  std::string certs_dir{};
  std::string cert_file{};
  std::string key_file{};
  bool want_client_auth = false;
  std::string min_version{};
  std::string cipher_suites{};
};

// All settings of the exporter after merging flags, files and variables (docs/spec/numa.md 9.2,
// 9.3).
struct ExporterConfig {
  // global
  std::string kubeconfig{};
  bool debug = false;
  std::int64_t verbose = 2;
  // nrtUpdater
  bool no_publish = false;
  bool one_shot = false;
  std::string hostname{};
  bool patch_mode = true;
  std::int64_t patch_resync = 10;
  // resourceMonitor
  std::string watch_namespace{};
  std::string sysfs_root{};
  std::string hwloc_file{};  // zones of this file instead of sysfs
  std::map<std::string, std::set<std::string>> resource_exclude{};  // by node, or "*"
  bool refresh_node_resources = false;
  bool fingerprint = true;
  std::string fingerprint_method{};  // "all" or "with-exclusive-resources"
  bool expose_timing = false;
  std::string fingerprint_status_file{};
  std::vector<PodPattern> pod_exclude{};
  bool exclude_terminal_pods = false;
  // topologyExporter
  ContainerIdent reference{};
  std::string policy{};
  std::string scope{};
  std::string kubelet_config_file{};
  std::string podresources{};  // unix:///path or fake:///folder
  Duration sleep_interval{};
  bool pod_readiness = true;
  std::string notify_file{};
  std::int64_t max_events = 1;
  Duration event_unit{};
  bool add_nrt_owner = true;
  std::string metrics_mode{};  // "disabled", "http", "httptls"
  std::int64_t metrics_port = 0;
  std::string metrics_address{};
  ExporterTls tls{};

  // Returns the verbosity of the log: -v, at least 4 with --debug.
  [[nodiscard]] std::int64_t verbosity() const { return debug && verbose < 4 ? 4 : verbose; }
  // Resources that this node's zones do not list.
  [[nodiscard]] std::set<std::string> excluded_resources() const;
};

// Inputs of load_config(): flags, environment and access to files.
struct ConfigSources {
  std::vector<std::string> arguments{};  // flags, in Go's forms: -name, --name=value, --name value
  std::map<std::string, std::string> environment{};
  std::string os_hostname{};
  std::string user_id{};
  // The text of a regular file; nullopt: it is not there. An error: it cannot be read.
  std::function<Result<std::optional<std::string>>(const std::string& path)> read_file{};
  // Names of the regular files in a folder.
  std::function<std::vector<std::string>(const std::string& path)> list_files{};
};

// Forms of --dump-config: print, print and exit, write to the log, or JSON as the oldest exporters.
enum class Dump : std::uint8_t { None, Print, PrintAndExit, Log, SeedJson };

// Result of load_config().
struct LoadedConfig {
  ExporterConfig config{};
  Value values{};  // the same in the layout of daemon files, nothing left out
  Dump dump = Dump::None;
  bool version = false;
  bool help = false;
  std::vector<std::string> warnings{};
};

// Reads all layers. Errors say what is wrong and where.
Result<LoadedConfig> load_config(const ConfigSources& sources);

// Completes policy and scope where none were given: the kubelet's configuration file, else none and
// container.
Result<void> complete_policy(LoadedConfig& loaded, const ConfigSources& sources);

// Checks that the own pod is named where its conditions are to be written.
Result<void> check_readiness(const ExporterConfig& config, const ConfigSources& sources);

// Returns the dump: false, zero and empty values left out except global.verbose, keys sorted,
// durations as nanoseconds.
std::string dump_text(const LoadedConfig& loaded);
// Returns what the oldest exporters printed: JSON of the same values.
std::string dump_json(const LoadedConfig& loaded);

// Returns the text of --help.
std::string exporter_usage();

}  // namespace athanor::numa
