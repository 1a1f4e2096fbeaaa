// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/resource_names.hpp"

#include "embedded/kinds/edit.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kHugePageRequests = "requests.hugepages-";

// Within kubernetes.io, or without a domain: Kubernetes' own.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_count(std::string_view name) {
  return is_one_of(name, {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets",
                          "configmaps", "persistentvolumeclaims", "services.nodeports",
                          "services.loadbalancers"});
}

bool is_compute(std::string_view name) {
  return is_one_of(name, {"cpu", "memory", "ephemeral-storage"});
}

bool is_bounded_compute(std::string_view name) {
  return is_one_of(name, {"requests.cpu", "requests.memory", "requests.ephemeral-storage",
                          "limits.cpu", "limits.memory", "limits.ephemeral-storage"});
}

bool is_plain(std::string_view name) {
  return name.find('/') == std::string_view::npos;
}

bool is_standard(std::string_view name) {
  return is_compute(name) || is_bounded_compute(name) || is_count(name) ||
         is_one_of(name, {"storage", "requests.storage"}) || name.starts_with(kHugePages) ||
         name.starts_with(kHugePageRequests);
}

}  // namespace

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.");
}

bool is_counted_resource(std::string_view name) {
  return is_count(name) || is_extended_resource(name);
}

bool check_resource_name(FieldErrors& errors, const std::string& path, std::string_view name) {
  const std::size_t before = errors.size();
  check_name(errors, path, name, &validate_qualified_name);
  if (errors.size() == before && is_plain(name) && !is_standard(name)) {
    errors.push_back(
        FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
  }
  return errors.size() == before;
}

void check_container_resource(FieldErrors& errors, const std::string& path, std::string_view name) {
  check_resource_name(errors, path, name);
  if (is_plain(name) && !is_compute(name) && !name.starts_with(kHugePages)) {
    errors.push_back(FieldError::invalid(path, name, "must be a standard resource for containers"));
  } else if (!is_native(name) && !is_extended_resource(name)) {
    errors.push_back(
        FieldError::invalid(path, name, "doesn't follow extended resource name standard"));
  }
}

void check_quota_resource(FieldErrors& errors, const std::string& path, std::string_view name) {
  check_resource_name(errors, path, name);
  if (is_plain(name) && !is_compute(name) && !is_bounded_compute(name) && !is_count(name) &&
      name != "requests.storage" && !name.starts_with(kHugePages) &&
      !name.starts_with(kHugePageRequests)) {
    errors.push_back(FieldError::invalid(path, name, "must be a standard resource for quota"));
  }
}

void check_resource_amount(FieldErrors& errors, const std::string& path, std::string_view name,
                           const Value& quantity) {
  check_quantity(errors, path, quantity);
  const auto amount = Quantity::parse(quantity);
  if (is_counted_resource(name) && amount && amount->milli_value() % 1000 != 0) {
    errors.push_back(FieldError::invalid(path, amount->text(), "must be an integer"));
  }
}

}  // namespace athanor::apiserver
