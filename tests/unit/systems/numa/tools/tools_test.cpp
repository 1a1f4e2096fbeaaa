// SPDX-License-Identifier: Apache-2.0
// Texts and exit codes of the tools (docs/spec/numa.md 13).
#include "systems/numa/tools/tool.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/operator_rights.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/tools/sync_check.hpp"
#include "systems/numa/tools/tar.hpp"
#include "systems/numa/tools/validation.hpp"
#include "unit/systems/numa/lab_node.hpp"

namespace athanor::numa::tools_test {
namespace {

class FakeTools final : public ToolContext {
 public:
  [[nodiscard]] std::string version() const override { return "1.2.3"; }
  [[nodiscard]] Instant now() const override { return time; }
  Result<Object> get(const Kind& kind, const Key& key) override {
    const auto found = objects.find({std::string(kind.plural), key});
    return found == objects.end()
               ? Result<Object>(
                     Error::not_found(std::string(kind.plural) + " \"" + key.name + "\" not found"))
               : found->second;
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override {
    if (unserved.contains(std::string(kind.plural))) {
      return Error::not_found("the server could not find the requested resource");
    }
    std::vector<Object> found;
    for (const auto& [name, object] : objects) {
      if (name.first == kind.plural && (ns.empty() || name.second.ns == ns)) {
        found.push_back(object);
      }
    }
    return found;
  }
  Result<void> apply(const Kind& kind, const Value& object) override {
    objects.insert_or_assign({std::string(kind.plural), Object(object).key()}, Object(object));
    return {};
  }
  Result<void> remove(const Kind& kind, const Key& key) override {
    return objects.erase({std::string(kind.plural), key}) > 0 ? Result<void>()
                                                              : Error::not_found("not found");
  }
  Result<std::string> text(const std::string& path) override {
    const auto found = texts.find(path);
    return found == texts.end() ? Result<std::string>(Error::not_found(path)) : found->second;
  }
  Result<std::string> read_file(const std::string& path) override {
    const auto found = files.find(path);
    return found == files.end() ? Result<std::string>(Error::bad_request(path + ": cannot be read"))
                                : found->second;
  }
  std::vector<std::string> list_files(const std::string& path) override {
    std::set<std::string> names;
    for (const auto& [file, content] : files) {
      if (file.starts_with(path + "/")) {
        const std::string rest = file.substr(path.size() + 1);
        names.insert(rest.substr(0, rest.find('/')));
      }
    }
    return {names.begin(), names.end()};
  }
  Result<void> write_file(const std::string& path, std::string_view content) override {
    files.insert_or_assign(path, std::string(content));
    return {};
  }
  Result<std::string> read_input() override { return input; }
  bool pause(Duration wait) override {
    time += wait;
    if (on_pause) {
      on_pause();
    }
    return --pauses > 0;
  }
  void out(std::string_view text) override { printed += text; }
  void err(std::string_view text) override { complained += text; }

  void put(const Kind& kind, const std::string& text) {
    const Object object(yaml::parse(text).value());
    objects.insert_or_assign({std::string(kind.plural), object.key()}, object);
  }
  int run(const std::string& tool, const std::vector<std::string>& arguments = {}) {
    printed.clear();
    complained.clear();
    return find_tool(tool)->run(*this, arguments);
  }

  std::map<std::pair<std::string, Key>, Object> objects{};
  std::set<std::string> unserved{};
  std::map<std::string, std::string> texts{};
  std::map<std::string, std::string> files{};
  std::string input{};
  std::string printed{};
  std::string complained{};
  Instant time{std::chrono::seconds(1000)};
  std::function<void()> on_pause{};
  int pauses = 100;
};

constexpr Kind kNode{"", "v1", "Node", "nodes", false};
constexpr Kind kPod{"", "v1", "Pod", "pods", true};
constexpr Kind kLease{"coordination.k8s.io", "v1", "Lease", "leases", true};
constexpr Kind kConfigMap{"", "v1", "ConfigMap", "configmaps", true};
constexpr Kind kDaemonSet{"apps", "v1", "DaemonSet", "daemonsets", true};

Object node_with(const std::string& zones) {
  Value node =
      yaml::parse("{apiVersion: v1, kind: Node, metadata: {name: w, labels: {role: a}}}").value();
  node.set_path({"metadata", "annotations"}, annotations_of(yaml::parse(zones).value()));
  return Object(node);
}

std::vector<std::string> texts_of(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) {
    texts.push_back(text_of(finding));
  }
  return texts;
}

// docs/spec/numa.md 13.1, row by row.
TEST(NumaValidate, FindsWrongConfiguration) {
  struct Row {
    const char* config;
    const char* component;
    const char* setting;
    const char* expected;
    const char* detected;
  };
  const std::string good =
      "cpuManagerPolicy: static, cpuManagerReconcilePeriod: 5s, reservedSystemCPUs: '0,1', "
      "memoryManagerPolicy: Static, reservedMemory: [{numaNode: 0}], "
      "topologyManagerPolicy: single-numa-node";
  const Row rows[] = {
      {"cpuManagerPolicy: none", "CPU manager", "policy", "static", "none"},
      {"cpuManagerReconcilePeriod: 500ms", "CPU manager", "reconcile period", "in range [1s, 10s]",
       "500ms"},
      {"cpuManagerReconcilePeriod: 11s", "CPU manager", "reconcile period", "in range [1s, 10s]",
       "11s"},
      {"reservedSystemCPUs: ''", "CPU manager", "CPU", "reserved some CPU cores",
       "no reserved CPU cores"},
      {"memoryManagerPolicy: None", "memory manager", "policy", "Static", "None"},
      {"reservedMemory: []", "memory manager", "memory", "reserved memory blocks",
       "no reserved memory blocks"},
      {"topologyManagerPolicy: restricted", "topology manager", "policy", "single-numa-node",
       "restricted"},
  };
  ClusterFacts facts;
  facts.nodes = {Object(yaml::parse("{metadata: {name: w}}").value())};
  facts.kubelet_configs["w"] = yaml::parse("{" + good + "}").value();
  EXPECT_TRUE(validate(facts, {"k8scfg"}).empty());
  for (const Row& row : rows) {
    Value config = yaml::parse("{" + good + "}").value();
    const Value change = yaml::parse(std::string("{") + row.config + "}").value();
    config.set(change.members()[0].key(), change.members()[0].value);
    facts.kubelet_configs["w"] = config;
    EXPECT_EQ(
        texts_of(validate(facts, {"k8scfg"})),
        std::vector<std::string>{
            std::string("Incorrect configuration of node \"w\" area \"kubelet\" component \"") +
            row.component + "\" setting \"" + row.setting + "\": expected \"" + row.expected +
            "\" detected \"" + row.detected + "\""});
  }
  facts.kubelet_configs.clear();
  EXPECT_EQ(texts_of(validate(facts, {"k8scfg"})),
            std::vector<std::string>{
                "Incorrect configuration of node \"w\" area \"kubelet\" component "
                "\"configuration\" setting \"\": expected \"any value\" detected \"no "
                "configuration\""});
  facts.nodes.clear();
  EXPECT_EQ(texts_of(validate(facts, {"k8scfg"})),
            std::vector<std::string>{"Incorrect configuration of cluster: component \"\" setting "
                                     "\"\": expected \"worker nodes\" detected \"none\""});
}

TEST(NumaValidate, LooksAtTopologiesPodsAndCaches) {
  ClusterFacts facts;
  facts.nodes = {Object(yaml::parse("{metadata: {name: w}}").value()),
                 Object(yaml::parse("{metadata: {name: x}}").value())};
  EXPECT_EQ(texts_of(validate(facts, {"nrt"})),
            std::vector<std::string>{
                "Incorrect configuration of cluster: component \"NodeResourceTopology\" setting "
                "\"installed\": expected \"true\" detected \"false\""});
  facts.topologies.emplace();
  EXPECT_EQ(validate(facts, {"nrt"}).front().expected, "> 0");
  facts.topologies->push_back(
      Object(yaml::parse(
                 "{metadata: {name: w}, zones: [{name: node-0, type: Node, resources: [{name: cpu, "
                 "capacity: 4, allocatable: 4, available: 4}]}], attributes: [{name: "
                 "nodeTopologyPodsFingerprint, value: pfp0v001ef46db3751d8e999}, {name: "
                 "nodeTopologyPodsFingerprintMethod, value: with-exclusive-resources}]}")
                 .value()));
  EXPECT_EQ(validate(facts, {"nrt"}).front().expected + validate(facts, {"nrt"}).front().detected,
            "21");
  facts.operand_pods = {Object(
      yaml::parse("{metadata: {name: p, namespace: ns}, spec: {nodeName: w}, status: {phase: "
                  "Pending}}")
          .value())};
  EXPECT_EQ(text_of(validate(facts, {"podst"}).front()),
            "Incorrect configuration of node \"w\" area \"kubelet\" component \"pod\" setting "
            "\"ns/p\": expected \"Running\" detected \"Pending\"");
  EXPECT_TRUE(validate(facts, {"schedcache"}).empty());
  facts.pods = {
      Object(yaml::parse("{metadata: {name: p, namespace: ns}, spec: {nodeName: w, containers: "
                         "[{name: c, resources: {requests: {cpu: 2, memory: 1Gi}, limits: {cpu: 2, "
                         "memory: 1Gi}}}]}, status: {phase: Running}}")
                 .value())};
  EXPECT_EQ(text_of(validate(facts, {"schedcache"}).front()),
            "Incorrect configuration of cluster: component \"scheduler\" setting \"cache\": "
            "expected \"clean\" detected \"unsync\"");
}

TEST(NumaValidate, PrintsAnswersOfItsFlags) {
  FakeTools tools;
  EXPECT_EQ(tools.run("nrovalidate", {"--what", "help"}), 0);
  EXPECT_EQ(tools.complained, "available validators: k8scfg,nrt,podst,schedcache\n");
  EXPECT_EQ(tools.run("validate", {"--what="}), 0);
  EXPECT_EQ(tools.run("validate", {"--version"}), 0);
  EXPECT_EQ(tools.printed, "1.2.3\n");
  EXPECT_EQ(tools.run("validate", {"--what", "weather"}), 1);
  EXPECT_EQ(tools.run("validate", {"--colour"}), 1);
  EXPECT_EQ(tools.run("validate", {}), 2);  // no operator CR
  EXPECT_EQ(tools.complained,
            "INFO>>>>: enabled validators: k8scfg,nrt,podst,schedcache\n"
            "Error while trying to validate cluster: numaresourcesoperators "
            "\"numaresourcesoperator\" not found\n");
  const Object node = node_with(
      "{policy: single-numa-node, zones: [{cpus: 4, reservedCpus: 1, memory: 4Gi, reservedMemory: "
      "1Gi}]}");
  tools.objects.insert_or_assign({"nodes", node.key()}, node);
  tools.put(kTopologyKind, "{metadata: {name: w}}");
  EXPECT_EQ(tools.run("validate", {"--labels", "role=a"}), 0);
  EXPECT_EQ(tools.printed, "PASSED>>: cluster configuration looks ok!\n");
  EXPECT_EQ(tools.run("validate", {"--labels", "role=b", "--verbose", "--quiet"}), 0);
  EXPECT_EQ(tools.printed, "FAILED>>: cluster configuration does NOT look ok!\n");
  EXPECT_EQ(tools.complained, "");
  EXPECT_EQ(tools.run("validate", {"--labels=role=b", "--verbose", "--what=k8scfg"}), 0);
  EXPECT_EQ(
      tools.printed,
      "FAILED>>: cluster configuration does NOT look ok!\nERROR#000: Incorrect configuration "
      "of cluster: component \"\" setting \"\": expected \"worker nodes\" detected \"none\"\n");
  EXPECT_EQ(tools.run("validate", {"--labels=role=b", "--json", "--what=k8scfg"}), 0);
  EXPECT_EQ(
      tools.printed,
      R"({"succeeded":false,"errors":[{"node":"","area":"cluster","component":"","setting":"","expected":"worker nodes","detected":"none"}]})"
      "\n");
}

constexpr const char* kRteFile =
    R"([{"fingerprintComputed": "pfp0v001aaaa", "pods": [{"Namespace": "n", "Name": "a"}], "recordTime": "2026-01-05T00:00:01Z"}])";
constexpr const char* kSchedulerFile =
    R"([{"fingerprintExpected": "pfp0v001cccc", "fingerprintComputed": "pfp0v001cccc", "pods": []},
        {"fingerprintExpected": "pfp0v001aaaa", "fingerprintComputed": "pfp0v001bbbb",
         "pods": [{"Namespace": "n", "Name": "a"}, {"Namespace": "n", "Name": "b"}], "recordTime": "2026-01-05T00:00:02Z"}])";

