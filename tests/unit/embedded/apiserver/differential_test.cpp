// SPDX-License-Identifier: Apache-2.0
// What the differential stream brought to light (docs/testing.md): each answer is that of
// kube-apiserver 1.35 to the same requests.
#include "unit/embedded/apiserver/differential.hpp"

namespace athanor::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kMap = "/api/v1/namespaces/tst/configmaps/s";
constexpr std::string_view kJobs = "/apis/batch/v1/namespaces/tst/jobs";
constexpr std::string_view kJob = "/apis/batch/v1/namespaces/tst/jobs/j";
constexpr std::string_view kDeployments = "/apis/apps/v1/namespaces/tst/deployments";
constexpr std::string_view kQuotas = "/api/v1/namespaces/tst/resourcequotas";

Value named(std::string_view name, std::string_view more) {
  return parse(R"({"metadata":{"name":")" + std::string(name) + "\"}" +
               (more.empty() ? "" : "," + std::string(more)) + "}");
}

// Two containers with the same port.
constexpr std::string_view kTwins =
    R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x","ports":)"
    R"([{"containerPort":80}]},{"name":"d","image":"x","ports":[{"containerPort":80}]}]}})";

TEST(Differential, RefusesChangedDeletionGracePeriod) {
  TestServer server;
  server.post(kMaps, config_map("s", "{}"));
  const Answer refused =
      server.patch(kMap, "merge", R"({"metadata":{"deletionGracePeriodSeconds":5}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable"));
}

TEST(Differential, ShowsSelfLinkInDryRunsOnly) {
  TestServer server;
  server.post(kMaps, config_map("s", "{}"));
  const std::string link = R"({"metadata":{"selfLink":"x"}})";
  EXPECT_EQ(server.patch(with(kMap, "?dryRun=All"), "merge", link)
                .value["metadata"]["selfLink"]
                .as_string(),
            "x");
  EXPECT_FALSE(server.patch(kMap, "merge", link).value["metadata"].contains("selfLink"));
  EXPECT_EQ(server.patch(kMap, "merge", R"({"metadata":{"generateName":"y"}})")
                .value["metadata"]["generateName"]
                .as_string(),
            "y");
}

TEST(Differential, ReportsConflictForPutWithUidThatCreates) {
  TestServer server;
  const Value service =
      parse(R"({"metadata":{"name":"q","uid":"u"},"spec":{"ports":[{"port":80}]}})");
  for (const std::string_view sub : {"", "/status"}) {
    const Answer answer = server.put(with(kServices, "/q") + std::string(sub), service);
    EXPECT_EQ(answer.status, 409) << sub;
    EXPECT_THAT(answer.message(), HasSubstr("UID in precondition: u, UID in object meta: "));
  }
  EXPECT_EQ(server.put(kMap, parse(R"({"metadata":{"name":"s","uid":"u"}})")).status, 404);
}

TEST(Differential, AListOfOneNameHasNoPast) {
  TestServer server;
  const std::string revision = server.get(kMaps).value["metadata"]["resourceVersion"].str();
  server.post(kMaps, config_map("s", "{}"));
  const std::string past = with(kMaps, "?limit=5&resourceVersion=" + revision);
  EXPECT_TRUE(server.get(past).value["items"].empty());
  EXPECT_EQ(server.get(past + "&fieldSelector=metadata.name=s").value["items"].size(), 1U);
}

TEST(Differential, AListOfOneNameHasOnePage) {
  TestServer server;
  for (const std::string_view name : {"a", "b"}) {
    server.post(kMaps, config_map(name, "{}"));
  }
  server.post("/api/v1/namespaces/kube-system/configmaps", config_map("z", "{}"));
  const auto pages_on = [&](std::string_view path, std::string_view selector) {
    const Answer answer =
        server.get(std::string(path) + "?limit=1&fieldSelector=" + std::string(selector));
    EXPECT_EQ(answer.value["items"].size(), 1U) << answer.text;
    return answer.value["metadata"].contains("continue");
  };
  constexpr std::string_view kEverywhere = "/api/v1/configmaps";
  EXPECT_FALSE(pages_on(kMaps, "metadata.name=a"));
  EXPECT_FALSE(pages_on(kEverywhere, "metadata.namespace=tst,metadata.name=a"));
  EXPECT_FALSE(pages_on(kEverywhere, "metadata.name=a,metadata.namespace=tst"));
  // Of a namespace that is all of it, other namespaces are no next page.
  EXPECT_FALSE(pages_on(kEverywhere, "metadata.namespace=tst,metadata.name!=a"));
  EXPECT_TRUE(pages_on(kEverywhere, "metadata.namespace=tst"));
  EXPECT_TRUE(pages_on(kEverywhere, "metadata.name=a"));
}

