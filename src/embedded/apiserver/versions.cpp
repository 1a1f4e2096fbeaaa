// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/versions.hpp"

#include "embedded/apiserver/converter.hpp"
#include "kube/prune.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<Value> convert(const ResourceInfo& resource, const Value& object,
                            std::string_view from, std::string_view to) {
  if (from == to) {
    return object;
  }
  if (resource.converter != nullptr) {
    return resource.converter->convert(object, from, to);
  }
  Value converted = object;
  converted.set("apiVersion", Value(to));
  return converted;
}

}  // namespace

StatusResult<Value> to_served(const ResourceInfo& resource, const Value& body,
                              store::Revision revision) {
  const std::string api_version = resource.api_version();
  const std::string_view stored_version = body["apiVersion"].as_string();
  if (stored_version == api_version && revision > resource.schema_revision) {
    return body;
  }
  ATHANOR_TRY(Value object, convert(resource, body, stored_version, api_version));
  if (resource.is_custom && resource.schema != nullptr) {
    object = default_custom(prune_custom(object, *resource.schema), *resource.schema);
  }
  return object;
}

StatusResult<Value> to_served(const ResourceInfo& resource, const store::Stored& stored) {
  return to_served(resource, stored.body, stored.revision);
}

StatusResult<Value> to_storage(const ResourceInfo& resource, const Value& object) {
  return convert(resource, object, object["apiVersion"].as_string(), resource.storage_api_version);
}

}  // namespace athanor::apiserver
