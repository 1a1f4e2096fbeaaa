// SPDX-License-Identifier: Apache-2.0
// ValidatingAdmissionPolicies through the server (docs/spec/apiserver.md 15.3), and matchConditions
// of webhooks (15.2).
#include "embedded/apiserver/policies/type_check.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::policies_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kPolicies =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
constexpr std::string_view kBindings =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

// Of writes of configmaps; `more` is laid over the spec.
Value policy(std::string_view name, std::string_view more) {
  Value object = parse(R"j({"spec":{"matchConstraints":{"resourceRules":[
      {"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}}})j");
  const Value over = parse(more);
  for (const Member& member : over.members()) {
    object.member("spec").set(member.key(), member.value);
  }
  object.set_path({"metadata", "name"}, Value(name));
  return object;
}

Value binding(std::string_view name, std::string_view more = "{}") {
  Value object = parse(R"j({"spec":{"validationActions":["Deny"]}})j");
  object.member("spec").set("policyName", Value(name));
  const Value over = parse(more);
  for (const Member& member : over.members()) {
    object.member("spec").set(member.key(), member.value);
  }
  object.set_path({"metadata", "name"}, Value(name));
  return object;
}

class Policies : public ::testing::Test {
 protected:
  void install(std::string_view name, std::string_view spec, std::string_view bound = "{}") {
    const Answer made = server_.post(kPolicies, policy(name, spec));
    ASSERT_EQ(made.status, 201) << made.text;
    const Answer tied = server_.post(kBindings, binding(name, bound));
    ASSERT_EQ(tied.status, 201) << tied.text;
  }
  Answer create(std::string_view name, std::string_view data = "{}") {
    return server_.post(kMaps, config_map(name, data));
  }

  TestServer server_{};
};

TEST_F(Policies, DenyWithTheirMessage) {
  install("v1", R"j({"validations":[
      {"expression":"object.metadata.name != 'bad'","message":"name is bad"}]})j");
  const Answer refused = create("bad");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.reason(), "Invalid");
  EXPECT_EQ(refused.message(),
            "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'v1' with binding 'v1' "
            "denied request: name is bad");
  EXPECT_EQ(refused.value["details"]["causes"],
            Value::list(
                {Value::object({{"message",
                                 "ValidatingAdmissionPolicy 'v1' with binding 'v1' denied request: "
                                 "name is bad"}})}));
  EXPECT_EQ(create("good").status, 201);
}

TEST_F(Policies, ReasonsHaveTheirCodes) {
  install("r", R"j({"validations":[
      {"expression":"object.metadata.name != 'a'","reason":"Forbidden"},
      {"expression":"object.metadata.name != 'c'","reason":"RequestEntityTooLarge"}]})j");
  EXPECT_EQ(create("a").status, 403);
  EXPECT_EQ(create("c").status, 413);
  EXPECT_THAT(create("a").message(),
              HasSubstr("denied request: failed expression: object.metadata.name != 'a'"));
}

TEST_F(Policies, MessageExpressionsWin) {
  install("m", R"j({"validations":[{"expression":"size(object.data) < 2","message":"plain",
      "messageExpression":"'has ' + string(size(object.data)) + ' entries'"}]})j");
  EXPECT_THAT(create("a", R"j({"x":"1","y":"2"})j").message(),
              HasSubstr("denied request: has 2 entries"));
}

TEST_F(Policies, WarnWithoutRefusing) {
  install("w", R"j({"validations":[{"expression":"false","message":"name is bad"}]})j",
          R"j({"validationActions":["Warn"]})j");
  const Answer made = create("bad");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(
      made.warnings(),
      ElementsAre("299 - \"Validation failed for ValidatingAdmissionPolicy 'w' with binding "
                  "'w': name is bad\""));
}

TEST_F(Policies, AuditsDoNotRefuse) {
  install("a", R"j({"validations":[{"expression":"false"}]})j",
          R"j({"validationActions":["Audit"]})j");
  EXPECT_EQ(create("a").status, 201);
}

