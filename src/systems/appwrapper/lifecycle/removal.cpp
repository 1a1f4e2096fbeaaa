// SPDX-License-Identifier: Apache-2.0
// Deletes in the background, then by force once the grace period is over; finalizers of wrapped
// objects are waited for.
#include "systems/appwrapper/lifecycle/removal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"
#include "systems/appwrapper/lifecycle/components.hpp"
#include "systems/appwrapper/lifecycle/desired.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kDeletionInitiated = "DeletionInitiated";
constexpr std::string_view kComplete = "DeletionComplete";
// Upstream's spelling, which clients see.
constexpr std::string_view kDeleted = "CompononetDeleted";
constexpr Duration kPoll = std::chrono::seconds(5);
constexpr Duration kPatience = std::chrono::seconds(30);  // B-15
constexpr std::size_t kNamedBlockers = 5;

struct Left {
  Ref ref{};
  Object object{};
};

// An object of another owner may have one of our names: it is not deleted, unless a setting says
// so.
bool is_ours(const Context& context, const Object& object) {
  if (context.settings.fault_tolerance.delete_foreign) {
    return true;
  }
  return object.controller() ? is_controlled(context, object)
                             : object.label(name::kLabel) == context.name();
}

// "Job/a (finalizers: x,y)".
std::string blocker(const Object& object) {
  std::string finalizers;
  for (const Value& finalizer : object.metadata()["finalizers"].items()) {
    finalizers += (finalizers.empty() ? "" : ",") + finalizer.str();
  }
  const std::string name = fmt::format("{}/{}", object.kind(), object.name());
  return finalizers.empty() ? name : fmt::format("{} (finalizers: {})", name, finalizers);
}

std::string blockers(const std::vector<Left>& left, const std::vector<Object>& pods) {
  std::vector<std::string> names;
  names.reserve(left.size() + pods.size());
  for (const Left& one : left) {
    names.push_back("waiting for " + blocker(one.object));
  }
  for (const Object& pod : pods) {
    names.push_back(fmt::format("waiting for pod {}", pod.name()));
  }
  names.resize(std::min(names.size(), kNamedBlockers));
  return fmt::format("{}", fmt::join(names, ", "));
}

// What was refused when it was to be created, and may not even be read, is not there.
bool was_refused(const ComponentStatus& component) {
  return condition_is(component.conditions, condition::kResourcesDeployed, "False");
}

// Returns the status of a component. One that was never created is told by its template where
// objects of other owners are deleted.
ComponentStatus identified(const Context& context, std::size_t index) {
  ComponentStatus component = context.app.status.component_status[index];
  if (component.kind.empty() && context.settings.fault_tolerance.delete_foreign) {
    const Value& wanted = context.app.spec.components[index].template_value;
    component.name = wanted["metadata"]["name"].str();
    component.kind = wanted["kind"].str();
    component.api_version = wanted["apiVersion"].str();
  }
  return component;
}

// The object of a component with a name, and those of one whose name the server chose: the write
// that was to record it may be missing. Returns false if the answer is not there yet.
bool find_left(const Context& context, std::size_t index, std::vector<Left>& left) {
  const ComponentStatus component = identified(context, index);
  const auto kind = find_component_kind(context.view, component.api_version, component.kind);
  if (!kind) {
    return true;  // without its kind there is no object
  }
  const auto add = [&](const Object& object) {
    const bool known = std::ranges::any_of(
        left, [&](const Left& one) { return one.object.uid() == object.uid(); });
    if (is_ours(context, object) && !known) {
      left.push_back({.ref = {kind->kind, object.key()}, .object = object});
    }
  };
  const Value& metadata = context.app.spec.components[index].template_value["metadata"];
  if (metadata["name"].as_string().empty()) {
    std::vector<Object> candidates;
    if (kind->watched) {
      candidates = context.view.list(
          *kind->kind, {.index = "owner", .index_value = std::string(context.object().uid())});
    } else {
      Live live = read_live(context.view, *kind->kind, {std::string(context.ns()), ""}, context.now,
                            context.object().resource_version());
      if (!live.known) {
        return is_denied(live) && was_refused(component);
      }
      candidates = std::move(live.objects);
    }
    for (const Object& object : candidates) {
      if (object.metadata()["generateName"] == metadata["generateName"]) {
        add(object);
      }
    }
  }
  if (component.name.empty()) {
    return true;
  }
  const Lookup found = look_up(context, *kind, component.name, Absence::Confirmed);
  if (found.object) {
    add(*found.object);
  }
  return (found.denied && was_refused(component)) || found.state != Lookup::State::Asked;
}

