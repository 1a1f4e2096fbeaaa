// SPDX-License-Identifier: Apache-2.0
#include "console/history/sql_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/digest.hpp"
#include "console/data/job_rows.hpp"
#include "console/history/appwrapper_log.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_view.hpp"

namespace athanor::console {
namespace {

std::string_view kind_text(RecordKind kind) {
  switch (kind) {
    case RecordKind::Eviction:
      return "eviction";
    case RecordKind::Lock:
      return "lock";
  }
  return "";
}

// Rows of each table of slices, hardware, repairs, records and transitions.
constexpr std::size_t kMostRecords = 100'000;
constexpr std::size_t kMostAudit = 10'000;
// How far the times of creation of one job may differ: fournos-ui has its own until it sees it.
constexpr auto kSameJob = std::chrono::minutes(1);

constexpr std::string_view kUpsertJob =
    "INSERT INTO jobs(id, name, project, cluster, preset, pipeline, owner, status, message, "
    "mlflow_url, created_at, completed_at, duration_seconds, config_overrides, fjob_spec, "
    "fjob_status, triggered_by_schedule, trigger_type) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, "
    "$10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT(name) DO UPDATE SET "
    "project = excluded.project, cluster = excluded.cluster, "
    "preset = COALESCE(excluded.preset, jobs.preset), "
    "pipeline = COALESCE(excluded.pipeline, jobs.pipeline), "
    "owner = COALESCE(excluded.owner, jobs.owner), "
    "status = COALESCE(excluded.status, jobs.status), "
    "message = COALESCE(excluded.message, jobs.message), "
    "mlflow_url = COALESCE(excluded.mlflow_url, jobs.mlflow_url), "
    "created_at = COALESCE(excluded.created_at, jobs.created_at), "
    "completed_at = COALESCE(excluded.completed_at, jobs.completed_at), "
    "duration_seconds = COALESCE(excluded.duration_seconds, jobs.duration_seconds), "
    "config_overrides = COALESCE(excluded.config_overrides, jobs.config_overrides), "
    "fjob_spec = COALESCE(excluded.fjob_spec, jobs.fjob_spec), "
    "fjob_status = COALESCE(excluded.fjob_status, jobs.fjob_status), "
    "triggered_by_schedule = COALESCE(excluded.triggered_by_schedule, "
    "jobs.triggered_by_schedule), "
    "trigger_type = COALESCE(excluded.trigger_type, jobs.trigger_type) RETURNING id";

// Text without the bytes that PostgreSQL refuses.
std::string plain(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\0') {
      out += "\xEF\xBF\xBD";
    } else {
      out += c;
    }
  }
  return out;
}

// JSON for a column jsonb, which takes no \u0000.
std::string json_text(const Value& value) {
  std::string text = json::print(value);
  constexpr std::string_view kZero = "\\u0000";
  std::size_t backslashes = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      backslashes = 0;
    } else if (backslashes % 2 == 0 && text.compare(i, kZero.size(), kZero) == 0) {
      text.replace(i, kZero.size(), "\\ufffd");
      backslashes = 1;
    } else {
      ++backslashes;
    }
  }
  return text;
}

std::optional<std::string> some(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(plain(text));
}

std::optional<std::string> some_json(const Value& value) {
  return value.empty() ? std::nullopt : std::optional(json_text(value));
}

std::string uuid_of(std::string_view text) {
  const std::string hex = sha256_hex(text);
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20, 12));
}

// RFC 3339 of a time as a database prints it: "2026-01-31 08:00:05.5+00".
std::string time_text(std::string text) {
  if (const std::size_t blank = text.find(' '); blank != std::string::npos) {
    text[blank] = 'T';
  }
  if (text.size() > 3 && (text[text.size() - 3] == '+' || text[text.size() - 3] == '-')) {
    text += ":00";
  }
  const auto time = parse_time(text);
  return time ? format_time(*time) : std::string();
}

