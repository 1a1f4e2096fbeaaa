// SPDX-License-Identifier: Apache-2.0
// Whether a value can be applied under a schema: declared fields, types, list keys.
#include <set>
#include <string>
#include <utility>

#include "kube/json.hpp"
#include "kube/typed_fields.hpp"
#include "kube/typed_node.hpp"

namespace athanor {

namespace {

using typed::Node;

// The type a schema wants, as error texts name it; empty when the value is fine.
std::string_view wanted_type(const Schema& schema, const Value& value) {
  switch (schema.type) {
    case SchemaType::Object:
      return value.is_object() ? "" : "map";
    case SchemaType::List:
      return value.is_list() ? "" : "list";
    case SchemaType::String:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::Duration:
      return value.is_string() ? "" : "string";
    case SchemaType::Boolean:
      return value.is_bool() ? "" : "boolean";
    case SchemaType::Integer:
    case SchemaType::Number:
      return value.is_number() ? "" : "numeric (int or float)";
    case SchemaType::IntOrString:
    case SchemaType::Quantity:
      return value.is_object() || value.is_list() ? "scalar" : "";
    case SchemaType::Any:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      break;
  }
  return "";
}

class Checker {
 public:
  void check(const Value& value, const Node& node, const std::string& path) {
    if (value.is_null()) {
      return;
    }
    if (node.schema != nullptr) {
      if (const std::string_view wanted = wanted_type(*node.schema, value); !wanted.empty()) {
        report(path, "expected " + std::string(wanted) + ", got " + json::print(value));
        return;
      }
      const SchemaType type = node.schema->type;
      if (type == SchemaType::RawExtension || type == SchemaType::Fields) {
        return;
      }
    }
    if (value.is_object()) {
      check_map(value, node, path);
    } else if (value.is_list() && node.schema != nullptr) {
      check_list(value, node, path);
    }
  }

  std::vector<std::string> take() { return std::move(errors_); }

 private:
  void check_map(const Value& value, const Node& node, const std::string& path) {
    for (const Member& member : value.members()) {
      const Node below = node.member(member.key());
      std::string inner = path;
      inner += '.';
      inner += member.key();
      if (!below.known) {
        report(inner, "field not declared in schema");
        continue;
      }
      check(member.value, below, inner);
    }
  }

  void check_list(const Value& value, const Node& node, const std::string& path) {
    const Schema& list = *node.schema;
    std::set<std::string, std::less<>> seen;
    std::size_t position = 0;
    for (const Value& item : value.items()) {
      const std::size_t at = position++;
      if (list.list_type == ListType::Atomic) {
        check(item, node.item(), path + "[" + std::to_string(at) + "]");
        continue;
      }
      if (const std::string problem = element_problem(list, item); !problem.empty()) {
        report(path, "element " + std::to_string(at) + ": " + problem);
        continue;
      }
      const Value element = typed::element_of(list, item);
      const std::string shown = path_element::text(element.as_string());
      if (!seen.insert(element.str()).second) {
        report(path, "duplicate entries for key " + shown);
      }
      check(item, node.item(), path + shown);
    }
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
      return item.is_list() ? "associative list without keys has an element that's a list type"
                            : "";
    }
    if (!item.is_object()) {
      return "associative list with keys may not have non-map elements";
    }
    if (!typed::element_of(list, item).is_null()) {
      return "";
    }
    std::string keys;
    for (const std::string& key : list.list_map_keys) {
      keys += (keys.empty() ? "" : " ") + json::quote(key);
    }
    return "associative list with keys has an element that omits all key fields [" + keys +
           "] (and doesn't have default values for any key fields)";
  }

  void report(const std::string& path, const std::string& text) {
    errors_.push_back(path + ": " + text);
  }

  std::vector<std::string> errors_{};
};

}  // namespace

std::vector<std::string> type_errors(const Value& value, SchemaPtr schema) {
  Checker checker;
  checker.check(value, typed::root_node(schema), "");
  return checker.take();
}

}  // namespace athanor
