// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/subresources/scale.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "embedded/apiserver/crd/scale_rules.hpp"
#include "embedded/apiserver/read/list_options.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/resources/versions.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/managers.hpp"
#include "embedded/apiserver/write/metadata_rules.hpp"
#include "embedded/apiserver/write/patching.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/apply/managed_fields.hpp"
#include "kube/apply/scale_managers.hpp"
#include "kube/names/field_error.hpp"
#include "kube/names/selector.hpp"
#include "kube/schema/types.hpp"
#include "kube/schema/wrap_integers.hpp"

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
    std::vector<std::string> labels;
    for (const Member& member : selector.members()) {
      labels.push_back(fmt::format("{}={}", member.key(), member.value.as_string()));
    }
    std::ranges::sort(labels);
    return fmt::format("{}", fmt::join(labels, ","));
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

// What a Scale is, as a resource of its own.
const ResourceInfo& scale_kind() {
  static const ResourceInfo kKind = [] {
    ResourceInfo info;
    info.group = "autoscaling";
    info.version = "v1";
    info.kind = "Scale";
    info.schema = BuiltinTypes::get().by_kind("autoscaling", "v1", "Scale");
    return info;
  }();
  return kKind;
}

// The same of an object that does not say how many yet.
StatusResult<Value> scale_or_none(const ResourceInfo& resource, const Value& object) {
  const std::string& path = resource.scale->spec_replicas;
  return scale_of(resource, at_path(object, path).is_null()
                                ? with_path(object, scale_path(path), Value(0))
                                : object);
}

// Whether the Scale is one, of the object `live`; those of custom resources are checked with the
// object.
StatusResult<void> check_scale(Call& call, const Value& scale, const Value& live) {
  const Value& uid = live["metadata"]["uid"];
  const Value& given = scale["metadata"]["uid"];
  if (!given.as_string().empty() && given != uid) {
    const std::string resource = call.resource->plural + "/scale";
    return status::conflict({.name = resource, .group = call.resource->group}, call.path.name,
                            fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                        "object meta: {}",
                                        given.as_string(), uid.as_string()));
  }
  if (call.resource->is_custom) {
    return {};
  }
  std::vector<FieldError> errors = validate_metadata(scale_kind(), scale, call.warnings);
  const Value& replicas = scale["spec"]["replicas"];
  if (replicas.as_int() < 0) {
    errors.push_back(
        FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0"));
  }
  if (errors.empty()) {
    return {};
  }
  return status::invalid({.name = "Scale", .group = "autoscaling"}, call.path.name, errors);
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
  by.schema = scale_kind().schema;
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
StatusResult<Value> scaled(Call& call, const Value& live, const Value& scale) {
  ATHANOR_TRY_VOID(check_scale(call, scale, live));
  const std::int64_t replicas = scale["spec"]["replicas"].as_int();
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
StatusResult<Value> rescaled(Call& call, const WriteOptions& options, const Value& live,
                             const Value& before, Value scale) {
  ATHANOR_TRY_VOID(check_place(call, scale));
  if (scale["spec"]["replicas"].as_int() == 0 && scale["spec"].contains("replicas")) {
    scale.member("spec").erase("replicas");  // no replicas and none said look the same
  }
  return scaled(call, live,
                update_managed_fields(owned_scale(call, live, before), std::move(scale),
                                      management_of_scale(call, options)));
}

StatusResult<Response> write_scale(Call& call, const WriteOptions& options, UpdateInput input) {
  input.subresource = "scale";
  input.from_patch = true;
  input.tracked = true;
  input.shown = [&](const Value& object) { return scale_or_none(*call.resource, object); };
  input.taken = [&](const Value& object, const Value& scale) -> StatusResult<Value> {
    ATHANOR_TRY_VOID(check_scale(call, scale, object));
    return with_path(object, scale_path(call.resource->scale->spec_replicas),
                     Value(scale["spec"]["replicas"].as_int()));
  };
  ATHANOR_TRY(const Written written, update_object(call, options, input));
  ATHANOR_TRY(Value scale, scale_of(*call.resource, written.object));
  Response response = value_response(call, std::move(scale), 200);
  response.durable_after = written.revision;
  return response;
}

StatusResult<Value> apply_scale(Call& call, const WriteOptions& options, const Value& live,
                                const Value& config) {
  ATHANOR_TRY_VOID(check_config(scale_kind(), config));
  ATHANOR_TRY(Value before, scale_or_none(*call.resource, live));
  auto applied = apply_configuration(owned_scale(call, live, std::move(before)), config,
                                     management_of_scale(call, options), {.force = options.force});
  if (!applied.ok()) {
    return apply_refused(applied.error());
  }
  ATHANOR_TRY_VOID(check_place(call, *applied));
  return scaled(call, live, wrap_integers(*applied, scale_kind().schema));
}

}  // namespace

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
  ATHANOR_TRY(const Value scale, read_body(call, {.group = "autoscaling",
                                                  .version = "v1",
                                                  .kind = "Scale",
                                                  .schema = scale_kind().schema}));
  UpdateInput input;
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(const Value before, scale_or_none(*call.resource, live));
    return rescaled(call, options, live, before, scale);
  };
  return write_scale(call, options, std::move(input));
}

StatusResult<Response> handle_scale_patch(Call& call) {
  ATHANOR_TRY(const PatchType type, patch_type(call));
  const bool apply = type == PatchType::Apply;
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "PatchOptions", apply));
  const StatusResult<Document> parsed =
      apply ? parse_config(call, options) : parse_patch(call, type, options.validation);
  UpdateInput input;
  input.options_kind = "PatchOptions";
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(const Document document, parsed);  // a missing object comes before a broken body
    if (apply) {
      return apply_scale(call, options, live, document.value);
    }
    // A patch may be the first to say so.
    ATHANOR_TRY(const Value before, scale_or_none(*call.resource, live));
    ATHANOR_TRY(Value scale,
                patched(call, options, scale_kind(), {.type = type, .document = document}, before));
    return rescaled(call, options, live, before, std::move(scale));
  };
  return write_scale(call, options, std::move(input));
}

}  // namespace athanor::apiserver
