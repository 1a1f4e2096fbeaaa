// SPDX-License-Identifier: Apache-2.0
// Names of the objects that a verb acts on, from its words or from a selector.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/flags/name_choice.hpp"
#include "kube/value/kind.hpp"

namespace athanor::cli {

class Session;

// Returns the names that are given, "KIND/NAME" as NAME, or those of the objects of the session's
// namespace with the labels, the oldest first. `also`: labels that all objects of the kind have
// which the verb is for. Errors: a word of another kind (wrong usage); no object has the labels.
Result<std::vector<std::string>> chosen_names(Session& session, const Kind& kind,
                                              const NameChoice& choice, std::string_view also = {});

// Acts on each name and prints the errors; returns the largest exit code.
int for_each_name(const std::vector<std::string>& names,
                  const std::function<Result<int>(const std::string& name)>& act);

}  // namespace athanor::cli
