// SPDX-License-Identifier: Apache-2.0
// Probes, hooks, security contexts, resources and contents of volumes, as a runtime gets them.
#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "embedded/nodes/nodes.hpp"
#include "embedded/nodes/pod_runtime.hpp"
#include "embedded/nodes/sandbox_security.hpp"
#include "embedded/nodes/sandbox_spec.hpp"
#include "embedded/nodes/sandbox_volumes.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::sandbox_life_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class SandboxLife : public testing::Test {
 protected:
  SandboxLife() {
    world.put(
        from_yaml("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: "
                  "{athanor.dev/emulated: 'true'}}, status: {allocatable: {cpu: '8', memory: "
                  "16Gi}}}"));
  }
  static Object pod(const std::string& spec, const std::string& status = "{podIP: 127.20.1.1}") {
    return Object(from_yaml(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: u}, status: " +
        status + ", spec: {nodeName: n1, " + spec + "}}"));
  }
  SandboxSpec make(const std::string& spec) {
    return make_sandbox_spec(View(world, reads), pod(spec));
  }
  // A member of the first container as JSON.
  std::string member(const std::string& container, const char* name) {
    return json::print(make("containers: [{name: c, command: [x], " + container + "}]")
                           .value["containers"][0][name]);
  }

  test::FakeWorld world{};
  Reads reads{};
};

TEST_F(SandboxLife, ProbesHaveTheirActions) {
  EXPECT_EQ(
      member("env: [{name: A, value: '1'}], livenessProbe: {exec: {command: [a, $(A)]}, "
             "periodSeconds: 3, terminationGracePeriodSeconds: 7}",
             "probes"),
      R"({"liveness":{"type":"exec","command":["a","1"],"periodSeconds":3,"graceSeconds":7}})");
  EXPECT_EQ(
      member("ports: [{name: web, containerPort: 81}], readinessProbe: {httpGet: {port: web, path: "
             "x, httpHeaders: [{name: A, value: b}]}}",
             "probes"),
      R"({"readiness":{"type":"http","host":"127.20.1.1","port":81,"scheme":"HTTP","path":"/x","headers":[["A","b"]]}})");
  EXPECT_EQ(member("startupProbe: {tcpSocket: {port: '8080', host: h}}", "probes"),
            R"({"startup":{"type":"tcp","host":"h","port":8080}})");
  EXPECT_EQ(
      member("startupProbe: {grpc: {port: 9, service: s}, timeoutSeconds: 2}", "probes"),
      R"({"startup":{"type":"grpc","host":"127.20.1.1","port":9,"service":"s","timeoutSeconds":2}})");
  EXPECT_EQ(
      member("startupProbe: {tcpSocket: {port: unknown}}", "probes"),
      R"({"startup":{"type":"error","message":"strconv.Atoi: parsing \"unknown\": invalid syntax"}})");
  EXPECT_EQ(member("stdin: false", "probes"), "null");
}

TEST_F(SandboxLife, HooksHaveTheirActions) {
  const std::string both =
      "lifecycle: {postStart: {exec: {command: [a]}}, preStop: {sleep: {seconds: 4}}}";
  EXPECT_EQ(member(both, "postStart"), R"({"type":"exec","command":["a"]})");
  EXPECT_EQ(member(both, "preStop"), R"({"type":"sleep","seconds":4})");
}

TEST_F(SandboxLife, InitContainersThatAlwaysRestartAreNative) {
  const Value init =
      make(
          "initContainers: [{name: i, command: [x]}, {name: s, command: [x], restartPolicy: "
          "Always}], containers: [{name: c, command: [x], restartPolicy: Never}]")
          .value["init"];
  EXPECT_TRUE(init[0]["native"].is_null());
  EXPECT_EQ(init[1]["native"], Value(true));
}

