// SPDX-License-Identifier: Apache-2.0
// Properties of strategic patches, field sets and server-side apply over seeded random documents.
#include <algorithm>
#include <random>
#include <vector>

#include "kube/apply/strategic_patch.hpp"
#include "kube/apply/typed_fields.hpp"
#include "unit/kube/apply_fixture.hpp"

namespace athanor::apply_property_test {
namespace {

using test::builtin;
using test::Widget;
using test::Written;

// Small alphabets, so that documents meet in the same places.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  std::string letter(std::size_t size = 4) {
    return std::string(1, static_cast<char>('a' + below(size)));
  }

  Value texts() {
    Value out = Value::object();
    for (std::size_t i = below(4); i > 0; --i) {
      out.set(letter(), letter());
    }
    return out;
  }
  // Distinct letters in any order.
  Value letters() {
    std::vector<std::string> names{"a", "b", "c", "d"};
    std::shuffle(names.begin(), names.end(), engine_);
    names.resize(below(5));
    Value out = Value::list();
    for (const std::string& name : names) {
      out.push_back(name);
    }
    return out;
  }
  template <class Fill>
  Value elements(std::string_view key, const Fill& fill) {
    Value out = Value::list();
    const Value names = letters();
    for (const Value& name : names.items()) {
      Value item = Value::object();
      item.set(key, name);
      fill(item);
      out.push_back(std::move(item));
    }
    return out;
  }
  template <class Make>
  void maybe(Value& object, std::string_view name, const Make& make) {
    if (chance(60)) {
      object.set(name, make());
    }
  }

  Value widget_spec() {
    Value spec = Value::object();
    maybe(spec, "scalar", [this] { return letter(); });
    maybe(spec, "map", [this] { return texts(); });
    maybe(spec, "nested", [this] { return pair(); });
    maybe(spec, "frozen", [this] { return pair(); });
    maybe(spec, "set", [this] { return letters(); });
    maybe(spec, "atomic", [this] { return letters(); });
    maybe(spec, "open", [this] { return texts(); });
    maybe(spec, "objects", [this] {
      Value out = Value::object();
      for (std::size_t i = below(3); i > 0; --i) {
        out.set(letter(), pair());
      }
      return out;
    });
    maybe(spec, "items", [this] {
      return elements("name", [this](Value& item) {
        maybe(item, "value", [this] { return letter(); });
        maybe(item, "sub", [this] {
          Value sub = Value::object();
          sub.set("x", letter());
          return sub;
        });
      });
    });
    return spec;
  }

  Value pod() {
    Value meta = Value::object();
    maybe(meta, "labels", [this] { return texts(); });
    maybe(meta, "finalizers", [this] { return letters(); });
    Value spec = Value::object();
    maybe(spec, "nodeSelector", [this] { return texts(); });
    maybe(spec, "hostname", [this] { return letter(); });
    maybe(spec, "tolerations", [this] { return elements("key", [](Value&) {}); });
    maybe(spec, "containers", [this] {
      return elements("name", [this](Value& item) {
        maybe(item, "image", [this] { return letter(); });
        maybe(item, "args", [this] { return letters(); });
        maybe(item, "env", [this] {
          return elements("name", [this](Value& env) { env.set("value", letter()); });
        });
      });
    });
    Value pod = Value::object();
    pod.set("metadata", std::move(meta));
    pod.set("spec", std::move(spec));
    return pod;
  }

  FieldSet fields(int depth = 3) {
    FieldSet out;
    for (std::size_t i = below(4); i > 0; --i) {
      Value element = chance(70) ? path_element::field(letter())
                                 : path_element::key(Value::object({{"name", letter()}}));
      if (chance(60)) {
        out.insert(element);
      }
      if (depth > 0) {
        out.add_below(std::move(element), fields(depth - 1));
      }
    }
    return out;
  }

 private:
  Value pair() {
    Value out = Value::object();
    maybe(out, "a", [this] { return letter(); });
    maybe(out, "b", [this] { return letter(); });
    return out;
  }

  std::mt19937_64 engine_;
};

// The strategic patch that a client would compute: from -> to.
class Diff {
 public:
  static Value make(const Value& from, const Value& to, SchemaPtr schema) {
    Value patch = Value::object();
    for (const Member& member : from.members()) {
      if (!to.contains(member.key())) {
        patch.set(member.key(), Value());
      }
    }
    for (const Member& member : to.members()) {
      const Value* old = from.find(member.key());
      if (old == nullptr || *old != member.value) {
        add(patch, member, old, schema);
      }
    }
    return patch;
  }

