// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/pool.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kube/names/node_match.hpp"

namespace athanor::devices {
namespace {

std::map<std::string, Quantity> counters_of(const Value& counters) {
  std::map<std::string, Quantity> amounts;
  for (const Member& counter : counters.members()) {
    amounts[std::string(counter.key())] =
        Quantity::parse(counter.value["value"]).value_or(Quantity());
  }
  return amounts;
}

Device read_device(const Value& body, const Value& spec) {
  Device device{.id = {spec["driver"].str(), spec["pool"]["name"].str(), body["name"].str()},
                .body = body,
                .place = spec["perDeviceNodeSelection"].as_bool() ? body : spec};
  for (const Value& use : body["consumesCounters"].items()) {
    for (const auto& [name, amount] : counters_of(use["counters"])) {
      device.consumes[use["counterSet"].str()][name] += amount;
    }
  }
  device.seen = seen_by_expressions(body, device.id.driver);
  return device;
}

// Every counter that devices consume is there.
bool consistent(const Pool& pool) {
  return std::ranges::all_of(pool.devices, [&](const Device& device) {
    return std::ranges::all_of(device.consumes, [&](const auto& use) {
      const auto set = pool.counters.find(use.first);
      return set != pool.counters.end() && std::ranges::all_of(use.second, [&](const auto& one) {
               return set->second.contains(one.first);
             });
    });
  });
}

Pool read_pool(std::string driver, std::string name, const std::vector<const Object*>& slices) {
  std::int64_t newest = 0;
  for (const Object* slice : slices) {
    newest = std::max(newest, slice->spec()["pool"]["generation"].as_int());
  }
  Pool pool{.driver = std::move(driver), .name = std::move(name)};
  std::int64_t found = 0;
  std::int64_t wanted = 0;
  std::set<std::string> names;
  bool unique = true;
  for (const Object* slice : slices) {
    const Value& spec = slice->spec();
    if (spec["pool"]["generation"].as_int() != newest) {
      continue;
    }
    ++found;
    wanted = spec["pool"]["resourceSliceCount"].as_int();
    for (const Value& set : spec["sharedCounters"].items()) {
      unique =
          pool.counters.emplace(set["name"].str(), counters_of(set["counters"])).second && unique;
    }
    for (const Value& body : spec["devices"].items()) {
      unique = names.insert(body["name"].str()).second && unique;
      pool.devices.push_back(read_device(body, spec));
    }
  }
  pool.complete = unique && found == wanted && consistent(pool);
  return pool;
}

// The domain and the name of "domain/name", or of a "name" of the driver's own domain.
std::pair<std::string_view, std::string_view> qualified(std::string_view name,
                                                        std::string_view driver) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::pair(driver, name)
                                         : std::pair(name.substr(0, slash), name.substr(slash + 1));
}

// Nothing is copied: a search with constraints looks up thousands.
const Value& named(const Value& members, std::string_view name, std::string_view driver) {
  const auto wanted = qualified(name, driver);
  for (const Member& one : members.members()) {
    if (qualified(one.key(), driver) == wanted) {
      return one.value;
    }
  }
  static const Value kNone;
  return kNone;
}

}  // namespace

Pools read_pools(const std::vector<Object>& slices) {
  std::map<std::pair<std::string, std::string>, std::vector<const Object*>> grouped;
  for (const Object& slice : slices) {
    grouped[{slice.spec()["driver"].str(), slice.spec()["pool"]["name"].str()}].push_back(&slice);
  }
  Pools pools;
  for (const auto& [id, members] : grouped) {
    pools.push_back(read_pool(id.first, id.second, members));
  }
  return pools;
}

Inventory::Inventory(Pools pools) : pools_(std::move(pools)) {
  for (const Pool& pool : pools_) {
    std::set<std::string> nodes;
    for (const Device& device : pool.devices) {
      nodes.insert(device.place["nodeName"].str());
    }
    devices_ += pool.devices.size();
    by_node_[nodes.size() == 1 ? *nodes.begin() : std::string()].push_back(&pool);
  }
}

std::vector<const Pool*> Inventory::near(std::string_view node) const {
  std::vector<const Pool*> pools;
  for (const std::string_view of : {node, std::string_view()}) {
    if (const auto found = by_node_.find(of); found != by_node_.end()) {
      pools.insert(pools.end(), found->second.begin(), found->second.end());
    }
  }
  return pools;
}

bool reachable(const Device& device, const Object& node) {
  const Value& place = device.place;
  if (place["allNodes"].as_bool()) {
    return true;
  }
  if (const Value& selector = place["nodeSelector"]; selector.is_object()) {
    return std::ranges::any_of(selector["nodeSelectorTerms"].items(),
                               [&](const Value& term) { return matches_term(term, node); });
  }
  return place["nodeName"].as_string() == node.name();
}

const Value& attribute_of(const Device& device, std::string_view name) {
  return named(device.body["attributes"], name, device.id.driver);
}

const Value& capacity_of(const Device& device, std::string_view name) {
  return named(device.body["capacity"], name, device.id.driver)["value"];
}

}  // namespace athanor::devices
