// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch: docs/spec/apiserver.md 9.5, on the real built-in types.
#include "kube/apply/strategic_patch.hpp"

#include "unit/kube/apply_fixture.hpp"

namespace athanor::strategic_patch_test {
namespace {

using test::builtin;
using test::json;
using test::same_json;

struct Case {
  const char* what = nullptr;
  const char* document = nullptr;
  const char* patch = nullptr;
  const char* expected = nullptr;
};

void expect_all(SchemaPtr schema, std::initializer_list<Case> cases) {
  for (const Case& row : cases) {
    const Result<Value> result = apply_strategic_patch(json(row.document), json(row.patch), schema);
    ASSERT_TRUE(result.ok()) << row.what << ": " << result.error().message;
    EXPECT_EQ(athanor::json::print(*result), athanor::json::print(json(row.expected))) << row.what;
  }
}

TEST(StrategicPatch, MergesMapsLikeMergePatch) {
  expect_all(builtin("core.v1.ConfigMap"),
             {{"set and add", R"({"data":{"a":"1"}})", R"({"data":{"a":"2","b":"3"}})",
               R"({"data":{"a":"2","b":"3"}})"},
              {"null deletes", R"({"data":{"a":"1","b":"2"}})", R"({"data":{"a":null}})",
               R"({"data":{"b":"2"}})"},
              {"null inside something new", "{}", R"({"data":{"a":null,"b":"1"}})",
               R"({"data":{"b":"1"}})"},
              {"replace", R"({"data":{"a":"1"}})", R"({"data":{"$patch":"replace","b":"2"}})",
               R"({"data":{"b":"2"}})"},
              {"delete", R"({"data":{"a":"1"},"immutable":true})",
               R"({"data":{"$patch":"delete"}})", R"({"immutable":true})"},
              {"merge is the default", R"({"data":{"a":"1"}})",
               R"({"data":{"$patch":"merge","b":"2"}})", R"({"data":{"a":"1","b":"2"}})"}});
}

TEST(StrategicPatch, PutsNewElementsBeforeUnnamedOnes) {
  expect_all(builtin("core.v1.PodSpec"),
             {{"a new element", R"({"containers":[{"name":"a"}]})",
               R"({"containers":[{"name":"b"}]})", R"({"containers":[{"name":"b"},{"name":"a"}]})"},
              {"old ones keep their places", R"({"containers":[{"name":"a"},{"name":"b"}]})",
               R"({"containers":[{"name":"b"},{"name":"c"}]})",
               R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})"}});
}

TEST(StrategicPatch, KeepsDuplicates) {
  expect_all(
      builtin("core.v1.Container"),
      {{"a new list is taken as it is", R"({"name":"c"})",
        R"({"env":[{"name":"A","value":"1"},{"name":"B"},{"name":"A","value":"2"}]})",
        R"({"name":"c","env":[{"name":"A","value":"1"},{"name":"B"},{"name":"A","value":"2"}]})"},
       {"an old one merges both", R"({"env":[{"name":"A","value":"1"}]})",
        R"({"env":[{"name":"B"},{"name":"A","value":"2"},{"name":"A","value":"3"}]})",
        R"({"env":[{"name":"B"},{"name":"A","value":"3"}]})"},
       {"twins of the document stay together",
        R"({"env":[{"name":"A"},{"name":"B"},{"name":"A","value":"2"}]})",
        R"({"env":[{"name":"A","value":"1"}]})",
        R"({"env":[{"name":"A","value":"1"},{"name":"A","value":"2"},{"name":"B"}]})"}});
}

TEST(StrategicPatch, MergesListsByKey) {
  expect_all(
      builtin("core.v1.PodSpec"),
      {{"elements merge in place, new ones are appended",
        R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]})",
        R"({"containers":[{"name":"b","image":"2"},{"name":"c","image":"3"}]})",
        R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c","image":"3"}]})"},
       {"lists inside elements",
        R"({"containers":[{"name":"a","env":[{"name":"x","value":"1"}]}]})",
        R"({"containers":[{"name":"a","env":[{"name":"y","value":"2"}]}]})",
        R"({"containers":[{"name":"a","env":[{"name":"y","value":"2"},{"name":"x","value":"1"}]}]})"},
       {"delete an element", R"({"containers":[{"name":"a"},{"name":"b"}]})",
        R"({"containers":[{"$patch":"delete","name":"a"}]})", R"({"containers":[{"name":"b"}]})"},
       {"delete an element that is not there", R"({"containers":[{"name":"a"}]})",
        R"({"containers":[{"$patch":"delete","name":"z"}]})", R"({"containers":[{"name":"a"}]})"},
       {"replace the list", R"({"containers":[{"name":"a"},{"name":"b"}]})",
        R"({"containers":[{"$patch":"replace"},{"name":"c"}]})",
        R"({"containers":[{"name":"c"}]})"},
       {"empty list by replace", R"({"containers":[{"name":"a"}]})",
        R"({"containers":[{"$patch":"replace"}]})", R"({"containers":[]})"},
       {"directives vanish in a new list", "{}",
        R"({"containers":[{"$patch":"delete","name":"a"},{"name":"b","image":null}]})",
        R"({"containers":[{"name":"b"}]})"},
       {"an item whose key is null is the patch's, before the others",
        R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":null,"image":"x"}]})",
        R"({"containers":[{"image":"x"},{"name":"a"}]})"},
       {"a list without strategy is replaced", R"({"tolerations":[{"key":"a"},{"key":"b"}]})",
        R"({"tolerations":[{"key":"c"}]})", R"({"tolerations":[{"key":"c"}]})"},
       {"args are atomic", R"({"containers":[{"name":"a","args":["1","2"]}]})",
        R"({"containers":[{"name":"a","args":["3"]}]})",
        R"({"containers":[{"name":"a","args":["3"]}]})"}});
}

