// SPDX-License-Identifier: Apache-2.0
// What the tests of patches and server-side apply share: JSON literals, a custom type with every
// kind of container, one call per write.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kube/apply/managed_fields.hpp"
#include "kube/schema/schema.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"
#include "kube/value/value.hpp"

namespace athanor::test {

inline Value json(std::string_view text) {
  const Result<Value> parsed = athanor::json::parse(text);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.error().message << " in " << text;
    return {};
  }
  return *parsed;
}

inline ::testing::AssertionResult same_json(const Value& actual, std::string_view expected) {
  if (actual == json(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "actual   " << athanor::json::print(actual)
                                       << "\nexpected " << athanor::json::print(json(expected));
}

// ex.com/v1 Widget, as a CRD would declare it:
// spec: scalar, map {string: string}, objects {string: {a, b}}, nested {a, b}, set [string],
// items [{name, protocol = TCP, value, sub {x, y}}] by name and protocol, atomic [string],
// frozen {a, b} atomic, open (anything), amount (a quantity); status: phase, conditions by type.
class Widget {
 public:
  static SchemaPtr schema() {
    static const Widget widget;
    return &widget.root_;
  }

 private:
  Widget() {
    text_.type = SchemaType::String;
    quantity_.type = SchemaType::Quantity;
    texts_.type = SchemaType::Object;
    texts_.additional = &text_;
    object(pair_, {{"a", &text_}, {"b", &text_}});
    pairs_.type = SchemaType::Object;
    pairs_.additional = &pair_;
    object(sub_, {{"x", &text_}, {"y", &text_}});
    object(frozen_, {{"a", &text_}, {"b", &text_}});
    frozen_.map_type = MapType::Atomic;
    open_.type = SchemaType::Object;
    open_.preserve_unknown = true;
    list(set_, &text_, ListType::Set);
    list(atomic_, &text_, ListType::Atomic);
    object(item_, {{"name", &text_}, {"protocol", &text_}, {"value", &text_}, {"sub", &sub_}});
    item_.fields[1].default_value = Value("TCP");
    list(items_, &item_, ListType::Map);
    items_.list_map_keys = {"name", "protocol"};
    object(condition_, {{"type", &text_}, {"status", &text_}});
    list(conditions_, &condition_, ListType::Map);
    conditions_.list_map_keys = {"type"};
    object(spec_, {{"scalar", &text_},
                   {"map", &texts_},
                   {"objects", &pairs_},
                   {"nested", &pair_},
                   {"set", &set_},
                   {"items", &items_},
                   {"atomic", &atomic_},
                   {"frozen", &frozen_},
                   {"open", &open_},
                   {"amount", &quantity_}});
    object(status_, {{"phase", &text_}, {"conditions", &conditions_}});
    object(root_, {{"spec", &spec_}, {"status", &status_}});
  }

  struct Declared {
    const char* name = nullptr;
    SchemaPtr schema = nullptr;
  };
  static void object(Schema& schema, std::initializer_list<Declared> fields) {
    schema.type = SchemaType::Object;
    for (const Declared& declared : fields) {
      SchemaField field;
      field.name = declared.name;
      field.schema = declared.schema;
      schema.fields.push_back(std::move(field));
    }
    schema.index_fields();
  }
  static void list(Schema& schema, SchemaPtr items, ListType type) {
    schema.type = SchemaType::List;
    schema.items = items;
    schema.list_type = type;
  }

  Schema text_{}, quantity_{}, texts_{}, pair_{}, pairs_{}, sub_{}, frozen_{}, open_{}, set_{},
      atomic_{}, item_{}, items_{}, condition_{}, conditions_{}, spec_{}, status_{}, root_{};
};

inline SchemaPtr builtin(std::string_view name) {
  const SchemaPtr schema = BuiltinTypes::get().by_name(name);
  EXPECT_NE(schema, nullptr) << name;
  return schema;
}

inline Instant at(std::string_view time) {
  return parse_time(time).value_or(Instant{});
}
inline constexpr std::string_view kNoon = "2026-11-20T12:00:00Z";

// One stored object and the writes on it.
class Written {
 public:
  explicit Written(SchemaPtr schema, std::string_view api_version = "v1")
      : schema_(schema), api_version_(api_version) {}

  [[nodiscard]] const Value& object() const { return object_; }
  [[nodiscard]] FieldManagement by(std::string_view manager) const {
    return {.schema = schema_,
            .manager = manager,
            .api_version = api_version_,
            .subresource = subresource_,
            .now = now_};
  }
  Written& on(std::string_view subresource) {
    subresource_ = subresource;
    return *this;
  }
  Written& at_time(std::string_view time) {
    now_ = at(time);
    return *this;
  }

  // A create or a PUT of that object (managedFields left out).
  Written& update(std::string_view manager, std::string_view text) {
    return put(manager, json(text));
  }
  Written& put(std::string_view manager, Value object) {
    Value stored = update_managed_fields(object_, std::move(object), by(manager));
    stored.set_path({"metadata", "uid"}, "u1");
    object_ = std::move(stored);
    return *this;
  }
  // The object with one change.
  template <class Edit>
  Written& edit(std::string_view manager, const Edit& change) {
    Value object = object_;
    change(object);
    return put(manager, std::move(object));
  }
  Result<Value, ApplyError> try_apply(std::string_view manager, std::string_view text,
                                      bool force = false) const {
    return apply_configuration(object_, json(text), by(manager), {.force = force});
  }
  Written& apply(std::string_view manager, std::string_view text, bool force = false) {
    Result<Value, ApplyError> result = try_apply(manager, text, force);
    if (result.ok()) {
      object_ = *std::move(result);
    } else {
      ADD_FAILURE() << result.error().error.message;
    }
    return *this;
  }

  // fieldsV1 of the manager's entry, Null when there is none.
  [[nodiscard]] Value fields(std::string_view manager, std::string_view operation,
                             std::string_view subresource = "") const {
    return entry(manager, operation, subresource)["fieldsV1"];
  }
  [[nodiscard]] Value entry(std::string_view manager, std::string_view operation,
                            std::string_view subresource = "") const {
    for (const Value& entry : object_["metadata"]["managedFields"].items()) {
      if (entry["manager"].as_string() == manager && entry["operation"].as_string() == operation &&
          entry["subresource"].as_string() == subresource) {
        return entry;
      }
    }
    return {};
  }

 private:
  SchemaPtr schema_ = nullptr;
  std::string_view api_version_{};
  std::string_view subresource_{};
  Instant now_ = at(kNoon);
  Value object_{};
};

}  // namespace athanor::test
