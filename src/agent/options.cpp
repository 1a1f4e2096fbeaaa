// SPDX-License-Identifier: Apache-2.0
#include "agent/options.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "agent/node/cdi_folder.hpp"
#include "agent/rights.hpp"
#include "flags/verb.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::agent {
namespace {

// What a GenericOperatorConfig may say; flags win.
Result<void> read_config(const std::string& path, Options& options) {
  const std::string text = read_text(path);
  const auto document = yaml::parse(text);
  if (text.empty() || !document.ok()) {
    return Error::bad_request(fmt::format("--config: {} cannot be read", path));
  }
  for (const Member& member : document->members()) {
    if (member.key() != "apiVersion" && member.key() != "kind" && member.key() != "servingInfo") {
      return Error::bad_request(
          fmt::format("--config: {}: unknown field \"{}\"; known are "
                      "apiVersion, kind and servingInfo",
                      path, member.key()));
    }
  }
  for (const Member& member : (*document)["servingInfo"].members()) {
    const std::string_view key = member.key();
    if (key == "bindAddress") {
      options.listen = member.value.str();
    } else if (key == "certFile") {
      options.tls.certificate_file = member.value.str();
    } else if (key == "keyFile") {
      options.tls.key_file = member.value.str();
    } else if (key == "minTLSVersion") {
      options.tls.min_version = member.value.str();
    } else if (key == "cipherSuites") {
      for (const Value& cipher : member.value.items()) {
        options.tls.ciphers.push_back(cipher.str());
      }
    } else {
      return Error::bad_request(
          fmt::format("--config: {}: unknown field \"servingInfo.{}\"", path, key));
    }
  }
  return {};
}

std::string find_config(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    constexpr std::string_view kFlag = "--config";
    if (arguments[i] == kFlag && i + 1 < arguments.size()) {
      return arguments[i + 1];
    }
    if (arguments[i].starts_with("--config=")) {
      return arguments[i].substr(kFlag.size() + 1);
    }
  }
  return {};
}

void add_flags(flags::Verb& verb, Options& options, std::string& config, std::string& cuda) {
  verb.add_option("--config", config, "GenericOperatorConfig file: its servingInfo counts");
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file; default: the pod's account");
  verb.add_option("--namespace", options.ns,
                  "namespace of claims; default: the pod's, outside a cluster das-operator");
  verb.add_option("--listen", options.listen, "ip:port of metrics and health, HTTPS")
      ->capture_default_str();
  verb.add_option("--terminate-on-files", options.terminate_on_files,
                  "end when one of these files changes")
      ->delimiter(',');
  verb.add_option("--tls-min-version", options.tls.min_version,
                  "VersionTLS12 (default) or VersionTLS13");
  verb.add_option("--tls-cipher-suites", options.tls.ciphers, "IANA names, separated by commas")
      ->delimiter(',');
  verb.add_option("--cluster-policy-name", options.cluster_policy,
                  "ClusterPolicy that has to be ready first; \"\": none is waited for")
      ->capture_default_str();
  verb.add_option("--cuda-visible-devices", cuda,
                  "what CUDA_VISIBLE_DEVICES lists: index (default) or same");
  verb.add_option("--log-level", options.log_level, "error, warn, info, debug or trace")
      ->check(flags::one_of({"error", "warn", "info", "debug", "trace"}))
      ->capture_default_str();
  verb.add_option("--device-plugin-dir", options.plugin_folder, "the kubelet's folder of plugins")
      ->capture_default_str();
  verb.add_option("--plugins-dir", options.drivers_folder, "the kubelet's folder of DRA drivers")
      ->capture_default_str();
  verb.add_option("--plugins-registry-dir", options.registry_folder,
                  "where the kubelet looks for drivers")
      ->capture_default_str();
  verb.add_option("--pod-resources-socket", options.pod_resources, "the kubelet's pod resources")
      ->capture_default_str();
  verb.add_option("--cdi-dir", options.cdi_folder, "where the runtime reads CDI files")
      ->capture_default_str();
  verb.add_option("--nvml-library", options.nvml, "NVIDIA's management library")
      ->capture_default_str();
  verb.add_option("--state-dir", options.state_folder,
                  "pipes and logs of MPS daemons, records of what runs")
      ->capture_default_str();
  verb.add_option("--boot-id-file", options.boot_id_file, "what tells one start of the node apart")
      ->capture_default_str();
}

}  // namespace

Result<Parsed> parse_options(const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment) {
  Parsed parsed;
  Options& options = parsed.options;
  if (const std::string path = find_config(arguments); !path.empty()) {
    ATHANOR_TRY_VOID(read_config(path, options));
  }
  std::string config;
  std::string cuda;
  flags::Verb app("Slices of this node's GPUs for its kubelet", "athanor-agent");
  app.require_subcommand(1);
  app.set_version_flag("--version", ATHANOR_VERSION);
  flags::Verb* verb = app.add_subcommand("daemonset", "run on a node, until SIGTERM");
  add_flags(*verb, options, config, cuda);
  // For --help alone: the program hands this word's arguments to the exporter.
  app.add_subcommand("numa-exporter", "publish this node's NUMA zones, until SIGTERM");
  flags::Verb* gpus =
      app.add_subcommand("gpus", "show this node's GPUs and their slices as NVML does");
  gpus->add_option("--nvml-library", options.nvml, "NVIDIA's management library")
      ->capture_default_str();
  std::string output;
  gpus->add_option("-o,--output", output, "json; default: text")
      ->check(flags::one_of({"json", "text"}));
  flags::Verb* rights = app.add_subcommand("rbac", "print the rights that the agent needs");
  std::string home = das::Settings{}.ns;
  rights->add_option("--namespace", home, "the operator's namespace")->capture_default_str();
  ATHANOR_TRY(flags::Ending ending, app.parse(arguments));
  if (ending.kind != flags::Ending::Kind::Run) {
    parsed.text = std::move(ending.text);
    return parsed;
  }
  if (rights->parsed()) {
    for (const Value& object : rights_in(home)) {
      parsed.text += (parsed.text.empty() ? "" : "---\n") + yaml::print(object);
    }
    return parsed;
  }
  if (gpus->parsed()) {
    parsed.gpus = true;
    parsed.json = output == "json";
    return parsed;
  }
  std::map<std::string, std::string> variables = environment;
  if (!cuda.empty()) {
    if (cuda != "index" && cuda != "same") {
      return Error::bad_request(fmt::format(
          "invalid --cuda-visible-devices \"{}\": must be \"index\" or \"same\"", cuda));
    }
    variables["DAS_CUDA_VISIBLE_DEVICES"] = cuda;
  }
  auto settings = das::parse_settings(variables);
  if (!settings.ok()) {
    return Error{.code = 500, .reason = "InvalidSetting", .message = settings.error().message};
  }
  options.settings = *std::move(settings);
  const auto node = variables.find("NODE_NAME");
  if (node == variables.end() || node->second.empty()) {
    return Error{.code = 500,
                 .reason = "MissingSetting",
                 .message = "NODE_NAME environment variable is required"};
  }
  options.node = node->second;
  return parsed;
}

}  // namespace athanor::agent
