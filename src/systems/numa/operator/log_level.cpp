// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/log_level.hpp"

#include <fmt/core.h>

#include <string>

namespace athanor::numa {

void take_log_level(const Object& object, Plan& plan) {
  std::string level = object.spec()["logLevel"].str();
  level = level.empty() ? "Normal" : level;
  if (level == "Normal" && object.generation() <= 1) {
    return;  // nothing to take back
  }
  plan.then(Act{.id = fmt::format("{}/{}/{}", object.uid(), object.generation(), level),
                .verb = "log.level",
                .args = Value::object({{"source", object.name()}, {"level", level}})});
}

}  // namespace athanor::numa
