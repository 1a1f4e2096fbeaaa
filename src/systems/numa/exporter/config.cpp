// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/config.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/exporter/config_flags.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kDefaultRoot = "/etc/rte";
constexpr const char* kLegacyRoot = "/etc/resource-topology-exporter";
constexpr const char* kConfigName = "/config.yaml";
constexpr std::int64_t kNanos = 1000;
constexpr std::int64_t kMostPort = 65535;

std::string variable(const ConfigSources& sources, std::string_view name) {
  const auto found = sources.environment.find(std::string(name));
  return found == sources.environment.end() ? std::string() : found->second;
}

Error wrong(const std::string& where, std::string_view what) {
  return Error::bad_request(fmt::format("{}: {}", where, what));
}

// The layers while they are laid upon one another.
class Loader {
 public:
  explicit Loader(const ConfigSources& sources) : sources_(sources) {}

  Result<LoadedConfig> run() {
    ATHANOR_TRY(flags_, parse_flags(sources_.arguments));
    loaded_.version = flags_.version;
    loaded_.help = flags_.help;
    if (flags_.version || flags_.help) {
      return std::move(loaded_);
    }
    ATHANOR_TRY_VOID(read_dump());
    for (const ConfigLeaf& leaf : config_leaves()) {
      ATHANOR_TRY(Value initial, read_leaf(leaf, leaf.initial));
      set_leaf(loaded_.values, leaf, std::move(initial));
    }
    ATHANOR_TRY_VOID(read_files());
    ATHANOR_TRY_VOID(read_environment());
    for (const auto& [leaf, text] : flags_.leaves) {
      auto value = read_leaf(*leaf, text);
      if (!value.ok()) {
        return wrong(fmt::format("invalid value for flag -{}", leaf->flag), value.error().message);
      }
      set_leaf(loaded_.values, *leaf, *std::move(value));
    }
    ATHANOR_TRY_VOID(read_reference());
    ATHANOR_TRY_VOID(decode());
    return std::move(loaded_);
  }

 private:
  Result<void> read_dump() {
    if (!flags_.dump_given) {
      return {};
    }
    if (flags_.dump_seed) {
      loaded_.dump = Dump::SeedJson;
    } else if (flags_.dump == "-") {
      loaded_.dump = Dump::Print;
    } else if (flags_.dump == ".andexit") {
      loaded_.dump = Dump::PrintAndExit;
    } else if (flags_.dump == ".log") {
      loaded_.dump = Dump::Log;
    } else if (!flags_.dump.empty()) {
      return Error::bad_request(
          fmt::format("dumping config to file not supported (dest=\"{}\")", flags_.dump));
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> allowed_roots() const {
    std::vector<std::string> roots{kDefaultRoot, "/run/rte", "/var/rte", "/usr/local/etc/rte",
                                   kLegacyRoot};
    if (!sources_.user_id.empty()) {
      roots.push_back(fmt::format("/run/user/{}/rte", sources_.user_id));
    }
    if (const std::string home = variable(sources_, "HOME"); !home.empty()) {
      roots.push_back(home + "/.rte");
    }
    return roots;
  }

  Result<void> read_files() {
    std::string root = kDefaultRoot;
    std::string extra = std::string(kLegacyRoot) + kConfigName;
    if (flags_.config_given) {
      std::string wanted = flags_.config;
      while (wanted.size() > 1 && wanted.ends_with('/')) {
        wanted.pop_back();
      }
      const bool file = wanted.ends_with(kConfigName);
      const std::string folder =
          file ? wanted.substr(0, wanted.size() - std::string_view(kConfigName).size()) : wanted;
      const auto roots = allowed_roots();
      if (std::ranges::find(roots, folder) == roots.end()) {
        return Error::bad_request(
            fmt::format("configuration root \"{}\" is not allowed: use one of {}", flags_.config,
                        joined(roots)));
      }
      root = folder;
      extra = file ? wanted : folder + "/extra" + kConfigName;
    }
    ATHANOR_TRY_VOID(read_daemon_file(root + "/daemon" + kConfigName));
    const std::string folder = root + "/daemon/config.yaml.d";
    std::vector<std::string> names = sources_.list_files(folder);
    std::ranges::sort(names);
    for (const std::string& name : names) {
      ATHANOR_TRY_VOID(read_daemon_file(fmt::format("{}/{}", folder, name)));
    }
    ATHANOR_TRY_VOID(read_extra_file(root + "/extra" + kConfigName));
    if (extra != root + "/extra" + kConfigName) {
      ATHANOR_TRY_VOID(read_extra_file(extra));
    }
    return {};
  }

  static std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
      all += (all.empty() ? "" : ", ") + text;
    }
    return all;
  }

