// SPDX-License-Identifier: Apache-2.0
// What the differential stream brought to light about writes and who owns them (docs/testing.md):
// each answer is that of kube-apiserver 1.35 to the same requests.
#include "unit/embedded/apiserver/differential.hpp"

namespace athanor::apiserver::differential_writes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kWidgets = "/apis/ex.com/v1/namespaces/tst/widgets";

// Widgets with a keyed list and a number.
void define_widgets(TestServer& server) {
  const Answer made = server.post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      parse(
          R"({"metadata":{"name":"widgets.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced",)"
          R"("names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,)"
          R"("storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)"
          R"({"type":"object","properties":{"ratio":{"type":"number"},"when":{"type":"string","format":)"
          R"("date-time"},"items":{"type":"array",)"
          R"("x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],"items":{"type":)"
          R"("object","required":["id"],"properties":{"id":{"type":"string"},"n":{"type":)"
          R"("integer"}}}}}}}}}}]}})"));
  ASSERT_EQ(made.status, 201) << made.text;
}

std::string widget(std::string_view spec) {
  return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
         std::string(spec) + "}";
}

TEST(DifferentialWrites, ReadTypedListUpToElementWithoutKeys) {
  TestServer server;
  define_widgets(server);
  const auto refused = [&](std::string_view items) {
    return server
        .patch(with(kWidgets, "/w?fieldManager=m"), "apply",
               widget(R"({"items":)" + std::string(items) + "}"))
        .message();
  };
  EXPECT_EQ(
      refused(R"([null,{"id":"a"},{"n":1}])"),
      "failed to create typed patch object (/w; ex.com/v1, Kind=Widget): .spec.items: element "
      "0: associative list with keys may not have a null element");
  const std::string several = refused(R"([{"id":"a","n":"x"},{"id":"a"},{"n":1},null])");
  EXPECT_THAT(several, HasSubstr(R"(.spec.items[id="a"].n: expected numeric)"));
  EXPECT_THAT(several, HasSubstr(R"(.spec.items: duplicate entries for key [id="a"])"));
  EXPECT_THAT(several, HasSubstr(".spec.items: element 2: "));
  EXPECT_THAT(several, Not(HasSubstr("element 3")));
}

TEST(DifferentialWrites, ATimeAloneIsNoChange) {
  TestServer server;
  const std::string path = with(kMaps, "/s");
  const auto apply = [&] {
    return server
        .patch(path + "?fieldManager=m", "apply",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":{}})")
        .value["metadata"];
  };
  const Value first = apply();
  server.advance(std::chrono::seconds(2));
  EXPECT_EQ(apply()["resourceVersion"], first["resourceVersion"]);
  server.advance(std::chrono::seconds(2));
  EXPECT_EQ(apply()["managedFields"], first["managedFields"]);
}

TEST(DifferentialWrites, OwnListWithoutValuesThatAdmissionAdds) {
  TestServer server;
  const std::string pods = "/api/v1/namespaces/tst/pods";
  server.post("/api/v1/namespaces/tst/serviceaccounts",
              parse(R"({"metadata":{"name":"default"}})"));
  const std::string own = R"("tolerations":[{"key":"k","operator":"Exists"}])";
  server.post(pods, parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
                          R"("image":"x"}],)" +
                          own + "}}"));
  const Answer answer =
      server.patch(pods + "/p?fieldManager=late", "merge", R"({"spec":{)" + own + "}}");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.value["spec"]["tolerations"].size(), 3U);
  const Value& entries = answer.value["metadata"]["managedFields"];
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_THAT(json::print(entries), HasSubstr(R"("fieldsV1":{"f:spec":{"f:tolerations":{}}})"));
}