TEST(NumaSyncCheck, ComparesStatusFiles) {
  FakeTools tools;
  tools.files = {{"rte", kRteFile},
                 {"sched", kSchedulerFile},
                 {"empty", "[]"},
                 {"same", R"([{"fingerprintExpected": "pfp0v001aaaa", "fingerprintComputed":
                   "pfp0v001dddd", "pods": [{"Namespace": "n", "Name": "a"}]}])"}};
  EXPECT_EQ(tools.run("pfpsyncchk", {"-from-rte", "rte", "-from-scheduler", "sched"}), 0);
  EXPECT_EQ(tools.printed,
            "Expected: pfp0v001aaaa\nComputed: pfp0v001bbbb\nFound on RTE: true\n"
            "Last write of the scheduler: 2026-01-05T00:00:02Z\n"
            "Last write of the RTE: 2026-01-05T00:00:01Z\n"
            "Pods on the scheduler only:\n  - n/b\nPods on the RTE only:\n\n");
  EXPECT_EQ(tools.run("pfpsync", {"-from-rte", "rte", "-from-scheduler", "rte"}), 0);
  EXPECT_EQ(tools.printed, "every fingerprint is in sync\n");
  EXPECT_EQ(tools.run("pfpsync", {"-from-rte", "rte"}), 1);
  EXPECT_EQ(tools.run("pfpsync", {"-from-rte", "rte", "-from-scheduler", "absent"}), 2);
  EXPECT_EQ(tools.run("pfpsync", {"-from-rte", "empty", "-from-scheduler", "sched"}), 2);
  EXPECT_EQ(tools.run("pfpsync", {"-from-rte", "rte", "-from-scheduler", "same"}), 2);
  EXPECT_EQ(tools.run("pfpsync", {"-full-help"}), 0);
  tools.files = {{"mg/namespaces/numa/pfpstatus/resource-topology-exporters/w", kRteFile},
                 {"mg/namespaces/numa/pfpstatus/scheduler/w", kSchedulerFile}};
  EXPECT_EQ(tools.run("pfpsync", {"-must-gather", "mg", "-from-rte", "x"}), 0);
  EXPECT_TRUE(tools.printed.starts_with("# w\nExpected: pfp0v001aaaa\n")) << tools.printed;
  EXPECT_EQ(tools.run("pfpsync", {"-must-gather", "nowhere"}), 2);
  EXPECT_FALSE(compare_status("nonsense", kSchedulerFile).ok());
}

