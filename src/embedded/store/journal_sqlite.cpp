// SPDX-License-Identifier: Apache-2.0
// The SQLite journal: recovery, the writer thread, retries after failures, reading the past.
#include "embedded/store/journal_sqlite.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/store/revision_mark.hpp"
#include "embedded/store/rows.hpp"
#include "embedded/store/salvage.hpp"
#include "embedded/store/sqlite.hpp"
#include "embedded/store/store_check.hpp"
#include "kube/text/json.hpp"

namespace athanor::store {
namespace {

constexpr Revision kUncleanJump = 1'000'000;
// Revisions of commits without rows (Events) are noted on disk this often; far below the jump.
constexpr Revision kRevisionSlack = 100'000;
constexpr std::size_t kGroupLimit = 4096;                  // commits in one transaction
constexpr int kCheckpointPages = 2048;                     // 8 MiB of log
constexpr std::size_t kLogStep = std::size_t{1} << 20;     // bytes by which its file grows
constexpr std::size_t kLogLimit = std::size_t{12} << 20;   // bytes that it keeps
constexpr std::size_t kNamedKeys = 10;                     // in the error of damaged rows
constexpr std::int64_t kFormat = 2;                        // 1: without history
constexpr std::size_t kPruneStep = std::size_t{64} << 10;  // bytes of history
constexpr std::size_t kPendingLimit = 2'000;               // events that wait for no disk
constexpr std::size_t kRowBytes = std::size_t{256} << 10;  // of history, but for the last event
// How long an acknowledged revision may be missing from the mark on the disk after a loss of power.
constexpr auto kMarkLag = std::chrono::milliseconds(20);
constexpr auto kIdle = std::chrono::seconds(1);  // without commits until the log is copied

struct Commit {
  Revision revision = 0;
  std::vector<EventPtr> events{};
  std::function<void(Result<void>)> done{};
};

class SqliteJournal final : public Journal {
 public:
  explicit SqliteJournal(SqliteOptions options) : options_(std::move(options)) {}
  // NOLINTNEXTLINE(bugprone-exception-escape): only out of memory throws there, and then it ends
  ~SqliteJournal() override { shut(); }
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  Result<Recovered> recover() override;
  void append(Revision revision, std::span<const EventPtr> events,
              std::function<void(Result<void>)> done) override;
  Result<void> writable() override;
  void close() override { shut(); }
  [[nodiscard]] std::optional<Reach> reach() const override {
    return Reach{.oldest = oldest_.load(), .newest = newest_.load()};
  }
  [[nodiscard]] Result<std::vector<EventPtr>> read(std::string_view resource, Revision after,
                                                   Revision until) override;
  void trim(Instant now) override { now_.store(now); }

 private:
  // Recovery, on the caller's thread.
  Result<void> prepare_database();
  Result<void> prepare_statements();
  Result<std::vector<StoredPtr>> load_objects();
  Result<void> load_history(const Recovered& recovered, bool fresh);
  Result<void> check_not_emptied();
  Result<bool> lost_writes(Revision newest) const;
  Result<void> mend();
  Result<Recovered> open_whole();
  Result<void> forget_history();
  Result<std::int64_t> read_meta(std::string_view name);
  Result<void> write_meta(std::string_view name, std::int64_t number);

  // The writer thread.
  void run();
  void sync_mark();
  [[nodiscard]] bool wait_for_work();
  void retry_after_failure();
  void write_group(std::deque<Commit> group);
  // Writes what is pending and the revision in one transaction.
  Result<void> flush(bool clean);
  Result<void> write_pending();
  Result<void> write_history(std::size_t begin, std::size_t end);
  Result<void> write_objects(std::size_t begin, std::size_t end,
                             const std::unordered_map<std::string, std::size_t>& newest);
  Result<void> prune_history();
  [[nodiscard]] bool flush_needed() const;
  [[nodiscard]] bool has_row(const Event& event) const;
  void settle(std::deque<Commit>& group, const Result<void>& outcome);
  void shut();

