// SPDX-License-Identifier: Apache-2.0
// What a pod's containers get: commands, environment, volumes, resolved through the view.
#include "embedded/nodes/sandbox_spec.hpp"

#include <gtest/gtest.h>

#include <string>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::sandbox_spec_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class SandboxSpecTest : public testing::Test {
 protected:
  SandboxSpecTest() {
    world.put(
        from_yaml("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: "
                  "{user: " +
                  base64_encode("ann") + ", pass: " + base64_encode("p w") + "}}"));
    world.put(
        from_yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: ns}, data: "
                  "{a: '1', b: '2'}, binaryData: {raw: AAE=}}"));
  }
  static Object pod(const std::string& spec, const std::string& metadata = "") {
    return Object(
        from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: u" +
                  metadata + "}, spec: {nodeName: n1, serviceAccountName: sa, " + spec + "}}"));
  }
  SandboxSpec make(const Object& object) { return make_sandbox_spec(View(world, reads), object); }
  // The environment of the first container: "A=1;B=2".
  std::string env(const std::string& container) {
    const SandboxSpec spec = make(pod("containers: [{name: c, " + container + "}]",
                                      ", labels: {app: x}, annotations: {note: y}"));
    std::string text = spec.waiting_reason;
    for (const Value& pair : spec.value["containers"][0]["env"].items()) {
      text += pair[0].str() + "=" + pair[1].str() + ";";
    }
    return text;
  }
  // The files of the first volume: "path:mode=content;".
  std::string files(const std::string& volume) {
    const SandboxSpec spec =
        make(pod("containers: [{name: c}], volumes: [{name: v, " + volume + "}]",
                 ", labels: {app: x, tier: t}"));
    std::string text = spec.waiting_message;
    for (const Value& file : spec.value["volumes"][0]["files"].items()) {
      text += file["path"].str() + ":" + std::to_string(file["mode"].as_int()) + "=" +
              base64_decode(file["data"].as_string()).value_or("?") + ";";
    }
    return text;
  }

  test::FakeWorld world{};
  Reads reads{};
};

TEST_F(SandboxSpecTest, Environment) {
  struct Case {
    const char* container;
    const char* env;
  };
  const Case cases[] = {
      {"env: [{name: A, value: '1'}, {name: B, value: $(A)2}]", "A=1;B=12;"},
      {"env: [{name: A, value: $(B)}, {name: B, value: '2'}]", "A=$(B);B=2;"},
      {"env: [{name: A, value: '1'}, {name: B, value: $$(A)}, {name: C, value: $A}]",
       "A=1;B=$(A);C=$A;"},
      {"env: [{name: A, value: $(}, {name: B}]", "A=$(;B=;"},
      {"env: [{name: A, value: '1'}, {name: A, value: '2'}]", "A=2;"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: pass}}}]", "A=p w;"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: b}}}]", "A=2;"},
      {"envFrom: [{configMapRef: {name: m}}], env: [{name: a, value: own}]", "a=own;b=2;"},
      {"envFrom: [{secretRef: {name: s}, prefix: S_}]", "S_user=ann;S_pass=p w;"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: none, optional: true}}}]", ""},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: none, key: k, optional: true}}}]", ""},
      {"envFrom: [{configMapRef: {name: none, optional: true}}]", ""},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: B, valueFrom: "
       "{fieldRef: {fieldPath: spec.nodeName}}}, {name: C, valueFrom: {fieldRef: {fieldPath: "
       "\"metadata.labels['app']\"}}}, {name: D, valueFrom: {fieldRef: {fieldPath: "
       "status.hostIP}}}]",
       "A=p;B=n1;C=x;D=127.0.0.1;"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: none}}}]",
       "CreateContainerConfigError"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: k}}}]",
       "CreateContainerConfigError"},
      {"envFrom: [{secretRef: {name: none}}]", "CreateContainerConfigError"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(env(c.container), c.env) << c.container;
  }
}

TEST_F(SandboxSpecTest, ResourcesOfAContainerAsVariables) {
  EXPECT_EQ(
      env("resources: {limits: {cpu: '2', memory: 1Gi}, requests: {nvidia.com/gpu: '3'}}, env: "
          "[{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, {name: B, "
          "valueFrom: {resourceFieldRef: {resource: limits.memory}}}, {name: C, valueFrom: "
          "{resourceFieldRef: {resource: requests.nvidia.com/gpu}}}, {name: D, valueFrom: "
          "{resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}]"),
      "A=2;B=1073741824;C=3;D=1024;");
}