  // Null: it is not there, or empty.
  Result<Value> parse_file(const std::string& path) {
    ATHANOR_TRY(const std::optional<std::string> text, sources_.read_file(path));
    if (!text) {
      return Value();
    }
    auto value = yaml::parse(*text);
    if (!value.ok()) {
      return value.error().with_context(path);
    }
    if (!value->is_null() && !value->is_object()) {
      return wrong(path, "must be an object");
    }
    return *std::move(value);
  }

  Result<void> read_daemon_file(const std::string& path) {
    ATHANOR_TRY(const Value file, parse_file(path));
    for (const Member& section : file.members()) {
      for (const Member& entry : section.value.members()) {
        ATHANOR_TRY_VOID(
            read_daemon_leaf(path, section.key(), std::string(entry.key()), entry.value));
      }
      if (!section.value.is_object() && !section.value.is_null()) {
        return wrong(fmt::format("{}: {}", path, section.key()), "must be an object");
      }
    }
    return {};
  }

  Result<void> read_daemon_leaf(const std::string& path, std::string_view section,
                                const std::string& key, const Value& value) {
    const std::string where = fmt::format("{}: {}.{}", path, section, key);
    if (key == "metricsTLS" && value.is_object()) {
      for (const Member& entry : value.members()) {
        ATHANOR_TRY_VOID(read_daemon_leaf(path, section, fmt::format("metricsTLS.{}", entry.key()),
                                          entry.value));
      }
      return {};
    }
    if (section == "resourceMonitor" && (key == "resourceExclude" || key == "podExclude")) {
      return key == "podExclude" ? set_pod_exclude(value, where)
                                 : set_resource_exclude(value, where);
    }
    if (section == "topologyExporter" && key == "referenceContainer") {
      return set_reference(value, where);
    }
    const auto leaves = config_leaves();
    const auto leaf = std::ranges::find_if(
        leaves, [&](const ConfigLeaf& one) { return one.section == section && one.key == key; });
    if (leaf == leaves.end()) {
      loaded_.warnings.push_back(fmt::format("{}: unknown key, ignored", where));
      return {};
    }
    auto checked = check_leaf(*leaf, value);
    if (!checked.ok()) {
      return wrong(where, checked.error().message);
    }
    filed_.insert(leaf->key);
    set_leaf(loaded_.values, *leaf, *std::move(checked));
    return {};
  }

  // Both layouts: {kubelet, resourceExclude, podExclude}, and the flat one of the oldest exporters.
  Result<void> read_extra_file(const std::string& path) {
    ATHANOR_TRY(const Value file, parse_file(path));
    for (const Member& entry : file.members()) {
      const std::string_view key = entry.key();
      const std::string where = fmt::format("{}: {}", path, key);
      if (key == "kubelet") {
        for (const Member& setting : entry.value.members()) {
          ATHANOR_TRY_VOID(set_kubelet(setting.key(), setting.value, where + "."));
        }
      } else if (key == "topologyManagerPolicy" || key == "topologyManagerScope") {
        ATHANOR_TRY_VOID(set_kubelet(key, entry.value, path + ": "));
      } else if (key == "resourceExclude" || key == "excludeList") {
        ATHANOR_TRY_VOID(set_resource_exclude(entry.value, where));
      } else if (key == "podExclude") {
        ATHANOR_TRY_VOID(set_pod_exclude(entry.value, where));
      } else if (key == "podExcludes") {
        ATHANOR_TRY_VOID(set_old_pod_excludes(entry.value, where));
      } else {
        loaded_.warnings.push_back(fmt::format("{}: unknown key, ignored", where));
      }
    }
    return {};
  }

  Result<void> set_kubelet(std::string_view key, const Value& value, const std::string& where) {
    if (key != "topologyManagerPolicy" && key != "topologyManagerScope") {
      loaded_.warnings.push_back(fmt::format("{}{}: unknown key, ignored", where, key));
      return {};
    }
    if (!value.is_string()) {
      return wrong(fmt::format("{}{}", where, key), "must be a text");
    }
    loaded_.values.set_path({"topologyExporter", key}, value);
    return {};
  }