TEST(DifferentialWrites, CountWholeNumberWithPointAsChange) {
  TestServer server;
  define_widgets(server);
  const std::string path = with(kWidgets, "/w");
  const auto generation = [&](std::string_view type, const std::string& body) {
    const Answer answer =
        server.patch(path + (type == "apply" ? "?fieldManager=m&force=true" : ""), type, body);
    EXPECT_EQ(answer.value["spec"], parse(R"({"ratio":2})")) << answer.text;
    return answer.value["metadata"]["generation"].as_int();
  };
  server.post(kWidgets, parse(widget(R"({"ratio":2.0})")));
  EXPECT_EQ(generation("merge", R"({"spec":{"ratio":2}})"), 1);
  EXPECT_EQ(generation("merge", R"({"spec":{"ratio":2.0}})"), 2);
  EXPECT_EQ(generation("merge", R"({"spec":{"ratio":2e0}})"), 3);
  EXPECT_EQ(generation("merge", R"({"metadata":{"labels":{"a":"b"}}})"), 3);
  EXPECT_EQ(generation("apply", widget(R"({"ratio":2.0})")), 3);
}

TEST(DifferentialWrites, AnswerEndingApplyWithEmptyMaps) {
  TestServer server;
  define_widgets(server);
  const std::string path = with(kWidgets, "/w");
  const auto apply = [&](std::string_view query, std::string_view metadata) {
    return server.patch(path + "?fieldManager=m&force=true" + std::string(query), "apply",
                        R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w",)" +
                            std::string(metadata) + "}}");
  };
  const std::string empty = R"("annotations":{},"labels":{})";
  apply("", R"("finalizers":["ex.com/f"])");
  EXPECT_FALSE(
      apply("", R"("finalizers":["ex.com/f"],)" + empty).value["metadata"].contains("annotations"));
  server.remove(path);
  for (const std::string_view query : {"&dryRun=All", ""}) {
    const Answer ended = apply(query, empty);
    EXPECT_EQ(ended.status, 200) << ended.text;
    EXPECT_THAT(ended.text, HasSubstr(R"("annotations":{})"));
    EXPECT_THAT(ended.text, HasSubstr(R"("labels":{})"));
  }
  EXPECT_EQ(server.get(path).status, 404);
}

TEST(DifferentialWrites, JudgeAppliedNullByCustomSchema) {
  TestServer server;
  define_widgets(server);
  server.post(kWidgets, parse(widget(R"({"ratio":1})")));
  const Answer refused =
      server.patch(with(kWidgets, "/w?fieldManager=m"), "apply", widget(R"({"when":null})"));
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(refused.message(), HasSubstr("spec.when: Invalid value: \"null\""));
}

TEST(DifferentialWrites, SkipBodyOfStatusApplyToMissingObject) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/pods/p";
  const std::string bad = R"({"apiVersion":[],"kind":"Pod","metadata":{"name":"p"}})";
  EXPECT_EQ(server.patch(path + "/status?fieldManager=m", "apply", bad).status, 404);
  EXPECT_EQ(server.patch(path + "?fieldManager=m", "apply", bad).status, 400);
}

TEST(DifferentialWrites, KeepNamedStrategyWithoutDefaults) {
  TestServer server;
  const auto strategy = [&](std::string_view given) {
    return server
        .post("/apis/apps/v1/namespaces/tst/statefulsets?dryRun=All",
              parse(R"({"metadata":{"name":"s"},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
                    R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":)"
                    R"([{"name":"c","image":"x"}]}},"updateStrategy":)" +
                    std::string(given) + "}}"))
        .value["spec"]["updateStrategy"];
  };
  EXPECT_EQ(strategy("{}"), parse(R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})"));
  EXPECT_EQ(strategy(R"({"type":"RollingUpdate"})"), parse(R"({"type":"RollingUpdate"})"));
}

