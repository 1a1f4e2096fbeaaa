// SPDX-License-Identifier: Apache-2.0
// Patches, merges and sets of fields of wide objects and lists: linear work, and work that ends
// when nobody waits for it any more.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "base/cancellation.hpp"
#include "kube/apply/field_set.hpp"
#include "kube/apply/patch.hpp"
#include "kube/apply/strategic_patch.hpp"
#include "kube/apply/typed_fields.hpp"
#include "kube/schema/validate.hpp"
#include "unit/kube/apply/growth.hpp"
#include "unit/kube/apply_fixture.hpp"

namespace athanor::wide_test {
namespace {

using test::builtin;
using test::expect_linear;
using test::json;

using Measured = std::function<void()>;

std::string name_of(std::size_t i) {
  return fmt::format("key-{:06}", i);
}

Value wide_map(std::size_t size, std::string_view value = "v", std::size_t from = 0) {
  std::vector<Member> members;
  for (std::size_t i = from; i < from + size; ++i) {
    members.emplace_back(name_of(i), Value(value));
  }
  return Value::object(std::move(members));
}

Value wide_list(std::size_t size) {
  std::vector<Value> items(size);
  std::iota(items.begin(), items.end(), 0);
  return Value::list(std::move(items));
}

// So many operations, each made of its number.
Value operations(std::size_t count, const std::function<Value(std::size_t)>& make) {
  std::vector<Value> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(make(i));
  }
  return Value::list(std::move(made));
}

// The measured patch of a document that grows with the number of its operations.
Measured patching(Value document, Value patch) {
  return [document = Value::object({{"d", std::move(document)}}), patch = std::move(patch)] {
    EXPECT_TRUE(apply_json_patch(document, patch).ok());
  };
}

constexpr std::size_t kPerOperation = 20;  // places of the document for each operation

TEST(Wide, JsonPatchOfMap) {
  for (const std::string_view op : {"replace", "add", "test", "remove"}) {
    expect_linear(
        [op](std::size_t size) {
          return patching(
              wide_map(size * kPerOperation), operations(size, [op](std::size_t i) {
                return Value::object(
                    {{"op", op}, {"path", "/d/" + name_of(i * kPerOperation)}, {"value", "v"}});
              }));
        },
        1'000);
  }
}

TEST(Wide, JsonPatchOfList) {
  expect_linear(
      [](std::size_t size) {
        return patching(
            wide_list(size * kPerOperation * 10), operations(size, [](std::size_t i) {
              return i % 2 == 0 ? Value::object({{"op", "add"}, {"path", "/d/0"}, {"value", 1}})
                                : Value::object({{"op", "remove"}, {"path", "/d/1"}});
            }));
      },
      2'000);
}

TEST(Wide, JsonPatchThatMovesAndTests) {
  expect_linear(
      [](std::size_t size) {
        return patching(
            wide_map(size * kPerOperation), operations(size, [](std::size_t i) {
              switch (i % 3) {
                case 0:
                  return Value::object({{"op", "move"},
                                        {"from", "/d/" + name_of(i)},
                                        {"path", "/d/m" + name_of(i)}});
                case 1:
                  return Value::object({{"op", "copy"},
                                        {"from", "/d/" + name_of(i)},
                                        {"path", "/d/c" + name_of(i)}});
                default:
                  return Value::object({{"op", "test"}, {"path", "/d/none"}, {"value", Value()}});
              }
            }));
      },
      2'000);
}

// A list that is taken apart into blocks is the list of before.
TEST(Wide, PatchesListsAsVectors) {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  std::vector<Value> plain(3'000);
  std::iota(plain.begin(), plain.end(), 0);
  const Value document = Value::object({{"d", Value::list(plain)}});
  std::vector<Value> patch;
  for (int i = 0; i < 9'000; ++i) {
    const std::size_t at = random() % plain.size();
    const std::string path = fmt::format("/d/{}", at);
    const auto place = plain.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % (i < 5'000 ? 3 : 2)) {
      case 0:
        plain.erase(place);
        patch.push_back(Value::object({{"op", "remove"}, {"path", path}}));
        break;
      case 1:
        *place = i;
        patch.push_back(Value::object({{"op", "replace"}, {"path", path}, {"value", i}}));
        break;
      default:
        plain.insert(place, i);
        patch.push_back(Value::object({{"op", "add"}, {"path", path}, {"value", i}}));
    }
  }
  patch.push_back(Value::object({{"op", "test"}, {"path", "/d"}, {"value", Value::list(plain)}}));
  const auto patched = apply_json_patch(document, Value::list(std::move(patch)));
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ((*patched)["d"], Value::list(plain));
}

TEST(Wide, MergePatch) {
  expect_linear([](std::size_t size) {
    return [document = wide_map(size), patch = wide_map(size, "w", size / 2)] {
      EXPECT_EQ(apply_merge_patch(document, patch).size(), document.size() * 3 / 2);
      EXPECT_EQ(make_merge_patch(document, patch).size(), document.size() * 3 / 2);
    };
  });
}

Value environment(std::size_t size, std::size_t from) {
  std::vector<Value> items;
  for (std::size_t i = from + size; i > from; --i) {
    items.push_back(Value::object({{"name", name_of(i)}, {"value", fmt::format("{}", from)}}));
  }
  return Value::object({{"env", Value::list(std::move(items))}});
}

TEST(Wide, StrategicPatchOfList) {
  expect_linear([](std::size_t size) {
    Value patch = environment(size, size / 2);
    patch.set("$setElementOrder/env", environment(size * 3 / 2, 0)["env"]);
    return [document = environment(size, 0), patch] {
      const auto patched = apply_strategic_patch(document, patch, builtin("core.v1.Container"));
      ASSERT_TRUE(patched.ok());
      EXPECT_EQ((*patched)["env"].size(), document["env"].size() * 3 / 2);
    };
  });
}

TEST(Wide, StrategicPatchThatDeletes) {
  expect_linear([](std::size_t size) {
    Value deletions = Value::list();
    for (std::size_t i = 1; i <= size; i += 2) {
      deletions.push_back(Value::object({{"name", name_of(i)}, {"$patch", "delete"}}));
    }
    return [document = environment(size, 0), patch = Value::object({{"env", deletions}})] {
      const auto patched = apply_strategic_patch(document, patch, builtin("core.v1.Container"));
      ASSERT_TRUE(patched.ok());
      EXPECT_EQ((*patched)["env"].size(), document["env"].size() / 2);
    };
  });
}

FieldSet fields_of(std::size_t size, std::size_t from) {
  FieldSet set;
  for (std::size_t i = from; i < from + size; ++i) {
    set.insert(path_element::field(name_of(i)));
  }
  return set;
}

TEST(Wide, SetsOfFields) {
  expect_linear([](std::size_t size) {
    return [fields = fields_of(size, 0).to_fields_v1(), set = fields_of(size, size / 2)] {
      EXPECT_EQ(fields_v1::plus(fields, set).size(), fields.size() * 3 / 2);
      EXPECT_EQ(fields_v1::minus(fields, set).size(), fields.size() / 2);
      EXPECT_EQ(fields_v1::intersection(fields, set).count(), fields.size() / 2);
      EXPECT_FALSE(fields_v1::equal(fields, set));
    };
  });
}

TEST(Wide, ServerSideApply) {
  expect_linear([](std::size_t size) {
    const auto widget = [](Value map, Value items) {
      return Value::object(
          {{"apiVersion", "ex.com/v1"},
           {"kind", "Widget"},
           {"spec", Value::object({{"map", std::move(map)}, {"items", std::move(items)}})}});
    };
    const Value live = widget(wide_map(size), environment(size, 0)["env"]);
    const Value config = widget(wide_map(size, "w", size / 2), environment(size, size / 2)["env"]);
    return [live, config] {
      const Value merged = merge_fields(live, config, test::Widget::schema());
      EXPECT_EQ(merged["spec"]["map"].size(), live["spec"]["map"].size() * 3 / 2);
      EXPECT_EQ(merged["spec"]["items"].size(), live["spec"]["items"].size() * 3 / 2);
    };
  });
}

// All of these look whether somebody still waits for them.
TEST(Wide, WorkThatIsCancelledEnds) {
  constexpr std::size_t kSize = 1'000;
  const Value map = wide_map(kSize);
  const Value objects = Value::list(std::vector<Value>(kSize, json(R"({"a":"b"})")));
  const Value env = environment(kSize, 0);
  const Value other = environment(kSize, kSize);
  const Value patch = operations(kSize, [](std::size_t i) {
    return Value::object({{"op", "add"}, {"path", "/" + name_of(i)}, {"value", 1}});
  });
  const FieldSet fields = fields_of(kSize, 0);
  const Value known = fields.to_fields_v1();
  const SchemaPtr container = builtin("core.v1.Container");
  Schema text;
  text.type = SchemaType::String;
  Schema texts;
  texts.type = SchemaType::Object;
  texts.additional = &text;
  const std::pair<const char*, Measured> table[] = {
      {"json patch", [&] { static_cast<void>(apply_json_patch(map, patch)); }},
      {"merge patch", [&] { static_cast<void>(apply_merge_patch(map, map)); }},
      {"strategic patch", [&] { static_cast<void>(apply_strategic_patch(env, other, container)); }},
      {"apply", [&] { static_cast<void>(merge_fields(env, other, container)); }},
      {"comparison", [&] { static_cast<void>(compare_fields(env, other, container)); }},
      {"fields", [&] { static_cast<void>(fields_v1::plus(known, fields)); }},
      {"validation", [&] { static_cast<void>(validate(map, texts)); }},
      {"printing", [&] { static_cast<void>(json::print(objects)); }},
  };
  for (const auto& [what, work] : table) {
    const auto over = std::make_shared<Cancellation>();
    over->cancel(Cancellation::Reason::Gone);
    EXPECT_NO_THROW(work()) << what << ": outside of a scope";
    const CancellationScope scope(over);
    EXPECT_THROW(work(), Cancelled) << what;
    const CancellationScope none(nullptr);
    EXPECT_NO_THROW(work()) << what << ": to its end";
  }
}

}  // namespace
}  // namespace athanor::wide_test
