// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/selectable_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMostFields = 8;

// The place that a path names in a schema, or why it names none.
struct Found {
  const Value* schema = nullptr;
  std::string error{};
};

Found find_field(std::string_view path, const Value& root) {
  Found found{.schema = &root};
  while (!path.empty()) {
    if (path.front() == '[') {
      return {.error = "array notation is not allowed"};
    }
    if (path.front() != '.') {
      return {.error = fmt::format("expected [ or . but got: {}",
                                   path.substr(0, path.find_first_of(".[")))};
    }
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, std::min(path.find_first_of(".["), path.size()));
    if (name.empty()) {
      return {.error = "unexpected end of JSON path"};
    }
    const Value* below = (*found.schema)["properties"].find(name);
    if (below == nullptr) {
      below = found.schema->find("additionalProperties");
    }
    if (below == nullptr || !below->is_object()) {
      return {.error = "does not refer to a valid field"};
    }
    found.schema = below;
    path.remove_prefix(name.size());
  }
  return found;
}

void check_fields(const Value& fields, const Value& schema, const std::string& path,
                  std::vector<FieldError>& errors) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Value& field = fields[i]["jsonPath"];
    const std::string here = fmt::format("{}[{}].jsonPath", path, i);
    if (field.as_string().empty()) {
      errors.push_back(FieldError::required(here));
      continue;
    }
    const Found found = find_field(field.as_string(), schema);
    if (!found.error.empty()) {
      errors.push_back(
          FieldError::invalid(here, field, fmt::format("is an invalid path: {}", found.error)));
      continue;
    }
    if (field.as_string().starts_with(".metadata.")) {
      errors.push_back(FieldError::invalid(here, field, "must not point to fields in metadata"));
    }
    const std::string_view type = (*found.schema)["type"].as_string();
    if (type != "string" && type != "boolean" && type != "integer") {
      errors.push_back(
          FieldError::invalid(here, field,
                              "must point to a field of type string, boolean or integer. Enum "
                              "string fields and strings with formats are allowed."));
    }
    if (!seen.insert(field.as_string()).second) {
      errors.push_back(FieldError::duplicate(here, field));
    }
  }
  if (seen.size() > kMostFields) {
    errors.push_back(FieldError::too_many(path, static_cast<std::int64_t>(seen.size()),
                                          static_cast<std::int64_t>(kMostFields)));
  }
}

// Whether the member is the same in all versions.
bool is_common(const Value& versions, std::string_view member) {
  const auto items = versions.items();
  return std::ranges::all_of(items, [&](const Value& version) {
    const Value& here = version[member];
    const Value& first = versions[0][member];
    return here == first || (here.empty() && first.empty());
  });
}

}  // namespace

std::vector<FieldError> check_selectable_fields(const Value& versions) {
  std::vector<FieldError> errors;
  const bool one_schema = is_common(versions, "schema");
  if (is_common(versions, "selectableFields")) {
    const Value& fields = versions[0]["selectableFields"];
    if (!fields.empty() && !one_schema) {
      errors.push_back(FieldError::invalid("spec.selectableFields", Value(""),
                                           "may only be set when validations.schema is included"));
    } else {
      check_fields(fields, versions[0]["schema"]["openAPIV3Schema"], "spec.selectableFields",
                   errors);
    }
    return errors;
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value& fields = versions[i]["selectableFields"];
    const std::string path = fmt::format("spec.versions[{}].selectableFields", i);
    if (!fields.empty() && one_schema) {
      errors.push_back(FieldError::invalid(
          path, Value(""),
          "may only be set when `version.schema.openAPIV3Schema` is not included"));
    } else {
      check_fields(fields, versions[i]["schema"]["openAPIV3Schema"], path, errors);
    }
  }
  return errors;
}

}  // namespace athanor::apiserver
