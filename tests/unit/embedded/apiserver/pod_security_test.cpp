// SPDX-License-Identifier: Apache-2.0
// Pod Security: the standards rule by rule, and whom they concern; every text is the real server's
// (docs/spec/apiserver.md 15.1).
#include "embedded/apiserver/admission/pod_security_checks.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::pod_security_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kPods = "/api/v1/namespaces/sec/pods";
constexpr int kNewest = 35;
constexpr std::string_view kPlainFaults =
    "allowPrivilegeEscalation != false (container \"c\" must set "
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"c\" "
    "must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container "
    "\"c\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" "
    "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")";
// Contexts of a pod and of a container that the level restricted takes.
constexpr std::string_view kGoodPod =
    R"("runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"})";
constexpr std::string_view kGoodContainer =
    R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]})";

std::string faults(std::string_view spec, SecurityLevel level, int minor = kNewest,
                   std::string_view metadata = "{}") {
  return findings_text(security_findings(parse(metadata), parse(spec), level, minor));
}

TEST(PodSecurityStandards, Baseline) {
  const struct {
    std::string_view spec, text;
  } cases[] = {
      {R"({"containers":[{"name":"c"}]})", ""},
      {R"({"hostNetwork":true,"hostPID":true,"hostIPC":true})",
       "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"},
      {R"({"hostNetwork":true,"containers":[{"name":"c","ports":[{"hostPort":80}]}]})",
       "host namespaces (hostNetwork=true), hostPort (container \"c\" uses hostPort 80)"},
      {R"({"containers":[{"name":"c","ports":[{"hostPort":80},{"hostPort":8081}]},
                         {"name":"d","ports":[{"hostPort":82}]}]})",
       "hostPort (containers \"c\", \"d\" use hostPorts 80, 8081, 82)"},
      {R"({"containers":[{"name":"c","securityContext":{"privileged":true}}],
           "initContainers":[{"name":"i","securityContext":{"privileged":true}}]})",
       "privileged (containers \"i\", \"c\" must not set securityContext.privileged=true)"},
      {R"({"containers":[{"name":"c","securityContext":{"capabilities":{
           "add":["SYS_ADMIN","NET_BIND_SERVICE","NET_RAW"]}}}]})",
       "non-default capabilities (container \"c\" must not include \"NET_RAW\", \"SYS_ADMIN\" in "
       "securityContext.capabilities.add)"},
      {R"({"volumes":[{"name":"a","hostPath":{"path":"/"}},{"name":"b","hostPath":{}}]})",
       "hostPath volumes (volumes \"a\", \"b\")"},
      {R"({"securityContext":{"appArmorProfile":{"type":"Unconfined"}},
           "containers":[{"name":"c","securityContext":{"appArmorProfile":{
             "type":"Unconfined"}}}]})",
       "forbidden AppArmor profile (pod and container \"c\" must not set AppArmor profile type to "
       "\"Unconfined\")"},
      {R"({"securityContext":{"seLinuxOptions":{"type":"bad","user":"u"}},
           "containers":[{"name":"c","securityContext":{"seLinuxOptions":{
             "type":"bad2","role":"r"}}}]})",
       "seLinuxOptions (pod and container \"c\" set forbidden securityContext.seLinuxOptions: "
       "types \"bad\", \"bad2\"; user may not be set; role may not be set)"},
      {R"({"securityContext":{"seLinuxOptions":{"user":"u"}}})",
       "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: user may not be set)"},
      {R"({"containers":[{"name":"c","securityContext":{"procMount":"Unmasked"}}]})",
       "procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")"},
      {R"({"hostUsers":false,
           "containers":[{"name":"c","securityContext":{"procMount":"Unmasked"}}]})",
       ""},
      {R"({"securityContext":{"seccompProfile":{"type":"Unconfined"}},
           "containers":[{"name":"c","securityContext":{"seccompProfile":{
             "type":"Unconfined"}}}]})",
       "seccompProfile (pod and container \"c\" must not set securityContext.seccompProfile.type "
       "to \"Unconfined\")"},
      {R"({"securityContext":{"sysctls":[{"name":"kernel.msgmax"},
           {"name":"net.ipv4.tcp_syncookies"},{"name":"net.core.somaxconn"}]}})",
       "forbidden sysctls (kernel.msgmax, net.core.somaxconn)"},
      {R"({"hostNetwork":true,"securityContext":{"windowsOptions":{"hostProcess":true}},
           "containers":[{"name":"c","securityContext":{"windowsOptions":{"hostProcess":true}}}]})",
       "host namespaces (hostNetwork=true), hostProcess (pod and container \"c\" must not set "
       "securityContext.windowsOptions.hostProcess=true)"},
      {R"({"containers":[{"name":"c","livenessProbe":{"httpGet":{"host":"1.2.3.4"}},
           "readinessProbe":{"tcpSocket":{"host":"h"}},
           "lifecycle":{"postStart":{"httpGet":{"host":"x"}}}}]})",
       "probe or lifecycle host (container \"c\" uses probe or lifecycle hosts \"1.2.3.4\", \"h\", "
       "\"x\")"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(faults(c.spec, SecurityLevel::Baseline), c.text) << c.spec;
    EXPECT_EQ(faults(c.spec, SecurityLevel::Privileged), "");
  }
}

