// SPDX-License-Identifier: Apache-2.0
#include "cel/rules/schema_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cel/names.hpp"
#include "cel/rules/rule.hpp"
#include "cel/rules/rule_path.hpp"
#include "cel/rules/schema_type.hpp"
#include "kube/schema/validate.hpp"

namespace athanor::cel {

struct SchemaRules::Node {
  const Schema* schema = nullptr;
  TypePtr type{};
  std::vector<Rule> rules{};
  bool compares = false;  // a rule here or below looks at oldSelf
  std::unique_ptr<Node> items{};
  std::unique_ptr<Node> additional{};
  std::map<std::string, std::unique_ptr<Node>, std::less<>> properties{};
};

namespace {

using Node = SchemaRules::Node;
constexpr std::size_t kLongestMessage = std::size_t{5} << 10;
constexpr const char* kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

SchemaPlace place_of(const Schema& schema) {
  return schema.embedded_resource ? SchemaPlace::ResourceRoot : SchemaPlace::Field;
}

bool has_rules(const Schema& schema) {
  if (!schema.rules.empty()) {
    return true;
  }
  const auto below = [](SchemaPtr part) { return part != nullptr && has_rules(*part); };
  return below(schema.items) || below(schema.additional) ||
         std::ranges::any_of(schema.fields, [&](const SchemaField& field) {
           // the types of Kubernetes' own fields have names, and may contain themselves
           return field.schema->name.empty() && below(field.schema);
         });
}

std::unique_ptr<Node> make_node(const Schema& schema, const TypePtr& type) {
  if (type == nullptr || !has_rules(schema)) {
    return nullptr;
  }
  auto node = std::make_unique<Node>();
  node->schema = &schema;
  node->type = type;
  for (const Value& rule : schema.rules.items()) {
    node->rules.push_back(compile_rule(rule, type));
    std::string& field_path = node->rules.back().field_path;
    field_path = normal_field_path(field_path, schema);
    node->compares |= node->rules.back().uses_old_self || node->rules.back().optional_old_self;
  }
  if (schema.items != nullptr && type->kind == TypeKind::List) {
    node->items = make_node(*schema.items, type->parameters[0]);
  }
  if (schema.additional != nullptr && type->kind == TypeKind::Map) {
    node->additional = make_node(*schema.additional, type->parameters[1]);
  }
  for (const SchemaField& field : schema.fields) {
    if (!field.schema->name.empty() || type->kind != TypeKind::Object) {
      continue;
    }
    TypePtr below;
    if (const auto name = escape_name(field.name)) {
      const auto declared = type->fields.find(*name);
      below = declared == type->fields.end() ? nullptr : declared->second.type;
    } else {
      below = custom_type(*field.schema, place_of(*field.schema));
    }
    if (auto child = make_node(*field.schema, below)) {
      node->compares |= child->compares;
      node->properties.emplace(field.name, std::move(child));
    }
  }
  for (const Node* part : {node->items.get(), node->additional.get()}) {
    node->compares |= part != nullptr && part->compares;
  }
  return node;
}

// A value and what it was before, and the same of what it is in.
struct Place {
  const Value* value = nullptr;
  const Value* old_value = nullptr;  // null: there is no comparable one
  const Place* parent = nullptr;
  bool correlated = true;  // false: below a part that cannot be compared

  // Nothing changed here, or in the next comparable part around.
  [[nodiscard]] bool unchanged() const {
    if (correlated) {
      return old_value != nullptr && *old_value == *value;
    }
    return parent != nullptr && parent->unchanged();
  }
};

// What a fault of a rule itself shows in place of the value: the name of its type.
std::string_view type_text(const Schema& schema) {
  return schema.type == SchemaType::IntOrString ? "" : expected_type(schema.type);
}

class Judge {
 public:
  explicit Judge(bool old_holds) : old_holds_(old_holds) {}

  SchemaRules::Verdict run(const Node& root, const Value& object, const Value* old_object) {
    visit(root, {.value = &object, .old_value = old_object}, "");
    return std::move(verdict_);
  }

 private:
  // False: the budget is gone, nothing more is judged.
  bool visit(const Node& node, const Place& place, const std::string& path) {
    if (place.value->is_null() || (holds(place) && !node.compares)) {
      return true;
    }
    if (!rules(node, place, path)) {
      return false;
    }
    return place.value->is_list() ? list(node, place, path) : object(node, place, path);
  }

