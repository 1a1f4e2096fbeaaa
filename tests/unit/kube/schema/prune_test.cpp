// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/prune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "kube/schema/structural_schema.hpp"
#include "kube/schema/types.hpp"
#include "kube/schema/wrap_integers.hpp"
#include "kube/text/json.hpp"
#include "kube/value/issue_budget.hpp"
#include "support/growth.hpp"

namespace athanor::prune_test {
namespace {

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

Result<Value> normalize(std::string_view type, std::string_view text,
                        FieldIssues* issues = nullptr) {
  const SchemaPtr schema = BuiltinTypes::get().by_name(type);
  const std::string kind(type.substr(type.rfind('.') + 1));
  return normalize_builtin(parse(text), *schema, {.kind = kind, .version = "v1"}, issues);
}

Value normal(std::string_view type, std::string_view text) {
  Result<Value> value = normalize(type, text);
  EXPECT_TRUE(value.ok()) << value.error().message;
  return value.value_or(Value());
}

TEST(NormalizeBuiltin, BytesMayBeAListOfNumbers) {
  EXPECT_EQ(normal("core.v1.Secret", R"({"data":{"k":[1,255],"e":[]}})")["data"],
            parse(R"({"k":"Af8=","e":""})"));
  EXPECT_FALSE(normalize("core.v1.Secret", R"({"data":{"k":["x"]}})").ok());
  EXPECT_FALSE(normalize("core.v1.Secret", R"({"data":{"k":[256]}})").ok());
}

TEST(WrapIntegers, WrapsIntegersOutsideTheirField) {
  const Value pod = parse(R"({"spec":{"activeDeadlineSeconds":1099511627776,"containers":[
      {"name":"c","ports":[{"containerPort":4294967376,"hostPort":-1}]}]}})");
  const Value cut = wrap_integers(pod, BuiltinTypes::get().by_name("core.v1.Pod"));
  const Value& port = cut["spec"]["containers"][0]["ports"][0];
  EXPECT_EQ(port["containerPort"], Value(80));
  EXPECT_EQ(port["hostPort"], Value(-1));
  EXPECT_EQ(cut["spec"]["activeDeadlineSeconds"], Value(1099511627776));  // 64 bits
}

TEST(NormalizeBuiltin, ReportsUnknownAndDuplicateFieldsInDocumentOrder) {
  const std::vector<std::string> duplicates = {"data.a"};
  FieldIssues issues{.duplicates = &duplicates};
  const Result<Value> value =
      normalize("core.v1.ConfigMap",
                R"({"metadata":{"name":"c","nope":1},"data":{"a":"2"},"xyz":{}})", &issues);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, parse(R"({"metadata":{"name":"c"},"data":{"a":"2"}})"));
  EXPECT_EQ(strict_decoding_error("ConfigMap", "v1", issues).message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "unknown field \"metadata.nope\", duplicate field \"data.a\", unknown field \"xyz\"");
}

TEST(NormalizeBuiltin, ReportsKeyRepeatedThriceOnce) {
  const std::vector<std::string> duplicates = {"data.a", "data.a", "gone.b", "gone.b"};
  FieldIssues issues{.duplicates = &duplicates};
  ASSERT_TRUE(normalize("core.v1.ConfigMap", R"({"metadata":{},"data":{"a":"2"}})", &issues).ok());
  EXPECT_THAT(issues.texts,
              testing::ElementsAre("duplicate field \"data.a\"", "duplicate field \"gone.b\""));
}

