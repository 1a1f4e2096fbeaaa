// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/resources/versions.hpp"

#include "embedded/kinds/converter.hpp"
#include "kube/schema/prune.hpp"
#include "kube/value/whole_numbers.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<Value> convert(const ResourceInfo& resource, const Value& object,
                            std::string_view from, std::string_view to,
                            const VersionContext& context) {
  if (from == to) {
    return object;
  }
  if (resource.conversion != nullptr) {
    ATHANOR_TRY(std::vector<Value> converted,
                convert_by_webhook(*resource.conversion, {&object, 1}, to, context));
    return std::move(converted.front());
  }
  if (resource.converter != nullptr) {
    return resource.converter->convert(object, from, to);
  }
  Value converted = object;
  converted.set("apiVersion", Value(to));
  return converted;
}

// As the schema of `resource` wants it. Defaults that would make it many times as large are left
// out: the object was stored before the schema had them, and stays readable.
Value fitted(const ResourceInfo& resource, Value object) {
  if (resource.is_custom && resource.schema != nullptr) {
    Value pruned = prune_custom(object, *resource.schema);
    return default_custom(pruned, *resource.schema).value_or(pruned);
  }
  return object;
}

// `text` is resource.api_version(), which is not made for it.
bool is_version_of(const ResourceInfo& resource, std::string_view text) {
  const std::string_view group = resource.group;
  if (group.empty()) {
    return text == resource.version;
  }
  return text.size() == group.size() + 1 + resource.version.size() && text.starts_with(group) &&
         text[group.size()] == '/' && text.ends_with(resource.version);
}

}  // namespace

bool served_as_stored(const ResourceInfo& resource, const Value& body, store::Revision revision) {
  return revision > resource.schema_revision &&
         is_version_of(resource, body["apiVersion"].as_string());
}

StatusResult<Value> to_served(const ResourceInfo& resource, const Value& body,
                              store::Revision revision, const VersionContext& context) {
  if (served_as_stored(resource, body, revision)) {
    return body;
  }
  ATHANOR_TRY(Value object, convert(resource, body, body["apiVersion"].as_string(),
                                    resource.api_version(), context));
  return fitted(resource, std::move(object));
}

StatusResult<Value> to_served(const ResourceInfo& resource, const store::Stored& stored,
                              const VersionContext& context) {
  return to_served(resource, stored.body, stored.revision, context);
}

StatusResult<std::vector<Value>> to_served(const ResourceInfo& resource,
                                           const std::vector<store::StoredPtr>& stored,
                                           const VersionContext& context) {
  std::vector<Value> objects;
  objects.reserve(stored.size());
  if (resource.conversion == nullptr) {
    for (const store::StoredPtr& one : stored) {
      ATHANOR_TRY(Value object, to_served(resource, *one, context));
      objects.push_back(std::move(object));
    }
    return objects;
  }
  for (const store::StoredPtr& one : stored) {
    objects.push_back(one->body);
  }
  ATHANOR_TRY(objects,
              convert_by_webhook(*resource.conversion, objects, resource.api_version(), context));
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!served_as_stored(resource, stored[i]->body, stored[i]->revision)) {
      objects[i] = fitted(resource, std::move(objects[i]));
    }
  }
  return objects;
}

StatusResult<Value> served_back(const ResourceInfo& resource, const Value& written,
                                const store::Stored& stored) {
  if (resource.conversion == nullptr ||
      stored.body["apiVersion"].as_string() == resource.api_version()) {
    return to_served(resource, stored, {});
  }
  Value object = written;
  object.member("metadata").set("resourceVersion", std::to_string(stored.revision));
  return object;
}

StatusResult<Value> to_storage(const ResourceInfo& resource, const Value& object,
                               const VersionContext& context, const Value& before) {
  ATHANOR_TRY(Value stored, convert(resource, object, object["apiVersion"].as_string(),
                                    resource.storage_api_version, context));
  return resource.is_custom ? whole_doubles_as_integers(stored, before) : stored;
}

}  // namespace athanor::apiserver
