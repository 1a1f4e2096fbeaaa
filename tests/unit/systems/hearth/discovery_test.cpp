// SPDX-License-Identifier: Apache-2.0
// Secrets, kubeconfigs, probes and what the status says of them (docs/spec/hearth.md 4 to 7).
#include "lab.hpp"

namespace athanor::hearth::discovery_test {
namespace {

using Discovery = Lab;
using Kubeconfigs = Lab;
using Probes = Lab;

TEST_F(Discovery, FromALabelledSecretToQuota) {  // A1
  onboard("edge");
  const Object object = cluster("edge");
  EXPECT_EQ(object.label("fournos.dev/auto-discovered"), "true");
  EXPECT_EQ(object.label("app.kubernetes.io/managed-by"), "hearth");
  EXPECT_EQ(object.spec()["kubeconfigSecret"], Value("kubeconfig-edge"));
  EXPECT_FALSE(object.spec().contains("owner"));
  EXPECT_TRUE(object.has_finalizer("fournos.dev/cluster-cleanup"));
  const Value& status = object.status();
  EXPECT_EQ(status["kubeconfigStatus"], Value("Valid"));
  EXPECT_EQ(status["gpuSummary"], Value("16x A100"));
  EXPECT_EQ(status["serverVersion"], Value("v1.30.2"));
  EXPECT_EQ(status["nodeCount"].as_int(), 2);
  EXPECT_EQ(status["locked"], Value(false));
  EXPECT_EQ(condition("edge", "KubeconfigValid"), "True/Valid");
  EXPECT_EQ(condition("edge", "GPUDiscovered"), "True/Discovered 16 GPUs on 2 nodes");
  EXPECT_EQ(condition("edge", "KueueSynced"), "True/Synced fournos/gpu-a100: 16");
  EXPECT_EQ(condition("edge", "Locked"), "False/Unlocked");
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  const Object flavor = world.must(api::kueue::kResourceFlavor, {"", "edge"});
  EXPECT_EQ(flavor.spec(), *yaml::parse("{nodeLabels: {fournos.dev/cluster: edge}}"));
  EXPECT_EQ(flavor.label("fournos.dev/healthy"), "true");
  EXPECT_EQ(world.event_count("ClusterDiscovered", "edge"), 1);
}

TEST_F(Discovery, NothingMovesAtRestAndAfterARestart) {  // R4, R6, A20
  onboard("edge");
  const std::size_t before = world.writes.size();
  world.restart();
  settle();
  pass(std::chrono::minutes(4));
  EXPECT_EQ(world.writes.size(), before);
  pass(std::chrono::minutes(2));
  EXPECT_EQ(world.writes.size(), before + 2);  // one probe: one spec, one status
}

TEST_F(Discovery, NamesAndLabelsThatDoNotMatch) {  // A2, A3
  secret("foo", kubeconfig());
  secret("kubeconfig-", kubeconfig());
  secret("kubeconfig-" + std::string(64, 'a'), kubeconfig());
  secret("kubeconfig-elsewhere", kubeconfig(), "{}", "hearth");
  secret("kubeconfig-ok", kubeconfig(), "{}", "default");
  world.update(api::kSecret, {"default", "kubeconfig-ok"}, [](Value&) {});
  put("{apiVersion: v1, kind: Secret, metadata: {name: kubeconfig-upper, namespace: psap-secrets, "
      "labels: {fournos.dev/cluster-kubeconfig: \"True\"}}}");
  settle();
  EXPECT_EQ(world.count(api::kFournosCluster), 0U);
  EXPECT_EQ(world.event_count("InvalidClusterName"), 3);
  EXPECT_EQ(world.event_count("WrongNamespace", "kubeconfig-elsewhere"), 1);
}

TEST_F(Discovery, AnnotationsOfTheSecret) {  // S4, S5, S13
  secret("kubeconfig-a", kubeconfig(), "{fournos.dev/owner: alice, fournos.dev/ttl: 2h}");
  secret("kubeconfig-b", kubeconfig(), "{fournos.dev/owner: \"\", fournos.dev/ttl: 2 hours}");
  settle();
  EXPECT_EQ(cluster("a").spec()["owner"], Value("alice"));
  EXPECT_EQ(cluster("a").spec()["ttl"], Value("2h"));
  EXPECT_FALSE(cluster("b").spec().contains("owner"));
  EXPECT_FALSE(cluster("b").spec().contains("ttl"));
  EXPECT_EQ(world.event_count("InvalidTTL", "kubeconfig-b"), 1);
  world.update(api::kSecret, {kSecrets, "kubeconfig-a"}, [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/owner"}, "bob");
  });
  settle();
  EXPECT_EQ(cluster("a").spec()["owner"], Value("alice"));
}

TEST_F(Discovery, TheFormerOperatorsCopiesAreCleaned) {  // S14, R8, A19
  secret("kubeconfig-old", kubeconfig(),
         "{kopf.zalando.org/last-handled-configuration: '{\"data\":{}}', mine: kept}");
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: old, namespace: hearth, "
      "finalizers: [kopf.zalando.org/KopfFinalizerMarker, other/one], annotations: "
      "{kopf.zalando.org/x: y, mine: kept}}, spec: {kubeconfigSecret: kubeconfig-old}}");
  target("old", 1, 8);
  settle();
  const Object cleaned = world.must(api::kSecret, {kSecrets, "kubeconfig-old"});
  EXPECT_FALSE(
      cleaned.metadata()["annotations"].contains("kopf.zalando.org/last-handled-configuration"));
  EXPECT_EQ(cleaned.annotation("mine"), "kept");
  EXPECT_FALSE(cluster("old").has_finalizer("kopf.zalando.org/KopfFinalizerMarker"));
  EXPECT_TRUE(cluster("old").has_finalizer("other/one"));
  EXPECT_FALSE(cluster("old").metadata()["annotations"].contains("kopf.zalando.org/x"));
}

TEST_F(Discovery, NothingOfTheKubeconfigLeavesTheSecret) {  // S15
  onboard("edge");
  secret("kubeconfig-bad", kubeconfig("client-key-data: t0ps3cret"));
  secret("kubeconfig-worse", "t0ps3cret: [");
  settle();
  std::string all;
  for (const Object& object : world.list(api::kFournosCluster)) {
    all += json::print(object.body());
  }
  for (const test::RecordedEvent& event : world.events) {
    all += event.note;
  }
  for (const std::string& question : questions) {
    all += question;
  }
  EXPECT_EQ(all.find("t0ps3cret"), std::string::npos) << all;
  EXPECT_EQ(all.find(base64_encode("t0ps3cret")), std::string::npos);
}

TEST_F(Kubeconfigs, StatesAndTexts) {
  struct Row {
    std::string text{}, want{};
  };
  const std::map<std::string, Row> rows{
      {"absent", {"", "Secret 'kubeconfig-absent' has no 'kubeconfig' key"}},
      {"binary", {"\xff\xff", "Secret 'kubeconfig-binary' has invalid base64 kubeconfig data"}},
      {"words", {"[a", "Secret 'kubeconfig-words' kubeconfig is not valid YAML"}},
      {"empty", {"{}", "Kubeconfig for 'empty' has no contexts"}},
      {"exec",
       {kubeconfig("exec: {command: sh}"),
        "Invalid kubeconfig for cluster 'exec': user \"u\": exec credentials would run a program, "
        "which is not allowed"}},
      {"file",
       {kubeconfig("tokenFile: /etc/shadow"),
        "Invalid kubeconfig for cluster 'file': user \"u\": tokenFile names a file, which is not "
        "allowed; embed its contents"}},
      {"url",
       {kubeconfig("", "server: \"unix:///x\""),
        "Invalid kubeconfig for cluster 'url': cluster \"k\": server is not an http(s) URL"}},
      {"first",
       {kubeconfig().substr(kubeconfig().find('\n') + 1),
        "Invalid kubeconfig for cluster 'first': it has no current-context, so kubectl would not "
        "use it; set current-context: c"}},
      {"twice",
       {base64_encode(kubeconfig()),
        "Invalid kubeconfig for cluster 'twice': it is encoded in base64 twice, which kubectl "
        "cannot read; encode it once"}},
      {"both",
       {kubeconfig("",
                   "server: \"https://10.0.0.1:6443\", insecure-skip-tls-verify: true, "
                   "certificate-authority-data: " +
                       base64_encode("-----BEGIN CERTIFICATE-----\n")),
        "Invalid kubeconfig for cluster 'both': cluster \"k\": certificate-authority-data and "
        "insecure-skip-tls-verify exclude each other; kubectl refuses both"}},
      {"person",
       {kubeconfig("", "server: \"https://ann:secret@10.0.0.1:6443\""),
        "Invalid kubeconfig for cluster 'person': cluster \"k\": server holds user information, "
        "which is not allowed; use a user entry"}},
  };
  for (const auto& [name, row] : rows) {
    secret("kubeconfig-" + name, row.text);
  }
  settle();
  for (const auto& [name, row] : rows) {
    EXPECT_EQ(status(name)["kubeconfigStatus"], Value("Invalid")) << name;
    EXPECT_EQ(condition(name, "KubeconfigValid"), "False/Invalid " + row.want);
    EXPECT_EQ(condition(name, "GPUDiscovered"), "False/DiscoveryFailed " + row.want);
    EXPECT_EQ(hardware(name)["lastError"], Value(row.want));
    EXPECT_EQ(world.event_count("KubeconfigInvalid", name), 1);
  }
  pass(std::chrono::hours(1));
  EXPECT_TRUE(questions.empty());
}

// docs/spec/hearth.md 2.6
TEST_F(Kubeconfigs, WithoutASpecNothingStorms) {
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: bare, namespace: "
      "hearth}}");
  settle();
  EXPECT_EQ(condition("bare", "KubeconfigValid"), "False/Invalid spec.kubeconfigSecret is not set");
  const std::size_t before = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), before);
}

