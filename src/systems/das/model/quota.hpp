// SPDX-License-Identifier: Apache-2.0
// Slices as quotas count them (docs/spec/das.md K6, K7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::das {

// Returns a warning for each ResourceQuota of the namespace that limits one of the profiles under
// NVIDIA's name: pods ask for another name by the time quotas are checked.
std::vector<std::string> quota_warnings(const View& view, std::string_view ns,
                                        const std::vector<std::string>& profiles);

// Sets `resource` of every container with slices to the sum of their memory, in limits and
// requests: a quota can count it.
void charge_memory(Value& pod, std::string_view resource);

// Checks that the text can name such a resource: a domain that is not taken, '/' and a name.
Result<void> check_quota_resource(std::string_view text);

}  // namespace athanor::das
