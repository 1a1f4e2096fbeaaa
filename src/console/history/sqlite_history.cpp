// SPDX-License-Identifier: Apache-2.0
// The history in an embedded SQLite database.
#include <utility>

#include "console/history/history.hpp"
#include "console/history/sql_history.hpp"
#include "embedded/store/sqlite.hpp"

namespace athanor::console {
namespace {

constexpr const char* kEmbeddedTables =
    "CREATE TABLE IF NOT EXISTS jobs(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE NOT NULL,"
    " project TEXT NOT NULL, cluster TEXT NOT NULL, preset TEXT, pipeline TEXT, owner TEXT,"
    " status TEXT DEFAULT 'Pending', message TEXT, error_message TEXT, mlflow_url TEXT,"
    " ci_artifacts_url TEXT, created_at TEXT, completed_at TEXT, duration_seconds FLOAT,"
    " config_overrides TEXT, fjob_spec TEXT, fjob_status TEXT, tags TEXT,"
    " triggered_by_schedule TEXT, trigger_type TEXT DEFAULT 'manual');"
    "CREATE TABLE IF NOT EXISTS job_events(id TEXT PRIMARY KEY NOT NULL,"
    " job_id TEXT REFERENCES jobs(id) ON DELETE CASCADE, phase TEXT, message TEXT,"
    " timestamp TEXT);"
    "CREATE INDEX IF NOT EXISTS job_events_job ON job_events(job_id);"
    "CREATE TABLE IF NOT EXISTS athanor_jobs(uid TEXT PRIMARY KEY NOT NULL, ns TEXT NOT NULL,"
    " name TEXT NOT NULL, phase TEXT NOT NULL, created TEXT NOT NULL, completed TEXT NOT NULL,"
    " object TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS athanor_jobs_created ON athanor_jobs(created);"
    "CREATE TABLE IF NOT EXISTS athanor_job_rows(job_id TEXT PRIMARY KEY NOT NULL,"
    " uid TEXT NOT NULL, created_at TEXT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS athanor_job_rows_uid ON athanor_job_rows(uid);"
    "CREATE TABLE IF NOT EXISTS athanor_job_events(number INTEGER PRIMARY KEY, uid TEXT NOT NULL,"
    " phase TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_job_events_uid ON athanor_job_events(uid);"
    "CREATE TABLE IF NOT EXISTS athanor_audit(number INTEGER PRIMARY KEY, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_slices(number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_slices_at ON athanor_slices(at);"
    "CREATE TABLE IF NOT EXISTS athanor_hardware(number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
    " cluster TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_repairs(number INTEGER PRIMARY KEY, at TEXT NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_records(number INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
    " at TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_records_kind ON athanor_records(kind, number);"
    "CREATE INDEX IF NOT EXISTS athanor_job_events_at ON athanor_job_events(at);"
    "CREATE TABLE IF NOT EXISTS athanor_appwrappers(number INTEGER PRIMARY KEY, uid TEXT NOT NULL,"
    " at TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_appwrappers_uid ON athanor_appwrappers(uid);";

class SqliteDatabase final : public SqlDatabase {
 public:
  explicit SqliteDatabase(store::Database database) : database_(std::move(database)) {}

  [[nodiscard]] std::string name() const override { return "sqlite"; }

  Result<SqlRows> run(std::string_view sql, const SqlValues& values) override {
    ATHANOR_TRY(store::Statement statement, database_.prepare(sql));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i]) {
        statement.bind_text(static_cast<int>(i) + 1, *values[i]);
      }
    }
    SqlRows rows;
    while (true) {
      ATHANOR_TRY(const bool more, statement.step());
      if (!more) {
        return rows;
      }
      std::vector<std::string> row;
      row.reserve(static_cast<std::size_t>(statement.columns()));
      for (int i = 0; i < statement.columns(); ++i) {
        row.emplace_back(statement.bytes(i));
      }
      rows.push_back(std::move(row));
    }
  }

 private:
  store::Database database_;
};

}  // namespace

Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path,
                                                          const std::string& jobs_ns) {
  ATHANOR_TRY(store::Database database, store::Database::open(path));
  ATHANOR_TRY_VOID(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"));
  ATHANOR_TRY_VOID(database.execute(kEmbeddedTables));
  return make_sql_history(std::make_unique<SqliteDatabase>(std::move(database)), jobs_ns);
}

}  // namespace athanor::console