TEST(Differential, WarnsOfUnchangedObjects) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/secrets";
  server.post(path, named("s", R"("type":"kubernetes.io/tls","data":{"tls.crt":"YQ==",)"
                               R"("tls.key":"YQ=="})"));
  EXPECT_THAT(server.patch(path + "/s", "merge", "{}").warnings(),
              ElementsAre(HasSubstr("tls: failed to find any PEM data in certificate input")));
}

TEST(Differential, WarnsOfDaemonSetTemplateWhenChanged) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/tst/daemonsets";
  const Answer made =
      server.post(path, named("s", R"("spec":{"selector":{"matchLabels":{"a":"b"}},"template":)" +
                                       std::string(kTwins) + "}"));
  EXPECT_THAT(made.warnings(), Not(IsEmpty()));
  EXPECT_THAT(server.patch(path + "/s", "merge", R"({"spec":{"minReadySeconds":3}})").warnings(),
              IsEmpty());
}

TEST(Differential, WarnsOfOldTemplateOfReplicationController) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/replicationcontrollers";
  server.post(path, named("s", R"("spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":)"
                               R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}})"));
  const std::string twins = R"({"spec":{"template":)" + std::string(kTwins) + "}}";
  EXPECT_THAT(server.patch(path + "/s", "merge", twins).warnings(), IsEmpty());
  EXPECT_THAT(server.patch(path + "/s", "merge", R"({"spec":{"replicas":3}})").warnings(),
              Not(IsEmpty()));
}

TEST(Differential, WarnsOfStatefulSetWhenScaled) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/tst/statefulsets";
  server.post(path, named("s", R"("spec":{"selector":{"matchLabels":{"a":"b"}},"template":)" +
                                   std::string(kTwins) + "}"));
  EXPECT_THAT(server.patch(path + "/s/scale", "merge", R"({"spec":{"replicas":3}})").warnings(),
              Not(IsEmpty()));
}

TEST(Differential, OwnsFinalizersOfPatchedNamespace) {
  TestServer server;
  const Answer answer =
      server.patch("/api/v1/namespaces/tst?fieldManager=m", "json",
                   R"([{"op":"add","path":"/spec/finalizers/0","value":"kubernetes"}])");
  EXPECT_EQ(answer.value["spec"]["finalizers"], parse(R"(["kubernetes"])"));
  EXPECT_THAT(json::print(answer.value["metadata"]["managedFields"]),
              HasSubstr(R"("fieldsV1":{"f:spec":{"f:finalizers":{}}})"));
}

TEST(Differential, APodsPhaseIsNotMadeAnew) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/pods";
  server.post("/api/v1/namespaces/tst/serviceaccounts", named("default", ""));
  const Answer made = server.post(path, named("p", R"("spec":{"containers":[{"name":"c",)"
                                                   R"("image":"x"}]})"));
  EXPECT_EQ(made.value["status"]["phase"].as_string(), "Pending") << made.text;
  EXPECT_FALSE(server.patch(path + "/p/status", "merge", R"({"status":null})")
                   .value["status"]
                   .contains("phase"));
}

