// SPDX-License-Identifier: Apache-2.0
// Which names, labels, annotations and finalizers are valid, with Kubernetes' texts
// (docs/spec/apiserver.md 7). Each returns nullopt for a valid text, else what goes after `Invalid
// value: "...": `.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

using NameError = std::optional<std::string>;

// Checks the names of most kinds: up to 253 bytes of "a-b.c".
NameError validate_dns1123_subdomain(std::string_view text);
// Namespaces, container names: up to 63 bytes of "a-b".
NameError validate_dns1123_label(std::string_view text);
// Services: a label that starts with a letter.
NameError validate_dns1035_label(std::string_view text);
// Checks names of RBAC kinds, and the rule of every name: fits into one segment of a URL.
NameError validate_path_segment(std::string_view text);

// Checks "[prefix/]name".
NameError validate_qualified_name(std::string_view text);
// Returns all errors of a qualified name; the function above returns the first.
std::vector<std::string> qualified_name_errors(std::string_view text);
NameError validate_label_key(std::string_view text);
NameError validate_label_value(std::string_view text);
// Checks as for label keys, without regard to case.
NameError validate_annotation_key(std::string_view text);
// Checks a qualified name; without a prefix only the standard ones are valid.
NameError validate_finalizer(std::string_view text);

// Returns the name as which a generateName is checked: replaces a trailing '-', which is valid.
std::string masked_generate_name(std::string_view prefix);

// The limit on the keys and values of all annotations together.
constexpr std::size_t kMaxAnnotationBytes = 262'144;

}  // namespace athanor
