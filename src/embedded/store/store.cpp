// SPDX-License-Identifier: Apache-2.0
// The store in memory over a journal.
//
// commit_mutex_ orders the writers: they check, build and announce under it alone. mutex_ guards
// what readers see and is held exclusively only while finished events are applied.
#include "embedded/store/store.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "base/cancellation.hpp"
#include "base/contain.hpp"
#include "base/memory.hpp"
#include "base/mutex.hpp"
#include "embedded/store/durability.hpp"
#include "embedded/store/owner_index.hpp"
#include "embedded/store/table.hpp"
#include "kube/value/interner.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor::store {
namespace {

// Memory is given back once so many objects are deleted, in however long a time, or a few of them
// and then none for kQuietSweeps: each time costs milliseconds.
constexpr std::size_t kManyDeleted = 1000;
constexpr std::size_t kFewDeleted = 100;
constexpr int kQuietSweeps = 2;
constexpr Duration kSweepInterval = std::chrono::seconds(10);
constexpr std::size_t kFreezeAtLeast = 1024;  // objects
constexpr std::size_t kPackSize = 16'384;     // objects

Error expired(std::string message) {
  return {.code = 410, .reason = "Expired", .message = std::move(message)};
}

// `configmaps "a"`, as Kubernetes names an object in its storage errors (docs/spec/apiserver.md 6).
std::string quoted_name(const Write& write) {
  return write.resource + " \"" + write.key.name + "\"";
}

Result<void> check_expectation(const Write& write, const StoredPtr& current) {
  if (write.expected == Revision{0}) {
    if (current != nullptr) {
      return Error{.code = 409,
                   .reason = "AlreadyExists",
                   .message = quoted_name(write) + " already exists"};
    }
    return {};
  }
  if (current == nullptr && (write.expected || !write.body)) {
    return Error::not_found(quoted_name(write) + " not found");
  }
  if (write.expected && current->revision != *write.expected) {
    return Error::conflict("Operation cannot be fulfilled on " + quoted_name(write) +
                           ": the object has been modified; please apply your changes to the "
                           "latest version and try again");
  }
  return {};
}

// Refuses what could not be read back. An object that is too deep already may still change, so that
// it can be deleted.
Result<void> check_levels(const Write& write, const StoredPtr& current) {
  if (!write.body || !is_deeper_than(*write.body, kMaxObjectLevels)) {
    return {};
  }
  const bool was_deep = current != nullptr && is_deeper_than(current->body, kMaxObjectLevels);
  if (was_deep && !is_deeper_than(*write.body, kMaxRowLevels)) {
    return {};
  }
  return Error::bad_request(quoted_name(write) + " is nested deeper than " +
                            std::to_string(kMaxObjectLevels) + " levels");
}

// `interner`: null where nothing is shared.
EventPtr make_event(const Write& write, const StoredPtr& current, Revision revision, Instant now,
                    Interner* interner) {
  auto object = std::make_shared<Stored>();
  object->resource = write.resource;
  object->key = write.key;
  object->revision = revision;
  object->body = write.body ? *write.body : current ? current->body : Value();
  object->body.set_path({"metadata", "resourceVersion"}, std::to_string(revision));
  // What is packed soon shares its texts there.
  if (interner != nullptr && write.body && !is_volatile(write.resource)) {
    object->body = interner->intern(object->body, current ? current->body : Value());
  }
  auto event = std::make_shared<Event>();
  event->type = !write.body          ? Event::Type::Deleted
                : current == nullptr ? Event::Type::Added
                                     : Event::Type::Modified;
  event->revision = revision;
  event->object = std::move(object);
  event->previous = current;
  event->time = now;
  return event;
}

class MemoryStore final : public Store {
 public:
  MemoryStore(std::unique_ptr<Journal> journal, const Options& options,
              const Journal::Recovered& recovered)
      : options_(options),
        journal_(std::move(journal)),
        interner_(options.intern ? std::make_unique<Interner>() : nullptr),
        revision_(recovered.revision),
        start_(recovered.revision),
        oldest_(recovered.revision),
        durability_(recovered.revision) {
    for (const StoredPtr& object : recovered.objects) {
      owners_.update(object->resource, object->key, {}, object->body);
      auto shared = std::make_shared<Stored>(*object);
      if (interner_ != nullptr && !is_volatile(object->resource)) {
        shared->body = interner_->intern(object->body, {});
      }
      table_of(object->resource).load(std::move(shared));
    }
  }
  ~MemoryStore() override { shut(); }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  [[nodiscard]] Revision revision() const override { return revision_.load(); }
  [[nodiscard]] Revision durable_revision() const override { return durability_.revision(); }
  void when_durable(Revision revision, std::function<void(Result<void>)> done) override {
    durability_.when(revision, std::move(done));
  }

