// SPDX-License-Identifier: Apache-2.0
#include "console/logs/log_archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "client/connection.hpp"
#include "embedded/store/sqlite.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

constexpr auto kRetryWrite = std::chrono::seconds(5);
// Bytes of logs that wait in memory while the database cannot be written.
constexpr std::size_t kMostHeld = std::size_t{64} << 20;
constexpr std::size_t kMostRead = std::size_t{10'000};  // containers that wait to be read

constexpr const char* kLogTables =
    "CREATE TABLE IF NOT EXISTS athanor_logs(ns TEXT NOT NULL, pod TEXT NOT NULL, container TEXT "
    "NOT NULL, job TEXT NOT NULL, source TEXT NOT NULL, began TEXT NOT NULL, bytes INTEGER NOT "
    "NULL, text BLOB NOT NULL, PRIMARY KEY(ns, pod, container));"
    "CREATE INDEX IF NOT EXISTS athanor_logs_job ON athanor_logs(job, began);";

// A container whose log is wanted.
struct WantedLog {
  Key pod{};
  std::string container{};
  std::string job{};
  std::string source{};
  std::string began{};
};

// A container that runs; `last`: its pod is being deleted, and its log was wanted for that.
struct RunningLog {
  WantedLog log{};
  bool last = false;
};

// The newest instance of a container whose log was wanted after its end.
struct EndedLog {
  std::string uid{};  // of the pod
  std::int64_t restarts = -1;
};

// A log that could not be written.
struct HeldLog {
  WantedLog log{};
  std::string text{};
};

// "namespace/name" of the pod's job.
std::string job_of_pod(const Object& pod) {
  return std::string(pod.ns()) + "/" + std::string(pod.label(views::kJobNameLabel));
}

}  // namespace

struct LogArchive::State {
  State(store::Database opened, std::int64_t most, ApiPort api, Duration interval)
      : database(std::move(opened)), limit(most), port(std::move(api)), again(interval) {}

  Mutex database_mutex{};
  store::Database database ATHANOR_GUARDED_BY(database_mutex);
  const std::int64_t limit;
  const ApiPort port;
  const Duration again;  // between two reads of a running container

  mutable Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::deque<WantedLog> queue ATHANOR_GUARDED_BY(mutex){};
  // Keyed by pod and container; removed with the pod.
  std::map<std::pair<Key, std::string>, RunningLog> running ATHANOR_GUARDED_BY(mutex){};
  std::map<std::pair<Key, std::string>, EndedLog> done ATHANOR_GUARDED_BY(mutex){};
  std::int64_t bytes ATHANOR_GUARDED_BY(mutex) = 0;
  std::deque<HeldLog> held ATHANOR_GUARDED_BY(mutex){};
  std::size_t held_bytes ATHANOR_GUARDED_BY(mutex) = 0;
  std::size_t lost ATHANOR_GUARDED_BY(mutex) = 0;
  std::string error ATHANOR_GUARDED_BY(mutex){};
  std::thread thread{};

  Result<void> keep(const WantedLog& log, const std::string& text);
  Result<void> make_room();
  Result<std::int64_t> sum();
  std::vector<KeptLogName> stored_of(const std::string& job);
  void read(const WantedLog& log);
  // Writes a log, or notes why not; returns true if it is written.
  bool archive(const WantedLog& log, const std::string& text);
  // Takes the state of one container.
  void see(const Object& pod, const Value& status) ATHANOR_REQUIRES(mutex);
  void want(WantedLog log) ATHANOR_REQUIRES(mutex);
  // Keeps a log in memory until it can be written; newer text of a container replaces older.
  void hold(HeldLog log);
  void write_held();
  void run();
};

Result<std::int64_t> LogArchive::State::sum() {
  const MutexLock lock(database_mutex);
  ATHANOR_TRY(store::Statement row,
              database.prepare("SELECT coalesce(sum(bytes), 0) FROM athanor_logs"));
  ATHANOR_TRY(const bool any, row.step());
  return any ? row.integer(0) : 0;
}

Result<void> LogArchive::State::keep(const WantedLog& log, const std::string& text) {
  const MutexLock lock(database_mutex);
  ATHANOR_TRY(store::Statement row,
              database.prepare("INSERT INTO athanor_logs(ns, pod, container, job, source, "
                               "began, bytes, text) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON "
                               "CONFLICT(ns, pod, container) DO UPDATE SET job = "
                               "excluded.job, source = excluded.source, began = excluded.began, "
                               "bytes = excluded.bytes, text = excluded.text"));
  row.bind_text(1, log.pod.ns);
  row.bind_text(2, log.pod.name);
  row.bind_text(3, log.container);
  row.bind_text(4, log.job);
  row.bind_text(5, log.source);
  row.bind_text(6, log.began);
  row.bind_integer(7, static_cast<std::int64_t>(text.size()));
  row.bind_blob(8, text);
  const auto stepped = row.step();
  return stepped.ok() ? Result<void>() : stepped.error();
}

