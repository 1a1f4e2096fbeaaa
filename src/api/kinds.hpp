// SPDX-License-Identifier: Apache-2.0
// Every custom kind that Athanor serves: what `athanor crds` prints and the embedded API server
// installs.
#pragma once

#include <span>

#include "api/describe.hpp"

namespace athanor::api {

std::span<const CustomKind* const> custom_kinds();

}  // namespace athanor::api
