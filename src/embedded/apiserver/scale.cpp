// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/scale.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/decode.hpp"
#include "embedded/apiserver/list_options.hpp"
#include "embedded/apiserver/managers.hpp"
#include "embedded/apiserver/respond.hpp"
#include "embedded/apiserver/subresource.hpp"
#include "embedded/apiserver/versions.hpp"
#include "embedded/apiserver/write.hpp"
#include "kube/field_error.hpp"
#include "kube/json.hpp"
#include "kube/managed_fields.hpp"
#include "kube/patch.hpp"
#include "kube/scale_managers.hpp"
#include "kube/selector.hpp"
#include "kube/types.hpp"
#include "kube/yaml.hpp"

namespace athanor::apiserver {
namespace {

const Value& at_path(const Value& object, std::string_view json_path) {
  const std::vector<std::string> path = scale_path(json_path);
  return object.at(std::span<const std::string>(path));
}

Value with_path(const Value& object, std::span<const std::string> path, Value leaf) {
  if (path.empty()) {
    return leaf;
  }
  Value changed = object.is_object() ? object : Value::object();
  changed.set(path.front(), with_path(object[path.front()], path.subspan(1), std::move(leaf)));
  return changed;
}

std::string selector_text(const ResourceInfo& resource, const Value& object) {
  if (resource.is_custom) {
    return at_path(object, resource.scale->label_selector).str();
  }
  const Value& selector = object["spec"]["selector"];
  if (resource.plural == "replicationcontrollers") {
    std::string text;
    for (const Member& member : selector.members()) {
      text +=
          fmt::format("{}{}={}", text.empty() ? "" : ",", member.key(), member.value.as_string());
    }
    return text;
  }
  const auto parsed = LabelSelector::from_value(selector);
  return parsed.ok() ? parsed->text() : std::string();
}

StatusResult<Value> scale_of(const ResourceInfo& resource, const Value& object) {
  const ScalePaths& paths = *resource.scale;
  const Value& replicas = at_path(object, paths.spec_replicas);
  if (resource.is_custom && replicas.is_null()) {
    return status::internal(
        fmt::format("the spec replicas field \"{}\" does not exist", paths.spec_replicas));
  }
  Value metadata = Value::object();
  for (const std::string_view field :
       {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = object["metadata"].find(field)) {
      metadata.set(field, *value);
    }
  }
  Value spec = Value::object();
  if (replicas.as_int() != 0) {
    spec.set("replicas", replicas.as_int());
  }
  Value status = Value::object({{"replicas", at_path(object, paths.status_replicas).as_int()}});
  if (std::string selector = selector_text(resource, object); !selector.empty()) {
    status.set("selector", selector);
  }
  return Value::object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)},
                        {"status", std::move(status)}});
}

constexpr std::string_view kNoNumber =
    "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal into Go struct "
    "field ScaleSpec.spec.replicas of type int32";

// The same of an object that does not say how many yet.
StatusResult<Value> scale_or_none(const ResourceInfo& resource, const Value& object) {
  const std::string& path = resource.scale->spec_replicas;
  return scale_of(resource, at_path(object, path).is_null()
                                ? with_path(object, scale_path(path), Value(0))
                                : object);
}

