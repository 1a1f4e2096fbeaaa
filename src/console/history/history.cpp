// SPDX-License-Identifier: Apache-2.0
// The archive's thread: takes states of jobs, writes them, keeps the rows for the pages.
#include "console/history/history.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/row_texts.hpp"
#include "console/history/appwrapper_log.hpp"
#include "console/history/eviction_log.hpp"
#include "console/history/hardware_log.hpp"
#include "console/history/lock_log.hpp"
#include "console/history/repair_log.hpp"
#include "console/history/slice_log.hpp"
#include "views/job_view.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostQueued = 10'000;      // docs/spec/dashboard.md B8
constexpr std::size_t kMostLoaded = 100'000;     // entries that pages show
constexpr std::size_t kMostChanges = 10'000;     // of slices, in one answer
constexpr std::size_t kMostTransitions = 1'000;  // of an AppWrapper, in one answer
constexpr int kRefused = 422;
constexpr auto kRetry = std::chrono::seconds(5);
constexpr auto kSweep = std::chrono::hours(1);

// One write: a job that ended, a state of a job with its event, a record of a change that a viewer
// made, one of a slice, one of a cluster's hardware, one of a repair of its quota, one of an
// eviction, one of a lock, or one of a transition of an AppWrapper.
struct HistoryWrite {
  std::optional<HistoryEntry> entry{};
  std::optional<HistoryEvent> event{};  // of `entry`, which then may go on
  std::optional<Value> audit{};
  std::optional<Value> slice{};
  std::optional<Value> hardware{};
  std::optional<Value> repair{};
  std::optional<Value> eviction{};
  std::optional<Value> lock{};
  std::optional<Value> transition{};
};

Value kept_object(const Object& job) {
  Value metadata = Value::object({{"name", job.name()},
                                  {"namespace", job.ns()},
                                  {"uid", job.uid()},
                                  {"resourceVersion", job.resource_version()},
                                  {"creationTimestamp", job.metadata()["creationTimestamp"]}});
  for (const char* part : {"labels", "annotations"}) {
    if (!job.metadata()[std::string_view(part)].empty()) {
      metadata.set(part, job.metadata()[std::string_view(part)]);
    }
  }
  return Value::object({{"apiVersion", job.api_version()},
                        {"kind", job.kind()},
                        {"metadata", std::move(metadata)},
                        {"spec", job.spec()},
                        {"status", job.status()}});
}

HistoryEntry entry_of(const Object& job) {
  const auto end = views::end_of_job(job);
  return {.uid = std::string(job.uid()),
          .ns = std::string(job.ns()),
          .name = std::string(job.name()),
          .phase = job.status()["phase"].str(),
          .created = job.metadata()["creationTimestamp"].str(),
          .completed = end ? format_time(*end) : "",
          .object = kept_object(job)};
}

// Returns true if both are of one job: fournos-ui has a time of its own until it sees the job.
bool is_same_job(const HistoryEntry& a, const HistoryEntry& b) {
  const auto one = parse_time(a.created);
  const auto other = parse_time(b.created);
  return a.name == b.name && a.ns == b.ns && one && other &&
         std::chrono::abs(*one - *other) < std::chrono::minutes(1);
}

Value archived_row(const HistoryEntry& entry) {
  Value row = job_row(Object(entry.object), {});
  row.set("archived", true);
  return row;
}

}  // namespace

struct History::State {
  State(std::unique_ptr<HistoryStore> where, const Clock& time, std::int64_t keep,
        std::function<void()> on_change)
      : store(std::move(where)), clock(time), days(keep), changed(std::move(on_change)) {}

  const std::unique_ptr<HistoryStore> store;
  Mutex store_mutex{};  // held during calls of the store
  const Clock& clock;
  const std::int64_t days;
  const std::function<void()> changed;

