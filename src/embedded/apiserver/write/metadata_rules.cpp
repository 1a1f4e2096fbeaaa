// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/metadata_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kube/names/metadata_checks.hpp"
#include "kube/names/names.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kMetadata = "metadata";

// By the rule of a kind; a prefix is checked as the name it could become.
NameError check_object_name(NameRule rule, std::string_view text, bool is_prefix) {
  const std::string name = is_prefix ? masked_generate_name(text) : std::string(text);
  switch (rule) {
    case NameRule::Subdomain:
      return validate_dns1123_subdomain(name);
    case NameRule::Label:
      return validate_dns1123_label(name);
    case NameRule::Label1035:
      return validate_dns1035_label(name);
    case NameRule::NamespaceName:
      return name.find('.') != std::string::npos ? NameError("must not contain dots")
                                                 : validate_dns1123_label(name);
    case NameRule::PathSegment:
      return validate_path_segment(name);
  }
  return std::nullopt;
}

bool is_standard_finalizer(std::string_view name) {
  return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
}

// Kinds whose rules let any qualified name pass for a finalizer.
bool takes_any_finalizer(const ResourceInfo& resource, std::string_view subresource) {
  return resource.group == "admissionregistration.k8s.io" ||
         (resource.storage == "events" && resource.group.empty()) ||
         resource.storage == "poddisruptionbudgets.policy" ||
         resource.storage == "leases.coordination.k8s.io" ||
         resource.storage == "runtimeclasses.node.k8s.io" ||
         (resource.storage == "cronjobs.batch" && subresource == "status");
}

void check_finalizers(const ResourceInfo& resource, const Value& finalizers,
                      std::string_view subresource, std::vector<FieldError>& errors) {
  constexpr std::string_view kField = "metadata.finalizers";
  const auto items = finalizers.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view name = items[i].as_string();
    for (const std::string& broken : qualified_name_errors(name)) {
      errors.push_back(FieldError::invalid(kField, Value(name), broken));
    }
    if (name.find('/') != std::string_view::npos || is_standard_finalizer(name)) {
      continue;
    }
    if (!resource.is_custom && !takes_any_finalizer(resource, subresource)) {
      errors.push_back(
          FieldError::invalid(fmt::format("{}[{}]", kField, i), Value(name),
                              "name is neither a standard finalizer name nor is it fully "
                              "qualified"));
    }
  }
  check_deletion_finalizers(kMetadata, finalizers, errors);
}

std::unordered_set<std::string_view> texts_of(const Value& list) {
  std::unordered_set<std::string_view> texts;
  for (const Value& item : list.items()) {
    texts.insert(item.as_string());
  }
  return texts;
}

// Those of custom objects that are new, by name.
void warn_of_finalizers(const ResourceInfo& resource, const Value& now, const Value& before,
                        std::vector<std::string>& warnings) {
  if (!resource.is_custom) {
    return;
  }
  const std::unordered_set<std::string_view> old = texts_of(before);
  std::set<std::string_view> added;
  for (const Value& finalizer : now.items()) {
    if (!old.contains(finalizer.as_string())) {
      added.insert(finalizer.as_string());
    }
  }
  for (const std::string_view name : added) {
    if (name.find('/') == std::string_view::npos && !is_standard_finalizer(name)) {
      warnings.push_back(fmt::format(
          "metadata.finalizers: \"{}\": prefer a domain-qualified finalizer name{} to avoid "
          "accidental conflicts with other finalizer writers",
          name, name.find('.') == std::string_view::npos ? "" : " including a path (/)"));
    }
  }
}

void check_names(const ResourceInfo& resource, const Value& metadata,
                 std::vector<FieldError>& errors) {
  const Value& name = metadata["name"];
  const Value& prefix = metadata["generateName"];
  if (!prefix.as_string().empty()) {
    if (const NameError broken = check_object_name(resource.name_rule, prefix.as_string(), true)) {
      errors.push_back(FieldError::invalid("metadata.generateName", prefix, *broken));
    }
  }
  if (name.as_string().empty()) {
    errors.push_back(FieldError::required("metadata.name", "name or generateName is required"));
    return;
  }
  if (NameError broken = check_object_name(resource.name_rule, name.as_string(), false)) {
    constexpr std::string_view kCharacters = "characters";
    if (resource.storage == "replicationcontrollers" && broken->ends_with(kCharacters)) {
      // Their rules are declared, and count otherwise.
      broken->replace(broken->size() - kCharacters.size(), kCharacters.size(), "bytes");
    }
    errors.push_back(FieldError::invalid("metadata.name", name, *broken));
  }
}