// Four times as many take four times as long, sixteen if each removal moves all others.
TEST(PruneCustom, ManyUnknownFieldsCostNoMoreEach) {
  const auto schema =
      StructuralSchema::parse(parse(R"({"type":"object","properties":{"spec":{"type":"object",
                "properties":{"a":{"type":"integer"}}}}})"),
                              "P");
  ASSERT_TRUE(schema.ok());
  const auto time_of = [&](std::size_t count) {
    std::vector<Member> members{{"a", 1}};
    for (std::size_t i = 0; i < count; ++i) {
      members.emplace_back("u" + std::to_string(i), 1);
    }
    const Value object = Value::object({{"spec", Value::object(std::move(members))}});
    FieldIssues issues;
    const auto start = std::chrono::steady_clock::now();
    const Value pruned = prune_custom(object, *(*schema)->root(), &issues);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(pruned, parse(R"({"spec":{"a":1}})"));
    EXPECT_EQ(issues.texts.size(), IssueBudget::kMostTexts);
    return took.count();
  };
  EXPECT_LT(growth(time_of, 20'000), kLinear);
}

TEST(NormalizeBuiltin, NamesUnknownFieldsInsideLists) {
  FieldIssues issues;
  ASSERT_TRUE(normalize("core.v1.Pod", R"({"metadata":{},"spec":{"containers":[{"name":"a"},
                         {"name":"b","immage":"x"}]}})",
                        &issues)
                  .ok());
  EXPECT_THAT(issues.texts, testing::ElementsAre("unknown field \"spec.containers[1].immage\""));
}

TEST(NormalizeBuiltin, RefusesWrongTypesWithGoTexts) {
  const struct {
    std::string_view type, body, error;
  } cases[] = {
      {"core.v1.ConfigMap", R"({"data":{"a":1}})",
       "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
       "number "
       "into Go struct field ConfigMap.data of type string"},
      {"apps.v1.Deployment", R"({"spec":{"replicas":"2"}})",
       "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal "
       "string into Go struct field DeploymentSpec.spec.replicas of type int32"},
      {"apps.v1.Deployment", R"({"spec":{"replicas":99999999999}})",
       "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal "
       "number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32"},
      {"core.v1.Pod", R"({"spec":{"containers":{}}})",
       "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal object into Go "
       "struct field PodSpec.spec.containers of type []v1.Container"},
      {"core.v1.Pod", R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1 1"}}}]}})",
       "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular "
       "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"core.v1.Pod", R"([])",
       "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal array into Go "
       "value "
       "of type v1.Pod"},
      {"core.v1.Pod", R"({"metadata":{"creationTimestamp":"x"}})",
       "Pod in version \"v1\" cannot be handled as a Pod: parsing time \"x\" as "
       "\"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
      {"core.v1.Secret", R"({"data":{"a":"*"}})",
       "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte "
       "0"},
  };
  for (const auto& c : cases) {
    const Result<Value> value = normalize(c.type, c.body);
    ASSERT_FALSE(value.ok()) << c.body;
    EXPECT_EQ(value.error().code, 400);
    EXPECT_EQ(value.error().message, c.error);
  }
}

TEST(NormalizeBuiltin, DropsZeroAndKeepsRequiredFields) {
  EXPECT_EQ(normal("apps.v1.Deployment",
                   R"({"metadata":{"labels":{},"name":"d"},"spec":{"replicas":0,"paused":false,
                       "template":{"spec":{"hostNetwork":false,"containers":[{"name":"c","tty":null,
                       "args":[]}]}}}})"),
            parse(R"({"metadata":{"name":"d"},"spec":{"replicas":0,"selector":null,"strategy":{},
                      "template":{"metadata":{},"spec":{"containers":[{"name":"c",
                      "resources":{}}]}}},"status":{}})"))
      << json::print(normal("apps.v1.Deployment", R"({"spec":{}})"));
  EXPECT_EQ(normal("rbac.v1.ClusterRole", R"({"rules":[]})"),
            parse(R"({"metadata":{},"rules":null})"));
  EXPECT_EQ(normal("core.v1.Event", R"({"metadata":{},"involvedObject":{}})")["eventTime"],
            Value());
}

TEST(NormalizeBuiltin, KeepsStructsThatAreGiven) {
  EXPECT_EQ(normal("core.v1.Pod",
                   R"({"spec":{"securityContext":{},"volumes":[{"name":"v","emptyDir":{}}]}})")
                .at({"spec", "volumes"}),
            parse(R"([{"name":"v","emptyDir":{}}])"));
}