TEST_F(SandboxSpecTest, MissingKeysAreNamed) {
  EXPECT_EQ(
      make(pod("containers: [{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: "
               "none}}}]}]"))
          .waiting_message,
      "couldn't find key none in Secret ns/s");
  EXPECT_EQ(
      make(pod("containers: [{name: c, envFrom: [{configMapRef: {name: none}}]}]")).waiting_message,
      "configmap \"none\" not found");
}

TEST_F(SandboxSpecTest, Volumes) {
  struct Case {
    const char* volume;
    const char* files;
  };
  const Case cases[] = {
      {"emptyDir: {}", ""},
      {"secret: {secretName: s}", "user:420=ann;pass:420=p w;"},
      {"secret: {secretName: s, defaultMode: 256, items: [{key: user, path: d/u}, {key: pass, "
       "path: p, "
       "mode: 384}]}",
       "d/u:256=ann;p:384=p w;"},
      {"configMap: {name: m, items: [{key: a, path: x}]}", "x:420=1;"},
      {"downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}",
       "labels:420=app=\"x\"\ntier=\"t\";"},
      {"projected: {defaultMode: 292, sources: [{configMap: {name: m, items: [{key: b, path: "
       "b}]}}, "
       "{secret: {name: s, items: [{key: user, path: u}]}}, {downwardAPI: {items: [{path: nm, "
       "fieldRef: {fieldPath: metadata.name}}]}}]}",
       "b:292=2;u:292=ann;nm:292=p;"},
      {"secret: {secretName: none, optional: true}", ""},
      {"secret: {secretName: none}",
       "MountVolume.SetUp failed for volume \"v\" : secret \"none\" not found"},
      {"configMap: {name: none}",
       "MountVolume.SetUp failed for volume \"v\" : configmap \"none\" not found"},
      {"secret: {secretName: s, items: [{key: none, path: x}]}",
       "MountVolume.SetUp failed for volume \"v\" : references non-existent secret key: none"},
      {"hostPath: {path: /etc}",
       "MountVolume.SetUp failed for volume \"v\" : hostPath volumes are not supported on emulated "
       "nodes"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(files(c.volume), c.files) << c.volume;
  }
  EXPECT_EQ(files("configMap: {name: m}"), std::string("a:420=1;b:420=2;raw:420=\0\1;", 27));
}

TEST_F(SandboxSpecTest, TokensOfServiceAccounts) {
  const SandboxSpec spec =
      make(pod("containers: [{name: c}], volumes: [{name: v, projected: {sources: "
               "[{serviceAccountToken: {path: token, audience: kueue, expirationSeconds: 600}}, "
               "{serviceAccountToken: {path: t2}}]}}]"));
  const Value& volume = spec.value["volumes"][0];
  EXPECT_EQ(json::print(volume["tokens"]), R"([{"path":"token","audience":"kueue","seconds":600},)"
                                           R"({"path":"t2","audience":null,"seconds":3607}])");
  EXPECT_EQ(volume["serviceAccount"].str(), "sa");
}

TEST_F(SandboxSpecTest, CommandsAreExpandedAndImagesHaveEntrypoints) {
  struct Case {
    const char* container;
    const char* command;
  };
  const Case cases[] = {
      {"command: [run, $(A)], args: ['-x', $(NO)], env: [{name: A, value: '1'}]",
       R"x(["run","1","-x","$(NO)"])x"},
      {"image: busybox, args: [-c, ls]", R"(["/bin/sh","-c","ls"])"},
      {"image: registry.k8s.io/pause:3.10", R"(["/bin/sleep","infinity"])"},
  };
  for (const Case& c : cases) {
    const SandboxSpec spec = make(pod(std::string("containers: [{name: c, ") + c.container + "}]"));
    EXPECT_EQ(json::print(spec.value["containers"][0]["command"]), c.command) << c.container;
  }
}

TEST_F(SandboxSpecTest, AnUnknownImageWithoutACommandSaysSo) {
  const std::string unknown =
      "image \"quay.io/team/tool:1\" is not run here, and its entrypoint is not known: give the "
      "container a command, load the image with athanor images, name its entrypoint in the lab "
      "file, or let the pod only take time: annotation athanor.dev/simulate on it, or the lab "
      "started with --pods timed";
  for (const char* container :
       {"image: 'quay.io/team/tool:1'", "image: 'quay.io/team/tool:1', args: [-q]"}) {
    const SandboxSpec spec = make(pod(std::string("containers: [{name: c, ") + container + "}]"));
    EXPECT_EQ(spec.value["containers"][0]["problem"], Value(unknown)) << container;
  }
  world.configure("tekton", from_yaml("{run: {imageEntrypoints: {tool: [tool]}}}"));
  const SandboxSpec known = make(pod("containers: [{name: c, image: 'quay.io/team/tool:1'}]"));
  EXPECT_EQ(json::print(known.value["containers"][0]["command"]), R"(["tool"])");
  EXPECT_TRUE(known.value["containers"][0]["problem"].is_null());
}

TEST_F(SandboxSpecTest, ContainersBesideStepsAreSidecars) {
  const SandboxSpec spec = make(
      pod("containers: [{name: step-a, command: [a]}, {name: sidecar-s, command: [s]}, {name: "
          "injected, command: [i]}]",
          ", annotations: {athanor.dev/steps: '[{\"container\":\"step-a\",\"when\":[{\"input\":"
          "\"x\"}],\"stdout\":\"/f\"},{\"container\":\"sidecar-s\",\"sidecar\":true,"
          "\"restartPolicy\":\"Always\"}]'}"));
  const Value& containers = spec.value["containers"];
  EXPECT_EQ(containers[0]["when"][0]["input"], Value("x"));
  EXPECT_EQ(containers[0]["stdout"], Value("/f"));
  EXPECT_TRUE(containers[0]["sidecar"].is_null());
  EXPECT_EQ(containers[1]["restartPolicy"], Value("Always"));
  EXPECT_TRUE(containers[1]["sidecar"].as_bool());
  EXPECT_TRUE(containers[2]["sidecar"].as_bool());
}

TEST_F(SandboxSpecTest, StepsTakeTheirScriptsFromTheAnnotation) {
  const SandboxSpec spec = make(
      pod("containers: [{name: step-a, command: [/tekton/scripts/x], args: [one]}]",
          ", labels: {tekton.dev/pipelineTask: load}, annotations: {athanor.dev/steps: "
          "'[{\"container\":\"step-a\",\"script\":\"echo\",\"results\":[\"r\"],\"stepResults\":["
          "\"q\"],\"onError\":\"continue\",\"timeout\":\"1m30s\"}]', athanor.dev/simulate: "
          "'{\"load/a\":{\"seconds\":2}}'}"));
  EXPECT_TRUE(spec.value["sequential"].as_bool());
  EXPECT_EQ(spec.value["task"].str(), "load");
  EXPECT_EQ(spec.value["simulate"]["load/a"]["seconds"].as_int(), 2);
  const Value& step = spec.value["containers"][0];
  EXPECT_EQ(json::print(step["command"]), R"(["one"])");
  EXPECT_EQ(step["script"].str(), "echo");
  EXPECT_EQ(step["onError"].str(), "continue");
  EXPECT_EQ(step["timeoutMs"].as_int(), 90'000);
  EXPECT_EQ(json::print(step["stepResults"]), R"(["q"])");
}

TEST_F(SandboxSpecTest, MountsKnowTheirSubPaths) {
  const SandboxSpec spec = make(
      pod("containers: [{name: c, env: [{name: A, value: x}], volumeMounts: [{name: v, mountPath: "
          "/a, subPathExpr: d/$(A)}, {name: v, mountPath: /b, readOnly: true, subPath: s}]}], "
          "volumes: [{name: v, emptyDir: {}}]"));
  EXPECT_EQ(json::print(spec.value["containers"][0]["mounts"]),
            R"([{"volume":"v","path":"/a","subPath":"d/x","readOnly":false},)"
            R"({"volume":"v","path":"/b","subPath":"s","readOnly":true}])");
}

TEST_F(SandboxSpecTest, SettingsOfTheNodeComeFirst) {
  world.configure("kubelet",
                  from_yaml("{environment: {KUBERNETES_SERVICE_HOST: 10.0.0.1, X: '1'}}"));
  EXPECT_EQ(env("env: [{name: X, value: '2'}]"), "KUBERNETES_SERVICE_HOST=10.0.0.1;X=2;");
}

}  // namespace
}  // namespace athanor::nodes::sandbox_spec_test
