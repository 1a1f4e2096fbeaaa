// SPDX-License-Identifier: Apache-2.0
// Row by row: what admission adds and refuses (docs/spec/apiserver.md 15.1).
#include "embedded/apiserver/loops/control_loop.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::admission_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/tst/pods";
constexpr const char* kMaps = "/api/v1/namespaces/tst/configmaps";
constexpr const char* kQuotas = "/api/v1/namespaces/tst/resourcequotas";
constexpr const char* kLimits = "/api/v1/namespaces/tst/limitranges";
constexpr const char* kPriorities = "/apis/scheduling.k8s.io/v1/priorityclasses";

Value pod(std::string_view name, std::string_view spec = "{}", std::string_view resources = "{}") {
  Value object = Value::object({{"metadata", Value::object({{"name", Value(name)}})}});
  object.set("spec", parse(spec));
  object.member("spec").set(
      "containers", Value::list({Value::object(
                        {{"name", "c"}, {"image", "a:1"}, {"resources", parse(resources)}})}));
  return object;
}

void expect_refused(const Answer& answer, std::string_view message) {
  EXPECT_EQ(answer.status, 403) << answer.text;
  EXPECT_EQ(answer.message(), message);
}

TEST(NamespaceLifecycle, RefusesMissingAndTerminatingNamespaces) {
  TestServer server;
  const Answer missing = server.post("/api/v1/namespaces/nono/configmaps", config_map("x"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), "namespaces \"nono\" not found");
  ASSERT_EQ(server.remove("/api/v1/namespaces/tst").status, 200);
  const Answer late = server.post(kMaps, config_map("x"));
  expect_refused(late,
                 "configmaps \"x\" is forbidden: unable to create new content in namespace tst "
                 "because it is being terminated");
  EXPECT_EQ(late.value["details"]["causes"][0]["reason"].as_string(), "NamespaceTerminating");
}

TEST(ServiceAccounts, AreGivenToPods) {
  TestServer server;
  const Answer made = server.post(kPods, pod("p"));
  ASSERT_EQ(made.status, 201) << made.text;
  const Value& spec = made.value["spec"];
  EXPECT_EQ(spec["serviceAccountName"].as_string(), "default");
  EXPECT_EQ(spec["serviceAccount"].as_string(), "default");
  const Value& volume = spec["volumes"][0];
  EXPECT_THAT(volume["name"].str(), ::testing::MatchesRegex("kube-api-access-.{5}"));
  EXPECT_EQ(json::print(volume["projected"]),
            R"({"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,)"
            R"("path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt",)"
            R"("path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":)"
            R"({"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}]})");
  EXPECT_EQ(spec["containers"][0]["volumeMounts"][0]["mountPath"].as_string(),
            "/var/run/secrets/kubernetes.io/serviceaccount");
  EXPECT_TRUE(spec["containers"][0]["volumeMounts"][0]["readOnly"].as_bool());
  EXPECT_NE(server.store().get("serviceaccounts", {"tst", "default"}), nullptr)
      << "a pod right after its namespace does not wait for the account";
}

TEST(ServiceAccounts, MayKeepTheirTokenToThemselves) {
  TestServer server;
  const std::string accounts = "/api/v1/namespaces/tst/serviceaccounts";
  ASSERT_EQ(server
                .post(accounts, parse(R"({"metadata":{"name":"quiet"},
                  "automountServiceAccountToken":false,"imagePullSecrets":[{"name":"s"}]})"))
                .status,
            201);
  const Answer made = server.post(kPods, pod("a", R"({"serviceAccountName":"quiet"})"));
  EXPECT_FALSE(made.value["spec"].contains("volumes"));
  EXPECT_EQ(made.value["spec"]["imagePullSecrets"][0]["name"].as_string(), "s");
  const Answer wins = server.post(
      kPods, pod("b", R"({"serviceAccountName":"quiet","automountServiceAccountToken":true})"));
  EXPECT_EQ(wins.value["spec"]["volumes"].size(), 1U);
}

TEST(ServiceAccounts, MustExist) {
  TestServer server;
  expect_refused(server.post(kPods, pod("p2", R"({"serviceAccountName":"zz"})")),
                 "pods \"p2\" is forbidden: error looking up service account tst/zz: "
                 "serviceaccount \"zz\" not found");
}

TEST(Tolerations, AreAddedOnce) {
  TestServer server;
  const Answer made = server.post(kPods, pod("p"));
  EXPECT_EQ(json::print(made.value["spec"]["tolerations"]),
            R"([{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",)"
            R"("tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable",)"
            R"("operator":"Exists","effect":"NoExecute","tolerationSeconds":300}])");
  const Answer all = server.post(kPods, pod("q", R"({"tolerations":[{"operator":"Exists"}]})"));
  EXPECT_EQ(all.value["spec"]["tolerations"].size(), 1U);
}

