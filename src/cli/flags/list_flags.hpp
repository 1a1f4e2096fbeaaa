// SPDX-License-Identifier: Apache-2.0
// The flags of lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/name_choice.hpp"
#include "cli/output/list_options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Which flags a list has beside those of every list: selectors, --limit, --sort-by, --no-headers,
// -w and all formats.
struct ListTraits {
  std::string names{};   // help of the names; empty: none
  std::string phases{};  // of --phase; empty: no such flag
  bool owners = false;
  bool since = false;
  std::string watch = "print changes as they happen";
  std::vector<Output> more{};  // formats besides those of every list
};

// Adds the names of objects that a verb acts on, and -l in their place. `names`: help of the names.
void add_choice(flags::Verb& verb, NameChoice& choice, const std::string& names);
// Adds the flags of a list.
void add_list_flags(flags::Verb& verb, ListOptions& options, const ListTraits& traits);

}  // namespace athanor::cli
