// SPDX-License-Identifier: Apache-2.0
// Objects of other namespaces than the verb's: hints for a reader who looks in the wrong one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/kind.hpp"

namespace athanor::cli {

class Session;

// Returns the line "Other namespaces have some, as default: athanor queue -A" for a list that is
// empty in the session's namespace; empty: they have none, or the user may not list them.
std::string hint_elsewhere(Session& session, const Kind& kind, std::string_view verb,
                           const std::string& label_selector = {});

// Adds to a "not found" of this object which other namespace has one of its name, else a name that
// is nearly the same.
Error with_other_namespaces(Session& session, const Kind& kind, std::string_view name, Error error);

}  // namespace athanor::cli