TEST(DifferentialWrites, PrintOwnersInFieldOrder) {
  TestServer server;
  EXPECT_THAT(
      server
          .post(kMaps, parse(R"({"metadata":{"name":"s","ownerReferences":[{"uid":"u",)"
                             R"("controller":true,"name":"o","kind":"K","apiVersion":"g/v"},)"
                             R"({"controller":true,"name":"p","kind":"K","apiVersion":"g/v"}]}})"))
          .message(),
      HasSubstr(R"([{"apiVersion":"g/v","kind":"K","name":"o","uid":"u","controller":true},)"
                R"({"apiVersion":"g/v","kind":"K","name":"p","uid":"","controller":true}])"));
}

TEST(DifferentialWrites, OwnRepeatedItemsOnce) {
  TestServer server;
  define_widgets(server);
  const Answer made = server.post(
      kWidgets, parse(R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w",)"
                      R"("finalizers":["ex.com/f","ex.com/f"]}})"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(json::print(made.value["metadata"]["managedFields"]),
              HasSubstr(R"("f:finalizers":{".":{},"v:\"ex.com/f\"":{}})"));
}

TEST(DifferentialWrites, OwnNoCapacityCopiedToEmptyAllocatable) {
  TestServer server;
  server.post("/api/v1/nodes", parse(R"({"metadata":{"name":"n","labels":{"a":"b"}}})"));
  const auto owned = [&](std::string_view status) {
    const Answer answer =
        server.put("/api/v1/nodes/n/status?fieldManager=m",
                   parse(R"({"metadata":{"name":"n","labels":{"a":"b"}},"status":)" +
                         std::string(status) + "}"));
    EXPECT_EQ(answer.value["status"]["allocatable"]["cpu"].as_string(), "8") << answer.text;
    return json::print(answer.value["metadata"]["managedFields"]);
  };
  EXPECT_THAT(owned(R"({"capacity":{"cpu":"8"},"allocatable":{}})"),
              Not(HasSubstr("f:allocatable")));
  EXPECT_THAT(
      owned(R"({"capacity":{"cpu":"8","memory":"1"},"allocatable":{"cpu":"8","memory":"1"}})"),
      HasSubstr("f:allocatable"));
}

TEST(DifferentialWrites, AStatusIsCheckedWhole) {
  TestServer server;
  const auto refused = [&](std::string_view path, std::string_view spec, std::string_view status) {
    const std::string item = std::string(path) + "/s";
    const Answer made =
        server.post(path, parse(R"({"metadata":{"name":"s"},"spec":)" + std::string(spec) + "}"));
    EXPECT_EQ(made.status, 201) << made.text;
    return server.patch(item + "/status", "merge", R"({"status":)" + std::string(status) + "}")
        .message();
  };
  EXPECT_THAT(
      refused("/apis/policy/v1/namespaces/tst/poddisruptionbudgets", R"({"minAvailable":1})",
              R"({"disruptionsAllowed":-1,"currentHealthy":0,"desiredHealthy":0,)"
              R"("expectedPods":-2})"),
      AllOf(HasSubstr("status.disruptionsAllowed: Invalid value: -1"),
            HasSubstr("status.expectedPods: Invalid value: -2")));
  EXPECT_THAT(refused("/api/v1/namespaces/tst/resourcequotas", "{}", R"({"used":{"x":"1"}})"),
              HasSubstr("status.used[x]: Invalid value: \"x\""));
}

// Autoscaler "a" of the first version, by manager "old".
TEST(DifferentialWrites, TimeAppliedNullOfAbsentField) {
  TestServer server;
  server.post(kMaps, config_map("s", R"({"a":"1"})"));
  const auto timed = [&](std::string_view manager, std::string_view more) {
    const Answer answer =
        server.patch(with(kMaps, "/s?fieldManager=") + std::string(manager), "apply",
                     R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},)" +
                         std::string(more) + "}");
    for (const Value& entry : answer.value["metadata"]["managedFields"].items()) {
      if (entry["manager"].as_string() == manager) {
        return entry.contains("time");
      }
    }
    ADD_FAILURE() << answer.text;
    return false;
  };
  EXPECT_TRUE(timed("m", R"("immutable":null)"));
  EXPECT_FALSE(timed("n", R"("data":null)"));
}

