// SPDX-License-Identifier: Apache-2.0
// Objects within custom objects, with the texts of kube-apiserver 1.35.
#include "kube/schema/embedded_objects.hpp"

#include <gmock/gmock.h>

#include "kube/schema/prune.hpp"
#include "kube/schema/structural_schema.hpp"
#include "kube/schema/validate.hpp"
#include "kube/text/json.hpp"

namespace athanor::embedded_objects_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

StructuralSchema::Ptr schema() {
  static const StructuralSchema::Ptr kSchema = *StructuralSchema::parse(
      *json::parse(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
          "size":{"type":"integer"},
          "one":{"type":"object","x-kubernetes-embedded-resource":true,
                 "x-kubernetes-preserve-unknown-fields":true},
          "many":{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true}},
          "map":{"type":"object","additionalProperties":
                 {"type":"object","x-kubernetes-embedded-resource":true}}}}}})"),
      "Box");
  return kSchema;
}

std::vector<std::string> errors_of(std::string_view spec) {
  const Value object = Value::object({{"spec", *json::parse(spec)}});
  std::vector<std::string> texts;
  for (const FieldError& error : validate_embedded(object, *schema()->root())) {
    texts.push_back(error.text());
  }
  return texts;
}

// What is wrong with this metadata, without the place where it is.
std::vector<std::string> metadata_errors(const std::string& metadata) {
  std::vector<std::string> texts =
      errors_of(R"({"one":{"apiVersion":"v1","kind":"Pod","metadata":)" + metadata + "}}");
  constexpr std::string_view kPlace = "spec.one.metadata.";
  for (std::string& text : texts) {
    EXPECT_TRUE(text.starts_with(kPlace)) << text;
    text.erase(0, kPlace.size());
  }
  return texts;
}

TEST(EmbeddedObjects, NameTheirType) {
  EXPECT_THAT(errors_of(R"({"one":{}})"),
              ElementsAre("spec.one.apiVersion: Required value", "spec.one.kind: Required value"));
  EXPECT_THAT(errors_of(R"({"one":{"apiVersion":"","kind":""}})"),
              ElementsAre("spec.one.apiVersion: Invalid value: \"\": must not be empty",
                          "spec.one.kind: Invalid value: \"\": must not be empty"));
  EXPECT_THAT(
      errors_of(R"({"one":{"apiVersion":"a/b/c","kind":"a b"}})"),
      ElementsAre(
          "spec.one.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
          testing::StartsWith("spec.one.kind: Invalid value: \"a b\": may have mixed case, but "
                              "should otherwise match: a DNS-1035 label must consist of")));
  EXPECT_THAT(errors_of(R"({"one":{"apiVersion":"apps/v1","kind":"Deployment"}})"), IsEmpty());
}

TEST(EmbeddedObjects, AreFoundEverywhere) {
  EXPECT_THAT(
      errors_of(R"({"many":[{"apiVersion":"v1","kind":"Pod"},{"apiVersion":"v1"}],
                            "map":{"k.x":{"kind":"Pod"}}})"),
      ElementsAre("spec.many[1].kind: Required value", "spec.map[k.x].apiVersion: Required value"));
  EXPECT_THAT(errors_of(R"({"size":1,"many":[],"map":{}})"), IsEmpty());
}