  mutable Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::deque<HistoryWrite> queue ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, HistoryEntry> entries ATHANOR_GUARDED_BY(mutex){};    // by uid
  std::map<std::string, std::string> last_state ATHANOR_GUARDED_BY(mutex){};  // by uid
  std::shared_ptr<const std::vector<Value>> made ATHANOR_GUARDED_BY(mutex){};
  SliceLog slices ATHANOR_GUARDED_BY(mutex){};
  HardwareLog hardware ATHANOR_GUARDED_BY(mutex){};
  RepairLog repairs ATHANOR_GUARDED_BY(mutex){};
  EvictionLog evictions ATHANOR_GUARDED_BY(mutex){};
  LockLog locks ATHANOR_GUARDED_BY(mutex){};
  AppWrapperLog appwrappers ATHANOR_GUARDED_BY(mutex){};
  std::size_t lost ATHANOR_GUARDED_BY(mutex) = 0;
  bool loaded ATHANOR_GUARDED_BY(mutex) = false;
  std::string error ATHANOR_GUARDED_BY(mutex){};
  std::thread thread{};

  void enqueue(HistoryWrite write) ATHANOR_REQUIRES(mutex) {
    if (queue.size() >= kMostQueued) {
      queue.pop_front();
      if (lost++ == 0) {
        log::warn("the history is not reachable: its oldest queued entries are lost",
                  {{"limit", kMostQueued}});
      }
    }
    queue.push_back(std::move(write));
  }

  Result<void> write(const HistoryWrite& write) {
    const MutexLock lock(store_mutex);
    if (write.entry && write.event) {
      ATHANOR_TRY_VOID(store->put_live(*write.entry, *write.event));
    } else if (write.entry) {
      ATHANOR_TRY_VOID(store->put(*write.entry));
    }
    if (write.slice) {
      ATHANOR_TRY_VOID(store->add_slice_change(*write.slice));
    }
    if (write.hardware) {
      ATHANOR_TRY_VOID(store->add_hardware(*write.hardware));
    }
    if (write.repair) {
      ATHANOR_TRY_VOID(store->add_repair(*write.repair));
    }
    if (write.eviction) {
      ATHANOR_TRY_VOID(store->add_record(RecordKind::Eviction, *write.eviction));
    }
    if (write.lock) {
      ATHANOR_TRY_VOID(store->add_record(RecordKind::Lock, *write.lock));
    }
    if (write.transition) {
      ATHANOR_TRY_VOID(store->add_transition(*write.transition));
    }
    return write.audit ? store->add_audit(*write.audit) : Result<void>();
  }

  // Returns true if an entry of our own is of the same job.
  [[nodiscard]] bool has_entry_of(const HistoryEntry& foreign) const ATHANOR_REQUIRES(mutex) {
    return std::ranges::any_of(entries, [&](const auto& one) {
      return !one.second.foreign && is_same_job(one.second, foreign);
    });
  }

  // Removes the oldest entries from memory once there are too many; the store keeps them.
  void cut_entries() ATHANOR_REQUIRES(mutex) {
    constexpr std::size_t kSpare = 1000;  // so that few calls look at all
    if (entries.size() < kMostLoaded + kSpare) {
      return;
    }
    std::vector<std::pair<std::string, std::string>> ages;
    ages.reserve(entries.size());
    for (const auto& [uid, entry] : entries) {
      ages.emplace_back(entry.created, uid);
    }
    std::ranges::nth_element(ages, ages.begin() + static_cast<std::ptrdiff_t>(kSpare));
    for (std::size_t i = 0; i < kSpare; ++i) {
      entries.erase(ages[i].second);
    }
  }

  void enqueue_slices(std::vector<Value> changes) ATHANOR_REQUIRES(mutex) {
    for (Value& change : changes) {
      enqueue({.slice = std::move(change)});
    }
  }

