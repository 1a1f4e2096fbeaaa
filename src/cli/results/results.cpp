// SPDX-License-Identifier: Apache-2.0
// athanor results: what a run's pipeline reported, and the files of its results place.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "cli/results/job_record.hpp"
#include "cli/session/verbs.hpp"
#include "client/connection.hpp"
#include "views/comparison.hpp"
#include "views/result_files.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

constexpr int kNoObject = 404;
constexpr int kTimeout = 504;

// Nothing where there is no results place.
Result<std::optional<std::vector<views::ResultFile>>> read_files(Session& session,
                                                                 const ResultsOptions& options,
                                                                 views::ResultsWanted wanted) {
  client::Connection& connection = session.connection();
  const views::ResultsAccess access{
      .call =
          [&](const std::string& method, const std::string& path, const Value& body) {
            return connection.call({.method = method, .path = path, .body = body});
          },
      .text = [&](const std::string& path) { return connection.text({.path = path}); },
      .now = [] { return wall_clock()->now(); },
      .pause = [](Duration time) { std::this_thread::sleep_for(time); }};
  const views::ResultsPlace place{
      .ns = session.ns(), .job = options.job, .claim = options.claim, .image = options.image};
  auto files =
      views::read_result_files(access, place, wanted, std::chrono::seconds(options.timeout));
  if (!files.ok() && files.error().code == kTimeout) {
    Error slow = files.error();
    slow.message += "; --timeout gives it more time";
    return slow;
  }
  return files;
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
                    "PersistentVolumeClaim {}. --claim names another one; to set it up: "
                    "docs/fournos.md#results\n",
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
