// SPDX-License-Identifier: Apache-2.0
#include "console/world/cached_context.hpp"

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "api/kueue_configuration.hpp"

namespace athanor::console {
namespace {

Error no_change() {
  return Error{.code = 403, .reason = "Forbidden", .message = "this view changes nothing"};
}

std::optional<std::string> found_in(const std::map<std::string, std::string, std::less<>>& given,
                                    std::string_view name) {
  const auto found = given.find(name);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

CachedContext::CachedContext(std::shared_ptr<const Facts> facts, const ApiPort& port, Instant now,
                             VerbCall call)
    : facts_(std::move(facts)), port_(port), now_(now), call_(std::move(call)) {}

std::optional<std::string> CachedContext::flag(std::string_view name) const {
  return found_in(call_.flags, name);
}

std::optional<std::string> CachedContext::argument(std::string_view name) const {
  return found_in(call_.arguments, name);
}

Result<Object> CachedContext::get(const Kind& kind, const Key& key) {
  const bool settings = &kind == &api::kConfigMap && key == api::kueue::configuration_map();
  const Kind& followed = settings ? kQueueConfiguration : kind;
  const KindObjects* known = facts_->state(followed);
  if (known == nullptr || !known->synced) {
    return port_.get({}, kind, key);
  }
  if (known->error) {
    return *known->error;
  }
  const Object* object = facts_->find(followed, key);
  if (object == nullptr) {
    return Error::not_found(fmt::format("{} \"{}\" not found", kind.plural, key.name));
  }
  return *object;
}

Result<std::vector<Object>> CachedContext::list(const Kind& kind, const std::string& ns) {
  const KindObjects* known = facts_->state(kind);
  if (known == nullptr || !known->synced) {
    return port_.list({}, kind, ns);
  }
  if (known->error) {
    return *known->error;
  }
  if (ns.empty()) {
    return known->objects;
  }
  std::vector<Object> objects;
  for (const Object& object : known->objects) {
    if (object.ns() == ns) {
      objects.push_back(object);
    }
  }
  return objects;
}

Result<Object> CachedContext::create(const Kind& /*kind*/, const Value& /*object*/) {
  return no_change();
}

Result<Object> CachedContext::patch(const Kind& /*kind*/, const Key& /*key*/,
                                    const Value& /*merge*/, std::string_view /*subresource*/) {
  return no_change();
}

Result<void> CachedContext::remove(const Kind& /*kind*/, const Key& /*key*/) {
  return no_change();
}

Result<Value> CachedContext::post(const Kind& /*kind*/, const Key& /*key*/,
                                  std::string_view /*subresource*/, const Value& /*body*/) {
  return no_change();
}

void CachedContext::table(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  for (const std::vector<std::string>& row : rows) {
    Value cells = Value::object();
    for (std::size_t i = 0; i < std::min(header.size(), row.size()); ++i) {
      cells.set(header[i], row[i]);
    }
    values_.push_back(std::move(cells));
  }
}

}  // namespace athanor::console