TEST(NumaTools, ShowTheLeadersLog) {
  FakeTools tools;
  EXPECT_EQ(tools.run("schedlogs"), 2);
  for (const char* name : {"s-1", "s-2"}) {
    tools.put(kPod, std::string("{metadata: {name: ") + name +
                        ", namespace: numaresources, labels: {app: secondary-scheduler}}, status: "
                        "{phase: Running}}");
    tools.texts[std::string("/api/v1/namespaces/numaresources/pods/") + name +
                "/log?container=secondary-scheduler"] = std::string("log of ") + name;
  }
  tools.put(kLease,
            "{metadata: {name: numa-scheduler-leader, namespace: numaresources}, spec: "
            "{holderIdentity: s-2_0123}}");
  EXPECT_EQ(tools.run("sched-logs"), 0);
  EXPECT_EQ(tools.printed, "-------8<-------\nlog of s-2\n-------8<-------\n");
  tools.texts["/api/v1/namespaces/numaresources/pods/s-2/log?container=c&sinceSeconds=60"] = "x\n";
  EXPECT_EQ(tools.run("sched-logs", {"-container", "c", "-since", "1m"}), 0);
  EXPECT_EQ(tools.run("sched-logs", {"-since", "soon"}), 1);
}

TEST(NumaTools, WatchAttributes) {
  FakeTools tools;
  tools.put(kTopologyKind, "{metadata: {name: w}, attributes: [{name: a, value: '1'}]}");
  tools.on_pause = [&] {
    tools.put(kTopologyKind, "{metadata: {name: w}, attributes: [{name: a, value: '2'}]}");
  };
  EXPECT_EQ(tools.run("watchnrtattr", {"-count=3"}), 0);
  EXPECT_EQ(tools.printed, "1970-01-01T00:16:40Z w a=1\n1970-01-01T00:16:41Z w a=2\n");
  tools.on_pause = [&] { tools.objects.clear(); };
  EXPECT_EQ(tools.run("watchnrtattr", {"-count=2"}), 0);
  EXPECT_NE(tools.printed.find(" w deleted\n"), std::string::npos);
  EXPECT_EQ(tools.run("watchnrtattr", {"-count=x"}), 1);
}

