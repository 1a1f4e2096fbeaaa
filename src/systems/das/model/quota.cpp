// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/quota.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

#include "api/builtin.hpp"
#include "kube/names/names.hpp"
#include "kube/text/quantity.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kRequests = "requests.";
constexpr std::int64_t kMostCounted = 1'000'000;  // more than any node has

// Gigabytes of the slices that the container may use.
std::int64_t memory_of(const Value& limits) {
  std::int64_t sum = 0;
  for (const Member& limit : limits.members()) {
    const auto profile = profile_of_resource(limit.key());
    const auto name = profile ? parse_profile(*profile) : std::nullopt;
    const auto count = Quantity::parse(limit.value);
    if (name && count) {
      sum += name->gigabytes * std::clamp<std::int64_t>(count->value(), 0, kMostCounted);
    }
  }
  return sum;
}

}  // namespace

std::vector<std::string> quota_warnings(const View& view, std::string_view ns,
                                        const std::vector<std::string>& profiles) {
  std::vector<std::string> warnings;
  for (const Object& quota : view.list(api::kResourceQuota, {.ns = std::string(ns)})) {
    for (const Member& hard : quota.spec()["hard"].members()) {
      const std::string_view key = hard.key();
      if (!key.starts_with(kRequests) ||
          !key.substr(kRequests.size()).starts_with(kNvidiaMigPrefix)) {
        continue;
      }
      const auto profile = profile_of_resource(key.substr(kRequests.size()));
      if (profile && std::ranges::find(profiles, *profile) != profiles.end()) {
        warnings.push_back(
            fmt::format("ResourceQuota \"{}\" limits {}, which pods no longer ask for when quotas "
                        "are checked: limit {}{} instead",
                        quota.name(), key, kRequests, resource_of(*profile)));
      }
    }
  }
  return warnings;
}

void charge_memory(Value& pod, std::string_view resource) {
  for (const char* list : {"containers", "initContainers"}) {
    for (std::size_t i = 0; i < pod["spec"][list].size(); ++i) {
      const std::int64_t memory = memory_of(pod["spec"][list][i]["resources"]["limits"]);
      if (memory == 0) {
        continue;
      }
      Value& resources = pod.member("spec").member(list).item(i).member("resources");
      for (const char* part : {"limits", "requests"}) {
        Value amounts = resources[part].is_object() ? resources[part] : Value::object();
        amounts.set(resource, fmt::format("{}Gi", memory));
        resources.set(part, std::move(amounts));
      }
    }
  }
}

Result<void> check_quota_resource(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view domain = text.substr(0, slash);
  const bool taken = text.starts_with(kNvidiaPrefix) || text.starts_with(kResourcePrefix) ||
                     domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
  if (slash == std::string_view::npos || taken || !qualified_name_errors(text).empty()) {
    return Error::bad_request(fmt::format(
        "\"{}\" must be a resource name with a domain of its own, such as example.com/gpu-memory",
        text));
  }
  return {};
}

}  // namespace athanor::das
