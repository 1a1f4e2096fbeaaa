// SPDX-License-Identifier: Apache-2.0
// Places of an object under its schema: shapes, members, keys of list elements.
#include "kube/apply/typed_node.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace athanor::typed {

namespace {

// ObjectMeta for roots that do not declare it: custom resources leave it to the server.
class ObjectMetaSchema {
 public:
  ObjectMetaSchema() {
    text_.type = SchemaType::String;
    number_.type = SchemaType::Integer;
    time_.type = SchemaType::Time;
    texts_.type = SchemaType::Object;
    texts_.additional = &text_;
    finalizers_.type = SchemaType::List;
    finalizers_.items = &text_;
    finalizers_.list_type = ListType::Set;
    owner_.type = SchemaType::Object;
    owner_.map_type = MapType::Atomic;
    owner_.preserve_unknown = true;
    owners_.type = SchemaType::List;
    owners_.items = &owner_;
    owners_.list_type = ListType::Map;
    owners_.list_map_keys = {"uid"};
    entries_.type = SchemaType::List;
    meta_.type = SchemaType::Object;
    for (const char* name :
         {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"}) {
      declare(name, &text_);
    }
    declare("generation", &number_);
    declare("deletionGracePeriodSeconds", &number_);
    declare("creationTimestamp", &time_);
    declare("deletionTimestamp", &time_);
    declare("labels", &texts_);
    declare("annotations", &texts_);
    declare("finalizers", &finalizers_);
    declare("ownerReferences", &owners_);
    declare("managedFields", &entries_);
    meta_.index_fields();
  }

  [[nodiscard]] SchemaPtr meta() const { return &meta_; }
  [[nodiscard]] SchemaPtr text() const { return &text_; }

 private:
  void declare(const char* name, SchemaPtr schema) {
    SchemaField field;
    field.name = name;
    field.schema = schema;
    meta_.fields.push_back(std::move(field));
  }

  Schema text_{};
  Schema number_{};
  Schema time_{};
  Schema texts_{};
  Schema finalizers_{};
  Schema owner_{};
  Schema owners_{};
  Schema entries_{};
  Schema meta_{};
};

const ObjectMetaSchema& object_meta() {
  static const ObjectMetaSchema kSchema;
  return kSchema;
}

bool is_any(SchemaPtr schema) {
  return schema == nullptr || schema->type == SchemaType::Any;
}

// An object without declared content takes anything.
bool is_open(const Schema& schema) {
  return schema.preserve_unknown || (schema.fields.empty() && schema.additional == nullptr);
}

bool fits(Shape shape, const Value* value) {
  if (value == nullptr || value->is_null()) {
    return true;
  }
  return shape == Shape::Map ? value->is_object() : value->is_list();
}

}  // namespace

Shape Node::shape(const Value* a, const Value* b) const {
  Shape shape = Shape::Leaf;
  if (is_any(schema)) {
    const bool map = (a != nullptr && a->is_object()) || (b != nullptr && b->is_object());
    shape = map ? Shape::Map : Shape::Leaf;
  } else if (schema->type == SchemaType::Object) {
    const MapType type = use != nullptr && use->map_type ? *use->map_type : schema->map_type;
    shape = type == MapType::Atomic ? Shape::Leaf : Shape::Map;
  } else if (schema->type == SchemaType::List) {
    shape = schema->list_type == ListType::Atomic ? Shape::Leaf : Shape::List;
  }
  return shape != Shape::Leaf && fits(shape, a) && fits(shape, b) ? shape : Shape::Leaf;
}

Shape Node::shape(const Value* value) const {
  return shape(value, nullptr);
}

Node Node::member(std::string_view name) const {
  Node below = place_of(name);
  below.custom = custom;
  return below;
}

Node Node::place_of(std::string_view name) const {
  const Level below = level == Level::Root && name == "metadata" ? Level::Metadata : Level::Inner;
  if (is_any(schema) && level != Level::Root) {
    return {.declared = false};
  }
  const SchemaField* field = schema == nullptr ? nullptr : schema->field(name);
  if (below == Level::Metadata &&
      (field == nullptr || field->schema == nullptr || field->schema->fields.empty())) {
    return {.schema = object_meta().meta(), .level = below};
  }
  if (field != nullptr) {
    return {.schema = field->schema, .use = field, .level = below};
  }
  if (level == Level::Root && (name == "apiVersion" || name == "kind")) {
    return {.schema = object_meta().text(), .level = below};
  }
  if (schema != nullptr && schema->embedded_resource) {
    if (name == "metadata") {
      return {.schema = object_meta().meta()};
    }
    if (name == "apiVersion" || name == "kind") {
      return {.schema = object_meta().text()};
    }
  }
  if (schema != nullptr && schema->additional != nullptr) {
    return {.schema = schema->additional, .declared = false};
  }
  return {.declared = false, .known = is_any(schema) || is_open(*schema)};
}

Node Node::item() const {
  if (schema == nullptr || schema->items == nullptr) {
    return {.declared = false, .custom = custom};
  }
  return {.schema = schema->items, .declared = false, .custom = custom};
}

bool Node::is_system(std::string_view name) const {
  static constexpr std::array<std::string_view, 3> kRoot{"apiVersion", "kind", "metadata"};
  static constexpr std::array<std::string_view, 8> kMetadata{
      "name",       "namespace",         "uid",      "resourceVersion",
      "generation", "creationTimestamp", "selfLink", "managedFields"};
  switch (level) {
    case Level::Root:
      return std::find(kRoot.begin(), kRoot.end(), name) != kRoot.end();
    case Level::Metadata:
      return std::find(kMetadata.begin(), kMetadata.end(), name) != kMetadata.end();
    case Level::Inner:
      break;
  }
  return false;
}

const Value* Node::stand_in() const {
  if (use == nullptr || !use->always_present || schema == nullptr) {
    return nullptr;
  }
  static const Value kNull;
  static const Value kObject = Value::object();
  static const Value kText = "";
  static const Value kZero = 0;
  static const Value kFalse = false;
  static const Value kQuantity = "0";
  switch (schema->type) {
    case SchemaType::Object:
      return schema->additional == nullptr ? &kObject : &kNull;
    case SchemaType::String:
      return &kText;
    case SchemaType::Integer:
    case SchemaType::Number:
    case SchemaType::IntOrString:
      return &kZero;
    case SchemaType::Boolean:
      return &kFalse;
    case SchemaType::Quantity:
      return &kQuantity;
    case SchemaType::Any:
    case SchemaType::List:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      break;
  }
  return &kNull;
}

Node root_node(SchemaPtr schema) {
  return {.schema = schema,
          .level = Node::Level::Root,
          .custom = schema == nullptr || schema->name.empty()};
}

namespace {

// Required keys of built-in types default to Go's zero value.
const Value* zero_key(const Schema& schema) {
  static const Value kText("");
  static const Value kNumber(0);
  if (schema.type == SchemaType::String) {
    return &kText;
  }
  return schema.type == SchemaType::Integer ? &kNumber : nullptr;
}

}  // namespace

const Value* key_value(const Schema& list, const Value& item, std::string_view key) {
  if (const Value* own = item.find(key); own != nullptr) {
    return own;  // null is a value, too
  }
  const SchemaField* field = list.items == nullptr ? nullptr : list.items->field(key);
  if (field == nullptr) {
    return nullptr;
  }
  if (field->default_value) {
    return &*field->default_value;
  }
  if (field->schema == nullptr) {
    return nullptr;
  }
  if (field->schema->default_value) {
    return &*field->schema->default_value;
  }
  return field->required && !list.items->name.empty() ? zero_key(*field->schema) : nullptr;
}

Value element_of(const Schema& list, const Value& item) {
  if (list.list_type == ListType::Set) {
    return path_element::value(item);
  }
  std::vector<Member> keys;
  keys.reserve(list.list_map_keys.size());
  for (const std::string& key : list.list_map_keys) {
    if (const Value* value = key_value(list, item, key); value != nullptr) {
      keys.emplace_back(key, *value);
    }
  }
  return keys.empty() ? Value() : path_element::key(Value::object(std::move(keys)));
}

bool same_element(const Schema& list, const Value& a, const Value& b) {
  if (list.list_type == ListType::Set) {
    return a == b;
  }
  return std::all_of(list.list_map_keys.begin(), list.list_map_keys.end(),
                     [&](const std::string& key) {
                       const Value* in_a = key_value(list, a, key);
                       const Value* in_b = key_value(list, b, key);
                       return in_a == nullptr || in_b == nullptr ? in_a == in_b : *in_a == *in_b;
                     });
}

ElementIndex::ElementIndex(const Schema& list, const Value* items) {
  if (items == nullptr) {
    return;
  }
  elements_.reserve(items->size());
  for (const Value& item : items->items()) {
    elements_.push_back(element_of(list, item));
  }
  order_.resize(elements_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
    return elements_[a].as_string() < elements_[b].as_string();
  });
}

std::vector<std::size_t> ElementIndex::positions(const Value& element) const {
  std::vector<std::size_t> found;
  auto place = std::lower_bound(order_.begin(), order_.end(), element.as_string(),
                                [this](std::size_t position, std::string_view text) {
                                  return elements_[position].as_string() < text;
                                });
  for (; place != order_.end() && elements_[*place] == element; ++place) {
    found.push_back(*place);
  }
  return found;
}

std::optional<std::size_t> ElementIndex::first(const Value& element) const {
  const auto place = std::lower_bound(order_.begin(), order_.end(), element.as_string(),
                                      [this](std::size_t position, std::string_view text) {
                                        return elements_[position].as_string() < text;
                                      });
  return place != order_.end() && elements_[*place] == element ? std::optional(*place)
                                                               : std::nullopt;
}

}  // namespace athanor::typed