TEST(PodSecurityStandards, AnnotationsOfAppArmorCountToo) {
  EXPECT_EQ(
      faults(R"({"containers":[{"name":"c","securityContext":{"appArmorProfile":{
                 "type":"Unconfined"}}}]})",
             SecurityLevel::Baseline, kNewest,
             R"({"annotations":{
                 "container.apparmor.security.beta.kubernetes.io/c":"unconfined"}})"),
      "forbidden AppArmor profiles (container \"c\" and annotation must not set AppArmor profile "
      "type to \"Unconfined\", "
      "\"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")");
}

TEST(PodSecurityStandards, Restricted) {
  const auto good = [](std::string_view more_of_pod, std::string_view more_of_context,
                       std::string_view more_of_container) {
    return std::string(R"({)") + std::string(more_of_pod) + R"("securityContext":{)" +
           std::string(kGoodPod) + std::string(more_of_context) +
           R"(},"containers":[{"name":"c","securityContext":{)" + std::string(kGoodContainer) +
           std::string(more_of_container) + "}}]}";
  };
  const struct {
    std::string spec;
    std::string_view text;
  } cases[] = {
      {R"({"containers":[{"name":"c"}]})", kPlainFaults},
      {good("", "", ""), ""},
      {good(R"("volumes":[{"name":"a","nfs":{}},{"name":"b","emptyDir":{}},
              {"name":"e","image":{}},{"name":"f","hostPath":{}}],)",
            "", ""),
       "restricted volume types (volumes \"a\", \"f\" use restricted volume types \"hostPath\", "
       "\"nfs\")"},
      {good(R"("volumes":[{"name":"v","hostPath":{}}],)", "", ""),
       "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")"},
      {good("", "", R"(,"runAsNonRoot":false)"),
       "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false)"},
      {good("", R"(,"runAsUser":0)", R"(,"runAsUser":0)"),
       "runAsUser=0 (pod and container \"c\" must not set runAsUser=0)"},
      {R"({"os":{"name":"windows"},"containers":[{"name":"c"}]})",
       "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)"},
      {R"({"containers":[
             {"name":"c","securityContext":{"capabilities":{"add":["SYS_ADMIN"]},
              "allowPrivilegeEscalation":false,"runAsNonRoot":true,
              "seccompProfile":{"type":"Localhost"}}},
             {"name":"d","securityContext":{"capabilities":{"drop":["ALL"],"add":["CHOWN"]},
              "allowPrivilegeEscalation":false,"runAsNonRoot":true,
              "seccompProfile":{"type":"Localhost"}}}]})",
       "unrestricted capabilities (container \"c\" must set "
       "securityContext.capabilities.drop=[\"ALL\"]; containers \"c\", \"d\" must not include "
       "\"CHOWN\", \"SYS_ADMIN\" in securityContext.capabilities.add)"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(faults(c.spec, SecurityLevel::Restricted), c.text) << c.spec;
  }
}