TEST(NumaTools, NameThePlatform) {
  FakeTools tools;
  tools.unserved = {"clusterversions"};
  EXPECT_EQ(tools.run("lsplatform"), 0);
  EXPECT_EQ(tools.printed, "Kubernetes\n");
  tools.unserved.clear();
  tools.put(kClusterVersion, "{metadata: {name: version}}");
  EXPECT_EQ(tools.run("lsplatform"), 0);
  EXPECT_EQ(tools.printed, "OpenShift\n");
  tools.put(kInfrastructure,
            "{metadata: {name: cluster}, status: {controlPlaneTopology: External}}");
  EXPECT_EQ(tools.run("lsplatform"), 0);
  EXPECT_EQ(tools.printed, "HyperShift\n");
  EXPECT_EQ(tools.run("lsplatform", {"-is-platform", "hypershift"}), 0);
  EXPECT_EQ(tools.run("lsplatform", {"-is-platform", "kubernetes"}), 1);
}

TEST(NumaTools, ListTopicsAndFilterLabels) {
  FakeTools tools;
  EXPECT_EQ(tools.run("lstopics"), 0);
  const auto value = json::parse(tools.printed);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["metadata"]["version"].str(), "1.2.3");
  EXPECT_EQ((*value)["active"].size(), 25U);
  tools.input = R"({"active": ["config", "nonreg"]})";
  EXPECT_EQ(tools.run("mkginkgolabelfilter"), 0);
  EXPECT_EQ(tools.printed, "feature: containsAny {config,nonreg}\n");
  tools.input = "nonsense";
  EXPECT_EQ(tools.run("mkginkgolabelfilter"), 2);
}

TEST(NumaTools, ShowKubeletSettingsInBothLayouts) {
  FakeTools tools;
  EXPECT_EQ(tools.run("catkubeletconfmap", {"-wait=3s"}), 2);
  EXPECT_EQ(tools.time, Instant{std::chrono::seconds(1003)});
  for (const char* layout :
       {"kubelet:\\n  topologyManagerPolicy: restricted\\n  topologyManagerScope: pod\\n",
        "topologyManagerPolicy: restricted\\ntopologyManagerScope: pod\\n"}) {
    tools.put(kConfigMap,
              std::string("{metadata: {name: c, namespace: ns}, data: {config.yaml: \"") + layout +
                  "\"}}");
    EXPECT_EQ(tools.run("catkubeletconfmap", {"-name=c", "-namespace=ns", "-prefix=P_"}), 0);
    EXPECT_EQ(tools.printed,
              "P_TOPOLOGY_MANAGER_POLICY=restricted\nP_TOPOLOGY_MANAGER_SCOPE=pod\n");
  }
}

constexpr const char* kSetWithAffinity = R"(
metadata: {name: ds, namespace: ns}
spec:
  template:
    spec:
      affinity:
        podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: role, operator: In, values: [a]}]}]
      containers: [{image: i}])";