TEST_F(SandboxLife, LimitsThatAreNotSetAreTheNodes) {
  EXPECT_EQ(
      member("resources: {requests: {cpu: 1500m}}, env: [{name: A, valueFrom: {resourceFieldRef: "
             "{resource: limits.cpu}}}, {name: B, valueFrom: {resourceFieldRef: {resource: "
             "limits.memory, divisor: 1Mi}}}, {name: C, valueFrom: {resourceFieldRef: {resource: "
             "requests.cpu}}}, {name: D, valueFrom: {resourceFieldRef: {resource: "
             "requests.memory}}}]",
             "env"),
      R"([["A","8"],["B","16384"],["C","2"],["D","0"]])");
}

TEST_F(SandboxLife, LimitsThatAreNotSetAreThePods) {
  const Value env =
      make(
          "resources: {limits: {cpu: '2'}}, containers: [{name: c, command: [x], env: [{name: A, "
          "valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, {name: B, valueFrom: "
          "{resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]}]")
          .value["containers"][0]["env"];
  EXPECT_EQ(json::print(env), R"([["A","2"],["B","16384"]])");
}

TEST_F(SandboxLife, LimitsOfPodsStandBesideThoseOfContainers) {
  const Value spec =
      make(
          "resources: {limits: {memory: 2Ki, cpu: 500m}}, initContainers: [{name: i, command: "
          "[x], resources: {limits: {memory: 1k}}}], containers: [{name: c, command: [x]}]")
          .value;
  EXPECT_EQ(json::print(spec["limits"]), R"({"i":{"memory":1000},"*":{"memory":2048,"cpu":500}})");
}

TEST_F(SandboxLife, FilesOfResourcesHaveTheirContainers) {
  const Value volume =
      make(
          "containers: [{name: c, command: [x], resources: {limits: {cpu: '3'}}}, {name: d, "
          "command: [x]}], volumes: [{name: v, downwardAPI: {items: [{path: c, resourceFieldRef: "
          "{containerName: c, resource: limits.cpu}}, {path: d, resourceFieldRef: {containerName: "
          "d, resource: limits.cpu}}]}}]")
          .value["volumes"][0];
  EXPECT_EQ(base64_decode(volume["files"][0]["data"].as_string()).value_or(""), "3");
  EXPECT_EQ(base64_decode(volume["files"][1]["data"].as_string()).value_or(""), "8");
}

TEST_F(SandboxLife, VolumesInMemoryHaveALimit) {
  const Value volumes =
      make(
          "containers: [{name: c, command: [x]}], volumes: [{name: a, emptyDir: {}}, {name: b, "
          "emptyDir: {medium: Memory, sizeLimit: 3Mi}}, {name: c, emptyDir: {medium: Memory}}]")
          .value["volumes"];
  EXPECT_TRUE(volumes[0]["memory"].is_null());
  EXPECT_EQ(volumes[1]["sizeBytes"], Value(3 << 20));
  EXPECT_EQ(volumes[2]["sizeBytes"], Value(0));
}

TEST_F(SandboxLife, SecurityContextsAreMerged) {
  const Object asks =
      pod("securityContext: {runAsUser: 5, runAsGroup: 6, supplementalGroups: [7], fsGroup: 8}, "
          "containers: [{name: c, securityContext: {runAsUser: 9, capabilities: {drop: [ALL], add: "
          "[NET_RAW, SYS_ADMIN]}}}]");
  const Value& container = asks.spec()["containers"][0];
  EXPECT_EQ(json::print(sandbox_security(asks, container, {}, {}).value),
            R"({"user":9,"group":6,"groups":[7,8],"add":["NET_RAW","SYS_ADMIN"],"drop":["ALL"]})");
  EXPECT_TRUE(unmet_security(asks, {}).empty()) << "nothing runs";
  EXPECT_EQ(unmet_security(asks, {.id = 0}),
            (std::vector<std::string>{
                "capabilities that reach this machine are not given to containers: SYS_ADMIN"}));
  EXPECT_EQ(
      unmet_security(asks, {.id = 1000})[0],
      "supplementalGroups and fsGroup are not applied: the lab runs as user 1000, of which "
      "one user and one group id can be mapped (/etc/subuid and newuidmap would give it more)");
}