SqlValues job_values(const HistoryEntry& entry) {
  const Object job(entry.object);
  const Value row = job_row(job, {});
  const auto created = parse_time(entry.created);
  const auto completed = parse_time(entry.completed);
  std::optional<std::string> seconds;
  if (created && completed) {
    seconds = fmt::format("{}", std::chrono::duration<double>(*completed - *created).count());
  }
  return {entry.uid,
          entry.name,
          plain(row["project"].as_string()),
          plain(job.spec()["cluster"].as_string()),
          some(row["preset"].as_string()),
          some(job.spec()["pipeline"].as_string()),
          some(job.spec()["owner"].as_string()),
          entry.phase.empty() ? "Pending" : plain(entry.phase),
          some(job.status()["message"].as_string()),
          some(row["links"]["mlflow"].as_string()),
          some(entry.created),
          some(entry.completed),
          seconds,
          some_json(forge_of(job)["configOverrides"]),
          some_json(job.spec()),
          some_json(job.status()),
          some(job.label("fournos-launcher/schedule-name")),
          job.label("fournos-launcher/trigger-type").empty()
              ? "manual"
              : plain(job.label("fournos-launcher/trigger-type"))};
}

// Columns that foreign_entry() reads.
constexpr std::string_view kForeignColumns =
    "j.id, j.name, j.status, j.created_at, j.completed_at, j.fjob_spec, j.fjob_status, "
    "j.triggered_by_schedule, j.trigger_type";

// An entry of a row that fournos-ui has written; nullopt: its job had not ended.
std::optional<HistoryEntry> foreign_entry(const std::vector<std::string>& row,
                                          const std::string& ns) {
  const std::string& phase = row[2];
  if (phase != "Succeeded" && phase != "Failed" && phase != "Stopped") {
    return std::nullopt;
  }
  const Value spec = json::parse(row[5]).value_or(Value::object());
  Value status = json::parse(row[6]).value_or(Value::object());
  if (!status.is_object()) {
    status = Value::object();
  }
  HistoryEntry entry{.uid = row[0],
                     .ns = ns,
                     .name = row[1],
                     .phase = phase,
                     .created = time_text(row[3]),
                     .completed = time_text(row[4]),
                     .foreign = true};
  status.set("phase", phase);
  if (!status.contains("completionTime") && !entry.completed.empty()) {
    status.set("completionTime", entry.completed);
  }
  Value labels = Value::object();
  if (!row[7].empty()) {
    labels.set("fournos-launcher/schedule-name", row[7]);
  }
  if (row[8] != "manual") {
    labels.set("fournos-launcher/trigger-type", row[8]);
  }
  Value metadata = Value::object({{"name", entry.name},
                                  {"namespace", ns},
                                  {"uid", entry.uid},
                                  {"creationTimestamp", entry.created}});
  if (!labels.empty()) {
    metadata.set("labels", std::move(labels));
  }
  entry.object = Value::object({{"apiVersion", api::kFournosJob.api_version()},
                                {"kind", api::kFournosJob.name},
                                {"metadata", std::move(metadata)},
                                {"spec", spec.is_object() ? spec : Value::object()},
                                {"status", std::move(status)}});
  return entry;
}

class SqlHistory final : public HistoryStore {
 public:
  SqlHistory(std::unique_ptr<SqlDatabase> database, std::string jobs_ns)
      : database_(std::move(database)), jobs_ns_(std::move(jobs_ns)) {}

  [[nodiscard]] std::string name() const override { return database_->name(); }

  Result<std::vector<HistoryEntry>> load(std::size_t most) override {
    std::vector<HistoryEntry> entries;
    std::multimap<std::string, Instant> known;  // times of creation by name
    ATHANOR_TRY(const SqlRows own,
                run(fmt::format("SELECT uid, ns, name, phase, created, completed, object FROM "
                                "athanor_jobs ORDER BY created DESC, uid LIMIT {}",
                                most)));
    for (const auto& row : own) {
      ATHANOR_TRY(Value object, json::parse(row[6]));
      entries.push_back({.uid = row[0],
                         .ns = row[1],
                         .name = row[2],
                         .phase = row[3],
                         .created = row[4],
                         .completed = row[5],
                         .object = std::move(object)});
      if (const auto created = parse_time(row[4]); created && row[1] == jobs_ns_) {
        known.emplace(row[2], *created);
      }
    }
    ATHANOR_TRY(
        const SqlRows foreign,
        run(fmt::format("SELECT {} FROM jobs j LEFT JOIN athanor_job_rows r ON r.job_id = j.id "
                        "AND r.created_at = j.created_at WHERE r.uid IS NULL "
                        "ORDER BY j.created_at DESC, j.id LIMIT {}",
                        kForeignColumns, most)));
    for (const auto& row : foreign) {
      auto entry = foreign_entry(row, jobs_ns_);
      const auto created = entry ? parse_time(entry->created) : std::nullopt;
      const auto [first, last] = known.equal_range(row[1]);
      const bool is_known = created && std::any_of(first, last, [&](const auto& one) {
                              return std::chrono::abs(one.second - *created) < kSameJob;
                            });
      if (entry && !is_known) {
        entries.push_back(*std::move(entry));
      }
    }
    std::ranges::stable_sort(entries, std::greater(), &HistoryEntry::created);
    entries.resize(std::min(entries.size(), most));
    return entries;
  }

