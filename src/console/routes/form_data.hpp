// SPDX-License-Identifier: Apache-2.0
// Fields of HTML forms. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace athanor::console {

using FormFields = std::map<std::string, std::string, std::less<>>;

// Returns the fields of a multipart/form-data body; a file's field holds its content, and
// NAME + "_name" its file name. Parts that are malformed are left out.
FormFields multipart_fields(std::string_view body, std::string_view content_type);

}  // namespace athanor::console
