// SPDX-License-Identifier: Apache-2.0
// AppWrappers as `athanor appwrappers` shows them. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "systems/appwrapper/settings.hpp"

namespace athanor::cli {

// Returns the titles of the columns that appwrapper_row() fills.
std::vector<std::string> appwrapper_header(bool with_namespace);
// What the rows of a list have in common.
struct AppWrapperListing {
  std::vector<Object> pods{};  // all that carry the label of an AppWrapper
  appwrapper::FaultTolerance settings{};
  bool with_namespace = false;
};
std::vector<std::string> appwrapper_row(const Object& app, const AppWrapperListing& listing,
                                        Instant now);

// What one AppWrapper's page is made from.
struct AppWrapperFacts {
  Object app{};
  std::optional<Object> workload{};
  std::vector<Object> pods{};    // with its label
  std::vector<Object> owners{};  // between the pods and the AppWrapper
  appwrapper::FaultTolerance settings{};
};
// The tree of components, objects and pods; pods of no component; running timers and the
// annotations that set them; why it waits; annotations without effect.
std::string appwrapper_page(const AppWrapperFacts& facts, Instant now);

}  // namespace athanor::cli
