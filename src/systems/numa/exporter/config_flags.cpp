// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/config_flags.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace athanor::numa {
namespace {

constexpr std::string_view kMonitor = "resourceMonitor";
constexpr std::string_view kExporter = "topologyExporter";
constexpr std::string_view kUpdater = "nrtUpdater";
constexpr std::int64_t kNanosPerMicro = 1000;  // in a microsecond

constexpr ConfigLeaf kLeaves[] = {
    {"global", "kubeConfig", LeafType::Text, "kubeconfig", "", "", "kubeconfig file"},
    {"global", "debug", LeafType::Bool, "debug", "", "false", "log at least as with -v=4"},
    {"global", "verbose", LeafType::Count, "v", "", "2",
     "verbosity of the log: from 4 every round, from 6 what it publishes"},
    {kUpdater, "noPublish", LeafType::Bool, "no-publish", "", "false", "compute only"},
    {kUpdater, "oneShot", LeafType::Bool, "oneshot", "", "false", "update once and end"},
    {kUpdater, "hostname", LeafType::Text, "hostname", "NODE_NAME", "", "name of the node"},
    {kUpdater, "patchMode", LeafType::Bool, "patch-mode", "", "true", "write patches"},
    {kUpdater, "patchResync", LeafType::Count, "patch-resync", "", "10",
     "writes between whole updates in patch mode"},
    {kMonitor, "namespace", LeafType::Text, "watch-namespace", "", "",
     "count the pods of this namespace alone"},
    {kMonitor, "sysfsRoot", LeafType::Text, "sysfs", "", "/sys", "root of sysfs"},
    {kMonitor, "hwlocFile", LeafType::Text, "hwloc-file", "", "",
     "zones of this file of hwloc (lstopo --of xml) instead of sysfs"},
    {kMonitor, "refreshNodeResources", LeafType::Bool, "refresh-node-resources", "", "false",
     "look at capacities again when the Node's change"},
    {kMonitor, "podSetFingerprint", LeafType::Bool, "pods-fingerprint", "", "true",
     "publish a fingerprint of the node's pods"},
    {kMonitor, "podSetFingerprintMethod", LeafType::Text, "pods-fingerprint-method", "",
     "with-exclusive-resources", "all or with-exclusive-resources"},
    {kMonitor, "exposeTiming", LeafType::Bool, "expose-timing", "", "false",
     "publish the time between updates"},
    {kMonitor, "podSetFingerprintStatusFile", LeafType::Text, "pods-fingerprint-status-file",
     "PFP_STATUS_FILE", "", "file for the last fingerprint"},
    {kMonitor, "excludeTerminalPods", LeafType::Bool, "exclude-terminal-pods", "", "false",
     "do not count pods that have ended"},
    {kExporter, "topologyManagerPolicy", LeafType::Text, "topology-manager-policy",
     "TOPOLOGY_MANAGER_POLICY", "", "the kubelet's policy"},
    {kExporter, "topologyManagerScope", LeafType::Text, "topology-manager-scope",
     "TOPOLOGY_MANAGER_SCOPE", "", "the kubelet's scope"},
    {kExporter, "kubeletConfigFile", LeafType::Text, "kubelet-config-file", "",
     "/podresources/config.yaml", "the kubelet's configuration, where policy or scope is missing"},
    {kExporter, "podResourcesSocketPath", LeafType::Text, "podresources-socket", "",
     "unix:///podresources/kubelet.sock", "unix:///path or fake:///folder"},
    {kExporter, "sleepInterval", LeafType::Duration, "sleep-interval", "", "60s",
     "time between updates; 0: no timer"},
    {kExporter, "podReadinessEnable", LeafType::Bool, "podreadiness", "", "true",
     "write conditions of the own pod"},
    {kExporter, "notifyFilePath", LeafType::Text, "notify-file", "", "",
     "a change of this file is an event"},
    {kExporter, "maxEventPerTimeUnit", LeafType::Count, "max-events-per-second", "", "1",
     "most events in a second; 0: no limit"},
    {kExporter, "timeUnitToLimitEvents", LeafType::Duration, "", "", "1s", ""},
    {kExporter, "addNRTOwnerEnable", LeafType::Bool, "add-nrt-owner", "", "true",
     "make the Node the owner of the object"},
    {kExporter, "metricsMode", LeafType::Text, "metrics-mode", "", "disabled",
     "disabled, http or httptls"},
    {kExporter, "metricsPort", LeafType::Count, "metrics-port", "METRICS_PORT", "2112",
     "port of metrics and health"},
    {kExporter, "metricsAddress", LeafType::Text, "metrics-ip", "METRICS_ADDRESS", "0.0.0.0",
     "address of metrics and health"},
    {kExporter, "metricsTLS.certsDir", LeafType::Text, "metrics-certs-dir", "", "/etc/secrets/rte",
     "folder of the certificate"},
    {kExporter, "metricsTLS.certFile", LeafType::Text, "metrics-cert-file", "", "tls.crt",
     "file of the certificate"},
    {kExporter, "metricsTLS.keyFile", LeafType::Text, "metrics-key-file", "", "tls.key",
     "file of the key"},
    {kExporter, "metricsTLS.wantCliAuth", LeafType::Bool, "metrics-want-cli-auth", "", "false",
     "ask clients for a certificate"},
    {kExporter, "metricsTLS.minTLSVersion", LeafType::Text, "metrics-tls-min-version", "", "",
     "VersionTLS12 or VersionTLS13"},
    {kExporter, "metricsTLS.cipherSuites", LeafType::Text, "metrics-tls-cipher-suites", "", "",
     "cipher suites, separated by commas"},
};

std::pair<std::string_view, std::string_view> parts_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::pair{key, std::string_view()}
                                       : std::pair{key.substr(0, dot), key.substr(dot + 1)};
}

