// SPDX-License-Identifier: Apache-2.0
// The history in PostgreSQL, by libpq. The connection is opened at the first use and again after a
// failure, not more often than every two seconds; nothing waits longer than its limit.
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "console/history/history.hpp"
#include "console/history/sql_history.hpp"

namespace athanor::console {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr auto kConnectLimit = std::chrono::seconds(5);
constexpr auto kStatementLimit = std::chrono::seconds(30);
constexpr auto kReconnect = std::chrono::seconds(2);
constexpr int kUnavailable = 503;
constexpr int kRefusedCode = 422;

// As fournos-ui makes them, then those of our own.
constexpr const char* kServerTables =
    "SET TIME ZONE 'UTC'; SET DateStyle TO ISO;"
    "CREATE TABLE IF NOT EXISTS jobs(id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
    " project TEXT NOT NULL, cluster TEXT NOT NULL, preset TEXT, pipeline TEXT, owner TEXT,"
    " status TEXT DEFAULT 'Pending', message TEXT, error_message TEXT, mlflow_url TEXT,"
    " ci_artifacts_url TEXT, created_at TIMESTAMPTZ, completed_at TIMESTAMPTZ,"
    " duration_seconds DOUBLE PRECISION, config_overrides JSONB, fjob_spec JSONB,"
    " fjob_status JSONB, tags TEXT[], triggered_by_schedule TEXT,"
    " trigger_type TEXT DEFAULT 'manual');"
    "CREATE TABLE IF NOT EXISTS job_events(id TEXT PRIMARY KEY,"
    " job_id TEXT REFERENCES jobs(id) ON DELETE CASCADE, phase TEXT, message TEXT,"
    " timestamp TIMESTAMPTZ);"
    "CREATE TABLE IF NOT EXISTS athanor_jobs(uid TEXT PRIMARY KEY, ns TEXT NOT NULL,"
    " name TEXT NOT NULL, phase TEXT NOT NULL, created TEXT COLLATE \"C\" NOT NULL,"
    " completed TEXT NOT NULL, object TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_jobs_created ON athanor_jobs(created);"
    "CREATE TABLE IF NOT EXISTS athanor_job_rows(job_id TEXT PRIMARY KEY, uid TEXT NOT NULL,"
    " created_at TIMESTAMPTZ);"
    "CREATE INDEX IF NOT EXISTS athanor_job_rows_uid ON athanor_job_rows(uid);"
    "CREATE TABLE IF NOT EXISTS athanor_job_events("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uid TEXT NOT NULL,"
    " phase TEXT NOT NULL, message TEXT NOT NULL, at TEXT COLLATE \"C\" NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_job_events_uid ON athanor_job_events(uid);"
    "CREATE TABLE IF NOT EXISTS athanor_audit("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_slices("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT COLLATE \"C\" NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_slices_at ON athanor_slices(at);"
    "CREATE TABLE IF NOT EXISTS athanor_hardware("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT COLLATE \"C\" NOT NULL,"
    " cluster TEXT NOT NULL, record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_repairs("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at TEXT COLLATE \"C\" NOT NULL,"
    " record TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS athanor_records("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT NOT NULL,"
    " at TEXT COLLATE \"C\" NOT NULL, record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_records_kind ON athanor_records(kind, number);"
    "CREATE INDEX IF NOT EXISTS athanor_job_events_at ON athanor_job_events(at);"
    "CREATE TABLE IF NOT EXISTS athanor_appwrappers("
    " number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uid TEXT NOT NULL,"
    " at TEXT COLLATE \"C\" NOT NULL, record TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS athanor_appwrappers_uid ON athanor_appwrappers(uid);";

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, Clear>;

std::string one_line(const char* text) {
  std::string line(text == nullptr ? "" : text);
  while (line.ends_with('\n')) {
    line.pop_back();
  }
  std::ranges::replace(line, '\n', ' ');
  return line;
}

Error unavailable(std::string message) {
  return {.code = kUnavailable, .reason = "Unavailable", .message = std::move(message)};
}

// Waits for the socket; false: the time is over.
bool wait_for_socket(int socket, short events, SteadyTime end) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return false;
    }
    pollfd polled{.fd = socket, .events = events, .revents = 0};
    if (::poll(&polled, 1, static_cast<int>(left.count())) > 0) {
      return true;
    }
  }
}

class PostgresDatabase final : public SqlDatabase {
 public:
  explicit PostgresDatabase(std::string url) : url_(std::move(url)) {}

  [[nodiscard]] std::string name() const override { return "postgresql"; }

  Result<SqlRows> run(std::string_view sql, const SqlValues& values) override {
    ATHANOR_TRY_VOID(connect());
    std::vector<const char*> texts;
    texts.reserve(values.size());
    for (const auto& value : values) {
      texts.push_back(value ? value->c_str() : nullptr);
    }
    const std::string statement(sql);
    if (PQsendQueryParams(connection_.get(), statement.c_str(), static_cast<int>(texts.size()),
                          nullptr, texts.data(), nullptr, nullptr, 0) != 1) {
      return lost(one_line(PQerrorMessage(connection_.get())));
    }
    return answer();
  }

 private:
  // Closes the connection, which is of no more use.
  Error lost(std::string why) {
    connection_.reset();
    failure_ = std::move(why);
    next_try_ = std::chrono::steady_clock::now() + kReconnect;
    return unavailable(failure_);
  }

