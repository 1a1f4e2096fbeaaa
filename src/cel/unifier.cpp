// SPDX-License-Identifier: Apache-2.0
#include "cel/unifier.hpp"

namespace athanor::cel {
namespace {

constexpr int kSteps = 10'000;
// Of one expression; types that share their parts are larger than they look.
constexpr std::size_t kMostSteps = 3'000'000;

// null may take the place of these.
bool takes_null(const Type& type) {
  return type.kind == TypeKind::Null || type.kind == TypeKind::Opaque ||
         type.kind == TypeKind::Optional || type.kind == TypeKind::Duration ||
         type.kind == TypeKind::Timestamp || type.kind == TypeKind::Object;
}

bool less_specific(const Type& a, const Type& b, int& steps) {
  if (--steps < 0) {
    return false;
  }
  if (is_dyn(a) || a.kind == TypeKind::Param) {
    return true;
  }
  if (is_dyn(b) || b.kind == TypeKind::Param) {
    return false;
  }
  if (a.kind == TypeKind::Null) {
    return false;
  }
  if (b.kind == TypeKind::Null) {
    return true;
  }
  if (a.kind != b.kind || a.parameters.size() != b.parameters.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (!less_specific(*a.parameters[i], *b.parameters[i], steps)) {
      return false;
    }
  }
  return a.name == b.name;
}

}  // namespace

TypePtr Unifier::fresh() {
  return param_type("_var" + std::to_string(next_++));
}

Unifier::Signature Unifier::instantiate(const Overload& overload) {
  Map own;
  Signature signature;
  const auto rename = [&](const auto& self, const TypePtr& type) -> void {
    if (type->kind == TypeKind::Param && !own.contains(type->name)) {
      own.emplace(type->name, fresh());
    }
    for (const TypePtr& parameter : type->parameters) {
      self(self, parameter);
    }
  };
  for (const TypePtr& parameter : overload.parameters) {
    rename(rename, parameter);
  }
  rename(rename, overload.result);
  for (const TypePtr& parameter : overload.parameters) {
    signature.parameters.push_back(own.empty() ? parameter : replace(own, parameter, Free::Keep));
  }
  signature.result = own.empty() ? overload.result : replace(own, overload.result, Free::Keep);
  return signature;
}

bool Unifier::assignable(std::span<const TypePtr> from, std::span<const TypePtr> to) {
  if (from.size() != to.size()) {
    return false;
  }
  trail_.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!fits(from[i], to[i])) {
      take_back();
      return false;
    }
  }
  return true;
}

bool Unifier::assignable(const TypePtr& from, const TypePtr& to) {
  return assignable(std::span(&from, 1), std::span(&to, 1));
}

void Unifier::bind(const std::string& param, TypePtr type) {
  TypePtr& bound = map_[param];
  trail_.emplace_back(param, bound);
  bound = std::move(type);
}

void Unifier::take_back() {
  for (; !trail_.empty(); trail_.pop_back()) {
    if (trail_.back().second == nullptr) {
      map_.erase(trail_.back().first);
    } else {
      map_[trail_.back().first] = std::move(trail_.back().second);
    }
  }
}

bool Unifier::step() const {
  return ++steps_ <= kMostSteps;
}

bool Unifier::exhausted() const {
  return steps_ > kMostSteps;
}

bool Unifier::fits(const TypePtr& from, const TypePtr& to) {
  if (!step()) {
    return false;
  }
  if (to->kind == TypeKind::Param) {
    bool known = false;
    if (is_bound_to(from, to, known)) {
      return true;
    }
    if (known) {
      return false;
    }
  }
  if (from->kind == TypeKind::Param) {
    bool known = false;
    return is_bound_to(to, from, known);
  }
  if (is_dyn(*from) || is_dyn(*to)) {
    return true;
  }
  if (from->kind == TypeKind::Null) {
    return takes_null(*to);
  }
  if (to->kind == TypeKind::Null) {
    return takes_null(*from);
  }
  if (from->kind != to->kind || from->name != to->name) {
    return false;
  }
  if (from->kind == TypeKind::Type || from->parameters.size() != to->parameters.size()) {
    return from->kind == TypeKind::Type;
  }
  for (std::size_t i = 0; i < from->parameters.size(); ++i) {
    if (!fits(from->parameters[i], to->parameters[i])) {
      return false;
    }
  }
  return true;
}

bool Unifier::is_bound_to(const TypePtr& type, const TypePtr& param, bool& known) {
  if (same_type(*type, *param)) {
    known = true;
    return true;
  }
  const auto found = map_.find(param->name);
  if (found != map_.end()) {
    known = true;
    const TypePtr current = found->second;
    if (!fits(type, current)) {
      return false;
    }
    const TypePtr general = most_general(type, current);
    if (!occurs(param, general)) {
      bind(param->name, general);
    }
    return true;
  }
  if (occurs(param, type)) {
    return false;
  }
  bind(param->name, type);
  return true;
}

TypePtr Unifier::most_general(const TypePtr& a, const TypePtr& b) {
  int steps = kSteps;  // in types that share their parts
  return less_specific(*a, *b, steps) ? a : b;
}

bool Unifier::occurs(const TypePtr& param, const TypePtr& within) const {
  if (!step()) {
    return true;
  }
  if (within->kind == TypeKind::Param) {
    if (within->name == param->name) {
      return true;
    }
    const auto found = map_.find(within->name);
    return found != map_.end() && occurs(param, found->second);
  }
  for (const TypePtr& parameter : within->parameters) {
    if (occurs(param, parameter)) {
      return true;
    }
  }
  return false;
}

TypePtr Unifier::replace(const Map& map, const TypePtr& type, Free free) const {
  if (!step()) {
    return simple_type(TypeKind::Dyn);
  }
  if (type->kind == TypeKind::Param) {
    const auto found = map.find(type->name);
    if (found != map.end()) {
      return replace(map, found->second, free);
    }
    return free == Free::ToDyn ? simple_type(TypeKind::Dyn) : type;
  }
  if (type->parameters.empty()) {
    return type;
  }
  bool changed = false;
  std::vector<TypePtr> parameters;
  for (const TypePtr& parameter : type->parameters) {
    parameters.push_back(replace(map, parameter, free));
    changed = changed || parameters.back() != parameter;
  }
  if (!changed) {
    return type;
  }
  auto copy = std::make_shared<Type>(*type);
  copy->parameters = std::move(parameters);
  return copy;
}

TypePtr Unifier::substitute(const TypePtr& type, Free free) const {
  return replace(map_, type, free);
}

}  // namespace athanor::cel