TEST(PodSecurityStandards, OldVersionsAskForLess) {
  constexpr std::string_view kSpec =
      R"({"securityContext":{"sysctls":[{"name":"net.ipv4.tcp_rmem"}]},
          "containers":[{"name":"c"}]})";
  EXPECT_EQ(faults(kSpec, SecurityLevel::Baseline, 31), "forbidden sysctls (net.ipv4.tcp_rmem)");
  EXPECT_EQ(faults(kSpec, SecurityLevel::Baseline, 32), "");
  constexpr std::string_view kPlain = R"({"containers":[{"name":"c"}]})";
  EXPECT_EQ(faults(kPlain, SecurityLevel::Restricted, 24), kPlainFaults);
  EXPECT_EQ(faults(kPlain, SecurityLevel::Restricted, 20).find("capabilities"), std::string::npos);
  EXPECT_EQ(faults(R"({"containers":[{"name":"c","livenessProbe":{"httpGet":{"host":"h"}}}]})",
                   SecurityLevel::Baseline, 33),
            "");
}

// ---- the admission step

class PodSecurity : public testing::Test {
 protected:
  void make_namespace(std::string_view labels) {
    Value ns = parse(R"({"metadata":{"name":"sec"}})");
    Value prefixed = Value::object();
    const Value given = parse(labels);
    for (const Member& label : given.members()) {
      prefixed.set("pod-security.kubernetes.io/" + std::string(label.key()), label.value);
    }
    ns.member("metadata").set("labels", prefixed);
    const Answer made = server_.post("/api/v1/namespaces", ns);
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Answer make_pod(std::string_view name, std::string_view spec = "{}") {
    Value pod = Value::object({{"metadata", Value::object({{"name", name}})}});
    pod.set("spec", parse(spec));
    if (!pod["spec"].contains("containers")) {
      pod.member("spec").set("containers", parse(R"([{"name":"c","image":"a:1"}])"));
    }
    return server_.post(kPods, pod);
  }

  TestServer server_{};
};

TEST_F(PodSecurity, RefusesPods) {
  make_namespace(R"({"enforce":"restricted"})");
  const Answer refused = make_pod("p");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "pods \"p\" is forbidden: violates PodSecurity "
            "\"restricted:latest\": " +
                std::string(kPlainFaults));
  EXPECT_THAT(refused.warnings(), IsEmpty());
  make_pod("good", R"({"securityContext":{"runAsNonRoot":true,
      "seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"c","image":"a:1",
      "securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]})");
  EXPECT_EQ(server_.get(std::string(kPods) + "/good").status, 200);
}

TEST_F(PodSecurity, NamesTheVersion) {
  make_namespace(R"({"enforce":"baseline","enforce-version":"v1.24"})");
  EXPECT_EQ(make_pod("p", R"({"hostPID":true})").message(),
            "pods \"p\" is forbidden: violates PodSecurity \"baseline:v1.24\": host namespaces "
            "(hostPID=true)");
}

TEST_F(PodSecurity, WarnsOfPodsAndTheirWorkloads) {
  make_namespace(R"({"warn":"baseline"})");
  const Answer made = make_pod("p", R"({"hostPID":true})");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(made.warnings(),
              ElementsAre("299 - \"would violate PodSecurity \\\"baseline:latest\\\": host "
                          "namespaces (hostPID=true)\""));
}