TEST(Priority, ComesFromTheClass) {
  TestServer server;
  ASSERT_EQ(server
                .post(kPriorities, parse(R"({"metadata":{"name":"high"},"value":7,
                  "preemptionPolicy":"Never"})"))
                .status,
            201);
  const Answer plain = server.post(kPods, pod("p"));
  EXPECT_EQ(plain.value["spec"]["priority"], Value(0));
  EXPECT_EQ(plain.value["spec"]["preemptionPolicy"].as_string(), "PreemptLowerPriority");
  const Answer high = server.post(kPods, pod("q", R"({"priorityClassName":"high"})"));
  EXPECT_EQ(high.value["spec"]["priority"], Value(7));
  EXPECT_EQ(high.value["spec"]["preemptionPolicy"].as_string(), "Never");
  expect_refused(server.post(kPods, pod("p2", R"({"priorityClassName":"zz"})")),
                 "pods \"p2\" is forbidden: no PriorityClass with name zz was found");
  expect_refused(server.post(kPods, pod("p2", R"({"priority":7})")),
                 "pods \"p2\" is forbidden: the integer value of priority (7) must not be provided "
                 "in pod spec; priority admission controller computed 0 from the given "
                 "PriorityClass name");
  ASSERT_EQ(server
                .post(kPriorities,
                      parse(R"({"metadata":{"name":"usual"},"value":3,"globalDefault":true})"))
                .status,
            201);
  const Answer usual = server.post(kPods, pod("r"));
  EXPECT_EQ(usual.value["spec"]["priorityClassName"].as_string(), "usual");
  EXPECT_EQ(usual.value["spec"]["priority"], Value(3));
}

TEST(RuntimeClasses, AddOverheadAndPlace) {
  TestServer server;
  ASSERT_EQ(server
                .post("/apis/node.k8s.io/v1/runtimeclasses",
                      parse(R"({"metadata":{"name":"kata"},"handler":"kata","overhead":{"podFixed":
                        {"cpu":"250m"}},"scheduling":{"nodeSelector":{"kata":"yes"}}})"))
                .status,
            201);
  const Answer made = server.post(kPods, pod("p", R"({"runtimeClassName":"kata"})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["spec"]["overhead"]["cpu"].as_string(), "250m");
  EXPECT_EQ(made.value["spec"]["nodeSelector"]["kata"].as_string(), "yes");
  expect_refused(server.post(kPods, pod("p2", R"({"runtimeClassName":"zz"})")),
                 "pods \"p2\" is forbidden: pod rejected: RuntimeClass \"zz\" not found");
}

TEST(Nodes, StartNotReady) {
  TestServer server;
  const Answer made = server.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n"}})"));
  EXPECT_EQ(json::print(made.value["spec"]["taints"]),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
}

TEST(Storage, ProtectsAndChoosesTheDefaultClass) {
  TestServer server;
  ASSERT_EQ(server
                .post("/apis/storage.k8s.io/v1/storageclasses",
                      parse(R"({"metadata":{"name":"fast","annotations":
                        {"storageclass.kubernetes.io/is-default-class":"true"}},
                        "provisioner":"x"})"))
                .status,
            201);
  const Answer claim = server.post("/api/v1/namespaces/tst/persistentvolumeclaims",
                                   parse(R"({"metadata":{"name":"c"},"spec":{"accessModes":
                                     ["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})"));
  ASSERT_EQ(claim.status, 201) << claim.text;
  EXPECT_EQ(claim.value["spec"]["storageClassName"].as_string(), "fast");
  EXPECT_EQ(json::print(claim.value["metadata"]["finalizers"]),
            R"(["kubernetes.io/pvc-protection"])");
  const Answer volume =
      server.post("/api/v1/persistentvolumes",
                  parse(R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
                    "capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"}}})"));
  EXPECT_EQ(json::print(volume.value["metadata"]["finalizers"]),
            R"(["kubernetes.io/pv-protection"])");
  ASSERT_EQ(server
                .patch("/api/v1/namespaces/tst/persistentvolumeclaims/c/status", "merge",
                       R"({"status":{"phase":"Bound"}})")
                .status,
            200);
  expect_refused(server.patch("/api/v1/namespaces/tst/persistentvolumeclaims/c", "merge",
                              R"({"spec":{"resources":{"requests":{"storage":"2Gi"}}}})"),
                 "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can "
                 "be resized and the storageclass that provisions the pvc must support resize");
}

