// SPDX-License-Identifier: Apache-2.0
// AppWrappers as `athanor appwrappers` shows them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::cli {

// Returns the titles of the columns that appwrapper_row() fills.
std::vector<std::string> appwrapper_header(bool with_namespace);
// `pods`: all that carry the label of an AppWrapper.
std::vector<std::string> appwrapper_row(const Object& app, const std::vector<Object>& pods,
                                        bool with_namespace, Instant now);

// What one AppWrapper's page is made from.
struct AppWrapperFacts {
  Object app{};
  std::optional<Object> workload{};
  std::vector<Object> pods{};    // with its label
  std::vector<Object> owners{};  // ReplicaSets and Jobs of its namespace
};
// The tree of components, objects and pods; running timers and the annotations that set them; why
// it waits.
std::string appwrapper_page(const AppWrapperFacts& facts, Instant now);

}  // namespace athanor::cli
