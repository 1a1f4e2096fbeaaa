// SPDX-License-Identifier: Apache-2.0
// Editing objects so that what stays as it was keeps its shared nodes: an update that changes
// nothing must be recognised cheaply.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Edits a copy of the member (Null when absent) and puts it back if it changed.
template <class Edit>
void edit_member(Value& object, std::string_view key, Edit edit) {
  const Value& read = object;
  Value copy = read[key];
  edit(copy);
  if (!copy.identical(read[key])) {
    object.set(key, std::move(copy));
  }
}

// Edits every item of the member list `key`, if there is one.
template <class Edit>
void edit_items(Value& object, std::string_view key, Edit edit) {
  if (object[key].empty()) {
    return;
  }
  edit_member(object, key, [&](Value& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Value& read = list;
      Value copy = read[i];
      edit(copy);
      if (!copy.identical(read[i])) {
        list.item(i) = std::move(copy);
      }
    }
  });
}

// Sets an absent (or null) member.
inline void default_to(Value& object, std::string_view key, Value value) {
  if (object[key].is_null()) {
    object.set(key, std::move(value));
  }
}

// Sets it likewise where the zero value means absence: fields that are always shown.
inline void default_zero(Value& object, std::string_view key, Value value) {
  const Value& now = object[key];
  if (now.is_null() || (now.is_string() && now.as_string().empty()) ||
      (now.is_number() && now.as_int() == 0)) {
    object.set(key, std::move(value));
  }
}

// Returns the text of a member, or the fallback when it is absent or empty.
inline std::string text_or(const Value& value, std::string_view fallback) {
  return value.as_string().empty() ? std::string(fallback) : value.str();
}

// Returns true if the text is among the choices.
inline bool is_one_of(std::string_view text, std::initializer_list<std::string_view> choices) {
  for (const std::string_view choice : choices) {
    if (text == choice) {
      return true;
    }
  }
  return false;
}

}  // namespace athanor::apiserver