  Result<void> load() {
    std::vector<HistoryEntry> found;
    std::vector<Value> changes;
    std::vector<Value> gpus;
    std::vector<Value> mended;
    std::vector<Value> evicted;
    std::vector<Value> held;
    {
      const MutexLock lock(store_mutex);
      ATHANOR_TRY(found, store->load(kMostLoaded));
      ATHANOR_TRY(changes, store->slice_changes("", kMostLoaded));
      ATHANOR_TRY(gpus, store->hardware(kMostLoaded));
      ATHANOR_TRY(mended, store->repairs(kMostLoaded));
      ATHANOR_TRY(evicted, store->records(RecordKind::Eviction, kMostLoaded));
      ATHANOR_TRY(held, store->records(RecordKind::Lock, kMostLoaded));
    }
    const MutexLock lock(mutex);
    for (HistoryEntry& entry : found) {
      std::string uid = entry.uid;
      if (!entry.foreign || !has_entry_of(entry)) {
        entries.try_emplace(std::move(uid), std::move(entry));
      }
    }
    slices.load(changes);
    hardware.load(gpus);
    repairs.load(mended);
    evictions.load(evicted);
    for (Value& ended : locks.load(held, clock.now())) {
      enqueue({.lock = std::move(ended)});
    }
    enqueue_slices(slices.missed(clock.now()));
    loaded = true;
    made.reset();
    return {};
  }

  void note_error(const Error* failure) {
    const MutexLock lock(mutex);
    const std::string text = failure == nullptr ? "" : failure->message;
    if (error != text) {
      if (failure != nullptr) {
        log::warn("the history is not reachable", {{"error", text}});
      }
      error = text;
    }
  }

  void sweep() {
    if (days <= 0) {
      return;
    }
    const Instant limit = clock.now() - std::chrono::days(days);
    Result<std::size_t> removed = std::size_t{0};
    {
      const MutexLock lock(store_mutex);
      removed = store->remove_older(limit);
    }
    if (removed.ok() && *removed > 0) {
      const MutexLock lock(mutex);
      const std::string oldest = format_time(limit);
      std::erase_if(entries, [&](const auto& one) {
        return !one.second.foreign && one.second.created < oldest;
      });
      made.reset();
    }
  }

  // Returns true for a record that the store has already: it was read after the record was made.
  [[nodiscard]] bool is_stored(const HistoryWrite& write) const ATHANOR_REQUIRES(mutex) {
    return (write.slice && !slices.is_news(*write.slice)) ||
           (write.hardware && !hardware.is_news(*write.hardware)) ||
           (write.repair && !repairs.is_news(*write.repair)) ||
           (write.eviction && !evictions.is_news(*write.eviction)) ||
           (write.lock && !locks.is_news(*write.lock));
  }

  // Writes the first of the queue; false: there is none, or it failed.
  bool write_one() {
    HistoryWrite next;
    {
      const MutexLock lock(mutex);
      if (queue.empty()) {
        return false;
      }
      const HistoryWrite& first = queue.front();
      if (is_stored(first)) {
        queue.pop_front();
        return true;
      }
      next = queue.front();
    }
    const auto written = write(next);
    const bool refused = !written.ok() && written.error().code == kRefused;
    if (refused) {
      log::warn("the history refuses an entry: it is lost",
                {{"error", written.error().message},
                 {"job", next.entry ? next.entry->ns + "/" + next.entry->name : ""}});
    }
    note_error(written.ok() || refused ? nullptr : &written.error());
    if (!written.ok() && !refused) {
      return false;
    }
    const MutexLock lock(mutex);
    lost += refused ? 1 : 0;
    if (next.slice) {
      slices.stored(*next.slice);
    }
    if (next.hardware) {
      hardware.stored(*next.hardware);
    }
    if (next.repair) {
      repairs.stored(*next.repair);
    }
    if (next.eviction) {
      evictions.stored(*next.eviction);
    }
    if (next.lock) {
      locks.stored(*next.lock);
    }
    queue.pop_front();
    return true;
  }

