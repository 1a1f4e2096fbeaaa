// SPDX-License-Identifier: Apache-2.0
#include "kube/text/jsonpath.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::jsonpath_test {
namespace {

constexpr const char* kDocument = R"({
  "metadata":{"name":"n","labels":{"a.b/c":"dotted","it's":"quoted"}},
  "spec":{"list":[10,20,30],"on":true},
  "status":{"conditions":[{"type":"Ready","status":"True","n":1},{"type":"Admitted","status":"False","n":2},
                          {"status":"Unknown"}]}})";

TEST(JsonPath, FindsValues) {
  const Value document = *json::parse(kDocument);
  const std::vector<std::pair<std::string, std::string>> table = {
      {".metadata.name", R"(["n"])"},
      {"{.metadata.name}", R"(["n"])"},
      {"metadata.name", R"(["n"])"},
      {"$.metadata.name", R"(["n"])"},
      {R"(.metadata.labels.a\.b/c)", R"(["dotted"])"},
      {".metadata.labels['a.b/c']", R"(["dotted"])"},
      {".metadata.labels[\"it's\"]", R"(["quoted"])"},
      {".spec.list[0]", "[10]"},
      {".spec.list[-1]", "[30]"},
      {".spec.list[3]", "[]"},
      {".spec.list[-4]", "[]"},
      {".spec.list[*]", "[10,20,30]"},
      {".spec.list[1:]", "[20,30]"},
      {".spec.list[:2]", "[10,20]"},
      {".spec.list[-2:-1]", "[20]"},
      {".spec.*", "[[10,20,30],true]"},
      {".spec.on", "[true]"},
      {".spec.missing.deeper", "[]"},
      {".metadata.name.x", "[]"},
      {R"(.status.conditions[?(@.type=="Ready")].status)", R"(["True"])"},
      {R"(.status.conditions[?(@.type == 'Admitted')].status)", R"(["False"])"},
      {R"(.status.conditions[?(@.type!="Ready")].status)", R"(["False"])"},
      {R"(.status.conditions[?(@.type=="a]b=c")].status)", "[]"},
      {".status.conditions[?(@.n>1)].type", R"(["Admitted"])"},
      {".status.conditions[?(@.n<=1)].type", R"(["Ready"])"},
      {".status.conditions[?(@.n)].type", R"(["Ready","Admitted"])"},
      {".spec.list[?(@>=20)]", "[20,30]"}};
  for (const auto& [path, expected] : table) {
    const auto parsed = JsonPath::parse(path);
    ASSERT_TRUE(parsed.ok()) << path << ": " << parsed.error().message;
    EXPECT_EQ(json::print(Value::list(parsed->find(document))), expected) << path;
  }
}

TEST(JsonPath, FirstIsNullWhenNothingIsFound) {
  EXPECT_EQ(JsonPath::parse(".a")->first(*json::parse(R"({"a":[1]})")), Value::list({1}));
  EXPECT_TRUE(JsonPath::parse(".b")->first(Value::object()).is_null());
  EXPECT_EQ(JsonPath::parse("")->first(Value("root")), Value("root"));
}

TEST(JsonPath, RefusesBrokenPaths) {
  for (const char* path : {"{.a", ".a[", ".a[0", ".a[x]", ".a..b", ".a.", ".a[?(x)]", ".a[?(@.b==]",
                           ".a[?(@.b==x)]", ".a[?@.b]", ".a[1:x]", ".a[]"}) {
    const auto parsed = JsonPath::parse(path);
    ASSERT_FALSE(parsed.ok()) << path;
    EXPECT_EQ(parsed.error().code, 400);
  }
}

}  // namespace
}  // namespace athanor::jsonpath_test