TEST_F(Kubeconfigs, ASecretThatGoesAndComes) {  // A6, S9, S10
  onboard("edge");
  const Object kept = world.must(api::kSecret, {kSecrets, "kubeconfig-edge"});
  world.remove(api::kSecret, {kSecrets, "kubeconfig-edge"});
  settle();
  EXPECT_EQ(condition("edge", "KubeconfigValid"),
            "False/Missing Kubeconfig secret 'kubeconfig-edge' not found in psap-secrets");
  EXPECT_EQ(condition("edge", "GPUDiscovered"), "True/Discovered 16 GPUs on 2 nodes");
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(world.must(api::kueue::kResourceFlavor, {"", "edge"}).label("fournos.dev/healthy"),
            "false");
  target("edge", 1, 8);
  secret("kubeconfig-edge", kubeconfig());
  settle();
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
  EXPECT_EQ(status("edge")["gpuSummary"], Value("8x A100"));  // asked at once
  EXPECT_EQ(world.event_count("GPUsChanged", "edge"), 1);
}

TEST_F(Kubeconfigs, ARelabelledSecretStaysOfUse) {  // S8
  onboard("edge");
  for (const char* label : {"false", "true"}) {
    world.update(api::kSecret, {kSecrets, "kubeconfig-edge"}, [&](Value& object) {
      object.set_path({"metadata", "labels", "fournos.dev/cluster-kubeconfig"}, label);
    });
    settle();
    EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid")) << label;
    EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16") << label;
  }
}

