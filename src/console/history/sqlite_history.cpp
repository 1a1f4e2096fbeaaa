// SPDX-License-Identifier: Apache-2.0
// The history in an embedded SQLite database, with the tables of docs/spec/dashboard.md A9.
#include <fmt/format.h>

#include <algorithm>

#include "base/digest.hpp"
#include "console/data/job_rows.hpp"
#include "console/history/history.hpp"
#include "embedded/store/sqlite.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS athanor_jobs(uid TEXT PRIMARY KEY NOT NULL, ns TEXT NOT NULL,"
    " name TEXT NOT NULL, phase TEXT NOT NULL, created TEXT NOT NULL, completed TEXT NOT NULL,"
    " object TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS athanor_jobs_created ON athanor_jobs(created);"
    "CREATE TABLE IF NOT EXISTS athanor_job_events(number INTEGER PRIMARY KEY, uid TEXT NOT NULL,"
    " phase TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_job_events_uid ON athanor_job_events(uid);"
    "CREATE TABLE IF NOT EXISTS athanor_audit(number INTEGER PRIMARY KEY, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_slices(number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_slices_at ON athanor_slices(at);";

class SqliteHistory final : public HistoryStore {
 public:
  explicit SqliteHistory(store::Database database) : database_(std::move(database)) {}

  [[nodiscard]] std::string name() const override { return "sqlite"; }

  Result<std::vector<HistoryEntry>> load(std::size_t most) override {
    ATHANOR_TRY(store::Statement rows,
                database_.prepare("SELECT uid, ns, name, phase, created, completed, object FROM "
                                  "athanor_jobs ORDER BY created DESC, uid LIMIT ?1"));
    rows.bind_integer(1, static_cast<std::int64_t>(most));
    std::vector<HistoryEntry> entries;
    while (true) {
      ATHANOR_TRY(const bool more, rows.step());
      if (!more) {
        return entries;
      }
      ATHANOR_TRY(Value object, json::parse(rows.bytes(6)));
      entries.push_back({.uid = std::string(rows.bytes(0)),
                         .ns = std::string(rows.bytes(1)),
                         .name = std::string(rows.bytes(2)),
                         .phase = std::string(rows.bytes(3)),
                         .created = std::string(rows.bytes(4)),
                         .completed = std::string(rows.bytes(5)),
                         .object = std::move(object)});
    }
  }

  Result<void> put(const HistoryEntry& entry) override {
    ATHANOR_TRY(store::Statement row,
                database_.prepare("INSERT INTO athanor_jobs(uid, ns, name, phase, created, "
                                  "completed, object) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) "
                                  "ON CONFLICT(uid) DO UPDATE SET phase = excluded.phase, "
                                  "completed = excluded.completed, object = excluded.object"));
    const std::string object = json::print(entry.object);
    row.bind_text(1, entry.uid);
    row.bind_text(2, entry.ns);
    row.bind_text(3, entry.name);
    row.bind_text(4, entry.phase);
    row.bind_text(5, entry.created);
    row.bind_text(6, entry.completed);
    row.bind_text(7, object);
    return done(row);
  }

  Result<void> add_event(const HistoryEvent& event) override {
    ATHANOR_TRY(store::Statement row,
                database_.prepare("INSERT INTO athanor_job_events(uid, phase, message, at) "
                                  "VALUES(?1, ?2, ?3, ?4)"));
    row.bind_text(1, event.uid);
    row.bind_text(2, event.phase);
    row.bind_text(3, event.message);
    row.bind_text(4, event.at);
    return done(row);
  }

  Result<std::vector<HistoryEvent>> events(const std::string& uid) override {
    ATHANOR_TRY(store::Statement rows,
                database_.prepare("SELECT phase, message, at FROM athanor_job_events WHERE uid = "
                                  "?1 ORDER BY number"));
    rows.bind_text(1, uid);
    std::vector<HistoryEvent> events;
    while (true) {
      ATHANOR_TRY(const bool more, rows.step());
      if (!more) {
        return events;
      }
      events.push_back({.uid = uid,
                        .phase = std::string(rows.bytes(0)),
                        .message = std::string(rows.bytes(1)),
                        .at = std::string(rows.bytes(2))});
    }
  }

