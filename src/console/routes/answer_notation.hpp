// SPDX-License-Identifier: Apache-2.0
// A short notation of JSON schemas: routes describe their answers in it, and
// openapi.json is generated from it. Pure.
#pragma once

#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::console {

// Returns the JSON schema of a notation:
//   text, time, number, whole, flag, object (of any members), any
//   [T]            a list
//   <T>            an object whose members have names that are data
//   {a, b: T, c?}  an object; without a type a member is a text, with ? it may be absent
//   {? a, b!}      an object whose members may all be absent but those with !
//   @Name          a schema of the document
//   T~             may be null, too
// Requires a notation that is complete: it is part of the program.
Value schema_of(std::string_view notation);

}  // namespace athanor::console