  [[nodiscard]] StoredPtr get(std::string_view resource, const Key& key) const override;
  [[nodiscard]] Result<Page> list(std::string_view resource,
                                  const ListOptions& options) const override;
  [[nodiscard]] std::vector<StoredPtr> owned_by(std::string_view uid) const override;
  [[nodiscard]] std::size_t count(std::string_view resource, std::string_view ns) const override;
  [[nodiscard]] std::vector<std::string> resources() const override;
  Result<std::vector<StoredPtr>> commit(std::span<const Write> writes, Instant now) override;
  [[nodiscard]] Result<std::vector<EventPtr>> events_after(std::string_view resource,
                                                           Revision after,
                                                           std::size_t limit) const override;
  [[nodiscard]] Revision oldest_revision() const override;
  [[nodiscard]] std::shared_ptr<void> listen(Listener listener) override {
    return listeners_.add(std::move(listener));
  }
  [[nodiscard]] std::shared_ptr<void> listen_durable(
      std::function<void(Revision)> listener) override {
    return durability_.listen(std::move(listener));
  }
  void trim(Instant now) override;
  [[nodiscard]] Result<void> writable() const override { return journal_->writable(); }
  void close() override { shut(); }

 private:
  struct Logged {
    EventPtr event{};
    Table* table = nullptr;
    std::size_t bytes = 0;
  };
  // Events of one resource that memory no longer holds, and the revision up to which they reach.
  struct Past {
    std::vector<EventPtr> events{};
    Revision until = 0;
  };

  [[nodiscard]] const Table* find_table(std::string_view resource) const
      ATHANOR_REQUIRES_SHARED(mutex_);
  Table& table_of(const std::string& resource) ATHANOR_REQUIRES(mutex_) {
    return tables_.try_emplace(resource, options_.hash).first->second;
  }
  [[nodiscard]] Result<std::vector<EventPtr>> stage(std::span<const Write> writes, Instant now)
      ATHANOR_REQUIRES(commit_mutex_);
  void apply(const std::vector<EventPtr>& events, std::vector<EventPtr>& dropped)
      ATHANOR_REQUIRES(commit_mutex_, mutex_);
  // Forgets what memory holds beyond the limits; the caller frees it, outside the lock.
  void shrink(std::size_t events, std::size_t bytes, std::vector<EventPtr>& dropped)
      ATHANOR_REQUIRES(mutex_);
  void drop_oldest(std::vector<EventPtr>& dropped) ATHANOR_REQUIRES(mutex_);
  // Under no lock. Nothing when memory reaches back to `after`.
  [[nodiscard]] Result<Past> read_past(std::string_view resource, Revision after) const;
  [[nodiscard]] Error too_old(Revision revision) const;
  // Packs volatile objects (Events) whose writing is no news any more: when there are enough of
  // them, or all.
  void freeze(bool all);
  struct Sweep {
    bool due = false;      // interned parts that no object has any more may go
    bool emptied = false;  // so much was deleted that memory can be given back
  };
  [[nodiscard]] Sweep next_sweep(Instant now);
  void shut();

  const Options options_;
  const std::unique_ptr<Journal> journal_;
  Mutex commit_mutex_{};  // held before mutex_
  bool closed_ ATHANOR_GUARDED_BY(commit_mutex_) = false;
  std::unique_ptr<Interner> interner_
      ATHANOR_PT_GUARDED_BY(commit_mutex_);  // null: Options::intern is off
  Instant swept_ ATHANOR_GUARDED_BY(commit_mutex_){};
  // Objects deleted since memory was given back, and how many of them the last sweep knew.
  std::size_t deleted_ ATHANOR_GUARDED_BY(commit_mutex_) = 0;
  std::size_t deleted_then_ ATHANOR_GUARDED_BY(commit_mutex_) = 0;
  int quiet_ ATHANOR_GUARDED_BY(commit_mutex_) = 0;  // sweeps in a row without a deletion

