// SPDX-License-Identifier: Apache-2.0
// AppWrappers as `athanor appwrappers` shows them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::views {

// Returns the titles of the columns that appwrapper_row() fills.
std::vector<std::string> appwrapper_header(bool with_namespace);
// What the rows of a list have in common.
struct AppWrapperListing {
  std::vector<Object> pods{};  // all that carry the label of an AppWrapper
  appwrapper::FaultTolerance settings{};
  bool with_namespace = false;
};
// Returns the phases that --phase takes.
const std::vector<std::string>& appwrapper_phases();
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
// Objects and needs of an AppWrapper.
struct AppWrapperCounts {
  std::int64_t deployed = 0;  // components
  std::int64_t components = 0;
  std::int64_t ready = 0;  // pods that run or succeeded
  std::int64_t expected = 0;
};
// Counts components and pods; `pods` may belong to others, too.
AppWrapperCounts appwrapper_counts(const Object& app, const std::vector<Object>& pods);

// A period that runs now, and the annotation that sets its length.
struct AppWrapperTimer {
  std::string what{};
  std::string annotation{};
  std::optional<Instant> ends{};
};
// Returns the periods that run.
std::vector<AppWrapperTimer> appwrapper_timers(const AppWrapperFacts& facts);
// Returns why it is not running, one sentence each.
std::vector<std::string> appwrapper_reasons(const AppWrapperFacts& facts);
// Returns "Kind/name" of the component that a pod belongs to.
std::string appwrapper_component(const Object& pod, const std::vector<Object>& owners);

// Returns the tree of components, objects and pods; pods of no component; running timers and the
// annotations that set them; why it waits; annotations without effect.
std::string appwrapper_page(const AppWrapperFacts& facts, Instant now);

}  // namespace athanor::views