  Result<void> set_resource_exclude(const Value& value, const std::string& where) {
    if (!value.is_object() && !value.is_null()) {
      return wrong(where, "must map names of nodes to lists of resources");
    }
    for (const Member& node : value.members()) {
      if (!node.value.is_list()) {
        return wrong(fmt::format("{}.{}", where, node.key()), "must be a list of resources");
      }
    }
    loaded_.values.set_path({"resourceMonitor", "resourceExclude"}, value);
    return {};
  }

  Result<void> set_pod_exclude(const Value& value, const std::string& where) {
    if (!value.is_list() && !value.is_null()) {
      return wrong(where, "must be a list of {namespacePattern, namePattern}");
    }
    for (const Value& item : value.items()) {
      for (const char* key : {"namespacePattern", "namePattern"}) {
        if (!item[key].is_string() || !is_glob(item[key].as_string())) {
          return wrong(fmt::format("{}.{}", where, key), "must be a shell pattern");
        }
      }
    }
    loaded_.values.set_path({"resourceMonitor", "podExclude"}, value);
    return {};
  }

  // {namespace: name}.
  Result<void> set_old_pod_excludes(const Value& value, const std::string& where) {
    Value list = Value::list();
    for (const Member& entry : value.members()) {
      list.push_back(
          Value::object({{"namespacePattern", entry.key()}, {"namePattern", entry.value}}));
    }
    return set_pod_exclude(list, where);
  }

  Result<void> set_reference(const Value& value, const std::string& where) {
    for (const char* key : {"namespace", "podName", "containerName"}) {
      if (!value[key].is_null() && !value[key].is_string()) {
        return wrong(fmt::format("{}.{}", where, key), "must be a text");
      }
    }
    loaded_.values.set_path({"topologyExporter", "referenceContainer"}, value);
    return {};
  }

  Result<void> read_environment() {
    for (const ConfigLeaf& leaf : config_leaves()) {
      const std::string text = variable(sources_, leaf.variable);
      // Port and address are never empty: a variable counts where no file says otherwise.
      const bool open =
          leaf_of(loaded_.values, leaf).as_string().empty() && leaf.type == LeafType::Text;
      const bool unfiled = !leaf.initial.empty() && !filed_.contains(leaf.key);
      if (leaf.variable.empty() || text.empty() || (!open && !unfiled)) {
        continue;
      }
      auto value = read_leaf(leaf, text);
      if (!value.ok()) {
        return wrong(std::string(leaf.variable), value.error().message);
      }
      set_leaf(loaded_.values, leaf, *std::move(value));
    }
    Value& updater = loaded_.values.member("nrtUpdater");
    if (updater["hostname"].as_string().empty()) {
      updater.set("hostname", sources_.os_hostname);
    }
    return {};
  }

  Result<void> read_reference() {
    ContainerIdent ident;
    if (flags_.reference_given) {
      if (!flags_.reference.empty()) {
        ATHANOR_TRY(ident, parse_ident(flags_.reference));
      }
    } else if (!loaded_.values["topologyExporter"]["referenceContainer"].empty()) {
      return {};
    } else {
      ident = {.ns = variable(sources_, "REFERENCE_NAMESPACE"),
               .pod = variable(sources_, "REFERENCE_POD_NAME"),
               .container = variable(sources_, "REFERENCE_CONTAINER_NAME")};
      // Namespace and pod alone are for the conditions: they name no shared pool.
      if (ident.ns.empty() || ident.pod.empty() || ident.container.empty()) {
        ident = {};
      }
    }
    if (!ident.empty()) {
      loaded_.values.set_path({"topologyExporter", "referenceContainer"},
                              Value::object({{"namespace", ident.ns},
                                             {"podName", ident.pod},
                                             {"containerName", ident.container}}));
    }
    return {};
  }

  Result<void> decode();
  Result<void> check() const;

  const ConfigSources& sources_;
  OtherFlags flags_{};
  LoadedConfig loaded_{};
  std::set<std::string_view> filed_{};  // keys that a file set
};

Duration duration_of(const Value& nanoseconds) {
  return Duration(nanoseconds.as_int() / kNanos);
}