TEST(Differential, ARowSaysThatItsPodEnded) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/pods";
  server.post("/api/v1/namespaces/tst/serviceaccounts", named("default", ""));
  server.post(path, named("p", R"("spec":{"containers":[{"name":"c","image":"x"}]})"));
  const auto row = [&] {
    return server
        .call("GET " + path, "", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
        .value["rows"][0];
  };
  EXPECT_FALSE(row().contains("conditions"));
  server.patch(path + "/p/status", "merge", R"({"status":{"phase":"Failed"}})");
  EXPECT_EQ(row()["conditions"], parse(R"([{"type":"Completed","status":"True","reason":"Failed",)"
                                       R"("message":"The pod failed."}])"));
}

TEST(Differential, RefusesNumberForTimeAtConversion) {
  TestServer server;
  const Answer answer = server.patch(
      "/api/v1/namespaces/tst/events/e?fieldManager=m", "apply",
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"lastTimestamp":1.5})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.message(), HasSubstr("failed to convert new object"));
}

TEST(Differential, ChecksEventRulesBeforeMetadata) {
  TestServer server;
  const Answer answer = server.post("/api/v1/namespaces/tst/events", Value::object());
  EXPECT_EQ(answer.message(),
            "Event \"\" is invalid: involvedObject.namespace: Invalid value: \"\": does not match "
            "event.namespace");
}

TEST(Differential, KeepsContentOfEvents) {
  TestServer server;
  const std::string path = "/apis/events.k8s.io/v1/namespaces/tst/events";
  const Answer made = server.post(
      path,
      named("e", R"("regarding":{"kind":"Pod","namespace":"tst","name":"a"},"reason":"R",)"
                 R"("note":"m","type":"Normal","action":"Do","reportingController":"ex.com/c",)"
                 R"("reportingInstance":"i","eventTime":"2020-01-01T00:00:00.000001Z")"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(server.patch(path + "/e", "merge", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_THAT(server.patch(path + "/e", "merge", R"({"eventTime":null})").message(),
              HasSubstr("eventTime: Invalid value: null: field is immutable"));
}

TEST(Differential, SomeKindsTakeAnyFinalizer) {
  TestServer server;
  const Value lease = parse(R"({"metadata":{"name":"l","finalizers":["x"]}})");
  EXPECT_EQ(server.post("/apis/coordination.k8s.io/v1/namespaces/tst/leases", lease).status, 201);
  EXPECT_EQ(server.post(kMaps, lease).status, 422);
  const std::string classes = "/apis/node.k8s.io/v1/runtimeclasses";
  const std::string any = R"({"metadata":{"finalizers":["x"]}})";
  EXPECT_EQ(server.post(classes, named("r", R"("handler":"h")")).status, 201);
  EXPECT_EQ(server.patch(classes + "/r", "merge", any).status, 200);
  const std::string cron = "/apis/batch/v1/namespaces/tst/cronjobs";
  server.post(cron,
              named("c", R"("spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":)"
                         R"({"spec":{"restartPolicy":"Never","containers":[{"name":"c",)"
                         R"("image":"x"}]}}}}})"));
  EXPECT_EQ(server.patch(cron + "/c", "merge", any).status, 422);
  EXPECT_EQ(server.patch(cron + "/c/status", "merge", any).status, 200);
}

TEST(Differential, ChecksMetadataOfAppliedObject) {
  struct {
    const char* metadata;
    int status;
    const char* message;
  } const cases[] = {
      {R"("resourceVersion":"0")", 200, ""},
      {R"("resourceVersion":"x")", 400, "invalid resource version: x"},
      {R"("resourceVersion":"1")", 409, "the object has been modified"},
      {R"("managedFields":[])", 400, "metadata.managedFields must be nil"},
      {R"("managedFields":null)", 200, ""},
  };
  TestServer server;
  server.post(kMaps, config_map("s", "{}"));
  for (const auto& [metadata, status, message] : cases) {
    const Answer answer =
        server.patch(with(kMap, "?fieldManager=m&dryRun=All"), "apply",
                     R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s",)" +
                         std::string(metadata) + "}}");
    EXPECT_EQ(answer.status, status) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(message));
  }
}

TEST(Differential, AppliesLabelWithoutValueAsEmpty) {
  TestServer server;
  server.post(kMaps, config_map("s", R"({"a":"1"})"));
  const Answer answer = server.patch(
      with(kMap, "?fieldManager=m"), "apply",
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","labels":{"x":null}},)"
      R"("data":{"b":null}})");
  EXPECT_EQ(answer.value["metadata"]["labels"], parse(R"({"x":""})")) << answer.text;
  EXPECT_EQ(answer.value["data"], parse(R"({"a":"1","b":""})"));
}

TEST(Differential, OwnsDeletionTimeByManagerThatSetsIt) {
  TestServer server;
  Value held = config_map("s", "{}");
  held.member("metadata").set("finalizers", Value::list({"ex.com/f"}));
  server.post(kMaps, held);
  const Value time = server.remove(kMap).value["metadata"]["deletionTimestamp"];
  const Answer answer =
      server.patch(with(kMap, "?fieldManager=late"), "merge",
                   R"({"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}})");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.value["metadata"]["deletionTimestamp"], time);
  EXPECT_THAT(answer.text, HasSubstr(R"("fieldsV1":{"f:metadata":{"f:deletionTimestamp":{}}})"));
}

TEST(Differential, OwnsNoLabelsByStatusOfDeployment) {
  TestServer server;
  server.post(kDeployments, named("d", R"("spec":{"selector":{"matchLabels":{"a":"b"}},)"
                                       R"("template":)" +
                                           std::string(kTwins) + "}"));
  const Answer answer = server.patch(
      with(kDeployments, "/d/status?fieldManager=owner"), "apply",
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"x":"y"}}})");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_THAT(answer.text, Not(HasSubstr("owner")));
}

