// SPDX-License-Identifier: Apache-2.0
// Admission webhooks through the whole server: the matrix of docs/spec/apiserver.md 15.2 (A13).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "unit/embedded/apiserver/test_server.hpp"
#include "unit/embedded/apiserver/webhooks/fake_outside.hpp"

namespace athanor::apiserver::admission_webhooks_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr std::string_view kConfigs = "/apis/admissionregistration.k8s.io/v1/";
constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

Value labelled_map(std::string_view name, std::string_view more = "{}") {
  Value map = parse(R"({"apiVersion":"v1","kind":"ConfigMap"})");
  map.set("metadata", parse(more));
  map.member("metadata").set("name", name);
  return map;
}

// A webhook on https://hooks/NAME for writes of configmaps, with `more` set over it.
Value webhook(std::string_view name, std::string_view more = "{}") {
  Value hook = Value::object(
      {{"name", std::string(name) + ".ex.com"},
       {"clientConfig", Value::object({{"url", "https://hooks/" + std::string(name)}})},
       {"rules", parse(R"([{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
                            "resources":["configmaps"]}])")},
       {"sideEffects", "None"},
       {"admissionReviewVersions", parse(R"(["v1"])")}});
  const Value over = parse(more);
  for (const Member& member : over.members()) {
    hook.set(member.key(), member.value);
  }
  return hook;
}

class AdmissionWebhooks : public testing::Test {
 protected:
  void configure(std::string_view kind, std::string_view name, std::vector<Value> hooks) {
    const bool mutating = kind == "Mutating";
    const Answer made =
        server_.post(std::string(kConfigs) + (mutating ? "mutatingwebhookconfigurations"
                                                       : "validatingwebhookconfigurations"),
                     Value::object({{"metadata", Value::object({{"name", name}})},
                                    {"webhooks", Value::list(std::move(hooks))}}));
    ASSERT_EQ(made.status, 201) << made.message();
  }
  void mutating(std::string_view name, std::vector<Value> hooks) {
    configure("Mutating", name, std::move(hooks));
  }
  void validating(std::string_view name, std::vector<Value> hooks) {
    configure("Validating", name, std::move(hooks));
  }
  void allow_at(std::string_view name) { outside_.on("https://hooks/" + std::string(name), allow); }
  void patch_at(std::string_view name, const std::string& patch) {
    outside_.on("https://hooks/" + std::string(name),
                [patch](const Value& review) { return allow_with_patch(review, patch); });
  }
  Answer create(std::string_view name, std::string_view metadata = "{}",
                std::string_view query = "") {
    return server_.post(std::string(kMaps) + std::string(query), labelled_map(name, metadata));
  }

  FakeOutside outside_{};
  TestServer server_{{}, &outside_};
};

TEST_F(AdmissionWebhooks, ReviewDescribesPendingOperation) {
  validating("v", {webhook("a", R"({"timeoutSeconds":7})")});
  allow_at("a");
  ASSERT_EQ(create("one", R"({"labels":{"x":"y"}})", "?fieldManager=me").status, 201);
  ASSERT_EQ(outside_.asked.size(), 1U);
  const OutsideRequest& sent = outside_.asked[0].request;
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url, "https://hooks/a?timeout=7s");
  EXPECT_EQ(sent.timeout, std::chrono::seconds(7));
  EXPECT_THAT(sent.headers,
              UnorderedElementsAre(std::pair("Content-Type", "application/json"),
                                   std::pair("Accept", "application/json, */*"),
                                   std::pair("User-Agent", "kube-apiserver-admission")));
  const Value& review = outside_.asked[0].body;
  EXPECT_EQ(review["apiVersion"], Value("admission.k8s.io/v1"));
  EXPECT_EQ(review["kind"], Value("AdmissionReview"));
  const Value& request = review["request"];
  EXPECT_EQ(request["uid"].as_string().size(), 36U);
  EXPECT_EQ(request["kind"], parse(R"({"group":"","version":"v1","kind":"ConfigMap"})"));
  EXPECT_EQ(request["resource"], parse(R"({"group":"","version":"v1","resource":"configmaps"})"));
  EXPECT_EQ(request["requestKind"], request["kind"]);
  EXPECT_EQ(request["requestResource"], request["resource"]);
  EXPECT_EQ(request["name"], Value("one"));
  EXPECT_EQ(request["namespace"], Value("tst"));
  EXPECT_EQ(request["operation"], Value("CREATE"));
  EXPECT_EQ(request["userInfo"]["username"], Value("admin"));
  EXPECT_EQ(request["object"]["metadata"]["labels"]["x"], Value("y"));
  EXPECT_EQ(request["object"]["metadata"]["uid"].as_string().size(), 36U);
  EXPECT_TRUE(request.contains("oldObject") && request["oldObject"].is_null());
  EXPECT_EQ(request["dryRun"], Value(false));
  EXPECT_EQ(request["options"], parse(R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1",
                                          "fieldManager":"me"})"));
}

