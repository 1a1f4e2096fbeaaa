// SPDX-License-Identifier: Apache-2.0
// Whether a value can be applied under a schema: declared fields, types, list keys.
#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/cancellation.hpp"
#include "kube/apply/typed_fields.hpp"
#include "kube/apply/typed_node.hpp"
#include "kube/text/json.hpp"

namespace athanor {

namespace {

using typed::Node;

// Up to here comparing list elements by pairs is cheaper than making texts of their keys.
constexpr std::size_t kFew = 16;
constexpr std::string_view kNumeric = "numeric (int or float)";

// What is no number, as the reference names its type.
std::string_view go_type_of(const Value& value) {
  if (value.is_string()) {
    return "string";
  }
  if (value.is_bool()) {
    return "bool";
  }
  return value.is_list() ? "[]interface {}" : "map[string]interface {}";
}

// The type a schema wants, as error texts name it; empty when the value is fine.
std::string_view wanted_type(const Schema& schema, const Value& value) {
  switch (schema.type) {
    case SchemaType::Object:
      return value.is_object() ? "" : "map";
    case SchemaType::List:
      return value.is_list() ? "" : "list";
    case SchemaType::String:
      if (!schema.format.empty() && schema.format != "byte") {
        return value.is_object() || value.is_list() ? "scalar" : "";  // for validation to judge
      }
      return value.is_string() ? "" : "string";
    case SchemaType::Bytes:
    case SchemaType::Duration:
      return value.is_string() ? "" : "string";
    case SchemaType::Boolean:
      return value.is_bool() ? "" : "boolean";
    case SchemaType::Integer:
    case SchemaType::Number:
      return value.is_number() ? "" : kNumeric;
    case SchemaType::Quantity:
    case SchemaType::Time:  // what is no time is refused when it is converted
    case SchemaType::MicroTime:
      return value.is_object() || value.is_list() ? "scalar" : "";
    case SchemaType::IntOrString:  // refused when it is converted
    case SchemaType::Any:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      break;
  }
  return "";
}

// Where the check is: one step of the path and the way to it. Text is only made for an error.
struct Step {
  const Step* up = nullptr;
  const Schema* list = nullptr;  // of an item
  const Value* item = nullptr;
  std::string_view name{};   // of a member
  std::size_t position = 0;  // of an item of an atomic list

  [[nodiscard]] std::string text() const {
    if (up == nullptr) {
      return "";
    }
    if (list == nullptr) {
      return up->text() + "." + std::string(name);
    }
    return up->text() + (list->list_type == ListType::Atomic
                             ? "[" + std::to_string(position) + "]"
                             : path_element::text(typed::element_of(*list, *item).as_string()));
  }
};

class Checker {
 public:
  explicit Checker(Duplicates duplicates) : duplicates_(duplicates) {}

  void check(const Value& value, const Node& node, const Step& step) {
    give_up_if_cancelled();
    if (value.is_null()) {
      return;
    }
    if (node.schema != nullptr) {
      if (const std::string_view wanted = wanted_type(*node.schema, value); !wanted.empty()) {
        const bool numeric = wanted == kNumeric;
        report(step, "expected " + std::string(wanted) + ", got " +
                         (numeric ? std::string(go_type_of(value)) : json::print(value)));
        return;
      }
      const SchemaType type = node.schema->type;
      if (type == SchemaType::RawExtension || type == SchemaType::IntOrString ||
          type == SchemaType::Fields) {
        return;
      }
    }
    if (value.is_object()) {
      check_map(value, node, step);
    } else if (value.is_list() && node.schema != nullptr) {
      check_list(value, node, step);
    }
  }

  std::vector<std::string> take() { return std::move(errors_); }

 private:
  void check_map(const Value& value, const Node& node, const Step& step) {
    for (const Member& member : value.members()) {
      const Node below = node.member(member.key());
      const Step inner{.up = &step, .name = member.key()};
      if (below.known) {
        check(member.value, below, inner);
      } else {
        report(inner, "field not declared in schema");
      }
    }
  }

  // An element that cannot be distinguished from others ends the list: later ones are not checked.
  void check_list(const Value& value, const Node& node, const Step& step) {
    const Schema& list = *node.schema;
    const auto items = value.items();
    const Node below = node.item();
    const bool keyed = list.list_type != ListType::Atomic;
    std::set<std::string, std::less<>> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (keyed) {
        if (const std::string problem = element_problem(list, items[i]); !problem.empty()) {
          report(step, "element " + std::to_string(i) + ": " + problem);
          return;
        }
        if (duplicates_ == Duplicates::Refused && is_repeated(items, i, list, seen)) {
          report(step, "duplicate entries for key " +
                           path_element::text(typed::element_of(list, items[i]).as_string()));
        }
      }
      check(items[i], below, {.up = &step, .list = &list, .item = &items[i], .position = i});
    }
  }

  // Whether an element before the `i`th is the same; `seen` are those of a long list.
  static bool is_repeated(std::span<const Value> items, std::size_t i, const Schema& list,
                          std::set<std::string, std::less<>>& seen) {
    if (items.size() > kFew) {
      return !seen.insert(typed::element_of(list, items[i]).str()).second;
    }
    return std::ranges::any_of(items.first(i), [&](const Value& other) {
      return typed::same_element(list, other, items[i]);
    });
  }

  // Why an item has no path element.
  static std::string element_problem(const Schema& list, const Value& item) {
    if (list.list_type == ListType::Set) {
      if (item.is_null()) {
        return "associative list without keys has an element that's an explicit null";
      }
      if (item.is_object()) {
        return "associative list without keys has an element that's a map type";
      }
      return item.is_list() ? "not supported: associative list with lists as elements" : "";
    }
    if (item.is_null()) {
      return "associative list with keys may not have a null element";
    }
    if (!item.is_object()) {
      return "associative list with keys may not have non-map elements";
    }
    if (std::any_of(
            list.list_map_keys.begin(), list.list_map_keys.end(),
            [&](const std::string& key) { return typed::key_value(list, item, key) != nullptr; })) {
      return "";
    }
    std::string keys;
    for (const std::string& key : list.list_map_keys) {
      keys += (keys.empty() ? "" : " ") + json::quote(key);
    }
    return "associative list with keys has an element that omits all key fields [" + keys +
           "] (and doesn't have default values for any key fields)";
  }

  void report(const Step& step, const std::string& text) {
    errors_.push_back(step.text() + ": " + text);
  }

  Duplicates duplicates_;
  std::vector<std::string> errors_{};
};

}  // namespace

std::vector<std::string> type_errors(const Value& value, SchemaPtr schema, Duplicates duplicates) {
  Checker checker(duplicates);
  checker.check(value, typed::root_node(schema), {});
  return checker.take();
}

}  // namespace athanor