TEST(Differential, ADeletionUnderWayTakesNoOtherPolicy) {
  TestServer server;
  const std::string pods = "/api/v1/namespaces/tst/pods";
  server.post(pods,
              named("p", R"("spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]})"));
  EXPECT_EQ(server.remove(pods + "/p").status, 200);
  const Answer orphan = server.remove(pods + "/p?propagationPolicy=Orphan");
  EXPECT_FALSE(orphan.value["metadata"].contains("finalizers")) << orphan.text;
  const Answer sooner = server.remove(pods + "/p?gracePeriodSeconds=5&propagationPolicy=Orphan");
  EXPECT_EQ(sooner.value["metadata"]["deletionGracePeriodSeconds"].as_int(), 5);
  EXPECT_EQ(sooner.value["metadata"]["finalizers"], parse(R"(["orphan"])"));
}

TEST(Differential, ANamespaceTakesNoOrphansAsForeground) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/gone";
  server.post("/api/v1/namespaces", named("gone", ""));
  const Answer dry = server.remove(path + "?orphanDependents=false&dryRun=All");
  EXPECT_EQ(dry.status, 202);
  EXPECT_EQ(dry.value["metadata"]["finalizers"], parse(R"(["foregroundDeletion"])"));
  EXPECT_EQ(server.remove(path).status, 200);
  const Answer again = server.remove(path + "?propagationPolicy=Orphan");
  EXPECT_EQ(again.status, 200);
  EXPECT_FALSE(again.value["metadata"].contains("finalizers")) << again.text;
}

TEST(Differential, ReadsContinueTokenOfAnotherListAsPlace) {
  TestServer server;
  for (const std::string_view name : {"a", "b", "d"}) {
    server.post("/api/v1/namespaces", named(name, ""));
    server.post(kMaps, config_map(name, "{}"));
    server.post("/api/v1/namespaces/" + std::string(name) + "/configmaps", config_map("m", "{}"));
  }
  const Answer spaces = server.get("/api/v1/namespaces?limit=1&labelSelector=" +
                                   std::string("kubernetes.io/metadata.name=b"));
  const std::string token = spaces.value["metadata"]["continue"].str();
  ASSERT_FALSE(token.empty()) << spaces.text;
  const Answer rest = server.get(with(kMaps, "?continue=" + token));
  ASSERT_EQ(rest.value["items"].size(), 1U) << rest.text;
  EXPECT_EQ(rest.value["items"][0]["metadata"]["name"].as_string(), "d");
  // All of the namespace of that name and what is behind it.
  const Answer all = server.get("/api/v1/configmaps?limit=1&continue=" + token);
  EXPECT_EQ(all.value["items"][0]["metadata"]["namespace"].as_string(), "b") << all.text;
}

