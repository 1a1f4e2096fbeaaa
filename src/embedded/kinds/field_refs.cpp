// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/field_refs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/ascii.hpp"
#include "embedded/kinds/config_data.hpp"
#include "embedded/kinds/edit.hpp"

namespace athanor::apiserver {
namespace {

const std::vector<std::string>& known_fields(FieldRefIn where) {
  static const std::vector<std::string> kEnvironment = {"metadata.name",
                                                        "metadata.namespace",
                                                        "metadata.uid",
                                                        "spec.nodeName",
                                                        "spec.serviceAccountName",
                                                        "status.hostIP",
                                                        "status.hostIPs",
                                                        "status.podIP",
                                                        "status.podIPs"};
  static const std::vector<std::string> kVolume = {"metadata.annotations", "metadata.labels",
                                                   "metadata.name", "metadata.namespace",
                                                   "metadata.uid"};
  return where == FieldRefIn::Volume ? kVolume : kEnvironment;
}

bool is_pod_field(std::string_view path) {
  return is_one_of(
      path, {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
             "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
             "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs",
             "status.podIP", "status.podIPs", "spec.host"});
}

// "metadata.labels['key']".
bool split_subscript(std::string_view path, std::string_view& field, std::string_view& key) {
  const std::size_t open = path.find("['");
  if (open == std::string_view::npos || !path.ends_with("']")) {
    return false;
  }
  field = path.substr(0, open);
  key = path.substr(open + 2, path.size() - open - 4);
  return true;
}

void check_divisor(FieldErrors& errors, const Value& ref, const std::string& path) {
  const std::string divisor = ref["divisor"].is_string() ? ref["divisor"].str() : std::string();
  const std::string_view resource = ref["resource"].as_string();
  if (divisor.empty() || divisor == "0") {
    return;
  }
  constexpr std::string_view kSizes = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
  const bool is_size = is_one_of(
      divisor, {"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"});
  const std::string_view name = resource.substr(resource.find('.') + 1);
  if (name == "cpu" && !is_one_of(divisor, {"1m", "1"})) {
    errors.push_back(
        FieldError::invalid(path + ".divisor", resource,
                            "only divisor's values 1m and 1 are supported with the cpu resource"));
  } else if (is_one_of(name, {"memory", "ephemeral-storage"}) && !is_size) {
    errors.push_back(FieldError::invalid(
        path + ".divisor", resource,
        fmt::format("only divisor's values {} are supported with the {} resource", kSizes,
                    name == "memory" ? "memory" : "local ephemeral storage")));
  }
}

void check_key_ref(FieldErrors& errors, const Value& ref, const std::string& path) {
  check_name(errors, path + ".name", ref["name"].as_string(), &validate_dns1123_subdomain);
  if (require(errors, path + ".key", ref["key"])) {
    check_name(errors, path + ".key", ref["key"].as_string(), &validate_config_key);
  }
}

}  // namespace

void check_field_ref(FieldErrors& errors, const Value& ref, const std::string& path,
                     FieldRefIn where) {
  const std::string_view version = ref["apiVersion"].as_string();
  const std::string_view field = ref["fieldPath"].as_string();
  if (version.empty()) {
    errors.push_back(FieldError::required(path + ".apiVersion"));
    return;
  }
  if (field.empty()) {
    errors.push_back(FieldError::required(path + ".fieldPath"));
    return;
  }
  const auto unconvertible = [&](const std::string& why) {
    errors.push_back(
        FieldError::invalid(path + ".fieldPath", field, "error converting fieldPath: " + why));
  };
  std::string_view base;
  std::string_view key;
  if (version != "v1") {
    unconvertible(fmt::format("unsupported pod version: {}", version));
  } else if (split_subscript(field, base, key)) {
    if (!is_one_of(base, {"metadata.annotations", "metadata.labels"})) {
      unconvertible(fmt::format("field label does not support subscript: {}", field));
      return;
    }
    const std::string name = base == "metadata.annotations" ? lower(key) : std::string(key);
    for (const std::string& wrong : qualified_name_errors(name)) {
      errors.push_back(FieldError::invalid(path, name, wrong));
    }
  } else if (!is_pod_field(field)) {
    unconvertible(fmt::format("field label not supported: {}", field));
  } else if (const auto& known = known_fields(where);
             std::find(known.begin(), known.end(), field) == known.end()) {
    errors.push_back(FieldError::not_supported(path + ".fieldPath", Value(field), known));
  }
}

void check_resource_ref(FieldErrors& errors, const Value& ref, const std::string& path,
                        FieldRefIn where) {
  static const std::vector<std::string> kKnown = {
      "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
      "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
  const std::string_view resource = ref["resource"].as_string();
  if (where == FieldRefIn::Volume && ref["containerName"].as_string().empty()) {
    errors.push_back(FieldError::required(path + ".containerName"));
  } else if (resource.empty()) {
    errors.push_back(FieldError::required(path + ".resource"));
  } else if (std::find(kKnown.begin(), kKnown.end(), resource) == kKnown.end() &&
             !resource.starts_with("requests.hugepages-") &&
             !resource.starts_with("limits.hugepages-")) {
    errors.push_back(FieldError::not_supported(path + ".resource", Value(resource), kKnown));
  }
  check_divisor(errors, ref, path);
}

void check_value_source(FieldErrors& errors, const Value& env, const std::string& path) {
  const Value& source = env["valueFrom"];
  std::size_t count = 0;
  const auto given = [&](std::string_view kind) {
    const bool is_given = source[kind].is_object();
    count += is_given ? 1 : 0;
    return is_given;
  };
  if (given("fieldRef")) {
    check_field_ref(errors, source["fieldRef"], path + ".fieldRef", FieldRefIn::Environment);
  }
  if (given("resourceFieldRef")) {
    check_resource_ref(errors, source["resourceFieldRef"], path + ".resourceFieldRef",
                       FieldRefIn::Environment);
  }
  for (const std::string_view kind : {"configMapKeyRef", "secretKeyRef"}) {
    if (given(kind)) {
      check_key_ref(errors, source[kind], below(path, kind));
    }
  }
  given("fileKeyRef");
  if (count == 0) {
    errors.push_back(FieldError::invalid(
        path, "",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
        "`fileKeyRef`"));
  } else if (!env["value"].as_string().empty()) {
    errors.push_back(
        FieldError::invalid(path, "", "may not be specified when `value` is not empty"));
  } else if (count > 1) {
    errors.push_back(
        FieldError::invalid(path, "", "may not have more than one field specified at a time"));
  }
}

}  // namespace athanor::apiserver