  void run() {
    auto next_sweep = std::chrono::steady_clock::now();
    while (true) {
      bool is_loaded = false;
      {
        const MutexLock lock(mutex);
        is_loaded = loaded;
      }
      if (!is_loaded) {
        const auto read = load();
        note_error(read.ok() ? nullptr : &read.error());
        is_loaded = read.ok();
        if (is_loaded && changed) {
          changed();
        }
      }
      while (is_loaded && write_one()) {
      }
      if (is_loaded && std::chrono::steady_clock::now() >= next_sweep) {
        next_sweep = std::chrono::steady_clock::now() + kSweep;
        sweep();
      }
      MutexLock lock(mutex);
      if (stopping) {
        return;
      }
      const bool waits = !error.empty() || queue.empty();
      if (waits) {
        news.wait_for(lock, kRetry, [this]() ATHANOR_REQUIRES(mutex) {
          return stopping || (error.empty() && !queue.empty());
        });
      }
    }
  }
};

History::History(std::unique_ptr<HistoryStore> store, const Clock& clock, std::int64_t days,
                 std::function<void()> changed)
    : state_(std::make_unique<State>(std::move(store), clock, days, std::move(changed))) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

History::~History() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->news.notify_all();
  state_->thread.join();
}

void History::see(const Object& job) {
  const std::string uid(job.uid());
  const std::string state = job.status()["phase"].str() + "\n" + job.status()["message"].str();
  const bool over = views::is_over(job);
  bool row = false;
  {
    const MutexLock lock(state_->mutex);
    std::string& last = state_->last_state[uid];
    const auto known = state_->entries.find(uid);
    if (known != state_->entries.end() && last.empty()) {
      last = known->second.phase + "\n" + known->second.object["status"]["message"].str();
    }
    const bool changed = last != state;
    if (changed) {
      last = state;
      state_->enqueue({.entry = entry_of(job),
                       .event = HistoryEvent{.uid = uid,
                                             .phase = job.status()["phase"].str(),
                                             .message = job.status()["message"].str(),
                                             .at = format_micro_time(state_->clock.now())}});
    }
    HistoryEntry entry = over ? entry_of(job) : HistoryEntry{};
    // Links and results of an ended job may arrive after its phase.
    if (over && (known == state_->entries.end() || changed || known->second.completed.empty() ||
                 known->second.object != entry.object)) {
      state_->enqueue({.entry = entry});
      std::erase_if(state_->entries, [&](const auto& one) {
        return one.second.foreign && is_same_job(one.second, entry);
      });
      state_->entries.insert_or_assign(uid, std::move(entry));
      state_->cut_entries();
      state_->made.reset();
      row = true;
    }
  }
  state_->news.notify_all();
  if (row && state_->changed) {
    state_->changed();
  }
}

void History::gone(const Object& job) {
  see(job);
  const MutexLock lock(state_->mutex);
  state_->last_state.erase(std::string(job.uid()));
}

std::shared_ptr<const std::vector<Value>> History::rows() const {
  const MutexLock lock(state_->mutex);
  if (!state_->made) {
    auto rows = std::make_shared<std::vector<Value>>();
    rows->reserve(state_->entries.size());
    for (const auto& [uid, entry] : state_->entries) {
      rows->push_back(archived_row(entry));
    }
    state_->made = std::move(rows);
  }
  return state_->made;
}

