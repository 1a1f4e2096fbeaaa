// SPDX-License-Identifier: Apache-2.0
// The queue as a person asks for it: who holds what, who waits, in which place, and why.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "embedded/kueue/model/workload_info.hpp"
#include "kube/value/object.hpp"
#include "views/listing.hpp"
#include "views/reasons.hpp"

namespace athanor::views {

// States of a Workload in the queueing.
enum class QueueState : std::uint8_t {
  Running,   // admitted
  HasQuota,  // reserved; its admission checks are pending
  Waiting,   // for quota
  Inactive,  // takes no part: inactive, being deleted, or waiting for replacement pods
};
// Returns the state of an unfinished workload.
QueueState queue_state(const Object& workload);
// Returns true for Running and HasQuota.
bool holds_quota(QueueState state);
// Returns its word: running, has-quota, waiting or inactive.
std::string queue_word(QueueState state);

// One Workload with its place in the queue.
struct QueueEntry {
  Object workload{};
  std::string queue{};
  QueueState state = QueueState::Waiting;
  std::size_t position = 0;  // among those that wait in this LocalQueue, from 1; 0: does not wait
  std::size_t cluster_position = 0;  // the same in its ClusterQueue; 0 where that is unknown, too
  std::int64_t priority = 0;
  std::string requests{};    // "fournos/cluster-slot=1,fournos/gpu-a100=2"
  std::string queue_says{};  // why it waits in Kueue's words, or which flavor it got
  std::string reason{};      // the same in short (reasons.hpp)
};

// The resource groups of each LocalQueue's ClusterQueue.
using QueueGroups = std::map<Key, FlavorGroups>;
QueueGroups queue_groups(const std::vector<Object>& local_queues,
                         const std::vector<Object>& cluster_queues);

// Queues and settings by which Workloads are ordered and explained. Lacks queues that the viewer
// cannot read.
struct Queues {
  QueueGroups groups{};
  std::map<Key, std::string> cluster_queues{};  // by LocalQueue
  kueue::RequeueTimestamp timestamp = kueue::RequeueTimestamp::Eviction;
};
// Returns the queues with the setting requeueTimestamp of Kueue's ConfigMap; a null
// `configuration`: not readable, and the default holds.
Queues queues_of(const std::vector<Object>& local_queues, const std::vector<Object>& cluster_queues,
                 const Value& configuration = {});

// Returns the entry of one workload, without a place; of a finished one `queue_says` and `reason`
// are the message of its end.
QueueEntry queue_entry(const Object& workload, const Queues& queues = {});

// Orders workloads as the admission engine does (docs/spec/kueue.md 7.2): by LocalQueue; those
// with quota first, newest first; then those that wait, in the order in which it takes them; then
// those that take no part.
std::vector<QueueEntry> queue_entries(const std::vector<Object>& workloads,
                                      const Queues& queues = {});
// Columns of the queue; the last is WHY.
struct QueueColumns {
  bool with_namespace = false;
  bool wide = false;  // what the queueing says as it is, not in short
};
// Returns the states that --phase takes.
const std::vector<std::string>& queue_phases();
// Returns the titles of the columns that queue_row() fills.
std::vector<std::string> queue_header();
ListRow queue_row(const QueueEntry& entry, const QueueColumns& columns);
// Returns the queue as rows.
Listing queue_listing(const std::vector<QueueEntry>& entries, const QueueColumns& columns);

// A place in a LocalQueue, from 1, and how many wait in it.
struct QueuePlace {
  std::size_t place = 0;
  std::size_t of = 0;
  friend bool operator==(const QueuePlace&, const QueuePlace&) = default;
};
// Returns the place of one workload; nullopt when it does not wait or is absent.
std::optional<QueuePlace> queue_position(const std::vector<QueueEntry>& entries,
                                         const std::string& ns, const std::string& name);

}  // namespace athanor::views
