// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/patch.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::patch_test {
namespace {

Value read(std::string_view text) {
  const auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or(Value());
}

struct Case {
  std::string document{};
  std::string patch{};
  std::string result{};  // empty: refused with 422
};

TEST(JsonPatch, SaysWhyAnOperationDoesNotApply) {
  const std::vector<Case> table = {
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])",
       "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value"},
      {R"({"a":[1]})", R"([{"op":"remove","path":"/a/1"}])",
       "error in remove for path: '/a/1': Unable to access invalid index: 1: invalid index "
       "referenced"},
      {R"({"a":1})", R"([{"op":"add","path":"/x/y","value":2}])",
       "add operation does not apply: doc is missing path: \"/x/y\": missing value"},
      {R"({"a":1})", R"([{"op":"add","path":"/a/y","value":2}])",
       "add operation does not apply: doc is missing path: \"/a/y\": missing value"},
      {R"({"a":1})", R"([{"op":"add","path":"a","value":2}])",
       "add operation does not apply: doc is missing path: \"a\": missing value"},
      {R"({"a":1})", R"([{"op":"add","path":"/b"}])",
       "add operation does not apply: missing value field: path \"/b\""},
      {R"({"a":1})", R"([{"op":"add","value":2}])",
       "add operation failed to decode path: missing value"},
      {R"({"a":1})", R"([{"op":"move","from":"/b","path":"/c"}])",
       "error in move for path: '/b': Unable to remove nonexistent key: b: missing value"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b/c"}])",
       "move operation does not apply: doc is missing path: \"/b/c\": missing value"},
      {R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])",
       "move operation does not apply: doc is missing destination path: /a/b: missing value"},
      {R"({"a":1})", R"([{"op":"copy","path":"/c"}])",
       "copy operation failed to decode from: operation, missing from field: missing value"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])",
       "testing value /a failed: test failed"},
      {R"({"a":1})", R"([{"op":"twist","path":"/a","value":2}])", "Unexpected kind: twist"},
      {R"({"a":1})", R"([{"path":"/a"}])", "Unexpected kind: unknown"}};
  for (const auto& [document, patch, message] : table) {
    const auto result = apply_json_patch(read(document), read(patch));
    ASSERT_FALSE(result.ok()) << patch;
    EXPECT_EQ(result.error().message, message) << patch;
  }
}

TEST(JsonPatch, FollowsRfc6902) {
  const std::vector<Case> table = {
      {R"({"a":1})", R"([])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]}])", R"({"a":1,"b":[1]})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"/x/y","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"","value":{"b":2}}])", R"({"b":2})"},
      {R"({"a":1})", R"([{"op":"add","path":"/b"}])", ""},
      {R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])", R"({"b":2})"},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/-1"}])", R"({"a":[1,2]})"},
      {R"({"a":1})", R"([{"op":"remove","path":"/zz"}])", ""},
      {R"({"a":[1]})", R"([{"op":"remove","path":"/a/1"}])", ""},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":2}])", R"({"a":2})"},
      {R"({"a":[1,2]})", R"([{"op":"replace","path":"/a/0","value":9}])", R"({"a":[9,2]})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":1})", R"([{"op":"replace","path":"/b/c","value":2}])", ""},
      {R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])",
       R"({"a":{},"c":{"d":1}})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", ""},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"copy","from":"/zz","path":"/c"}])", ""},
      {R"({"a":{"b":[1]}})", R"([{"op":"test","path":"/a","value":{"b":[1]}}])",
       R"({"a":{"b":[1]}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"test","path":"/zz","value":null}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/zz/x","value":null}])", ""},
      {R"({"a":1})", R"([{"op":"test","path":"/zz","value":1}])", ""},
      // A null that was added is not that of a document, as in the reference's library.
      {R"({"a":{"b":null}})", R"([{"op":"test","path":"/a","value":{"b":null}}])",
       R"({"a":{"b":null}})"},
      {R"({"a":{}})",
       R"([{"op":"add","path":"/a/b","value":null},{"op":"test","path":"/a","value":{"b":null}}])",
       ""},
      {R"({"a":{}})",
       R"([{"op":"add","path":"/a/b","value":null},{"op":"test","path":"/a/b","value":null}])",
       R"({"a":{"b":null}})"},
      {R"({"x/y":{"~":1}})", R"([{"op":"replace","path":"/x~1y/~0","value":2}])",
       R"({"x/y":{"~":2}})"},
      {R"({"a":1})", R"([{"op":"twist","path":"/a","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","path":"a","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"add","value":2}])", ""},
      {R"({"a":1})", R"([{"op":"replace","path":"/a/b","value":2}])", ""},
      {R"({"a":[1]})", R"([{"op":"replace","path":"/a/0x","value":2}])", ""}};
  for (const Case& entry : table) {
    const auto result = apply_json_patch(read(entry.document), read(entry.patch));
    if (entry.result.empty()) {
      ASSERT_FALSE(result.ok()) << entry.patch;
      EXPECT_EQ(result.error().code, 422) << entry.patch;
      EXPECT_EQ(result.error().reason, "Invalid") << entry.patch;
    } else {
      ASSERT_TRUE(result.ok()) << entry.patch;
      EXPECT_EQ(json::print(*result), entry.result) << entry.patch;
    }
  }
}

