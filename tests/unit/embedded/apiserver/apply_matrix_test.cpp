// SPDX-License-Identifier: Apache-2.0
// Acceptance check A11: two managers, every sort of field, everything they can do to each other
// (docs/spec/apiserver.md 11.2).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::apply_matrix_test {
namespace {

constexpr const char* kDefinition = R"({"metadata":{"name":"widgets.ex.com"},"spec":{
  "group":"ex.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
  "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
    "type":"object","properties":{"spec":{"type":"object","properties":{
      "scalar":{"type":"string"},
      "map":{"type":"object","additionalProperties":{"type":"string"}},
      "atomicMap":{"type":"object","additionalProperties":{"type":"string"},
                   "x-kubernetes-map-type":"atomic"},
      "set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
      "atomicList":{"type":"array","items":{"type":"string"}},
      "listMap":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
                 "items":{"type":"object","required":["k"],"properties":{
                   "k":{"type":"string"},"v":{"type":"string"}}}}}}}}}}]}})";

// What one field holds, and what comes of it.
struct Row {
  std::string_view field{};
  std::string_view first{};     // of manager a
  std::string_view other{};     // what b says of the same thing
  std::string_view conflict{};  // the field of the conflict; empty: both have their way
  std::string_view beside{};    // something of b's own that a does not mind; empty: none is
  std::string_view together{};  // of a's and that
};

class ApplyMatrix : public testing::TestWithParam<Row> {
 protected:
  ApplyMatrix() {
    EXPECT_EQ(
        server_.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", parse(kDefinition))
            .status,
        201);
  }

  static std::string body(std::string_view value) {
    // A spec that is said to be empty, and becomes so, would be no object any more.
    return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"})" +
           (value.empty() ? std::string()
                          : R"(,"spec":{")" + std::string(GetParam().field) +
                                "\":" + std::string(value) + "}") +
           "}";
  }
  Answer apply(std::string_view manager, std::string_view value, std::string_view more = "") {
    return server_.patch("/apis/ex.com/v1/namespaces/tst/widgets/w?fieldManager=" +
                             std::string(manager) + std::string(more),
                         "apply", body(value));
  }
  Value held() {
    return server_.get("/apis/ex.com/v1/namespaces/tst/widgets/w").value["spec"][GetParam().field];
  }
  // The managers that own something of the field.
  std::vector<std::string> owners() {
    std::vector<std::string> names;
    const Value whole = server_.get("/apis/ex.com/v1/namespaces/tst/widgets/w").value;
    for (const Value& entry : whole["metadata"]["managedFields"].items()) {
      const Value& fields = entry["fieldsV1"]["f:spec"]["f:" + std::string(GetParam().field)];
      if (!fields.is_null()) {
        names.push_back(entry["manager"].str());
      }
    }
    std::ranges::sort(names);
    return names;
  }

  TestServer server_{};
};

TEST_P(ApplyMatrix, SayingTheSameSharesIt) {
  ASSERT_EQ(apply("a", GetParam().first).status, 201);
  const Answer same = apply("b", GetParam().first);
  ASSERT_EQ(same.status, 200) << same.text;
  EXPECT_THAT(owners(), testing::ElementsAre("a", "b"));
  // What is shared stays when one lets go, and goes with the last.
  ASSERT_EQ(apply("a", "").status, 200);
  EXPECT_EQ(held(), parse(GetParam().first));
  EXPECT_THAT(owners(), testing::ElementsAre("b"));
  ASSERT_EQ(apply("b", "").status, 200);
  EXPECT_TRUE(held().empty()) << json::print(held());
}

TEST_P(ApplyMatrix, SayingSomethingElseIsAConflict) {
  ASSERT_EQ(apply("a", GetParam().first).status, 201);
  const Answer other = apply("b", GetParam().other);
  if (GetParam().conflict.empty()) {
    EXPECT_EQ(other.status, 200) << other.text;
    return;
  }
  EXPECT_EQ(other.status, 409) << other.text;
  const Value& cause = other.value["details"]["causes"][0];
  EXPECT_EQ(cause["reason"].as_string(), "FieldManagerConflict");
  EXPECT_EQ(cause["message"].as_string(), "conflict with \"a\"");
  EXPECT_EQ(cause["field"].as_string(), GetParam().conflict);
  EXPECT_EQ(held(), parse(GetParam().first));
  EXPECT_THAT(owners(), testing::ElementsAre("a"));
}

TEST_P(ApplyMatrix, ForceTakesIt) {
  ASSERT_EQ(apply("a", GetParam().first).status, 201);
  const Answer forced = apply("b", GetParam().other, "&force=true");
  ASSERT_EQ(forced.status, 200) << forced.text;
  if (!GetParam().conflict.empty()) {
    EXPECT_EQ(held(), parse(GetParam().other));
    EXPECT_THAT(owners(), testing::Contains("b"));
    // The first is told now.
    EXPECT_EQ(apply("a", GetParam().first).status, 409);
  }
}

TEST_P(ApplyMatrix, OmittingRemovesSolelyOwnedFields) {
  ASSERT_EQ(apply("a", GetParam().first).status, 201);
  if (!GetParam().beside.empty()) {
    ASSERT_EQ(apply("b", GetParam().beside).status, 200);
    EXPECT_EQ(held(), parse(GetParam().together));
  }
  ASSERT_EQ(apply("a", "").status, 200);
  if (GetParam().beside.empty()) {
    EXPECT_TRUE(held().empty()) << json::print(held());
  } else {
    EXPECT_EQ(held(), parse(GetParam().beside));
  }
}

// Writers that do not apply take what they write from nobody, but own it too.
TEST_P(ApplyMatrix, UpdatesTakeOverChangedFields) {
  ASSERT_EQ(apply("a", GetParam().first).status, 201);
  const Answer changed =
      server_.patch("/apis/ex.com/v1/namespaces/tst/widgets/w?fieldManager=editor", "merge",
                    body(GetParam().other));
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(held(), parse(GetParam().other));
  EXPECT_THAT(owners(), testing::Contains("editor"));
  if (!GetParam().conflict.empty()) {
    const Answer again = apply("a", GetParam().first);
    EXPECT_EQ(again.status, 409);
    EXPECT_THAT(again.value["details"]["causes"][0]["message"].str(),
                testing::StartsWith("conflict with \"editor\" using ex.com/v1"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ApplyMatrix,
    testing::Values(Row{"scalar", R"("x")", R"("y")", ".spec.scalar", "", ""},
                    Row{"map", R"({"m":"x"})", R"({"m":"y"})", ".spec.map.m", R"({"n":"z"})",
                        R"({"m":"x","n":"z"})"},
                    Row{"atomicMap", R"({"m":"x"})", R"({"m":"y"})", ".spec.atomicMap", "", ""},
                    Row{"set", R"(["x"])", R"(["y"])", "", R"(["z"])", R"(["x","z"])"},
                    Row{"atomicList", R"(["x"])", R"(["x","y"])", ".spec.atomicList", "", ""},
                    Row{"listMap", R"([{"k":"1","v":"x"}])", R"([{"k":"1","v":"y"}])",
                        R"(.spec.listMap[k="1"].v)", R"([{"k":"2","v":"z"}])",
                        R"([{"k":"1","v":"x"},{"k":"2","v":"z"}])"}),
    [](const auto& row) { return std::string(row.param.field); });

}  // namespace
}  // namespace athanor::apiserver::apply_matrix_test
