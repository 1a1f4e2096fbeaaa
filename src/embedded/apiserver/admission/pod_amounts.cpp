// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/pod_amounts.hpp"

namespace athanor::apiserver {
namespace {

void add(Amounts& amounts, const Value& more) {
  for (const Member& amount : more.members()) {
    if (const auto quantity = Quantity::parse(amount.value)) {
      const auto [entry, made] = amounts.emplace(amount.key(), *quantity);
      if (!made) {
        entry->second += *quantity;
      }
    }
  }
}

void raise(Amounts& amounts, const Amounts& other) {
  for (const auto& [name, quantity] : other) {
    const auto [entry, made] = amounts.emplace(name, quantity);
    if (!made && entry->second < quantity) {
      entry->second = quantity;
    }
  }
}

}  // namespace

Amounts pod_amounts(const Value& pod_spec, std::string_view list) {
  Amounts total;
  for (const Value& container : pod_spec["containers"].items()) {
    add(total, container["resources"][list]);
  }
  Amounts sidecars;
  Amounts highest;
  for (const Value& container : pod_spec["initContainers"].items()) {
    const Value& amounts = container["resources"][list];
    if (container["restartPolicy"].as_string() == "Always") {
      add(total, amounts);
      add(sidecars, amounts);
      raise(highest, sidecars);
    } else {
      Amounts together = sidecars;
      add(together, amounts);
      raise(highest, together);
    }
  }
  raise(total, highest);
  for (const Member& overhead : pod_spec["overhead"].members()) {
    // A limit grows only where there is one.
    const auto quantity = Quantity::parse(overhead.value);
    const auto entry = total.find(overhead.key());
    if (quantity && entry != total.end()) {
      entry->second += *quantity;
    } else if (quantity && list == "requests") {
      total.emplace(overhead.key(), *quantity);
    }
  }
  return total;
}

}  // namespace athanor::apiserver