TEST(Differential, ChecksImmutableRangesOfNodes) {
  TestServer server;
  server.post("/api/v1/nodes", named("n", R"("spec":{"podCIDRs":["10.1.0.0/24"]})"));
  const std::string message =
      server.patch("/api/v1/nodes/n", "merge", R"({"spec":{"podCIDR":"x"}})").message();
  EXPECT_THAT(message, HasSubstr("spec.podCIDRs: Forbidden: node updates may not change podCIDR"));
  EXPECT_THAT(message, HasSubstr("spec.podCIDRs[0]: Invalid value: \"x\""));
}

TEST(Differential, DefaultsRollingUpdateOfOnDeleteDaemonSet) {
  TestServer server;
  const Answer made = server.post(
      "/apis/apps/v1/namespaces/tst/daemonsets",
      named("s", R"("spec":{"selector":{"matchLabels":{"a":"b"}},"updateStrategy":)"
                 R"({"type":"OnDelete","rollingUpdate":{"maxUnavailable":1}},"template":)" +
                     std::string(kTwins) + "}"));
  EXPECT_EQ(made.value["spec"]["updateStrategy"],
            parse(R"({"type":"OnDelete","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}})"))
      << made.text;
}

TEST(Differential, EnforcesForeignQuotasFromFirstCount) {
  TestServer server(Options{.counts_quotas = false});
  server.post(kQuotas, named("q", R"("spec":{"hard":{"configmaps":"0"}})"));
  EXPECT_EQ(server.post(kMaps, config_map("a", "{}")).status, 201);
  server.patch(with(kQuotas, "/q/status"), "merge", R"({"status":{"hard":{"configmaps":"0"}}})");
  EXPECT_THAT(server.post(kMaps, config_map("b", "{}")).message(),
              HasSubstr("status unknown for quota: q, resources: configmaps"));
  server.patch(with(kQuotas, "/q/status"), "merge", R"({"status":{"used":{"configmaps":"0"}}})");
  EXPECT_THAT(server.post(kMaps, config_map("b", "{}")).message(), HasSubstr("exceeded quota: q"));
}

TEST(Differential, RefusesAddressOfExternalNameService) {
  TestServer server;
  const std::string outside = R"("type":"ExternalName","externalName":"ex.com")";
  const std::string_view text = "spec.clusterIPs: Forbidden: may not be set for ExternalName";
  EXPECT_THAT(server.post(kServices, named("a", R"("spec":{"clusterIP":"None",)" + outside + "}"))
                  .message(),
              HasSubstr(text));
  server.post(kServices, named("b", R"("spec":{)" + outside + "}"));
  EXPECT_THAT(
      server.patch(with(kServices, "/b"), "merge", R"({"spec":{"clusterIP":"None"}})").message(),
      HasSubstr(text));
  server.post(kServices, named("c", R"("spec":{"ports":[{"port":80}]})"));
  const Answer switched =
      server.patch(with(kServices, "/c"), "merge", R"({"spec":{)" + outside + "}}");
  EXPECT_EQ(switched.status, 200) << switched.text;
  EXPECT_FALSE(switched.value["spec"].contains("clusterIP"));
}

TEST(Differential, MovesOwnershipOfZeroReplicasByScale) {
  TestServer server;
  server.post(
      with(kDeployments, "?fieldManager=u"),
      named("d", R"("spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":)" +
                     std::string(kTwins) + "}"));
  const std::string scale =
      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":0}})";
  const Answer answer = server.patch(with(kDeployments, "/d/scale?fieldManager=m"), "apply", scale);
  EXPECT_EQ(
      answer.message(),
      "Apply failed with 1 conflict: conflict with \"u\" using autoscaling/v1: .spec.replicas");
}