TEST(JsonPatch, RefusesMalformedPatches) {
  EXPECT_EQ(apply_json_patch(Value::object(), read("{}")).error(),
            (Error{400, "BadRequest",
                   "error decoding patch: json: cannot unmarshal object into Go value of type "
                   "[]handlers.jsonPatchOp"}));
  EXPECT_EQ(apply_json_patch(Value::object(), read("[1]")).error().code, 400);
  const auto many =
      apply_json_patch(Value::object(), Value::list(std::vector<Value>(10'001, Value::object())));
  EXPECT_EQ(many.error(), (Error{413, "RequestEntityTooLarge",
                                 "Request entity too large: The allowed maximum operations in a "
                                 "JSON patch is 10000, got 10001"}));
}

TEST(JsonPatch, LeavesTheDocumentAlone) {
  const Value document = read(R"({"a":{"b":[1,2]}})");
  EXPECT_FALSE(
      apply_json_patch(document,
                       read(R"([{"op":"remove","path":"/a/b/0"},{"op":"remove","path":"/x"}])"))
          .ok());
  EXPECT_EQ(json::print(document), R"({"a":{"b":[1,2]}})");
}

// One operation of a patch.
Value operation(std::string_view op, const std::string& from, const std::string& path) {
  return Value::object({{"op", op}, {"from", from}, {"path", path}});
}

std::string steps(std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) {
    path += "/a";
  }
  return path;
}

Value chain(std::size_t levels) {
  Value value = 1;
  for (std::size_t i = 0; i < levels; ++i) {
    value = Value::object({{"a", value}});
  }
  return value;
}

TEST(JsonPatch, RefusesCopiesThatDoubleTheDepth) {
  Value patch = Value::list();
  std::size_t levels = 1;
  for (int i = 0; i < 15; ++i, levels *= 2) {
    patch.push_back(operation("copy", "/a", steps(levels + 1)));
  }
  EXPECT_FALSE(apply_json_patch(read(R"({"a":{}})"), patch).ok());
}

TEST(JsonPatch, RefusesCopiesThatDoubleTheSize) {
  Value patch = Value::list();
  for (int i = 0; i < 22; ++i) {
    patch.push_back(operation("copy", "/a", "/a/k" + std::to_string(i)));
  }
  const Value document = Value::object({{"a", Value::object({{"t", std::string(1000, 'x')}})}});
  EXPECT_FALSE(apply_json_patch(document, patch).ok());
}

TEST(JsonPatch, BoundsTheBytesOfAllCopies) {
  const Value document = Value::object({{"a", std::string(1'000'000, 'x')}});
  Value patch = Value::list({operation("copy", "/a", "/b"), operation("copy", "/a", "/c"),
                             operation("copy", "/a", "/d")});
  EXPECT_TRUE(apply_json_patch(document, patch).ok());
  patch.push_back(operation("copy", "/a", "/e"));
  EXPECT_FALSE(apply_json_patch(document, patch).ok());
}

TEST(JsonPatch, BoundsDepthOfAddedAndMovedValues) {
  const Value document = Value::object({{"a", chain(120)}, {"b", chain(120)}, {"s", 1}});
  const auto added = [](std::size_t levels) {
    return Value::list(
        {Value::object({{"op", "add"}, {"path", steps(100) + "/x"}, {"value", chain(levels)}})});
  };
  EXPECT_TRUE(apply_json_patch(document, added(99)).ok());
  EXPECT_FALSE(apply_json_patch(document, added(100)).ok());
  EXPECT_FALSE(
      apply_json_patch(document, Value::list({operation("move", "/b", steps(100) + "/x")})).ok());
  // Shallow values may move anywhere, however deep the rest is.
  Value back_and_forth = Value::list();
  for (int i = 0; i < 500; ++i) {
    back_and_forth.push_back(operation("move", "/s", steps(100) + "/s"));
    back_and_forth.push_back(operation("move", steps(100) + "/s", "/s"));
  }
  const auto moved = apply_json_patch(document, back_and_forth);
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(*moved, document);
}

TEST(MergePatch, FollowsRfc7386) {
  const std::vector<Case> table = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
      {R"({})", R"({"a":[{"b":null,"c":1},null]})", R"({"a":[{"c":1},null]})"}};
  for (const Case& entry : table) {
    EXPECT_EQ(json::print(apply_merge_patch(read(entry.document), read(entry.patch))), entry.result)
        << entry.patch;
  }
}

TEST(MergePatch, IsSmallAndTurnsOneIntoOther) {
  const std::vector<Case> table = {
      {R"({"a":1})", R"({"a":1})", "null"},
      {R"({"a":1,"b":2})", R"({"b":2})", R"({"a":null})"},
      {R"({"a":{"x":1,"y":2},"b":[1]})", R"({"a":{"x":1,"y":3},"b":[1,2],"c":"n"})",
       R"({"a":{"y":3},"b":[1,2],"c":"n"})"},
      {R"({"a":{"x":1}})", R"({"a":"text"})", R"({"a":"text"})"}};
  for (const Case& entry : table) {
    const Value from = read(entry.document);
    const Value to = read(entry.patch);
    const Value patch = make_merge_patch(from, to);
    EXPECT_EQ(json::print(patch), entry.result);
    if (!patch.is_null()) {
      EXPECT_EQ(apply_merge_patch(from, patch), to);
    }
  }
}

}  // namespace
}  // namespace athanor::patch_test