  Result<void> put(const HistoryEntry& entry) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(execute(
          "INSERT INTO athanor_jobs(uid, ns, name, phase, created, completed, object) "
          "VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT(uid) DO UPDATE SET "
          "phase = excluded.phase, completed = excluded.completed, object = excluded.object",
          {entry.uid, entry.ns, entry.name, plain(entry.phase), entry.created, entry.completed,
           json::print(entry.object)}));
      return put_row(entry);
    });
  }

  Result<void> put_live(const HistoryEntry& entry, const HistoryEvent& event) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY(const SqlRows last,
                  run("SELECT phase, message FROM athanor_job_events WHERE uid = $1 ORDER BY "
                      "number DESC LIMIT 1",
                      {event.uid}));
      const bool is_known =
          !last.empty() && last[0][0] == plain(event.phase) && last[0][1] == plain(event.message);
      if (!is_known) {
        ATHANOR_TRY_VOID(execute(
            "INSERT INTO athanor_job_events(uid, phase, message, at) VALUES($1, $2, $3, $4)",
            {event.uid, plain(event.phase), plain(event.message), event.at}));
      }
      if (entry.ns != jobs_ns_) {
        return {};
      }
      ATHANOR_TRY(const std::string row, upsert(entry));
      if (is_known) {
        return {};
      }
      return execute(
          "INSERT INTO job_events(id, job_id, phase, message, timestamp) "
          "VALUES($1, $2, $3, $4, $5) ON CONFLICT(id) DO NOTHING",
          {uuid_of(fmt::format("{}\n{}\n{}\n{}", event.uid, event.at, event.phase, event.message)),
           row, plain(event.phase), plain(event.message), event.at});
    });
  }

  Result<std::vector<HistoryEvent>> events(const std::string& uid) override {
    std::vector<HistoryEvent> events;
    ATHANOR_TRY(const SqlRows own,
                run("SELECT phase, message, at FROM athanor_job_events WHERE uid = $1 ORDER BY "
                    "number",
                    {uid}));
    for (const auto& row : own) {
      events.push_back({.uid = uid, .phase = row[0], .message = row[1], .at = row[2]});
    }
    if (!events.empty()) {
      return events;
    }
    ATHANOR_TRY(const SqlRows foreign,
                run("SELECT phase, message, timestamp FROM job_events WHERE job_id = $1 ORDER BY "
                    "timestamp, id",
                    {uid}));
    for (const auto& row : foreign) {
      events.push_back({.uid = uid, .phase = row[0], .message = row[1], .at = time_text(row[2])});
    }
    return events;
  }

  Result<void> remove(const std::string& uid) override {
    return together([&] { return remove_rows(uid); });
  }

  Result<std::size_t> remove_older(Instant before) override {
    const std::string limit = format_time(before);
    ATHANOR_TRY(const SqlRows old, run("SELECT uid FROM athanor_jobs WHERE created < $1", {limit}));
    for (const auto& row : old) {
      ATHANOR_TRY_VOID(remove(row[0]));
    }
    ATHANOR_TRY_VOID(execute("DELETE FROM athanor_slices WHERE at < $1", {limit}));
    ATHANOR_TRY_VOID(execute("DELETE FROM athanor_repairs WHERE at < $1", {limit}));
    ATHANOR_TRY_VOID(execute("DELETE FROM athanor_records WHERE at < $1", {limit}));
    ATHANOR_TRY_VOID(execute("DELETE FROM athanor_appwrappers WHERE at < $1", {limit}));
    // The newest record of a cluster is what it has now.
    ATHANOR_TRY_VOID(
        execute("DELETE FROM athanor_hardware WHERE at < $1 AND number NOT IN "
                "(SELECT max(number) FROM athanor_hardware GROUP BY cluster)",
                {limit}));
    return old.size();
  }

  Result<void> add_audit(const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(
          execute("INSERT INTO athanor_audit(record) VALUES($1)", {json::print(record)}));
      return shorten("athanor_audit", kMostAudit);
    });
  }

  Result<std::vector<Value>> audit(std::size_t most) override {
    return records(
        fmt::format("SELECT record FROM athanor_audit ORDER BY number DESC LIMIT {}", most), {});
  }

  Result<void> add_slice_change(const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(execute("INSERT INTO athanor_slices(at, record) VALUES($1, $2)",
                               {record["at"].str(), json::print(record)}));
      return shorten("athanor_slices", kMostRecords);
    });
  }

  Result<std::vector<Value>> slice_changes(const std::string& from, std::size_t most) override {
    ATHANOR_TRY(auto changes,
                records(fmt::format("SELECT record FROM athanor_slices WHERE at >= $1 ORDER BY at "
                                    "DESC, number DESC LIMIT {}",
                                    most),
                        {from}));
    std::ranges::reverse(changes);
    return changes;
  }

  Result<void> add_hardware(const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(
          execute("INSERT INTO athanor_hardware(at, cluster, record) VALUES($1, $2, $3)",
                  {record["at"].str(), record["cluster"].str(), json::print(record)}));
      return shorten("athanor_hardware", kMostRecords);
    });
  }

  Result<std::vector<Value>> hardware(std::size_t most) override {
    return newest("athanor_hardware", most);
  }

  Result<void> add_repair(const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(execute("INSERT INTO athanor_repairs(at, record) VALUES($1, $2)",
                               {record["at"].str(), json::print(record)}));
      return shorten("athanor_repairs", kMostRecords);
    });
  }

  Result<std::vector<Value>> repairs(std::size_t most) override {
    return newest("athanor_repairs", most);
  }

  Result<void> add_record(RecordKind kind, const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY_VOID(
          execute("INSERT INTO athanor_records(kind, at, record) VALUES($1, $2, $3)",
                  {std::string(kind_text(kind)), record["at"].str(), json_text(record)}));
      // Each kind has its own limit: a storm of evictions must not push out locks.
      return execute(
          fmt::format(
              "DELETE FROM athanor_records WHERE kind = $1 AND number <= (SELECT number "
              "FROM athanor_records WHERE kind = $1 ORDER BY number DESC LIMIT 1 OFFSET {})",
              kMostRecords),
          {std::string(kind_text(kind))});
    });
  }

  Result<std::vector<Value>> records(RecordKind kind, std::size_t most) override {
    ATHANOR_TRY(auto all, records(fmt::format("SELECT record FROM athanor_records WHERE kind = $1 "
                                              "ORDER BY number DESC LIMIT {}",
                                              most),
                                  {std::string(kind_text(kind))}));
    std::ranges::reverse(all);
    return all;
  }

  Result<std::vector<HistoryEvent>> phases(const std::string& from, std::size_t most) override {
    ATHANOR_TRY(const SqlRows rows,
                run(fmt::format("SELECT uid, phase, at FROM athanor_job_events WHERE at >= $1 "
                                "ORDER BY number DESC LIMIT {}",
                                most),
                    {from}));
    std::vector<HistoryEvent> events;
    events.reserve(rows.size());
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      events.push_back({.uid = (*row)[0], .phase = (*row)[1], .at = (*row)[2]});
    }
    return events;
  }

  Result<void> add_transition(const Value& record) override {
    return together([&]() -> Result<void> {
      ATHANOR_TRY(const auto last, transitions(record["uid"].str(), 1));
      if (!last.empty() && is_same_transition(last[0], record)) {
        return {};
      }
      ATHANOR_TRY_VOID(
          execute("INSERT INTO athanor_appwrappers(uid, at, record) VALUES($1, $2, $3)",
                  {record["uid"].str(), record["at"].str(), json_text(record)}));
      return shorten("athanor_appwrappers", kMostRecords);
    });
  }

  Result<std::vector<Value>> transitions(const std::string& uid, std::size_t most) override {
    ATHANOR_TRY(auto all, records(fmt::format("SELECT record FROM athanor_appwrappers WHERE uid = "
                                              "$1 ORDER BY number DESC LIMIT {}",
                                              most),
                                  {uid}));
    std::ranges::reverse(all);
    return all;
  }

 private:
  Result<SqlRows> run(std::string_view sql, const SqlValues& values = {}) {
    return database_->run(sql, values);
  }

  // Runs a statement without rows.
  Result<void> execute(std::string_view sql, const SqlValues& values = {}) {
    const auto rows = database_->run(sql, values);
    return rows.ok() ? Result<void>() : rows.error();
  }

  // All statements of `work`, or none.
  template <typename Work>
  Result<void> together(Work work) {
    ATHANOR_TRY_VOID(execute("BEGIN"));
    Result<void> done = work();
    if (done.ok()) {
      done = execute("COMMIT");
    }
    if (!done.ok()) {
      [[maybe_unused]] const auto undone = execute("ROLLBACK");
    }
    return done;
  }

  // Writes the row of fournos-ui; returns its id.
  Result<std::string> upsert(const HistoryEntry& entry) {
    ATHANOR_TRY(const SqlRows rows, run(kUpsertJob, job_values(entry)));
    if (rows.empty()) {
      return Error::internal("the table jobs returned no row");
    }
    ATHANOR_TRY_VOID(execute(
        "INSERT INTO athanor_job_rows(job_id, uid, created_at) VALUES($1, $2, $3) ON "
        "CONFLICT(job_id) DO UPDATE SET uid = excluded.uid, created_at = excluded.created_at",
        {rows[0][0], entry.uid, some(entry.created)}));
    return rows[0][0];
  }

  Result<void> put_row(const HistoryEntry& entry) {
    if (entry.ns != jobs_ns_) {
      return {};
    }
    const auto row = upsert(entry);
    return row.ok() ? Result<void>() : row.error();
  }

  // Removes what is kept of a uid, with the row of fournos-ui that shows it.
  Result<void> remove_rows(const std::string& uid) {
    for (const std::string_view table : {"athanor_job_events", "athanor_jobs"}) {
      ATHANOR_TRY_VOID(execute(fmt::format("DELETE FROM {} WHERE uid = $1", table), {uid}));
    }
    ATHANOR_TRY(SqlRows rows, run("SELECT job_id FROM athanor_job_rows WHERE uid = $1", {uid}));
    if (rows.empty()) {
      ATHANOR_TRY(rows, run("SELECT j.id FROM jobs j LEFT JOIN athanor_job_rows r ON "
                            "r.job_id = j.id WHERE j.id = $1 AND r.uid IS NULL",
                            {uid}));
    }
    for (const auto& row : rows) {
      for (const std::string_view sql :
           {"DELETE FROM job_events WHERE job_id = $1", "DELETE FROM jobs WHERE id = $1",
            "DELETE FROM athanor_job_rows WHERE job_id = $1"}) {
        ATHANOR_TRY_VOID(execute(sql, {row[0]}));
      }
    }
    return {};
  }

  Result<void> shorten(std::string_view table, std::size_t most) {
    return execute(fmt::format(
        "DELETE FROM {0} WHERE number <= (SELECT max(number) FROM {0}) - {1}", table, most));
  }

  // The newest records of a table, the oldest first.
  Result<std::vector<Value>> newest(std::string_view table, std::size_t most) {
    ATHANOR_TRY(auto all, records(fmt::format("SELECT record FROM {} ORDER BY number DESC LIMIT {}",
                                              table, most),
                                  {}));
    std::ranges::reverse(all);
    return all;
  }

  Result<std::vector<Value>> records(std::string_view sql, const SqlValues& values) {
    ATHANOR_TRY(const SqlRows rows, run(sql, values));
    std::vector<Value> all;
    for (const auto& row : rows) {
      ATHANOR_TRY(Value record, json::parse(row[0]));
      all.push_back(std::move(record));
    }
    return all;
  }

  std::unique_ptr<SqlDatabase> database_;
  std::string jobs_ns_;
};

}  // namespace

std::unique_ptr<HistoryStore> make_sql_history(std::unique_ptr<SqlDatabase> database,
                                               std::string jobs_ns) {
  return std::make_unique<SqlHistory>(std::move(database), std::move(jobs_ns));
}

}  // namespace athanor::console