TEST(NormalizeBuiltin, CanonicalizesQuantitiesAndTimes) {
  EXPECT_EQ(normal("core.v1.ResourceQuota",
                   R"({"metadata":{"creationTimestamp":"2026-11-20T12:20:35.5+02:00"},
                       "spec":{"hard":{"cpu":1,"memory":"1024Mi"}}})"),
            parse(R"({"metadata":{"creationTimestamp":"2026-11-20T10:20:35Z"},
                      "spec":{"hard":{"cpu":"1","memory":"1Gi"}},"status":{}})"));
  EXPECT_EQ(
      normal("coordination.v1.Lease",
             R"({"spec":{"renewTime":"2026-11-20T10:20:35.5Z","holderIdentity":""}})")["spec"],
      parse(R"({"renewTime":"2026-11-20T10:20:35.500000Z","holderIdentity":""})"));
}

TEST(NormalizeBuiltin, SharesUnchangedValues) {
  const Value object = parse(R"({"metadata":{"name":"c","annotations":{"long-annotation-key":
                                 "a value that does not fit inline"}},"data":{"a":"b"}})");
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.ConfigMap");
  const Result<Value> same = normalize_builtin(object, *schema, {.kind = "ConfigMap"});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->identical(object));
}

TEST(NormalizeBuiltin, ChecksSchemasInCustomResourceDefinition) {
  FieldIssues issues;
  const Result<Value> crd = normalize(
      "apiextensions.v1.CustomResourceDefinition",
      R"({"metadata":{},"spec":{"group":"g","names":{"plural":"p","kind":"K"},"scope":"Cluster",
          "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
          {"type":"object","properties":{"a":{"type":"array","items":{"type":"string","nope":1}},
          "b":{"type":"object","additionalProperties":true}}}}}]}})",
      &issues);
  ASSERT_TRUE(crd.ok()) << crd.error().message;
  const Value& properties =
      crd->at({"spec", "versions"})[0].at({"schema", "openAPIV3Schema", "properties"});
  EXPECT_EQ(properties["a"]["items"], parse(R"({"type":"string"})"));
  EXPECT_EQ(properties["b"]["additionalProperties"], Value(true));
  EXPECT_EQ(issues.texts.size(), 1U);
}

class NormalizeCustom : public testing::Test {
 protected:
  static StructuralSchema::Ptr schema() {
    auto parsed = StructuralSchema::parse(
        parse(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
            "size":{"type":"integer","default":3},
            "name":{"type":"string"},
            "maybe":{"type":"string","nullable":true},
            "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,
                    "properties":{"known":{"type":"object"}}},
            "inner":{"type":"object","default":{},"properties":{
                "mode":{"type":"string","default":"Auto"}}},
            "list":{"type":"array","items":{"type":"object","properties":{
                "port":{"type":"integer"},"protocol":{"type":"string","default":"TCP"}}}},
            "template":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{
                "spec":{"type":"object"}}}}}}})"),
        "P");
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? *parsed : nullptr;
  }
  static Result<Value> run(std::string_view text, FieldIssues* issues = nullptr) {
    return normalize_custom(parse(text), *schema()->root(), {.kind = "Widget", .version = "v1"},
                            issues);
  }
};

TEST_F(NormalizeCustom, PrunesDefaultsAndResolvesNulls) {
  FieldIssues issues;
  const Result<Value> value = run(
      R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w","foo":1},
          "spec":{"size":null,"name":null,"maybe":null,"gone":1,
                  "free":{"x":{"y":1},"known":{"gone":2}},
                  "list":[{"port":1,"gone":3}],
                  "template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"t","bad":1},
                              "spec":{},"gone":4}},"other":1})",
      &issues);
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(*value, parse(R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},
          "spec":{"size":3,"maybe":null,"free":{"x":{"y":1},"known":{}},
                  "list":[{"port":1,"protocol":"TCP"}],"inner":{"mode":"Auto"},
                  "template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"t"},"spec":{}}}})"))
      << json::print(*value);
  EXPECT_THAT(issues.texts,
              testing::ElementsAre(
                  "unknown field \"metadata.foo\"", "unknown field \"spec.gone\"",
                  "unknown field \"spec.free.known.gone\"", "unknown field \"spec.list[0].gone\"",
                  "unknown field \"spec.template.metadata.bad\"",
                  "unknown field \"spec.template.gone\"", "unknown field \"other\""));
}