TEST_F(Kubeconfigs, ARenamedSecretIsAnotherCluster) {  // S8, S9
  onboard("edge");
  target("far", 2, 8);
  world.remove(api::kSecret, {kSecrets, "kubeconfig-edge"});
  secret("kubeconfig-far", kubeconfig());
  settle();
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Missing"));
  EXPECT_EQ(status("far")["kubeconfigStatus"], Value("Valid"));
  edit("edge", [](Value& object) {
    object.set_path({"spec", "kubeconfigSecret"}, "kubeconfig-far");
  });
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
}

// docs/spec/hearth.md 6.1
TEST_F(Kubeconfigs, IgnoreHubThatWithholdsSecret) {
  onboard("edge");
  targets.insert_or_assign(
      "edge", Result<Value>(Error{
                  .code = 503, .reason = "SecretUnreadable", .message = "the API server is away"}));
  edit("edge", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/rediscover"}, "now");
  });
  pass(std::chrono::minutes(10));
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
  EXPECT_EQ(hardware("edge")["consecutiveFailures"].as_int(), 0);
  EXPECT_EQ(condition("edge", "GPUDiscovered"), "True/Discovered 16 GPUs on 2 nodes");
  EXPECT_GE(world.event_count("KubeconfigUnreadable", "edge"), 1);
  EXPECT_GE(asked["kubeconfig-edge"], 10);  // at each context
  target("edge", 1, 8);
  pass(std::chrono::minutes(1));
  EXPECT_EQ(status("edge")["gpuSummary"], Value("8x A100"));
}