TEST(NumaTools, MakeAJobForEachDaemonSet) {
  FakeTools tools;
  tools.put(kOperatorKind,
            "{metadata: {name: numaresourcesoperator}, status: {daemonsets: [{namespace: ns, name: "
            "ds}]}}");
  tools.put(kDaemonSet,
            "{metadata: {name: ds, namespace: ns}, spec: {template: {spec: {nodeSelector: {role: "
            "a}, containers: [{image: i}]}}}}");
  EXPECT_EQ(tools.run("make-job-foreach-ds", {"-name=j", "-namespace=ns"}), 1);
  EXPECT_EQ(tools.run("make-job-foreach-ds", {"-name=j", "-namespace=ns", "-script=ls"}), 0);
  const auto job = yaml::parse(tools.printed);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ((*job)["metadata"]["name"].str(), "j-ds");
  EXPECT_EQ((*job)["spec"]["template"]["spec"]["nodeSelector"]["role"].str(), "a");
  EXPECT_EQ((*job)["spec"]["template"]["spec"]["containers"][0]["command"][2].str(), "ls");
  EXPECT_FALSE((*job)["spec"]["template"]["spec"].contains("affinity"));
  tools.put(kDaemonSet, kSetWithAffinity);
  EXPECT_EQ(tools.run("make-job-foreach-ds", {"-name=j", "-namespace=ns", "-script=ls"}), 0);
  const Value spec = yaml::parse(tools.printed).value()["spec"]["template"]["spec"];
  EXPECT_FALSE(spec.contains("nodeSelector"));
  EXPECT_EQ(json::print(spec["affinity"]),
            R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"role","operator":"In",)"
            R"("values":["a"]}]}]}}})");
}

TEST(NumaValidate, ChecksTheNodesOfPoolsWithExpressions) {  // docs/spec/numa.md 6.6
  FakeTools tools;
  tools.put(kOperatorKind,
            "{metadata: {name: numaresourcesoperator}, status: {daemonsets: [{namespace: ns, name: "
            "ds}]}}");
  tools.put(kDaemonSet, kSetWithAffinity);
  tools.put(kNode, "{metadata: {name: other, labels: {role: b}}}");
  const Object node = node_with("{policy: none, zones: [{cpus: 4, memory: 4Gi}]}");
  tools.objects.insert_or_assign({"nodes", node.key()}, node);
  EXPECT_EQ(tools.run("validate", {"--what=k8scfg", "--verbose"}), 0);
  EXPECT_NE(tools.printed.find("node \"w\""), std::string::npos) << tools.printed;
  EXPECT_EQ(tools.printed.find("node \"other\""), std::string::npos) << tools.printed;
}

TEST(NumaDeployer, DeploysRendersAndRemoves) {
  FakeTools tools;
  tools.unserved = {"clusterversions"};
  EXPECT_EQ(tools.run("deploy"), 0);
  const Key set{"tas-topology-updater", "resource-topology-exporter"};
  ASSERT_TRUE(tools.objects.contains({"daemonsets", set}));
  const std::string args = json::print(
      tools.objects.at({"daemonsets", set}).spec()["template"]["spec"]["containers"][0]["args"]);
  EXPECT_NE(args.find("--pods-fingerprint-method=all"), std::string::npos);
  EXPECT_EQ(args.find("--notify-file"), std::string::npos);
  EXPECT_NE(args.find("--metrics-mode=http\""), std::string::npos);
  ASSERT_TRUE(tools.objects.contains({"deployments", {"tas-scheduler", "secondary-scheduler"}}));
  EXPECT_TRUE(tools.objects.contains({"namespaces", {"", "tas-scheduler"}}));
  EXPECT_EQ(tools.run("deployer", {"remove"}), 0);
  EXPECT_TRUE(tools.objects.empty());
  EXPECT_EQ(tools.run("deployer", {"remove"}), 0);  // nothing is there any more

  EXPECT_EQ(tools.run("deployer", {"setup", "--updater-notif-enable", "--updater-sync-period=30s"}),
            0);
  EXPECT_FALSE(tools.objects.contains({"namespaces", {"", "tas-scheduler"}}));
  EXPECT_NE(json::print(tools.objects.at({"daemonsets", set}).spec()).find("--sleep-interval=30s"),
            std::string::npos);
  tools.objects.clear();

  EXPECT_EQ(tools.run("deployer", {"render", "scheduler-plugin", "--sched-profile-name=mine",
                                   "--replicas=3", "--sched-resync-period=8s"}),
            0);
  EXPECT_TRUE(tools.objects.empty());
  const auto documents = yaml::parse_all(tools.printed);
  ASSERT_TRUE(documents.ok());
  std::string config;
  for (const Value& document : *documents) {
    config += document["data"]["config.yaml"].str();
  }
  EXPECT_NE(config.find("schedulerName: mine"), std::string::npos);
  EXPECT_NE(config.find("cacheResyncPeriodSeconds: 8"), std::string::npos);
  EXPECT_NE(config.find("resourceNamespace: tas-scheduler"), std::string::npos);
  EXPECT_EQ(tools.run("deployer", {"render", "topology-updater", "--updater-type=nfd"}), 0);
  EXPECT_NE(tools.printed.find("nfd-topology-updater"), std::string::npos);
}

