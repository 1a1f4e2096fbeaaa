// SPDX-License-Identifier: Apache-2.0
// The operators and webhooks that scenario files name.
#pragma once

#include <string_view>

#include "runtime/view/admission.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::test {

// By Operator::name; nullptr: none of that name.
const Operator* find_operator(std::string_view name);
// By Webhook::name; nullptr: none of that name.
const Webhook* find_webhook(std::string_view name);

}  // namespace athanor::test