TEST_F(AdmissionWebhooks, ShowBothObjectsAtUpdateOldAtDelete) {
  ASSERT_EQ(create("one").status, 201);
  validating("v", {webhook("a")});
  allow_at("a");
  const std::string path = std::string(kMaps) + "/one";
  EXPECT_EQ(server_.patch(path, "merge", R"({"data":{"k":"v"}})").status, 200);
  EXPECT_EQ(server_.remove(path).status, 200);
  ASSERT_EQ(outside_.asked.size(), 2U);
  const Value& update = outside_.asked[0].body["request"];
  EXPECT_EQ(update["operation"], Value("UPDATE"));
  EXPECT_EQ(update["options"]["kind"], Value("UpdateOptions"));
  EXPECT_EQ(update["object"]["data"]["k"], Value("v"));
  EXPECT_TRUE(update["oldObject"]["data"].is_null());
  EXPECT_EQ(update["oldObject"]["kind"], Value("ConfigMap"));
  const Value& removal = outside_.asked[1].body["request"];
  EXPECT_EQ(removal["operation"], Value("DELETE"));
  EXPECT_TRUE(removal["object"].is_null());
  EXPECT_EQ(removal["oldObject"]["data"]["k"], Value("v"));
  EXPECT_EQ(removal["options"]["kind"], Value("DeleteOptions"));
}

TEST_F(AdmissionWebhooks, APatchThatChangesNothingIsReviewedToo) {
  ASSERT_EQ(create("one").status, 201);
  patch_at("a", R"([{"op":"add","path":"/data","value":{"set":"by hook"}}])");
  mutating("m", {webhook("a")});
  const Answer patched = server_.patch(std::string(kMaps) + "/one", "merge", "{}");
  EXPECT_EQ(patched.value["data"]["set"], Value("by hook"));
}

TEST_F(AdmissionWebhooks, IgnoreStatusWrittenByWebhook) {
  mutating("m", {webhook("a", R"({"rules":[{"operations":["*"],"apiGroups":["apps"],
                                  "apiVersions":["v1"],"resources":["deployments"]}]})")});
  patch_at("a", R"([{"op":"add","path":"/status","value":{"replicas":7}},
                    {"op":"add","path":"/spec/paused","value":true}])");
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  const Answer made = server_.post(path, parse(R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(made.value["spec"]["paused"], Value(true));
  EXPECT_TRUE(made.value["status"]["replicas"].is_null());
  const Answer patched = server_.patch(path + "/d", "merge", R"({"spec":{"paused":false}})");
  ASSERT_EQ(patched.status, 200) << patched.message();
  EXPECT_EQ(patched.value["spec"]["paused"], Value(true));
  EXPECT_TRUE(patched.value["status"]["replicas"].is_null());
}

// Rows of the outcome table: what the webhook does, and what the client hears.
struct Outcome {
  std::string_view what;
  OutsideAnswer (*answer)(const Value& review);
  int code;
  std::string_view reason;
  std::string_view message;
};
const Outcome kOutcomes[] = {
    {"status with code",
     +[](const Value& review) {
       return review_answer(review, parse(R"({"allowed":false,"status":{"code":403,
           "reason":"Forbidden","message":"no way"}})"));
     },
     403, "Forbidden", R"(admission webhook "t.ex.com" denied the request: no way)"},
    {"status below 400",
     +[](const Value& review) {
       return review_answer(review, parse(R"({"allowed":false,"status":{"code":200,
           "message":"no way"}})"));
     },
     400, "", R"(admission webhook "t.ex.com" denied the request: no way)"},
    {"reason alone",
     +[](const Value& review) {
       return review_answer(review, parse(R"({"allowed":false,"status":{"reason":"Odd"}})"));
     },
     400, "Odd", R"(admission webhook "t.ex.com" denied the request: Odd)"},
    {"bare",
     +[](const Value& review) { return review_answer(review, parse(R"({"allowed":false})")); }, 400,
     "", R"(admission webhook "t.ex.com" denied the request without explanation)"},
};

TEST_F(AdmissionWebhooks, PassStatusOfDenialsUnderAnyPolicy) {
  for (const char* policy : {"Fail", "Ignore"}) {
    for (const Outcome& row : kOutcomes) {
      FakeOutside outside;
      TestServer server({}, &outside);
      outside.on("https://hooks/t", row.answer);
      const Value hook = webhook("t", std::string(R"({"failurePolicy":")") + policy + "\"}");
      server.post(std::string(kConfigs) + "validatingwebhookconfigurations",
                  Value::object(
                      {{"metadata", parse(R"({"name":"v"})")}, {"webhooks", Value::list({hook})}}));
      const Answer answer = server.post(kMaps, labelled_map("x"));
      EXPECT_EQ(answer.status, row.code) << row.what;
      EXPECT_EQ(answer.message(), row.message) << row.what;
      EXPECT_EQ(answer.reason(), row.reason) << row.what;
    }
  }
}

