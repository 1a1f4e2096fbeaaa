// SPDX-License-Identifier: Apache-2.0
// Which objects the queueing manages (docs/spec/kueue.md 10.1, 12). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kueue_configuration.hpp"
#include "api/kueue_integration.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

// The part of the configuration that the integrations read.
struct Integrations {
  std::vector<std::string> frameworks{};  // that are integrated
  bool manage_without_queue = false;
  Value namespaces{};  // managedJobsNamespaceSelector; Null: all but the system's
  bool wait_for_pods_ready = true;
  bool granular = false;              // the profile of reasons
  bool partial_admission = true;      // jobs may say with how many fewer pods they can run
  bool short_workload_names = false;  // at most 63 characters
  // How long a job that the engine deactivated stays; nullopt: for ever.
  std::optional<Duration> keep_deactivated{};

  [[nodiscard]] bool has(std::string_view framework) const;
};
// Reads the integrations' part of the current configuration (docs/spec/kueue.md 12).
Integrations integrations_of(const View& view);

using api::kueue::kAppWrapperFramework;
using api::kueue::known_frameworks;
using api::kueue::kPodFramework;

using api::kueue::is_system_namespace;

// Returns kinds whose objects may own jobs or pods, managed or not: is_below_managed reads them.
std::span<const Kind* const> ancestor_kinds();
// Returns true if a controller in the chain above is managed: it queues for all below.
bool is_below_managed(const View& view, const Integrations& settings, const Object& object);
// Returns the outermost managed AppWrapper above; nullopt: there is none.
std::optional<Object> managing_app(const View& view, const Integrations& settings,
                                   const Object& object);

// Returns true if the configuration selects the namespace: in others nothing is queued, even if it
// names a queue.
bool selects(const View& view, const Integrations& settings, std::string_view ns);

// Returns true if the object itself waits in a queue: by its label, or because every job does, in a
// namespace that the configuration selects.
bool is_managed(const View& view, const Integrations& settings, const Object& object);

}  // namespace athanor::kueue::jobs