// Returns the objects that the deployer prints.
std::vector<Value> rendered(const std::vector<std::string>& flags) {
  FakeTools tools;
  std::vector<std::string> arguments{"render"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  EXPECT_EQ(tools.run("deployer", arguments), 0) << tools.complained;
  return yaml::parse_all(tools.printed).value();
}

TEST(NumaDeployer, InstallsTheConstraintsThatItsPodsRequire) {
  using Flags = std::vector<std::string>;
  for (const auto& [flags, name] :
       {std::pair{Flags{}, "resource-topology-exporter-v2"},
        {Flags{"--updater-scc=v2"}, "resource-topology-exporter-v2"},
        {Flags{"--updater-custom-selinux-policy"}, "resource-topology-exporter"},
        {Flags{"--updater-custom-selinux-policy", "--updater-scc=v1"},
         "resource-topology-exporter"}}) {
    Flags all{"topology-updater", "--platform=openshift"};
    all.insert(all.end(), flags.begin(), flags.end());
    std::string installed;
    std::string required;
    for (const Value& object : rendered(all)) {
      if (object["kind"].as_string() == "SecurityContextConstraints") {
        installed += object["metadata"]["name"].str();
      } else if (object["kind"].as_string() == "DaemonSet") {
        required =
            object.at({"spec", "template", "metadata", "annotations"})["openshift.io/required-scc"]
                .str();
      }
    }
    EXPECT_EQ(installed, name);
    EXPECT_EQ(required, name);
  }
}

TEST(NumaDeployer, GrantsTheLeaseThatItNames) {
  std::set<std::string> granted;
  for (const Value& object :
       rendered({"scheduler-plugin", "--sched-leader-elect-resource=mine", "--replicas=2"})) {
    for (const Value& rule : object["rules"].items()) {
      for (const Value& name : rule["resourceNames"].items()) {
        granted.insert(object["kind"].str() + "/" + rule["resources"][0].str() + "/" + name.str());
      }
    }
  }
  EXPECT_EQ(granted, (std::set<std::string>{"ClusterRole/leases/mine", "Role/endpoints/mine",
                                            "Role/leases/mine"}));
}

TEST(NumaDeployer, ValidatesNodesWithoutAnOperator) {  // docs/spec/numa.md 13.2
  FakeTools tools;
  const Object node = node_with(
      "{policy: single-numa-node, zones: [{cpus: 4, reservedCpus: 1, memory: 4Gi, reservedMemory: "
      "1Gi}]}");
  tools.objects.insert_or_assign({"nodes", node.key()}, node);
  tools.put(kNode,
            "{metadata: {name: control}, spec: {taints: [{key: control-plane, effect: "
            "NoSchedule}]}}");
  tools.put(kTopologyKind, "{metadata: {name: w}}");
  EXPECT_EQ(tools.run("deployer", {"validate"}), 0);
  EXPECT_EQ(tools.printed, "PASSED>>: cluster configuration looks ok!\n");
  tools.put(kNode, "{metadata: {name: bare}}");
  EXPECT_EQ(tools.run("deployer", {"validate", "--json"}), 0);
  EXPECT_NE(tools.printed.find("\"node\":\"bare\""), std::string::npos) << tools.printed;
  EXPECT_EQ(tools.printed.find("control\""), std::string::npos) << tools.printed;
}

TEST(NumaDeployer, RefusesUnsupportedArguments) {
  FakeTools tools;
  tools.unserved = {"clusterversions"};
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"fly"},
           {"deploy", "moon"},
           {"deploy", "--updater-type=none"},
           {"deploy", "--updater-cri-hooks-enable"},
           {"deploy", "--updater-scc=v3"},
           {"deploy", "--platform=plan9"},
           {"deploy", "--replicas=-1"},
           {"deploy", "--updater-sync-period=soon"},
           {"deploy", "--updater-type=NFD", "--updater-scc=v2"},
           {"deploy", "--updater-type=NFD", "--updater-notif-enable"},
           {"deploy", "--updater-type=NFD", "--rte-config-file=f"},
           {"deploy", "--updater-type=NFD", "--updater-custom-selinux-policy"},
           {"render", "--updater-custom-selinux-policy"},
           {"render", "--updater-scc=v2"},
           {"render", "--platform=openshift", "--updater-scc=v1"},
           {"render", "--platform=openshift", "--updater-scc=v2",
            "--updater-custom-selinux-policy"},
           {"deploy", "--nonsense"}}) {
    EXPECT_EQ(tools.run("deployer", arguments), 1) << (arguments.empty() ? "" : arguments.back());
    EXPECT_FALSE(tools.complained.empty());
  }
  EXPECT_TRUE(tools.objects.empty());
  tools.files["scoring"] = "type: Random";
  EXPECT_EQ(tools.run("deployer", {"render", "--sched-scoring-strat-config-file=scoring"}), 1);
  EXPECT_EQ(tools.complained, "invalid ScoringStrategyType: Random\n");
  // Nothing becomes ready here.
  tools.pauses = 1000;
  EXPECT_EQ(tools.run("deployer", {"deploy", "scheduler-plugin", "--wait"}), 2);
  EXPECT_NE(tools.complained.find("timed out waiting for Deployment secondary-scheduler"),
            std::string::npos);
  EXPECT_EQ(tools.time, Instant{std::chrono::seconds(1120)});
}