  // It did when the object was stored, and is the same still.
  [[nodiscard]] bool holds(const Place& place) const {
    return old_holds_ && place.old_value != nullptr && place.old_value->identical(*place.value);
  }

  bool object(const Node& node, const Place& place, const std::string& path) {
    const bool comparable = node.schema->map_type != MapType::Atomic;
    for (const Member& member : place.value->members()) {
      const std::string key(member.key());
      const auto property = node.properties.find(key);
      const Node* below =
          property != node.properties.end() ? property->second.get() : node.additional.get();
      if (below == nullptr) {
        continue;
      }
      const Value* before =
          comparable && place.old_value != nullptr ? place.old_value->find(key) : nullptr;
      const bool named = property != node.properties.end();
      std::string here = path;
      if (named) {
        here += (path.empty() ? "" : ".") + key;
      } else {
        here += "[" + key + "]";
      }
      if (!visit(*below,
                 {.value = &member.value,
                  .old_value = before != nullptr && !before->is_null() ? before : nullptr,
                  .parent = &place,
                  .correlated = comparable && place.correlated},
                 here)) {
        return false;
      }
    }
    return true;
  }

  bool list(const Node& node, const Place& place, const std::string& path) {
    if (node.items == nullptr) {
      return true;
    }
    const bool keyed = node.schema->list_type == ListType::Map;
    const auto items = place.value->items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Value* before = keyed && place.old_value != nullptr
                                ? twin(*place.old_value, items[i], node.schema->list_map_keys)
                                : nullptr;
      if (!visit(*node.items,
                 {.value = &items[i],
                  .old_value = before,
                  .parent = &place,
                  .correlated = keyed && place.correlated},
                 fmt::format("{}[{}]", path, i))) {
        return false;
      }
    }
    return true;
  }

  static const Value* twin(const Value& list, const Value& item,
                           const std::vector<std::string>& keys) {
    for (const Value& other : list.items()) {
      if (std::ranges::all_of(keys,
                              [&](const std::string& key) { return other[key] == item[key]; })) {
        return &other;
      }
    }
    return nullptr;
  }

  bool rules(const Node& node, const Place& place, const std::string& path) {
    if (node.rules.empty()) {
      return true;
    }
    if (budget_ <= 0) {
      fail(path, *node.schema, kOutOfBudget);
      return false;
    }
    Bindings usual;      // oldSelf, where there is one
    Bindings optionals;  // oldSelf as an optional
    for (const Rule& rule : node.rules) {
      if (!rule.error.empty()) {
        fail(path, *node.schema, "rule compile error: " + rule.error);
        continue;
      }
      if (rule.program == nullptr ||
          (rule.uses_old_self && place.old_value == nullptr && !rule.optional_old_self) ||
          (!rule.uses_old_self && !rule.optional_old_self && holds(place))) {
        continue;
      }
      Bindings& bindings = rule.optional_old_self ? optionals : usual;
      if (bindings.empty()) {
        bindings = bind(node, place, rule.optional_old_self);
      }
      if (!judge(node, rule, {.place = place, .path = path, .bindings = bindings})) {
        return false;
      }
    }
    return true;
  }

  static Bindings bind(const Node& node, const Place& place, bool optional) {
    Bindings bindings;
    bindings.reserve(2);
    bindings.emplace_back("self", adapt(*place.value, node.type));
    if (place.old_value != nullptr) {
      Val before = adapt(*place.old_value, node.type);
      bindings.emplace_back("oldSelf",
                            optional ? Val::optional_of(std::move(before)) : std::move(before));
    } else if (optional) {
      bindings.emplace_back("oldSelf", Val::optional_none());
    }
    return bindings;
  }

  struct At {
    const Place& place;
    const std::string& path;
    const Bindings& bindings;
  };
  bool judge(const Node& node, const Rule& rule, const At& at) {
    const auto& [place, path, bindings] = at;
    const Evaluation done = rule.program->evaluate(bindings);
    if (!spend(done.cost)) {
      fail(path, *node.schema, kOutOfBudget);
      return false;
    }
    if (done.value.is_error()) {
      return evaluation_error(node, rule, path, std::string(done.value.text()));
    }
    if (done.value.is_true()) {
      return true;
    }
    std::string detail =
        rule.message.empty() ? fmt::format("failed rule: {}", rule.text) : rule.message;
    bool more = true;
    if (rule.message_expression != nullptr) {
      more = expressed_message(rule, bindings, detail);
    }
    FieldError error = broken(rule, path + rule.field_path, *place.value, detail);
    if (!rule.uses_old_self && place.unchanged()) {
      verdict_.ratcheted.push_back(error.text());
    } else {
      verdict_.errors.push_back(std::move(error));
    }
    return more;
  }

