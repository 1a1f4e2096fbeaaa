// SPDX-License-Identifier: Apache-2.0
// Texts of denials, and rules that several kinds share (docs/spec/kueue.md 5). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::kueue {

using Errors = std::vector<std::string>;

// Adds "PATH: Invalid value: VALUE: WHY"; `value` as it is printed, a text with its quotes.
void invalid(Errors& errors, const std::string& path, std::string_view value, std::string_view why);
// Adds "PATH: Unsupported value: VALUE: supported values: "a", "b"".
void unsupported(Errors& errors, const std::string& path, std::string_view value,
                 const std::vector<std::string>& supported);
// Shows a quantity in its canonical text with quotes; another value as JSON.
std::string shown_quantity(const Value& value);

// Refuses a negative quantity; no quantity passes.
void check_not_negative(Errors& errors, const std::string& path, const Value& quantity);
// Refuses keys and values of labels that break Kubernetes' syntax.
void check_labels(Errors& errors, const std::string& path, const Value& labels);
// Refuses keys of annotations that break it.
void check_annotations(Errors& errors, const std::string& path, const Value& annotations);
// Refuses keys of tolerations that break it.
void check_tolerations(Errors& errors, const std::string& path, const Value& tolerations);
// Checks a metav1.LabelSelector.
void check_selector(Errors& errors, const std::string& path, const Value& selector);
// Checks the weight of fair sharing: 0 or more than 10n; other values than quantities pass.
void check_weight(Errors& errors, const std::string& path, const Value& weight);

// Returns true if a client that drops what is empty, and writes quantities its own way, would read
// the two as one.
bool equivalent(const Value& a, const Value& b);

}  // namespace athanor::kueue
