// SPDX-License-Identifier: Apache-2.0
// PATCH: JSON patch, merge patch, strategic merge patch and apply
// (spec/apiserver.md 9.4, 9.5, 11.2).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "embedded/apiserver/decode.hpp"
#include "embedded/apiserver/handlers.hpp"
#include "embedded/apiserver/managers.hpp"
#include "embedded/apiserver/metadata_rules.hpp"
#include "embedded/apiserver/respond.hpp"
#include "embedded/apiserver/write.hpp"
#include "kube/field_error.hpp"
#include "kube/json.hpp"
#include "kube/patch.hpp"
#include "kube/strategic_patch.hpp"
#include "kube/text.hpp"
#include "kube/validate.hpp"
#include "kube/wrap_integers.hpp"
#include "kube/yaml.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kCustomPatchTypes =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
constexpr std::size_t kOperationLimit = 10'000;

enum class PatchType : std::uint8_t { Json, Merge, Strategic, Apply };

StatusResult<PatchType> patch_type(const Call& call) {
  const std::string type = media_type(call.request.header("content-type"));
  if (type == "application/json-patch+json") {
    return PatchType::Json;
  }
  if (type == "application/merge-patch+json") {
    return PatchType::Merge;
  }
  if (type == "application/apply-patch+yaml") {
    return PatchType::Apply;
  }
  if (type == "application/strategic-merge-patch+json") {
    if (call.resource->is_custom) {
      return status::unsupported_media_type(kCustomPatchTypes);
    }
    return PatchType::Strategic;
  }
  return call.resource->is_custom ? status::unsupported_media_type(kCustomPatchTypes)
                                  : status::unsupported_patch_type();
}

StatusResult<Document> parse_patch(const Call& call, PatchType type, FieldValidation validation) {
  Document document;
  if (const auto* value = std::get_if<Value>(&call.request.body)) {
    document.value = *value;
  } else {
    const std::string& text = std::get<std::string>(call.request.body);
    if (text.size() > kBodyLimit) {
      return status::too_large(fmt::format("limit is {}", kBodyLimit));
    }
    auto parsed = json::parse(text, {.duplicates = &document.duplicates});
    if (!parsed.ok()) {
      return status::bad_request("error decoding patch: " + parsed.error().message);
    }
    document.value = *std::move(parsed);
  }
  const Value& value = document.value;
  if (type == PatchType::Json) {
    if (!value.is_list()) {
      return status::bad_request(
          fmt::format("error decoding patch: json: cannot unmarshal {} into Go value of type "
                      "[]handlers.jsonPatchOp",
                      value.is_object() ? "object" : "value"));
    }
    if (value.size() > kOperationLimit) {
      return status::too_large(
          fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                      kOperationLimit, value.size()));
    }
  } else if (!value.is_object() && !(type == PatchType::Merge && value.is_list() &&
                                     validation == FieldValidation::Ignore)) {
    return status::bad_request(
        "error decoding patch: json: cannot unmarshal the patch into Go value of type "
        "map[string]interface {}");
  }
  return document;
}

StatusError nameless(const Call& call) {
  return status::bad_request(fmt::format(
      "the name of the object ({} based on URL) was undeterminable: name must be provided",
      call.path.name));
}

// 422 of a patch whose result is no object of the kind.
StatusError undecodable(const Value& patch, std::string_view why) {
  return status::invalid({.name = "", .group = ""}, "",
                         {FieldError::invalid("patch", Value(json::print(patch)), why)});
}

StatusResult<Value> merge(const Call& call, PatchType type, const Value& live, const Value& patch) {
  if (type == PatchType::Merge) {
    return apply_merge_patch(live, patch);
  }
  Result<Value> merged = type == PatchType::Json
                             ? apply_json_patch(live, patch)
                             : apply_strategic_patch(live, patch, call.resource->schema);
  if (!merged.ok()) {
    const Error& error = merged.error();
    if (type == PatchType::Json && error.code != 400) {
      return status::unprocessable();
    }
    return status::of(error);
  }
  return *std::move(merged);
}

// What else is wrong with a custom object that a patch gave another type.
StatusResult<void> check_all_the_same(const ResourceInfo& resource, const Value& live, Value object,
                                      std::vector<FieldError>& errors) {
  object.set("kind", live["kind"]);
  object.set("apiVersion", live["apiVersion"]);
  ATHANOR_TRY(const Value normal, normalize_changed(resource, live, object));
  std::vector<std::string> warnings;  // of an object that is refused anyway
  std::vector<FieldError> more = validate_metadata_update(resource, normal, live, warnings);
  if (resource.schema != nullptr) {
    const std::vector<FieldError> broken =
        validate(normal, *resource.schema, {.old_object = &live, .path = {}});
    more.insert(more.end(), broken.begin(), broken.end());
  }
  errors.insert(errors.end(), more.begin(), more.end());
  return {};
}

