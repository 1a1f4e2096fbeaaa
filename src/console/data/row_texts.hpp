// SPDX-License-Identifier: Apache-2.0
// Small parts of rows. Pure.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Sets a member unless the text is empty.
void set_text(Value& row, std::string_view name, std::string_view text);
// Sets a member as RFC 3339 unless there is no time.
void set_time(Value& row, std::string_view name, const std::optional<Instant>& time);
// Returns seconds with milliseconds.
double seconds_of(Duration length);
// Returns a row with ns, name, uid, resourceVersion and created of an object.
Value row_of(const Object& object);
// Returns the link if it is one of http or https; empty: it is none (docs/spec/dashboard.md X8).
std::string safe_link(std::string_view link);
// Returns the conditions as {type, status, reason, message, at}.
Value condition_list(const Value& conditions);
// Returns an object without metadata.managedFields; of a Secret without the values of its data.
Value shown_object(const Object& object);
// Returns the median, respectively another quantile of lengths in seconds; nullopt: there is none.
std::optional<double> quantile(std::vector<double> seconds, double part);

}  // namespace athanor::console