TEST(NumaOperatorTool, PrintsAndEnds) {
  FakeTools tools;
  tools.unserved = {"clusterversions"};
  tools.texts["/version"] = R"({"gitVersion": "v1.31.0"})";
  EXPECT_EQ(tools.run("numaresources-operator", {"--detect-platform-only"}), 0);
  EXPECT_EQ(tools.printed, "platform=Kubernetes version=v1.31.0\n");
  EXPECT_EQ(tools.run("numaresources-operator", {"--version"}), 0);
  EXPECT_EQ(tools.run("numaresources-operator", {"--detect-platform-only", "--platform=HyperShift",
                                                 "--platform-version=4.20"}),
            0);
  EXPECT_EQ(tools.printed, "platform=HyperShift version=4.20\n");
  EXPECT_EQ(tools.run("numaresources-operator", {"--detect-platform-only", "--platform=openshift"}),
            0);
  EXPECT_EQ(tools.printed, "platform=OpenShift version=v1.31.0\n");
  EXPECT_EQ(tools.run("numaresources-operator", {"--detect-platform-only", "--platform=plan9"}), 1);
  for (const char* event : {"postStart", "preStop"}) {
    EXPECT_EQ(tools.run("numaresources-operator", {"--handle-lifecycle-event", event}), 0);
  }
  EXPECT_EQ(tools.run("numaresources-operator", {"--handle-lifecycle-event=reboot"}), 1);
  EXPECT_EQ(tools.run("numaresources-operator", {"--render-nrt-crd"}), 0);
  EXPECT_EQ((*yaml::parse(tools.printed))["metadata"]["name"].str(),
            "noderesourcetopologies.topology.node.k8s.io");
  EXPECT_EQ(tools.run("render", {"--render-namespace=ns", "--render-image=img"}), 0);
  const auto documents = yaml::parse_all(tools.printed);
  ASSERT_TRUE(documents.ok());
  std::multiset<std::string> kinds;
  for (const Value& document : *documents) {
    kinds.insert(document["kind"].str());
    if (document["kind"].as_string() == "Deployment") {
      EXPECT_EQ(document["metadata"]["namespace"].str(), "ns");
      const Value& container = document["spec"]["template"]["spec"]["containers"][0];
      EXPECT_EQ(container["image"].str(), "img");
      EXPECT_EQ(container["args"], Value::list({"controllers", "--systems=numa"}));
      EXPECT_EQ(container["env"][0]["name"].str(), "NAMESPACE");
      EXPECT_EQ(container["readinessProbe"]["httpGet"]["port"].str(), "health");
    }
    if (document["kind"].as_string() == "ServiceMonitor") {  // docs/spec/numa.md 14
      const Value& endpoint = document["spec"]["endpoints"][0];
      EXPECT_EQ(endpoint["scheme"].str(), "https");
      EXPECT_EQ(endpoint["tlsConfig"]["serverName"].str(),
                "numaresources-controller-manager-metrics-service.ns.svc");
    }
  }
  EXPECT_EQ(kinds.count("CustomResourceDefinition"), 3U);
  EXPECT_EQ(kinds.count("NetworkPolicy"), 3U);
  EXPECT_EQ(kinds.count("Deployment"), 1U);
  EXPECT_EQ(kinds.count("ServiceMonitor"), 1U);
  EXPECT_EQ(tools.run("numaresources-operator", {}), 1);
  EXPECT_EQ(tools.run("bundle", {"--output=b"}), 0);
  ASSERT_TRUE(
      tools.files.contains("b/manifests/numaresources-operator.clusterserviceversion.yaml"));
  const auto csv =
      yaml::parse(tools.files.at("b/manifests/numaresources-operator.clusterserviceversion.yaml"));
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ((*csv)["spec"]["customresourcedefinitions"]["owned"].size(), 2U);
  EXPECT_EQ((*csv)["metadata"]["annotations"]["capabilities"].str(), "Basic Install");
  EXPECT_TRUE(tools.files.contains("b/metadata/annotations.yaml"));
}

TEST(NumaOperatorTool, KnowsWhetherItPrints) {
  const auto prints = [](const std::vector<std::string>& arguments) {
    return operator_prints(arguments);
  };
  EXPECT_TRUE(prints({"-render"}));
  EXPECT_TRUE(prints({"--leader-elect", "--version"}));
  EXPECT_TRUE(prints({"--handle-lifecycle-event=preStop"}));
  EXPECT_TRUE(prints({"-h"}));
  EXPECT_FALSE(prints({}));
  EXPECT_FALSE(prints({"--platform=openshift", "--metrics-bind-address", "version"}));
}

TEST(NumaOperatorTool, NamesTheVersionOfOpenShift) {
  FakeTools tools;
  tools.texts["/version"] = R"({"gitVersion": "v1.31.0"})";
  tools.put(
      kClusterVersion,
      "{metadata: {name: version}, status: {history: [{version: 4.19.3}, {version: 4.18.0}]}}");
  EXPECT_EQ(tools.run("numaresources-operator", {"--detect-platform-only"}), 0);
  EXPECT_EQ(tools.printed, "platform=OpenShift version=4.19.3\n");
}

