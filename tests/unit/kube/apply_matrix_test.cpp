// SPDX-License-Identifier: Apache-2.0
// The conflict matrix of docs/spec/apiserver.md A11: managers x {set same, set other, remove,
// force} x {scalar, list-map, set, atomic, map}.
#include "unit/kube/apply_fixture.hpp"

namespace athanor::apply_matrix_test {
namespace {

using test::same_json;
using test::Widget;
using test::Written;

struct Container {
  const char* name = nullptr;
  const char* base = nullptr;      // the spec of the first manager
  const char* other = nullptr;     // another value in the same place
  const char* conflict = nullptr;  // the path of the conflict; nullptr: there is none
  const char* both = nullptr;      // the spec after `other` (forced where needed)
  const char* left = nullptr;      // fields the first manager keeps after that; nullptr: no entry
};

const Container kContainers[] = {
    {"scalar", R"({"scalar":"1"})", R"({"scalar":"2"})", ".spec.scalar", R"({"scalar":"2"})",
     nullptr},
    {"list-map", R"({"items":[{"name":"a","value":"1"}]})",
     R"({"items":[{"name":"a","value":"2"}]})", ".spec.items[name=\"a\",protocol=\"TCP\"].value",
     R"({"items":[{"name":"a","value":"2"}]})",
     R"({"f:spec":{"f:items":{"k:{\"name\":\"a\",\"protocol\":\"TCP\"}":{".":{},"f:name":{}}}}})"},
    {"set", R"({"set":["x"]})", R"({"set":["y"]})", nullptr, R"({"set":["x","y"]})",
     R"({"f:spec":{"f:set":{"v:\"x\"":{}}}})"},
    {"atomic list", R"({"atomic":["1"]})", R"({"atomic":["2"]})", ".spec.atomic",
     R"({"atomic":["2"]})", nullptr},
    {"atomic map", R"({"frozen":{"a":"1"}})", R"({"frozen":{"b":"2"}})", ".spec.frozen",
     R"({"frozen":{"b":"2"}})", nullptr},
    {"map", R"({"map":{"k":"1"}})", R"({"map":{"k":"2"}})", ".spec.map.k", R"({"map":{"k":"2"}})",
     nullptr},
    {"another key of a map", R"({"map":{"k":"1"}})", R"({"map":{"l":"2"}})", nullptr,
     R"({"map":{"k":"1","l":"2"}})", R"({"f:spec":{"f:map":{"f:k":{}}}})"},
    {"struct", R"({"nested":{"a":"1"}})", R"({"nested":{"a":"2"}})", ".spec.nested.a",
     R"({"nested":{"a":"2"}})", nullptr},
    {"map of structs", R"({"objects":{"k":{"a":"1"}}})", R"({"objects":{"k":{"a":"2"}}})",
     ".spec.objects.k.a", R"({"objects":{"k":{"a":"2"}}})",
     R"({"f:spec":{"f:objects":{"f:k":{}}}})"},
    {"unknown fields", R"({"open":{"k":1}})", R"({"open":{"k":2}})", ".spec.open.k",
     R"({"open":{"k":2}})", nullptr},
};

enum class First : std::uint8_t { Apply, Update };

std::string config(std::string_view spec) {
  return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
         std::string(spec) + "}";
}

// The object after the first manager's write; an anchor keeps spec itself out of the matter.
Written start(const Container& container, First first) {
  Written widget(Widget::schema(), "ex.com/v1");
  widget.apply("anchor", R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w",
      "labels":{"anchor":"1"}},"spec":{}})");
  if (first == First::Apply) {
    widget.apply("first", config(container.base));
  } else {
    widget.edit("first",
                [&container](Value& object) { object.set("spec", test::json(container.base)); });
  }
  return widget;
}

class ApplyMatrix : public ::testing::TestWithParam<First> {
 protected:
  [[nodiscard]] std::string operation() const {
    return GetParam() == First::Apply ? "Apply" : "Update";
  }
};

INSTANTIATE_TEST_SUITE_P(Managers, ApplyMatrix, ::testing::Values(First::Apply, First::Update),
                         [](const auto& each) {
                           return each.param == First::Apply ? "Applier" : "Updater";
                         });

TEST_P(ApplyMatrix, SetSameShares) {
  for (const Container& container : kContainers) {
    SCOPED_TRACE(container.name);
    Written widget = start(container, GetParam());
    const Value before = widget.fields("first", operation());
    widget.apply("second", config(container.base));
    EXPECT_TRUE(same_json(widget.object()["spec"], container.base));
    EXPECT_EQ(widget.fields("first", operation()), before);
    EXPECT_FALSE(widget.entry("second", "Apply").is_null());
  }
}

TEST_P(ApplyMatrix, SetOtherConflicts) {
  for (const Container& container : kContainers) {
    SCOPED_TRACE(container.name);
    Written widget = start(container, GetParam());
    const auto result = widget.try_apply("second", config(container.other));
    if (container.conflict == nullptr) {
      ASSERT_TRUE(result.ok());
      EXPECT_TRUE(same_json((*result)["spec"], container.both));
      continue;
    }
    ASSERT_FALSE(result.ok());
    const std::string who = GetParam() == First::Apply ? "\"first\"" : "\"first\" using ex.com/v1";
    EXPECT_EQ(result.error().error.message,
              "Apply failed with 1 conflict: conflict with " + who + ": " + container.conflict);
  }
}

TEST_P(ApplyMatrix, ForceTakesOver) {
  for (const Container& container : kContainers) {
    SCOPED_TRACE(container.name);
    Written widget = start(container, GetParam());
    widget.apply("second", config(container.other), true);
    EXPECT_TRUE(same_json(widget.object()["spec"], container.both));
    if (GetParam() == First::Apply) {
      const Value left = widget.fields("first", "Apply");
      EXPECT_TRUE(container.left == nullptr ? left.is_null() : same_json(left, container.left));
    }
    // From now on the first manager has the conflict.
    EXPECT_EQ(widget.try_apply("first", config(container.base)).ok(),
              container.conflict == nullptr);
  }
}

TEST_P(ApplyMatrix, RemoveLeavesFieldsOfOtherOwner) {
  for (const Container& container : kContainers) {
    SCOPED_TRACE(container.name);
    Written widget = start(container, GetParam());
    widget.apply("second", config(container.base)).apply("second", config("{}"));
    EXPECT_TRUE(same_json(widget.object()["spec"], container.base));
    EXPECT_TRUE(same_json(widget.fields("second", "Apply"), R"({"f:spec":{}})"));
  }
}

TEST_P(ApplyMatrix, RemoveByTheLastOwnerRemoves) {
  for (const Container& container : kContainers) {
    SCOPED_TRACE(container.name);
    Written widget = start(container, GetParam());
    widget.apply("second", config(container.base));
    if (GetParam() == First::Apply) {
      widget.apply("first", config("{}")).apply("second", config("{}"));
    } else {
      widget.edit("first", [](Value& object) { object.set("spec", Value::object()); });
      EXPECT_TRUE(widget.fields("second", "Apply").is_null());
    }
    EXPECT_TRUE(widget.object()["spec"].empty());
  }
}

}  // namespace
}  // namespace athanor::apply_matrix_test