// The PodGroup of a gang. Returns false if the answer is not there yet.
bool find_pod_group(const Context& context, std::vector<Left>& left) {
  const Kind& wanted = pod_group_kind();
  const auto kind = find_component_kind(context.view, wanted.api_version(), wanted.name);
  if (!kind) {
    return true;
  }
  // A PodGroup whose annotation was removed meanwhile is in the cache.
  const Lookup found = look_up(context, *kind, context.name(),
                               is_gang(context.app) ? Absence::Confirmed : Absence::AsCached);
  const bool component = std::ranges::any_of(left, [&](const Left& one) {
    return found.object && one.object.uid() == found.object->uid();
  });
  if (found.object && !component && is_controlled(context, *found.object)) {
    left.push_back({.ref = {kind->kind, found.object->key()}, .object = *found.object});
  }
  // A PodGroup that may not be read is left to the garbage collector; it holds no quota.
  return found.denied || found.state != Lookup::State::Asked;
}

void force(const std::vector<Left>& left, const std::vector<Object>& pods, Plan& deletes) {
  const auto kill = [&](const Ref& ref, const Object& object) {
    deletes.then(
        Delete{.target = ref, .guard = {.uid = std::string(object.uid())}, .grace_seconds = 0});
  };
  for (const Object& pod : pods) {
    kill({&api::kPod, pod.key()}, pod);
  }
  if (pods.empty()) {
    for (const Left& one : left) {
      kill(one.ref, one.object);
    }
  }
}

}  // namespace

bool remove_components(const Context& context, StatusEdit& edit, Plan& deletes) {
  edit.set(condition::kDeletingResources, true, kDeletionInitiated);
  std::vector<Left> left;
  bool asked = false;
  for (std::size_t i = 0; i < context.app.status.component_status.size(); ++i) {
    const bool attempted = !edit.component_condition(i).is_null();
    if (!attempted && !context.settings.fault_tolerance.delete_foreign) {
      continue;
    }
    const std::size_t before = left.size();
    if (!find_left(context, i, left)) {
      asked = true;
    } else if (attempted && left.size() == before &&
               edit.component_condition(i)["status"] != Value("False")) {
      edit.component(i, "False", kDeleted);
    }
  }
  asked = !find_pod_group(context, left) || asked;
  std::vector<Object> pods = pods_of(context);
  if (left.empty() && pods.empty() && !asked) {
    // The removal hands on the quota: no pod may be left that a cache does not show yet.
    if (auto confirmed = confirmed_pods_of(context)) {
      pods = *std::move(confirmed);
      if (pods.empty()) {
        edit.set(condition::kDeletingResources, false, kComplete);
        return true;
      }
    }
  }
  const Instant begun =
      context.is(condition::kDeletingResources)
          ? context.changed_at(condition::kDeletingResources).value_or(context.now)
          : context.now;
  const Instant forceful = begun + context.limits.forceful_deletion;
  if (context.now - begun > kPatience) {
    edit.set(condition::kDeletingResources, true, kDeletionInitiated, blockers(left, pods));
  } else {
    deletes.wake_at(begun + kPatience + std::chrono::milliseconds(1));
  }
  if (context.now >= forceful) {
    force(left, pods, deletes);
    deletes.wake_at(context.now + kPoll);
    return false;
  }
  deletes.wake_at(forceful);
  deletes.wake_at(context.now + kPoll);
  for (const Left& one : left) {
    if (!one.object.deleting()) {
      deletes.then(Delete{.target = one.ref, .guard = {.uid = std::string(one.object.uid())}});
    }
  }
  return false;
}

}  // namespace athanor::appwrapper