 private:
  static void add(Value& patch, const Member& to, const Value* from, SchemaPtr schema) {
    const SchemaField* field = schema == nullptr ? nullptr : schema->field(to.key());
    const bool merge = field != nullptr && field->patch_strategy.find("merge") != std::string::npos;
    if (from != nullptr && from->is_object() && to.value.is_object()) {
      patch.set(to.key(), make(*from, to.value, field == nullptr ? nullptr : field->schema));
    } else if (from != nullptr && merge && from->is_list()) {
      const std::string name(to.key());
      patch.set("$setElementOrder/" + name, order(to.value, field->patch_merge_key));
      if (field->patch_merge_key.empty()) {
        patch.set("$deleteFromPrimitiveList/" + name, without(*from, to.value));
        patch.set(name, without(to.value, *from));
      } else {
        patch.set(name, elements(*from, to.value, *field));
      }
    } else {
      patch.set(to.key(), to.value);
    }
  }
  static Value order(const Value& list, const std::string& key) {
    Value out = Value::list();
    for (const Value& item : list.items()) {
      out.push_back(key.empty() ? item : Value::object({{key, item[key]}}));
    }
    return out;
  }
  static Value without(const Value& list, const Value& other) {
    Value out = Value::list();
    for (const Value& item : list.items()) {
      if (std::find(other.items().begin(), other.items().end(), item) == other.items().end()) {
        out.push_back(item);
      }
    }
    return out;
  }
  static const Value* element(const Value& list, const Value& like, const std::string& key) {
    for (const Value& item : list.items()) {
      if (item[key] == like[key]) {
        return &item;
      }
    }
    return nullptr;
  }
  static Value elements(const Value& from, const Value& to, const SchemaField& field) {
    const std::string& key = field.patch_merge_key;
    Value out = Value::list();
    for (const Value& item : from.items()) {
      if (element(to, item, key) == nullptr) {
        out.push_back(Value::object({{"$patch", "delete"}, {key, item[key]}}));
      }
    }
    for (const Value& item : to.items()) {
      const Value* old = element(from, item, key);
      if (old == nullptr) {
        out.push_back(item);
      } else if (*old != item) {
        Value patch = make(*old, item, field.schema->items);
        patch.set(key, item[key]);
        out.push_back(std::move(patch));
      }
    }
    return out;
  }
};

constexpr std::uint64_t kSeeds = 300;

TEST(StrategicPatchProperty, ADiffAppliedGivesTheTarget) {
  const SchemaPtr schema = builtin("core.v1.Pod");
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    const Value from = random.pod();
    const Value to = random.pod();
    const Value patch = Diff::make(from, to, schema);
    const Result<Value> result = apply_strategic_patch(from, patch, schema);
    ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.error().message;
    ASSERT_EQ(*result, to) << "seed " << seed << "\nfrom  " << json::print(from) << "\npatch "
                           << json::print(patch) << "\nis    " << json::print(*result) << "\nnot   "
                           << json::print(to);
    const Result<Value> again = apply_strategic_patch(to, patch, schema);
    ASSERT_TRUE(again.ok() && *again == to) << "seed " << seed;
  }
}

TEST(FieldSetProperty, SetAlgebraAndRoundTrip) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    const FieldSet a = random.fields();
    const FieldSet b = random.fields();
    ASSERT_EQ(FieldSet::from_fields_v1(a.to_fields_v1()).value_or({}), a) << "seed " << seed;
    ASSERT_EQ(a.united(b), b.united(a)) << "seed " << seed;
    ASSERT_EQ(a.minus(b).united(a.intersected(b)), a) << "seed " << seed;
    ASSERT_TRUE(a.minus(b).intersected(b).empty()) << "seed " << seed;
    ASSERT_EQ(a.united(b).count(), a.count() + b.minus(a).count()) << "seed " << seed;
    ASSERT_EQ(a.paths().size(), a.count()) << "seed " << seed;
    // fieldsV1 operations: the same results, printed in the same order.
    const Value json_a = a.to_fields_v1();
    ASSERT_EQ(json::print(fields_v1::plus(json_a, b)), json::print(a.united(b).to_fields_v1()));
    const Value rest = fields_v1::minus(json_a, b);
    ASSERT_EQ(json::print(rest.is_null() ? Value::object() : rest),
              json::print(a.minus(b).to_fields_v1()));
    ASSERT_EQ(fields_v1::intersection(json_a, b), a.intersected(b));
    ASSERT_TRUE(fields_v1::equal(json_a, a));
    ASSERT_EQ(fields_v1::equal(json_a, b), a == b);
  }
}

TEST(CompareProperty, IsSymmetric) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    const Value a = Value::object({{"spec", random.widget_spec()}});
    const Value b = Value::object({{"spec", random.widget_spec()}});
    const FieldChanges there = compare_fields(a, b, Widget::schema());
    const FieldChanges back = compare_fields(b, a, Widget::schema());
    ASSERT_EQ(there.added, back.removed) << "seed " << seed;
    ASSERT_EQ(there.removed, back.added) << "seed " << seed;
    ASSERT_EQ(there.modified, back.modified) << "seed " << seed;
    ASSERT_TRUE(
        compare_fields(a, json::parse(json::print(a)).value_or({}), Widget::schema()).empty());
  }
}

