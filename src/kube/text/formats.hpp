// SPDX-License-Identifier: Apache-2.0
// The string formats that custom resource validation knows (docs/spec/apiserver.md 13.4).
#pragma once

#include <string_view>

namespace athanor {

// Returns true if the format is one of those that are checked, or "password".
bool is_known_format(std::string_view format);
// Returns true if the text has the format, and for every format that is not checked.
bool matches_format(std::string_view format, std::string_view text);

}  // namespace athanor
