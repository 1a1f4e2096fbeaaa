// SPDX-License-Identifier: Apache-2.0
// What is known of the wrapped objects and their pods (docs/spec/appwrapper.md 5.9, B-2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/operator.hpp"
#include "systems/appwrapper/lifecycle/context.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::appwrapper {

// Result of look_up().
struct Lookup {
  enum class State : std::uint8_t { Absent, Present, Deleting, Asked };  // Asked: not known yet
  State state = State::Absent;
  std::optional<Object> object{};
  bool denied = false;  // Asked, and the API server does not let us read it
  std::string error{};  // Asked: what the API server answered; empty: nothing yet
};
// A cache may lag behind: before absence decides anything the API server is asked.
enum class Absence : std::uint8_t { AsCached, Confirmed };
// Looks an object up; objects of a kind that is not watched are read live in any case.
Lookup look_up(const Context& context, const ComponentKind& kind, std::string_view name,
               Absence absence);

// Returns true if the API server does not let us read what was asked.
bool is_denied(const Live& live);
// Returns true if an object has this AppWrapper, by name, as its controller.
bool is_controlled(const Context& context, const Object& object);

// Indexes pods of AppWrappers by namespace and label.
Index pod_index();
// Returns the AppWrapper's pods from the cache.
std::vector<Object> pods_of(const Context& context);
// Returns the pods as the API server has them: a cache may lack the last ones. nullopt: the answer
// has not arrived yet.
std::optional<std::vector<Object>> confirmed_pods_of(const Context& context);

// Numbers of pods by phase.
struct PodCounts {
  std::int64_t pending = 0, running = 0, succeeded = 0, failed = 0;
  [[nodiscard]] bool only_succeeded() const { return pending + running + failed == 0; }
};
// State of all components and pods of an AppWrapper.
struct Survey {
  std::size_t deployed = 0;  // components that exist and are not being deleted
  bool asked = false;        // absence is not confirmed yet
  std::int64_t failed_components = 0;
  bool succeeded = false;  // the whole AppWrapper has succeeded (R3)
  std::int64_t expected = 0;
  PodCounts pods{};
  std::optional<Instant> last_end{};  // of the pods that succeeded
  std::vector<Object> failed_pods{};  // of components that have not succeeded
  std::vector<Object> running_pods{};
};
// Counts components and pods; absence of a component is confirmed by the API server.
Survey survey(const Context& context);

}  // namespace athanor::appwrapper
