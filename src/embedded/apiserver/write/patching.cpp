// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/patching.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "embedded/apiserver/request/negotiate.hpp"
#include "embedded/apiserver/write/metadata_rules.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "kube/apply/patch.hpp"
#include "kube/apply/strategic_patch.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/wrap_integers.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/whole_numbers.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kCustomPatchTypes =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
constexpr std::size_t kOperationLimit = 10'000;

StatusError nameless(const Call& call) {
  return status::bad_request(fmt::format(
      "the name of the object ({} based on URL) was undeterminable: name must be provided",
      call.path.name));
}

// The body as it came in a value, or as `parse` reads its text.
template <typename Parse>
StatusResult<Document> body_of(const Call& call, const Parse& parse) {
  Document document;
  if (const auto* value = std::get_if<Value>(&call.request.body)) {
    document.value = *value;
    return document;
  }
  const std::string& text = std::get<std::string>(call.request.body);
  if (text.size() > kBodyLimit) {
    return status::too_large(fmt::format("limit is {}", kBodyLimit));
  }
  ATHANOR_TRY(document.value, parse(text, document));
  return document;
}

// 422 of a patch whose result is no object of the kind.
StatusError undecodable(std::string_view text, std::string_view why) {
  return status::invalid({.name = "", .group = ""}, "",
                         {FieldError::invalid("patch", Value(text), why)});
}

std::string in_go(const Value& value) {
  if (value.is_list()) {
    std::vector<std::string> items;
    for (const Value& item : value.items()) {
      items.push_back(in_go(item));
    }
    return fmt::format("[{}]", fmt::join(items, " "));
  }
  if (value.is_object()) {
    std::map<std::string_view, std::string> members;
    for (const Member& member : value.members()) {
      members.emplace(member.key(), in_go(member.value));
    }
    std::string text;
    for (const auto& [key, member] : members) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", key, member);
    }
    return "map[" + text + "]";
  }
  return value.is_null() ? "<nil>" : value.is_string() ? value.str() : json::print(value);
}

// What a patch touched has its members by name; the rest as it was.
Value ordered(const Value& before, const Value& now) {
  if (!now.is_object() || !before.is_object() || now.identical(before)) {
    return now;
  }
  std::vector<Member> members;
  for (const Member& member : now.members()) {
    members.emplace_back(member.name, ordered(before[member.key()], member.value));
  }
  std::ranges::sort(members, {}, &Member::key);
  return Value::object(std::move(members));
}

// Prints a patched object as a refusal shows it.
std::string shown_object(const Value& live, const Value& merged) {
  return json::print(ordered(live, merged));
}

StatusResult<Value> merge(const ResourceInfo& resource, PatchType type, const Value& live,
                          const Value& patch) {
  if (type == PatchType::Merge) {
    return apply_merge_patch(live, patch);
  }
  Result<Value> merged = type == PatchType::Json
                             ? apply_json_patch(live, patch)
                             : apply_strategic_patch(live, patch, resource.schema);
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
StatusResult<void> check_all_the_same(Call& call, const Value& live, Value object,
                                      std::vector<FieldError>& errors) {
  const ResourceInfo& resource = *call.resource;
  object.set("kind", live["kind"]);
  object.set("apiVersion", live["apiVersion"]);
  ATHANOR_TRY(const Value normal, normalize_changed(resource, live, object));
  std::vector<std::string> warnings;  // of an object that is refused anyway
  std::vector<FieldError> more = validate_metadata_update(resource, normal, live, warnings);
  std::ranges::move(more, std::back_inserter(errors));
  std::ranges::move(errors_of_any_type(call, normal, live), std::back_inserter(errors));
  return {};
}

// What a patch made of the type of a custom object.
StatusResult<void> check_custom_type(Call& call, const Value& live, const Value& object) {
  const ResourceInfo& resource = *call.resource;
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
  ATHANOR_TRY_VOID(check_version(call, object["metadata"]["resourceVersion"].as_string(), live));
  if (auto seen = check_all_the_same(call, live, object, errors); !seen.ok()) {
    return undecodable(shown_object(live, object), seen.error().message);
  }
  const std::string_view given = version.as_string();
  const std::size_t slash = given.find('/');
  return status::invalid({.name = kind.as_string(),
                          .group = slash == std::string_view::npos ? "" : given.substr(0, slash)},
                         object["metadata"]["name"].as_string(), errors);
}

}  // namespace

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
  ATHANOR_TRY(Document document,
              body_of(call, [](const std::string& text, Document& into) -> StatusResult<Value> {
                auto parsed = json::parse(text, {.duplicates = &into.duplicates});
                if (!parsed.ok()) {
                  return status::bad_request("error decoding patch: " + parsed.error().message);
                }
                return *std::move(parsed);
              }));
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

