// SPDX-License-Identifier: Apache-2.0
// The SQLite journal: recovery, the writer thread, retries after failures.
#include "embedded/store/journal_sqlite.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "embedded/store/rows.hpp"
#include "embedded/store/sqlite.hpp"
#include "kube/json.hpp"

namespace athanor::store {
namespace {

constexpr Revision kUncleanJump = 1'000'000;
// Revisions of commits without rows (Events) are noted on disk this often; far below the jump.
constexpr Revision kRevisionSlack = 100'000;
constexpr std::size_t kGroupLimit = 4096;  // commits in one transaction
constexpr int kCheckpointPages = 2048;     // 8 MiB of log
constexpr std::size_t kNamedKeys = 10;     // in the error of damaged rows
constexpr std::int64_t kFormat = 1;
constexpr auto kIdle = std::chrono::seconds(1);  // without commits until the log is emptied

struct Commit {
  Revision revision = 0;
  std::vector<EventPtr> events{};
  std::function<void(Result<void>)> done{};
};

bool is_event_resource(std::string_view resource) {
  return resource == "events" || resource == "events.events.k8s.io";
}

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

 private:
  // Recovery, on the caller's thread.
  Result<void> prepare_database();
  Result<void> prepare_statements();
  Result<std::vector<StoredPtr>> load_objects();
  Result<std::int64_t> read_meta(std::string_view name);
  Result<void> write_meta(std::string_view name, std::int64_t number);

  // The writer thread.
  void run();
  [[nodiscard]] bool wait_for_work();
  void retry_after_failure();
  void write_group(std::deque<Commit> group);
  // Writes the dirty rows and the revision in one transaction.
  Result<void> flush(bool clean);
  Result<void> write_rows();
  [[nodiscard]] bool flush_needed() const;
  void settle(std::deque<Commit>& group, const Result<void>& outcome);
  void shut();

  const SqliteOptions options_;
  Database database_{};
  Statement put_{};
  Statement remove_{};
  Statement put_meta_{};

  // Owned by the writer thread.
  std::map<std::string, EventPtr> dirty_{};  // last event of each row that is not on disk
  Revision revision_ = 0;                    // of the newest commit seen
  Revision revision_on_disk_ = 0;
  std::function<void(Result<void>)> failed_done_{};  // of the newest failed commit
  std::string body_{};

