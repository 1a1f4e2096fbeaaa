// SPDX-License-Identifier: Apache-2.0
// Kinds that can be wrapped: names for the engine, and what the controller reads from their status
// (docs/spec/appwrapper.md 9.2).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::appwrapper {

// Returns the kinds that are watched and written, in a fixed order.
std::span<const Kind* const> wrapped_kinds();
// PodGroups of the coscheduling plugin, one a gang (B-8).
const Kind& pod_group_kind();
// Finds one of them, or nullptr.
const Kind* find_wrapped_kind(std::string_view api_version, std::string_view kind);

// A served resource, as discovery lists it.
struct ServedResource {
  std::string group{}, version{}, plural{};
  bool namespaced = true;
};
// Returns the resource with objects of this kind: of the built-in ones, or of a stored definition.
// Reads definitions only for groups that are not built in.
std::optional<ServedResource> find_served(const View& view, std::string_view api_version,
                                          std::string_view kind);

// The kind of a component as the engine names it.
struct ComponentKind {
  const Kind* kind = nullptr;
  bool watched = false;  // false: its objects are read live
};
// Returns nullopt if it is not served.
std::optional<ComponentKind> find_component_kind(const View& view, std::string_view api_version,
                                                 std::string_view kind);

// "batch", "v1" of "batch/v1"; the core group is empty.
struct GroupVersion {
  std::string group{}, version{};
};
// Splits an apiVersion at its '/'.
GroupVersion split_api_version(std::string_view api_version);

// What an object's own status says of its outcome.
enum class Outcome : unsigned char { Unknown, Unfinished, Succeeded, Failed };
// Returns the outcome; Unfinished: of kinds whose status alone decides (Job, JobSet).
Outcome outcome_of(const Value& object);

}  // namespace athanor::appwrapper