  Result<void> remove(const std::string& uid) override {
    for (const char* sql : {"DELETE FROM athanor_job_events WHERE uid = ?1",
                            "DELETE FROM athanor_jobs WHERE uid = ?1"}) {
      ATHANOR_TRY(store::Statement row, database_.prepare(sql));
      row.bind_text(1, uid);
      ATHANOR_TRY_VOID(done(row));
    }
    return {};
  }

  Result<std::size_t> remove_older(Instant before) override {
    const std::string limit = format_time(before);
    std::size_t removed = 0;
    ATHANOR_TRY(store::Statement rows,
                database_.prepare("SELECT uid FROM athanor_jobs WHERE created < ?1"));
    rows.bind_text(1, limit);
    std::vector<std::string> old;
    while (true) {
      ATHANOR_TRY(const bool more, rows.step());
      if (!more) {
        break;
      }
      old.emplace_back(rows.bytes(0));
    }
    for (const std::string& uid : old) {
      ATHANOR_TRY_VOID(remove(uid));
      ++removed;
    }
    ATHANOR_TRY(store::Statement slices,
                database_.prepare("DELETE FROM athanor_slices WHERE at < ?1"));
    slices.bind_text(1, limit);
    ATHANOR_TRY_VOID(done(slices));
    return removed;
  }

  Result<void> add_audit(const Value& record) override {
    ATHANOR_TRY(store::Statement row,
                database_.prepare("INSERT INTO athanor_audit(record) VALUES(?1)"));
    const std::string text = json::print(record);
    row.bind_text(1, text);
    ATHANOR_TRY_VOID(done(row));
    return database_.execute(
        "DELETE FROM athanor_audit WHERE number <= (SELECT max(number) FROM athanor_audit) - "
        "10000");
  }

  Result<std::vector<Value>> audit(std::size_t most) override {
    ATHANOR_TRY(
        store::Statement rows,
        database_.prepare("SELECT record FROM athanor_audit ORDER BY number DESC LIMIT ?1"));
    rows.bind_integer(1, static_cast<std::int64_t>(most));
    std::vector<Value> records;
    while (true) {
      ATHANOR_TRY(const bool more, rows.step());
      if (!more) {
        return records;
      }
      ATHANOR_TRY(Value record, json::parse(rows.bytes(0)));
      records.push_back(std::move(record));
    }
  }

  Result<void> add_slice_change(const Value& record) override {
    ATHANOR_TRY(store::Statement row,
                database_.prepare("INSERT INTO athanor_slices(at, record) VALUES(?1, ?2)"));
    const std::string text = json::print(record);
    row.bind_text(1, record["at"].as_string());
    row.bind_text(2, text);
    ATHANOR_TRY_VOID(done(row));
    return database_.execute(
        "DELETE FROM athanor_slices WHERE number <= (SELECT max(number) FROM athanor_slices) - "
        "100000");
  }

  Result<std::vector<Value>> slice_changes(const std::string& from, std::size_t most) override {
    ATHANOR_TRY(store::Statement rows,
                database_.prepare("SELECT record FROM athanor_slices WHERE at >= ?1 ORDER BY at "
                                  "DESC, number DESC LIMIT ?2"));
    rows.bind_text(1, from);
    rows.bind_integer(2, static_cast<std::int64_t>(most));
    std::vector<Value> records;
    while (true) {
      ATHANOR_TRY(const bool more, rows.step());
      if (!more) {
        std::ranges::reverse(records);
        return records;
      }
      ATHANOR_TRY(Value record, json::parse(rows.bytes(0)));
      records.push_back(std::move(record));
    }
  }

 private:
  static Result<void> done(store::Statement& statement) {
    const auto stepped = statement.step();
    return stepped.ok() ? Result<void>() : stepped.error();
  }

  store::Database database_;
};

}  // namespace

Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path) {
  ATHANOR_TRY(store::Database database, store::Database::open(path));
  ATHANOR_TRY_VOID(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"));
  ATHANOR_TRY_VOID(database.execute(kTables));
  return std::unique_ptr<HistoryStore>(std::make_unique<SqliteHistory>(std::move(database)));
}

}  // namespace athanor::console