TEST(EmbeddedObjects, HaveMetadataAsObjectsDo) {
  const struct {
    const char* metadata;
    const char* error;
  } cases[] = {
      {R"({"name":"a/b"})", "name: Invalid value: \"a/b\": may not contain '/'"},
      {R"({"name":".."})", "name: Invalid value: \"..\": may not be '..'"},
      {R"({"generateName":"a/b"})", "generateName: Invalid value: \"a/b\": may not contain '/'"},
      {R"({"namespace":"Bad_NS"})",
       "namespace: Invalid value: \"Bad_NS\": a lowercase RFC 1123 label must consist of lower "
       "case "
       "alphanumeric characters or '-', and must start and end with an alphanumeric character "
       "(e.g. "
       "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
      {R"({"generation":-1})", "generation: Invalid value: -1: must be greater than or equal to 0"},
      {R"({"labels":{"a":"b!"}})",
       "labels: Invalid value: \"b!\": a valid label must be an empty string or consist of "
       "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
       "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
      {R"({"annotations":{"a b":""}})",
       "annotations: Invalid value: \"a b\": name part must consist of alphanumeric characters, "
       "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
       "'my.name',  or '123-abc', regex used for validation is "
       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
      {R"({"ownerReferences":[{"apiVersion":"a/b/c","kind":"Pod","name":"n","uid":"u"}]})",
       "ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not be empty"},
      {R"({"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"n","uid":""}]})",
       "ownerReferences.uid: Invalid value: \"\": must not be empty"},
      {R"({"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}]})",
       "ownerReferences: Invalid value: "
       "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"n\",\"uid\":\"u\"}: /v1, Kind=Event "
       "is "
       "disallowed from being an owner"},
      {R"({"finalizers":["orphan","foregroundDeletion"]})",
       "finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and "
       "foregroundDeletion cannot be both set"},
      {R"({"managedFields":[{"operation":"Bad"}]})",
       "managedFields[0].operation: Invalid value: \"Bad\": must be `Apply` or `Update`"},
      {R"({"managedFields":[{"operation":"Apply","fieldsType":"Foo"}]})",
       "managedFields[0].fieldsType: Invalid value: \"Foo\": must be `FieldsV1`"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(metadata_errors(c.metadata), ElementsAre(std::string(c.error)));
  }
  EXPECT_THAT(
      metadata_errors(R"({"managedFields":[{"operation":"Update","manager":")" +
                      std::string(129, 'x') + R"(","subresource":")" + std::string(257, 'y') +
                      R"("}]})"),
      ElementsAre("managedFields[0].manager: Too long: may not be more than 128 bytes",
                  "managedFields[0].subresource: Too long: may not be more than 256 bytes"));
}

TEST(EmbeddedObjects, NeedLessThanObjectsThatAreStored) {
  EXPECT_THAT(metadata_errors("{}"), IsEmpty());
  EXPECT_THAT(metadata_errors(R"({"name":"Bad_Name","finalizers":["noslash"],"resourceVersion":"5",
                                  "selfLink":"x","deletionGracePeriodSeconds":4})"),
              IsEmpty());
}

TEST(EmbeddedObjects, HaveTypedMetadata) {
  const auto run = [](std::string_view spec, FieldIssues* issues) {
    return normalize_custom(Value::object({{"spec", *json::parse(spec)}}), *schema()->root(),
                            {.kind = "Box", .version = "v1"}, issues);
  };
  FieldIssues issues;
  const auto changed = run(
      R"({"map":{"k.x":{"apiVersion":"v1","kind":"P","metadata":{"foo":1,"labels":{"a":null}},"b":1}},
          "one":{"apiVersion":"v1","kind":"P","metadata":null}})",
      &issues);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ((*changed)["spec"], *json::parse(R"({"map":{"k.x":{"apiVersion":"v1","kind":"P",
      "metadata":{"labels":{"a":""}}}},"one":{"apiVersion":"v1","kind":"P","metadata":{}}})"))
      << json::print(*changed);
  EXPECT_THAT(issues.texts, ElementsAre("unknown field \"spec.map[k.x].metadata.foo\"",
                                        "unknown field \"spec.map.k.x.b\""));
  const struct {
    const char* spec;
    const char* error;
  } cases[] = {
      {R"({"map":{"k.x":{"apiVersion":1}}})",
       "spec.map[k.x].apiVersion: Invalid value: 1: must be a string"},
      {R"({"map":{"k.x":{"metadata":{"labels":{"a":1}}}}})",
       "spec.map[k.x].metadata: Invalid value: {\"labels\":{\"a\":1}}: json: cannot unmarshal "
       "number "
       "into Go struct field ObjectMeta.labels of type string"},
      {R"({"one":{"metadata":{"deletionTimestamp":5}}})",
       "spec.one.metadata: Invalid value: {\"deletionTimestamp\":5}: json: cannot unmarshal number "
       "into Go struct field ObjectMeta.deletionTimestamp of type string"},
  };
  for (const auto& c : cases) {
    const auto refused = run(c.spec, nullptr);
    ASSERT_FALSE(refused.ok()) << c.spec;
    EXPECT_EQ(refused.error().message,
              std::string("Box in version \"v1\" cannot be handled as a Box: ") + c.error);
  }
}

TEST(EmbeddedObjects, AreLookedForWhereTheyMayBe) {
  EXPECT_TRUE(embeds_objects(*schema()->root()));
  const auto plain = StructuralSchema::parse(
      *json::parse(R"({"type":"object","properties":{"spec":{"type":"object"}}})"), "Box");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(embeds_objects(*(*plain)->root()));
}

}  // namespace
}  // namespace athanor::embedded_objects_test
