// SPDX-License-Identifier: Apache-2.0
// athanor results: what a run's pipeline reported, and the files of its results place.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include "api/builtin.hpp"
#include "base/clock.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/results/job_record.hpp"
#include "cli/session/verbs.hpp"
#include "views/comparison.hpp"
#include "views/result_files.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

constexpr int kNoObject = 404;

// Deletes the pod at the end, whatever happens.
class ReaderPod {
 public:
  ReaderPod(Session& session, Object pod) : session_(session), pod_(std::move(pod)) {}
  ReaderPod(const ReaderPod&) = delete;
  ReaderPod& operator=(const ReaderPod&) = delete;
  ~ReaderPod() {
    static_cast<void>(
        session_.connection().call({.method = "DELETE", .path = path() + "?gracePeriodSeconds=0"}));
  }

  // Waits for the pod's end and returns its log. Errors: it failed or takes too long.
  Result<std::string> log(Duration patience) {
    constexpr std::chrono::milliseconds kPause{200};
    const Instant end = wall_clock()->now() + patience;
    while (true) {
      ATHANOR_TRY(const Object pod,
                  session_.get(api::kPod, std::string(pod_.ns()), std::string(pod_.name())));
      const std::string phase = pod.status()["phase"].str();
      if (phase == "Succeeded") {
        return session_.connection().text({.path = path() + "/log?container=read"});
      }
      if (phase == "Failed") {
        const auto said = session_.connection().text({.path = path() + "/log?container=read"});
        return Error::internal(fmt::format("pod {}, which reads the results, failed: {}",
                                           pod_.name(),
                                           said.ok() ? *said : pod.status()["message"].str()));
      }
      if (wall_clock()->now() >= end) {
        return Error{.code = 504,
                     .reason = "Timeout",
                     .message = fmt::format("pod {}, which reads the results, is {} after {}; "
                                            "--timeout gives it more time",
                                            pod_.name(), phase.empty() ? "not started" : phase,
                                            format_age(patience))};
      }
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  [[nodiscard]] std::string path() const {
    return Session::path(api::kPod, std::string(pod_.ns()), std::string(pod_.name()));
  }

  Session& session_;
  Object pod_;
};

// Nothing where there is no results place.
Result<std::optional<std::vector<views::ResultFile>>> read_files(Session& session,
                                                                 const ResultsOptions& options,
                                                                 views::ResultsWanted wanted) {
  const auto claim = session.get(api::kPersistentVolumeClaim, session.ns(), options.claim);
  if (!claim.ok() && claim.error().code == kNoObject) {
    return std::optional<std::vector<views::ResultFile>>();
  }
  if (!claim.ok()) {
    return claim.error();
  }
  const views::ResultsPlace place{
      .ns = session.ns(), .job = options.job, .claim = options.claim, .image = options.image};
  ATHANOR_TRY(Value created,
              session.connection().call(
                  {.method = "POST",
                   .path = Session::path(api::kPod, session.ns()) + "?fieldManager=athanor-results",
                   .body = views::results_pod(place, wanted)}));
  ReaderPod pod(session, Object(std::move(created)));
  ATHANOR_TRY(const std::string log, pod.log(std::chrono::seconds(options.timeout)));
  ATHANOR_TRY(std::vector<views::ResultFile> files, views::parse_result_files(log, wanted));
  return std::optional(std::move(files));
}

Result<void> write_files(const std::vector<views::ResultFile>& files, const std::string& folder) {
  for (const views::ResultFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file.path;
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << file.content;
    stream.close();
    if (failed || !stream) {
      return Error::internal(fmt::format("{}: cannot be written", path.string()));
    }
  }
  return {};
}

Value results_value(const std::string& job, const std::vector<views::JobResult>& results,
                    const std::vector<views::ResultFile>& files) {
  Value named = Value::list();
  for (const views::JobResult& result : results) {
    named.push_back(
        Value::object({{"name", result.name}, {"value", result.value}, {"task", result.task}}));
  }
  Value listed = Value::list();
  for (const views::ResultFile& file : files) {
    listed.push_back(Value::object({{"path", file.path}, {"size", file.size}}));
  }
  return Value::object({{"job", job}, {"results", std::move(named)}, {"files", std::move(listed)}});
}

Result<int> show_results(const ResultsOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const Terminal out(STDOUT_FILENO);
  const Terminal err(STDERR_FILENO);
  // Files stay when their job is gone.
  std::vector<views::JobResult> results;
  std::optional<Error> no_job;
  if (const auto record = read_job_record(session, options.job); record.ok()) {
    results = views::results_of(*record);
  } else if (record.error().code == kNoObject) {
    no_job = record.error();
  } else {
    return record.error();
  }
  ATHANOR_TRY(const auto files, read_files(session, options,
                                           options.copy.empty() ? views::ResultsWanted::List
                                                                : views::ResultsWanted::Contents));
  const bool has_files = files && !files->empty();
  if (no_job && !has_files) {
    return *no_job;
  }
  if (!options.copy.empty() && files) {
    ATHANOR_TRY_VOID(write_files(*files, options.copy));
  }
  if (options.output != Output::Table) {
    ATHANOR_TRY(const std::string document,
                render_values({results_value(options.job, results,
                                             files.value_or(std::vector<views::ResultFile>()))},
                              {.output = options.output, .pattern = {}}, Shape::Single, false));
    out.print(document);
    return 0;
  }
  if (!results.empty()) {
    views::Table table({"RESULT", "TASK", "VALUE"});
    for (const views::JobResult& result : results) {
      table.add({result.name, result.task.empty() ? "-" : result.task, result.value});
    }
    out.print(table.text(out.columns()));
  }
  if (has_files) {
    views::Table table({"FILE", "BYTES"});
    for (const views::ResultFile& file : *files) {
      table.add({file.path, std::to_string(file.size)});
    }
    out.print((results.empty() ? "" : "\n") + table.text(out.columns()));
  }
  if (!options.copy.empty()) {
    err.print(fmt::format("{} files copied to {}\n", has_files ? files->size() : 0, options.copy));
  }
  if (!files) {
    err.print(
        fmt::format("athanor: namespace {} has no results place: there is no "
                    "PersistentVolumeClaim {}\n",
                    session.ns(), options.claim));
  } else if (results.empty() && !has_files) {
    err.print(fmt::format("athanor: {} has neither results nor files of results\n", options.job));
  }
  return 0;
}

}  // namespace

int run(const ResultsOptions& options) {
  const auto code = show_results(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
