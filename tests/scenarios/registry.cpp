// SPDX-License-Identifier: Apache-2.0
// Every operator and webhook of every system, by name.
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

const Webhook* find_webhook(std::string_view name) {
  for (const System* system : all_systems()) {
    for (const Webhook& webhook : system->webhooks) {
      if (webhook.name == name) {
        return &webhook;
      }
    }
  }
  return nullptr;
}

}  // namespace athanor::test
