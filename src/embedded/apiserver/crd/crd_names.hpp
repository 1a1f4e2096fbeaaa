// SPDX-License-Identifier: Apache-2.0
// Whether a definition's names are free (docs/spec/apiserver.md 13.1).
#pragma once

#include <string>

#include "embedded/kinds/resource_info.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Reason and message of condition NamesAccepted False.
struct NameConflict {
  std::string reason{};  // PluralConflict, ...; empty: no conflict
  std::string message{};
};

// Compares with the accepted names of every other definition of the group and with the built-in
// resources.
NameConflict find_name_conflict(const Value& crd, const ResourceTable& table);

}  // namespace athanor::apiserver
