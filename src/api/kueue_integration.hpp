// SPDX-License-Identifier: Apache-2.0
// Rules that every integration of Kueue shares: the embedded engine's and that of AppWrappers
// (docs/spec/kueue.md 9, 10.1). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::api::kueue {

// Returns true for namespaces whose objects Kueue never touches.
bool is_system_namespace(std::string_view ns);

// Limit of the name of a Workload: of any object, or by gate ShortWorkloadNames.
enum class NameLength : std::uint8_t { Object = 253, Short = 63 };
// Returns the name of a job's Workload: "job-train-0b2f1".
std::string workload_name(const Kind& kind, std::string_view name, std::string_view uid,
                          NameLength longest);

// Returns the reason of QuotaReserved False after an eviction.
std::string_view released_reason(bool granular);

// A label of jobs.
inline constexpr std::string_view kMaxExecTime = "kueue.x-k8s.io/max-exec-time-seconds";
// Holds a workload back while it is there; an annotation.
inline constexpr std::string_view kGatedBy = "kueue.x-k8s.io/admission-gated-by";

// Sets a condition of a Workload. Its schema requires a message, which may be empty: that of a
// job's condition is optional.
void set_workload_condition(Value& conditions, const Condition& condition, Instant now);

// Type of the condition of a pod group's Workload that takes no part in admission because it lacks
// pods.
inline constexpr std::string_view kWaitingForReplacement = "WaitingForReplacementPods";

// Returns true for annotations of a job that its Workload has from the start.
bool is_copied_annotation(std::string_view key);
// Returns a merge patch that makes the annotation kGatedBy of a Workload that of its job; nullopt:
// it is so already, or the Workload holds quota.
std::optional<Value> gate_patch(const Object& workload, const Object& job);

// Returns the LocalQueue that a job's label asks for; without label a prebuilt Workload keeps its
// own.
std::string_view wanted_queue(const Object& workload, std::string_view label, bool prebuilt);
// Returns true if a Workload holds quota in another LocalQueue than `queue`, that of its job's
// label: its queue is immutable meanwhile (5.2).
bool holds_elsewhere(const Object& workload, std::string_view queue);

// Change that the priority class label of a job asks of its Workload. While that holds quota, a
// WorkloadPriorityClass may replace another one; whether it has a class is immutable (5.2).
enum class ClassChange : std::uint8_t { None, Possible, AfterRelease };
// Returns the change for this label. Without label a class of the pods stays, and a prebuilt
// Workload keeps any class.
ClassChange class_change(const Object& workload, std::string_view label, bool prebuilt);

// Reason and note of the event about a label that a Workload with quota does not follow; `what` is
// "queue", "priority class" or "time limit".
inline constexpr std::string_view kNotUpdated = "WorkloadNotUpdated";
std::string not_updated(const Object& workload, std::string_view what);

// Reason and note of the event about an object whose prebuilt Workload has another owner.
inline constexpr std::string_view kNameConflict = "WorkloadNameConflict";
std::string owned_by_another(const Object& workload);

// Returns the warning about a suspended job whose queue label is removed: nothing starts it.
std::string left_queue(std::string_view kind);

// Note of the event `Deleted` of a job that objectRetentionPolicies deletes.
inline constexpr std::string_view kRetired = "Deleted job: deactivation retention period expired";
// Returns when a job is deleted whose Workload the engine deactivated and stopped, `keep` after the
// eviction; nullopt: it stays.
std::optional<Instant> retires_at(const Object& workload, std::optional<Duration> keep);
// Returns how long such jobs are kept, from Kueue's configuration; nullopt: for ever.
std::optional<Duration> kept_deactivated(const Value& section);

// Who reads what jobs ask of Kueue, in the sentences about what is not read.
inline constexpr std::string_view kEngine = "the embedded engine";

// A label or annotation that an integration reads on its kind alone; `field` is "labels" or
// "annotations".
struct KnownName {
  std::string_view field{};
  std::string_view key{};
};
// Returns a sentence for each label and annotation with the prefix kueue.x-k8s.io/ that is neither
// read on every kind nor in `known`.
std::vector<std::string> unknown_names(const Kind& kind, const Value& object,
                                       std::span<const KnownName> known,
                                       std::string_view reader = kEngine);

// Returns a sentence for each label and annotation that has no effect beside a prebuilt Workload,
// whose own field counts: those that `old_object` has not, or all of them where it names another
// Workload. `prebuilt` returns the name of a job's prebuilt Workload, or "".
std::vector<std::string> left_to_prebuilt(const Value& object, const Value& old_object,
                                          std::string (*prebuilt)(const Object&));

// Returns true for annotations such as kueue.x-k8s.io/podset-required-topology.
bool is_topology_annotation(std::string_view key);
// Returns true if a pod set of a Workload, or a job's pod template below "template", asks for a
// topology.
bool asks_for_topology(const Value& pod_set);
// Returns a sentence for each of these pod sets that asks for a topology.
std::vector<std::string> left_out_topologies(const Value& pod_sets, std::string_view path,
                                             std::string_view reader = kEngine);

}  // namespace athanor::api::kueue
