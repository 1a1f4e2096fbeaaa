// SPDX-License-Identifier: Apache-2.0
// The environment variables by which a container finds Services: NAME_SERVICE_HOST and others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::nodes {

// Returns the variables of the Services in the pod's namespace, as a kubelet makes them; none where
// the pod does not want them (enableServiceLinks).
std::vector<std::pair<std::string, std::string>> service_variables(const View& view,
                                                                   const Object& pod);
// Returns those of one Service with an address; none of another one.
std::vector<std::pair<std::string, std::string>> variables_of(const Object& service);

}  // namespace athanor::nodes
