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
// Returns "spec.ports[2]".
std::string at(std::string_view path, std::size_t index);
// Returns "limits[nvidia.com/gpu]".
std::string at(std::string_view path, std::string_view key);
// Returns "spec.ports".
std::string below(std::string_view path, std::string_view field);

// Adds Invalid with the error of a rule of kube/names/names.hpp, if it has one.
void check_name(FieldErrors& errors, const std::string& path, std::string_view text,
                NameError (*rule)(std::string_view));
// Adds Required when the text is empty, else checks it as above.
void require_name(FieldErrors& errors, const std::string& path, std::string_view text,
                  NameError (*rule)(std::string_view));
// Adds Required when the value is absent or empty; returns true when it is neither.
bool require(FieldErrors& errors, const std::string& path, const Value& value,
             std::string_view text = {});
// Checks that the text is one of the choices; an empty text passes.
void check_choice(FieldErrors& errors, const std::string& path, const Value& value,
                  const std::vector<std::string>& choices);
// Checks that the text is one of the choices; an empty text fails.
void check_choice_always(FieldErrors& errors, const std::string& path, const Value& value,
                         const std::vector<std::string>& choices);
// Adds Required when the value is absent or empty, else checks that it is one of the choices.
void require_choice(FieldErrors& errors, const std::string& path, const Value& value,
                    const std::vector<std::string>& choices);
// Checks that the value is not below 0; an absent one passes.
void check_not_negative(FieldErrors& errors, const std::string& path, const Value& value);
// Checks that the value is from `least` to `most`; an absent one passes.
void check_between(FieldErrors& errors, const std::string& path, const Value& value,
                   std::int64_t least, std::int64_t most);
// Adds an error with kImmutable if the values differ.
void check_unchanged(FieldErrors& errors, const std::string& path, const Value& now,
                     const Value& before);
// Checks that the port is from 1 to 65535.
void check_port(FieldErrors& errors, const std::string& path, std::int64_t port);
// Checks for a number from 1 to 65535, or the name of a port.
void check_port_or_name(FieldErrors& errors, const std::string& path, const Value& port);
// Checks for an IPv4 or IPv6 address.
void check_ip(FieldErrors& errors, const std::string& path, std::string_view given);
// Checks keys and values of labels, or keys of annotations in lower case.
void check_labels(FieldErrors& errors, const std::string& path, const Value& labels);
void check_annotations(FieldErrors& errors, const std::string& path, const Value& annotations);
// Returns labels as messages show them: sorted, nothing for none.
Value shown_labels(const Value& labels);
// Returns a selector as messages show it: its labels sorted.
Value shown_selector(Value selector);
// Checks a metav1.LabelSelector.
void check_label_selector(FieldErrors& errors, const std::string& path, const Value& selector);
// Whether the values of a term are checked as values of labels.
enum class LabelValues : std::uint8_t { Valid, Any };
// Checks a core NodeSelectorTerm: {matchExpressions, matchFields}.
void check_node_term(FieldErrors& errors, const std::string& path, const Value& term,
                     LabelValues values);
// Checks a core NodeSelector: {nodeSelectorTerms}.
void check_node_selector(FieldErrors& errors, const std::string& path, const Value& selector);
// Checks a range of addresses: "10.0.0.0/8".
void check_cidr(FieldErrors& errors, const std::string& path, std::string_view given);
// Checks for a quantity that parses and is not below zero.
void check_quantity(FieldErrors& errors, const std::string& path, const Value& quantity);

}  // namespace athanor::apiserver
