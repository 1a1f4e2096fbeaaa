// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_behaviour.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/ascii.hpp"
#include "embedded/apiserver/crd/crd_schemas.hpp"
#include "embedded/apiserver/policies/webhook_validation.hpp"
#include "kube/names/field_error.hpp"
#include "kube/names/names.hpp"
#include "kube/text/formats.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kApproval = "api-approved.kubernetes.io";

bool is_protected_group(std::string_view group) {
  return group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") ||
         group.ends_with(".kubernetes.io");
}

void apply_crd_defaults(Value& crd, const KindContext& /*context*/) {
  const Value& spec = crd["spec"];
  const std::string kind = spec["names"]["kind"].str();
  if (spec["conversion"]["strategy"].as_string().empty()) {
    crd.set_path({"spec", "conversion", "strategy"}, "None");
  }
  const Value service = crd["spec"].at({"conversion", "webhook", "clientConfig", "service"});
  if (service.is_object() && !service.contains("port")) {
    crd.set_path({"spec", "conversion", "webhook", "clientConfig", "service", "port"}, 443);
  }
  if (crd["spec"]["names"]["singular"].as_string().empty()) {
    crd.set_path({"spec", "names", "singular"}, lower(kind));
  }
  if (crd["spec"]["names"]["listKind"].as_string().empty() && !kind.empty()) {
    crd.set_path({"spec", "names", "listKind"}, kind + "List");
  }
}

// The storage version becomes a stored one.
void note_stored_version(Value& crd) {
  const std::string version(storage_version(crd));
  if (version.empty()) {
    return;
  }
  const Value& stored = crd["status"]["storedVersions"];
  const auto items = stored.items();
  if (std::none_of(items.begin(), items.end(),
                   [&](const Value& item) { return item.as_string() == version; })) {
    Value longer = stored.is_list() ? stored : Value::list();
    longer.push_back(version);
    crd.set_path({"status", "storedVersions"}, std::move(longer));
  }
}

void prepare_crd_create(Value& crd, const KindContext& /*context*/) {
  crd.set("status", Value::object({{"conditions", Value()},
                                   {"acceptedNames", Value::object({{"plural", ""}, {"kind", ""}})},
                                   {"storedVersions", Value::list()}}));
  note_stored_version(crd);
}

void prepare_crd_update(Value& crd, const Value& /*old_crd*/, const KindContext& context) {
  if (context.subresource.empty()) {
    note_stored_version(crd);
  }
}

void check_names(const Value& crd, std::vector<FieldError>& errors) {
  const Value& spec = crd["spec"];
  const std::string_view group = spec["group"].as_string();
  const Value& names = spec["names"];
  const std::string expected = fmt::format("{}.{}", names["plural"].as_string(), group);
  if (crd["metadata"]["name"].as_string() != expected) {
    errors.push_back(FieldError::invalid("metadata.name", crd["metadata"]["name"],
                                         "must be spec.names.plural+\".\"+spec.group"));
  }
  if (group.empty()) {
    errors.push_back(FieldError::required("spec.group"));
  } else if (const NameError broken = validate_dns1123_subdomain(group)) {
    errors.push_back(FieldError::invalid("spec.group", spec["group"], *broken));
  } else if (group.find('.') == std::string_view::npos) {
    errors.push_back(FieldError::invalid("spec.group", spec["group"],
                                         "should be a domain with at least one dot"));
  }
  for (const std::string_view field : {"plural", "singular", "kind", "listKind"}) {
    const std::string path = fmt::format("spec.names.{}", field);
    const std::string text = lower(names[field].as_string());
    if (text.empty()) {
      errors.push_back(FieldError::required(path));
    } else if (const NameError broken = validate_dns1035_label(text)) {
      errors.push_back(FieldError::invalid(path, names[field], *broken));
    }
  }
  if (names["kind"].as_string() == names["listKind"].as_string() &&
      !names["kind"].as_string().empty()) {
    errors.push_back(FieldError::invalid("spec.names.listKind", names["listKind"],
                                         "kind and listKind may not be the same"));
  }
}