  bool evaluation_error(const Node& node, const Rule& rule, const std::string& path,
                        const std::string& text) {
    if (text.starts_with("no such overload")) {
      fail(path, *node.schema,
           fmt::format("'{}': call arguments did not match a supported operator, function or macro "
                       "signature for rule: {}",
                       text, rule_name(rule)));
      return true;
    }
    if (text.starts_with(kCostExceeded)) {
      fail(path, *node.schema,
           fmt::format("'{}': no further validation rules will be run due to call cost exceeds "
                       "limit for rule: {}",
                       text, rule_name(rule)));
      return false;
    }
    fail(path, *node.schema, fmt::format("{} evaluating rule: {}", text, rule_name(rule)));
    return true;
  }

  // Replaces `detail` where the expression has a good text. False: the budget is gone.
  bool expressed_message(const Rule& rule, const Bindings& bindings, std::string& detail) {
    const Evaluation done = rule.message_expression->evaluate(bindings);
    if (!spend(done.cost)) {
      detail =
          "messageExpression evaluation failed due to running out of cost budget, no further "
          "validation rules will be run";
      return false;
    }
    if (done.value.is_error() && done.value.text().starts_with(kCostExceeded)) {
      detail = fmt::format(
          "no further validation rules will be run due to call cost exceeds limit for "
          "messageExpression: {}",
          error_value(Value(rule.message_expression->source())));
      return false;
    }
    const std::string_view text = done.value.text();
    const std::size_t start = text.find_first_not_of(" \t\r\n");
    if (!done.value.is(Val::Kind::String) || start == std::string_view::npos) {
      return true;
    }
    const std::string_view trimmed =
        text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
    if (trimmed.size() <= kLongestMessage && trimmed.find('\n') == std::string_view::npos) {
      detail = trimmed;
    }
    return true;
  }

  static FieldError broken(const Rule& rule, std::string path, const Value& value,
                           const std::string& detail) {
    if (path.starts_with('.')) {
      path.erase(0, 1);
    }
    if (rule.reason == "FieldValueForbidden") {
      return FieldError::forbidden(field_name(path), detail);
    }
    if (rule.reason == "FieldValueRequired") {
      return FieldError::required(field_name(path), detail);
    }
    if (rule.reason == "FieldValueDuplicate") {
      return FieldError::duplicate(field_name(path), value);
    }
    if (!value.is_object() && !value.is_list()) {
      return FieldError::invalid(field_name(path), value, detail);
    }
    FieldError error = FieldError::invalid(field_name(path), Value(), detail);
    error.detail = "Invalid value: " + detail;  // whole objects and lists are not shown
    return error;
  }

  // The root of an object has no path.
  static std::string field_name(const std::string& path) { return path.empty() ? "<nil>" : path; }

  void fail(const std::string& path, const Schema& schema, const std::string& text) {
    verdict_.errors.push_back(
        FieldError::invalid(field_name(path), Value(type_text(schema)), text));
  }

  bool spend(std::uint64_t cost) {
    if (cost > static_cast<std::uint64_t>(std::max<std::int64_t>(budget_, 0))) {
      budget_ = -1;
      return false;
    }
    budget_ -= static_cast<std::int64_t>(cost);
    return true;
  }

  bool old_holds_;
  std::int64_t budget_ = kObjectCostBudget;
  SchemaRules::Verdict verdict_{};
};

}  // namespace

SchemaRules::SchemaRules(std::unique_ptr<Node> root) : root_(std::move(root)) {}
SchemaRules::~SchemaRules() = default;

std::shared_ptr<const SchemaRules> SchemaRules::compile(const Schema& root) {
  auto node = make_node(root, custom_type(root, SchemaPlace::ResourceRoot));
  if (node == nullptr) {
    return nullptr;
  }
  // The constructor is private, and make_shared cannot be a friend.
  struct Access : SchemaRules {
    explicit Access(std::unique_ptr<Node> made) : SchemaRules(std::move(made)) {}
  };
  return std::make_shared<Access>(std::move(node));
}

SchemaRules::Verdict SchemaRules::judge(const Value& object, const Value* old_object,
                                        bool old_holds) const {
  return Judge(old_holds).run(*root_, object, old_object);
}

}  // namespace athanor::cel
