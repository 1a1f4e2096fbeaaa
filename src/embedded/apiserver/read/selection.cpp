// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kube/names/names.hpp"

namespace athanor::apiserver {
namespace {

// Labels whose path in the object is another one.
struct Alias {
  std::string_view label{};
  std::string_view path{};
};
constexpr std::array kAliases = {Alias{"spec.host", "spec.nodeName"},
                                 Alias{"status.successful", "status.succeeded"},
                                 Alias{"source", "source.component"}};

// Fields whose unset value is not the empty text.
constexpr std::array<std::string_view, 2> kBooleans = {"spec.unschedulable", "spec.hostNetwork"};
constexpr std::array<std::string_view, 2> kNumbers = {"status.successful", "status.replicas"};

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    if (end > 0) {
      parts.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

StatusError unknown_field(std::string_view label, const ResourceInfo& resource) {
  if (resource.is_custom) {
    return status::bad_request(fmt::format("field label not supported: {}", label));
  }
  if (resource.plural == "jobs") {
    return status::bad_request(fmt::format("field label \"{}\" not supported for Job", label));
  }
  if (resource.plural == "resourceslices") {
    return status::bad_request(fmt::format("field label not supported for {}, Kind={}: {}",
                                           resource.api_version(), resource.kind, label));
  }
  if (!resource.selectable_fields.empty()) {
    return status::bad_request(fmt::format("field label not supported: {}", label));
  }
  return status::bad_request(
      fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", "
                  "\"metadata.namespace\"",
                  label));
}

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string text_of_field(const Value& value) {
  switch (value.type()) {
    case Value::Type::String:
      return value.str();
    case Value::Type::Bool:
      return value.as_bool() ? "true" : "false";
    case Value::Type::Int:
    case Value::Type::Uint:
      return std::to_string(value.as_int());
    default:
      return {};
  }
}

}  // namespace

StatusResult<void> Selection::check_syntax(const Request& request) {
  if (const auto text = request.parameter("labelSelector"); text && !text->empty()) {
    if (const auto labels = LabelSelector::parse(*text); !labels.ok()) {
      return status::bad_request(labels.error().message);
    }
  }
  if (const auto text = request.parameter("fieldSelector"); text && !text->empty()) {
    if (const auto fields = parse_field_selector(*text); !fields.ok()) {
      return status::bad_request(fields.error().message);
    }
  }
  return {};
}

StatusResult<Selection> Selection::read(const Request& request, const ResourceInfo& resource) {
  Selection selection;
  if (const auto text = request.parameter("labelSelector"); text && !text->empty()) {
    auto labels = LabelSelector::parse(*text);
    if (!labels.ok()) {
      return status::bad_request(labels.error().message);
    }
    selection.labels_ = *std::move(labels);
  }
  const auto text = request.parameter("fieldSelector");
  if (!text || text->empty()) {
    return selection;
  }
  auto requirements = parse_field_selector(*text);
  if (!requirements.ok()) {
    return status::bad_request(requirements.error().message);
  }
  for (FieldRequirement& requirement : *requirements) {
    const bool has_namespace =
        resource.namespaced ||
        (!resource.is_custom && resource.storage != "namespaces" && resource.storage != "nodes" &&
         resource.storage != "resourceslices.resource.k8s.io");
    const bool generic = requirement.field == "metadata.name" ||
                         (requirement.field == "metadata.namespace" && has_namespace);
    if (!generic && !contains(resource.selectable_fields, requirement.field)) {
      return unknown_field(requirement.field, resource);
    }
    FieldTest test;
    test.label = std::move(requirement.field);
    test.equal = requirement.equal;
    test.value = std::move(requirement.value);
    test.built_in = !resource.is_custom;
    std::string_view path = test.label;
    for (const Alias& alias : kAliases) {
      if (test.built_in && alias.label == test.label) {
        path = alias.path;
      }
    }
    test.path = split_path(path);
    selection.fields_.push_back(std::move(test));
  }
  return selection;
}

const std::string* Selection::required(std::string_view label) const {
  const auto found = std::ranges::find_if(
      fields_, [&](const FieldTest& test) { return test.label == label && test.equal; });
  return found == fields_.end() ? nullptr : &found->value;
}

const std::string* Selection::only_name() const {
  const std::string* name = required("metadata.name");
  return name != nullptr && !name->empty() && !validate_path_segment(*name) ? name : nullptr;
}

const std::string* Selection::only_namespace() const {
  const std::string* ns = required("metadata.namespace");
  return ns != nullptr && !validate_dns1123_label(*ns) ? ns : nullptr;
}

bool Selection::may_match(const Key& key) const {
  for (const FieldTest& test : fields_) {
    if (test.label == "metadata.name" && (key.name == test.value) != test.equal) {
      return false;
    }
    if (test.label == "metadata.namespace" && (key.ns == test.value) != test.equal) {
      return false;
    }
  }
  return true;
}

bool Selection::matches(const Value& object) const {
  return (labels_.empty() || labels_.matches(object["metadata"]["labels"])) && fields_match(object);
}

std::uint32_t Selection::matches(std::span<const store::StoredPtr> objects) const {
  std::array<const Value*, kBlock> parts{};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    parts[i] = &objects[i]->body["metadata"];
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    parts[i] = &(*parts[i])["labels"];
  }
  std::uint32_t matched = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if ((labels_.empty() || labels_.matches(*parts[i])) && fields_match(objects[i]->body)) {
      matched |= std::uint32_t{1} << i;
    }
  }
  return matched;
}

bool Selection::fields_match(const Value& object) const {
  for (const FieldTest& test : fields_) {
    const Value& found = object.at(std::span<const std::string>(test.path));
    std::string text = text_of_field(found);
    if (test.built_in && found.is_null()) {
      if (contains(kBooleans, test.label)) {
        text = "false";
      } else if (contains(kNumbers, test.label)) {
        text = "0";
      } else if (test.label == "source") {
        text = text_of_field(object["reportingComponent"]);  // of events of the newer form
      }
    } else if (test.label == "status.podIPs" && found.is_list()) {
      text = found[0]["ip"].str();
    }
    if ((text == test.value) != test.equal) {
      return false;
    }
  }
  return true;
}

}  // namespace athanor::apiserver