struct Failure {
  std::string_view what;
  OutsideAnswer (*answer)(const Value& review);
  std::string_view message;  // behind `failed calling webhook "t.ex.com": `
};
const Failure kFailures[] = {
    {"timeout", +[](const Value&) { return OutsideAnswer{.failure = "context deadline exceeded"}; },
     R"(failed to call webhook: Post "https://hooks/t?timeout=10s": context deadline exceeded)"},
    {"refused",
     +[](const Value&) {
       return OutsideAnswer{.failure = "dial tcp 127.0.0.1:19444: connect: connection refused"};
     },
     R"(failed to call webhook: Post "https://hooks/t?timeout=10s": dial tcp 127.0.0.1:19444: )"
     "connect: connection refused"},
    {"500",
     +[](const Value&) {
       return OutsideAnswer{
           .status = 500, .headers = {{"content-type", "text/plain"}}, .body = "boom\n"};
     },
     R"(failed to call webhook: an error on the server ("boom") has prevented the request from )"
     "succeeding"},
    {"404", +[](const Value&) { return OutsideAnswer{.status = 404}; },
     "failed to call webhook: the server could not find the requested resource"},
    {"garbage", +[](const Value&) { return OutsideAnswer{.status = 200, .body = "nonsense"}; },
     "failed to call webhook: couldn't get version/kind; json parse error: "},
    {"no response",
     +[](const Value& review) {
       return json_answer(
           Value::object({{"kind", "AdmissionReview"}, {"apiVersion", review["apiVersion"]}}));
     },
     "received invalid webhook response: webhook response was absent"},
    {"other uid",
     +[](const Value&) {
       return json_answer(parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
           "response":{"uid":"x","allowed":true}})"));
     },
     R"(received invalid webhook response: expected response.uid=")"},
    {"other kind",
     +[](const Value& review) {
       return json_answer(Value::object(
           {{"kind", "Review"},
            {"apiVersion", "admission.k8s.io/v1"},
            {"response", Value::object({{"uid", review["request"]["uid"]}, {"allowed", true}})}}));
     },
     "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
     "Kind=AdmissionReview, got admission.k8s.io/v1, Kind=Review"},
    {"patch of a validating one",
     +[](const Value& review) {
       return allow_with_patch(review, R"([{"op":"add","path":"/data","value":{}}])");
     },
     "received invalid webhook response: validating webhook may not return response.patch"},
};

TEST_F(AdmissionWebhooks, RefuseOrIgnoreFailuresByPolicy) {
  for (const Failure& row : kFailures) {
    for (const bool ignore : {false, true}) {
      FakeOutside outside;
      TestServer server({}, &outside);
      outside.on("https://hooks/t", row.answer);
      const Value hook = webhook("t", ignore ? R"({"failurePolicy":"Ignore"})" : "{}");
      server.post(std::string(kConfigs) + "validatingwebhookconfigurations",
                  Value::object(
                      {{"metadata", parse(R"({"name":"v"})")}, {"webhooks", Value::list({hook})}}));
      const Answer answer = server.post(kMaps, labelled_map("x"));
      if (ignore) {
        EXPECT_EQ(answer.status, 201) << row.what;
        continue;
      }
      EXPECT_EQ(answer.status, 500) << row.what;
      EXPECT_EQ(answer.reason(), "InternalError") << row.what;
      EXPECT_THAT(answer.message(),
                  StartsWith(R"(Internal error occurred: failed calling webhook "t.ex.com": )" +
                             std::string(row.message)))
          << row.what;
    }
  }
}

TEST_F(AdmissionWebhooks, ReportInvalidPatchesEvenWhenIgnoringFailures) {
  patch_at("t", R"([{"op":"remove","path":"/data/nope"}])");
  mutating("m", {webhook("t", R"({"failurePolicy":"Ignore"})")});
  const Answer answer = create("x");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.message(),
            "Internal error occurred: remove operation does not apply: doc is missing path: "
            "\"/data/nope\": missing value");
}

