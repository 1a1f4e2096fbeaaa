// SPDX-License-Identifier: Apache-2.0
// Every operator of every system, by name.
#include "scenarios/registry.hpp"

#include "systems/list.hpp"

namespace athanor::test {

const Operator* find_operator(std::string_view name) {
  for (const System* system : all_systems()) {
    for (const Operator* op : system->operators) {
      if (op->name == name) {
        return op;
      }
    }
  }
  return nullptr;
}

}  // namespace athanor::test