TEST(Differential, ForgetsHalvesOfEntryAtNextWrite) {
  TestServer server;
  server.post(
      with(kDeployments, "?fieldManager=u"),
      named("d", R"("spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":)" +
                     std::string(kTwins) + "}"));
  const auto entries = [](const Answer& answer) {
    return answer.value["metadata"]["managedFields"].size();
  };
  server.patch(with(kDeployments, "/d/scale"), "merge", "{}");
  EXPECT_EQ(entries(server.get(with(kDeployments, "/d"))), 2U);
  EXPECT_EQ(entries(server.patch(with(kDeployments, "/d"), "merge", "{}")), 1U);
}

std::string job(std::string_view spec) {
  return R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",)"
         R"("containers":[{"name":"c","image":"x"}]}})" +
         std::string(spec) + "}}";
}

TEST(Differential, AStartedJobKeepsItsStart) {
  TestServer server;
  server.post(kJobs, parse(job("")));
  server.patch(with(kJob, "/status"), "merge",
               R"({"status":{"startTime":"2020-01-01T00:00:00Z","failed":1}})");
  const Answer answer =
      server.patch(with(kJob, "/status"), "merge", R"({"status":{"startTime":null,"failed":0}})");
  EXPECT_THAT(answer.message(), HasSubstr("status.failed: Invalid value: 0: cannot decrease"));
  EXPECT_THAT(answer.message(), HasSubstr("status.startTime: Required value: startTime cannot be "
                                          "removed for unsuspended job"));
}

TEST(Differential, AJobEndsInOneWay) {
  struct {
    const char* status;
    const char* cause;
  } const cases[] = {
      {R"({"conditions":[{"type":"Complete","status":"True"},{"type":"Failed","status":"True"}]})",
       "cannot set Complete=True and Failed=true conditions"},
      {R"({"conditions":[{"type":"Complete","status":"True"}]})",
       "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
      {R"({"conditions":[{"type":"Failed","status":"True"}]})",
       "cannot set Failed=True condition without the FailureTarget=true condition"},
      {R"({"conditions":[{"type":"Complete","status":"True"}]})",
       "completionTime is required for Complete jobs"},
      {R"({"completionTime":"2020-01-01T00:00:00Z"})",
       "cannot set completionTime when there is no Complete=True condition"},
      {R"({"ready":3,"active":2})", "cannot set more ready pods than active"},
      {R"({"completedIndexes":"1"})", "too large index: \"1\""},
      {R"({"completedIndexes":"0"})",
       "cannot set non-empty completedIndexes when non-indexed completion mode"},
      {R"({"failedIndexes":"0"})",
       "cannot set non-null failedIndexes when backoffLimitPerIndex is null"},
      {R"({"uncountedTerminatedPods":{"succeeded":["a","a"]}})",
       "status.uncountedTerminatedPods.succeeded[1]: Duplicate value: \"a\""},
  };
  TestServer server;
  server.post(kJobs, parse(job("")));
  for (const auto& [status, cause] : cases) {
    const Answer answer =
        server.patch(with(kJob, "/status"), "merge", R"({"status":)" + std::string(status) + "}");
    EXPECT_EQ(answer.status, 422) << status;
    EXPECT_THAT(answer.message(), HasSubstr(cause)) << status;
  }
}

TEST(Differential, AllowsOnlyNodeFieldsOfWaitingJob) {
  TestServer server;
  server.post(kJobs, parse(job(R"(,"suspend":true)")));
  const auto change = [&](std::string_view pods) {
    return server
        .patch(kJob, "merge", R"({"spec":{"template":{"spec":)" + std::string(pods) + "}}}")
        .status;
  };
  EXPECT_EQ(change(R"({"affinity":{"nodeAffinity":{}}})"), 200);
  EXPECT_EQ(change(R"({"nodeSelector":{"a":"b"}})"), 200);
  EXPECT_EQ(change(R"({"affinity":{"podAffinity":{}}})"), 422);
  EXPECT_EQ(change(R"({"containers":[{"name":"c","image":"x","resources":{"limits":{"cpu":1}}}]})"),
            422);
}

TEST(Differential, ReplacesSelectorOfBudgetAsWhole) {
  TestServer server;
  const std::string path = "/apis/policy/v1/namespaces/tst/poddisruptionbudgets";
  server.post(path, named("b", R"("spec":{"selector":{}})"));
  EXPECT_EQ(server
                .patch(path + "/b", "strategic-merge",
                       R"({"spec":{"selector":{"matchLabels":{"app":null}}}})")
                .value["spec"]["selector"],
            parse(R"({"matchLabels":{"app":""}})"));
}

constexpr std::string_view kWidgets = "/apis/ex.com/v1/namespaces/tst/widgets";

// Widgets with an embedded object and a set.
void define_widgets(TestServer& server) {
  const Answer made = server.post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      parse(
          R"({"metadata":{"name":"widgets.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",)"
          R"("names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,)"
          R"("storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)"
          R"({"type":"object","properties":{"size":{"type":"integer"},"tags":{"type":"array",)"
          R"("x-kubernetes-list-type":"set","items":{"type":"string"}},"free":{"type":"object",)"
          R"("x-kubernetes-preserve-unknown-fields":true},"embedded":{"type":"object",)"
          R"("x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true)"
          R"(}}},"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}},)"
          R"("subresources":{"status":{}}}]}})"));
  ASSERT_EQ(made.status, 201) << made.text;
}