TEST_F(Policies, ErrorsCountAsFailurePolicySays) {
  install("e", R"j({"validations":[{"expression":"object.nope == 1"}]})j");
  const Answer refused = create("a");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("denied request: expression 'object.nope == 1' resulted "
                                           "in error: no such key: nope"));
  ASSERT_EQ(
      server_
          .patch(std::string(kPolicies) + "/e", "merge", R"j({"spec":{"failurePolicy":"Ignore"}})j")
          .status,
      200);
  EXPECT_EQ(create("a").status, 201);
}

// Each policy is within its limit; together with the others of the request the last ones are not.
TEST_F(Policies, BoundCostOfAllPoliciesTogether) {
  constexpr std::size_t kLong = 1'000'000;  // to read it costs a tenth of a unit each byte
  Value validations = Value::list();
  for (int i = 0; i < 60; ++i) {
    validations.push_back(Value::object({{"expression", "!object.data.k.contains('b')"}}));
  }
  const auto spec = [&](const char* failure) {
    return json::print(Value::object({{"failurePolicy", failure}, {"validations", validations}}));
  };
  const std::string data = json::print(Value::object({{"k", std::string(kLong, 'a')}}));
  install("a", spec("Fail"));
  EXPECT_EQ(create("one", data).status, 201);
  install("b", spec("Ignore"));
  EXPECT_EQ(create("two", data).status, 201);
  install("c", spec("Fail"));
  const Answer refused = create("three", data);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("ValidatingAdmissionPolicy 'c' with binding 'c' denied "
                                           "request: the expressions of all webhooks and policies "
                                           "cost too much for one request"));
  EXPECT_EQ(create("small", R"j({"k":"a"})j").status, 201);
}

TEST_F(Policies, SeeTheRequestItsUserAndTheNamespace) {
  install("s", R"j({"validations":[
      {"expression":"request.operation == 'CREATE' && request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'"},
      {"expression":"request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups"},
      {"expression":"request.namespace == 'tst' && namespaceObject.metadata.name == 'tst' && oldObject == null"},
      {"expression":"!request.dryRun && !has(request.subResource)"
},
      {"expression":"authorizer.group('').resource('pods').namespace('tst').check('create').allowed()"},
      {"expression":"authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').labelSelector('x=y').check('list').allowed()"},
      {"expression":"authorizer.requestResource.check('create').allowed()"}]
})j");
  const Answer made = create("a");
  EXPECT_EQ(made.status, 201) << made.message();
}

TEST_F(Policies, CompareUpdatesAndDeletes) {
  install("u", R"j({"validations":[
      {"expression":"request.operation != 'UPDATE' || object.data == oldObject.data","message":"frozen"},
      {"expression":"request.operation != 'DELETE' || object != null || oldObject.metadata.name != 'kept'","message":"kept"}]})j");
  ASSERT_EQ(create("kept", R"j({"a":"1"})j").status, 201);
  const std::string kept = std::string(kMaps) + "/kept";
  EXPECT_THAT(server_.patch(kept, "merge", R"j({"data":{"a":"2"}})j").message(),
              HasSubstr("denied request: frozen"));
  EXPECT_THAT(server_.remove(kept).message(), HasSubstr("denied request: kept"));
}

TEST_F(Policies, VariablesAreEvaluatedOnDemand) {
  install("v", R"j({"variables":[
      {"name":"count","expression":"size(object.data)"},
      {"name":"many","expression":"variables.count > 1"},
      {"name":"broken","expression":"object.nope"}],
    "validations":[{"expression":"!variables.many || variables.broken","message":"m"},
                   {"expression":"!variables.many"}]
})j");
  EXPECT_EQ(create("one", R"j({"a":"1"})j").status, 201);
  EXPECT_THAT(create("two", R"j({"a":"1","b":"2"})j").message(),
              HasSubstr("composited variable \"broken\" fails to evaluate: no such key: nope"));
}

TEST_F(Policies, MatchConditionsDecideWhetherTheyApply) {
  install("c", R"j({"matchConditions":[
      {"name":"only-x","expression":"object.metadata.name.startsWith('x')"}],
    "validations":[{"expression":"false"}]
})j");
  EXPECT_EQ(create("a").status, 201);
  EXPECT_EQ(create("xa").status, 422);
}

