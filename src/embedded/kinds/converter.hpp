// SPDX-License-Identifier: Apache-2.0
// Conversion between a served version and the stored one, where it is more than another apiVersion.
#pragma once

#include <string_view>

#include "embedded/kinds/status_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Stateless, thread-safe; lives as long as the program.
class Converter {
 public:
  virtual ~Converter() = default;
  // Converts `object` of apiVersion `from_version` ("kueue.x-k8s.io/v1beta1"); the result carries
  // `to_version`.
  [[nodiscard]] virtual StatusResult<Value> convert(const Value& object,
                                                    std::string_view from_version,
                                                    std::string_view to_version) const = 0;
};

}  // namespace athanor::apiserver