// Removes the oldest job's logs until the rest fits.
Result<void> LogArchive::State::make_room() {
  ATHANOR_TRY(std::int64_t total, sum());
  while (total > limit) {
    {
      const MutexLock lock(database_mutex);
      ATHANOR_TRY_VOID(database.execute(
          "DELETE FROM athanor_logs WHERE job = (SELECT job FROM athanor_logs GROUP BY "
          "job ORDER BY min(began) LIMIT 1)"));
    }
    ATHANOR_TRY(const std::int64_t rest, sum());
    if (rest >= total) {
      break;
    }
    total = rest;
  }
  const MutexLock lock(mutex);
  bytes = total;
  return {};
}

void LogArchive::State::read(const WantedLog& log) {
  const auto text = port.text({}, fmt::format("{}/log?container={}&timestamps=true",
                                              api_path(api::kPod, log.pod.ns, log.pod.name),
                                              client::escape(log.container)));
  if (!text.ok()) {
    return;  // the pod is gone: the text of an earlier reading stays
  }
  if (static_cast<std::int64_t>(text->size()) <= limit && !archive(log, *text)) {
    hold({.log = log, .text = *text});
  }
}

bool LogArchive::State::archive(const WantedLog& log, const std::string& text) {
  Result<void> kept = keep(log, text);
  if (kept.ok()) {
    kept = make_room();
  }
  const MutexLock lock(mutex);
  const std::string failure = kept.ok() ? "" : kept.error().message;
  if (failure != error && !kept.ok()) {
    log::warn("logs are not archived", {{"error", failure}});
  }
  error = failure;
  return kept.ok();
}

void LogArchive::State::hold(HeldLog log) {
  const MutexLock lock(mutex);
  std::erase_if(held, [&](const HeldLog& one) ATHANOR_REQUIRES(mutex) {
    const bool older = one.log.pod == log.log.pod && one.log.container == log.log.container;
    held_bytes -= older ? one.text.size() : 0;
    return older;
  });
  held_bytes += log.text.size();
  held.push_back(std::move(log));
  while (held_bytes > kMostHeld) {
    held_bytes -= held.front().text.size();
    held.pop_front();
    ++lost;
  }
}

void LogArchive::State::write_held() {
  while (true) {
    HeldLog next;
    {
      const MutexLock lock(mutex);
      if (held.empty()) {
        return;
      }
      next = std::move(held.front());
      held.pop_front();
      held_bytes -= next.text.size();
    }
    if (!archive(next.log, next.text)) {
      const MutexLock lock(mutex);
      held_bytes += next.text.size();
      held.push_front(std::move(next));
      return;
    }
  }
}

void LogArchive::State::run() {
  auto next = std::chrono::steady_clock::now() + again;
  auto next_write = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() >= next_write) {
      next_write = std::chrono::steady_clock::now() + kRetryWrite;
      write_held();
    }
    WantedLog wanted;
    {
      MutexLock lock(mutex);
      news.wait_for(lock, std::chrono::seconds(1),
                    [this]() ATHANOR_REQUIRES(mutex) { return stopping || !queue.empty(); });
      if (stopping) {
        return;
      }
      if (queue.empty()) {
        if (std::chrono::steady_clock::now() >= next) {
          next = std::chrono::steady_clock::now() + again;
          for (const auto& [key, one] : running) {
            queue.push_back(one.log);
          }
        }
        continue;
      }
      wanted = std::move(queue.front());
      queue.pop_front();
    }
    read(wanted);
  }
}

LogArchive::LogArchive(std::unique_ptr<State> state) : state_(std::move(state)) {}

LogArchive::~LogArchive() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->news.notify_all();
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
}