TEST(StrategicPatch, UsesTheMergeKeyOfAppendixS) {
  expect_all(builtin("core.v1.Service"),
             {{"ports by port, not by their list-map keys",
               R"({"spec":{"ports":[{"port":80,"protocol":"TCP","name":"a"}]}})",
               R"({"spec":{"ports":[{"port":80,"name":"b"},{"port":81}]}})",
               R"({"spec":{"ports":[{"port":80,"protocol":"TCP","name":"b"},{"port":81}]}})"}});
}

TEST(StrategicPatch, MergesPrimitiveLists) {
  expect_all(
      builtin("core.v1.ConfigMap"),
      {{"union", R"({"metadata":{"finalizers":["a","b"]}})",
        R"({"metadata":{"finalizers":["b","c"]}})", R"({"metadata":{"finalizers":["a","b","c"]}})"},
       {"delete from", R"({"metadata":{"finalizers":["a","b"]}})",
        R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a","z"]}})",
        R"({"metadata":{"finalizers":["b"]}})"},
       {"delete and add", R"({"metadata":{"finalizers":["a","b"]}})",
        R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]}})",
        R"({"metadata":{"finalizers":["c","b"]}})"},
       {"order", R"({"metadata":{"finalizers":["a","b"]}})",
        R"({"metadata":{"$setElementOrder/finalizers":["c","b","a"],"finalizers":["c"]}})",
        R"({"metadata":{"finalizers":["c","b","a"]}})"}});
}

TEST(StrategicPatch, OrdersElements) {
  expect_all(
      builtin("core.v1.PodSpec"),
      {{"listed ones in that order", R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
        R"({"$setElementOrder/containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})",
        R"({"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})"},
       {"others keep their relative place",
        R"({"containers":[{"name":"x"},{"name":"a"},{"name":"y"},{"name":"b"},{"name":"z"}]})",
        R"({"$setElementOrder/containers":[{"name":"a"},{"name":"b"}]})",
        R"({"containers":[{"name":"x"},{"name":"a"},{"name":"y"},{"name":"b"},{"name":"z"}]})"},
       {"a new element between", R"({"containers":[{"name":"a"},{"name":"b"}]})",
        R"({"$setElementOrder/containers":[{"name":"a"},{"name":"n"},{"name":"b"}],
            "containers":[{"name":"n"}]})",
        R"({"containers":[{"name":"a"},{"name":"n"},{"name":"b"}]})"},
       {"names that are not there do not matter", R"({"containers":[{"name":"a"}]})",
        R"({"$setElementOrder/containers":[{"name":"q"},{"name":"a"}]})",
        R"({"containers":[{"name":"a"}]})"}});
}