  mutable SharedMutex mutex_{};
  std::atomic<Revision> revision_;
  const Revision start_;
  std::atomic<Revision> oldest_;                         // memory has the events behind it
  Revision exact_floor_ ATHANOR_GUARDED_BY(mutex_) = 0;  // older states are not listed any more
  std::deque<std::pair<Instant, Revision>> samples_
      ATHANOR_GUARDED_BY(mutex_){};  // of the time that history covers
  std::map<std::string, Table, std::less<>> tables_
      ATHANOR_GUARDED_BY(mutex_){};  // entries are never erased
  OwnerIndex owners_ ATHANOR_GUARDED_BY(mutex_){};
  std::deque<Logged> log_ ATHANOR_GUARDED_BY(mutex_){};
  std::size_t log_bytes_ ATHANOR_GUARDED_BY(mutex_) = 0;

  Durability durability_;
  Listeners<std::span<const EventPtr>> listeners_{};
};

const Table* MemoryStore::find_table(std::string_view resource) const {
  const auto it = tables_.find(resource);
  return it == tables_.end() ? nullptr : &it->second;
}

StoredPtr MemoryStore::get(std::string_view resource, const Key& key) const {
  const ReadLock lock(mutex_);
  const Table* table = find_table(resource);
  return table == nullptr ? nullptr : table->get(key);
}

Result<Page> MemoryStore::list(std::string_view resource, const ListOptions& options) const {
  Past past;
  if (options.exactly && *options.exactly < oldest_.load()) {
    if (auto found = read_past(resource, *options.exactly); found.ok()) {
      past = *std::move(found);
    } else if (found.error().code != 410) {
      return found.error();
    }
  }
  const ReadLock lock(mutex_);
  const Revision now = revision_.load();
  if (options.exactly && *options.exactly > now) {
    return Error{.code = 504,
                 .reason = "Timeout",
                 .message = "Timeout: Too large resource version: " +
                            std::to_string(*options.exactly) + ", current: " + std::to_string(now)};
  }
  if (options.exactly && (*options.exactly < exact_floor_ ||
                          std::max(*options.exactly, past.until) < oldest_.load())) {
    return expired("The resourceVersion for the provided list is too old.");
  }
  const Table* table = find_table(resource);
  Page page = table == nullptr ? Page() : table->list(options, past.events);
  page.revision = options.exactly.value_or(now);
  return page;
}

Error MemoryStore::too_old(Revision revision) const {
  return expired("too old resource version: " + std::to_string(revision) + " (" +
                 std::to_string(oldest_revision()) + ")");
}

Result<MemoryStore::Past> MemoryStore::read_past(std::string_view resource, Revision after) const {
  // Objects that a restart forgets have no past behind it.
  if (is_volatile(resource) && after < start_) {
    return too_old(after);
  }
  Past past{.events = {}, .until = after};
  // Again when memory forgot more meanwhile; what it forgets is on the disk.
  for (Revision oldest = oldest_.load(); past.until < oldest; oldest = oldest_.load()) {
    auto events = journal_->read(resource, past.until, oldest);
    if (!events.ok()) {
      return events.error().code == 410 ? too_old(after) : events.error();
    }
    past.events.insert(past.events.end(), events->begin(), events->end());
    past.until = oldest;
  }
  return past;
}

std::vector<StoredPtr> MemoryStore::owned_by(std::string_view uid) const {
  const ReadLock lock(mutex_);
  std::vector<StoredPtr> owned;
  if (const auto* entries = owners_.find(uid)) {
    owned.reserve(entries->size());
    for (const auto& [resource, key] : *entries) {
      owned.push_back(find_table(resource)->get(key));
    }
  }
  return owned;
}

std::size_t MemoryStore::count(std::string_view resource, std::string_view ns) const {
  const ReadLock lock(mutex_);
  const Table* table = find_table(resource);
  return table == nullptr ? 0 : table->count(ns);
}

std::vector<std::string> MemoryStore::resources() const {
  const ReadLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) {
    if (table.count("") != 0) {
      names.push_back(name);
    }
  }
  return names;
}