TEST_F(Policies, ConstraintsAndBindingsNarrowThem) {
  install("n", R"j({"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],
        "apiVersions":["*"],"resources":["configmaps"]}],
      "excludeResourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["*"],
        "resources":["configmaps"],"resourceNames":["spared"]}]},
    "validations":[{"expression":"false"}]})j",
          R"j({"matchResources":{"objectSelector":{"matchLabels":{"judge":"me"}}}})j");
  EXPECT_EQ(create("free").status, 201);
  Value labelled = config_map("caught");
  labelled.set_path({"metadata", "labels"}, parse(R"j({"judge":"me"})j"));
  EXPECT_EQ(server_.post(kMaps, labelled).status, 422);
  labelled.set_path({"metadata", "name"}, "spared");
  EXPECT_EQ(server_.post(kMaps, labelled).status, 201);
}

TEST_F(Policies, ParamsComeFromTheBinding) {
  ASSERT_EQ(
      server_
          .post("/api/v1/namespaces/default/configmaps", config_map("limits", R"j({"most":"1"})j"))
          .status,
      201);
  install(
      "p", R"j({"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
    "validations":[{"expression":"size(object.data) <= int(params.data.most)",
                    "messageExpression":"'at most ' + params.data.most"
}]
})j",
      R"j({"paramRef":{"name":"limits","namespace":"default","parameterNotFoundAction":"Deny"}})j");
  EXPECT_EQ(create("a", R"j({"x":"1"})j").status, 201);
  EXPECT_THAT(create("b", R"j({"x":"1","y":"2"})j").message(),
              HasSubstr("denied request: at most 1"));
  ASSERT_EQ(server_
                .patch(std::string(kBindings) + "/p", "merge",
                       R"j({"spec":{"paramRef":{"name":"gone"}}})j")
                .status,
            200);
  EXPECT_THAT(create("c").message(),
              HasSubstr("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed to "
                        "configure binding: no params found for policy binding with `Deny` "
                        "parameterNotFoundAction"));
}

TEST_F(Policies, UnknownParamKindsAreConfigurationErrors) {
  install("k", R"j({"paramKind":{"apiVersion":"ex.com/v1","kind":"Nope"},
    "validations":[{"expression":"params != null"}]})j",
          R"j({"paramRef":{"name":"x","parameterNotFoundAction":"Allow"}})j");
  EXPECT_THAT(create("a").message(),
              HasSubstr("ValidatingAdmissionPolicy 'k' denied request: failed to configure policy: "
                        "failed to find resource referenced by paramKind: 'ex.com/v1, Kind=Nope'"));
}

// Nobody listens at the webhook: a call would be a 500.
class HookConditions : public ::testing::Test {
 protected:
  void install(std::string_view conditions, std::string_view failure_policy) {
    Value hook = parse(R"j({"name":"h.ex.com","clientConfig":{"url":"https://127.0.0.1:1/x"},
        "rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
                  "resources":["configmaps"]}],
        "sideEffects":"None","admissionReviewVersions":["v1"]})j");
    hook.set("matchConditions", parse(conditions));
    hook.set("failurePolicy", Value(failure_policy));
    const Answer made =
        server_.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                     Value::object({{"metadata", Value::object({{"name", "h"}})},
                                    {"webhooks", Value::list({hook})}}));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Answer create(std::string_view name) { return server_.post(kMaps, config_map(name)); }

  TestServer server_{};
};

TEST_F(HookConditions, AFalseOneSkipsTheWebhook) {
  install(R"j([{"name":"a","expression":"object.metadata.name == 'x'"},
              {"name":"b","expression":"object.nope == 1"}])j",
          "Fail");
  EXPECT_EQ(create("a").status, 201);
  EXPECT_EQ(create("x").status, 403);
}

TEST_F(HookConditions, AnErrorIsAsTheFailurePolicySays) {
  install(R"j([{"name":"b","expression":"object.nope == 1"}])j", "Fail");
  const Answer refused = create("x");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "configmaps \"x\" is forbidden: expression 'object.nope == 1' resulted in error: no "
            "such key: nope");
}

