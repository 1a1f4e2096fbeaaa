// SPDX-License-Identifier: Apache-2.0
// What a ResourceClaim asks for, with what its DeviceClasses say.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::devices {

// Devices of one class; one of several alternatives where the request has some.
struct DeviceRequest {
  std::string name{};                      // "request", of an alternative "request/sub"
  std::string parent{};                    // "request"
  std::vector<std::string> expressions{};  // of the class, then of the request
  bool all = false;                        // every device that matches
  std::int64_t count = 1;
  bool admin = false;    // may use devices that others hold, and holds none
  Value tolerations{};   // a list
  Value capacity{};      // least amounts by name
  Value class_config{};  // spec.config of the class
};

// One of the alternatives, the first that can be had.
using RequestChoice = std::vector<DeviceRequest>;

// matchAttribute or distinctAttribute over the devices of some requests.
struct DeviceConstraint {
  std::vector<std::string> requests{};  // empty: all
  std::string attribute{};
  bool distinct = false;  // false: equal
  [[nodiscard]] bool covers(const DeviceRequest& request) const;
};

// The requests and constraints of one claim.
struct ClaimRequests {
  std::vector<RequestChoice> choices{};
  std::vector<DeviceConstraint> constraints{};
  Value config{};  // spec.devices.config
};

// DeviceClasses by name.
using Classes = std::map<std::string, Object, std::less<>>;

// Reads a ResourceClaim's `spec`. Errors name what no node can change: a class that does not exist.
Result<ClaimRequests> read_requests(const Value& spec, const Classes& classes);

}  // namespace athanor::devices
