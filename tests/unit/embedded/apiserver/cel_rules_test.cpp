// SPDX-License-Identifier: Apache-2.0
// CEL rules of custom resources through the server: at the definition, at the objects, and those of
// every definition that this program and its specifications bring (docs/spec/apiserver.md 13.5).
#include <fmt/format.h>

#include "api/describe.hpp"
#include "cel/rules/schema_rules.hpp"
#include "kube/schema/structural_schema.hpp"
#include "product/list.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::cel_rules_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kGizmos = "/apis/ex.com/v1/namespaces/tst/gizmos";

Value definition(std::string_view schema) {
  Value crd = parse(R"j({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"gizmos.ex.com"},
    "spec":{"group":"ex.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},
      "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}}}]}})j");
  crd.member("spec")
      .member("versions")
      .item(0)
      .set_path({"schema", "openAPIV3Schema"}, parse(schema));
  return crd;
}

Value gizmo(std::string_view rest) {
  Value object = parse(rest);
  object.set("apiVersion", "ex.com/v1").set("kind", "Gizmo");
  object.set_path({"metadata", "name"}, "g");
  return object;
}

constexpr std::string_view kSchema = R"j({"type":"object",
  "x-kubernetes-validations":[
    {"rule":"!has(self.spec.size) || !has(self.status) || !has(self.status.used) || self.status.used <= self.spec.size",
     "message":"used more than there is"}],
  "properties":{
    "spec":{"type":"object","properties":{
      "size":{"type":"integer","default":4,
        "x-kubernetes-validations":[{"rule":"self >= 0","message":"must not be negative"}]},
      "color":{"type":"string","enum":["red","blue"]},
      "zone":{"type":"string","x-kubernetes-validations":[
        {"rule":"self == oldSelf","message":"zone is immutable","reason":"FieldValueForbidden"}]}}},
    "status":{"type":"object","properties":{"used":{"type":"integer"}}}}})j";

class CelRules : public ::testing::Test {
 protected:
  void SetUp() override {
    const Answer made = server_.post(kCrds, definition(kSchema));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Answer create(std::string_view rest) { return server_.post(kGizmos, gizmo(rest)); }
  Answer merge(std::string_view body, std::string_view subresource = "") {
    return server_.patch(std::string(kGizmos) + "/g" + std::string(subresource), "merge",
                         std::string(body));
  }

  TestServer server_{};
};

TEST_F(CelRules, JudgeCreates) {
  const Answer refused = create(R"j({"spec":{"size":-1}})j");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            R"j(Gizmo.ex.com "g" is invalid: spec.size: Invalid value: -1: must not be negative)j");
  EXPECT_EQ(refused.value["details"]["causes"][0]["reason"].as_string(), "FieldValueInvalid");
  EXPECT_EQ(refused.value["details"]["causes"][0]["field"].as_string(), "spec.size");
  EXPECT_EQ(create(R"j({"spec":{"size":1}})j").status, 201);
}

TEST_F(CelRules, CompareUpdatesWithStoredObject) {
  ASSERT_EQ(create(R"j({"spec":{"zone":"a"}})j").status, 201);
  const Answer refused = merge(R"j({"spec":{"zone":"b"}})j");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            R"j(Gizmo.ex.com "g" is invalid: spec.zone: Forbidden: zone is immutable)j");
  EXPECT_EQ(merge(R"j({"spec":{"zone":"a","size":5}})j").status, 200);
}

TEST_F(CelRules, SeeDefaultsAndJudgeStatusWrites) {
  ASSERT_EQ(create(R"j({"spec":{}})j").status, 201);
  const Answer refused = merge(R"j({"status":{"used":5}})j", "/status");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr(R"j(<nil>: Invalid value: used more than there is)j"));
  EXPECT_EQ(merge(R"j({"status":{"used":4}})j", "/status").status, 200);
}

TEST_F(CelRules, SkipInvalidObjects) {
  const Answer refused = create(R"j({"spec":{"size":-1,"color":"green"}})j");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("spec.color: Unsupported value"));
  EXPECT_THAT(refused.message(),
              HasSubstr("<nil>: Invalid value: null: some validation rules were not checked "
                        "because the object was invalid; correct the existing errors to complete "
                        "validation"));
  EXPECT_EQ(refused.message().find("must not be negative"), std::string::npos);
}

TEST_F(CelRules, ChangeWithTheDefinition) {
  Value crd = server_.get(std::string(kCrds) + "/gizmos.ex.com").value;
  crd.member("spec")
      .member("versions")
      .item(0)
      .set_path({"schema", "openAPIV3Schema", "x-kubernetes-validations"},
                parse(R"j([{"rule":"self.metadata.name.startsWith('x')","message":"name it x"
}])j"));
  ASSERT_EQ(server_.put(std::string(kCrds) + "/gizmos.ex.com", crd).status, 200);
  EXPECT_THAT(create(R"j({"spec":{}})j").message(), HasSubstr("name it x"));
}