TEST(LimitRanges, GiveDefaults) {
  TestServer server;
  ASSERT_EQ(server
                .post(kLimits, parse(R"({"metadata":{"name":"l"},"spec":{"limits":[
                  {"type":"Container","default":{"cpu":"2","memory":"1Gi"},
                  "defaultRequest":{"cpu":"1"}}]}})"))
                .status,
            201);
  const Answer made = server.post(kPods, pod("p", "{}", R"({"limits":{"cpu":"3"}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(json::print(made.value["spec"]["containers"][0]["resources"]),
            R"({"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}})");
  EXPECT_EQ(made.value["metadata"]["annotations"]["kubernetes.io/limit-ranger"].as_string(),
            "LimitRanger plugin set: memory request for container c; memory limit for container c");
}

TEST(LimitRanges, BoundContainersAndPods) {
  TestServer server;
  ASSERT_EQ(server
                .post(kLimits, parse(R"({"metadata":{"name":"l"},"spec":{"limits":[
                  {"type":"Container","max":{"cpu":"1"},"min":{"cpu":"100m"},
                  "maxLimitRequestRatio":{"cpu":"2"}},
                  {"type":"Pod","max":{"memory":"1Gi"}}]}})"))
                .status,
            201);
  expect_refused(
      server.post(kPods, pod("p3", "{}", R"({"limits":{"cpu":"2","memory":"2Gi"}})")),
      "pods \"p3\" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, maximum "
      "memory usage per Pod is 1Gi, but limit is 2Gi]");
  expect_refused(
      server.post(kPods, pod("p3", "{}", R"({"limits":{"cpu":"50m","memory":"1Gi"}})")),
      "pods \"p3\" is forbidden: minimum cpu usage per Container is 100m, but request is 50m");
  expect_refused(
      server.post(kPods, pod("p3", "{}",
                             R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m"}})")),
      "pods \"p3\" is forbidden: cpu max limit to request ratio per Container is 2, but provided "
      "ratio is 10.000000");
}

TEST(Quotas, LimitCounts) {
  TestServer server;
  ASSERT_EQ(
      server.post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"1"}}})"))
          .status,
      201);
  ASSERT_EQ(server.post(kMaps, config_map("a")).status, 201);
  expect_refused(server.post(kMaps, config_map("x")),
                 "configmaps \"x\" is forbidden: exceeded quota: q, requested: configmaps=1, used: "
                 "configmaps=1, limited: configmaps=1");
  EXPECT_EQ(json::print(server.get(std::string(kQuotas) + "/q").value["status"]),
            R"({"hard":{"configmaps":"1"},"used":{"configmaps":"1"}})");
}

TEST(Quotas, LimitAmountsOfPods) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":
                  {"requests.cpu":"1","requests.nvidia.com/gpu":"2","count/jobs.batch":"0"}}})"))
                .status,
            201);
  expect_refused(server.post(kPods, pod("p4")),
                 "pods \"p4\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  ASSERT_EQ(server
                .post(kPods, pod("a", "{}",
                                 R"({"requests":{"cpu":"600m"},"limits":{"nvidia.com/gpu":"2"}})"))
                .status,
            201);
  expect_refused(
      server.post(kPods,
                  pod("b", "{}", R"({"requests":{"cpu":"500m"},"limits":{"nvidia.com/gpu":"1"}})")),
      "pods \"b\" is forbidden: exceeded quota: q, requested: "
      "requests.cpu=500m,requests.nvidia.com/gpu=1, used: "
      "requests.cpu=600m,requests.nvidia.com/gpu=2, limited: "
      "requests.cpu=1,requests.nvidia.com/gpu=2");
  const Answer job = server.post(
      "/apis/batch/v1/namespaces/tst/jobs",
      parse(R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
        "containers":[{"name":"c","image":"a"}]}}}})"));
  EXPECT_THAT(job.message(), HasSubstr("exceeded quota: q, requested: count/jobs.batch=1"));
}

TEST(Quotas, CountResourcesOfWholePods) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":
                  {"requests.cpu":"2","limits.memory":"3Gi"}}})"))
                .status,
            201);
  const std::string stated =
      R"({"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"1Gi"}}})";
  EXPECT_EQ(server.post(kPods, pod("a", stated)).status, 201);
  EXPECT_EQ(server.post(kPods, pod("b", stated)).status, 201);
  expect_refused(server.post(kPods, pod("x", stated)),
                 "pods \"x\" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: "
                 "requests.cpu=2, limited: requests.cpu=2");
}

