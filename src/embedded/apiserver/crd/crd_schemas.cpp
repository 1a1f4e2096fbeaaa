// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_schemas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cel/rules/schema_rules.hpp"
#include "embedded/apiserver/crd/selectable_rules.hpp"
#include "kube/schema/embedded_objects.hpp"

namespace athanor::apiserver {
namespace {

// Returns true if both print alike: order of members and kinds of numbers count, as they do for
// defaults and messages.
bool same_form(const Value& a, const Value& b) {
  if (a.type() != b.type()) {
    return false;
  }
  if (a.identical(b)) {
    return true;
  }
  if (a.is_object()) {
    const auto left = a.members();
    const auto right = b.members();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const Member& x, const Member& y) {
                        return x.key() == y.key() && same_form(x.value, y.value);
                      });
  }
  if (a.is_list()) {
    const auto left = a.items();
    const auto right = b.items();
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_form);
  }
  return a == b;
}

}  // namespace

CrdSchemas::CrdSchemas(Value versions) : source_(std::move(versions)) {
  auto parsed = parse_crd_schemas(Value::object({{"versions", source_}}));
  if (parsed.ok()) {
    schemas_ = *std::move(parsed);
  } else {
    unreadable_ = std::move(parsed).error();
  }
}

CrdSchemas::~CrdSchemas() = default;

const std::vector<CrdSchemas::Version>& CrdSchemas::versions() const {
  const MutexLock lock(mutex_);
  if (!versions_) {
    std::vector<Version> made;
    made.reserve(schemas_.size());
    for (const CrdVersionSchema& one : schemas_) {
      made.push_back({.schema = one.schema,
                      .rules = cel::SchemaRules::compile(*one.schema->root()),
                      .embeds = athanor::embeds_objects(*one.schema->root())});
    }
    versions_ = std::move(made);
  }
  return *versions_;
}

const std::vector<FieldError>& CrdSchemas::errors() const {
  const MutexLock lock(mutex_);
  if (!errors_) {
    errors_ = check();
  }
  return *errors_;
}

std::vector<FieldError> CrdSchemas::check() const {
  if (!readable()) {
    return unreadable_;
  }
  std::vector<FieldError> errors = check_selectable_fields(source_);
  bool shared = true;
  for (std::size_t i = 1; i < schemas_.size(); ++i) {
    shared = shared && schemas_[i].schema == schemas_[0].schema;
  }
  const std::size_t distinct = shared ? std::min<std::size_t>(schemas_.size(), 1) : schemas_.size();
  for (std::size_t i = 0; i < distinct; ++i) {
    const std::string path = shared ? "spec.validation.openAPIV3Schema"
                                    : fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    std::vector<FieldError> broken = cel::check_schema_rules(
        source_[i]["schema"]["openAPIV3Schema"], *schemas_[i].schema->root(), path);
    errors.insert(errors.end(), std::make_move_iterator(broken.begin()),
                  std::make_move_iterator(broken.end()));
  }
  return errors;
}

CrdSchemas::Ptr CrdSchemaCache::get(const Value& versions) {
  const auto is_of = [&](const CrdSchemas::Ptr& one) { return same_form(one->source(), versions); };
  {
    const MutexLock lock(mutex_);
    const auto found = std::find_if(recent_.rbegin(), recent_.rend(), is_of);
    if (found != recent_.rend()) {
      std::rotate(std::prev(found.base()), found.base(), recent_.end());
      return recent_.back();
    }
  }
  auto made = std::make_shared<const CrdSchemas>(versions);
  if (made->readable()) {
    const MutexLock lock(mutex_);
    if (recent_.size() == kMost) {
      recent_.erase(recent_.begin());
    }
    recent_.push_back(made);
  }
  return made;
}

CrdSchemas::Ptr compiled_schemas(CrdSchemaCache* cache, const Value& versions) {
  return cache != nullptr ? cache->get(versions) : std::make_shared<const CrdSchemas>(versions);
}

}  // namespace athanor::apiserver
