// SPDX-License-Identifier: Apache-2.0
// A sixth system, as small as one can be: the kind Greeting, a controller that answers it, a
// webhook that refuses nobody's greeting, the verb `greet`. It shows what adding a system takes.
#pragma once

#include "runtime/view/system.hpp"

namespace athanor::greeting {

const System& system();

}  // namespace athanor::greeting
