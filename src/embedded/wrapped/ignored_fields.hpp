// SPDX-License-Identifier: Apache-2.0
// Fields of wrapped kinds that the lab's controllers do not read. Such objects are valid on a
// cluster, so they are accepted, and admission warns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::wrapped {

// Returns one sentence for each field of an object of one of these kinds that has no effect in the
// lab, its place below `at` ("spec.components[0].template."); none for other kinds. At most
// kMostSentences of them, then one that counts the others.
std::vector<std::string> ignored_fields(const Value& object, std::string_view at = {});
inline constexpr std::size_t kMostSentences = 20;  // a request may be of 3 MiB

}  // namespace athanor::wrapped