Result<std::vector<EventPtr>> MemoryStore::stage(std::span<const Write> writes, Instant now) {
  std::vector<EventPtr> events;
  events.reserve(writes.size());
  Revision revision = revision_.load();
  for (const Write& write : writes) {
    StoredPtr current;
    {
      const ReadLock lock(mutex_);  // freeze() changes tables without commit_mutex_
      const Table* table = find_table(write.resource);
      current = table == nullptr ? nullptr : table->get(write.key);
    }
    for (const EventPtr& event : events) {  // earlier writes of the same transaction
      if (event->object->key == write.key && event->object->resource == write.resource) {
        current = event->type == Event::Type::Deleted ? nullptr : event->object;
      }
    }
    ATHANOR_TRY_VOID(check_expectation(write, current));
    ATHANOR_TRY_VOID(check_levels(write, current));
    events.push_back(make_event(write, current, ++revision, now, interner_.get()));
  }
  return events;
}

void MemoryStore::apply(const std::vector<EventPtr>& events, std::vector<EventPtr>& dropped) {
  static const Value kNothing;
  for (const EventPtr& event : events) {
    const Stored& object = *event->object;
    Table& table = table_of(object.resource);
    table.apply(event);
    const bool deleted = event->type == Event::Type::Deleted;
    owners_.update(object.resource, object.key,
                   event->previous == nullptr ? kNothing : event->previous->body,
                   deleted ? kNothing : object.body);
    const bool counted =
        journal_->reach() || options_.window_bytes != std::numeric_limits<std::size_t>::max();
    log_.push_back(
        {.event = event, .table = &table, .bytes = counted ? object.body.heap_bytes() : 0});
    log_bytes_ += log_.back().bytes;
    deleted_ += deleted ? 1 : 0;
  }
  revision_.store(events.back()->revision);
  if (journal_->reach()) {
    shrink(options_.recent_events, options_.recent_bytes, dropped);
  } else {
    shrink(options_.event_window, options_.window_bytes, dropped);
  }
}

void MemoryStore::shrink(std::size_t events, std::size_t bytes, std::vector<EventPtr>& dropped) {
  const auto reach = journal_->reach();
  while (log_.size() > events || (log_bytes_ > bytes && log_.size() > 1)) {
    if (reach && log_.front().event->revision > reach->newest) {
      break;  // not on the disk yet
    }
    drop_oldest(dropped);
  }
}

void MemoryStore::drop_oldest(std::vector<EventPtr>& dropped) {
  Logged& oldest = log_.front();
  oldest_ = oldest.event->revision;
  log_bytes_ -= oldest.bytes;
  oldest.table->drop_oldest();
  dropped.push_back(std::move(oldest.event));
  log_.pop_front();
}

Result<std::vector<StoredPtr>> MemoryStore::commit(std::span<const Write> writes, Instant now) {
  if (auto writable = journal_->writable(); !writable.ok()) {
    return Error::internal("the store cannot be written: " + writable.error().message);
  }
  std::vector<EventPtr> dropped;  // freed last, under no lock
  const MutexLock order(commit_mutex_);
  if (closed_) {
    return Error::unavailable("the store is closed");
  }
  ATHANOR_TRY(const auto events, stage(writes, now));
  if (events.empty()) {
    return std::vector<StoredPtr>();
  }
  const Indivisible whole;  // half of it in tables, log and journal would be another store
  const CancellationScope to_its_end(nullptr);
  {
    const MutexLock lock(mutex_);
    apply(events, dropped);
  }
  listeners_.call(events);
  const Revision revision = events.back()->revision;
  journal_->append(revision, events, [this, revision](const Result<void>& outcome) {
    durability_.settle(revision, outcome);
  });
  std::vector<StoredPtr> stored;
  stored.reserve(events.size());
  for (const EventPtr& event : events) {
    stored.push_back(event->object);
  }
  return stored;
}

