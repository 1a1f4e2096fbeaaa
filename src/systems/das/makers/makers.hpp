// SPDX-License-Identifier: Apache-2.0
// The vendors that this program knows.
#pragma once

#include "systems/das/makers/vendor.hpp"

namespace athanor::das {

// Returns a vendor, as do all below; each lives in its own file.
const Vendor& nvidia();
const Vendor& amd();
const Vendor& intel();

}  // namespace athanor::das
