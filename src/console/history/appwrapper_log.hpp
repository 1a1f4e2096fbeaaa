// SPDX-License-Identifier: Apache-2.0
// AppWrapperLog: turns states of AppWrappers into records of their transitions
// (docs/spec/dashboard.md B4.6). Pure; one thread at a time.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, uid, ns, name, phase, retries, condition, reason, message}; the last three are of
// the condition that explains the phase. One whenever phase or number of retries changed.
class AppWrapperLog {
 public:
  // Takes a state of an AppWrapper; returns a record if it is in another phase than before.
  std::optional<Value> see(const Object& app, Instant now);
  // Forgets an AppWrapper that is gone.
  void gone(const Object& app);

 private:
  std::map<std::string, Value, std::less<>> last_{};  // by uid
};

// Returns true if both are of one phase of one AppWrapper.
bool is_same_transition(const Value& a, const Value& b);

}  // namespace athanor::console
