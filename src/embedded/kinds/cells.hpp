// SPDX-License-Identifier: Apache-2.0
// Parts of table rows (docs/spec/apiserver.md 5.4, Appendix T).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

using Cells = std::vector<Value>;

// What cells show for an absent value.
inline constexpr std::string_view kNone = "<none>";
inline constexpr std::string_view kUnknown = "<unknown>";
inline constexpr std::string_view kUnset = "<unset>";

// Shows metadata.name.
Value name_cell(const Value& object);
// Shows the time since metadata.creationTimestamp.
Value age_cell(const Value& object, Instant now);
// Shows the time since an RFC 3339 time; the fallback when there is none.
Value since_cell(const Value& time, Instant now, std::string_view fallback = kUnknown);
// Shows the text, or `<none>`.
Value text_cell(const Value& text, std::string_view fallback = kNone);
// Joins the parts with the separator in between.
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// Shows "a=b,c=d" in order of keys, or `<none>`.
Value labels_cell(const Value& labels);
// Shows a metav1.LabelSelector as text, or `<none>`.
Value selector_cell(const Value& selector);
// Names of a pod spec's containers, joined by commas.
Value containers_cell(const Value& pod_spec);
// Shows the images of a pod spec's containers.
Value images_cell(const Value& pod_spec);
// Shows the texts of a list joined by commas, or `<none>`.
Value list_cell(const Value& list, std::string_view separator = ",");
// Returns the text of an int-or-string.
std::string scalar_text(const Value& value);

}  // namespace athanor::apiserver
