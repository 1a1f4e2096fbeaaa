// SPDX-License-Identifier: Apache-2.0
// What the audit says of requests, through the whole server (docs/spec/apiserver.md 18).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedded/apiserver/audit/request_audit.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/apiserver/test_server.hpp"
#include "unit/embedded/apiserver/webhooks/fake_outside.hpp"

namespace athanor::apiserver::audit_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";
constexpr std::string_view kConfigs = "/apis/admissionregistration.k8s.io/v1/";

class Recorder final : public AuditSink {
 public:
  void write(std::string event) override { events.push_back(parse(event)); }
  std::vector<Value> events{};
};

std::shared_ptr<const AuditPolicy> policy(std::string_view rules) {
  const auto document =
      yaml::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n" + std::string(rules));
  return std::make_shared<const AuditPolicy>(*parse_audit_policy(*document));
}

class Audited {
 public:
  explicit Audited(std::string_view rules)
      : server({.audit_policy = policy(rules)}, &outside, &recorder) {
    recorder.events.clear();
  }
  // The stages of what was recorded since the last call, and the last Event.
  std::vector<std::string> stages() {
    std::vector<std::string> names;
    for (const Value& event : recorder.events) {
      names.push_back(event["stage"].str());
      last = event;
    }
    recorder.events.clear();
    return names;
  }

  Recorder recorder{};
  FakeOutside outside{};
  TestServer server;
  Value last{};
};

TEST(Audit, RecordsUserRequestAndOutcome) {
  Audited audited("- {level: Metadata}");
  const Answer made = audited.server.call("POST " + std::string(kMaps) + "?fieldManager=a%20b",
                                          json::print(config_map("m")),
                                          {{"user-agent", "tester/1"}, {"audit-id", "mine"}});
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.header("Audit-Id"), "mine");
  EXPECT_THAT(audited.stages(), ElementsAre("RequestReceived", "ResponseComplete"));
  const Value& event = audited.last;
  EXPECT_EQ(event["kind"].str(), "Event");
  EXPECT_EQ(event["apiVersion"].str(), "audit.k8s.io/v1");
  EXPECT_EQ(event["level"].str(), "Metadata");
  EXPECT_EQ(event["auditID"].str(), "mine");
  EXPECT_EQ(event["verb"].str(), "create");
  EXPECT_EQ(event["user"]["username"].str(), "admin");
  EXPECT_EQ(event["userAgent"].str(), "tester/1");
  EXPECT_EQ(event["sourceIPs"].size(), 1U);
  EXPECT_EQ(event["objectRef"], parse(R"({"resource":"configmaps","namespace":"tst","name":"m",
                                          "apiVersion":"v1"})"));
  EXPECT_EQ(event["responseStatus"], parse(R"({"metadata":{},"code":201})"));
  EXPECT_EQ(event["annotations"]["authorization.k8s.io/decision"].str(), "allow");
  EXPECT_EQ(event["requestReceivedTimestamp"].str(), "2026-11-20T10:00:00.000000Z");
  EXPECT_TRUE(event["requestObject"].is_null());
  EXPECT_TRUE(event["responseObject"].is_null());
}

TEST(Audit, CarriesObjectsWhereTheLevelSaysSo) {
  Audited audited(
      "- {level: RequestResponse, verbs: [create], omitStages: [RequestReceived],\n"
      "   omitManagedFields: true}\n"
      "- {level: Request, verbs: [patch, get], omitStages: [RequestReceived]}\n");
  audited.server.post(kMaps, config_map("m"));
  EXPECT_THAT(audited.stages(), ElementsAre("ResponseComplete"));
  EXPECT_EQ(audited.last["requestObject"], config_map("m"));
  EXPECT_FALSE(audited.last["responseObject"]["metadata"]["uid"].is_null());
  EXPECT_TRUE(audited.last["responseObject"]["metadata"]["managedFields"].is_null());

  audited.server.patch(std::string(kMaps) + "/m", "merge", R"({"data":{"a":"1"}})");
  audited.stages();
  EXPECT_EQ(audited.last["requestObject"], parse(R"({"data":{"a":"1"}})"));
  EXPECT_TRUE(audited.last["responseObject"].is_null());

  audited.server.get(std::string(kMaps) + "/none");
  audited.stages();
  EXPECT_EQ(audited.last["responseStatus"]["code"].as_int(), 404);
  EXPECT_EQ(audited.last["responseStatus"]["reason"].str(), "NotFound");
  EXPECT_EQ(audited.last["responseStatus"]["message"].str(), "configmaps \"none\" not found");
  EXPECT_TRUE(audited.last["requestObject"].is_null());

  audited.server.remove(std::string(kMaps) + "/m");
  EXPECT_THAT(audited.stages(), IsEmpty());
}

