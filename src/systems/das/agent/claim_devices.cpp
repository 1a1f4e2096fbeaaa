// SPDX-License-Identifier: Apache-2.0
#include "systems/das/agent/claim_devices.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "kube/text/json.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/users.hpp"

namespace athanor::das {
namespace {

std::string file_head() {
  return fmt::format("k8s.{}-claim_", kDraDriver);
}
constexpr std::string_view kFileEnd = ".json";

std::string kind_of_claims() {
  return fmt::format("k8s.{}/claim", kDraDriver);
}

// The device's name within the file.
std::string short_name(std::string_view claim_uid, const RequestGroup& group) {
  return fmt::format("{}-{}", claim_uid, group.empty() ? "none" : *group.begin());
}

Result<void> add_group(const Object& claim, const RequestGroup& wanted,
                       const std::string& container, std::vector<RequestGroup>& groups) {
  for (const RequestGroup& known : groups) {
    const bool meet = std::ranges::any_of(
        wanted, [&](const std::string& request) { return known.contains(request); });
    if (meet && known != wanted) {
      return Error::bad_request(
          fmt::format("resourceclaim \"{}\": container \"{}\" shares some of its requests with "
                      "another container, and not all: use one claim for each",
                      claim.name(), container));
    }
    if (meet) {
      return {};
    }
  }
  groups.push_back(wanted);
  return {};
}

}  // namespace

std::vector<AllocatedDevice> allocated_devices(const Object& resource_claim) {
  std::vector<AllocatedDevice> devices;
  for (const Value& result : resource_claim.status()["allocation"]["devices"]["results"].items()) {
    if (result["driver"].as_string() == kDraDriver && !result["adminAccess"].as_bool()) {
      devices.push_back({.request = std::string(parent_of(result["request"].as_string())),
                         .pool = result["pool"].str(),
                         .device = result["device"].str()});
    }
  }
  return devices;
}

Result<std::vector<RequestGroup>> groups_of(const Object& resource_claim,
                                            const std::vector<Object>& pods,
                                            const std::set<std::string>& ours) {
  RequestGroup all;
  for (const AllocatedDevice& device : allocated_devices(resource_claim)) {
    all.insert(device.request);
  }
  std::vector<RequestGroup> groups;
  for (const Object& pod : pods) {
    for (const auto& [container, named] : users_of(pod, resource_claim.name())) {
      RequestGroup wanted;
      std::ranges::set_intersection(named.empty() ? all : named, all,
                                    std::inserter(wanted, wanted.end()));
      if (wanted.empty()) {
        continue;
      }
      for (const std::string& other : ours) {
        if (other != resource_claim.name() && users_of(pod, other).contains(container)) {
          return Error::bad_request(
              fmt::format("resourceclaim \"{}\": container \"{}\" also uses resourceclaim \"{}\": "
                          "put its requests into one claim",
                          resource_claim.name(), container, other));
        }
      }
      ATHANOR_TRY_VOID(add_group(resource_claim, wanted, container, groups));
    }
  }
  // Requests that no container names bring nothing into any.
  for (const std::string& request : all) {
    if (std::ranges::none_of(groups, [&](const RequestGroup& g) { return g.contains(request); })) {
      groups.push_back({request});
    }
  }
  return groups;
}

std::string claim_device(std::string_view claim_uid, const RequestGroup& group) {
  return fmt::format("{}={}", kind_of_claims(), short_name(claim_uid, group));
}

std::string claim_cdi(const Object& resource_claim, const std::vector<RequestGroup>& groups,
                      const std::map<std::string, std::string>& slices, std::string_view cuda) {
  Value devices = Value::list();
  for (const RequestGroup& group : groups) {
    std::vector<std::string> names;
    for (const AllocatedDevice& device : allocated_devices(resource_claim)) {
      if (const auto slice = slices.find(device.device);
          slice != slices.end() && group.contains(device.request)) {
        names.push_back(slice->second);
      }
    }
    Value env = Value::list();
    for (const std::string& variable : slice_environment(names, cuda)) {
      env.push_back(variable);
    }
    devices.push_back(
        Value::object({{"name", short_name(resource_claim.uid(), group)},
                       {"containerEdits", Value::object({{"env", std::move(env)}})}}));
  }
  return json::print(Value::object({{"cdiVersion", "0.8.0"},
                                    {"kind", kind_of_claims()},
                                    {"devices", std::move(devices)},
                                    {"containerEdits", Value::object()}}));
}

std::string claim_file(std::string_view claim_uid) {
  return fmt::format("{}{}{}", file_head(), claim_uid, kFileEnd);
}

std::string claim_of_file(std::string_view name) {
  const std::string head = file_head();
  if (!name.starts_with(head) || !name.ends_with(kFileEnd) ||
      name.size() <= head.size() + kFileEnd.size()) {
    return {};
  }
  return std::string(name.substr(head.size(), name.size() - head.size() - kFileEnd.size()));
}

}  // namespace athanor::das