Result<void> Loader::decode() {
  const Value& values = loaded_.values;
  const Value& global = values["global"];
  const Value& updater = values["nrtUpdater"];
  const Value& monitor = values["resourceMonitor"];
  const Value& exporter = values["topologyExporter"];
  const Value& tls = exporter["metricsTLS"];
  const Value& reference = exporter["referenceContainer"];
  loaded_.config = {.kubeconfig = global["kubeConfig"].str(),
                    .debug = global["debug"].as_bool(),
                    .verbose = global["verbose"].as_int(),
                    .no_publish = updater["noPublish"].as_bool(),
                    .one_shot = updater["oneShot"].as_bool(),
                    .hostname = updater["hostname"].str(),
                    .patch_mode = updater["patchMode"].as_bool(),
                    .patch_resync = updater["patchResync"].as_int(),
                    .watch_namespace = monitor["namespace"].str(),
                    .sysfs_root = monitor["sysfsRoot"].str(),
                    .hwloc_file = monitor["hwlocFile"].str(),
                    .refresh_node_resources = monitor["refreshNodeResources"].as_bool(),
                    .fingerprint = monitor["podSetFingerprint"].as_bool(),
                    .fingerprint_method = lower(monitor["podSetFingerprintMethod"].as_string()),
                    .expose_timing = monitor["exposeTiming"].as_bool(),
                    .fingerprint_status_file = monitor["podSetFingerprintStatusFile"].str(),
                    .exclude_terminal_pods = monitor["excludeTerminalPods"].as_bool(),
                    .reference = {.ns = reference["namespace"].str(),
                                  .pod = reference["podName"].str(),
                                  .container = reference["containerName"].str()},
                    .policy = exporter["topologyManagerPolicy"].str(),
                    .scope = exporter["topologyManagerScope"].str(),
                    .kubelet_config_file = exporter["kubeletConfigFile"].str(),
                    .podresources = exporter["podResourcesSocketPath"].str(),
                    .sleep_interval = duration_of(exporter["sleepInterval"]),
                    .pod_readiness = exporter["podReadinessEnable"].as_bool(),
                    .notify_file = exporter["notifyFilePath"].str(),
                    .max_events = exporter["maxEventPerTimeUnit"].as_int(),
                    .event_unit = duration_of(exporter["timeUnitToLimitEvents"]),
                    .add_nrt_owner = exporter["addNRTOwnerEnable"].as_bool(),
                    .metrics_mode = exporter["metricsMode"].str(),
                    .metrics_port = exporter["metricsPort"].as_int(),
                    .metrics_address = exporter["metricsAddress"].str(),
                    .tls = {.certs_dir = tls["certsDir"].str(),
                            .cert_file = tls["certFile"].str(),
                            .key_file = tls["keyFile"].str(),
                            .want_client_auth = tls["wantCliAuth"].as_bool(),
                            .min_version = tls["minTLSVersion"].str(),
                            .cipher_suites = tls["cipherSuites"].str()}};
  for (const Member& node : monitor["resourceExclude"].members()) {
    for (const Value& resource : node.value.items()) {
      loaded_.config.resource_exclude[std::string(node.key())].insert(resource.str());
    }
  }
  for (const Value& pattern : monitor["podExclude"].items()) {
    loaded_.config.pod_exclude.push_back(
        {.ns = pattern["namespacePattern"].str(), .name = pattern["namePattern"].str()});
  }
  return check();
}

Result<void> Loader::check() const {
  const ExporterConfig& config = loaded_.config;
  if (config.fingerprint && config.fingerprint_method != kMethodAll &&
      config.fingerprint_method != kMethodExclusive) {
    return Error::bad_request(fmt::format("unsupported method  \"{}\"", config.fingerprint_method));
  }
  if (config.sleep_interval < Duration(0)) {
    return Error::bad_request(fmt::format("--sleep-interval must not be negative: {}",
                                          format_go_duration(config.sleep_interval)));
  }
  if (config.max_events < 0 || config.event_unit <= Duration(0)) {
    return Error::bad_request("--max-events-per-second must not be negative");
  }
  if (config.patch_resync < 1) {
    return Error::bad_request("--patch-resync must be at least 1");
  }
  if (config.metrics_mode != "disabled" && config.metrics_mode != "http" &&
      config.metrics_mode != "httptls") {
    return Error::bad_request(fmt::format(
        "--metrics-mode must be disabled, http or httptls, not \"{}\"", config.metrics_mode));
  }
  if (config.metrics_port < 0 || config.metrics_port > kMostPort) {
    return Error::bad_request(fmt::format("--metrics-port must be from 0 to {}", kMostPort));
  }
  const std::string_view source = config.podresources;
  if (!source.starts_with("unix://") && !source.starts_with("fake://") &&
      !source.starts_with("/")) {
    return Error::bad_request(fmt::format(
        "--podresources-socket must begin with unix:// or fake://, not \"{}\"", source));
  }
  return {};
}