TEST_F(Kubeconfigs, OnlyExistenceWhenAskedFor) {
  configure({{"HEARTH_KUBECONFIG_CHECK", "exists"}});
  secret("kubeconfig-empty", "{}");
  settle();
  EXPECT_EQ(status("empty")["kubeconfigStatus"], Value("Valid"));
  EXPECT_EQ(condition("empty", "GPUDiscovered"),
            "False/DiscoveryFailed Kubeconfig for 'empty' has no contexts");
  EXPECT_EQ(hardware("empty")["consecutiveFailures"].as_int(), 1);
  pass(std::chrono::minutes(3));
  EXPECT_EQ(status("empty")["kubeconfigStatus"], Value("Unreachable"));
}

TEST_F(Kubeconfigs, InsecureIsSaidOnceASecret) {
  target("edge", 1, 1);
  secret("kubeconfig-edge", kubeconfig("token: x",
                                       "server: \"https://x\", "
                                       "insecure-skip-tls-verify: true"));
  settle();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.event_count("InsecureTLS", "edge"), 1);
}

TEST_F(Probes, UnreachableSticksUntilTheClusterAnswers) {  // A7, A8
  onboard("edge");
  fail("edge", "connection refused");
  pass(std::chrono::minutes(6));
  EXPECT_EQ(hardware("edge")["lastError"],
            Value("Failed to connect to cluster 'edge': connection refused"));
  EXPECT_EQ(condition("edge", "GPUDiscovered"),
            "False/DiscoveryFailed Failed to connect to cluster 'edge': connection refused");
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
  pass(std::chrono::minutes(3));
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Unreachable"));
  EXPECT_EQ(hardware("edge")["consecutiveFailures"].as_int(), 5);
  EXPECT_EQ(hardware("edge")["totalGPUs"].as_int(), 16);
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  pass(std::chrono::minutes(4));
  EXPECT_EQ(hardware("edge")["consecutiveFailures"].as_int(), 5);  // twice the interval
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Unreachable"));
  target("edge", 2, 8);
  pass(std::chrono::minutes(8));
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
  EXPECT_EQ(hardware("edge")["consecutiveFailures"].as_int(), 0);
  EXPECT_FALSE(hardware("edge").contains("lastError"));
  EXPECT_EQ(world.event_count("ClusterUnreachable", "edge"), 1);
  EXPECT_EQ(world.event_count("ClusterReachable", "edge"), 1);
}