// What is left as it was is not judged again, but for objects that new rules have found broken.
TEST_F(CelRules, WarnOfBrokenRulesAtEveryUpdate) {
  ASSERT_EQ(create(R"j({"spec":{"size":1,"zone":"a"}})j").status, 201);
  EXPECT_THAT(merge(R"j({"spec":{"color":"red"}})j").warnings(), IsEmpty());
  Value crd = server_.get(std::string(kCrds) + "/gizmos.ex.com").value;
  crd.member("spec")
      .member("versions")
      .item(0)
      .set_path({"schema", "openAPIV3Schema", "properties", "spec", "properties", "size",
                 "x-kubernetes-validations"},
                parse(R"j([{"rule":"self >= 2","message":"too small"}])j"));
  ASSERT_EQ(server_.put(std::string(kCrds) + "/gizmos.ex.com", crd).status, 200);
  for (const std::string color : {"blue", "red", "blue"}) {
    const Answer changed = merge(R"j({"spec":{"color":")j" + color + R"j("}})j");
    EXPECT_EQ(changed.status, 200) << changed.text;
    EXPECT_THAT(changed.warnings(), ElementsAre(HasSubstr("too small"))) << color;
  }
  EXPECT_EQ(merge(R"j({"spec":{"size":0}})j").status, 422);
  EXPECT_EQ(merge(R"j({"spec":{"size":2}})j").status, 200);
}

TEST_F(CelRules, ThatDoNotCompileRefuseTheDefinition) {
  Value crd = definition(R"j({"type":"object","properties":{"spec":{"type":"object",
      "x-kubernetes-validations":[{"rule":"self.nope == 1"}]}}})j");
  crd.set_path({"metadata", "name"}, "gadgets.ex.com");
  crd.set_path({"spec", "names"}, parse(R"j({"plural":"gadgets","kind":"Gadget"})j"));
  const Answer refused = server_.post(kCrds, crd);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations"
                        "[0].rule: Invalid value: {"));
  EXPECT_THAT(refused.message(),
              HasSubstr("compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | "
                        "self.nope == 1\n | ....^"));
}

// Every rule of the definitions in the program compiles and is affordable.
TEST(CelRulesOfKinds, CompileWithinTheLimits) {
  std::size_t with_rules = 0;
  for (const api::CustomKind* kind : kinds_of(all_systems())) {
    const Value crd = api::crd_manifest(*kind);
    const auto schemas = parse_crd_schemas(crd["spec"]);
    ASSERT_TRUE(schemas.ok()) << crd["metadata"]["name"].as_string();
    for (std::size_t i = 0; i < schemas->size(); ++i) {
      const SchemaPtr root = (*schemas)[i].schema->root();
      std::vector<std::string> errors;
      for (const FieldError& error : cel::check_schema_rules(
               crd["spec"]["versions"][i]["schema"]["openAPIV3Schema"], *root, "schema")) {
        errors.push_back(error.text());
      }
      EXPECT_THAT(errors, IsEmpty()) << crd["metadata"]["name"].as_string();
      with_rules += cel::SchemaRules::compile(*root) != nullptr ? 1U : 0U;
    }
  }
  EXPECT_GE(with_rules, 5U);
}

// A rule that a specification quotes, with an object it takes and one it refuses.
struct Quoted {
  const char* from = nullptr;
  const char* schema = nullptr;  // of spec, or of the root when it has "spec"
  const char* good = nullptr;
  const char* bad = nullptr;
  const char* before = "";  // a transition rule: what was there
};

void PrintTo(const Quoted& row, std::ostream* out) {
  *out << row.from;
}

class QuotedRules : public ::testing::TestWithParam<Quoted> {};

TEST_P(QuotedRules, CompileAndTell) {
  const Quoted& row = GetParam();
  const Value open_api = parse(row.schema);
  const auto schema = StructuralSchema::parse(open_api, "schema");
  ASSERT_TRUE(schema.ok());
  EXPECT_THAT(cel::check_schema_rules(open_api, *(*schema)->root(), "schema"), IsEmpty());
  const auto rules = cel::SchemaRules::compile(*(*schema)->root());
  ASSERT_NE(rules, nullptr);
  const bool transition = *row.before != '\0';
  const Value before = transition ? parse(row.before) : Value();
  const Value* old_object = transition ? &before : nullptr;
  EXPECT_THAT(rules->judge(parse(row.good), old_object).errors, IsEmpty());
  EXPECT_EQ(rules->judge(parse(row.bad), old_object).errors.size(), 1U);
}