std::string widget(std::string_view spec) {
  return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
         std::string(spec) + "}";
}

TEST(Differential, AnEmbeddedObjectNamesItsType) {
  TestServer server;
  define_widgets(server);
  const auto post = [&](std::string_view embedded) {
    return server.post(kWidgets, parse(widget(R"({"embedded":)" + std::string(embedded) + "}")));
  };
  EXPECT_EQ(post(R"({"kind":1,"apiVersion":"v1"})").message(),
            "Widget in version \"v1\" cannot be handled as a Widget: spec.embedded.kind: Invalid "
            "value: 1: must be a string");
  EXPECT_EQ(post(R"({"kind":null,"apiVersion":"v1"})").message(),
            "Widget in version \"v1\" cannot be handled as a Widget: spec.embedded.kind: Invalid "
            "value: null: must be a string");
  EXPECT_THAT(post(R"({"kind":"A_b","apiVersion":"v1"})").message(),
              HasSubstr("spec.embedded.kind: Invalid value: \"A_b\": may have mixed case, but "
                        "should otherwise match: a DNS-1035 label"));
  EXPECT_THAT(post(R"({"kind":"A","apiVersion":"a/b/c"})").message(),
              HasSubstr("unexpected GroupVersion string: a/b/c"));
  EXPECT_EQ(post(R"({"kind":"A","apiVersion":"v1"})").status, 201);
}

TEST(Differential, RemovesOrNullsFieldsEmptiedByApply) {
  TestServer server;
  define_widgets(server);
  const std::string path = std::string(kWidgets) + "/w?force=true&fieldManager=";
  const auto spec = [&](std::string_view manager, std::string_view text) {
    return server.patch(path + std::string(manager), "apply", widget(text)).value["spec"];
  };
  spec("m", R"({"size":1,"tags":["a"],"free":{"a":{"b":1}}})");
  EXPECT_EQ(spec("m", R"({"size":1,"tags":[],"free":{"a":{}}})"),
            parse(R"({"size":1,"free":{"a":null}})"));
}

TEST(Differential, ReportsFurtherErrorsBesideWrongType) {
  TestServer server;
  define_widgets(server);
  server.post(kWidgets, parse(widget("{}")));
  const Answer answer = server.patch(std::string(kWidgets) + "/w", "merge",
                                     R"({"apiVersion":"v9","metadata":{"labels":{"a":"c d"}}})");
  EXPECT_THAT(answer.message(), HasSubstr("apiVersion: Invalid value: \"v9\": must be ex.com/v1"));
  EXPECT_THAT(answer.message(), HasSubstr("metadata.labels: Invalid value: \"c d\""));
}