TEST(DifferentialWrites, RefuseUnknownContentTypeWithoutWarnings) {
  TestServer server;
  const Answer refused = server.call("PATCH /api/v1/namespaces/tst/endpoints/e", "{}",
                                     {{"content-type", "application/json"}});
  EXPECT_EQ(refused.status, 415);
  EXPECT_THAT(refused.warnings(), IsEmpty());
  EXPECT_THAT(server.patch("/api/v1/namespaces/tst/endpoints/e", "merge", "{}").warnings(),
              Not(IsEmpty()));
}

TEST(DifferentialWrites, CheckNewerEventsWhole) {
  TestServer server;
  const Answer made =
      server.post("/api/v1/namespaces/tst/events",
                  parse(R"({"metadata":{"name":"e","finalizers":["bad"]},"involvedObject":)"
                        R"({"kind":"Pod","namespace":"tst","name":"a"},"reason":"R"})"));
  EXPECT_EQ(made.status, 201) << made.text;
  const std::string label = R"({"metadata":{"labels":{"a":"b"}}})";
  EXPECT_EQ(server.patch("/api/v1/namespaces/tst/events/e", "merge", label).status, 200);
  EXPECT_THAT(server
                  .patch("/apis/events.k8s.io/v1/namespaces/tst/events/e", "merge",
                         R"({"metadata":{"labels":{"a":"c"}}})")
                  .message(),
              HasSubstr("metadata.finalizers[0]: Invalid value: \"bad\""));
}

TEST(DifferentialWrites, OwnEventsWrittenThroughOtherGroup) {
  TestServer server;
  server.post("/api/v1/namespaces/tst/events?fieldManager=old",
              parse(R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"tst",)"
                    R"("name":"a"},"reason":"R","type":"Normal"})"));
  const Answer answer =
      server.patch("/apis/events.k8s.io/v1/namespaces/tst/events/e?fieldManager=new", "merge",
                   R"({"metadata":{"finalizers":["ex.com/f"]}})");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.value["metadata"]["managedFields"][0]["manager"].as_string(), "new");
}

TEST(DifferentialWrites, ReportForeignUidBeforeMissingName) {
  TestServer server;
  EXPECT_THAT(server
                  .patch(with(kMaps, "/s?fieldManager=m"), "apply",
                         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":"u"}})")
                  .message(),
              HasSubstr("uid mismatch: the provided object specified uid u, and no existing"));
  EXPECT_THAT(
      server
          .patch("/apis/coordination.k8s.io/v1/namespaces/tst/leases/l?fieldManager=m", "apply",
                 R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":)"
                 R"({"name":"l","uid":"u"},"spec":{"leaseTransitions":1.5}})")
          .message(),
      HasSubstr("failed to convert new object (/l; "));
}

TEST(DifferentialWrites, RefusesApplyToObjectWithUntypableFields) {
  constexpr std::string_view kAccounts = "/api/v1/namespaces/tst/serviceaccounts";
  TestServer server;
  server.post(kAccounts, parse(R"({"metadata":{"name":"a"},"secrets":[{"uid":"x"}]})"));
  EXPECT_EQ(
      server
          .patch(with(kAccounts, "/a?fieldManager=m"), "apply",
                 R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a"},"zz":1})")
          .message(),
      "failed to create manager for existing fields: failed to convert new object (tst/a; /v1, "
      "Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an "
      "element that omits all key fields [\"name\"] (and doesn't have default values for any key "
      "fields)");
}

TEST(DifferentialWrites, ForgetOtherGroupOfUnchangedEvent) {
  TestServer server;
  server.post("/api/v1/namespaces/tst/events",
              parse(R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"tst",)"
                    R"("name":"a"},"reason":"R","type":"Normal"})"));
  EXPECT_FALSE(server.patch("/apis/events.k8s.io/v1/namespaces/tst/events/e", "merge", "{}")
                   .value["metadata"]
                   .contains("managedFields"));
}

