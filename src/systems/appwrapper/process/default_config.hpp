// SPDX-License-Identifier: Apache-2.0
// The operator's configuration as a document (docs/spec/appwrapper.md 8.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::appwrapper {

// Returns every setting with its default; durations in ns. `ns` is the operator's namespace.
Value default_config(const std::string& ns);
// Returns `config` laid over the defaults: maps merge key by key, everything else is replaced.
Value merged_config(const Value& config, const std::string& ns);
// Paths of keys in `config` that have no meaning.
std::vector<std::string> unknown_keys(const Value& config);
// Returns the warning of such a key.
std::string not_a_setting(std::string_view key);

}  // namespace athanor::appwrapper