constexpr Quoted kQuoted[] = {
    {"das.md 2.1: latestAvailableRevision",
     R"j({"type":"object","properties":{"status":{"type":"object","properties":{
       "latestAvailableRevision":{"type":"integer","format":"int32","x-kubernetes-validations":[
         {"message":"must only increase","rule":"self >= oldSelf"}]}}}}})j",
     R"j({"status":{"latestAvailableRevision":3}})j",
     R"j({"status":{"latestAvailableRevision":1}})j",
     R"j({"status":{"latestAvailableRevision":2}})j"},
    {"das.md 2.2: placement",
     R"j({"type":"object","x-kubernetes-validations":[
       {"rule":"!has(self.spec.migPlacement) || (self.spec.migPlacement.start >= 0 && self.spec.migPlacement.size >= 1 && self.spec.migPlacement.start + self.spec.migPlacement.size <= 8)",
        "message":"migPlacement must lie within 8 memory slices"}],
       "properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
         "properties":{"migPlacement":{"type":"object","properties":{
           "start":{"type":"integer"},"size":{"type":"integer"}}}}}}})j",
     R"j({"spec":{"migPlacement":{"start":4,"size":4}}})j",
     R"j({"spec":{"migPlacement":{"start":6,"size":4}}})j"},
    {"das.md 2.2: immutable spec",
     R"j({"type":"object","x-kubernetes-validations":[
       {"rule":"self.spec == oldSelf.spec","message":"spec is immutable"}],
       "properties":{"spec":{"type":"object","properties":{"profile":{"type":"string"}}}}})j",
     R"j({"spec":{"profile":"1g.5gb"}})j", R"j({"spec":{"profile":"2g.10gb"}})j",
     R"j({"spec":{"profile":"1g.5gb"}})j"},
    {"numa.md 2: singleton",
     R"j({"type":"object","x-kubernetes-validations":[
       {"rule":"has(self.metadata.name) && self.metadata.name == 'numaresourcesoperator'",
        "message":"This is a singleton resource and the object name must be 'numaresourcesoperator'."}]})j",
     R"j({"metadata":{"name":"numaresourcesoperator"}})j", R"j({"metadata":{"name":"other"}})j"},
};
INSTANTIATE_TEST_SUITE_P(Specifications, QuotedRules, ::testing::ValuesIn(kQuoted));

// R14.8 of docs/spec/fournos.md: what a job is made of stays once the job is accepted.
class FournosRules : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const api::CustomKind* kind : kinds_of(all_systems())) {
      Value crd = api::crd_manifest(*kind);
      if (crd["spec"]["names"]["kind"].as_string() == "FournosJob") {
        const Answer made = server_.post(kCrds, crd);
        ASSERT_EQ(made.status, 201) << made.text;
        path_ = fmt::format("/apis/{}/{}/namespaces/tst/{}", crd["spec"]["group"].as_string(),
                            crd["spec"]["versions"][0]["name"].as_string(),
                            crd["spec"]["names"]["plural"].as_string());
        job_ = Value::object(
            {{"apiVersion", fmt::format("{}/{}", crd["spec"]["group"].as_string(),
                                        crd["spec"]["versions"][0]["name"].as_string())},
             {"kind", "FournosJob"},
             {"metadata", Value::object({{"name", "j"}})},
             {"spec", parse(R"j({"owner":"me","displayName":"a job","cluster":"one",
                                "pipeline":"p","executionEngine":{"forge":{"project":"x"}}})j")}});
      }
    }
    ASSERT_FALSE(path_.empty());
  }
  Answer merge(std::string_view body, std::string_view subresource = "") {
    return server_.patch(path_ + "/j" + std::string(subresource), "merge", std::string(body));
  }

  TestServer server_{};
  std::string path_{};
  Value job_{};
};

TEST_F(FournosRules, FieldsAreFreeUntilTheJobIsAccepted) {
  const Answer made = server_.post(path_, job_);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(merge(R"j({"spec":{"cluster":"two"}})j").status, 200);
}

TEST_F(FournosRules, FieldsAreImmutableOnceTheJobIsAccepted) {
  const Answer made = server_.post(path_, job_);
  ASSERT_EQ(made.status, 201) << made.text;
  const Answer accepted = merge(R"j({"status":{"phase":"Pending"}})j", "/status");
  ASSERT_EQ(accepted.status, 200) << accepted.text;
  const Answer refused = merge(R"j({"spec":{"cluster":"two"}})j");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.cluster: Invalid value: field is immutable once the job "
                        "is accepted"));
  EXPECT_EQ(merge(R"j({"spec":{"exclusive":true}})j").status, 422);
  EXPECT_EQ(merge(R"j({"spec":{"pipeline":null}})j").status, 422);
  const Answer free = merge(R"j({"spec":{"displayName":"another"}})j");
  EXPECT_EQ(free.status, 200) << free.message();
}

}  // namespace
}  // namespace athanor::apiserver::cel_rules_test