TEST_F(SandboxLife, SaysWhereRootIsTheOnlyUser) {
  const Object asks =
      pod("containers: [{name: a, securityContext: {runAsUser: 0}}, {name: b, securityContext: "
          "{runAsUser: 5}}]");
  EXPECT_TRUE(unmet_security(asks, {.id = 0}).empty());
  EXPECT_TRUE(unmet_security(asks, {.id = 1000, .several_groups = true}).empty());
  EXPECT_EQ(unmet_security(asks, {.id = 1000}),
            (std::vector<std::string>{
                "runAsUser 0 of a is the only user: the lab runs as user 1000, of which one user "
                "and one group id can be mapped, so chown and su to others fail (/etc/subuid and "
                "newuidmap would give it more)"}));
}

TEST_F(SandboxLife, RefusesRunAsNonRootLikeKubelet) {
  struct Case {
    const char* context;
    std::int64_t user;
    const char* refusal;
  };
  for (const Case& c :
       {Case{"{runAsNonRoot: true}", 0,
             "container has runAsNonRoot and image will run as root (pod: \"p_ns(u)\", container: "
             "c)"},
        Case{"{runAsNonRoot: true, runAsUser: 0}", 1000,
             "container's runAsUser breaks non-root policy (pod: \"p_ns(u)\", container: c)"},
        Case{"{runAsNonRoot: true, runAsUser: 3}", 0, ""}, Case{"{runAsNonRoot: true}", 1000, ""},
        Case{"{runAsNonRoot: true}", -1, ""}, Case{"{runAsNonRoot: false}", 0, ""}}) {
    for (const bool of_pod : {true, false}) {
      const std::string context = std::string("securityContext: ") + c.context;
      const Object asks =
          pod(of_pod ? context + ", containers: [{name: c, image: busybox:1}]"
                     : "containers: [{name: c, image: busybox:1, " + context + "}]");
      EXPECT_EQ(sandbox_security(asks, asks.spec()["containers"][0], {}, {.id = c.user}).refusal,
                c.refusal)
          << c.context << c.user;
    }
  }
}

TEST_F(SandboxLife, TakesImageUserForRunAsNonRoot) {
  for (const auto& [image, user] : {std::pair("docker.io/curlimages/curl:8", 100),
                                    std::pair("quay.io/example/scheduler:v1", 65532)}) {
    const Object asks =
        pod(std::string("securityContext: {runAsNonRoot: true}, containers: [{name: c, image: '") +
            image + "'}]");
    const SandboxSecurity security =
        sandbox_security(asks, asks.spec()["containers"][0], {}, {.id = 0});
    EXPECT_EQ(security.refusal, "") << image;
    EXPECT_EQ(security.value["user"].as_int(), user) << image;
  }
}

TEST_F(SandboxLife, NamesPodsBySpec) {
  struct Case {
    const char* spec;
    const char* hostname;
    const char* line;
  };
  for (const Case& c :
       {Case{"hostname: h, ", "h", "\n127.20.1.1\th\n"},
        Case{"subdomain: s, ", "p", "\n127.20.1.1\tp.s.ns.svc.cluster.local\tp\n"},
        Case{"hostname: h, subdomain: s, setHostnameAsFQDN: true, ", "h.s.ns.svc.cluster.local",
             "\n127.20.1.1\th.s.ns.svc.cluster.local\th\n"},
        Case{"setHostnameAsFQDN: true, ", "p", "\n127.20.1.1\tp\n"},
        Case{"hostAliases: [{ip: 1.2.3.4, hostnames: [a, b]}], ", "p",
             "\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n"}}) {
    const Value made = make(std::string(c.spec) + "containers: [{name: c, command: [x]}]").value;
    EXPECT_EQ(made["hostname"].str(), c.hostname);
    EXPECT_NE(made["hosts"].str().find(c.line), std::string::npos) << made["hosts"].str();
  }
  EXPECT_EQ(make("hostNetwork: true, containers: [{name: c, command: [x]}]").value["hosts"],
            Value(""));
}