void check_approval(const Value& crd, std::vector<FieldError>& errors) {
  if (!is_protected_group(crd["spec"]["group"].as_string())) {
    return;
  }
  const std::string field = fmt::format("metadata.annotations[{}]", kApproval);
  const std::string_view approval = crd["metadata"]["annotations"][kApproval].as_string();
  if (approval.empty()) {
    errors.push_back(FieldError::required(
        field, fmt::format("protected groups must have approval annotation \"{}\", see "
                           "https://github.com/kubernetes/enhancements/pull/1111",
                           kApproval)));
  } else if (!approval.starts_with("unapproved") &&
             approval.find("://") == std::string_view::npos) {
    errors.push_back(FieldError::invalid(
        field, Value(approval),
        fmt::format("protected groups must have approval annotation \"{}\" with either a URL or a "
                    "reason starting with \"unapproved\", see "
                    "https://github.com/kubernetes/enhancements/pull/1111",
                    kApproval)));
  }
}

void check_versions(const Value& crd, std::vector<FieldError>& errors) {
  const Value& versions = crd["spec"]["versions"];
  std::set<std::string, std::less<>> seen;
  std::size_t storage = 0;
  constexpr int kMostRepeated = 10;  // each such error prints all versions
  int repeated = 0;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value& name = versions[i]["name"];
    const std::string path = fmt::format("spec.versions[{}].name", i);
    if (const NameError broken = validate_dns1035_label(name.as_string())) {
      errors.push_back(FieldError::invalid(path, name, *broken));
    }
    if (!seen.insert(name.str()).second && ++repeated <= kMostRepeated) {
      errors.push_back(
          FieldError::invalid("spec.versions", versions, "must contain unique version names"));
    }
    storage += versions[i]["storage"].as_bool() ? 1U : 0U;
  }
  if (versions.empty()) {
    errors.push_back(FieldError::required("spec.versions", "must have at least one version"));
    return;
  }
  if (storage != 1) {
    errors.push_back(FieldError::invalid(
        "spec.versions", versions, "must have exactly one version marked as storage version"));
  }
  const std::string_view current = storage_version(crd);
  const Value& stored = crd["status"]["storedVersions"];
  const auto items = stored.items();
  if (std::none_of(items.begin(), items.end(),
                   [&](const Value& item) { return item.as_string() == current; })) {
    errors.push_back(FieldError::invalid("status.storedVersions", stored,
                                         fmt::format("must have the storage version {}", current)));
  }
  std::size_t index = 0;
  for (const Value& version : items) {
    if (!seen.contains(version.as_string())) {
      errors.push_back(FieldError::invalid(
          fmt::format("status.storedVersions[{}]", index), version,
          fmt::format("missing from spec.versions; {} was previously a storage version, and must "
                      "remain in spec.versions until a storage migration ensures no data remains "
                      "persisted in {} and removes {} from status.storedVersions",
                      version.as_string(), version.as_string(), version.as_string())));
    }
    ++index;
  }
}

void check_conversion(const Value& conversion, std::vector<FieldError>& errors) {
  const std::string path = "spec.conversion";
  const Value& webhook = conversion["webhook"];
  if (conversion["strategy"].as_string() != "Webhook") {
    if (webhook.is_object()) {
      errors.push_back(FieldError::forbidden(
          path + ".webhookClientConfig", "should not be set when strategy is not set to Webhook"));
    }
    return;
  }
  const Value& client = webhook["clientConfig"];
  if (!client.is_object()) {
    errors.push_back(FieldError::required(path + ".webhookClientConfig",
                                          "required when strategy is set to Webhook"));
  } else {
    check_webhook_client(errors, client, path + ".webhookClientConfig");
  }
  const Value& versions = webhook["conversionReviewVersions"];
  const auto items = versions.items();
  if (versions.empty()) {
    errors.push_back(FieldError::required(path + ".conversionReviewVersions"));
  } else if (std::none_of(items.begin(), items.end(), [](const Value& item) {
               return item.as_string() == "v1" || item.as_string() == "v1beta1";
             })) {
    errors.push_back(FieldError::invalid(path + ".conversionReviewVersions", versions,
                                         "must include at least one of v1, v1beta1"));
  }
}