StatusResult<Document> parse_config(Call& call, const WriteOptions& options) {
  ATHANOR_TRY(Document document,
              body_of(call, [](const std::string& text, Document& into) -> StatusResult<Value> {
                // JSON is YAML, too; its parser is only the faster one.
                auto parsed = json::parse(text, {.duplicates = &into.duplicates});
                if (!parsed.ok() || !into.duplicates.empty()) {
                  parsed = yaml::parse(text, {.repeated_keys = &into.repeated_keys});
                }
                if (!parsed.ok()) {
                  return status::bad_request("error decoding YAML: " + parsed.error().message);
                }
                return whole_doubles_as_integers(*parsed);  // as one who reads YAML
              }));
  if (!document.repeated_keys.empty() && options.validation == FieldValidation::Strict) {
    return status::bad_request(
        fmt::format("error strict decoding YAML: error converting YAML to JSON: {}",
                    repeated_keys_error(document)));
  }
  if (options.validation == FieldValidation::Warn) {
    for (const std::string& text : document.repeated_keys) {
      call.warnings.push_back("yaml: " + text);
    }
  }
  return document;
}

StatusResult<void> check_version(const Call& call, std::string_view wanted, const Value& live) {
  if (wanted.empty() || wanted == "0" ||
      wanted == live["metadata"]["resourceVersion"].as_string()) {
    return {};
  }
  if (wanted.find_first_not_of("0123456789") != std::string_view::npos) {
    return status::bad_request(fmt::format("invalid resource version: {}", wanted));
  }
  return status::modified(call.qualified_resource(), call.path.name);
}

StatusResult<Value> patched(Call& call, const WriteOptions& options, const ResourceInfo& resource,
                            const Patch& patch, const Value& live) {
  const Document& document = patch.document;
  ATHANOR_TRY(Value merged, merge(resource, patch.type, live, document.value));
  const bool custom_status = resource.is_custom && call.path.subresource == "status";
  if ((patch.type == PatchType::Strategic || custom_status) && merged.is_object()) {
    // Merged as the type it is: what the patch calls it does not matter.
    for (const std::string_view field : {"kind", "apiVersion"}) {
      if (merged[field] != live[field]) {
        merged.set(field, live[field]);
      }
    }
  }
  if (patch.type == PatchType::Strategic) {
    merged = wrap_integers(merged, resource.schema);
  }
  if (merged.identical(live) || (is_trusted(call) && resource.is_custom && merged.is_object())) {
    return merged;
  }
  const auto refused = [&](std::string_view why) {
    return undecodable(
        patch.type == PatchType::Strategic ? in_go(document.value) : shown_object(live, merged),
        why);
  };
  if (!merged.is_object()) {
    return refused(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: it is no "
                    "object",
                    resource.kind, resource.version, resource.kind));
  }
  if (resource.is_custom) {
    ATHANOR_TRY_VOID(check_custom_type(call, live, merged));
  }
  if (merged["kind"] != live["kind"] || merged["apiVersion"] != live["apiVersion"]) {
    return refused("the kind and apiVersion of an object cannot change");
  }
  FieldIssues issues;
  issues.duplicates = &document.duplicates;
  auto normal = normalize_changed(resource, live, merged, &issues);
  if (!normal.ok()) {
    return refused(normal.error().message);
  }
  if (options.validation == FieldValidation::Strict && !issues.texts.empty()) {
    return refused(fmt::format("strict decoding error: {}", fmt::join(issues.texts, ", ")));
  }
  ATHANOR_TRY_VOID(
      report_issues(call, options.validation, issues, resource.kind, resource.version));
  if ((*normal)["metadata"]["name"].as_string().empty()) {
    return nameless(call);
  }
  return normal;
}

std::string apply_kind(const Value& config) {
  const std::string_view version = config["apiVersion"].as_string();
  const std::string_view kind = config["kind"].as_string();
  return version.find('/') == std::string_view::npos ? fmt::format("/{}, Kind={}", version, kind)
                                                     : fmt::format("{}, Kind={}", version, kind);
}

StatusResult<void> check_config(const ResourceInfo& resource, const Value& config) {
  if (config["apiVersion"].as_string() != resource.api_version() ||
      config["kind"].as_string() != resource.kind) {
    return status::bad_request("invalid object type: " + apply_kind(config));
  }
  if (!config["metadata"]["managedFields"].is_null()) {
    return status::bad_request("metadata.managedFields must be nil");
  }
  return {};
}

StatusResult<void> check_place(const Call& call, const Value& object) {
  const Value& metadata = object["metadata"];
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

}  // namespace athanor::apiserver