TEST_F(SandboxLife, RefusesUnsupportedFieldsByName) {
  EXPECT_EQ(make("containers: [{name: c, command: [x], env: [{name: A, valueFrom: {fileKeyRef: "
                 "{key: k}}}]}]")
                .waiting_message,
            "variable A: fileKeyRef is not supported on emulated nodes");
  EXPECT_EQ(make("containers: [{name: c, command: [x]}], volumes: [{name: v, projected: {sources: "
                 "[{podCertificate: {}}]}}]")
                .waiting_message,
            "MountVolume.SetUp failed for volume \"v\" : projections of podCertificate are not "
            "supported on emulated nodes");
  EXPECT_EQ(make("containers: [{name: c, command: [x]}], volumes: [{name: v, image: {reference: "
                 "r}}]")
                .waiting_message,
            "MountVolume.SetUp failed for volume \"v\" : image volumes are not supported on "
            "emulated nodes");
}

class VolumeUpdates : public SandboxLife {
 protected:
  VolumeUpdates() {
    set("1");
    world.put(pod(kSpec).body());
  }
  void set(const std::string& data) {
    world.put(
        from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: ns}, "
                  "data: {k: '" +
                  data + "'}}"));
  }
  // The acts of a kubelet for a pod that runs with volumes of this state: "pod.update u/volumes/3".
  std::string acts(std::int64_t version, const std::string& digest) {
    world.observe_as(
        pod_query("ns", "p"),
        Value::object({{"uid", "u"},
                       {"containers", Value::list()},
                       {"init", Value::list()},
                       {"volumes", Value::object({{"version", version}, {"digest", digest}})}}));
    const Plan plan = run_pod(View(world, reads), {"ns", "p"}, Instant{}, {});
    std::string text;
    for (const Step& step : plan.steps()) {
      if (const auto* act = std::get_if<Act>(&step)) {
        text += act->verb + " " + act->id;
        given = act->args;
      }
    }
    return text;
  }

  static constexpr const char* kSpec =
      "containers: [{name: c, command: [x]}], volumes: [{name: v, configMap: {name: m}}, {name: o, "
      "secret: {secretName: s, optional: true}}]";
  Value given{};
};

TEST_F(VolumeUpdates, FollowChangesOfTheirSources) {
  const std::string first = make(kSpec).value["volumesDigest"].str();
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(acts(0, first), "");
  set("2");
  EXPECT_EQ(acts(0, first), "pod.update u/volumes/1");
  const std::string second = given["digest"].str();
  EXPECT_EQ(acts(1, second), "");
  set("1");
  EXPECT_EQ(acts(1, second), "pod.update u/volumes/2") << "as the first time, with another id";
  EXPECT_EQ(given["digest"].str(), first);
}

TEST_F(VolumeUpdates, ShowOptionalSourcesThatAppear) {
  const std::string first = make(kSpec).value["volumesDigest"].str();
  world.put(
      from_yaml("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: "
                "{a: eA==}}"));
  EXPECT_EQ(acts(0, first), "pod.update u/volumes/1");
  EXPECT_EQ(given["volumes"][1]["files"][0]["path"], Value("a"));
}

TEST_F(VolumeUpdates, KeepContentOfRemovedSources) {
  const std::string first = make(kSpec).value["volumesDigest"].str();
  world.remove(api::kConfigMap, {"ns", "m"});
  EXPECT_EQ(acts(0, first), "");
}

}  // namespace
}  // namespace athanor::nodes::sandbox_life_test