  const SqliteOptions options_;
  Database database_{};
  Statement put_{};
  Statement remove_{};
  Statement put_meta_{};
  Statement put_history_{};
  Statement prune_history_{};

  // Owned by the writer thread.
  RevisionMark mark_{};
  std::chrono::steady_clock::time_point mark_synced_{};
  std::vector<EventPtr> pending_{};           // not on disk yet, in order
  bool rows_pending_ = false;                 // some of them change rows of objects
  HistoryWriter row_{};                       // of some of the pending events
  std::vector<HistoryIndex::Row> written_{};  // by the transaction under way
  HistoryIndex index_{};
  Revision begin_ = 0;     // the history holds all events behind it, but for those pruned
  Revision revision_ = 0;  // of the newest commit seen
  Revision revision_on_disk_ = 0;
  std::function<void(Result<void>)> failed_done_{};  // of the newest failed commit

  std::atomic<Revision> oldest_{0};  // of the history
  std::atomic<Revision> newest_{0};
  std::atomic<Instant> now_{};  // by the last trim()
  Mutex reader_mutex_{};        // guards the connection of those who read the past
  Database reader_ ATHANOR_GUARDED_BY(reader_mutex_){};

  Mutex mutex_{};
  ConditionVariable work_{};
  std::deque<Commit> queue_ ATHANOR_GUARDED_BY(mutex_){};
  std::optional<Error> failure_ ATHANOR_GUARDED_BY(mutex_){};
  bool open_ ATHANOR_GUARDED_BY(mutex_) = false;
  bool stopping_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::thread thread_{};
};

Result<std::int64_t> SqliteJournal::read_meta(std::string_view name) {
  ATHANOR_TRY(auto statement, database_.prepare("SELECT value FROM meta WHERE name = ?1"));
  statement.bind_text(1, name);
  ATHANOR_TRY(const bool found, statement.step());
  return found ? statement.integer(0) : std::int64_t{0};
}

Result<void> SqliteJournal::write_meta(std::string_view name, std::int64_t number) {
  put_meta_.bind_text(1, name);
  put_meta_.bind_integer(2, number);
  ATHANOR_TRY([[maybe_unused]] const bool row, put_meta_.step());
  return {};
}

Result<void> SqliteJournal::prepare_database() {
  ATHANOR_TRY(database_, Database::open(options_.path));
  database_.keep_log(true);  // a start that is refused leaves the files as they are
  database_.take_over_checkpoints();
  ATHANOR_TRY_VOID(database_.execute("PRAGMA journal_mode=WAL"));
  ATHANOR_TRY_VOID(database_.execute("PRAGMA journal_size_limit=" + std::to_string(kLogLimit)));
  ATHANOR_TRY_VOID(
      database_.execute(options_.sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF"));
  if (options_.max_pages > 0) {
    ATHANOR_TRY_VOID(
        database_.execute("PRAGMA max_page_count=" + std::to_string(options_.max_pages)));
  }
  ATHANOR_TRY_VOID(check_tables(database_, options_.path));
  // With a rowid: an object of a few KiB then lies in its page, where a WITHOUT ROWID table moves
  // everything above 1 KiB to overflow pages (233 instead of 105 MB for 50,000 objects).
  ATHANOR_TRY_VOID(database_.execute(
      "CREATE TABLE IF NOT EXISTS object(key TEXT PRIMARY KEY NOT NULL, rv INTEGER NOT NULL,"
      " sum INTEGER NOT NULL, body BLOB NOT NULL);"
      "CREATE TABLE IF NOT EXISTS history(rv INTEGER PRIMARY KEY, time INTEGER NOT NULL,"
      " events INTEGER NOT NULL, sum INTEGER NOT NULL, body BLOB NOT NULL);"
      "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID"));
  return prepare_statements();
}

Result<void> SqliteJournal::prepare_statements() {
  ATHANOR_TRY(put_,
              database_.prepare("INSERT INTO object(key, rv, sum, body) VALUES(?1, ?2, ?3, ?4)"
                                " ON CONFLICT(key) DO UPDATE SET rv = excluded.rv,"
                                " sum = excluded.sum, body = excluded.body"));
  ATHANOR_TRY(remove_, database_.prepare("DELETE FROM object WHERE key = ?1"));
  ATHANOR_TRY(put_meta_,
              database_.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)"));
  ATHANOR_TRY(put_history_,
              database_.prepare("INSERT OR REPLACE INTO history(rv, time, events, sum, body)"
                                " VALUES(?1, ?2, ?3, ?4, ?5)"));
  ATHANOR_TRY(prune_history_, database_.prepare("DELETE FROM history WHERE rv <= ?1"));
  return {};
}

Result<std::vector<StoredPtr>> SqliteJournal::load_objects() {
  ATHANOR_TRY(auto rows, database_.prepare("SELECT key, rv, sum, body FROM object"));
  std::vector<StoredPtr> objects;
  std::vector<std::string> damaged;
  while (true) {
    auto more = rows.step();
    if (!more.ok()) {
      return more.error().with_context(
          objects.empty() ? options_.path : options_.path + ": behind " + row_key(*objects.back()));
    }
    if (!*more) {
      break;
    }
    const auto revision = static_cast<Revision>(rows.integer(1));
    auto object = read_row(rows.bytes(0), revision, rows.integer(2), rows.bytes(3));
    if (object.ok()) {
      objects.push_back(*std::move(object));
    } else {
      damaged.push_back(std::string(rows.bytes(0)) + " (" + object.error().message + ")");
    }
  }
  rows = {};
  if (damaged.empty()) {
    ATHANOR_TRY_VOID(check_count(database_, options_.path, objects.size()));
    return objects;
  }
  std::string message =
      options_.path + ": " + std::to_string(damaged.size()) + " stored objects are damaged: ";
  for (std::size_t i = 0; i < std::min(damaged.size(), kNamedKeys); ++i) {
    message += (i == 0 ? "" : ", ") + damaged[i];
  }
  message += damaged.size() > kNamedKeys ? ", ..." : "";
  message += "; athanor up --repair salvages all others";
  return Error{.code = 500, .reason = "DataCorrupted", .message = std::move(message)};
}

// No watch may continue over a loss.
Result<void> SqliteJournal::forget_history() {
  return database_.execute("DELETE FROM history; DELETE FROM meta WHERE name = 'begin'");
}

// Refuses a database without content beside a mark, before SQLite removes its write-ahead log.
Result<void> SqliteJournal::check_not_emptied() {
  std::error_code none;
  const auto size = std::filesystem::file_size(options_.path, none);
  if ((!none && size > 0) || !std::filesystem::exists(options_.path + "-wal", none)) {
    return {};
  }
  ATHANOR_TRY([[maybe_unused]] const bool lost, lost_writes(0));
  return {};
}

// Returns true when acknowledged writes behind `newest` are gone and the start goes on without
// them; an error when it must not.
Result<bool> SqliteJournal::lost_writes(Revision newest) const {
  const auto& noted = mark_.last();
  if (!noted || noted->revision <= newest) {
    return false;
  }
  if (!options_.repair && noted->synced) {
    return Error{
        .code = 500,
        .reason = "DataCorrupted",
        .message = options_.path + ": its newest revision is " + std::to_string(newest) +
                   ", but writes up to revision " + std::to_string(noted->revision) +
                   " were acknowledged: the database or its write-ahead log was damaged, emptied "
                   "or replaced by an older copy; restore a backup, or " +
                   options_.way_out};
  }
  log::warn("acknowledged writes are lost",
            {{"newest", newest}, {"acknowledged", noted->revision}});
  return true;
}

// What the history reaches back to. A database without one (format 1, restored) starts it here.
Result<void> SqliteJournal::load_history(const Recovered& recovered, bool fresh) {
  ATHANOR_TRY(auto rows, database_.prepare("SELECT rv, time, events, length(body) FROM history"
                                           " ORDER BY rv"));
  while (true) {
    ATHANOR_TRY(const bool more, rows.step());
    if (!more) {
      break;
    }
    index_.add({.newest = static_cast<Revision>(rows.integer(0)),
                .events = static_cast<std::uint32_t>(rows.integer(2)),
                .bytes = static_cast<std::uint32_t>(rows.integer(3)),
                .time = Instant(Duration(rows.integer(1)))});
  }
  ATHANOR_TRY(const std::int64_t begin, read_meta("begin"));
  ATHANOR_TRY(const std::int64_t pruned, read_meta("pruned"));
  if (begin != 0) {
    begin_ = static_cast<Revision>(begin - 1);  // 0 means none
  } else if (!fresh) {
    begin_ = recovered.revision;
  }
  oldest_ = std::max(begin_, static_cast<Revision>(pruned));
  newest_ = recovered.revision;
  {
    const MutexLock lock(reader_mutex_);
    ATHANOR_TRY(reader_, Database::open(options_.path));
  }
  return write_meta("begin", static_cast<std::int64_t>(begin_ + 1));
}

// Puts a new database into the place of a damaged one, from what is readable of it. Before SQLite
// opens it: that would remove a log that it cannot use.
Result<void> SqliteJournal::mend() {
  std::optional<Revision> acknowledged;
  if (!options_.mark.empty()) {
    ATHANOR_TRY(const RevisionMark mark, RevisionMark::open(options_.mark));
    if (mark.last()) {
      acknowledged = mark.last()->revision;
    }
  }
  const auto whole = check_whole(options_.path, acknowledged);
  if (whole.ok()) {
    return {};
  }
  log::warn("the store is damaged", {{"error", whole.error().message}});
  ATHANOR_TRY(const Salvaged salvaged, salvage(options_.path));
  tell(salvaged, options_.path);
  return {};
}

Result<Journal::Recovered> SqliteJournal::recover() {
  if (options_.repair) {
    ATHANOR_TRY_VOID(mend());
  }
  return open_whole();
}

Result<Journal::Recovered> SqliteJournal::open_whole() {
  if (!options_.mark.empty()) {
    ATHANOR_TRY(mark_, RevisionMark::open(options_.mark));
    if (mark_.damaged()) {
      log::warn("the mark of acknowledged revisions cannot be read; lost writes go unnoticed once",
                {{"file", options_.mark}});
    }
    ATHANOR_TRY_VOID(check_not_emptied());
  }
  ATHANOR_TRY_VOID(prepare_database());
  ATHANOR_TRY(const std::int64_t format, read_meta("format"));
  if (format < 0 || format > kFormat) {
    return Error::internal(options_.path + ": its format " + std::to_string(format) +
                           " is not known; this program reads formats up to " +
                           std::to_string(kFormat));
  }
  Recovered recovered;
  ATHANOR_TRY(recovered.objects, load_objects());
  ATHANOR_TRY(const std::int64_t noted, read_meta("rv"));
  ATHANOR_TRY(const std::int64_t clean, read_meta("clean"));
  recovered.revision = static_cast<Revision>(noted);
  for (const StoredPtr& object : recovered.objects) {
    recovered.revision = std::max(recovered.revision, object->revision);
  }
  ATHANOR_TRY(const bool lost, lost_writes(recovered.revision));
  if (lost) {
    recovered.revision = mark_.last()->revision + kUncleanJump;
    ATHANOR_TRY_VOID(forget_history());
  } else if (format != 0 && clean == 0) {
    recovered.revision += kUncleanJump;
    log::warn("the last run did not end cleanly; revisions continue above a gap",
              {{"revision", recovered.revision}});
  }
  revision_ = recovered.revision;
  ATHANOR_TRY_VOID(load_history(recovered, format == 0 && !lost));
  ATHANOR_TRY_VOID(write_meta("format", kFormat));
  ATHANOR_TRY_VOID(flush(/*clean=*/false));
  database_.keep_log(false);
  const MutexLock lock(mutex_);
  open_ = true;
  thread_ = std::thread([this] { run(); });
  return recovered;
}

Result<std::vector<EventPtr>> SqliteJournal::read(std::string_view resource, Revision after,
                                                  Revision until) {
  const Error gone{.code = 410, .reason = "Expired", .message = "the history is gone"};
  const MutexLock lock(reader_mutex_);
  if (after < oldest_.load()) {
    return gone;
  }
  HistoryReader reader(resource, after, until);
  ATHANOR_TRY(auto rows,
              reader_.prepare("SELECT rv, sum, body FROM history WHERE rv > ?1 ORDER BY rv"));
  rows.bind_integer(1, static_cast<std::int64_t>(reader.start()));
  while (true) {
    ATHANOR_TRY(const bool more, rows.step());
    if (!more) {
      break;
    }
    const auto revision = static_cast<Revision>(rows.integer(0));
    if (row_checksum("", revision, rows.bytes(2)) != rows.integer(1)) {
      log::error("a row of the history is damaged", {{"revision", revision}});
      return gone;
    }
    if (auto added = reader.add(rows.bytes(2)); !added.ok()) {
      log::error("the history cannot be read", {{"error", added.error().message}});
      return gone;
    }
    if (revision >= until) {
      break;
    }
  }
  if (after < oldest_.load()) {
    return gone;  // pruned meanwhile
  }
  return reader.take();
}

void SqliteJournal::append(Revision revision, std::span<const EventPtr> events,
                           std::function<void(Result<void>)> done) {
  {
    const MutexLock lock(mutex_);
    if (open_ && !stopping_) {
      Commit& commit = queue_.emplace_back();
      commit.revision = revision;
      commit.events.assign(events.begin(), events.end());
      commit.done = std::move(done);
      work_.notify_one();
      return;
    }
  }
  done(Error::unavailable("the journal is closed"));
}

Result<void> SqliteJournal::writable() {
  const MutexLock lock(mutex_);
  if (failure_) {
    return *failure_;
  }
  return {};
}

void SqliteJournal::run() {
  while (wait_for_work()) {
    std::deque<Commit> group;
    {
      const MutexLock lock(mutex_);
      if (queue_.size() <= kGroupLimit) {
        group.swap(queue_);
      } else {
        const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(kGroupLimit);
        std::move(queue_.begin(), end, std::back_inserter(group));
        queue_.erase(queue_.begin(), end);
      }
    }
    if (group.empty()) {
      retry_after_failure();
      continue;
    }
    write_group(std::move(group));
    if (std::chrono::steady_clock::now() - mark_synced_ > kMarkLag) {
      sync_mark();
    }
    if (database_.log_pages() > kCheckpointPages) {
      database_.checkpoint(Database::Checkpoint::Passive);
    }
    if (options_.sync) {
      database_.reserve_log(kLogStep);
    }
  }
}

// True: look at the queue, which is empty when it is time to retry. False: stop.
bool SqliteJournal::wait_for_work() {
  MutexLock lock(mutex_);
  const auto work = [this]() ATHANOR_REQUIRES(mutex_) { return !queue_.empty() || stopping_; };
  if (failure_) {
    work_.wait_for(lock, options_.probe_interval, work);
    return !queue_.empty() || !stopping_;
  }
  if (mark_.unsynced() && !work_.wait_for(lock, kMarkLag, work)) {
    lock.unlock();
    sync_mark();
    lock.lock();
  }
  if (!work_.wait_for(lock, kIdle, work)) {
    lock.unlock();
    if (!pending_.empty()) {
      retry_after_failure();
    }
    if (database_.log_pages() > 0) {
      database_.checkpoint(Database::Checkpoint::Passive);  // its file is used again from the start
    }
    lock.lock();
    work_.wait(lock, work);
  }
  return !queue_.empty();
}

// Behind the acknowledgements, so that none of them waits for it.
void SqliteJournal::sync_mark() {
  if (!options_.sync) {
    return;
  }
  mark_synced_ = std::chrono::steady_clock::now();
  if (auto synced = mark_.sync(); !synced.ok()) {
    log::error("the mark of acknowledged revisions cannot be synced",
               {{"error", synced.error().message}});
  }
}

void SqliteJournal::retry_after_failure() {
  std::deque<Commit> none;
  settle(none, flush(/*clean=*/false));
}

void SqliteJournal::write_group(std::deque<Commit> group) {
  for (Commit& commit : group) {
    for (EventPtr& event : commit.events) {
      rows_pending_ = rows_pending_ || has_row(*event);
      pending_.push_back(std::move(event));
    }
  }
  revision_ = group.back().revision;
  settle(group, flush_needed() ? flush(/*clean=*/false) : Result<void>());
}

bool SqliteJournal::has_row(const Event& event) const {
  return options_.journal_events || !is_volatile(event.object->resource);
}

bool SqliteJournal::flush_needed() const {
  return rows_pending_ || pending_.size() > kPendingLimit || failed_done_ ||
         revision_ - revision_on_disk_ > kRevisionSlack;
}

void SqliteJournal::settle(std::deque<Commit>& group, const Result<void>& outcome) {
  bool changed = false;
  {
    const MutexLock lock(mutex_);
    changed = failure_.has_value() == outcome.ok();
    failure_ = outcome.ok() ? std::nullopt : std::optional(outcome.error());
  }
  if (changed && outcome.ok()) {
    log::info("the store can be written again");
  } else if (changed) {
    log::error("the store cannot be written; retrying", {{"error", outcome.error().message}});
  }
  if (outcome.ok() && failed_done_) {
    std::exchange(failed_done_, {})({});
  }
  for (const Commit& commit : group) {
    commit.done(outcome);
  }
  if (!outcome.ok() && !group.empty()) {
    failed_done_ = std::move(group.back().done);
  }
}

Result<void> SqliteJournal::flush(bool clean) {
  const auto write = [&]() -> Result<void> {
    database_.rollback();
    ATHANOR_TRY_VOID(database_.execute("BEGIN IMMEDIATE"));
    ATHANOR_TRY_VOID(write_pending());
    ATHANOR_TRY_VOID(prune_history());
    ATHANOR_TRY_VOID(write_meta("rv", static_cast<std::int64_t>(revision_)));
    ATHANOR_TRY_VOID(write_meta("clean", clean ? 1 : 0));
    return database_.execute("COMMIT");
  };
  auto outcome = write();
  if (!outcome.ok()) {
    database_.rollback();
    return outcome;
  }
  for (const HistoryIndex::Row& row : written_) {
    index_.add(row);
  }
  pending_.clear();
  rows_pending_ = false;
  row_.clear();
  newest_ = revision_;
  revision_on_disk_ = revision_;
  return mark_.note({.revision = revision_, .synced = options_.sync});
}

// The history in rows of bounded size, the rows of objects beside them.
Result<void> SqliteJournal::write_pending() {
  std::unordered_map<std::string, std::size_t> newest;  // index of the last event of each row
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (has_row(*pending_[i])) {
      newest[row_key(*pending_[i]->object)] = i;
    }
  }
  written_.clear();
  for (std::size_t begin = 0; begin < pending_.size();) {
    row_.clear();
    std::size_t end = begin;
    while (end < pending_.size() && row_.bytes().size() < kRowBytes) {
      row_.add(*pending_[end], begin_);
      ++end;
    }
    ATHANOR_TRY_VOID(write_history(begin, end));
    ATHANOR_TRY_VOID(write_objects(begin, end, newest));
    begin = end;
  }
  return {};
}

// The row, which holds these pending events.
Result<void> SqliteJournal::write_history(std::size_t begin, std::size_t end) {
  const Event& last = *pending_[end - 1];
  written_.push_back({.newest = last.revision,
                      .events = static_cast<std::uint32_t>(end - begin),
                      .bytes = static_cast<std::uint32_t>(row_.bytes().size()),
                      .time = last.time});
  put_history_.bind_integer(1, static_cast<std::int64_t>(last.revision));
  put_history_.bind_integer(2, last.time.time_since_epoch().count());
  put_history_.bind_integer(3, static_cast<std::int64_t>(end - begin));
  put_history_.bind_integer(4, row_checksum("", last.revision, row_.bytes()));
  put_history_.bind_blob(5, row_.bytes());
  ATHANOR_TRY([[maybe_unused]] const bool row, put_history_.step());
  return {};
}

Result<void> SqliteJournal::write_objects(
    std::size_t begin, std::size_t end,
    const std::unordered_map<std::string, std::size_t>& newest) {
  for (std::size_t i = begin; i < end; ++i) {
    const Event& event = *pending_[i];
    if (!has_row(event)) {
      continue;
    }
    const std::string key = row_key(*event.object);
    if (newest.find(key)->second != i) {
      continue;
    }
    if (event.type == Event::Type::Deleted) {
      remove_.bind_text(1, key);
      ATHANOR_TRY([[maybe_unused]] const bool row, remove_.step());
      continue;
    }
    const std::string_view body = row_.body(i - begin);
    put_.bind_text(1, key);
    put_.bind_integer(2, static_cast<std::int64_t>(event.revision));
    put_.bind_integer(3, row_checksum(key, event.revision, body));
    put_.bind_blob(4, body);
    ATHANOR_TRY([[maybe_unused]] const bool row, put_.step());
  }
  return {};
}

// A little with every transaction, so that none of them is long. Forgets in memory first: should
// the transaction fail, the next one deletes these rows, too.
Result<void> SqliteJournal::prune_history() {
  std::size_t written = 0;
  for (const HistoryIndex::Row& row : written_) {
    written += row.bytes;
  }
  const std::size_t step = std::max(kPruneStep, 2 * written);
  const Revision pruned = index_.prune(options_.history, now_.load(), step);
  if (pruned == 0) {
    return {};
  }
  oldest_ = std::max(oldest_.load(), pruned);
  ATHANOR_TRY_VOID(write_meta("pruned", static_cast<std::int64_t>(pruned)));
  prune_history_.bind_integer(1, static_cast<std::int64_t>(pruned));
  ATHANOR_TRY([[maybe_unused]] const bool row, prune_history_.step());
  return {};
}

void SqliteJournal::shut() {
  {
    const MutexLock lock(mutex_);
    if (!open_ || stopping_) {
      return;
    }
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  // What could not be written until now gets its last chance.
  if (auto outcome = flush(/*clean=*/true); !outcome.ok()) {
    log::error("the store could not be closed cleanly", {{"error", outcome.error().message}});
  } else if (failed_done_) {
    std::exchange(failed_done_, {})({});
  }
  sync_mark();
  database_.checkpoint(Database::Checkpoint::Truncate);
  put_ = {};
  remove_ = {};
  put_meta_ = {};
  put_history_ = {};
  prune_history_ = {};
  const MutexLock reading(reader_mutex_);
  reader_ = {};
  database_ = {};
}

}  // namespace

std::unique_ptr<Journal> sqlite_journal(SqliteOptions options) {
  return std::make_unique<SqliteJournal>(std::move(options));
}

}  // namespace athanor::store