// What a patch made of the type of a custom object.
StatusResult<void> check_custom_type(const ResourceInfo& resource, const Value& live,
                                     const Value& object) {
  std::vector<FieldError> errors;
  const Value& kind = object["kind"];
  const Value& version = object["apiVersion"];
  if (!kind.is_string() || !version.is_string()) {
    return {};  // no object at all
  }
  if (kind.as_string() != resource.kind) {
    errors.push_back(FieldError::invalid("kind", kind, "must be " + resource.kind));
  }
  if (version.as_string() != resource.api_version()) {
    errors.push_back(
        FieldError::invalid("apiVersion", version, "must be " + resource.api_version()));
  }
  if (errors.empty()) {
    return {};
  }
  if (auto seen = check_all_the_same(resource, live, object, errors); !seen.ok()) {
    return undecodable(object, seen.error().message);
  }
  const std::string_view given = version.as_string();
  const std::size_t slash = given.find('/');
  return status::invalid({.name = kind.as_string(),
                          .group = slash == std::string_view::npos ? "" : given.substr(0, slash)},
                         object["metadata"]["name"].as_string(), errors);
}

StatusResult<Response> apply_plain(Call& call, PatchType type, const WriteOptions& options) {
  ATHANOR_TRY(const Document document, parse_patch(call, type, options.validation));
  const ResourceInfo& resource = *call.resource;
  UpdateInput input;
  input.subresource = call.path.subresource;
  input.options_kind = "PatchOptions";
  input.from_patch = true;
  input.normal = true;
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(Value merged, merge(call, type, live, document.value));
    if (type == PatchType::Strategic) {
      // Merged as the type it is: what the patch calls it does not matter.
      for (const std::string_view field : {"kind", "apiVersion"}) {
        if (merged[field] != live[field]) {
          merged.set(field, live[field]);
        }
      }
      merged = wrap_integers(merged, resource.schema);
    }
    if (merged.identical(live)) {
      return merged;
    }
    if (!merged.is_object()) {
      return undecodable(document.value,
                         fmt::format("{} in version \"{}\" cannot be handled as a {}: it is no "
                                     "object",
                                     resource.kind, resource.version, resource.kind));
    }
    if (resource.is_custom) {
      ATHANOR_TRY_VOID(check_custom_type(resource, live, merged));
    }
    if (merged["kind"] != live["kind"] || merged["apiVersion"] != live["apiVersion"]) {
      return undecodable(document.value, "the kind and apiVersion of an object cannot change");
    }
    FieldIssues issues;
    issues.duplicates = &document.duplicates;
    auto normal = normalize_changed(resource, live, merged, &issues);
    if (!normal.ok()) {
      return undecodable(document.value, normal.error().message);
    }
    if (options.validation == FieldValidation::Strict && !issues.texts.empty()) {
      return undecodable(document.value,
                         fmt::format("strict decoding error: {}", fmt::join(issues.texts, ", ")));
    }
    ATHANOR_TRY_VOID(
        report_issues(call, options.validation, issues, resource.kind, resource.version));
    if ((*normal)["metadata"]["name"].as_string().empty()) {
      return nameless(call);
    }
    return normal;
  };
  ATHANOR_TRY(Written written, update_object(call, options, input));
  return written_response(call, std::move(written));
}

std::string apply_kind(const Value& config) {
  const std::string_view version = config["apiVersion"].as_string();
  const std::string_view kind = config["kind"].as_string();
  return version.find('/') == std::string_view::npos ? fmt::format("/{}, Kind={}", version, kind)
                                                     : fmt::format("{}, Kind={}", version, kind);
}