TEST(NumaMustGather, NamesTheExportersPodsWhereBothSidesAgree) {
  FakeTools tools;
  tools.put(kPod,
            "{metadata: {name: p, namespace: ns}, spec: {nodeName: w, containers: [{name: c}]}}");
  const auto exporter_pods = [&](const std::string& fingerprint) {
    tools.put(kTopologyKind,
              "{metadata: {name: w}, attributes: [{name: nodeTopologyPodsFingerprint, value: " +
                  fingerprint + "}, {name: nodeTopologyPodsFingerprintMethod, value: all}]}");
    EXPECT_EQ(tools.run("must-gather", {"--output=out.tar"}), 0) << tools.complained;
    const std::string& tar = tools.files.at("out.tar");
    const std::size_t file = tar.find("pfpstatus/resource-topology-exporters/w");
    const std::string content = tar.substr(file + 400, 512);
    return content.find("\"Name\":\"p\"") != std::string::npos;
  };
  const std::vector<Key> pods{{"ns", "p"}};
  EXPECT_TRUE(exporter_pods(fingerprint_of(std::span<const Key>(pods))));
  EXPECT_FALSE(exporter_pods("pfp0v001ef46db3751d8e999"));
}

TEST(NumaMustGather, WritesOneTar) {
  FakeTools tools;
  tools.unserved = {"featuregates", "machineconfigs"};
  tools.put(kNode, "{metadata: {name: w.example}}");
  tools.put(kTopologyKind,
            "{metadata: {name: w.example}, attributes: [{name: nodeTopologyPodsFingerprint, value: "
            "pfp0v001ef46db3751d8e999}]}");
  tools.put(kPod,
            "{metadata: {name: p, namespace: numaresources}, spec: {initContainers: [{name: i}], "
            "containers: [{name: c}]}, status: {containerStatuses: [{name: c, restartCount: 1}]}}");
  tools.put(api::kNamespace, "{metadata: {name: numaresources}}");
  tools.put(kRole, "{metadata: {name: rte, namespace: numaresources}}");
  const std::string log = "/api/v1/namespaces/numaresources/pods/p/log?container=";
  tools.texts[log + "c"] = "a line\n";
  tools.texts[log + "i"] = "an init container's line\n";
  tools.texts[log + "c&previous=true"] = "an earlier line\n";
  EXPECT_EQ(tools.run("must-gather", {"--output=out.tar"}), 0) << tools.complained;
  const std::string& tar = tools.files.at("out.tar");
  EXPECT_EQ(tar.size() % 512, 0U);
  for (const char* part :
       {"numaresources-operator/must-gather\n1.2.3\n", "cluster-scoped-resources/core/nodes/",
        "namespaces/numaresources/numaresources.yaml",
        "namespaces/numaresources/rbac.authorization.k8s.io/roles/rte.yaml",
        "namespaces/numaresources/pods/p/c.log", "a line\n", "an init container's line\n",
        "namespaces/numaresources/pods/p/c.previous.log", "an earlier line\n",
        "namespaces/numaresources/pfpstatus/resource-topology-exporters/w_example",
        "namespaces/numaresources/pfpstatus/scheduler/w_example"}) {
    EXPECT_NE(tar.find(part), std::string::npos) << part;
  }
}

TEST(NumaTar, SplitsLongPathsAndRefusesLongerOnes) {
  const std::string folder(120, 'f');
  const auto tar = make_tar({{folder + "/name", "content"}}, Instant{});
  ASSERT_TRUE(tar.ok());
  EXPECT_EQ(tar->size(), 4U * 512);
  EXPECT_EQ(tar->substr(0, 5), std::string("name\0", 5));
  EXPECT_EQ(tar->substr(345, 120), folder);
  EXPECT_FALSE(make_tar({{std::string(200, 'n'), ""}}, Instant{}).ok());
}

TEST(NumaTools, PrintHelpAndDoNothingElse) {
  for (const Tool& tool : numa_tools()) {
    for (const char* help : {"--help", "-h"}) {
      FakeTools tools;  // a call of the API server would show in what it says
      tools.unserved = {"clusterversions"};
      EXPECT_EQ(tools.run(std::string(tool.name), {help}), 0) << tool.name;
      EXPECT_NE(tools.printed.find("Usage of "), std::string::npos) << tool.name << tools.printed;
      EXPECT_EQ(tools.complained, "") << tool.name;
      EXPECT_TRUE(tools.objects.empty() && tools.files.empty()) << tool.name;
    }
  }
}

TEST(NumaTools, RefuseWordsThatTheyDoNotTake) {
  for (const Tool& tool : numa_tools()) {
    FakeTools tools;
    tools.unserved = {"clusterversions"};
    EXPECT_EQ(tools.run(std::string(tool.name), {"moon"}), 1) << tool.name;
    EXPECT_NE(tools.complained, "") << tool.name;
  }
  FakeTools tools;
  EXPECT_EQ(tools.run("deployer", {"version", "api"}), 1);
  EXPECT_EQ(tools.complained, "version takes no targets: \"api\"\n");
}

TEST(NumaTools, AreFoundByBothNames) {
  for (const Tool& tool : numa_tools()) {
    EXPECT_EQ(find_tool(tool.name), &tool);
    if (!tool.upstream.empty()) {
      EXPECT_EQ(find_tool(tool.upstream), &tool);
    }
  }
  EXPECT_EQ(find_tool(""), nullptr);
  EXPECT_EQ(find_tool("worker-1"), nullptr);
}

}  // namespace
}  // namespace athanor::numa::tools_test