TEST(Audit, FollowsWatchesToTheirEnd) {
  Audited audited("- {level: Metadata}");
  {
    const Answer watch = audited.server.get(std::string(kMaps) + "?watch=1");
    EXPECT_THAT(audited.stages(), ElementsAre("RequestReceived", "ResponseStarted"));
  }
  EXPECT_THAT(audited.stages(), ElementsAre("ResponseComplete"));
  EXPECT_EQ(audited.last["verb"].str(), "watch");
}

TEST(Audit, NamesImpersonatedAndAnonymousUsers) {
  Audited audited("- {level: Metadata}");
  audited.server.call("GET /version", {}, {{"impersonate-user", "jane"}});
  audited.stages();
  EXPECT_EQ(audited.last["user"]["username"].str(), "admin");
  EXPECT_EQ(audited.last["impersonatedUser"]["username"].str(), "jane");

  Request request;
  request.method = "GET";
  request.path = "/version";
  request.headers.emplace("authorization", "Bearer wrong");
  EXPECT_EQ(audited.server.server().handle(request, audited.server.now()).status, 401);
  EXPECT_THAT(audited.stages(), ElementsAre("ResponseStarted"));
  EXPECT_EQ(audited.last["responseStatus"]["message"].str(),
            "Authentication failed, attempted: bearer");
  EXPECT_EQ(audited.last["responseStatus"]["code"].as_int(), 401);
  EXPECT_EQ(audited.last["user"], Value::object());
}

TEST(Audit, HearsFromWebhooks) {
  Audited audited("- {level: Request}");
  for (const std::string_view kind : {"Mutating", "Validating"}) {
    const std::string plural =
        kind == "Mutating" ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";
    Value hook = parse(R"({"name":"h.ex.com","sideEffects":"None","admissionReviewVersions":["v1"],
        "failurePolicy":"Ignore",
        "rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
                  "resources":["configmaps"]}]})");
    hook.set("clientConfig",
             Value::object({{"url", kind == "Mutating" ? "https://hooks/m" : "https://hooks/v"}}));
    const Answer made =
        audited.server.post(std::string(kConfigs) + plural,
                            Value::object({{"metadata", Value::object({{"name", "c"}})},
                                           {"webhooks", Value::list({std::move(hook)})}}));
    ASSERT_EQ(made.status, 201) << made.message();
  }
  audited.outside.on("https://hooks/m", [](const Value& review) {
    return review_answer(review,
                         Value::object({{"allowed", true},
                                        {"auditAnnotations", Value::object({{"seen", "yes"}})},
                                        {"patchType", "JSONPatch"},
                                        // [{"op":"add","path":"/data/b","value":"2"}]
                                        {"patch",
                                         "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEvYiIsInZhbHVlIjoiMiJ9"
                                         "XQ=="}}));
  });
  const Answer made = audited.server.post(kMaps, config_map("m", R"({"a":"1"})"));
  ASSERT_EQ(made.status, 201) << made.message();
  audited.stages();
  const Value& said = audited.last["annotations"];
  EXPECT_EQ(said["h.ex.com/seen"].str(), "yes");
  EXPECT_EQ(said["mutation.webhook.admission.k8s.io/round_0_index_0"].str(),
            R"({"configuration":"c","webhook":"h.ex.com","mutated":true})");
  EXPECT_EQ(said["patch.webhook.admission.k8s.io/round_0_index_0"].str(),
            R"({"configuration":"c","webhook":"h.ex.com",)"
            R"("patch":[{"op":"add","path":"/data/b","value":"2"}],"patchType":"JSONPatch"})");
  EXPECT_EQ(said["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"].str(),
            "h.ex.com");
}

TEST(Audit, HearsFromPolicies) {
  Audited audited("- {level: Metadata}");
  audited.server.post(std::string(kConfigs) + "validatingadmissionpolicies", parse(R"({
      "metadata":{"name":"p"},
      "spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],
                "operations":["CREATE"],"resources":["configmaps"]}]},
              "validations":[{"expression":"true"},
                             {"expression":"object.metadata.name != 'bad'","message":"is bad"}],
              "auditAnnotations":[{"key":"name","valueExpression":"' ' + object.metadata.name"},
                                  {"key":"nothing","valueExpression":"null"}]}})"));
  const Answer bound =
      audited.server.post(std::string(kConfigs) + "validatingadmissionpolicybindings", parse(R"({
      "metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Audit"]}})"));
  ASSERT_EQ(bound.status, 201) << bound.message();
  EXPECT_EQ(audited.server.post(kMaps, config_map("bad")).status, 201);
  audited.stages();
  const Value& said = audited.last["annotations"];
  EXPECT_EQ(said["p/name"].str(), "bad");
  EXPECT_FALSE(said.contains("p/nothing"));
  EXPECT_EQ(parse(said["validation.policy.admission.k8s.io/validation_failure"].as_string()),
            parse(R"([{"message":"is bad","policy":"p","binding":"b","expressionIndex":1,
                       "validationActions":["Audit"]}])"));
}

}  // namespace
}  // namespace athanor::apiserver::audit_test