  Result<void> connect() {
    if (connection_) {
      return {};
    }
    if (std::chrono::steady_clock::now() < next_try_) {
      return unavailable(failure_);
    }
    const auto end = std::chrono::steady_clock::now() + kConnectLimit;
    const char* const names[] = {"dbname",           "application_name", "client_encoding",
                                 "tcp_user_timeout", "gssencmode",       nullptr};
    const char* const values[] = {url_.c_str(), "athanor console", "UTF8",
                                  "30000",      "disable",         nullptr};
    connection_.reset(PQconnectStartParams(names, values, 1));
    if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
      return lost(connection_ ? one_line(PQerrorMessage(connection_.get())) : "out of memory");
    }
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK) {
      if (state == PGRES_POLLING_FAILED) {
        return lost(one_line(PQerrorMessage(connection_.get())));
      }
      const bool writes = state == PGRES_POLLING_WRITING;
      if (!wait_for_socket(PQsocket(connection_.get()), writes ? POLLOUT : POLLIN, end)) {
        return lost("PostgreSQL did not answer in time");
      }
      state = PQconnectPoll(connection_.get());
    }
    PQsetNoticeProcessor(
        connection_.get(), [](void* /*none*/, const char* /*message*/) {}, nullptr);
    if (PQsetnonblocking(connection_.get(), 1) != 0 ||
        PQsendQuery(connection_.get(), kServerTables) != 1) {
      return lost(one_line(PQerrorMessage(connection_.get())));
    }
    const auto made = answer();
    return made.ok() ? Result<void>() : lost(made.error().message);
  }

  // Reads what a statement returns, to its end.
  Result<SqlRows> answer() {
    const auto end = std::chrono::steady_clock::now() + kStatementLimit;
    Result<SqlRows> rows = SqlRows();
    while (true) {
      int flushed = PQflush(connection_.get());
      while (PQisBusy(connection_.get()) == 1 || flushed == 1) {
        const short events = static_cast<short>(flushed == 1 ? POLLIN | POLLOUT : POLLIN);
        if (!wait_for_socket(PQsocket(connection_.get()), events, end)) {
          return lost("PostgreSQL did not answer in time");
        }
        if (PQconsumeInput(connection_.get()) != 1) {
          return lost(one_line(PQerrorMessage(connection_.get())));
        }
        flushed = PQflush(connection_.get());
      }
      const ResultPtr result(PQgetResult(connection_.get()));
      if (!result) {
        return rows;
      }
      take(result.get(), rows);
      if (PQstatus(connection_.get()) == CONNECTION_BAD) {
        return lost(rows.ok() ? "the connection to PostgreSQL is lost" : rows.error().message);
      }
    }
  }

  static void take(const PGresult* result, Result<SqlRows>& rows) {
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) {
      return;
    }
    if (status != PGRES_TUPLES_OK) {
      const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      const std::string_view state = code == nullptr ? "" : code;
      const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
      Error error =
          unavailable(one_line(primary == nullptr ? PQresultErrorMessage(result) : primary));
      // Data, integrity and size: the same values fail again.
      if (state.starts_with("22") || state.starts_with("23") || state.starts_with("54")) {
        error.code = kRefusedCode;
        error.reason = "Invalid";
      }
      rows = std::move(error);
      return;
    }
    SqlRows found;
    const int columns = PQnfields(result);
    for (int i = 0; i < PQntuples(result); ++i) {
      std::vector<std::string> row;
      row.reserve(static_cast<std::size_t>(columns));
      for (int column = 0; column < columns; ++column) {
        row.emplace_back(PQgetvalue(result, i, column),
                         static_cast<std::size_t>(PQgetlength(result, i, column)));
      }
      found.push_back(std::move(row));
    }
    rows = std::move(found);
  }

  const std::string url_;
  std::unique_ptr<PGconn, Finish> connection_{};
  SteadyTime next_try_{};
  std::string failure_{};
};

// libpq's form of a URL of SQLAlchemy: without the driver's name, and with libpq's name of "ssl".
std::string libpq_url(std::string url) {
  const std::size_t scheme = url.find("://");
  if (const std::size_t plus = url.find('+'); plus != std::string::npos && plus < scheme) {
    url.erase(plus, scheme - plus);
  }
  for (const std::string_view mark : {"?ssl=", "&ssl="}) {
    if (const std::size_t at = url.find(mark); at != std::string::npos) {
      url.replace(at + 1, 3, "sslmode");
    }
  }
  return url;
}

}  // namespace

Result<std::unique_ptr<HistoryStore>> open_postgres_history(const std::string& url,
                                                            const std::string& jobs_ns) {
  std::string target = libpq_url(url);
  const auto refused = [](const std::string& why) {
    return Error::bad_request("DATABASE_URL must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE" +
                              (why.empty() ? why : ": " + why));
  };
  if (!target.starts_with("postgresql://") && !target.starts_with("postgres://")) {
    return refused("");
  }
  char* why = nullptr;
  PQconninfoOption* options = PQconninfoParse(target.c_str(), &why);
  if (options == nullptr) {
    const Error error = refused("it cannot be read");
    PQfreemem(why);  // it may quote the password
    return error;
  }
  PQconninfoFree(options);
  return make_sql_history(std::make_unique<PostgresDatabase>(std::move(target)), jobs_ns);
}

}  // namespace athanor::console
