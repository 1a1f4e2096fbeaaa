// SPDX-License-Identifier: Apache-2.0
#include "cel/values/type.hpp"

#include <array>
#include <utility>

namespace athanor::cel {
namespace {

TypePtr composite(TypeKind kind, std::vector<TypePtr> parameters, std::string_view name = {}) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->name = name;
  type->parameters = std::move(parameters);
  return type;
}

constexpr std::size_t kKinds = static_cast<std::size_t>(TypeKind::Param) + 1;

std::array<TypePtr, kKinds> make_simple_types() {
  std::array<TypePtr, kKinds> types;
  for (std::size_t i = 0; i < kKinds; ++i) {
    types[i] = composite(static_cast<TypeKind>(i), {});
  }
  return types;
}

// Longer texts are cut: types that share their parts may be large.
constexpr std::size_t kLongestText = 4'000;

void append(const Type& type, std::string& text);

void append_parameters(std::string_view name, const Type& type, std::string& text) {
  text += name;
  if (type.parameters.empty()) {
    return;
  }
  text += '(';
  for (std::size_t i = 0; i < type.parameters.size() && text.size() < kLongestText; ++i) {
    text += i == 0 ? "" : ", ";
    append(*type.parameters[i], text);
  }
  text += ')';
}

std::string_view simple_name(TypeKind kind) {
  switch (kind) {
    case TypeKind::Dyn:
      return "dyn";
    case TypeKind::Error:
      return "!error!";
    case TypeKind::Null:
      return "null";
    case TypeKind::Bool:
      return "bool";
    case TypeKind::Int:
      return "int";
    case TypeKind::Uint:
      return "uint";
    case TypeKind::Double:
      return "double";
    case TypeKind::String:
      return "string";
    case TypeKind::Bytes:
      return "bytes";
    case TypeKind::Timestamp:
      return "google.protobuf.Timestamp";
    case TypeKind::Duration:
      return "google.protobuf.Duration";
    case TypeKind::Type:
      return "type";
    case TypeKind::List:
      return "list";
    case TypeKind::Map:
      return "map";
    case TypeKind::Optional:
      return "optional_type";
    case TypeKind::Opaque:
    case TypeKind::Object:
    case TypeKind::Param:
      break;
  }
  return {};
}

void append(const Type& type, std::string& text) {
  const std::string_view name = simple_name(type.kind);
  append_parameters(name.empty() ? std::string_view(type.name) : name, type, text);
}

bool same_type_within(const Type& a, const Type& b, int& steps) {
  if (&a == &b) {
    return true;
  }
  if (--steps < 0 || a.kind != b.kind || a.name != b.name ||
      a.parameters.size() != b.parameters.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (!same_type_within(*a.parameters[i], *b.parameters[i], steps)) {
      return false;
    }
  }
  return true;
}

}  // namespace

TypePtr simple_type(TypeKind kind) {
  static const std::array<TypePtr, kKinds> kSimple = make_simple_types();
  return kSimple[static_cast<std::size_t>(kind)];
}

TypePtr list_type(TypePtr item) {
  return composite(TypeKind::List, {std::move(item)});
}

TypePtr map_type(TypePtr key, TypePtr value) {
  return composite(TypeKind::Map, {std::move(key), std::move(value)});
}

TypePtr optional_type(TypePtr of) {
  return composite(TypeKind::Optional, {std::move(of)});
}

TypePtr type_type(TypePtr of) {
  return composite(TypeKind::Type, {std::move(of)});
}

TypePtr opaque_type(std::string_view name) {
  return composite(TypeKind::Opaque, {}, name);
}

TypePtr param_type(std::string_view name) {
  return composite(TypeKind::Param, {}, name);
}

TypePtr object_type(std::string_view name,
                    const std::vector<std::pair<std::string, TypePtr>>& fields) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::Object;
  type->name = name;
  for (const auto& [field, field_type] : fields) {
    type->fields.emplace(field, TypeField{.name = field, .type = field_type});
  }
  return type;
}

std::string type_text(const Type& type) {
  std::string text;
  append(type, text);
  return text;
}

bool same_type(const Type& a, const Type& b) {
  int steps = 10'000;  // types that share their parts may be large
  return same_type_within(a, b, steps);
}

}  // namespace athanor::cel