TEST_F(NormalizeCustom, DefaultsReachOnlyExistingObjects) {
  const Result<Value> value = run(R"({"metadata":{"name":"w"}})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, parse(R"({"metadata":{"name":"w"}})"));
}

TEST_F(NormalizeCustom, RefusesMetadataOfAWrongType) {
  const Result<Value> value = run(R"({"metadata":{"labels":{"a":1}}})");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().message,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number "
            "into Go struct field ObjectMeta.labels of type string");
}

TEST_F(NormalizeCustom, SharesUnchangedValues) {
  const Value object = parse(R"({"metadata":{"name":"w"},"spec":{"size":1,"inner":{"mode":"x"}}})");
  const Result<Value> same = normalize_custom(object, *schema()->root(), {.kind = "Widget"});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->identical(object));
}

// A short list of empty items must not become gigabytes.
TEST_F(NormalizeCustom, BoundsDefaults) {
  std::string fields;
  for (int i = 0; i < 200; ++i) {
    fields += (i == 0 ? "" : ",") + std::string("\"field") + std::to_string(i) +
              R"(":{"type":"string","default":"0123456789012345678901234567890123456789"})";
  }
  const auto parsed = StructuralSchema::parse(
      parse(R"({"type":"object","properties":{"items":{"type":"array","items":{"type":"object",
                "properties":{)" +
            fields + "}}}}}"),
      "P");
  ASSERT_TRUE(parsed.ok());
  const auto filled = [&](std::size_t count) {
    Value items = Value::list();
    for (std::size_t i = 0; i < count; ++i) {
      items.push_back(Value::object());
    }
    return normalize_custom(Value::object({{"items", items}}), *(*parsed)->root(),
                            {.kind = "Bomb", .version = "v1"});
  };
  const Result<Value> few = filled(20);
  ASSERT_TRUE(few.ok()) << few.error().message;
  EXPECT_EQ((*few)["items"][19].size(), 200U);
  const Result<Value> many = filled(100'000);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code, 413);
  EXPECT_EQ(many.error().message,
            "Request entity too large: the defaults of its schema make the object many times as "
            "large");
}

// Nor a default whose items have defaults of their own.
TEST(StructuralSchema, BoundsDefaultsWithinDefaults) {
  const std::string items = [] {
    std::string all = "[{}";
    for (int i = 1; i < 1000; ++i) {
      all += ",{}";
    }
    return all + "]";
  }();
  std::string level = R"({"type":"object","properties":{"x":{"type":"string","default":"x"}}})";
  for (int i = 0; i < 4; ++i) {
    level = R"({"type":"object","properties":{"list":{"type":"array","items":)" + level +
            R"(,"default":)" + items + "}}}";
  }
  const auto parsed = StructuralSchema::parse(parse(level), "P");
  ASSERT_FALSE(parsed.ok());
  ASSERT_EQ(parsed.error().size(), 1U);
  EXPECT_NE(parsed.error()[0].detail.find("the defaults of its schema"), std::string::npos);
}

// Ten letters of a pattern may be megabytes of its program.
TEST(StructuralSchema, BoundsCompiledPatterns) {
  std::string fields;
  for (int i = 0; i < 100; ++i) {
    fields += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) +
              R"(":{"type":"string","pattern":"^\\pL{9)" + std::to_string(10 + i % 90) + "}" +
              std::to_string(i) + R"($"})";
  }
  const auto parsed =
      StructuralSchema::parse(parse(R"({"type":"object","properties":{)" + fields + "}}"), "P");
  ASSERT_FALSE(parsed.ok());
  EXPECT_LE(parsed.error().size(), 5U);
  EXPECT_NE(parsed.error().back().detail.find("too much memory"), std::string::npos)
      << parsed.error().back().detail;
}

}  // namespace
}  // namespace athanor::prune_test
