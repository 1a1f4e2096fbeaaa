// SPDX-License-Identifier: Apache-2.0
// DAS as one descriptor (docs/spec/das.md).
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::das {

const System& system();

}  // namespace athanor::das
