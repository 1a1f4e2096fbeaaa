// SPDX-License-Identifier: Apache-2.0
// Small text forms that Tekton's messages are made of: Go's %q and %v of lists, and name checks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::tekton {

// Joins the items with the separator in between.
std::string join(std::span<const std::string> items, std::string_view separator);
// Returns "[a b]": a list as Go prints it.
std::string go_list(std::span<const std::string> items);
// Returns "text" with Go's escapes (%q).
std::string quoted(std::string_view text);
// Checks for a DNS label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 characters.
bool is_dns_label(std::string_view text);
// Checks for a DNS subdomain: parts of [a-z0-9]([-a-z0-9]*[a-z0-9])? with dots between them.
bool is_dns_subdomain(std::string_view text);
// Returns the strings of a list value.
std::vector<std::string> strings_of(const Value& list);
// Makes a list of these strings.
Value list_of(std::span<const std::string> items);
// Returns the item of a list of named objects, or Null.
const Value& named(const Value& list, std::string_view name);

}  // namespace athanor::tekton
