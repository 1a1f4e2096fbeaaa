// SPDX-License-Identifier: Apache-2.0
// PATCH: JSON patch, merge patch, strategic merge patch and apply
// (docs/spec/apiserver.md 9.4, 9.5, 11.2).
#include <fmt/format.h>

#include "embedded/apiserver/request/handlers.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/managers.hpp"
#include "embedded/apiserver/write/patching.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/apiserver/write/written_response.hpp"
#include "kube/schema/wrap_integers.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<Response> apply_plain(Call& call, PatchType type, const WriteOptions& options) {
  const StatusResult<Document> parsed = parse_patch(call, type, options.validation);
  constexpr int kTooLarge = 413;
  if (!parsed.ok() && parsed.error().code == kTooLarge) {
    return parsed.error();
  }
  UpdateInput input;
  input.subresource = call.path.subresource;
  input.options_kind = "PatchOptions";
  input.from_patch = true;
  input.normal = true;
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    if (!parsed.ok()) {
      return parsed.error();  // a missing object comes before a broken body
    }
    return patched(call, options, *call.resource, {.type = type, .document = *parsed}, live);
  };
  ATHANOR_TRY(Written written, update_object(call, options, input));
  return written_response(call, std::move(written));
}

StatusResult<Value> apply_to(const Call& call, const WriteOptions& options, const Value& live,
                             const Value& config) {
  const std::string api_version = call.resource->api_version();
  auto applied = apply_configuration(
      live, config, management_of(call, options, call.path.subresource, api_version),
      {.force = options.force});
  if (!applied.ok()) {
    return apply_refused(applied.error());
  }
  return *std::move(applied);
}

// What was applied as an object of the type; the reference blames itself where it is none.
StatusResult<Value> converted(const Call& call, const Value& applied) {
  if (call.resource->is_custom) {
    return normalize(*call.resource, applied, nullptr, Nulls::Kept);
  }
  auto object = normalize(*call.resource, wrap_integers(applied, call.resource->schema));
  if (object.ok()) {
    return object;
  }
  StatusError error;
  const Value& metadata = applied["metadata"];
  const std::string kind = apply_kind(applied);
  error.message = fmt::format(
      "failed to convert new object ({}/{}; {}) to proper version: unable to convert unstructured "
      "object to {}: {}",
      metadata["namespace"].as_string(), metadata["name"].as_string(), kind, kind,
      object.error().message);
  return error;
}

StatusResult<Written> apply_new(Call& call, const WriteOptions& options, Value config) {
  const Value revision = config["metadata"]["resourceVersion"];
  if (!revision.is_null()) {
    config.member("metadata").erase("resourceVersion");
  }
  ATHANOR_TRY(const Value applied, apply_to(call, options, Value(), config));
  ATHANOR_TRY(Value object, converted(call, applied));
  if (const std::string_view uid = config["metadata"]["uid"].as_string(); !uid.empty()) {
    return status::conflict(call.qualified_resource(), call.path.name,
                            fmt::format("uid mismatch: the provided object specified uid {}, and "
                                        "no existing object was found",
                                        uid));
  }
  ATHANOR_TRY_VOID(check_place(call, applied));
  ATHANOR_TRY(Written written,
              create_object(call, options, {.object = std::move(object), .tracked = true}));
  if (options.dry_run && !revision.as_string().empty()) {
    written.object.member("metadata").set("resourceVersion", revision);  // nothing replaced it
  }
  return written;
}

StatusResult<Response> apply_server_side(Call& call, const WriteOptions& options) {
  // No part of an absent object is created: that is refused before the configuration is read.
  if (!call.path.subresource.empty() &&
      call.core.store.get(call.resource->storage, call.key()) == nullptr) {
    return status::not_found(call.qualified_resource(), call.path.name);
  }
  ATHANOR_TRY(const Document document, parse_config(call, options));
  const Value& config = document.value;
  ATHANOR_TRY_VOID(check_config(*call.resource, config));
  UpdateInput input;
  input.subresource = call.path.subresource;
  input.options_kind = "PatchOptions";
  input.from_patch = true;
  input.tracked = true;
  input.normal = true;
  Value merged;
  input.merged_metadata = [&] { return merged; };
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(Value applied, apply_to(call, options, live, config));
    merged = applied["metadata"];
    ATHANOR_TRY_VOID(check_place(call, applied));  // after the types
    const std::string_view wanted = config["metadata"]["resourceVersion"].as_string();
    ATHANOR_TRY_VOID(check_version(call, wanted, live));
    return applied.identical(live) ? StatusResult<Value>(applied) : converted(call, applied);
  };
  auto written = update_object(call, options, input);
  if (!written.ok() && written.error().code == 404 && call.path.subresource.empty()) {
    written = apply_new(call, options, config);
    if (!written.ok() && written.error().reason == "AlreadyExists") {
      written = update_object(call, options, input);  // another client was faster
    }
  }
  if (!written.ok()) {
    return std::move(written).error();
  }
  return written_response(call, *std::move(written));
}

}  // namespace

StatusResult<Response> handle_patch(Call& call) {
  const StatusResult<PatchType> read = patch_type(call);
  if (!read.ok()) {
    if (!call.resource->is_custom) {
      call.warnings.clear();  // of a resource that does not take it at all
    }
    return read.error();
  }
  const PatchType type = *read;
  ATHANOR_TRY(const WriteOptions options,
              read_write_options(call.request, "PatchOptions", type == PatchType::Apply));
  return type == PatchType::Apply ? apply_server_side(call, options)
                                  : apply_plain(call, type, options);
}

}  // namespace athanor::apiserver