Result<std::vector<EventPtr>> MemoryStore::events_after(std::string_view resource, Revision after,
                                                        std::size_t limit) const {
  ATHANOR_TRY(Past past, read_past(resource, after));
  const ReadLock lock(mutex_);
  if (past.until < oldest_.load()) {
    return too_old(after);  // so far behind that memory forgets faster than the disk is read
  }
  std::vector<EventPtr> events = std::move(past.events);
  if (const Table* table = find_table(resource)) {
    const auto recent = table->events_after(past.until, limit);
    events.insert(events.end(), recent.begin(), recent.end());
  }
  if (limit != 0 && events.size() > limit) {
    events.resize(limit);
  }
  return events;
}

Revision MemoryStore::oldest_revision() const {
  const auto reach = journal_->reach();
  return reach ? std::min(reach->oldest, oldest_.load()) : oldest_.load();
}

void MemoryStore::trim(Instant now) {
  journal_->trim(now);
  const Sweep sweep = next_sweep(now);
  std::vector<EventPtr> dropped;
  {
    const MutexLock lock(mutex_);
    samples_.emplace_back(now, revision_.load());
    while (samples_.front().first + options_.history < now) {
      exact_floor_ = samples_.front().second;
      samples_.pop_front();
    }
    while (!journal_->reach() && log_.size() > options_.event_minimum &&
           log_.front().event->time + options_.history < now) {
      drop_oldest(dropped);
    }
    if (sweep.emptied && journal_->reach()) {
      shrink(0, 0, dropped);  // the disk has them
    }
  }
  dropped.clear();
  freeze(sweep.emptied);
  if (sweep.due && interner_ != nullptr) {
    const MutexLock order(commit_mutex_);
    interner_->sweep();
  }
  if (sweep.emptied) {
    memory::give_back();  // else the process stays as large as it ever was
  }
}

MemoryStore::Sweep MemoryStore::next_sweep(Instant now) {
  const MutexLock order(commit_mutex_);
  if (now - swept_ < kSweepInterval) {
    return {};
  }
  swept_ = now;
  quiet_ = std::exchange(deleted_then_, deleted_) == deleted_ ? quiet_ + 1 : 0;
  const bool emptied =
      deleted_ > kManyDeleted || (deleted_ >= kFewDeleted && quiet_ >= kQuietSweeps);
  if (emptied) {
    deleted_ = 0;
    deleted_then_ = 0;
  }
  return {.due = true, .emptied = emptied};
}

void MemoryStore::freeze(bool all) {
  std::vector<std::pair<Table*, std::vector<StoredPtr>>> found;
  {
    const ReadLock lock(mutex_);
    for (auto& [resource, table] : tables_) {
      if (!is_volatile(resource)) {
        continue;
      }
      auto objects = table.unpacked(oldest_.load());
      // At least a share of what is packed already: merging costs as much as all of it.
      const std::size_t enough = all ? 1 : std::max(kFreezeAtLeast, table.packed_count() / 16);
      if (objects.size() >= enough) {
        found.emplace_back(&table, std::move(objects));
      }
    }
  }
  for (const auto& [table, objects] : found) {
    for (std::size_t at = 0; at < objects.size(); at += kPackSize) {
      const auto some = std::span(objects).subspan(at, std::min(kPackSize, objects.size() - at));
      const auto pack = std::make_shared<const Pack>(some);
      const MutexLock lock(mutex_);
      table->freeze(pack, some);
    }
  }
}

void MemoryStore::shut() {
  {
    const MutexLock order(commit_mutex_);
    if (std::exchange(closed_, true)) {
      return;
    }
  }
  journal_->close();  // under no lock: it runs the callbacks of those who still wait
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Journal> journal,
                                           const Options& options) {
  ATHANOR_TRY(const auto recovered, journal->recover());
  return std::unique_ptr<Store>(
      std::make_unique<MemoryStore>(std::move(journal), options, recovered));
}

std::string resource_name(std::string_view plural, std::string_view group) {
  std::string name(plural);
  if (!group.empty()) {
    name += '.';
    name += group;
  }
  return name;
}

}  // namespace athanor::store