// As Go's strconv.ParseBool.
std::optional<bool> bool_of(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) {
      return false;
    }
  }
  return std::nullopt;
}

const ConfigLeaf* leaf_with_flag(std::string_view flag) {
  const auto* const found = std::ranges::find(kLeaves, flag, &ConfigLeaf::flag);
  return found == std::end(kLeaves) ? nullptr : found;
}

// One argument taken apart: "--name=value".
struct Argument {
  std::string_view name{};
  std::optional<std::string> value{};
};

// nullopt: no flag.
std::optional<Argument> split(std::string_view text) {
  if (text.size() < 2 || text.front() != '-') {
    return std::nullopt;
  }
  text.remove_prefix(text.starts_with("--") ? 2 : 1);
  const std::size_t equals = text.find('=');
  return equals == std::string_view::npos ? Argument{.name = text}
                                          : Argument{.name = text.substr(0, equals),
                                                     .value = std::string(text.substr(equals + 1))};
}

// "--dump-config" without a value, or with a boolean, is the form of the oldest exporters.
void take_dump(std::span<const std::string> arguments, std::size_t& i, Argument argument,
               OtherFlags& flags) {
  flags.dump_given = true;
  if (!argument.value && i + 1 < arguments.size() &&
      (arguments[i + 1] == "-" || !arguments[i + 1].starts_with("-"))) {
    argument.value = arguments[++i];
  }
  if (!argument.value || bool_of(*argument.value).has_value()) {
    flags.dump_seed = argument.value ? bool_of(*argument.value).value_or(true) : true;
    flags.dump_given = flags.dump_seed;
    return;
  }
  flags.dump = *argument.value;
}

}  // namespace

std::span<const ConfigLeaf> config_leaves() {
  return kLeaves;
}

const Value& leaf_of(const Value& values, const ConfigLeaf& leaf) {
  const auto [first, second] = parts_of(leaf.key);
  const Value& value = values[leaf.section][first];
  return second.empty() ? value : value[second];
}

void set_leaf(Value& values, const ConfigLeaf& leaf, Value value) {
  const auto [first, second] = parts_of(leaf.key);
  if (second.empty()) {
    values.set_path({leaf.section, first}, std::move(value));
  } else {
    values.set_path({leaf.section, first, second}, std::move(value));
  }
}

Result<Value> read_leaf(const ConfigLeaf& leaf, std::string_view text) {
  switch (leaf.type) {
    case LeafType::Text:
      return Value(text);
    case LeafType::Bool: {
      const auto flag = bool_of(text);
      return flag ? Result<Value>(Value(*flag))
                  : Error::bad_request(fmt::format("\"{}\" is no boolean", text));
    }
    case LeafType::Count: {
      std::int64_t number = 0;
      const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
      if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) {
        return Error::bad_request(fmt::format("\"{}\" is no number", text));
      }
      return Value(number);
    }
    case LeafType::Duration:
      break;
  }
  ATHANOR_TRY(const Duration duration, parse_go_duration(text));
  return Value(duration.count() * kNanosPerMicro);
}

Result<Value> check_leaf(const ConfigLeaf& leaf, const Value& value) {
  switch (leaf.type) {
    case LeafType::Text:
      return value.is_string() ? Result<Value>(value) : Error::bad_request("must be a text");
    case LeafType::Bool:
      return value.is_bool() ? Result<Value>(value) : Error::bad_request("must be true or false");
    case LeafType::Count:
      return value.is_integer() ? Result<Value>(value) : Error::bad_request("must be a number");
    case LeafType::Duration:
      break;
  }
  if (value.is_string()) {
    return read_leaf(leaf, value.as_string());
  }
  return value.is_integer() ? Result<Value>(value)
                            : Error::bad_request("must be a duration or nanoseconds");
}

Result<OtherFlags> parse_flags(std::span<const std::string> arguments) {
  OtherFlags flags;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto argument = split(arguments[i]);
    if (!argument) {
      return Error::bad_request(fmt::format("unexpected argument \"{}\"", arguments[i]));
    }
    const std::string_view name = argument->name;
    if (name == "version" || name == "help" || name == "h") {
      (name == "version" ? flags.version : flags.help) = true;
      continue;
    }
    if (name == "dump-config") {
      take_dump(arguments, i, *std::move(argument), flags);
      continue;
    }
    const ConfigLeaf* leaf = leaf_with_flag(name);
    const bool other = name == "config" || name == "reference-container";
    if (name.empty() || (leaf == nullptr && !other)) {
      return Error::bad_request(fmt::format("flag provided but not defined: -{}", name));
    }
    if (!argument->value && leaf != nullptr && leaf->type == LeafType::Bool) {
      argument->value = "true";
    }
    if (!argument->value) {
      if (i + 1 == arguments.size()) {
        return Error::bad_request(fmt::format("flag needs an argument: -{}", name));
      }
      argument->value = arguments[++i];
    }
    if (leaf != nullptr) {
      flags.leaves.emplace_back(leaf, *argument->value);
    } else if (name == "config") {
      flags.config = *argument->value;
      flags.config_given = true;
    } else {
      flags.reference = *argument->value;
      flags.reference_given = true;
    }
  }
  return flags;
}

}  // namespace athanor::numa
