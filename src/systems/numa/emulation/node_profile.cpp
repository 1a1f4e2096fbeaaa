// SPDX-License-Identifier: Apache-2.0
// Reading profiles.
#include "systems/numa/emulation/node_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "systems/numa/exporter/hardware.hpp"

namespace athanor::numa {
namespace {

constexpr std::size_t kMostProfileZones = 64;
constexpr std::int64_t kMostProfileCpus = 4096;
constexpr std::int64_t kCellDevices = 15;  // of each zone, where cells are wanted
constexpr std::int64_t kMostDevices = 1024;
constexpr std::int64_t kNear = 10;
constexpr std::int64_t kFar = 21;

Error wrong(std::string_view path, std::string_view what) {
  return Error::bad_request(fmt::format("{}: {}", path, what));
}

Result<void> check_members(const Value& value, const std::string& path,
                           std::initializer_list<std::string_view> known) {
  if (!value.is_object()) {
    return wrong(path, "must be an object");
  }
  for (const Member& member : value.members()) {
    if (std::ranges::find(known, member.key()) == known.end()) {
      return wrong(path + "." + std::string(member.key()), "is no member");
    }
  }
  return {};
}

Result<std::int64_t> read_count(const Value& value, const std::string& path, std::int64_t most) {
  if (value.is_null()) {
    return std::int64_t{0};
  }
  if (!value.is_integer() || value.as_int(-1) < 0 || value.as_int() > most) {
    return wrong(path, fmt::format("must be an integer from 0 to {}", most));
  }
  return value.as_int();
}

Result<std::int64_t> read_amount(const Value& value, const std::string& path) {
  const auto amount =
      value.is_null() ? Quantity() : Quantity::parse(value).value_or(Quantity::from_int(-1));
  if (amount.is_negative()) {
    return wrong(path, "must be a quantity");
  }
  return amount.milli_value();
}

Result<std::vector<std::int64_t>> read_ids(const Value& value, const std::string& path) {
  auto list = parse_cpu_list(value.as_string());
  return list.ok() ? list : wrong(path, list.error().message);
}

// The cpus of a zone and which of them are reserved: counts, or lists of ids. `used`: ids of the
// zones before.
Result<void> read_cpus(const Value& value, const std::string& path, std::set<int>& used,
                       NodeProfile::ZoneProfile& zone) {
  std::vector<int> ids;
  if (value["cpus"].is_string()) {
    ATHANOR_TRY(const auto list, read_ids(value["cpus"], path + ".cpus"));
    ids.assign(list.begin(), list.end());
  } else {
    ATHANOR_TRY(const std::int64_t count,
                read_count(value["cpus"], path + ".cpus", kMostProfileCpus));
    for (int next = used.empty() ? 0 : *used.rbegin() + 1; std::ssize(ids) < count; ++next) {
      ids.push_back(next);
    }
  }
  std::set<int> reserved;
  if (value["reservedCpus"].is_string()) {
    ATHANOR_TRY(const auto list, read_ids(value["reservedCpus"], path + ".reservedCpus"));
    reserved.insert(list.begin(), list.end());
  } else {
    ATHANOR_TRY(const std::int64_t count,
                read_count(value["reservedCpus"], path + ".reservedCpus", std::ssize(ids)));
    reserved.insert(ids.begin(), ids.begin() + count);
  }
  for (const int id : ids) {
    if (id >= kMostProfileCpus || !used.insert(id).second) {
      return wrong(path + ".cpus", fmt::format("{} is in another zone, or too large", id));
    }
    (reserved.erase(id) > 0 ? zone.reserved_cpus : zone.cpus).push_back(id);
  }
  return reserved.empty() ? Result<void>()
                          : wrong(path + ".reservedCpus", "must be cpus of the zone");
}

Result<std::vector<NodeProfile::Device>> read_devices(const Value& value, const std::string& path,
                                                      std::string_view zone) {
  std::vector<NodeProfile::Device> devices;
  for (const Member& device : value.members()) {
    const std::string at = fmt::format("{}.{}", path, device.key());
    ATHANOR_TRY(const std::int64_t count, read_count(device.value, at, kMostDevices));
    NodeProfile::Device entry{.resource = std::string(device.key())};
    for (std::int64_t i = 0; i < count; ++i) {
      entry.ids.push_back(
          fmt::format("{}-{}-{}", device.key().substr(device.key().rfind('/') + 1), zone, i));
    }
    devices.push_back(std::move(entry));
  }
  return devices;
}

Result<NodeProfile::ZoneProfile> read_zone(const Value& value, const std::string& path,
                                           std::size_t index, std::set<int>& used) {
  NodeProfile::ZoneProfile zone;
  ATHANOR_TRY_VOID(check_members(
      value, path,
      {"cpus", "memory", "hugepages", "reservedCpus", "reservedMemory", "devices", "distances"}));
  ATHANOR_TRY_VOID(read_cpus(value, path, used, zone));
  ATHANOR_TRY(zone.capacity["memory"], read_amount(value["memory"], path + ".memory"));
  ATHANOR_TRY(zone.reserved_memory, read_amount(value["reservedMemory"], path + ".reservedMemory"));
  if (zone.reserved_memory > zone.capacity["memory"]) {
    return wrong(path + ".reservedMemory", "must not exceed the zone's memory");
  }
  for (const Member& pages : value["hugepages"].members()) {
    const std::string at = fmt::format("{}.hugepages.{}", path, pages.key());
    ATHANOR_TRY(const std::int64_t amount, read_amount(pages.value, at));
    zone.capacity.insert_or_assign(fmt::format("hugepages-{}", pages.key()), amount);
  }
  ATHANOR_TRY(zone.devices,
              read_devices(value["devices"], path + ".devices", fmt::to_string(index)));
  for (const Value& distance : value["distances"].items()) {
    if (!distance.is_integer()) {
      return wrong(path + ".distances", "must be integers");
    }
    zone.distances.push_back(distance.as_int());
  }
  return zone;
}

Result<bool> read_bool(const Value& value, const std::string& path) {
  if (!value.is_null() && !value.is_bool()) {
    return wrong(path, "must be true or false");
  }
  return value.as_bool();
}

Result<void> read_podresources(const Value& value, NodeProfile& profile) {
  const std::string path = "numa.podResources";
  if (value.is_null()) {
    return {};
  }
  ATHANOR_TRY_VOID(check_members(value, path, {"sharedCpus", "terminalPods"}));
  ATHANOR_TRY(profile.lists_shared_cpus, read_bool(value["sharedCpus"], path + ".sharedCpus"));
  ATHANOR_TRY(profile.lists_terminal_pods,
              read_bool(value["terminalPods"], path + ".terminalPods"));
  return {};
}

void put(Value& sums, Amounts& totals) {
  for (const auto& [resource, amount] : totals) {
    sums.set(resource, Quantity::from_milli(amount).text());
  }
}

}  // namespace

Amounts NodeProfile::allocatable(std::size_t zone) const {
  const ZoneProfile& profile = zones[zone];
  Amounts amounts = profile.capacity;
  amounts["cpu"] = static_cast<std::int64_t>(profile.cpus.size()) * kUnit;
  amounts["memory"] -= profile.reserved_memory;
  for (const Device& device : profile.devices) {
    amounts[device.resource] = static_cast<std::int64_t>(device.ids.size()) * kUnit;
  }
  return amounts;
}

Amounts NodeProfile::capacity(std::size_t zone) const {
  const ZoneProfile& profile = zones[zone];
  Amounts amounts = allocatable(zone);
  amounts["cpu"] =
      static_cast<std::int64_t>(profile.cpus.size() + profile.reserved_cpus.size()) * kUnit;
  amounts["memory"] += profile.reserved_memory;
  return amounts;
}

Result<NodeProfile> read_profile(const Value& value) {
  ATHANOR_TRY_VOID(check_members(value, "numa",
                                 {"policy", "scope", "zones", "devices", "cells", "podResources"}));
  NodeProfile profile;
  if (value.contains("policy")) {
    profile.policy = value["policy"].str();
    if (profile.policy != kSingleNumaNode && profile.policy != kRestricted &&
        profile.policy != kBestEffort && profile.policy != kNoPolicy) {
      return wrong("numa.policy", "must be none, best-effort, restricted or single-numa-node");
    }
  }
  if (value.contains("scope")) {
    profile.scope = value["scope"].str();
    if (profile.scope != "pod" && profile.scope != "container") {
      return wrong("numa.scope", "must be pod or container");
    }
  }
  const auto zones = value["zones"].items();
  if (zones.empty() || zones.size() > kMostProfileZones) {
    return wrong("numa.zones", fmt::format("must be a list of 1 to {} zones", kMostProfileZones));
  }
  ATHANOR_TRY(profile.devices, read_devices(value["devices"], "numa.devices", "any"));
  ATHANOR_TRY_VOID(read_podresources(value["podResources"], profile));
  ATHANOR_TRY(const bool cells, read_bool(value["cells"], "numa.cells"));
  std::set<int> used;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const std::string path = fmt::format("numa.zones[{}]", i);
    ATHANOR_TRY(NodeProfile::ZoneProfile zone, read_zone(zones[i], path, i, used));
    if (cells) {
      const std::string resource = fmt::format("kni.node/numacell{:02}", i);
      ATHANOR_TRY(auto markers, read_devices(Value::object({{resource, kCellDevices}}),
                                             path + ".cells", fmt::to_string(i)));
      zone.devices.push_back(std::move(markers.front()));
    }
    if (zone.distances.empty()) {
      for (std::size_t j = 0; j < zones.size(); ++j) {
        zone.distances.push_back(i == j ? kNear : kFar);
      }
    }
    if (zone.distances.size() != zones.size()) {
      return wrong(path + ".distances", "must have one entry for each zone");
    }
    profile.zones.push_back(std::move(zone));
  }
  return profile;
}

std::optional<NodeProfile> profile_of(const Object& node) {
  const std::string_view text = node.annotation(kProfileAnnotation);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto value = json::parse(text);
  if (!value.ok()) {
    return std::nullopt;
  }
  auto profile = read_profile(*value);
  return profile.ok() ? std::optional(*std::move(profile)) : std::nullopt;
}

Value sum_of_zones(const NodeProfile& profile, bool allocatable) {
  Amounts totals;
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    for (const auto& [resource, amount] :
         allocatable ? profile.allocatable(i) : profile.capacity(i)) {
      totals[resource] += amount;
    }
  }
  for (const NodeProfile::Device& device : profile.devices) {
    totals[device.resource] += std::ssize(device.ids) * kUnit;
  }
  Value sums = Value::object();
  put(sums, totals);
  return sums;
}

}  // namespace athanor::numa
