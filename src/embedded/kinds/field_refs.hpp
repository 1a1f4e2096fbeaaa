// SPDX-License-Identifier: Apache-2.0
// References of environment variables and volumes to fields of their pod, its containers, secrets
// and config maps.
#pragma once

#include <cstdint>
#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Where a reference occurs: the fields that it may name differ.
enum class FieldRefIn : std::uint8_t { Environment, Volume };

// Checks a fieldRef: its version, and a path that the place allows.
void check_field_ref(FieldErrors& errors, const Value& ref, const std::string& path,
                     FieldRefIn where);
// Checks a resourceFieldRef: a known resource, its container for volumes, its divisor.
void check_resource_ref(FieldErrors& errors, const Value& ref, const std::string& path,
                        FieldRefIn where);
// Checks the value of an environment variable that is taken from somewhere.
void check_value_source(FieldErrors& errors, const Value& env, const std::string& path);

}  // namespace athanor::apiserver