TEST(DifferentialWrites, OwnNothingOfMistypedCustomObject) {
  TestServer server;
  define_widgets(server);
  server.post(kWidgets, parse(widget(R"({"ratio":1})")));
  const auto entries = [&](std::string_view spec) {
    const Answer answer =
        server.patch(with(kWidgets, "/w"), "merge", R"({"spec":)" + std::string(spec) + "}");
    EXPECT_EQ(answer.status, 200) << answer.text;
    return answer.value["metadata"]["managedFields"].size();
  };
  EXPECT_EQ(entries(R"({"when":"2020-01-01T00:00:00Z"})"), 1U);
  EXPECT_EQ(entries(R"({"when":[]})"), 0U);
  EXPECT_THAT(server.patch(with(kWidgets, "/w?fieldManager=m"), "apply", widget("{}")).message(),
              HasSubstr("failed to create manager for existing fields"));
  EXPECT_EQ(entries(R"({"when":null})"), 0U);
}

TEST(DifferentialWrites, PrintReplicasOfStatusAsNumbers) {
  constexpr std::string_view kDeployments = "/apis/apps/v1/namespaces/tst/deployments";
  TestServer server;
  server.post(kDeployments,
              parse(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
                    R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":)"
                    R"([{"name":"c","image":"x"}]}}}})"));
  EXPECT_THAT(server
                  .patch(with(kDeployments, "/d/status"), "merge",
                         R"({"status":{"readyReplicas":-1,"availableReplicas":0}})")
                  .message(),
              HasSubstr("status.availableReplicas: Invalid value: 0: cannot be greater"));
}

TEST(DifferentialWrites, OnlyNewFinalizersAreWarnedOf) {
  TestServer server;
  define_widgets(server);
  const Answer made =
      server.post(kWidgets, parse(R"({"apiVersion":"ex.com/v1","kind":"Widget",)"
                                  R"("metadata":{"name":"w","finalizers":["a"]}})"));
  EXPECT_THAT(made.warnings(),
              ::testing::ElementsAre(HasSubstr("metadata.finalizers: \\\"a\\\": ")));
  const std::string more = R"({"metadata":{"finalizers":["a","c","b"]}})";
  EXPECT_THAT(server.patch(with(kWidgets, "/w"), "merge", more).warnings(),
              ::testing::ElementsAre(HasSubstr("metadata.finalizers: \\\"b\\\": "),
                                     HasSubstr("metadata.finalizers: \\\"c\\\": ")));
}

TEST(DifferentialWrites, TakeAnotherPolicyForPodEndingAtOnce) {
  TestServer server;
  const std::string pods = "/api/v1/namespaces/tst/pods";
  server.post(pods, parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
                          R"("image":"x"}]}})"));
  server.remove(pods + "/p?orphanDependents=true");
  EXPECT_EQ(server.remove(pods + "/p?propagationPolicy=Foreground").value["metadata"]["finalizers"],
            parse(R"(["foregroundDeletion"])"));
}

TEST(DifferentialWrites, RemovePodEndingAtOnceUnchanged) {
  TestServer server;
  const std::string pods = "/api/v1/namespaces/tst/pods";
  server.post(pods, parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
                          R"("image":"x"}]}})"));
  const Answer held = server.remove(pods + "/p?propagationPolicy=Orphan");
  const Answer gone = server.remove(pods + "/p?propagationPolicy=Background&gracePeriodSeconds=5");
  const auto version = [](const Answer& answer) {
    return std::stoi(answer.value["metadata"]["resourceVersion"].str());
  };
  EXPECT_EQ(gone.value["metadata"]["finalizers"], parse(R"(["orphan"])"));
  EXPECT_EQ(version(gone), version(held) + 1);
  EXPECT_EQ(server.get(pods + "/p").status, 404);
}

