// SPDX-License-Identifier: Apache-2.0
// Zones from a topology file of hwloc (`lstopo --of xml FILE`), instead of sysfs: for hardware that
// sysfs does not tell, and for recorded machines (docs/spec/numa.md 9.5).
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "systems/numa/exporter/hardware.hpp"

namespace athanor::numa {

// Reads the formats of hwloc 1, whose distances are left out, and 2. A cpu that several NUMA nodes
// claim (memory without cpus of its own, beside them) belongs to the lowest. Errors say what is
// malformed, and where.
Result<Hardware> read_hwloc(std::string_view xml);

}  // namespace athanor::numa
