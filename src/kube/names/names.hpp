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

// Most kinds: up to 253 bytes of "a-b.c".
NameError validate_dns1123_subdomain(std::string_view text);
// Namespaces, container names: up to 63 bytes of "a-b".
NameError validate_dns1123_label(std::string_view text);
// Services: a label that starts with a letter.
NameError validate_dns1035_label(std::string_view text);
// RBAC kinds, and what every name obeys: anything that fits into one segment of a URL.
NameError validate_path_segment(std::string_view text);

// "[prefix/]name".
NameError validate_qualified_name(std::string_view text);
// All that is wrong with one; the function above returns the first.
std::vector<std::string> qualified_name_errors(std::string_view text);
NameError validate_label_key(std::string_view text);
NameError validate_label_value(std::string_view text);
// As label keys, without regard to case.
NameError validate_annotation_key(std::string_view text);
// A qualified name; without a prefix only the standard ones.
NameError validate_finalizer(std::string_view text);

// A generateName is checked as the name it could become: a trailing '-' is fine.
std::string masked_generate_name(std::string_view prefix);

// The limit on the keys and values of all annotations together.
constexpr std::size_t kMaxAnnotationBytes = 262'144;

}  // namespace athanor