TEST_F(AdmissionWebhooks, OfAScaleSeeAndChangeTheScale) {
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  ASSERT_EQ(server_
                .post(path, parse(R"({"metadata":{"name":"d"},"spec":{"replicas":1,
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})"))
                .status,
            201);
  const char* rules = R"({"rules":[{"operations":["UPDATE"],"apiGroups":["apps"],
      "apiVersions":["v1"],"resources":["deployments/scale"]}]})";
  patch_at("m", R"([{"op":"test","path":"/spec/replicas","value":3},
                    {"op":"replace","path":"/spec/replicas","value":2}])");
  allow_at("v");
  mutating("m", {webhook("m", rules)});
  validating("v", {webhook("v", rules)});
  const Answer scaled = server_.patch(path + "/d/scale", "merge", R"({"spec":{"replicas":3}})");
  ASSERT_EQ(scaled.status, 200) << scaled.message();
  EXPECT_EQ(scaled.value["spec"]["replicas"].as_int(), 2);
  EXPECT_EQ(server_.get(path + "/d").value["spec"]["replicas"].as_int(), 2);
  const Value& seen = outside_.asked.back().body["request"];
  EXPECT_EQ(seen["kind"], parse(R"({"group":"autoscaling","version":"v1","kind":"Scale"})"));
  EXPECT_EQ(seen["resource"]["resource"].str(), "deployments");
  EXPECT_EQ(seen["subResource"].str(), "scale");
  EXPECT_EQ(seen["object"]["spec"]["replicas"].as_int(), 2);
  EXPECT_EQ(seen["oldObject"]["spec"]["replicas"].as_int(), 1);
}

TEST_F(AdmissionWebhooks, AnswerWithFirstDenialInConfigurationOrder) {
  for (const char* name : {"a", "b"}) {
    outside_.on("https://hooks/" + std::string(name), [name](const Value& review) {
      return review_answer(review, Value::object({{"allowed", false},
                                                  {"status", Value::object({{"message", name}})}}));
    });
  }
  validating("z", {webhook("a")});
  validating("y", {webhook("b")});
  EXPECT_THAT(create("x").message(), HasSubstr("denied the request: b"));
}

TEST_F(AdmissionWebhooks, TakeNoLongerThanTheRequestMay) {
  validating("v", {webhook("t", R"({"failurePolicy":"Ignore"})")});
  outside_.on("https://hooks/t", [this](const Value& /*review*/) {
    EXPECT_LE(outside_.asked.back().request.timeout, std::chrono::seconds(2));
    server_.advance(std::chrono::seconds(2));
    return OutsideAnswer{.failure = "context deadline exceeded"};
  });
  const Answer late = create("x", "{}", "?timeout=2s");
  EXPECT_EQ(late.status, 504);
  EXPECT_EQ(late.reason(), "Timeout");
  EXPECT_THAT(late.message(), HasSubstr("request did not complete within requested timeout"));
  EXPECT_EQ(server_.get(std::string(kMaps) + "/x").status, 404);
}

TEST_F(AdmissionWebhooks, WarningsReachTheClientOfDenialsToo) {
  validating("v", {webhook("t")});
  outside_.on("https://hooks/t", [](const Value& review) {
    return review_answer(review, parse(R"({"allowed":false,"warnings":["mind the gap"]})"));
  });
  EXPECT_THAT(create("x").warnings(), ElementsAre(R"(299 - "mind the gap")"));
}