// The finalizers that only the new object has, as Go prints a slice of strings.
std::string added_finalizers(const Value& now, const Value& before) {
  const std::unordered_set<std::string_view> old = texts_of(before);
  std::string added;
  for (const Value& finalizer : now.items()) {
    if (!old.contains(finalizer.as_string())) {
      added += added.empty() ? "" : ", ";
      added += go_quote(finalizer.as_string());
    }
  }
  return added;
}

void check_immutable(std::string_view field, const Value& now, const Value& before,
                     std::vector<FieldError>& errors) {
  if (now != before) {
    errors.push_back(
        FieldError::invalid(fmt::format("metadata.{}", field), now, "field is immutable"));
  }
}

}  // namespace

std::vector<FieldError> validate_metadata(const ResourceInfo& resource, const Value& object,
                                          std::vector<std::string>& warnings) {
  std::vector<FieldError> errors;
  const Value& metadata = object["metadata"];
  check_names(resource, metadata, errors);
  check_labels(kMetadata, metadata["labels"], errors);
  check_annotations(kMetadata, metadata["annotations"], errors);
  check_owners(kMetadata, metadata["ownerReferences"], errors);
  check_finalizers(resource, metadata["finalizers"], {}, errors);
  warn_of_finalizers(resource, metadata["finalizers"], Value(), warnings);
  return errors;
}

std::vector<FieldError> validate_metadata_update(const ResourceInfo& resource, const Value& object,
                                                 const Value& old_object,
                                                 std::vector<std::string>& warnings,
                                                 std::string_view subresource) {
  std::vector<FieldError> errors;
  const Value& now = object["metadata"];
  const Value& before = old_object["metadata"];
  // Events of the newer group are checked whole: the older takes any finalizer.
  const bool whole = resource.group == "events.k8s.io";
  if (now.identical(before) && !whole) {
    return errors;
  }
  const auto changed = [&](std::string_view field) {
    return !now[field].identical(before[field]) && now[field] != before[field];
  };
  check_immutable("uid", now["uid"], before["uid"], errors);
  check_immutable("deletionTimestamp", now["deletionTimestamp"], before["deletionTimestamp"],
                  errors);
  check_immutable("deletionGracePeriodSeconds", now["deletionGracePeriodSeconds"],
                  before["deletionGracePeriodSeconds"], errors);
  if (changed("labels")) {
    check_labels(kMetadata, now["labels"], errors);
  }
  if (changed("annotations")) {
    check_annotations(kMetadata, now["annotations"], errors);
  }
  if (changed("ownerReferences")) {
    check_owners(kMetadata, now["ownerReferences"], errors);
  }
  if (changed("finalizers") || whole) {
    check_finalizers(resource, now["finalizers"], subresource, errors);
    warn_of_finalizers(resource, now["finalizers"], before["finalizers"], warnings);
  }
  if (changed("finalizers")) {
    if (before.contains("deletionTimestamp")) {
      if (const std::string added = added_finalizers(now["finalizers"], before["finalizers"]);
          !added.empty()) {
        errors.push_back(FieldError::forbidden(
            "metadata.finalizers",
            fmt::format("no new finalizers can be added if the object is being deleted, found new "
                        "finalizers []string{{{}}}",
                        added)));
      }
    }
  }
  return errors;
}

void drop_repeated_owners(Value& object, std::vector<std::string>& warnings) {
  const Value owners = object["metadata"]["ownerReferences"];
  std::vector<Value> kept;
  std::string repeated;
  // By what equal ones have in common: what else they say differs in a few ways only.
  std::unordered_map<std::string, std::vector<Value>> seen;
  for (const Value& owner : owners.items()) {
    std::vector<Value>& alike =
        seen[fmt::format("{}\n{}\n{}\n{}", owner["uid"].as_string(), owner["name"].as_string(),
                         owner["kind"].as_string(), owner["apiVersion"].as_string())];
    if (std::ranges::find(alike, owner) == alike.end()) {
      alike.push_back(owner);
      kept.push_back(owner);
    } else {
      repeated += (repeated.empty() ? "" : ", ") + owner["uid"].str();
    }
  }
  if (kept.size() == owners.size()) {
    return;
  }
  object.member("metadata").set("ownerReferences", Value::list(std::move(kept)));
  warnings.push_back(fmt::format(
      ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in "
      "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate "
      "UID(s) observed: {}",
      repeated));
}

}  // namespace athanor::apiserver
