// SPDX-License-Identifier: Apache-2.0
// Texts as Go prints them, for error messages that clients compare.
#pragma once

#include <string>
#include <string_view>

namespace athanor {

// Quotes as fmt's %q: double quotes, \n and the like, \x07, \u00a0 for what is not printable, \xff
// for invalid UTF-8.
std::string go_quote(std::string_view text);

}  // namespace athanor