std::vector<Object> History::since(std::string_view ns, Instant from) const {
  std::vector<std::pair<Instant, Object>> found;
  {
    const MutexLock lock(state_->mutex);
    for (const auto& [uid, entry] : state_->entries) {
      const auto created = parse_time(entry.created);
      if (entry.ns == ns && created && *created >= from) {
        found.emplace_back(*created, Object(entry.object));
      }
    }
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<Instant, Object>::first);
  std::vector<Object> jobs;
  jobs.reserve(found.size());
  for (auto& [created, job] : found) {
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<HistoryEntry> History::find(std::string_view ns, std::string_view name) const {
  std::vector<HistoryEntry> found;
  const MutexLock lock(state_->mutex);
  for (const auto& [uid, entry] : state_->entries) {
    if (entry.name == name && (ns.empty() || entry.ns == ns)) {
      found.push_back(entry);
    }
  }
  std::ranges::stable_sort(found, std::greater(), &HistoryEntry::created);
  return found;
}

std::vector<HistoryEvent> History::events(const std::string& uid) {
  std::vector<HistoryEvent> events;
  {
    const MutexLock lock(state_->store_mutex);
    events = state_->store->events(uid).value_or({});
  }
  const MutexLock lock(state_->mutex);
  for (const HistoryWrite& write : state_->queue) {
    // One that was written in between is in both.
    if (write.event && write.event->uid == uid &&
        (events.empty() || events.back().phase != write.event->phase)) {
      events.push_back(*write.event);
    }
  }
  return events;
}

Result<void> History::remove(const std::string& uid) {
  {
    const MutexLock lock(state_->mutex);
    if (!state_->entries.contains(uid)) {
      return Error::not_found("Job not found in history");
    }
  }
  {
    const MutexLock lock(state_->store_mutex);
    ATHANOR_TRY_VOID(state_->store->remove(uid));
  }
  {
    const MutexLock lock(state_->mutex);
    state_->entries.erase(uid);
    state_->made.reset();
  }
  if (state_->changed) {
    state_->changed();
  }
  return {};
}

void History::note(Value record) {
  {
    const MutexLock lock(state_->mutex);
    state_->enqueue({.audit = std::move(record)});
  }
  state_->news.notify_all();
}

std::vector<Value> History::audit(std::size_t most) {
  std::vector<Value> records;
  {
    const MutexLock lock(state_->mutex);
    for (auto write = state_->queue.rbegin(); write != state_->queue.rend(); ++write) {
      if (write->audit && records.size() < most) {
        records.push_back(*write->audit);
      }
    }
  }
  const MutexLock lock(state_->store_mutex);
  const auto stored = state_->store->audit(most - records.size());
  if (stored.ok()) {
    records.insert(records.end(), stored->begin(), stored->end());
  }
  return records;
}

void History::see_slice(const Object& claim) {
  {
    const MutexLock lock(state_->mutex);
    state_->enqueue_slices(state_->slices.see(claim, state_->clock.now()));
  }
  state_->news.notify_all();
}

void History::slice_gone(const Object& claim) {
  {
    const MutexLock lock(state_->mutex);
    state_->enqueue_slices(state_->slices.gone(claim, state_->clock.now()));
  }
  state_->news.notify_all();
}

void History::slices_listed(const std::set<std::string>& uids) {
  {
    const MutexLock lock(state_->mutex);
    state_->enqueue_slices(state_->slices.listed(uids, state_->clock.now()));
    state_->enqueue_slices(state_->slices.missed(state_->clock.now()));
  }
  state_->news.notify_all();
}

Result<std::vector<Value>> History::slice_changes(Instant from) {
  const std::string first = format_micro_time(from);
  std::vector<Value> queued;
  {
    const MutexLock lock(state_->mutex);
    SliceLog log = state_->slices;
    for (const HistoryWrite& write : state_->queue) {
      if (write.slice && log.is_news(*write.slice)) {
        log.stored(*write.slice);
        queued.push_back(*write.slice);
      }
    }
  }
  std::vector<Value> changes;
  {
    const MutexLock lock(state_->store_mutex);
    ATHANOR_TRY(changes, state_->store->slice_changes(first, kMostChanges));
  }
  for (Value& change : queued) {
    // One that was written in between is in both.
    if (change["at"].as_string() >= first && std::ranges::find(changes, change) == changes.end()) {
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

void History::cluster_gone(const Object& cluster) {
  {
    const MutexLock lock(state_->mutex);
    for (Value& ended : state_->locks.gone(cluster, state_->clock.now())) {
      state_->enqueue({.lock = std::move(ended)});
    }
  }
  state_->news.notify_all();
}

void History::see_cluster(const Object& cluster) {
  {
    const MutexLock lock(state_->mutex);
    if (auto record = state_->hardware.see(cluster, state_->clock.now())) {
      state_->enqueue({.hardware = *std::move(record)});
    }
    for (Value& repair : state_->repairs.see(cluster)) {
      state_->enqueue({.repair = std::move(repair)});
    }
    for (Value& held : state_->locks.see(cluster, state_->clock.now())) {
      state_->enqueue({.lock = std::move(held)});
    }
  }
  state_->news.notify_all();
}

void History::see_workload(const Object& workload) {
  {
    const MutexLock lock(state_->mutex);
    auto record = state_->evictions.see(workload, state_->clock.now());
    if (!record) {
      return;
    }
    state_->enqueue({.eviction = *std::move(record)});
  }
  state_->news.notify_all();
}

std::vector<Value> History::evictions(Instant from) const {
  const MutexLock lock(state_->mutex);
  return state_->evictions.since(format_time(from));
}

std::vector<Value> History::ended_locks(Instant from) const {
  const MutexLock lock(state_->mutex);
  return state_->locks.ended_since(format_time(from));
}

Result<std::map<std::string, std::vector<HistoryEvent>>> History::phases(Instant from) {
  std::vector<HistoryEvent> all;
  {
    const MutexLock lock(state_->store_mutex);
    ATHANOR_TRY(all, state_->store->phases(format_micro_time(from), kMostLoaded));
  }
  {
    const MutexLock lock(state_->mutex);
    for (const HistoryWrite& write : state_->queue) {
      if (write.event) {
        all.push_back(*write.event);
      }
    }
  }
  std::map<std::string, std::vector<HistoryEvent>> by_job;
  for (HistoryEvent& event : all) {
    std::vector<HistoryEvent>& events = by_job[event.uid];
    // One that was written in between is in both.
    if (events.empty() || events.back().phase != event.phase) {
      events.push_back(std::move(event));
    }
  }
  return by_job;
}

Value History::hardware(std::string_view cluster, Instant from) const {
  const MutexLock lock(state_->mutex);
  return state_->hardware.course(cluster, from, state_->clock.now());
}

std::vector<Value> History::repairs(Instant from) const {
  const MutexLock lock(state_->mutex);
  return state_->repairs.since(format_time(from));
}

void History::see_appwrapper(const Object& app) {
  {
    const MutexLock lock(state_->mutex);
    if (auto record = state_->appwrappers.see(app, state_->clock.now())) {
      state_->enqueue({.transition = *std::move(record)});
    }
  }
  state_->news.notify_all();
}

void History::appwrapper_gone(const Object& app) {
  const MutexLock lock(state_->mutex);
  state_->appwrappers.gone(app);
}

Result<std::vector<Value>> History::transitions(const std::string& uid) {
  std::vector<Value> queued;
  {
    const MutexLock lock(state_->mutex);
    for (const HistoryWrite& write : state_->queue) {
      if (write.transition && (*write.transition)["uid"].as_string() == uid) {
        queued.push_back(*write.transition);
      }
    }
  }
  std::vector<Value> all;
  {
    const MutexLock lock(state_->store_mutex);
    ATHANOR_TRY(all, state_->store->transitions(uid, kMostTransitions));
  }
  for (Value& record : queued) {
    // One that was written in between is in both.
    const bool known = !all.empty() && is_same_transition(all.back(), record);
    if (!known && std::ranges::find(all, record) == all.end()) {
      all.push_back(std::move(record));
    }
  }
  return all;
}

HistoryState History::state() const {
  const MutexLock lock(state_->mutex);
  return {.backend = state_->store->name(),
          .connected = state_->loaded && state_->error.empty(),
          .jobs = state_->entries.size(),
          .queued = state_->queue.size(),
          .followed = state_->last_state.size(),
          .lost = state_->lost,
          .error = state_->error};
}

}  // namespace athanor::console