  std::mutex mutex_{};
  std::condition_variable work_{};
  std::deque<Commit> queue_{};  // guarded by mutex_, like the following
  std::optional<Error> failure_{};
  bool open_ = false;
  bool stopping_ = false;
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
  // One process, one connection: no shared memory file is needed (DataDirectory holds the lock).
  ATHANOR_TRY_VOID(database_.execute("PRAGMA locking_mode=EXCLUSIVE"));
  ATHANOR_TRY_VOID(database_.execute("PRAGMA journal_mode=WAL"));
  ATHANOR_TRY_VOID(
      database_.execute(options_.sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF"));
  if (options_.max_pages > 0) {
    ATHANOR_TRY_VOID(
        database_.execute("PRAGMA max_page_count=" + std::to_string(options_.max_pages)));
  }
  // With a rowid: an object of a few KiB then lies in its page, where a WITHOUT ROWID table moves
  // everything above 1 KiB to overflow pages (233 instead of 105 MB for 50,000 objects).
  ATHANOR_TRY_VOID(database_.execute(
      "CREATE TABLE IF NOT EXISTS object(key TEXT PRIMARY KEY NOT NULL, rv INTEGER NOT NULL,"
      " sum INTEGER NOT NULL, body BLOB NOT NULL);"
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
  if (damaged.empty()) {
    return objects;
  }
  std::string message =
      options_.path + ": " + std::to_string(damaged.size()) + " stored objects are damaged: ";
  for (std::size_t i = 0; i < std::min(damaged.size(), kNamedKeys); ++i) {
    message += (i == 0 ? "" : ", ") + damaged[i];
  }
  message += damaged.size() > kNamedKeys ? ", ..." : "";
  return Error{.code = 500, .reason = "DataCorrupted", .message = std::move(message)};
}

Result<Journal::Recovered> SqliteJournal::recover() {
  ATHANOR_TRY_VOID(prepare_database());
  ATHANOR_TRY(const std::int64_t format, read_meta("format"));
  if (format != 0 && format != kFormat) {
    return Error::internal(options_.path + ": its format " + std::to_string(format) +
                           " is not known; this program reads format " + std::to_string(kFormat));
  }
  Recovered recovered;
  ATHANOR_TRY(recovered.objects, load_objects());
  ATHANOR_TRY(const std::int64_t noted, read_meta("rv"));
  ATHANOR_TRY(const std::int64_t clean, read_meta("clean"));
  recovered.revision = static_cast<Revision>(noted);
  for (const StoredPtr& object : recovered.objects) {
    recovered.revision = std::max(recovered.revision, object->revision);
  }
  if (format != 0 && clean == 0) {
    recovered.revision += kUncleanJump;
    log::warn("the last run did not end cleanly; revisions continue above a gap",
              {{"revision", recovered.revision}});
  }
  revision_ = recovered.revision;
  ATHANOR_TRY_VOID(write_meta("format", kFormat));
  ATHANOR_TRY_VOID(flush(/*clean=*/false));
  const std::lock_guard lock(mutex_);
  open_ = true;
  thread_ = std::thread([this] { run(); });
  return recovered;
}

void SqliteJournal::append(Revision revision, std::span<const EventPtr> events,
                           std::function<void(Result<void>)> done) {
  {
    const std::lock_guard lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  if (failure_) {
    return *failure_;
  }
  return {};
}

void SqliteJournal::run() {
  while (wait_for_work()) {
    std::deque<Commit> group;
    {
      const std::lock_guard lock(mutex_);
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
    if (database_.log_pages() > kCheckpointPages) {
      database_.checkpoint(Database::Checkpoint::Passive);
    }
  }
}

// True: look at the queue, which is empty when it is time to retry. False: stop.
bool SqliteJournal::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto work = [this] { return !queue_.empty() || stopping_; };
  if (failure_) {
    work_.wait_for(lock, options_.probe_interval, work);
    return !queue_.empty() || !stopping_;
  }
  if (!work_.wait_for(lock, kIdle, work)) {
    lock.unlock();
    if (database_.log_pages() > 0) {
      database_.checkpoint(Database::Checkpoint::Truncate);
    }
    lock.lock();
    work_.wait(lock, work);
  }
  return !queue_.empty();
}

void SqliteJournal::retry_after_failure() {
  std::deque<Commit> none;
  settle(none, flush(/*clean=*/false));
}

void SqliteJournal::write_group(std::deque<Commit> group) {
  for (const Commit& commit : group) {
    for (const EventPtr& event : commit.events) {
      if (options_.journal_events || !is_event_resource(event->object->resource)) {
        dirty_[row_key(*event->object)] = event;
      }
    }
  }
  revision_ = group.back().revision;
  settle(group, flush_needed() ? flush(/*clean=*/false) : Result<void>());
}

bool SqliteJournal::flush_needed() const {
  return !dirty_.empty() || failed_done_ || revision_ - revision_on_disk_ > kRevisionSlack;
}

void SqliteJournal::settle(std::deque<Commit>& group, const Result<void>& outcome) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
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
    ATHANOR_TRY_VOID(write_rows());
    ATHANOR_TRY_VOID(write_meta("rv", static_cast<std::int64_t>(revision_)));
    ATHANOR_TRY_VOID(write_meta("clean", clean ? 1 : 0));
    return database_.execute("COMMIT");
  };
  auto outcome = write();
  if (outcome.ok()) {
    dirty_.clear();
    revision_on_disk_ = revision_;
  } else {
    database_.rollback();
  }
  return outcome;
}

Result<void> SqliteJournal::write_rows() {
  for (const auto& [key, event] : dirty_) {
    if (event->type == Event::Type::Deleted) {
      remove_.bind_text(1, key);
      ATHANOR_TRY([[maybe_unused]] const bool row, remove_.step());
      continue;
    }
    body_.clear();
    json::append(event->object->body, body_);
    put_.bind_text(1, key);
    put_.bind_integer(2, static_cast<std::int64_t>(event->revision));
    put_.bind_integer(3, row_checksum(key, event->revision, body_));
    put_.bind_blob(4, body_);
    ATHANOR_TRY([[maybe_unused]] const bool row, put_.step());
  }
  return {};
}

void SqliteJournal::shut() {
  {
    const std::lock_guard lock(mutex_);
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
  database_.checkpoint(Database::Checkpoint::Truncate);
  put_ = {};
  remove_ = {};
  put_meta_ = {};
  database_ = {};
}

}  // namespace

std::unique_ptr<Journal> sqlite_journal(SqliteOptions options) {
  return std::make_unique<SqliteJournal>(std::move(options));
}

}  // namespace athanor::store