TEST(Differential, ChecksOnlyListsOfOtherType) {
  TestServer server;
  define_widgets(server);
  server.post(kWidgets, parse(widget("{}")));
  const Answer answer =
      server.patch(std::string(kWidgets) + "/w", "merge",
                   R"({"apiVersion":"v9","spec":{"tags":["x","x"],"size":"big"}})");
  EXPECT_THAT(answer.message(), HasSubstr("spec.tags[1]: Duplicate value: \"x\""));
  EXPECT_THAT(answer.message(), Not(HasSubstr("must be of type")));
}

TEST(Differential, TakesStatusOfOtherKindAndEndsTracking) {
  TestServer server;
  define_widgets(server);
  const Answer made = server.post(kWidgets, parse(widget("{}")));
  EXPECT_TRUE(made.value["metadata"].contains("managedFields"));
  Value other = made.value;
  other.set("kind", "Other");
  other.set_path({"status", "phase"}, "B");
  const Answer taken = server.put(std::string(kWidgets) + "/w/status", other);
  EXPECT_EQ(taken.status, 200) << taken.text;
  EXPECT_EQ(taken.value["kind"].as_string(), "Widget");
  EXPECT_EQ(taken.value["status"]["phase"].as_string(), "B");
  EXPECT_FALSE(taken.value["metadata"].contains("managedFields"));
}

TEST(Differential, APodWithoutAnyNameIsCalledUnknown) {
  TestServer server;
  const Answer refused = server.post(
      "/api/v1/namespaces/tst/pods",
      parse(R"({"spec":{"priorityClassName":"nope","containers":[{"name":"c","image":"i"}]}})"));
  EXPECT_EQ(refused.message(),
            R"(pods "Unknown" is forbidden: no PriorityClass with name nope was found)");
  EXPECT_EQ(refused.value["details"]["name"].as_string(), "Unknown");
}

TEST(Differential, SelectableFieldsAreOnesThatCanBeSelected) {
  constexpr std::string_view kOne = R"({"jsonPath":".spec.color"})";
  struct {
    std::vector<std::string> versions;  // the selectableFields of each
    const char* cause;                  // empty: fine
  } const cases[] = {
      {{std::string(kOne)}, ""},
      {{std::string(kOne), std::string(kOne)}, ""},
      {{R"({"jsonPath":".spec.map.x"})"}, ""},
      {{std::string(kOne) + "," + std::string(kOne)},
       "spec.selectableFields[1].jsonPath: Duplicate value: \".spec.color\""},
      {{std::string(kOne), R"({"jsonPath":".spec.map.x"})"},
       "spec.versions[0].selectableFields: Invalid value: \"\": may only be set when "
       "`version.schema.openAPIV3Schema` is not included"},
      {{std::string(kOne), ""}, "spec.versions[0].selectableFields: Invalid value"},
      {{R"({"jsonPath":""})"}, "spec.selectableFields[0].jsonPath: Required value"},
      {{R"({"jsonPath":".spec.nope"})"}, "is an invalid path: does not refer to a valid field"},
      {{R"({"jsonPath":".spec[0]"})"}, "is an invalid path: array notation is not allowed"},
      {{R"({"jsonPath":"spec.color"})"}, "is an invalid path: expected [ or . but got: spec"},
      {{R"({"jsonPath":".spec.map"})"}, "must point to a field of type string, boolean or integer"},
  };
  for (const auto& [fields, cause] : cases) {
    std::string versions;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      versions += std::string(i == 0 ? "" : ",") + R"({"name":"v)" + std::to_string(i + 1) +
                  R"(","served":true,"storage":)" + (i == 0 ? "true" : "false") +
                  R"(,"selectableFields":[)" + fields[i] +
                  R"(],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":)"
                  R"("object","properties":{"color":{"type":"string"},"map":{"type":"object",)"
                  R"("additionalProperties":{"type":"string"}}}}}}}})";
    }
    TestServer server;
    const Answer answer = server.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        parse(R"({"metadata":{"name":"foos.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",)"
              R"("names":{"plural":"foos","kind":"Foo"},"versions":[)" +
              versions + "]}}"));
    EXPECT_EQ(answer.status, *cause == 0 ? 201 : 422) << answer.text;
    EXPECT_THAT(answer.message(), HasSubstr(cause));
  }
}

}  // namespace
}  // namespace athanor::apiserver