TEST_F(AdmissionWebhooks, RunMutatingOnesInTurnWithEarlierPatches) {
  patch_at("a", R"([{"op":"add","path":"/data","value":{"seen":"a"}}])");
  patch_at("b", R"([{"op":"test","path":"/data/seen","value":"a"},
                    {"op":"replace","path":"/data/seen","value":"ab"}])");
  patch_at("c", R"([{"op":"test","path":"/data/seen","value":"ab"},
                    {"op":"replace","path":"/data/seen","value":"abc"}])");
  mutating("y", {webhook("c")});
  mutating("x", {webhook("a"), webhook("b")});
  validating("v", {webhook("d")});
  allow_at("d");
  const Answer made = create("one");
  EXPECT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(made.value["data"]["seen"], Value("abc"));
  EXPECT_THAT(outside_.order(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(outside_.asked[3].body["request"]["object"]["data"]["seen"], Value("abc"));
  // One write, one object, whatever the number of passes.
  std::set<std::string> uids;
  for (const auto& asked : outside_.asked) {
    uids.insert(asked.body["request"]["object"]["metadata"]["uid"].str());
  }
  EXPECT_EQ(uids.size(), 1U);
}

TEST_F(AdmissionWebhooks, ReinvokeThoseThatAskAfterLaterChange) {
  outside_.on("https://hooks/a", [](const Value& review) {
    // Copies what others set.
    const Value& data = review["request"]["object"]["data"];
    return data["b"].is_null()
               ? allow(review)
               : allow_with_patch(review, R"([{"op":"add","path":"/data/a","value":"saw b"}])");
  });
  patch_at("b", R"([{"op":"add","path":"/data","value":{"b":"1"}}])");
  allow_at("c");
  mutating("m", {webhook("a", R"({"reinvocationPolicy":"IfNeeded"})"),
                 webhook("b"),  // Never
                 webhook("c", R"({"reinvocationPolicy":"IfNeeded"})")});
  const Answer made = create("one");
  EXPECT_EQ(made.value["data"], parse(R"({"a":"saw b","b":"1"})"));
  // c ran after the change: it is called again only because a then changed the object... which
  // happens in the second round, behind which there is no third.
  EXPECT_THAT(outside_.order(), ElementsAre("a", "b", "c", "a", "c"));
}

TEST_F(AdmissionWebhooks, CallsWebhookAgainOnlyAfterLaterChange) {
  patch_at("a", R"([{"op":"add","path":"/data","value":{"a":"1"}}])");
  allow_at("b");
  mutating("m", {webhook("a", R"({"reinvocationPolicy":"IfNeeded"})"),
                 webhook("b", R"({"reinvocationPolicy":"IfNeeded"})")});
  EXPECT_EQ(create("one").status, 201);
  EXPECT_THAT(outside_.order(), ElementsAre("a", "b"));
}

TEST_F(AdmissionWebhooks, DryRunsGoToThoseWithoutSideEffects) {
  allow_at("a");
  validating("v", {webhook("a", R"({"sideEffects":"NoneOnDryRun"})")});
  EXPECT_EQ(create("x", "{}", "?dryRun=All").status, 201);
  ASSERT_EQ(outside_.asked.size(), 1U);
  EXPECT_EQ(outside_.asked[0].body["request"]["dryRun"], Value(true));
  EXPECT_EQ(outside_.asked[0].body["request"]["options"]["dryRun"], parse(R"(["All"])"));
}

TEST_F(AdmissionWebhooks, TheOlderReviewVersionIsSpoken) {
  validating("v", {webhook("a", R"({"admissionReviewVersions":["v0","v1beta1"]})")});
  allow_at("a");
  EXPECT_EQ(create("x").status, 201);
  EXPECT_EQ(outside_.asked[0].body["apiVersion"], Value("admission.k8s.io/v1beta1"));
}

TEST_F(AdmissionWebhooks, AdmissionsOwnConfigurationIsNeverReviewed) {
  validating("v", {webhook("a", R"({"rules":[{"operations":["*"],"apiGroups":["*"],
                                   "apiVersions":["*"],"resources":["*/*"]}]})")});
  // Nobody answers at a: everything else fails, this does not.
  EXPECT_EQ(create("x").status, 500);
  EXPECT_EQ(server_
                .patch(std::string(kConfigs) + "validatingwebhookconfigurations/v", "merge",
                       R"({"metadata":{"labels":{"a":"b"}}})")
                .status,
            200);
  EXPECT_EQ(server_.remove(std::string(kConfigs) + "validatingwebhookconfigurations/v").status,
            200);
  EXPECT_EQ(create("x").status, 201);
}

TEST_F(AdmissionWebhooks, ACollectionIsDeletedObjectByObject) {
  for (const char* name : {"one", "two", "three"}) {
    ASSERT_EQ(create(name, R"({"labels":{"go":"yes"}})").status, 201);
  }
  validating("v", {webhook("a")});
  allow_at("a");
  const Answer gone = server_.remove(std::string(kMaps) + "?labelSelector=go=yes");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.value["items"].size(), 3U);
  EXPECT_EQ(outside_.asked.size(), 3U);
  EXPECT_EQ(server_.get(std::string(kMaps) + "/one").status, 404);
}

TEST_F(AdmissionWebhooks, ServicesAreDialledAtTheirEndpoints) {
  const Value service_hook = webhook("a", R"({"clientConfig":{"service":
      {"namespace":"tst","name":"svc","path":"/hooks/check"}}})");
  validating("v", {service_hook});
  EXPECT_EQ(
      create("x").message(),
      R"(Internal error occurred: failed calling webhook "a.ex.com": failed to call webhook: )"
      R"(Post "https://svc.tst.svc:443/hooks/check?timeout=10s": service "svc" not found)");
  server_.post("/api/v1/namespaces/tst/services",
               parse(R"({"metadata":{"name":"svc"},"spec":{"ports":[{"port":443,
                         "targetPort":9443}]}})"));
  EXPECT_THAT(create("x").message(), HasSubstr(R"(no endpoints available for service "svc")"));
  ASSERT_EQ(server_
                .post("/api/v1/namespaces/tst/endpoints",
                      parse(R"({"metadata":{"name":"svc"},"subsets":[{"addresses":
                        [{"ip":"127.0.0.1"}],"ports":[{"port":9443}]}]})"))
                .status,
            201);
  outside_.on("https://svc.tst.svc:443/hooks/check", allow);
  EXPECT_EQ(create("x").status, 201);
  EXPECT_EQ(outside_.asked.back().request.connect_to, "127.0.0.1:9443");
  server_.patch("/api/v1/namespaces/tst/services/svc", "merge",
                R"({"metadata":{"annotations":{"athanor.dev/endpoint":"127.0.0.1:7"}}})");
  EXPECT_EQ(create("y").status, 201);
  EXPECT_EQ(outside_.asked.back().request.connect_to, "127.0.0.1:7");
}