StatusResult<Document> parse_config(Call& call, const WriteOptions& options) {
  Document document;
  if (const auto* value = std::get_if<Value>(&call.request.body)) {
    document.value = *value;
  } else {
    const std::string& text = std::get<std::string>(call.request.body);
    if (text.size() > kBodyLimit) {
      return status::too_large(fmt::format("limit is {}", kBodyLimit));
    }
    auto parsed = json::parse(text, {.duplicates = &document.duplicates});
    if (!parsed.ok()) {
      document.duplicates.clear();
      parsed = yaml::parse(text, {.duplicates = &document.duplicates});
    }
    if (!parsed.ok()) {
      return status::bad_request("error decoding YAML: " + parsed.error().message);
    }
    document.value = *std::move(parsed);
  }
  if (!document.duplicates.empty()) {
    if (options.validation == FieldValidation::Strict) {
      return status::bad_request(fmt::format("error strict decoding YAML: key {} already set",
                                             go_quote(document.duplicates.front())));
    }
    for (const std::string& path : document.duplicates) {
      call.warnings.push_back(fmt::format("duplicate field \"{}\"", path));
    }
  }
  return document;
}

StatusResult<void> check_config(const Call& call, const Value& config) {
  const ResourceInfo& resource = *call.resource;
  if (config["apiVersion"].as_string() != resource.api_version() ||
      config["kind"].as_string() != resource.kind) {
    return status::bad_request("invalid object type: " + apply_kind(config));
  }
  if (!config["metadata"]["managedFields"].empty()) {
    return status::bad_request("metadata.managedFields must be nil");
  }
  return {};
}

// After the types: the name and the namespace of the outcome are those of the URL.
StatusResult<void> check_place(const Call& call, const Value& applied) {
  const Value& metadata = applied["metadata"];
  const std::string_view name = metadata["name"].as_string();
  if (name.empty()) {
    return nameless(call);
  }
  if (name != call.path.name) {
    return status::bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    call.path.name));
  }
  const std::string_view ns = metadata["namespace"].as_string();
  if (call.resource->namespaced && !ns.empty() && ns != call.path.ns) {
    return status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

StatusError apply_refused(const ApplyError& refused) {
  StatusError error = status::of(refused.error);
  if (!refused.conflicts.empty()) {
    error.details.emplace();
    for (const ApplyConflict& conflict : refused.conflicts) {
      error.details->causes.push_back(
          {.reason = "FieldManagerConflict", .message = conflict.message, .field = conflict.field});
    }
  }
  return error;
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
  ATHANOR_TRY_VOID(check_place(call, *applied));
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
  if (const std::string_view uid = config["metadata"]["uid"].as_string(); !uid.empty()) {
    return status::conflict(call.qualified_resource(), call.path.name,
                            fmt::format("uid mismatch: the provided object specified uid {}, and "
                                        "no existing object was found",
                                        uid));
  }
  ATHANOR_TRY(Value object, converted(call, applied));
  ATHANOR_TRY(Written written,
              create_object(call, options, {.object = std::move(object), .tracked = true}));
  if (options.dry_run && !revision.as_string().empty()) {
    written.object.member("metadata").set("resourceVersion", revision);  // nothing replaced it
  }
  return written;
}

StatusResult<Response> apply_server_side(Call& call, const WriteOptions& options) {
  ATHANOR_TRY(const Document document, parse_config(call, options));
  const Value& config = document.value;
  ATHANOR_TRY_VOID(check_config(call, config));
  UpdateInput input;
  input.subresource = call.path.subresource;
  input.options_kind = "PatchOptions";
  input.from_patch = true;
  input.tracked = true;
  input.normal = true;
  input.transform = [&](const Value& live) -> StatusResult<Value> {
    ATHANOR_TRY(Value applied, apply_to(call, options, live, config));
    const std::string_view wanted = config["metadata"]["resourceVersion"].as_string();
    if (!wanted.empty() && wanted != live["metadata"]["resourceVersion"].as_string()) {
      return status::modified(call.qualified_resource(), call.path.name);
    }
    return applied.identical(live) ? StatusResult<Value>(applied) : converted(call, applied);
  };
  auto written = update_object(call, options, input);
  if (!written.ok() && written.error().code == 404 && call.path.subresource.empty()) {
    written = apply_new(call, options, config);
    if (!written.ok() && written.error().reason == "AlreadyExists") {
      written = update_object(call, options, input);  // somebody was faster
    }
  }
  if (!written.ok()) {
    return std::move(written).error();
  }
  return written_response(call, *std::move(written));
}

}  // namespace

StatusResult<Response> handle_patch(Call& call) {
  ATHANOR_TRY(const PatchType type, patch_type(call));
  ATHANOR_TRY(const WriteOptions options,
              read_write_options(call.request, "PatchOptions", type == PatchType::Apply));
  return type == PatchType::Apply ? apply_server_side(call, options)
                                  : apply_plain(call, type, options);
}

}  // namespace athanor::apiserver