TEST(LimitRanges, BoundResourcesOfWholePods) {
  TestServer server;
  ASSERT_EQ(server
                .post(kLimits, parse(R"({"metadata":{"name":"l"},"spec":{"limits":[
                  {"type":"Pod","max":{"memory":"1Gi"}}]}})"))
                .status,
            201);
  expect_refused(server.post(kPods, pod("x", R"({"resources":{"limits":{"memory":"2Gi"}}})")),
                 "pods \"x\" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi");
}

TEST(Quotas, CountDevicesByClass) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":
                  {"gold.deviceclass.resource.k8s.io/devices":"3"}}})"))
                .status,
            201);
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/tst/resourceclaims";
  const auto claim = [](const std::string& name, const std::string& requests) {
    return parse(R"({"metadata":{"name":")" + name + R"("},"spec":{"devices":{"requests":[)" +
                 requests + "]}}}");
  };
  const Answer two = server.post(claims, claim("a", R"({"name":"r","firstAvailable":[
      {"name":"x","deviceClassName":"gold","count":2},{"name":"y","deviceClassName":"gold"},
      {"name":"z","deviceClassName":"tin","count":9}]})"));
  EXPECT_EQ(two.status, 201) << two.text;
  expect_refused(server.post(claims, claim("b", R"({"name":"r","exactly":{"deviceClassName":"gold",
        "count":2}})")),
                 "resourceclaims.resource.k8s.io \"b\" is forbidden: exceeded quota: q, requested: "
                 "gold.deviceclass.resource.k8s.io/devices=2, used: "
                 "gold.deviceclass.resource.k8s.io/devices=2, limited: "
                 "gold.deviceclass.resource.k8s.io/devices=3");
  const Answer all = server.post(
      claims,
      claim("c", R"({"name":"r","exactly":{"deviceClassName":"gold","allocationMode":"All"}})"));
  EXPECT_THAT(all.message(), HasSubstr("requested: gold.deviceclass.resource.k8s.io/devices=32"));
  EXPECT_EQ(
      server.post(claims, claim("d", R"({"name":"r","exactly":{"deviceClassName":"tin"}})")).status,
      201);
}

TEST(Quotas, ChooseClaimsByAttributesClass) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{
                  "hard":{"persistentvolumeclaims":"0"},"scopeSelector":{"matchExpressions":[
                  {"scopeName":"VolumeAttributesClass","operator":"In","values":["fast"]}]}}})"))
                .status,
            201);
  const auto claim = [](const std::string& name, const std::string& more) {
    return parse(R"({"metadata":{"name":")" + name +
                 R"("},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":)"
                 R"({"storage":"1Gi"}})" +
                 more + "}}");
  };
  const std::string path = "/api/v1/namespaces/tst/persistentvolumeclaims";
  EXPECT_EQ(server.post(path, claim("a", "")).status, 201);
  EXPECT_EQ(server.post(path, claim("b", R"(,"volumeAttributesClassName":"slow")")).status, 201);
  EXPECT_THAT(server.post(path, claim("c", R"(,"volumeAttributesClassName":"fast")")).message(),
              HasSubstr("exceeded quota: q, requested: persistentvolumeclaims=1"));
  EXPECT_EQ(server.post(kPods, pod("p")).status, 201);
}

TEST(Quotas, CountResizes) {
  TestServer server;
  ASSERT_EQ(
      server
          .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"2"}}})"))
          .status,
      201);
  ASSERT_EQ(server
                .post(kPods, parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",
                  "image":"i","resources":{"requests":{"cpu":"1"}}}]}})"))
                .status,
            201);
  const auto resize = [&](const char* cpu) {
    return server.patch(std::string(kPods) + "/p/resize", "strategic-merge",
                        std::string(R"({"spec":{"containers":[{"name":"c","resources":
                          {"requests":{"cpu":")") +
                            cpu + R"("}}}]}})");
  };
  expect_refused(resize("3"),
                 "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: "
                 "requests.cpu=1, limited: requests.cpu=2");
  EXPECT_EQ(resize("2").status, 200);
  EXPECT_EQ(server.get(std::string(kQuotas) + "/q").value["status"]["used"]["requests.cpu"],
            Value("2"));
}

TEST(Quotas, LeaveLimitsOfExtendedResourcesAlone) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":
                  {"limits.nvidia.com/gpu":"0","requests.nvidia.com/gpu":"1"}}})"))
                .status,
            201);
  EXPECT_EQ(server.post(kPods, pod("a", "{}", R"({"limits":{"nvidia.com/gpu":"1"}})")).status, 201);
  EXPECT_EQ(server.post(kPods, pod("b", "{}", R"({"limits":{"nvidia.com/gpu":"1"}})")).status, 403);
}