// Rules and selectors: which writes a webhook sees.
struct MatchRow {
  std::string_view what;
  std::string_view hook;  // over the webhook
  bool config_map;        // is it called for a ConfigMap with label a=b in a namespace with team=x
  bool namespace_;        // and for a Namespace with label a=b
};
constexpr MatchRow kMatches[] = {
    {"everything", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*"]}]})",
     true, true},
    {"cluster scope", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*/*"],"scope":"Cluster"}]})",
     false, true},
    {"namespaced scope", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*/*"],"scope":"Namespaced"}]})",
     true, false},
    {"updates only", R"({"rules":[{"operations":["UPDATE"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*"]}]})",
     false, false},
    {"subresources only", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*/status"]}]})",
     false, false},
    {"resource with all subresources", R"({"rules":[{"operations":["CREATE"],"apiGroups":[""],
      "apiVersions":["v1"],"resources":["configmaps/*"]}]})",
     true, false},
    {"other group", R"({"rules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["*"],
      "resources":["*"]}]})",
     false, false},
    {"namespaces of a team", R"({"rules":[{"operations":["*"],"apiGroups":["*"],
      "apiVersions":["*"],"resources":["*"]}],
      "namespaceSelector":{"matchLabels":{"team":"x"}}})",
     true, false},
    {"namespaces of nobody", R"({"rules":[{"operations":["*"],"apiGroups":["*"],
      "apiVersions":["*"],"resources":["*"]}],
      "namespaceSelector":{"matchLabels":{"team":"y"}}})",
     false, false},
    {"labelled objects", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*"]}],"objectSelector":{"matchLabels":{"a":"b"}}})",
     true, true},
    {"other labels", R"({"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],
      "resources":["*"]}],"objectSelector":{"matchLabels":{"a":"c"}}})",
     false, false},
};

TEST_F(AdmissionWebhooks, RulesScopeAndSelectorsDecide) {
  server_.patch("/api/v1/namespaces/tst", "merge", R"({"metadata":{"labels":{"team":"x"}}})");
  allow_at("a");
  int number = 0;
  for (const MatchRow& row : kMatches) {
    const std::string name = "n" + std::to_string(number++);
    validating(name, {webhook("a", row.hook)});
    outside_.asked.clear();
    EXPECT_EQ(create(name, R"({"labels":{"a":"b"}})").status, 201);
    EXPECT_EQ(!outside_.asked.empty(), row.config_map) << row.what;
    outside_.asked.clear();
    server_.post(
        "/api/v1/namespaces",
        Value::object(
            {{"metadata", Value::object({{"name", name}, {"labels", parse(R"({"a":"b"})")}})}}));
    EXPECT_EQ(!outside_.asked.empty(), row.namespace_) << row.what;
    server_.remove(std::string(kConfigs) + "validatingwebhookconfigurations/" + name);
  }
}

TEST_F(AdmissionWebhooks, OtherVersionsOfAResourceMatchByDefault) {
  const std::string_view hpa = R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,
      "scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},
      "targetCPUUtilizationPercentage":50}})";
  const std::string rules = R"("rules":[{"operations":["*"],"apiGroups":["autoscaling"],
      "apiVersions":["v2"],"resources":["horizontalpodautoscalers"]}])";
  validating("v", {webhook("a", "{" + rules + "}"),
                   webhook("b", R"({"matchPolicy":"Exact",)" + rules + "}")});
  allow_at("a");
  const Answer made =
      server_.post("/apis/autoscaling/v1/namespaces/tst/horizontalpodautoscalers", parse(hpa));
  ASSERT_EQ(made.status, 201) << made.message();
  ASSERT_THAT(outside_.order(), ElementsAre("a"));
  const Value& request = outside_.asked[0].body["request"];
  EXPECT_EQ(request["kind"]["version"], Value("v2"));
  EXPECT_EQ(request["resource"]["version"], Value("v2"));
  EXPECT_EQ(request["requestKind"]["version"], Value("v1"));
  EXPECT_EQ(request["requestResource"]["version"], Value("v1"));
  EXPECT_EQ(request["object"]["spec"]["metrics"][0]["type"], Value("Resource"));
}