TEST_F(PodSecurity, WarnsOfTemplatesThatWillBeRefused) {
  make_namespace(R"({"enforce":"baseline"})");
  const Answer made = server_.post(
      "/apis/apps/v1/namespaces/sec/deployments",
      parse(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{
                "metadata":{"labels":{"a":"b"}},"spec":{"hostPID":true,"containers":[
                {"name":"c","image":"a:1"}]}}}})"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.warnings(),
              ElementsAre("299 - \"would violate PodSecurity \\\"baseline:latest\\\": host "
                          "namespaces (hostPID=true)\""));
}

TEST_F(PodSecurity, LooksAtUpdatesThatMatter) {
  make_namespace("{}");
  ASSERT_EQ(make_pod("p").status, 201);
  ASSERT_EQ(server_
                .patch("/api/v1/namespaces/sec", "merge",
                       R"({"metadata":{"labels":{
                           "pod-security.kubernetes.io/enforce":"restricted"}}})")
                .status,
            200);
  const std::string path = std::string(kPods) + "/p";
  EXPECT_EQ(server_.patch(path, "merge", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_EQ(
      server_
          .patch(path, "strategic-merge", R"({"spec":{"containers":[{"name":"c","image":"b:2"}]}})")
          .status,
      403);
  EXPECT_EQ(server_
                .patch(path + "/ephemeralcontainers", "strategic-merge",
                       R"({"spec":{"ephemeralContainers":[{"name":"e","image":"b:2"}]}})")
                .status,
            403);
}

TEST_F(PodSecurity, ListsPodsThatNewLevelWouldRefuse) {
  make_namespace("{}");
  ASSERT_EQ(make_pod("a", R"({"hostNetwork":true})").status, 201);
  ASSERT_EQ(make_pod("b").status, 201);
  ASSERT_EQ(make_pod("c").status, 201);
  const auto relabel = [&](std::string_view level) {
    return server_
        .patch("/api/v1/namespaces/sec", "merge",
               R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":")" +
                   std::string(level) + R"("}}})")
        .warnings();
  };
  EXPECT_THAT(
      relabel("restricted"),
      ElementsAre("299 - \"existing pods in namespace \\\"sec\\\" violate the new PodSecurity "
                  "enforce level \\\"restricted:latest\\\"\"",
                  "299 - \"a: host namespaces, allowPrivilegeEscalation != false, unrestricted "
                  "capabilities, runAsNonRoot != true, seccompProfile\"",
                  "299 - \"b (and 1 other pod): allowPrivilegeEscalation != false, unrestricted "
                  "capabilities, runAsNonRoot != true, seccompProfile\""));
  EXPECT_THAT(relabel("baseline"), IsEmpty());  // less strict
  EXPECT_THAT(relabel("privileged"), IsEmpty());
}

TEST_F(PodSecurity, RefusesLabelsThatSayNothing) {
  const auto errors = [&](std::string_view labels) {
    Value ns = parse(R"({"metadata":{"name":"q"}})");
    ns.member("metadata").set("labels", parse(labels));
    const Answer answer = server_.post("/api/v1/namespaces?dryRun=All", ns);
    return answer.status == 422 ? answer.message() : std::to_string(answer.status);
  };
  EXPECT_EQ(errors(R"({"pod-security.kubernetes.io/enforce":"zz"})"),
            "Namespace \"q\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: "
            "Invalid value: \"zz\": must be one of privileged, baseline, restricted");
  EXPECT_EQ(errors(R"({"pod-security.kubernetes.io/warn":"yy",
                       "pod-security.kubernetes.io/audit-version":"1.2"})"),
            "Namespace \"q\" is invalid: "
            "[metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: \"1.2\": "
            "must be \"latest\" or \"v1.x\", metadata.labels[pod-security.kubernetes.io/warn]: "
            "Invalid value: \"yy\": must be one of privileged, baseline, restricted]");
  EXPECT_EQ(errors(R"({"pod-security.kubernetes.io/enforce-version":"v1.99"})"), "201");
}

}  // namespace
}  // namespace athanor::apiserver::pod_security_test