StatusResult<std::int64_t> wanted_replicas(const Call& call, const Value& scale) {
  const Value& replicas = scale["spec"]["replicas"];
  if (!replicas.is_null() && !replicas.is_number()) {
    return status::bad_request(std::string(kNoNumber));
  }
  if (replicas.as_int() >= 0 || call.resource->is_custom) {
    return replicas.as_int();  // those of custom resources are checked with the object
  }
  return status::invalid(
      {.name = "Scale", .group = "autoscaling"}, call.path.name,
      {FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0")});
}

// Where the replicas stand in the versions of what is scaled.
ReplicasPath replicas_path(const Call& call) {
  return [&call](std::string_view version) -> std::optional<std::vector<std::string>> {
    const ResourceInfo* info = version == call.resource->api_version()
                                   ? call.resource
                                   : call.table->by_kind(version, call.resource->kind);
    if (info == nullptr) {
      return std::nullopt;
    }
    return info->scale ? scale_path(info->scale->spec_replicas) : std::vector<std::string>();
  };
}

FieldManagement management_of_scale(const Call& call, const WriteOptions& options) {
  FieldManagement by;
  by.schema = BuiltinTypes::get().by_kind("autoscaling", "v1", "Scale");
  by.manager = options.manager;
  by.api_version = "autoscaling/v1";
  by.subresource = "scale";
  by.now = call.now;
  return by;
}

// The Scale with those who own its replicas.
Value owned_scale(const Call& call, const Value& live, Value scale) {
  const Value entries = scale_entries(live["metadata"]["managedFields"], replicas_path(call));
  if (!entries.is_null()) {
    scale.member("metadata").set("managedFields", entries);
  }
  return scale;
}

// The parent with the replicas, their owners and the expected revision of a changed Scale.
StatusResult<Value> scaled(const Call& call, const Value& live, const Value& scale) {
  ATHANOR_TRY(const std::int64_t replicas, wanted_replicas(call, scale));
  const std::vector<std::string> path = scale_path(call.resource->scale->spec_replicas);
  Value changed = with_path(live, path, Value(replicas));
  const Value& revision = scale["metadata"]["resourceVersion"];
  if (!revision.as_string().empty()) {
    changed.member("metadata").set("resourceVersion", revision);
  }
  const Value entries =
      parent_entries(live["metadata"]["managedFields"], scale["metadata"]["managedFields"],
                     call.resource->api_version(), replicas_path(call));
  if (!entries.is_null()) {
    changed.member("metadata").set("managedFields", entries);
  } else if (changed["metadata"].contains("managedFields")) {
    changed.member("metadata").erase("managedFields");
  }
  return changed;
}

// The same for what a client sent, or a patch made, of the Scale `before`.
StatusResult<Value> rescaled(const Call& call, const WriteOptions& options, const Value& live,
                             const Value& before, Value scale) {
  ATHANOR_TRY(const std::int64_t replicas, wanted_replicas(call, scale));
  if (replicas == 0 && scale["spec"].contains("replicas")) {
    scale.member("spec").erase("replicas");  // no replicas and none said look the same
  }
  return scaled(call, live,
                update_managed_fields(owned_scale(call, live, before), std::move(scale),
                                      management_of_scale(call, options)));
}

// The same where a patch made the Scale.
StatusResult<Value> patched_scale(const Call& call, const WriteOptions& options, const Value& live,
                                  const Value& before, const Value& scale) {
  const Value& replicas = scale["spec"]["replicas"];
  if (!replicas.is_null() && !replicas.is_number()) {
    return status::invalid({.name = "", .group = ""}, "",
                           {FieldError::invalid("patch", Value(json::print(scale)), kNoNumber)});
  }
  return rescaled(call, options, live, before, scale);
}

StatusResult<Response> write_scale(Call& call, const WriteOptions& options, UpdateInput input) {
  input.subresource = "scale";
  input.from_patch = true;
  input.tracked = true;
  input.shown = [&](const Value& object) { return scale_or_none(*call.resource, object); };
  input.taken = [&](const Value& object, const Value& scale) -> StatusResult<Value> {
    ATHANOR_TRY(const std::int64_t replicas, wanted_replicas(call, scale));
    return with_path(object, scale_path(call.resource->scale->spec_replicas), Value(replicas));
  };
  ATHANOR_TRY(const Written written, update_object(call, options, input));
  ATHANOR_TRY(Value scale, scale_of(*call.resource, written.object));
  Response response = value_response(call, std::move(scale), 200);
  response.durable_after = written.revision;
  return response;
}

StatusResult<Value> parse_patch_text(const Request& request) {
  if (const auto* value = std::get_if<Value>(&request.body)) {
    return *value;
  }
  const std::string& text = std::get<std::string>(request.body);
  auto parsed = json::parse(text);
  if (!parsed.ok()) {
    parsed = yaml::parse(text);
  }
  if (!parsed.ok()) {
    return status::bad_request("error decoding patch: " + parsed.error().message);
  }
  return *std::move(parsed);
}

StatusError refused(const ApplyError& error) {
  StatusError result = status::of(error.error);
  if (!error.conflicts.empty()) {
    result.details.emplace();
    for (const ApplyConflict& conflict : error.conflicts) {
      result.details->causes.push_back(
          {.reason = "FieldManagerConflict", .message = conflict.message, .field = conflict.field});
    }
  }
  return result;
}

StatusResult<Value> apply_scale(const Call& call, const WriteOptions& options, const Value& live,
                                const Value& config) {
  ATHANOR_TRY(Value before, scale_or_none(*call.resource, live));
  auto applied = apply_configuration(owned_scale(call, live, std::move(before)), config,
                                     management_of_scale(call, options), {.force = options.force});
  if (!applied.ok()) {
    return refused(applied.error());
  }
  return scaled(call, live, *applied);
}

}  // namespace

std::vector<std::string> scale_path(std::string_view json_path) {
  std::vector<std::string> parts;
  while (!json_path.empty()) {
    const std::size_t end = std::min(json_path.find('.'), json_path.size());
    if (end > 0) {
      parts.emplace_back(json_path.substr(0, end));
    }
    json_path.remove_prefix(std::min(end + 1, json_path.size()));
  }
  return parts;
}

StatusResult<Response> handle_scale_get(Call& call) {
  if (const auto text = call.request.parameter("resourceVersion"); text && !text->empty()) {
    ATHANOR_TRY_VOID(parse_revision(*text));
  }
  const Key key = call.key();
  const store::StoredPtr stored = call.core.store.get(call.resource->storage, key);
  if (stored == nullptr) {
    return status::not_found(call.qualified_resource(), key.name);
  }
  ATHANOR_TRY(const Value object, to_served(*call.resource, *stored, call.versions()));
  ATHANOR_TRY(Value scale, scale_of(*call.resource, object));
  Response response = value_response(call, std::move(scale), 200);
  response.durable_after = stored->revision;
  return response;
}

StatusResult<Response> handle_scale_put(Call& call) {
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "UpdateOptions"));
  ATHANOR_TRY(
      const Value scale,
      read_body(call, {.group = "autoscaling",
                       .version = "v1",
                       .kind = "Scale",
                       .schema = BuiltinTypes::get().by_kind("autoscaling", "v1", "Scale")}));
  UpdateInput input;
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(const Value before, scale_or_none(*call.resource, live));
    return rescaled(call, options, live, before, scale);
  };
  return write_scale(call, options, std::move(input));
}

StatusResult<Response> handle_scale_patch(Call& call) {
  const std::string type = media_type(call.request.header("content-type"));
  const bool apply = type == "application/apply-patch+yaml";
  const bool json_patch = type == "application/json-patch+json";
  if (!apply && !json_patch && type != "application/merge-patch+json" &&
      type != "application/strategic-merge-patch+json") {
    return status::unsupported_patch_type();
  }
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "PatchOptions", apply));
  ATHANOR_TRY(const Value patch, parse_patch_text(call.request));
  UpdateInput input;
  input.options_kind = "PatchOptions";
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    if (apply) {
      return apply_scale(call, options, live, patch);
    }
    // A patch may be the first to say so.
    ATHANOR_TRY(const Value before, scale_or_none(*call.resource, live));
    if (!json_patch) {
      return patched_scale(call, options, live, before, apply_merge_patch(before, patch));
    }
    auto patched = apply_json_patch(before, patch);
    if (!patched.ok()) {
      return patched.error().code == 400 ? status::of(patched.error()) : status::unprocessable();
    }
    return patched_scale(call, options, live, before, *patched);
  };
  return write_scale(call, options, std::move(input));
}

}  // namespace athanor::apiserver
