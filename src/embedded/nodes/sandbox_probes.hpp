// SPDX-License-Identifier: Apache-2.0
// Probes and hooks of containers as a runtime needs them (sandbox_spec.hpp): names of ports
// resolved, defaults filled in.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Expands "$(NAME)" in a word of a command.
using WordExpansion = std::function<std::string(std::string_view word)>;

// Returns {startup, liveness, readiness}, each where the container has it: an action with
// {timeoutSeconds, periodSeconds, ..., graceSeconds where it has its own}.
Value sandbox_probes(const Value& container, std::string_view address, const WordExpansion& expand);
// Returns the action of a lifecycle hook; Null without one.
Value sandbox_hook(const Value& container, const Value& handler, std::string_view address,
                   const WordExpansion& expand);

}  // namespace athanor::nodes
