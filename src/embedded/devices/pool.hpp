// SPDX-License-Identifier: Apache-2.0
// Devices as drivers publish them in ResourceSlices: pools, and the counters that partitions of one
// device share (docs/spec/das.md 15.1).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/values/val.hpp"
#include "embedded/devices/expression.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::devices {

// Identifies a device in the cluster.
struct DeviceId {
  std::string driver{};
  std::string pool{};
  std::string name{};
  auto operator<=>(const DeviceId&) const = default;
};

// Amounts by counter set and counter.
using Counters = std::map<std::string, std::map<std::string, Quantity>, std::less<>>;

// A published device.
struct Device {
  DeviceId id{};
  Value body{};         // as published
  Value place{};        // the slice's spec, or the device itself with perDeviceNodeSelection
  Counters consumes{};  // of the pool's counters
  cel::Val seen{};      // what expressions call `device`
};

// All slices of one driver and pool, of the newest generation.
struct Pool {
  std::string driver{};
  std::string name{};
  bool complete = false;  // every slice of the generation is there, and counters are consistent
  std::vector<Device> devices{};  // in order of the slices' names
  Counters counters{};
};
using Pools = std::vector<Pool>;  // in order of driver and name

// Reads the pools of `slices`, which are in order of name.
Pools read_pools(const std::vector<Object>& slices);

// The pools that a node may reach: those of its own devices and those that are not of one node.
class Inventory {
 public:
  Inventory() = default;
  explicit Inventory(Pools pools);
  Inventory(const Inventory&) = delete;  // points into itself
  Inventory& operator=(const Inventory&) = delete;
  [[nodiscard]] std::vector<const Pool*> near(std::string_view node) const;
  [[nodiscard]] std::size_t devices() const { return devices_; }
  // Verdicts on these devices.
  [[nodiscard]] const std::shared_ptr<cel::ExpressionCache>& verdicts() const { return verdicts_; }

 private:
  Pools pools_{};
  std::map<std::string, std::vector<const Pool*>, std::less<>> by_node_{};  // "": of any node
  std::size_t devices_ = 0;
  std::shared_ptr<cel::ExpressionCache> verdicts_ = verdict_cache();
};

// Returns true if the node reaches the device.
bool reachable(const Device& device, const Object& node);
// Returns an attribute's value or Null: "domain/name", or "name" of the driver's own domain.
const Value& attribute_of(const Device& device, std::string_view name);
// Returns the amount of a capacity; Null: the device has none of that name.
const Value& capacity_of(const Device& device, std::string_view name);

}  // namespace athanor::devices