TEST(DifferentialWrites, AScaleIsAnObjectOfItsOwn) {
  constexpr std::string_view kDeployments = "/apis/apps/v1/namespaces/tst/deployments";
  TestServer server;
  server.post(
      kDeployments,
      parse(R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":)"
            R"({"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":)"
            R"([{"name":"c","image":"x"}]}}}})"));
  const std::string path = with(kDeployments, "/d/scale");
  struct {
    const char* patch;
    int status;
    const char* message;
  } const cases[] = {
      {R"({"kind":"Foo"})", 422, "the kind and apiVersion of an object cannot change"},
      {R"({"apiVersion":"v9"})", 422, "the kind and apiVersion of an object cannot change"},
      {R"({"metadata":{"name":"other"}})", 400, "does not match the name on the URL (d)"},
      {R"({"metadata":{"name":null}})", 400, "was undeterminable: name must be provided"},
      {R"({"metadata":{"namespace":"other"}})", 400, "does not match the namespace sent"},
      {R"({"metadata":{"uid":"x"}})", 409,
       R"(deployments/scale.apps "d": Precondition failed: UID in precondition: x, UID in object)"},
      {R"({"metadata":{"labels":{"a":"c d"}}})", 422,
       R"(Scale.autoscaling "d" is invalid: metadata.labels: Invalid value: "c d")"},
      {R"({"metadata":{"finalizers":["bad"]}})", 422, "metadata.finalizers[0]"},
      {R"({"metadata":5})", 422, "patch: Invalid value: "},
      {R"({"spec":5})", 422, "patch: Invalid value: "},
      {R"({"spec":{"replicas":"x"}})", 422, R"(\"spec\":{\"replicas\":\"x\"})"},
      {R"({"spec":{"replicas":1.5}})", 422, "patch: Invalid value: "},
      {R"({"spec":{"replicas":1099511627776}})", 422, "patch: Invalid value: "},
      {R"({"spec":{"replicas":-1}})", 422, "must be greater than or equal to 0"},
      {"[]", 400, "error decoding patch"},
      {"null", 400, "error decoding patch"},
      {"{", 400, "error decoding patch"},
  };
  for (const auto& [patch, status, message] : cases) {
    const Answer answer = server.patch(path + "?dryRun=All&fieldManager=m", "merge", patch);
    EXPECT_EQ(answer.status, status) << patch << answer.text;
    EXPECT_THAT(answer.message(), HasSubstr(message)) << patch;
    EXPECT_EQ(server.patch(path + "?fieldManager=m", "apply", patch).status, 400) << patch;
  }
  const Answer odd = server.patch(path, "merge", R"({"spec":{"zz":1}})");
  EXPECT_EQ(odd.status, 200) << odd.text;
  EXPECT_THAT(odd.warnings(), ::testing::ElementsAre(HasSubstr("unknown field")));
  EXPECT_THAT(
      server.patch(path + "?fieldValidation=Strict", "strategic-merge", R"({"zz":[1]})").message(),
      HasSubstr(R"(patch: Invalid value: "map[zz:[1]]": strict decoding error: unknown )"
                R"(field "zz")"));
}

TEST(DifferentialWrites, RefuseEmptyVersionOfSomeKinds) {
  constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/tst/leases";
  TestServer server;
  server.post(kLeases, parse(R"({"metadata":{"name":"l"}})"));
  server.post(kMaps, config_map("s"));
  for (const std::string_view version : {R"("")", "null", R"("0")"}) {
    const std::string patch =
        R"({"metadata":{"resourceVersion":)" + std::string(version) + R"(,"labels":{"a":"b"}}})";
    EXPECT_THAT(server.patch(with(kLeases, "/l"), "merge", patch).message(),
                HasSubstr("metadata.resourceVersion: Invalid value: 0: must be specified"));
    EXPECT_EQ(server.patch(with(kMaps, "/s"), "merge", patch).status, 200);
  }
  EXPECT_EQ(
      server.patch(with(kLeases, "/l"), "merge", R"({"metadata":{"labels":{"a":"b"}}})").status,
      200);
}

