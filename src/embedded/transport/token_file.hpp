// SPDX-License-Identifier: Apache-2.0
// Static token files: CSV lines of token,user,uid,"group,group" (docs/spec/apiserver.md 16.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/apiserver/request/options.hpp"

namespace athanor::transport {

// Parses the lines; skips empty ones. Error, with the line: it has less than three columns.
Result<std::vector<apiserver::StaticToken>> parse_token_file(std::string_view text);

// Reads the file; makes it (mode 0600) with one random token of the administrator when missing.
Result<std::vector<apiserver::StaticToken>> ensure_token_file(const std::string& path);

}  // namespace athanor::transport