// Nobody owns an empty keyed list that was applied.
Value without_empty_lists(const Value& value) {
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      items.push_back(without_empty_lists(item));
    }
    return Value::list(std::move(items));
  }
  if (!value.is_object()) {
    return value;
  }
  std::vector<Member> members;
  for (const Member& member : value.members()) {
    if (!member.value.is_list() || !member.value.empty()) {
      members.emplace_back(member.name, without_empty_lists(member.value));
    }
  }
  return Value::object(std::move(members));
}

// Nothing, or containers of nothing.
bool holds_nothing(const Value& value) {
  if (value.is_list()) {
    return std::ranges::all_of(value.items(), holds_nothing);
  }
  return value.is_null() ||
         (value.is_object() && std::ranges::all_of(value.members(), [](const Member& member) {
            return holds_nothing(member.value);
          }));
}

TEST(CompareProperty, ExtractAndRemoveAreComplements) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    const Value value = Value::object({{"spec", without_empty_lists(random.widget_spec())}});
    const FieldSet all = leaves(value, Widget::schema());
    ASSERT_EQ(extract_fields(value, all, Widget::schema()), value) << "seed " << seed;
    const Value rest = remove_fields(value, all, Widget::schema());
    ASSERT_TRUE(holds_nothing(rest["spec"])) << "seed " << seed;
    ASSERT_TRUE(remove_fields(value, {}, Widget::schema()).identical(value));
  }
}

// Every path of an object: what its creation adds.
FieldSet paths_of(const Value& object) {
  return compare_fields(Value(), object, Widget::schema()).added;
}

void expect_sound(const Written& widget, std::uint64_t seed) {
  const FieldSet paths = paths_of(widget.object());
  for (const Value& entry : widget.object()["metadata"]["managedFields"].items()) {
    const FieldSet owned = FieldSet::from_fields_v1(entry["fieldsV1"]).value_or({});
    ASSERT_FALSE(owned.empty()) << "seed " << seed;
    const std::vector<std::string> dangling = owned.minus(paths).paths();
    ASSERT_TRUE(dangling.empty()) << "seed " << seed << ": " << json::print(entry) << " owns "
                                  << dangling.front() << " of " << json::print(widget.object());
  }
}

TEST(ApplyProperty, ManyWritersStaySound) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    Written widget(Widget::schema(), "ex.com/v1");
    widget.apply("anchor", R"({"apiVersion":"ex.com/v1","kind":"Widget",
        "metadata":{"name":"w","labels":{"l":"1"}}})");
    for (int step = 0; step < 8; ++step) {
      const std::string manager = "m" + random.letter(3);
      if (random.chance(30)) {
        widget.edit(manager, [&](Value& object) { object.set("spec", random.widget_spec()); });
        expect_sound(widget, seed);
        continue;
      }
      const std::string config =
          R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
          json::print(random.widget_spec()) + "}";
      const Result<Value, ApplyError> tried = widget.try_apply(manager, config);
      if (!tried.ok()) {
        ASSERT_EQ(tried.error().error.code, 409) << tried.error().error.message;
        ASSERT_FALSE(tried.error().conflicts.empty());
      }
      widget.apply(manager, config, true);
      expect_sound(widget, seed);
      const Value after = widget.object();
      if (json::print(after).find(":null") != std::string::npos ||
          config.find("[]") != std::string::npos) {
        continue;  // what was emptied may be an empty container again after the next apply
      }
      // Everything applied is there, and applying it again is a no-op that needs no force.
      ASSERT_TRUE(merge_fields(after, test::json(config), Widget::schema()).identical(after))
          << "seed " << seed;
      widget.apply(manager, config);
      ASSERT_TRUE(widget.object().identical(after)) << "seed " << seed;
    }
  }
}

TEST(ApplyProperty, AManagerThatLeavesTakesOnlyItsOwn) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Generator random(seed);
    Written widget(Widget::schema(), "ex.com/v1");
    const auto config = [&] {
      return R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":)" +
             json::print(without_empty_lists(random.widget_spec())) + "}";
    };
    const std::string first = config();
    widget.apply("first", first);
    const Value before = widget.object();
    widget.apply("second", config(), true);
    const std::string nothing =
        R"({"apiVersion":"ex.com/v1","kind":"Widget","metadata":{"name":"w"}})";
    widget.apply("second", nothing);
    ASSERT_TRUE(widget.entry("second", "Apply").is_null()) << "seed " << seed;
    // What is left is the first manager's, as far as nobody took it over.
    const FieldSet more = paths_of(widget.object()).minus(paths_of(before));
    ASSERT_TRUE(more.empty()) << "seed " << seed << ": " << more.paths().front();
    widget.apply("first", first);
    ASSERT_TRUE(merge_fields(widget.object(), test::json(first), Widget::schema())
                    .identical(widget.object()));
  }
}

}  // namespace
}  // namespace athanor::apply_property_test