TEST_F(AdmissionWebhooks, WritesOfTheStatusNameTheSubresource) {
  validating("v", {webhook("a", R"({"rules":[{"operations":["*"],"apiGroups":[""],
      "apiVersions":["v1"],"resources":["namespaces/status"]}]})")});
  allow_at("a");
  server_.patch("/api/v1/namespaces/tst/status", "merge", R"({"status":{"phase":"Active"}})");
  ASSERT_EQ(outside_.asked.size(), 1U);
  EXPECT_EQ(outside_.asked[0].body["request"]["subResource"], Value("status"));
  EXPECT_EQ(outside_.asked[0].body["request"]["namespace"], Value("tst"));
}

struct ConditionRow {
  std::string_view expression;
  bool called;               // for the object "x" by the user "admin"
  std::string_view refusal;  // with failurePolicy Fail
};
constexpr ConditionRow kConditions[] = {
    {"object.metadata.name == 'x'", true, ""},
    {"object.metadata.name != 'x'", false, ""},
    {"oldObject == null", true, ""},
    {"request.operation == 'UPDATE'", false, ""},
    {"request.userInfo.username == 'admin'", true, ""},
    {"authorizer.group('').resource('configmaps').namespace('tst').check('create').allowed()", true,
     ""},
    {"object.nope == 1", false,
     "configmaps \"x\" is forbidden: expression 'object.nope == 1' resulted in error: no such key: "
     "nope"},
};

TEST_F(AdmissionWebhooks, MatchConditionsDecideToo) {
  for (const ConditionRow& row : kConditions) {
    for (const char* policy : {"Fail", "Ignore"}) {
      FakeOutside outside;
      TestServer server({}, &outside);
      outside.on("https://hooks/t", allow);
      Value hook = webhook("t");
      hook.set("failurePolicy", policy);
      hook.set("matchConditions",
               Value::list({Value::object({{"name", "c"}, {"expression", row.expression}})}));
      ASSERT_EQ(server
                    .post(std::string(kConfigs) + "validatingwebhookconfigurations",
                          Value::object({{"metadata", parse(R"({"name":"v"})")},
                                         {"webhooks", Value::list({hook})}}))
                    .status,
                201);
      const Answer answer = server.post(kMaps, labelled_map("x"));
      const bool refused = !row.refusal.empty() && std::string_view(policy) == "Fail";
      EXPECT_EQ(answer.status, refused ? 403 : 201) << row.expression << answer.message();
      if (refused) {
        EXPECT_EQ(answer.message(), row.refusal);
      }
      EXPECT_EQ(!outside.asked.empty(), row.called) << row.expression;
    }
  }
}

TEST_F(AdmissionWebhooks, AFalseConditionOutweighsABrokenOne) {
  validating("v", {webhook("a", R"({"matchConditions":[
      {"name":"broken","expression":"object.nope == 1"},{"name":"no","expression":"false"}]})")});
  EXPECT_EQ(create("x").status, 201);
}

// Each condition alone is within its limit; fifty together are not.
TEST_F(AdmissionWebhooks, BoundCostOfAllConditionsTogether) {
  constexpr std::size_t kLong = 500'000;  // to read it costs a tenth of a unit each byte
  for (const char* policy : {"Fail", "Ignore"}) {
    FakeOutside outside;
    TestServer server({}, &outside);
    outside.on("https://hooks/t", allow);
    Value conditions = Value::list();
    for (int i = 0; i < 60; ++i) {
      conditions.push_back(Value::object(
          {{"name", fmt::format("c{}", i)}, {"expression", "!object.data.k.contains('b')"}}));
    }
    Value hook = webhook("t");
    hook.set("failurePolicy", policy);
    hook.set("matchConditions", std::move(conditions));
    ASSERT_EQ(server
                  .post(std::string(kConfigs) + "validatingwebhookconfigurations",
                        Value::object({{"metadata", parse(R"({"name":"v"})")},
                                       {"webhooks", Value::list({hook})}}))
                  .status,
              201);
    Value object = labelled_map("x");
    object.set("data", Value::object({{"k", std::string(kLong, 'a')}}));
    const Answer answer = server.post(kMaps, object);
    const bool fails = std::string_view(policy) == "Fail";
    EXPECT_EQ(answer.status, fails ? 403 : 201) << answer.message();
    EXPECT_EQ(answer.message().find("running out of cost budget") != std::string::npos, fails);
    EXPECT_TRUE(outside.asked.empty());
  }
}

