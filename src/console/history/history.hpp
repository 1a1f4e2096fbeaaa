// SPDX-License-Identifier: Apache-2.0
// History: jobs that ended, kept beyond their objects (docs/spec/dashboard.md A9, B8). Each uid is
// one entry, exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// One job of the history.
struct HistoryEntry {
  std::string uid{};
  std::string ns{};
  std::string name{};
  std::string phase{};
  std::string created{};    // RFC 3339
  std::string completed{};  // empty: it never ended
  Value object{};           // metadata (name, namespace, labels, uid), spec, status
  bool foreign = false;     // fournos-ui alone wrote it; `uid` is its number of the row
};

// A phase or message that a job had.
struct HistoryEvent {
  std::string uid{};
  std::string phase{};
  std::string message{};
  std::string at{};
};

// State of the store, for the page about the system.
struct HistoryState {
  std::string backend{};
  bool connected = false;
  std::size_t jobs = 0;
  std::size_t queued = 0;
  std::size_t followed = 0;  // jobs whose last state is remembered: those that exist
  std::size_t lost = 0;      // writes that had no place in the queue, or that the store refused
  std::string error{};
};

// Subjects of records in the store.
enum class RecordKind : std::uint8_t { Eviction, Lock };

// Where the history is kept. One thread at a time. Errors of writes: 422 where the same write fails
// again for ever; others may pass.
class HistoryStore {
 public:
  virtual ~HistoryStore() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Reads the entries, the newest first.
  virtual Result<std::vector<HistoryEntry>> load(std::size_t most) = 0;
  // Writes an entry; one with its uid is updated.
  virtual Result<void> put(const HistoryEntry& entry) = 0;
  // Writes a state of a job that may go on, with its event; the event of the same phase and message
  // as the one before it is left out.
  virtual Result<void> put_live(const HistoryEntry& entry, const HistoryEvent& event) = 0;
  virtual Result<std::vector<HistoryEvent>> events(const std::string& uid) = 0;
  // Removes an entry with its events.
  virtual Result<void> remove(const std::string& uid) = 0;
  // Removes entries that were created before; returns how many.
  virtual Result<std::size_t> remove_older(Instant before) = 0;
  // Notes a change that a viewer made.
  virtual Result<void> add_audit(const Value& record) = 0;
  virtual Result<std::vector<Value>> audit(std::size_t most) = 0;
  // Notes a slice that came or went (SliceLog).
  virtual Result<void> add_slice_change(const Value& record) = 0;
  // Reads the changes of slices since `from` (of format_micro_time), the oldest first; if there are
  // more than `most`, the newest of them.
  virtual Result<std::vector<Value>> slice_changes(const std::string& from, std::size_t most) = 0;
  // Notes the GPUs of a cluster (HardwareLog).
  virtual Result<void> add_hardware(const Value& record) = 0;
  // Reads the records of all clusters, the oldest first; if there are more than `most`, the newest.
  virtual Result<std::vector<Value>> hardware(std::size_t most) = 0;
  // Notes a repair of a cluster's quota (RepairLog).
  virtual Result<void> add_repair(const Value& record) = 0;
  // Reads the repairs, the oldest first; if there are more than `most`, the newest.
  virtual Result<std::vector<Value>> repairs(std::size_t most) = 0;
  // Notes a record of an eviction (EvictionLog) or of a lock (LockLog).
  virtual Result<void> add_record(RecordKind kind, const Value& record) = 0;
  // Reads the records, the oldest first; if there are more than `most`, the newest.
  virtual Result<std::vector<Value>> records(RecordKind kind, std::size_t most) = 0;
  // Reads the phases that jobs entered since `from`, without messages, the oldest first; if there
  // are more than `most`, the newest.
  virtual Result<std::vector<HistoryEvent>> phases(const std::string& from, std::size_t most) = 0;
  // Notes a transition of an AppWrapper (AppWrapperLog); one that equals its last is left out.
  virtual Result<void> add_transition(const Value& record) = 0;
  // Reads the transitions of an AppWrapper, the oldest first; if there are more than `most`, the
  // newest of them.
  virtual Result<std::vector<Value>> transitions(const std::string& uid, std::size_t most) = 0;
};

