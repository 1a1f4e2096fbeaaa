// SPDX-License-Identifier: Apache-2.0
// What all controllers of pods share: names that follow from what the view holds, and which pods go
// first.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.hpp"

namespace athanor::workloads {

// `prefix` cut to what a generated name may have, and five characters of a hash of `seed`.
std::string hashed_name(std::string_view prefix, std::string_view seed);
// `length` characters, those of generated names, of a hash of `seed`; at most 32.
std::string hash_text(std::string_view seed, std::size_t length);

std::set<std::string> names_of(const std::vector<Object>& objects);
bool is_ready(const Object& pod);
// Those whose loss costs least first: without a node, not running, not ready, youngest.
void by_removal_order(std::vector<Object>& pods);

}  // namespace athanor::workloads
