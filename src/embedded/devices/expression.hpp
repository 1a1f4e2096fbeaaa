// SPDX-License-Identifier: Apache-2.0
// CEL expressions about devices: `device.attributes["domain"].name`,
// `device.capacity["domain"].name` and `device.driver`, as kube-scheduler evaluates them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cel/program.hpp"
#include "cel/val.hpp"
#include "kube/value/value.hpp"

namespace athanor::devices {

// A published device as expressions see it. Domains that it does not have are empty maps.
cel::Val seen_by_expressions(const Value& device, std::string_view driver);

// Compiles each expression once. Not thread-safe.
class Expressions {
 public:
  // Returns whether the expression holds; errors say what is wrong with it.
  Result<bool> holds(const std::string& expression, const cel::Val& device);

 private:
  std::map<std::string, Result<cel::Program::Ptr>> programs_{};
};

}  // namespace athanor::devices