void check_spec(const Value& crd, std::vector<FieldError>& errors) {
  const Value& spec = crd["spec"];
  const std::string_view scope = spec["scope"].as_string();
  if (scope.empty()) {
    errors.push_back(FieldError::required("spec.scope"));
  } else if (scope != "Cluster" && scope != "Namespaced") {
    errors.push_back(
        FieldError::not_supported("spec.scope", spec["scope"], {"Cluster", "Namespaced"}));
  }
  if (spec["preserveUnknownFields"].as_bool()) {
    errors.push_back(FieldError::invalid(
        "spec.preserveUnknownFields", Value(true),
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"));
  }
  const std::string_view strategy = spec["conversion"]["strategy"].as_string();
  if (strategy != "None" && strategy != "Webhook") {
    errors.push_back(FieldError::not_supported(
        "spec.conversion.strategy", spec["conversion"]["strategy"], {"None", "Webhook"}));
  }
  check_conversion(spec["conversion"], errors);
}

void check_schemas(const Value& crd, const KindContext& context, std::vector<FieldError>& errors) {
  const CrdSchemas::Ptr schemas = compiled_schemas(context.crd_schemas, crd["spec"]["versions"]);
  errors.insert(errors.end(), schemas->errors().begin(), schemas->errors().end());
}

std::vector<FieldError> validate_crd(const Value& crd, const KindContext& context) {
  std::vector<FieldError> errors;
  check_names(crd, errors);
  check_approval(crd, errors);
  check_spec(crd, errors);
  check_versions(crd, errors);
  check_schemas(crd, context, errors);
  return errors;
}

std::vector<FieldError> validate_crd_update(const Value& crd, const Value& old_crd,
                                            const KindContext& context) {
  std::vector<FieldError> errors;
  check_versions(crd, errors);
  if (crd["spec"].identical(old_crd["spec"])) {
    return errors;
  }
  check_names(crd, errors);
  check_approval(crd, errors);
  check_spec(crd, errors);
  if (crd["spec"]["versions"] != old_crd["spec"]["versions"]) {
    check_schemas(crd, context, errors);
  }
  const auto immutable = [&](const Value& now, const Value& before, std::string_view field) {
    if (now != before) {
      errors.push_back(FieldError::invalid(field, now, "field is immutable"));
    }
  };
  immutable(crd["spec"]["group"], old_crd["spec"]["group"], "spec.group");
  immutable(crd["spec"]["names"]["plural"], old_crd["spec"]["names"]["plural"],
            "spec.names.plural");
  if (condition_is(old_crd["status"]["conditions"], "Established", "True")) {
    immutable(crd["spec"]["scope"], old_crd["spec"]["scope"], "spec.scope");
    immutable(crd["spec"]["names"]["kind"], old_crd["spec"]["names"]["kind"], "spec.names.kind");
  }
  return errors;
}

// The formats of texts that nothing checks, below a schema.
void add_unknown_formats(const Value& schema, std::set<std::string>& formats) {
  const std::string_view format = schema["format"].as_string();
  if (schema["type"].as_string() == "string" && !format.empty() && !is_known_format(format)) {
    formats.emplace(format);
  }
  for (const std::string_view part : {"items", "not", "additionalProperties"}) {
    if (schema[part].is_object()) {
      add_unknown_formats(schema[part], formats);
    }
  }
  for (const std::string_view part : {"allOf", "anyOf", "oneOf"}) {
    for (const Value& one : schema[part].items()) {
      add_unknown_formats(one, formats);
    }
  }
  for (const Member& property : schema["properties"].members()) {
    add_unknown_formats(property.value, formats);
  }
}

std::set<std::string> unknown_formats(const Value& crd) {
  std::set<std::string> formats;
  for (const Value& version : crd["spec"]["versions"].items()) {
    add_unknown_formats(version["schema"]["openAPIV3Schema"], formats);
  }
  return formats;
}

void warn_of_formats(const Value& crd, const Value& old_crd, const KindContext& context) {
  const std::set<std::string> before = unknown_formats(old_crd);
  for (const std::string& format : unknown_formats(crd)) {
    if (!before.contains(format)) {
      context.warnings->push_back(fmt::format("unrecognized format {}", go_quote(format)));
    }
  }
}

}  // namespace

std::string_view storage_version(const Value& crd) {
  for (const Value& version : crd["spec"]["versions"].items()) {
    if (version["storage"].as_bool()) {
      return version["name"].as_string();
    }
  }
  return {};
}

const KindBehaviour& crd_behaviour() {
  static const KindBehaviour kBehaviour = [] {
    KindBehaviour made;
    made.apply_defaults = &apply_crd_defaults;
    made.prepare_create = &prepare_crd_create;
    made.prepare_update = &prepare_crd_update;
    made.validate_create = &validate_crd;
    made.validate_update = &validate_crd_update;
    made.warn = &warn_of_formats;
    return made;
  }();
  return kBehaviour;
}

}  // namespace athanor::apiserver