TEST(DifferentialWrites, OptionsOfADeletionAreTyped) {
  TestServer server;
  server.post(kMaps, config_map("s"));
  struct {
    const char* options;
    const char* message;
  } const cases[] = {
      {R"({"preconditions":{"uid":5}})",
       "json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type "
       "types.UID"},
      {R"({"preconditions":5})",
       "json: cannot unmarshal number into Go struct field DeleteOptions.preconditions of type "
       "v1.Preconditions"},
      {R"({"gracePeriodSeconds":1.5})",
       "json: cannot unmarshal number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of "
       "type int64"},
      {R"({"orphanDependents":1})",
       "json: cannot unmarshal number into Go struct field DeleteOptions.orphanDependents of type "
       "bool"},
      {R"({"dryRun":"All"})",
       "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string"},
  };
  for (const auto& [options, message] : cases) {
    const Answer refused = server.remove(with(kMaps, "/s"), parse(options));
    EXPECT_EQ(refused.status, 400) << options;
    EXPECT_EQ(refused.message(), message);
  }
  EXPECT_EQ(server.get(with(kMaps, "/s")).status, 200);
}

TEST(DifferentialWrites, GenerateNameForCustomObjectOfOtherKind) {
  TestServer server;
  define_widgets(server);
  const Answer answer = server.post(
      kWidgets,
      parse(R"({"apiVersion":"ex.com/v1","kind":"Other","metadata":{"generateName":"g-"}})"));
  EXPECT_THAT(answer.value["details"]["name"].str(), ::testing::MatchesRegex("g-.{5}"));
}

TEST(DifferentialWrites, RefuseOtherNamespaceOfMissingObject) {
  TestServer server;
  const Answer refused =
      server.put(with(kMaps, "/a"), parse(R"({"metadata":{"name":"a","namespace":"other"}})"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.message(), HasSubstr("does not match the namespace sent on the request"));
}

TEST(DifferentialWrites, DropNameInApplyWithoutMetadata) {
  TestServer server;
  const std::string path = with(kMaps, "/a?fieldManager=m");
  const auto apply = [&](std::string_view rest) {
    return server.patch(path, "apply",
                        R"({"apiVersion":"v1","kind":"ConfigMap",)" + std::string(rest) + "}");
  };
  apply(R"("metadata":{"name":"a","labels":{"a":"b"}})");
  EXPECT_THAT(apply(R"("data":{"a":"b"})").message(), HasSubstr("name must be provided"));
  EXPECT_EQ(apply(R"("metadata":{"name":"a"},"data":{"a":"b"})").status, 200);
  EXPECT_EQ(apply(R"("data":{"a":"c"})").status, 200);
}

TEST(DifferentialWrites, ReportsStaleVersionBeforeWrongType) {
  TestServer server;
  define_widgets(server);
  server.post(kWidgets, parse(widget("{}")));
  EXPECT_EQ(server
                .patch(with(kWidgets, "/w"), "merge",
                       R"({"apiVersion":"v9","metadata":{"resourceVersion":"1"}})")
                .status,
            409);
}

TEST(DifferentialWrites, TheSelectorOfAScaleIsSorted) {
  constexpr std::string_view kControllers = "/api/v1/namespaces/tst/replicationcontrollers";
  TestServer server;
  server.post(kControllers,
              parse(R"({"metadata":{"name":"r"},"spec":{"selector":{"b":"1","a":"2"},"template":)"
                    R"({"metadata":{"labels":{"b":"1","a":"2"}},"spec":{"containers":)"
                    R"([{"name":"c","image":"x"}]}}}})"));
  EXPECT_EQ(server.get(with(kControllers, "/r/scale")).value["status"]["selector"].as_string(),
            "a=2,b=1");
}

}  // namespace
}  // namespace athanor::apiserver::differential_writes_test