TEST_F(HookConditions, AnErrorIsIgnoredWhereFailuresAre) {
  install(R"j([{"name":"b","expression":"object.nope == 1"}])j", "Ignore");
  EXPECT_EQ(create("x").status, 201);
}

TEST_F(HookConditions, ThatDoNotCompileAreRefused) {
  const Answer refused =
      server_.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                   parse(R"j({"metadata":{"name":"h"},"webhooks":[{"name":"h.ex.com",
        "clientConfig":{"url":"https://127.0.0.1:1/x"},"sideEffects":"None",
        "admissionReviewVersions":["v1"],
        "matchConditions":[{"name":"a","expression":"nope"}]}]})j"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("webhooks[0].matchConditions[0].expression: Invalid value: \"nope\": "
                        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'"));
}

TEST(PolicyTypes, AreCheckedForEveryKindNamed) {
  const ResourceTable table(built_in_resources());
  const Value warnings = expression_warnings(policy("t", R"j({"validations":[
          {"expression":"object.data.size() < 2 && object.metadata.namespace != ''"},
          {"expression":"object.nope == 1"}]})j"),
                                             table);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["fieldRef"].as_string(), "spec.validations[1].expression");
  EXPECT_EQ(warnings[0]["warning"].as_string(),
            "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'nope'\n | object.nope == "
            "1\n | ......^\n");
}

struct BadSpec {
  const char* spec = nullptr;
  const char* error = nullptr;
};

class BadPolicies : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadPolicies, AreRefused) {
  TestServer server;
  const Answer refused = server.post(kPolicies, policy("p", GetParam().spec));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr(GetParam().error));
}

constexpr BadSpec kBadPolicies[] = {
    {R"j({"validations":[{"expression":"objekt.x"}]})j",
     "spec.validations[0].expression: Invalid value: \"objekt.x\": compilation failed: ERROR: "
     "<input>:1:1: undeclared reference to 'objekt' (in container '')\n | objekt.x\n | ^"},
    {R"j({"validations":[{"expression":"request.nope == ''"}]})j", "undefined field 'nope'"},
    {R"j({"validations":[{"expression":"params.x == 1"}]})j", "undeclared reference to 'params'"},
    {R"j({"validations":[{"expression":"1"}]})j", "must evaluate to bool but got int"},
    {R"j({"validations":[{"expression":"true","messageExpression":"1"}]})j",
     "must evaluate to string but got int"},
    {R"j({"validations":[{"expression":"variables.x"}]})j", "undeclared reference to 'variables'"},
    {R"j({})j",
     "spec.validations: Required value: validations or auditAnnotations must contain at least one "
     "item"},
    {R"j({"matchConditions":[{"name":"a","expression":"("}],"validations":[{"expression":"true"}]})j",
     "spec.matchConditions[0].expression: Invalid value"},
    {R"j({"variables":[{"name":"a-b","expression":"1"}],"validations":[{"expression":"true"}]})j",
     "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier"},
    {R"j({"matchConstraints":null,"validations":[{"expression":"true"}]})j",
     "spec.matchConstraints: Required value"},
};
INSTANTIATE_TEST_SUITE_P(All, BadPolicies, ::testing::ValuesIn(kBadPolicies));

TEST(BadBindings, AreRefused) {
  TestServer server;
  EXPECT_THAT(
      server.post(kBindings, binding("b", R"j({"validationActions":["Deny","Warn"]})j")).message(),
      HasSubstr("must not contain both Deny and Warn"));
  EXPECT_THAT(
      server.post(kBindings, binding("b", R"j({"validationActions":[]})j")).message(),
      HasSubstr(
          "spec.validationActions: Required value: at least one validation action is required"));
  EXPECT_THAT(server.post(kBindings, binding("b", R"j({"policyName":""})j")).message(),
              HasSubstr("spec.policyName: Required value"));
}

}  // namespace
}  // namespace athanor::apiserver::policies_test
