// SPDX-License-Identifier: Apache-2.0
// Layers of the exporter's configuration and its dump (docs/spec/numa.md 9.1, 9.2, 9.3).
#include "systems/numa/exporter/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace athanor::numa::config_test {
namespace {

class NumaConfig : public ::testing::Test {
 protected:
  [[nodiscard]] ConfigSources sources() const {
    ConfigSources sources{.arguments = arguments,
                          .environment = environment,
                          .os_hostname = "os-host",
                          .user_id = "1000"};
    sources.read_file = [this](const std::string& path) -> Result<std::optional<std::string>> {
      const auto found = files.find(path);
      return found == files.end() ? std::nullopt : std::optional(found->second);
    };
    sources.list_files = [this](const std::string& path) {
      std::vector<std::string> names;
      for (const auto& [file, text] : files) {
        if (file.starts_with(path + "/")) {
          names.push_back(file.substr(path.size() + 1));
        }
      }
      return names;
    };
    return sources;
  }
  LoadedConfig load() {
    auto loaded = load_config(sources());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return loaded.ok() ? *std::move(loaded) : LoadedConfig();
  }
  std::string why() {
    const auto loaded = load_config(sources());
    return loaded.ok() ? "loaded" : loaded.error().message;
  }

  std::vector<std::string> arguments{};
  std::map<std::string, std::string> environment{};
  std::map<std::string, std::string> files{};
};

TEST_F(NumaConfig, DumpsTheDefaults) {
  arguments = {"-v=5", "--dump-config", ".andexit"};
  environment["NODE_NAME"] = "node.kubelab.io";
  const LoadedConfig loaded = load();
  EXPECT_EQ(loaded.dump, Dump::PrintAndExit);
  EXPECT_EQ(dump_text(loaded), R"(global:
  verbose: 5
nrtUpdater:
  hostname: node.kubelab.io
  patchMode: true
  patchResync: 10
resourceMonitor:
  podSetFingerprint: true
  podSetFingerprintMethod: with-exclusive-resources
  sysfsRoot: /sys
topologyExporter:
  addNRTOwnerEnable: true
  kubeletConfigFile: /podresources/config.yaml
  maxEventPerTimeUnit: 1
  metricsAddress: 0.0.0.0
  metricsMode: disabled
  metricsPort: 2112
  metricsTLS:
    certFile: tls.crt
    certsDir: /etc/secrets/rte
    keyFile: tls.key
  podReadinessEnable: true
  podResourcesSocketPath: unix:///podresources/kubelet.sock
  sleepInterval: 60000000000
  timeUnitToLimitEvents: 1000000000
)");
}

TEST_F(NumaConfig, ShowsTheFallbackOfPolicyAndScope) {
  LoadedConfig loaded = load();
  ASSERT_TRUE(complete_policy(loaded, sources()).ok());
  EXPECT_NE(dump_text(loaded).find("topologyManagerPolicy: none\n"), std::string::npos);
  EXPECT_NE(dump_text(loaded).find("topologyManagerScope: container\n"), std::string::npos);
  // The kubelet's file; one of the two alone is not used.
  files["/podresources/config.yaml"] =
      "topologyManagerPolicy: restricted\ntopologyManagerScope: pod\n";
  environment["TOPOLOGY_MANAGER_POLICY"] = "best-effort";
  loaded = load();
  ASSERT_TRUE(complete_policy(loaded, sources()).ok());
  EXPECT_EQ(loaded.config.policy + "/" + loaded.config.scope, "restricted/pod");
  environment["TOPOLOGY_MANAGER_SCOPE"] = "container";
  loaded = load();
  ASSERT_TRUE(complete_policy(loaded, sources()).ok());
  EXPECT_EQ(loaded.config.policy + "/" + loaded.config.scope, "best-effort/container");
}

TEST_F(NumaConfig, LaysLayersUponOneAnother) {
  files["/etc/rte/daemon/config.yaml"] =
      "global: {verbose: 3}\nnrtUpdater: {patchResync: 4}\n"
      "topologyExporter: {sleepInterval: 20s, metricsTLS: {certFile: a.crt}}\n";
  files["/etc/rte/daemon/config.yaml.d/10.yaml"] =
      "topologyExporter: {sleepInterval: 5000000000}\n";
  files["/etc/rte/daemon/config.yaml.d/20.yaml"] =
      "topologyExporter: {metricsTLS: {keyFile: b.key}, metricsPort: 9}\n";
  files["/etc/rte/extra/config.yaml"] =
      "kubelet: {topologyManagerPolicy: restricted, topologyManagerScope: pod}\n"
      "resourceExclude: {'*': [memory], node-a: [cpu]}\n"
      "podExclude: [{namespacePattern: kube-*, namePattern: '*'}]\n";
  environment = {{"TOPOLOGY_MANAGER_POLICY", "none"},
                 {"NODE_NAME", "node-a"},
                 {"METRICS_PORT", "7"},
                 {"METRICS_ADDRESS", "127.0.0.1"}};
  arguments = {"--patch-resync", "6"};
  const ExporterConfig config = load().config;
  EXPECT_EQ(config.verbose, 3);
  EXPECT_EQ(config.patch_resync, 6);                                    // flag over file
  EXPECT_EQ(config.sleep_interval, std::chrono::seconds(5));            // later file over earlier
  EXPECT_EQ(config.tls.cert_file + config.tls.key_file, "a.crtb.key");  // leaf by leaf
  EXPECT_EQ(config.policy, "restricted");  // a variable fills what is empty
  EXPECT_EQ(config.hostname, "node-a");
  EXPECT_EQ(config.metrics_port, 9);               // the file says otherwise
  EXPECT_EQ(config.metrics_address, "127.0.0.1");  // no file does
  EXPECT_EQ(config.excluded_resources(), (std::set<std::string>{"cpu", "memory"}));
  ASSERT_EQ(config.pod_exclude.size(), 1U);
  EXPECT_EQ(config.pod_exclude[0].ns, "kube-*");
  arguments = {"--metrics-port=11", "--hostname=given"};
  EXPECT_EQ(load().config.metrics_port, 11);
  EXPECT_EQ(load().config.hostname, "given");
  environment.erase("NODE_NAME");
  arguments.clear();
  EXPECT_EQ(load().config.hostname, "os-host");
}

TEST_F(NumaConfig, ReadsTheOldestLayout) {
  files["/etc/resource-topology-exporter/config.yaml"] =
      "topologyManagerPolicy: single-numa-node\ntopologyManagerScope: pod\n"
      "podExcludes: {ns: pod-*}\nexcludeList: {'*': [memory]}\nother: 1\n";
  const LoadedConfig loaded = load();
  EXPECT_EQ(loaded.config.policy + "/" + loaded.config.scope, "single-numa-node/pod");
  ASSERT_EQ(loaded.config.pod_exclude.size(), 1U);
  EXPECT_EQ(loaded.config.pod_exclude[0].name, "pod-*");
  EXPECT_EQ(loaded.warnings,
            std::vector<std::string>{
                "/etc/resource-topology-exporter/config.yaml: other: unknown key, ignored"});
}

TEST_F(NumaConfig, TakesOnlyAllowedRoots) {
  environment["HOME"] = "/home/me";
  for (const char* root :
       {"/etc/rte", "/run/rte", "/var/rte", "/usr/local/etc/rte", "/etc/resource-topology-exporter",
        "/run/user/1000/rte", "/home/me/.rte/", "/home/me/.rte/config.yaml"}) {
    arguments = {"--config", root};
    EXPECT_EQ(why(), "loaded") << root;
  }
  for (const char* root : {"/tmp", "/etc/rte/../shadow", "/run/user/1001/rte", "config.yaml", ""}) {
    arguments = {std::string("--config=") + root};
    EXPECT_NE(why().find("is not allowed: use one of /etc/rte, "), std::string::npos) << root;
  }
  arguments = {"--config=/home/me/.rte"};
  files["/home/me/.rte/extra/config.yaml"] = "kubelet: {topologyManagerPolicy: restricted}";
  EXPECT_EQ(load().config.policy, "restricted");
}

TEST_F(NumaConfig, TakesTheReferenceFromFlagFileOrEnvironment) {
  environment = {{"REFERENCE_NAMESPACE", "ns"},
                 {"REFERENCE_POD_NAME", "pod"},
                 {"REFERENCE_CONTAINER_NAME", "container"}};
  EXPECT_EQ(load().config.reference.pod, "pod");
  EXPECT_TRUE(check_readiness(load().config, sources()).ok());
  files["/etc/rte/daemon/config.yaml"] =
      "topologyExporter: {referenceContainer: {namespace: f, podName: g, containerName: h}}";
  EXPECT_EQ(load().config.reference.pod, "g");
  arguments = {"--reference-container", "a/b/c"};
  EXPECT_EQ(load().config.reference.pod, "b");
  arguments = {"--reference-container=a/b"};
  EXPECT_EQ(why(), "malformed ident: \"a/b\"");
  arguments.clear();
  environment.erase("REFERENCE_POD_NAME");
  EXPECT_EQ(check_readiness(load().config, sources()).error().message,
            "the env REFERENCE_POD_NAME doesn't exist");
  arguments = {"--podreadiness=false"};
  EXPECT_TRUE(check_readiness(load().config, sources()).ok());
}

// docs/spec/numa.md 9.1: what ends the process at its start.
TEST_F(NumaConfig, RefusesUnusableFlags) {
  struct Row {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Row rows[] = {
      {{"--pods-fingerprint-method=some"}, "unsupported method  \"some\""},
      {{"--sleep-interval=-5s"}, "--sleep-interval must not be negative: -5s"},
      {{"--sleep-interval=soon"},
       "invalid value for flag -sleep-interval: time: invalid duration \"soon\""},
      {{"--dump-config=/tmp/x"}, "dumping config to file not supported (dest=\"/tmp/x\")"},
      {{"--metrics-mode=ftp"}, "--metrics-mode must be disabled, http or httptls, not \"ftp\""},
      {{"--metrics-port=70000"}, "--metrics-port must be from 0 to 65535"},
      {{"--metrics-port=x"}, "invalid value for flag -metrics-port: \"x\" is no number"},
      {{"--oneshot=maybe"}, "invalid value for flag -oneshot: \"maybe\" is no boolean"},
      {{"--patch-resync=0"}, "--patch-resync must be at least 1"},
      {{"--max-events-per-second=-1"}, "--max-events-per-second must not be negative"},
      {{"--podresources-socket=tcp://x"},
       "--podresources-socket must begin with unix:// or fake://, not \"tcp://x\""},
      {{"--nonsense"}, "flag provided but not defined: -nonsense"},
      {{"--sysfs"}, "flag needs an argument: -sysfs"},
      {{"stray"}, "unexpected argument \"stray\""},
  };
  for (const Row& row : rows) {
    arguments = row.arguments;
    EXPECT_EQ(why(), row.message);
  }
  arguments = {"--pods-fingerprint-method=ALL"};
  EXPECT_EQ(load().config.fingerprint_method, "all");
  arguments = {"--pods-fingerprint=false", "--pods-fingerprint-method=some"};
  EXPECT_EQ(why(), "loaded");
}

TEST_F(NumaConfig, NamesInvalidMembersOfFile) {
  files["/etc/rte/daemon/config.yaml"] = "topologyExporter: {metricsPort: many}";
  EXPECT_EQ(why(), "/etc/rte/daemon/config.yaml: topologyExporter.metricsPort: must be a number");
  files["/etc/rte/daemon/config.yaml"] = "topologyExporter: [1]";
  EXPECT_EQ(why(), "/etc/rte/daemon/config.yaml: topologyExporter: must be an object");
  files["/etc/rte/daemon/config.yaml"] = "resourceMonitor: {podExclude: [{namespacePattern: '['}]}";
  EXPECT_EQ(why(),
            "/etc/rte/daemon/config.yaml: resourceMonitor.podExclude.namespacePattern: must be a "
            "shell pattern");
  files["/etc/rte/daemon/config.yaml"] = "{";
  EXPECT_TRUE(why().starts_with("/etc/rte/daemon/config.yaml: ")) << why();
}

TEST_F(NumaConfig, KnowsTheFormsOfTheDumpFlag) {
  const auto dump = [&](std::vector<std::string> given) {
    arguments = std::move(given);
    return load().dump;
  };
  EXPECT_EQ(dump({"--dump-config", "-"}), Dump::Print);
  EXPECT_EQ(dump({"--dump-config=.log"}), Dump::Log);
  EXPECT_EQ(dump({"--dump-config"}), Dump::SeedJson);
  EXPECT_EQ(dump({"--dump-config", "--oneshot"}), Dump::SeedJson);
  EXPECT_EQ(dump({"--dump-config=false"}), Dump::None);
  arguments = {"--dump-config"};
  EXPECT_TRUE(dump_json(load()).starts_with(R"({"global":{"verbose":2})"));
}

}  // namespace
}  // namespace athanor::numa::config_test
