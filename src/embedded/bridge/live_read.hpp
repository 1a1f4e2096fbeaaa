// SPDX-License-Identifier: Apache-2.0
// Answers to live reads (runtime/view/live.hpp) out of the store.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::bridge {

// Returns true for a query that answer_live() understands.
bool is_live_read(std::string_view query);
// Answers with what the store holds now. Errors: the store cannot be read.
Result<Value> answer_live(const store::Store& store, std::string_view query);

}  // namespace athanor::bridge