TEST(Quotas, FollowPodsIntoAnotherScope) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"},
                  "scopes":["Terminating"]}})"))
                .status,
            201);
  const auto bound = [&](const std::string& name) {
    return server.patch(std::string(kPods) + "/" + name, "merge",
                        R"({"spec":{"activeDeadlineSeconds":5}})");
  };
  ASSERT_EQ(server.post(kPods, pod("a")).status, 201);
  ASSERT_EQ(server.post(kPods, pod("b")).status, 201);
  EXPECT_EQ(bound("a").status, 200);
  expect_refused(bound("b"),
                 "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, "
                 "limited: pods=1");
  EXPECT_EQ(
      server.patch(std::string(kPods) + "/a", "merge", R"({"spec":{"activeDeadlineSeconds":4}})")
          .status,
      200);
}

TEST(Priorities, AreKeptByUpdates) {
  TestServer server;
  Value made = server.post(kPods, pod("a")).value;  // of no class
  ASSERT_TRUE(made["spec"].contains("preemptionPolicy"));
  made.member("spec").erase("priority");
  made.member("spec").erase("preemptionPolicy");
  const Answer put = server.put(std::string(kPods) + "/a", made);
  EXPECT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(put.value["spec"]["priority"].as_int(-1), 0);
  EXPECT_EQ(put.value["spec"]["preemptionPolicy"].as_string(), "PreemptLowerPriority");
}

TEST(Quotas, ChooseByScope) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"},
                  "scopes":["Terminating"]}})"))
                .status,
            201);
  EXPECT_EQ(server.post(kPods, pod("a")).status, 201);
  EXPECT_EQ(server.post(kPods, pod("b", R"({"activeDeadlineSeconds":5})")).status, 403);
}

TEST(Quotas, AreGivenBackByTheRecount) {
  TestServer server;
  ASSERT_EQ(server
                .post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"1",
                        "pods":"2"}}})"))
                .status,
            201);
  const auto loop = make_quota_controller(
      {.store = server.store(), .server = server.server(), .registry = server.server().registry()});
  std::vector<store::EventPtr> seen;
  const auto token = server.store().listen([&](std::span<const store::EventPtr> events) {
    seen.insert(seen.end(), events.begin(), events.end());
  });
  const auto run = [&] {
    for (int round = 0; round < 3; ++round) {
      loop->feed(std::exchange(seen, {}));
      loop->run(server.now());
    }
  };
  const auto used = [&] {
    return json::print(server.get(std::string(kQuotas) + "/q").value["status"]["used"]);
  };
  loop->start();
  run();
  EXPECT_EQ(used(), R"({"configmaps":"0","pods":"0"})");
  ASSERT_EQ(server.post(kMaps, config_map("a")).status, 201);
  ASSERT_EQ(server.post(kPods, pod("p")).status, 201);
  run();
  EXPECT_EQ(used(), R"({"configmaps":"1","pods":"1"})");
  ASSERT_EQ(server.remove(std::string(kMaps) + "/a").status, 200);
  ASSERT_EQ(
      server.patch(std::string(kPods) + "/p/status", "merge", R"({"status":{"phase":"Succeeded"}})")
          .status,
      200);
  run();
  EXPECT_EQ(used(), R"({"configmaps":"0","pods":"0"})") << "ended pods do not count";
  const auto revision = server.store().revision();
  run();
  EXPECT_EQ(server.store().revision(), revision) << "at rest nothing is written";
  EXPECT_EQ(server.post(kMaps, config_map("b")).status, 201);
}

TEST(Quotas, WithoutLimitsAreCountedOnce) {
  TestServer server;
  ASSERT_EQ(server.post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{}})")).status, 201);
  const auto loop = make_quota_controller(
      {.store = server.store(), .server = server.server(), .registry = server.server().registry()});
  loop->start();
  loop->run(server.now());
  const auto revision = server.store().revision();
  loop->start();
  loop->run(server.now());
  EXPECT_EQ(server.store().revision(), revision) << "at rest nothing is written";
}

TEST(Quotas, DryRunsReserveNothing) {
  TestServer server;
  ASSERT_EQ(
      server.post(kQuotas, parse(R"({"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"1"}}})"))
          .status,
      201);
  ASSERT_EQ(server.post(std::string(kMaps) + "?dryRun=All", config_map("a")).status, 201);
  EXPECT_EQ(server.post(kMaps, config_map("b")).status, 201);
}

}  // namespace
}  // namespace athanor::apiserver::admission_test