// Null: false, zero or empty.
Value without_zeros(const Value& value) {
  if (value.is_object()) {
    Value kept = Value::object();
    for (const Member& member : value.members()) {
      if (Value inner = without_zeros(member.value); !inner.is_null()) {
        kept.set(member.key(), std::move(inner));
      }
    }
    return kept.empty() ? Value() : kept;
  }
  const bool zero =
      (value.is_bool() && !value.as_bool()) || (value.is_number() && value.as_double() == 0) ||
      (value.is_string() && value.as_string().empty()) || (value.is_list() && value.empty());
  return zero ? Value() : value;
}

Value dumped(const LoadedConfig& loaded) {
  Value kept = without_zeros(loaded.values);
  kept.member("global").set("verbose", loaded.config.verbose);
  return kept;
}

}  // namespace

std::set<std::string> ExporterConfig::excluded_resources() const {
  std::set<std::string> all;
  for (const std::string& node : {std::string("*"), hostname}) {
    if (const auto found = resource_exclude.find(node); found != resource_exclude.end()) {
      all.insert(found->second.begin(), found->second.end());
    }
  }
  return all;
}

Result<LoadedConfig> load_config(const ConfigSources& sources) {
  return Loader(sources).run();
}

Result<void> complete_policy(LoadedConfig& loaded, const ConfigSources& sources) {
  ExporterConfig& config = loaded.config;
  if (config.policy.empty() || config.scope.empty()) {
    config.policy.clear();
    config.scope.clear();
    if (!config.kubelet_config_file.empty()) {
      ATHANOR_TRY(const std::optional<std::string> text,
                  sources.read_file(config.kubelet_config_file));
      if (text) {
        const auto file = yaml::parse(*text);
        if (!file.ok()) {
          return file.error().with_context(config.kubelet_config_file);
        }
        config.policy = (*file)["topologyManagerPolicy"].str();
        config.scope = (*file)["topologyManagerScope"].str();
      }
    }
  }
  config.policy = config.policy.empty() ? std::string(kNoPolicy) : config.policy;
  config.scope = config.scope.empty() ? std::string("container") : config.scope;
  loaded.values.set_path({"topologyExporter", "topologyManagerPolicy"}, config.policy);
  loaded.values.set_path({"topologyExporter", "topologyManagerScope"}, config.scope);
  return {};
}

Result<void> check_readiness(const ExporterConfig& config, const ConfigSources& sources) {
  for (const char* name : {"REFERENCE_NAMESPACE", "REFERENCE_POD_NAME"}) {
    if (config.pod_readiness && variable(sources, name).empty()) {
      return Error::bad_request(fmt::format("the env {} doesn't exist", name));
    }
  }
  return {};
}

std::string dump_text(const LoadedConfig& loaded) {
  return yaml::print(dumped(loaded));
}

std::string dump_json(const LoadedConfig& loaded) {
  return json::print(dumped(loaded)) + "\n";
}

std::string exporter_usage() {
  std::string text =
      "Publishes the NUMA zones of this node as a NodeResourceTopology.\n\nFlags:\n"
      "  --config ROOT                       folder of the configuration, or its config.yaml\n"
      "  --reference-container NS/POD/NAME   container whose cpus are the shared pool\n"
      "  --dump-config -|.andexit|.log       show the configuration\n";
  for (const ConfigLeaf& leaf : config_leaves()) {
    if (!leaf.flag.empty()) {
      text += fmt::format(
          "  --{:<33} {}{}\n", leaf.flag, leaf.help,
          leaf.initial.empty() ? std::string() : fmt::format(" (default {})", leaf.initial));
    }
  }
  return text + "  --version                           show the version and exit\n";
}

}  // namespace athanor::numa
