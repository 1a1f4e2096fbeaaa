// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the table of verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli {

// Returns the page of the program, athanor(1): every verb in one line, and `about`.
std::string program_page(const std::vector<VerbSummary>& verbs, std::string_view about);
// Returns the page of one verb, athanor-VERB(1), with the verbs below it.
std::string verb_page(const VerbSummary& verb);
// Returns the same as plain text; `name`: "athanor jobs".
std::string plain_page(const std::string& name, const VerbSummary& verb);

}  // namespace athanor::cli
