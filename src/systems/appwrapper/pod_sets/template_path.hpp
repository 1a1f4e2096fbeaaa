// SPDX-License-Identifier: Apache-2.0
// Paths into a component's template, and pod templates found there (docs/spec/appwrapper.md 2.1,
// 2.2). Pure; errors carry the texts of the specification.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::appwrapper {

// Returns the object at `path` of `component_template`.
Result<Value> resolve_path(const Value& component_template, std::string_view path);

// Returns the pod template at `path`: an object whose spec parses strictly as a PodSpec.
Result<Value> pod_template_at(const Value& component_template, std::string_view path);

// Calls `edit` with the object at `path`, to be changed in place. Errors of `edit` are passed on.
Result<void> edit_at(Value& component_template, std::string_view path,
                     const std::function<Result<void>(Value& object)>& edit);

}  // namespace athanor::appwrapper
