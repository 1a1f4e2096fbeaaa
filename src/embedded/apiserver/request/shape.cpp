// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/shape.hpp"

#include <fmt/format.h>

#include "base/cancellation.hpp"
#include "embedded/kinds/workloads/autoscaler_converter.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

Value list_metadata(const ListMetadata& metadata, bool always_continue) {
  Value value = Value::object();
  if (always_continue || !metadata.continue_token.empty()) {
    value.set("continue", metadata.continue_token);
  }
  if (metadata.remaining) {
    value.set("remainingItemCount", *metadata.remaining);
  }
  value.set("resourceVersion", std::to_string(metadata.revision));
  return value;
}

std::string meta_api_version(const Accepted& accepted) {
  return "meta.k8s.io/" + accepted.meta_version;
}

// Items of built-in lists carry neither kind nor apiVersion.
Value list_item(const Value& object) {
  give_up_if_cancelled();
  std::vector<Member> members;
  members.reserve(object.size());
  for (const Member& member : object.members()) {
    if (member.key() != "kind" && member.key() != "apiVersion") {
      members.push_back(member);
    }
  }
  return Value::object(std::move(members));
}

}  // namespace

StatusResult<IncludeObject> read_include_object(const Request& request) {
  const std::string_view text = request.parameter("includeObject").value_or("");
  if (text.empty() || text == "Metadata") {
    return IncludeObject::Metadata;
  }
  if (text == "Object") {
    return IncludeObject::Whole;
  }
  if (text == "None") {
    return IncludeObject::None;
  }
  return status::bad_request(
      fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: {}: must "
                  "be 'Metadata', 'Object', 'None', or empty",
                  go_quote(text)));
}

Value partial_metadata(const Accepted& accepted, const Value& whole) {
  Value object = whole;
  if (object["kind"].as_string() == "HorizontalPodAutoscaler") {
    drop_carried(object);  // only a whole object of the first version needs them
  }
  return Value::object({{"kind", "PartialObjectMetadata"},
                        {"apiVersion", meta_api_version(accepted)},
                        {"metadata", object["metadata"]}});
}

Value shape_object(const ResourceInfo& resource, const Accepted& accepted, IncludeObject include,
                   const Value& object, Instant now) {
  switch (accepted.shape) {
    case Shape::Whole:
    case Shape::MetadataList:
      return object;
    case Shape::Metadata:
      return partial_metadata(accepted, object);
    case Shape::Table:
      break;
  }
  Value metadata = Value::object();
  if (const Value* revision = object["metadata"].find("resourceVersion")) {
    metadata.set("resourceVersion", *revision);
  }
  return make_table(resource, accepted, {.include = include}, {object}, std::move(metadata), now);
}

Value shape_list(const ResourceInfo& resource, const Accepted& accepted, IncludeObject include,
                 const std::vector<Value>& objects, const ListMetadata& metadata, Instant now) {
  if (accepted.shape == Shape::Table) {
    return make_table(resource, accepted, {.include = include}, objects,
                      list_metadata(metadata, false), now);
  }
  const bool partial = accepted.shape == Shape::Metadata || accepted.shape == Shape::MetadataList;
  std::vector<Value> items;
  items.reserve(objects.size());
  for (const Value& object : objects) {
    if (partial) {
      items.push_back(partial_metadata(accepted, object));
    } else {
      items.push_back(resource.is_custom ? object : list_item(object));
    }
  }
  return Value::object(
      {{"kind", Value(partial ? std::string("PartialObjectMetadataList") : resource.list_kind)},
       {"apiVersion", Value(partial ? meta_api_version(accepted) : resource.api_version())},
       {"metadata", list_metadata(metadata, resource.is_custom && !partial)},
       {"items", partial && items.empty() ? Value() : Value::list(std::move(items))}});
}

StatusResult<void> check_shape(const ResourceInfo& resource, const Accepted& accepted, bool list) {
  if (accepted.shape != (list ? Shape::Metadata : Shape::MetadataList)) {
    return {};
  }
  std::string type = "unstructured.Unstructured";
  if (!resource.is_custom) {
    // The reference names the type within itself.
    const std::string_view group = resource.group;
    type = group.empty() || group == "events.k8s.io"
               ? std::string("core")
               : std::string(group.substr(0, group.find('.')));
    type += "." + resource.kind;
  }
  StatusError error = status::not_acceptable("");
  error.message = fmt::format(
      "you requested PartialObjectMetadata{}, but the requested object is {} "
      "(*{}{})",
      list ? "" : "List", list ? "a list" : "not a list", type, list ? "List" : "");
  return error;
}

}  // namespace athanor::apiserver