TEST_F(Probes, ADeadClusterIsUnreachableWithinThreeMinutes) {
  secret("kubeconfig-dead", kubeconfig());
  settle();
  pass(std::chrono::minutes(3));
  EXPECT_EQ(status("dead")["kubeconfigStatus"], Value("Unreachable"));
  // Then 2, 4, 6, 6 times the interval.
  const int before = asked["kubeconfig-dead"];
  pass(std::chrono::minutes(5 * (2 + 4 + 6 + 6) + 6));
  EXPECT_EQ(asked["kubeconfig-dead"], before + 4);
}

TEST_F(Probes, RediscoverAsksAtOnce) {
  onboard("edge");
  target("edge", 4, 8);
  edit("edge", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/rediscover"}, "now");
  });
  EXPECT_EQ(status("edge")["gpuSummary"], Value("32x A100"));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=32");
}

TEST_F(Probes, IntervalsAndTheirJitter) {
  target("edge", 1, 1);
  secret("kubeconfig-edge", kubeconfig());
  settle();
  edit("edge", [](Value& object) { object.set_path({"spec", "gpuDiscoveryInterval"}, "10m"); });
  const int before = asked["kubeconfig-edge"];
  pass(std::chrono::minutes(100));
  EXPECT_GE(asked["kubeconfig-edge"], before + 9);
  EXPECT_LE(asked["kubeconfig-edge"], before + 10);
}

TEST_F(Probes, NoGpusAnyMore) {  // A10
  onboard("edge");
  target("edge", 2, 0);
  pass(std::chrono::minutes(6));
  EXPECT_EQ(status("edge")["gpuSummary"], Value(""));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=0");
  EXPECT_EQ(condition("edge", "GPUDiscovered"), "True/Discovered 0 GPUs on 0 nodes");
}

// docs/spec/hearth.md 2.6, 7.4
TEST_F(Probes, HandWrittenHardware) {
  secret("kubeconfig-edge", kubeconfig());
  settle();
  edit("edge", [](Value& object) {
    object.set_path({"spec", "hardware", "gpus"},
                    *yaml::parse("[{shortName: a100, count: 4}, {shortName: b, count: -2}, {model: "
                                 "x, count: 1}]"));
  });
  EXPECT_EQ(status("edge")["gpuSummary"], Value("4x A100"));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=4 gpu-b=0");
  EXPECT_EQ(world.event_count("HardwareIgnored", "edge"), 1);
}

// docs/spec/hearth.md 7.4
TEST_F(Probes, IgnoreChangedMetadataOfSecret) {
  onboard("edge");
  edit("edge", [](Value& object) {
    object.set_path({"spec", "hardware", "gpus"}, *yaml::parse("[{shortName: a100, count: 4}]"));
  });
  const int before = asked["kubeconfig-edge"];
  world.update(api::kSecret, {kSecrets, "kubeconfig-edge"}, [](Value& object) {
    object.set_path({"metadata", "labels", "team"}, "perf");
    object.set_path({"metadata", "annotations", "note"}, "rotated by hand");
    object.set_path({"data", "unrelated"}, "eA==");
  });
  settle();
  world.restart();
  settle();
  EXPECT_EQ(asked["kubeconfig-edge"], before);
  EXPECT_EQ(status("edge")["gpuSummary"], Value("4x A100"));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=4");
  world.update(api::kSecret, {kSecrets, "kubeconfig-edge"}, [](Value& object) {
    object.set_path({"data", "kubeconfig"}, base64_encode(kubeconfig("token: another")));
  });
  settle();
  EXPECT_EQ(asked["kubeconfig-edge"], before + 1);
  EXPECT_EQ(status("edge")["gpuSummary"], Value("16x A100"));
}

TEST_F(Probes, ReportMissingLabels) {
  target("edge", 3, 8, "");
  secret("kubeconfig-edge", kubeconfig());
  settle();
  EXPECT_EQ(status("edge")["gpuSummary"], Value("24x NVIDIA"));
  EXPECT_EQ(condition("edge", "GPUDiscovered"),
            "True/Discovered 24 GPUs on 3 nodes; model label missing on 3 nodes");
}

}  // namespace
}  // namespace athanor::hearth::discovery_test
