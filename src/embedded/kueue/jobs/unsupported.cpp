// SPDX-License-Identifier: Apache-2.0
// Kinds that are not integrated: an object with a queue label runs ungated, and one Warning event
// says so (docs/spec/kueue.md 1). The same for integrated kinds that the configuration leaves out.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/reconcile.hpp"
#include "embedded/kueue/jobs/unsupported.hpp"

namespace athanor::kueue::jobs {
namespace {

// An event of a fixed name: told again, it is there already.
Create event_about(const Kind& kind, const Object& object, Instant now) {
  const std::string name = fmt::format("{}.unsupported-integration", object.name());
  const Key key{std::string(object.ns()), name};
  const std::string at = format_time(now);
  return {.target = {&api::kEvent, key},
          .object = Value::object(
              {{"apiVersion", "v1"},
               {"kind", "Event"},
               {"metadata", Value::object({{"name", name}, {"namespace", object.ns()}})},
               {"involvedObject", Value::object({{"apiVersion", kind.api_version()},
                                                 {"kind", kind.name},
                                                 {"namespace", object.ns()},
                                                 {"name", object.name()},
                                                 {"uid", object.uid()}})},
               {"type", "Warning"},
               {"reason", "UnsupportedIntegration"},
               {"message", unsupported_text(kind)},
               {"source", Value::object({{"component", "kueue-unsupported"}})},
               {"firstTimestamp", at},
               {"lastTimestamp", at},
               {"count", 1}})};
}

Plan warn(const View& view, const Kind& kind, const Key& key, Instant now) {
  const auto object = view.get(kind, key);
  Plan plan;
  if (object && !object->deleting() && !object->label(name::kQueue).empty()) {
    plan.then(event_about(kind, *object, now));
  }
  return plan;
}

template <const Kind* kind>
Plan reconcile(const View& view, const Key& key, Instant now) {
  return warn(view, *kind, key, now);
}

template <const Kind* kind>
Operator make(std::string_view name) {
  static const Kind* const kReads[] = {kind};
  static const Kind* const kWrites[] = {&api::kEvent};
  static const Access kAccess[] = {{&api::kEvent, "create"}};
  return {.name = name,
          .primary = kind,
          .reads = kReads,
          .writes = kWrites,
          .reconcile = reconcile<kind>,
          .access = kAccess};
}

}  // namespace

std::string unsupported_text(const Kind& kind) {
  return fmt::format(
      "{} is not integrated with the queueing: label {} has no effect, and its pods "
      "run without quota",
      kind.name, name::kQueue);
}

std::span<const Kind* const> unsupported_kinds() {
  static constexpr const Kind* kKinds[] = {&api::kDeployment, &api::kStatefulSet,
                                           &kLeaderWorkerSet};
  return kKinds;
}

std::span<const Operator* const> unsupported_operators() {
  static const Operator kDeployments = make<&api::kDeployment>("kueue-unsupported-deployment");
  static const Operator kStatefulSets = make<&api::kStatefulSet>("kueue-unsupported-statefulset");
  static const Operator kLeaderWorkerSets =
      make<&kLeaderWorkerSet>("kueue-unsupported-leaderworkerset");
  static const Operator* const kAll[] = {&kDeployments, &kStatefulSets, &kLeaderWorkerSets};
  return kAll;
}

}  // namespace athanor::kueue::jobs