Result<std::unique_ptr<LogArchive>> LogArchive::open(const std::string& path, std::int64_t limit,
                                                     ApiPort port, Duration again) {
  ATHANOR_TRY(store::Database database, store::Database::open(path));
  ATHANOR_TRY_VOID(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"));
  ATHANOR_TRY_VOID(database.execute(kLogTables));
  auto state = std::make_unique<State>(std::move(database), limit, std::move(port), again);
  if (limit > 0) {
    ATHANOR_TRY_VOID(state->make_room());
    state->thread = std::thread([at = state.get()] { at->run(); });
  }
  return std::unique_ptr<LogArchive>(new LogArchive(std::move(state)));
}

void LogArchive::see(const Object& pod) {
  if (state_->limit <= 0 || pod.label(views::kJobNameLabel).empty()) {
    return;
  }
  const MutexLock lock(state_->mutex);
  for (const char* part : {"initContainerStatuses", "containerStatuses"}) {
    for (const Value& status : pod.status()[std::string_view(part)].items()) {
      state_->see(pod, status);
    }
  }
  state_->news.notify_all();
}

void LogArchive::gone(const Key& pod) {
  const MutexLock lock(state_->mutex);
  std::erase_if(state_->running, [&](const auto& one) { return one.first.first == pod; });
  std::erase_if(state_->done, [&](const auto& one) { return one.first.first == pod; });
}

void LogArchive::State::see(const Object& pod, const Value& status) {
  const std::string name = status["name"].str();
  const bool ended = status["state"]["terminated"].is_object();
  const std::pair<Key, std::string> key{pod.key(), name};
  EndedLog instance{.uid = std::string(pod.uid()), .restarts = status["restartCount"].as_int()};
  const auto known = done.find(key);
  const bool read = known != done.end() && known->second.uid == instance.uid &&
                    known->second.restarts >= instance.restarts;
  if ((!ended && !status["state"]["running"].is_object()) || read) {
    return;
  }
  const std::string task(pod.label(views::kPipelineTaskLabel));
  WantedLog log{.pod = key.first,
                .container = name,
                .job = job_of_pod(pod),
                .source = (task.empty() ? std::string(pod.name()) : task) + "/" +
                          (name.starts_with("step-") ? name.substr(5) : name),
                .began = pod.metadata()["creationTimestamp"].str()};
  if (ended) {
    running.erase(key);
    done.insert_or_assign(key, std::move(instance));
    want(std::move(log));
    return;
  }
  RunningLog& one = running[key];
  if (pod.deleting() && !one.last) {  // it may be gone before the next reading
    want(log);
    one.last = true;
  }
  one.log = std::move(log);
}

void LogArchive::State::want(WantedLog log) {
  if (queue.size() < kMostRead) {
    queue.push_back(std::move(log));
  }
}

std::optional<std::string> LogArchive::find(const Key& pod, const std::string& container) {
  {
    const MutexLock lock(state_->mutex);
    for (const HeldLog& one : state_->held) {
      if (one.log.pod == pod && one.log.container == container) {
        return one.text;
      }
    }
  }
  const MutexLock lock(state_->database_mutex);
  auto row = state_->database.prepare(
      "SELECT text FROM athanor_logs WHERE ns = ?1 AND pod = ?2 AND container = ?3");
  if (!row.ok()) {
    return std::nullopt;
  }
  row->bind_text(1, pod.ns);
  row->bind_text(2, pod.name);
  row->bind_text(3, container);
  const auto stepped = row->step();
  return stepped.ok() && *stepped ? std::optional(std::string(row->bytes(0))) : std::nullopt;
}

std::vector<KeptLogName> LogArchive::State::stored_of(const std::string& job) {
  std::vector<KeptLogName> names;
  const MutexLock lock(database_mutex);
  auto rows = database.prepare(
      "SELECT ns, pod, container, source FROM athanor_logs WHERE job = ?1 ORDER BY began");
  if (!rows.ok()) {
    return names;
  }
  rows->bind_text(1, job);
  while (true) {
    const auto more = rows->step();
    if (!more.ok() || !*more) {
      return names;
    }
    names.push_back({.pod = {std::string(rows->bytes(0)), std::string(rows->bytes(1))},
                     .container = std::string(rows->bytes(2)),
                     .source = std::string(rows->bytes(3))});
  }
}

std::vector<KeptLogName> LogArchive::of_job(const std::string& job) {
  std::vector<KeptLogName> names = state_->stored_of(job);
  const MutexLock lock(state_->mutex);
  for (const HeldLog& one : state_->held) {
    const bool known = std::ranges::any_of(names, [&](const KeptLogName& name) {
      return name.pod == one.log.pod && name.container == one.log.container;
    });
    if (one.log.job == job && !known) {
      names.push_back(
          {.pod = one.log.pod, .container = one.log.container, .source = one.log.source});
    }
  }
  return names;
}

LogArchiveState LogArchive::state() const {
  const MutexLock lock(state_->mutex);
  return {.bytes = state_->bytes,
          .limit = state_->limit,
          .held = state_->held.size(),
          .lost = state_->lost,
          .error = state_->error};
}

}  // namespace athanor::console