TEST(StrategicPatch, RetainsKeys) {
  expect_all(
      builtin("apps.v1.DeploymentSpec"),
      {{"strategy", R"({"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}})",
        R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})",
        R"({"strategy":{"type":"Recreate"}})"}});
  expect_all(
      builtin("core.v1.PodSpec"),
      {{"volume source", R"({"volumes":[{"name":"v","emptyDir":{}}]})",
        R"({"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/x"}}]})",
        R"({"volumes":[{"name":"v","hostPath":{"path":"/x"}}]})"}});
}

TEST(StrategicPatch, LeavesDirectivesAboutNothingToTheDecoder) {
  expect_all(
      builtin("core.v1.PodSpec"),
      {{"in a new list", "{}",
        R"({"volumes":[{"$retainKeys":["name"],"name":"v","emptyDir":null}]})",
        R"({"volumes":[{"$retainKeys":["name"],"name":"v"}]})"},
       {"in a new element of a list", R"({"volumes":[{"name":"a"}]})",
        R"({"volumes":[{"$retainKeys":["name"],"name":"v"}]})",
        R"({"volumes":[{"$retainKeys":["name"],"name":"v"},{"name":"a"}]})"},
       {"in a new map", "{}",
        R"({"securityContext":{"$retainKeys":["a"],"seLinuxOptions":{"$patch":"replace","a":"b"}}})",
        R"({"securityContext":{"$retainKeys":["a"]}})"}});
}

TEST(StrategicPatch, RefusesMalformedPatches) {
  const SchemaPtr schema = builtin("core.v1.PodSpec");
  const Value document = json(R"({"containers":[{"name":"a"}],"nodeSelector":{"a":"b"}})");
  struct Refusal {
    const char* patch = nullptr;
    int code = 0;
    const char* message = nullptr;
  };
  const Refusal table[] = {
      {R"({"nodeSelector":{"$patch":"bogus"}})", 422, "unknown patch type: bogus"},
      {R"({"containers":[{"name":"a","$patch":"bogus"}]})", 422, "unknown patch type: bogus"},
      {R"({"containers":[{"image":"x"}]})", 422,
       R"(map: {"image":"x"} does not contain declared merge key: name)"},
      {R"({"containers":[{"$patch":"delete"}]})", 422,
       R"(map: {"$patch":"delete"} does not contain declared merge key: name)"},
      {R"([])", 400, "error decoding patch: not an object"},
      {R"({"$setElementOrder/containers":{}})", 400,
       "invalid patch: $setElementOrder/containers is not a list"},
      {R"({"$retainKeys":["a"],"hostname":"x"})", 400, "invalid patch format of retainKeys"},
  };
  for (const Refusal& row : table) {
    const Result<Value> result = apply_strategic_patch(document, json(row.patch), schema);
    ASSERT_FALSE(result.ok()) << row.patch;
    EXPECT_EQ(result.error().code, row.code) << row.patch;
    EXPECT_EQ(result.error().message, row.message);
  }
}

TEST(StrategicPatch, SharesUntouchedValues) {
  const Value document =
      json(R"({"data":{"a":"1"},"metadata":{"name":"x","labels":{"l":"a long label"}}})");
  const Result<Value> same = apply_strategic_patch(
      document, json(R"({"data":{"a":"1"},"metadata":{"labels":{"l":"a long label"}}})"),
      builtin("core.v1.ConfigMap"));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->identical(document));
  const Result<Value> other =
      apply_strategic_patch(document, json(R"({"data":{"a":"2"}})"), builtin("core.v1.ConfigMap"));
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE((*other)["metadata"].identical(document["metadata"]));
}

}  // namespace
}  // namespace athanor::strategic_patch_test