// Each hook is within its limit; twenty together are not. What is judged first is judged.
TEST_F(AdmissionWebhooks, BoundCostOfAllHooksTogether) {
  constexpr std::size_t kLong = 500'000;
  for (const char* policy : {"Fail", "Ignore"}) {
    FakeOutside outside;
    TestServer server({}, &outside);
    outside.on("https://hooks/t", allow);
    Value conditions = Value::list();
    for (int i = 0; i < 20; ++i) {
      conditions.push_back(Value::object(
          {{"name", fmt::format("c{}", i)}, {"expression", "!object.data.k.contains('b')"}}));
    }
    std::vector<Value> hooks;
    for (int i = 0; i < 20; ++i) {
      Value hook = webhook("t");
      hook.set("name", fmt::format("t{}.ex.com", i));
      hook.set("failurePolicy", policy);
      hook.set("matchConditions", conditions);
      hooks.push_back(std::move(hook));
    }
    ASSERT_EQ(server
                  .post(std::string(kConfigs) + "validatingwebhookconfigurations",
                        Value::object({{"metadata", parse(R"({"name":"v"})")},
                                       {"webhooks", Value::list(std::move(hooks))}}))
                  .status,
              201);
    Value object = labelled_map("x");
    object.set("data", Value::object({{"k", std::string(kLong, 'a')}}));
    const Answer answer = server.post(kMaps, object);
    const bool fails = std::string_view(policy) == "Fail";
    EXPECT_EQ(answer.status, fails ? 403 : 201) << answer.message();
    EXPECT_EQ(answer.message().find("cost too much for one request") != std::string::npos, fails);
    EXPECT_EQ(outside.asked.size(), fails ? 0U : 10U) << "the hooks before the end of the budget";
  }
}

TEST_F(AdmissionWebhooks, ConditionsThatDoNotCompileAreRefused) {
  Value hook = webhook("a", R"({"matchConditions":[{"name":"c","expression":"object.=="}]})");
  const Answer answer = server_.post(
      std::string(kConfigs) + "validatingwebhookconfigurations",
      Value::object({{"metadata", parse(R"({"name":"v"})")}, {"webhooks", Value::list({hook})}}));
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.message(),
              HasSubstr("webhooks[0].matchConditions[0].expression: Invalid value: \"object.==\": "
                        "compilation failed: "));
}

// The request path does not wait: other requests run, and a lost race is reviewed again.
class WaitingWebhooks : public AdmissionWebhooks {
 protected:
  // Starts a request; its answer comes into answers_.
  void start(std::string method, std::string path, std::string body, std::string type) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers.emplace("content-type", std::move(type));
    request.body = std::move(body);
    request.credentials.internal_user = "system:admin";
    server_.server().handle_async(
        std::move(request), server_.now(),
        [this](UniqueFunction<void()> task) { tasks_.push_back(std::move(task)); },
        [this](Response response) { answers_.push_back(response.status); });
  }
  void run_tasks() {
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.back());
      tasks_.pop_back();
      task();
    }
  }

  std::vector<UniqueFunction<void()>> tasks_{};
  std::vector<int> answers_{};
};

TEST_F(WaitingWebhooks, OthersAreServedMeanwhile) {
  validating("v", {webhook("a"), webhook("b")});
  allow_at("a");
  allow_at("b");
  outside_.hold();
  start("POST", std::string(kMaps), json::print(labelled_map("slow")), "application/json");
  EXPECT_EQ(outside_.held(), 2U) << "validating webhooks are asked together";
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(server_.get("/api/v1/namespaces/tst").status, 200);
  EXPECT_EQ(
      server_.post("/api/v1/namespaces/tst/secrets", parse(R"({"metadata":{"name":"quick"}})"))
          .status,
      201);
  outside_.release();
  run_tasks();
  EXPECT_THAT(answers_, ElementsAre(201));
}

TEST_F(WaitingWebhooks, ReviewAgainAfterLostRace) {
  ASSERT_EQ(create("one").status, 201);
  validating("v", {webhook("a", R"({"rules":[{"operations":["UPDATE"],"apiGroups":[""],
      "apiVersions":["v1"],"resources":["configmaps"]}],
      "objectSelector":{"matchLabels":{"reviewed":"yes"}}})")});
  allow_at("a");
  outside_.hold();
  start("PATCH", std::string(kMaps) + "/one", R"({"metadata":{"labels":{"reviewed":"yes"}}})",
        "application/merge-patch+json");
  EXPECT_EQ(server_.patch(std::string(kMaps) + "/one", "merge", R"({"data":{"k":"v"}})").status,
            200);
  outside_.release();
  run_tasks();
  EXPECT_THAT(answers_, ElementsAre(200));
  ASSERT_EQ(outside_.asked.size(), 2U);
  EXPECT_TRUE(outside_.asked[0].body["request"]["object"]["data"].is_null());
  EXPECT_EQ(outside_.asked[1].body["request"]["object"]["data"]["k"], Value("v"));
  const Answer now = server_.get(std::string(kMaps) + "/one");
  EXPECT_EQ(now.value["data"]["k"], Value("v"));
  EXPECT_EQ(now.value["metadata"]["labels"]["reviewed"], Value("yes"));
}

}  // namespace
}  // namespace athanor::apiserver::admission_webhooks_test
