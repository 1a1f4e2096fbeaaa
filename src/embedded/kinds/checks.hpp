// SPDX-License-Identifier: Apache-2.0
// Checks that many kinds share, with the texts of the reference.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/names/names.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

using FieldErrors = std::vector<FieldError>;

// Detail of the error about a changed field that may not change.
inline constexpr std::string_view kImmutable = "field is immutable";

// Appends errors to others.
void append(FieldErrors& errors, FieldErrors more);
// "spec.ports[2]".
std::string at(std::string_view path, std::size_t index);
// "limits[nvidia.com/gpu]".
std::string at(std::string_view path, std::string_view key);
// "spec.ports".
std::string below(std::string_view path, std::string_view field);

// Invalid with what a rule of kube/names/names.hpp says, if it says something.
void check_name(FieldErrors& errors, const std::string& path, std::string_view text,
                NameError (*rule)(std::string_view));
// Required when empty, else as above.
void require_name(FieldErrors& errors, const std::string& path, std::string_view text,
                  NameError (*rule)(std::string_view));
// Required when absent or empty. True when there is something.
bool require(FieldErrors& errors, const std::string& path, const Value& value,
             std::string_view text = {});
// An empty text passes.
void check_choice(FieldErrors& errors, const std::string& path, const Value& value,
                  const std::vector<std::string>& choices);
// The same where nothing is no choice either: an empty text fails.
void check_choice_always(FieldErrors& errors, const std::string& path, const Value& value,
                         const std::vector<std::string>& choices);
// Required when absent or empty, else one of the choices.
void require_choice(FieldErrors& errors, const std::string& path, const Value& value,
                    const std::vector<std::string>& choices);
// Absent passes.
void check_not_negative(FieldErrors& errors, const std::string& path, const Value& value);
// Absent passes.
void check_between(FieldErrors& errors, const std::string& path, const Value& value,
                   std::int64_t least, std::int64_t most);
// Adds an error with kImmutable if the values differ.
void check_unchanged(FieldErrors& errors, const std::string& path, const Value& now,
                     const Value& before);
// 1 to 65535.
void check_port(FieldErrors& errors, const std::string& path, std::int64_t port);
// A number of 1 to 65535, or the name of a port.
void check_port_or_name(FieldErrors& errors, const std::string& path, const Value& port);
// An IPv4 or IPv6 address.
void check_ip(FieldErrors& errors, const std::string& path, std::string_view given);
// Check keys and values of labels, and keys of annotations in lower case.
void check_labels(FieldErrors& errors, const std::string& path, const Value& labels);
void check_annotations(FieldErrors& errors, const std::string& path, const Value& annotations);
// As messages show labels: sorted, nothing for none.
Value shown_labels(const Value& labels);
// As messages show a selector: its labels sorted.
Value shown_selector(Value selector);
// A metav1.LabelSelector.
void check_label_selector(FieldErrors& errors, const std::string& path, const Value& selector);
// Whether the values of a term are checked as values of labels.
enum class LabelValues : std::uint8_t { Valid, Any };
// A core NodeSelectorTerm: {matchExpressions, matchFields}.
void check_node_term(FieldErrors& errors, const std::string& path, const Value& term,
                     LabelValues values);
// A core NodeSelector: {nodeSelectorTerms}.
void check_node_selector(FieldErrors& errors, const std::string& path, const Value& selector);
// A range of addresses: "10.0.0.0/8".
void check_cidr(FieldErrors& errors, const std::string& path, std::string_view given);
// A quantity that parses and is not below zero.
void check_quantity(FieldErrors& errors, const std::string& path, const Value& quantity);

}  // namespace athanor::apiserver
