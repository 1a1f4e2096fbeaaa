// SPDX-License-Identifier: Apache-2.0
// The kind Greeting: whom to greet, and the greeting.
#pragma once

#include <string>

#include "api/describe.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::greeting {

inline constexpr Kind kGreeting{"toy.athanor.dev", "v1", "Greeting", "greetings", true};

struct GreetingSpec {
  std::string who{};
};
struct GreetingStatus {
  std::string text{};
};
struct Greeting {
  Object object{};
  GreetingSpec spec{};
  GreetingStatus status{};
  static const Kind& kind() { return kGreeting; }
};

const api::CustomKind& greeting_kind();

}  // namespace athanor::greeting

ATHANOR_DESCRIBED(athanor::greeting::GreetingSpec);
ATHANOR_DESCRIBED(athanor::greeting::GreetingStatus);
ATHANOR_DESCRIBED(athanor::greeting::Greeting);