// Opens (or makes) an embedded database; ":memory:" lasts as long as the program. Errors: the file
// cannot be opened, or is of something else.
Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path,
                                                          const std::string& jobs_ns);
// Makes a store in PostgreSQL (docs/spec/dashboard.md A2, A9); it connects when it is used first,
// and again whenever the connection is lost. Errors: the URL is none.
Result<std::unique_ptr<HistoryStore>> open_postgres_history(const std::string& url,
                                                            const std::string& jobs_ns);

// Archives jobs on a thread of its own. Thread-safe.
class History {
 public:
  // Removes entries that are older than `days`; 0: never. Calls `changed` after changes, on its
  // thread.
  History(std::unique_ptr<HistoryStore> store, const Clock& clock, std::int64_t days,
          std::function<void()> changed);
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History();  // writes what is queued

  // Takes a state of a job; ignores what is known already. Must not block.
  void see(const Object& job);
  // Takes the last state of a job that is deleted. Must not block.
  void gone(const Object& job);
  // Returns the entries as rows of jobs.
  [[nodiscard]] std::shared_ptr<const std::vector<Value>> rows() const;
  // Returns the jobs of a namespace that were created since then, the newest first.
  [[nodiscard]] std::vector<Object> since(std::string_view ns, Instant from) const;
  // Returns entries of that name, the newest first.
  [[nodiscard]] std::vector<HistoryEntry> find(std::string_view ns, std::string_view name) const;
  [[nodiscard]] std::vector<HistoryEvent> events(const std::string& uid);
  // Removes an entry. Errors: 404, and those of the store.
  Result<void> remove(const std::string& uid);
  // Notes a change: {at, user, action, object, outcome}.
  void note(Value record);
  [[nodiscard]] std::vector<Value> audit(std::size_t most);
  // Takes a state of an AllocationClaim, or its end. Must not block.
  void see_slice(const Object& claim);
  void slice_gone(const Object& claim);
  // Takes the uids of all claims after they were listed.
  void slices_listed(const std::set<std::string>& uids);
  // Returns the changes of slices since then, the oldest first. Errors: those of the store.
  Result<std::vector<Value>> slice_changes(Instant from);
  // Returns the phases of jobs since then, by uid, the oldest first. Errors: those of the store.
  Result<std::map<std::string, std::vector<HistoryEvent>>> phases(Instant from);
  // Takes a state of a Workload: its evictions. Must not block.
  void see_workload(const Object& workload);
  // Returns the evictions since then (EvictionLog), the oldest first.
  [[nodiscard]] std::vector<Value> evictions(Instant from) const;
  // Returns the locks that ended since then (LockLog), the oldest first.
  [[nodiscard]] std::vector<Value> ended_locks(Instant from) const;
  // Takes a state of a FournosCluster: its GPUs, its lock, repairs of its quota. Must not block.
  void see_cluster(const Object& cluster);
  // Takes the deletion of a FournosCluster: its lock ends. Must not block.
  void cluster_gone(const Object& cluster);
  // Returns the GPUs of a cluster over time (HardwareLog::course).
  [[nodiscard]] Value hardware(std::string_view cluster, Instant from) const;
  // Returns the repairs of quota since then (RepairLog), the newest first.
  [[nodiscard]] std::vector<Value> repairs(Instant from) const;
  // Takes a state of an AppWrapper, or its end. Must not block.
  void see_appwrapper(const Object& app);
  void appwrapper_gone(const Object& app);
  // Returns the transitions of an AppWrapper (AppWrapperLog), the oldest first. Errors: those of
  // the store.
  Result<std::vector<Value>> transitions(const std::string& uid);
  [[nodiscard]] HistoryState state() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::console
