// SPDX-License-Identifier: Apache-2.0
// ConversionReview (apiextensions.k8s.io/v1): what an API server asks where the versions of a
// custom kind differ in more than their name. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::webhook {

// Path of conversions.
inline constexpr std::string_view kConversionPath = "/convert";

// Converts one object to a version ("kueue.x-k8s.io/v1beta1").
using Convert = std::function<Result<Value>(const Value& object, std::string_view version)>;

// Returns the answer's bytes: all objects converted, or the failure of the first that cannot be.
// Errors: 405 for another method than POST, 415 for another type than JSON, 400 for a body that is
// no ConversionReview of v1.
Result<std::string> answer_conversion(const Convert& convert, std::string_view method,
                                      std::string_view content_type, const std::string& body);

}  // namespace athanor::webhook
