// SPDX-License-Identifier: Apache-2.0
// The first words of a command line: flags before the verb, "help VERB", and verbs of other
// programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::cli {

// Returns the words (the program's name first) as the verbs take them: "-n x jobs" becomes "jobs -n
// x", "help jobs" becomes "jobs --help".
std::vector<std::string> plain_words(std::vector<std::string> words);

// Returns the verb that an unknown word probably means: "list" -> "jobs"; empty: none.
std::string verb_hint(std::string_view word, std::span<const std::string> verbs);

}  // namespace athanor::cli
