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
#include "cli/session/chosen_names.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "client/connection.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
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
                                                                 const std::string& job,
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
      .ns = session.ns(), .job = job, .claim = options.claim, .image = options.image};
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

// Results of one job; no files: there is no place for them.
struct OneJob {
  std::string name{};
  std::vector<views::JobResult> results{};
  std::optional<std::vector<views::ResultFile>> files{};
  std::string copied{};  // the folder with the files; empty: they are not copied
};

// `several`: the files go into a folder of their own below that of --copy.
Result<OneJob> read_one(Session& session, const ResultsOptions& options, const std::string& job,
                        bool several) {
  OneJob one{.name = job};
  // Files stay when their job is gone.
  std::optional<Error> no_job;
  if (const auto record = read_job_record(session, job); record.ok()) {
    one.results = views::results_of(*record);
  } else if (record.error().code == kNoObject) {
    no_job = with_other_namespaces(session, api::kFournosJob, job, record.error());
  } else {
    return record.error();
  }
  ATHANOR_TRY(one.files, read_files(session, options, job,
                                    options.copy.empty() ? views::ResultsWanted::List
                                                         : views::ResultsWanted::Contents));
  if (no_job && (!one.files || one.files->empty())) {
    return *no_job;
  }
  if (!options.copy.empty() && one.files) {
    one.copied = several ? options.copy + "/" + job : options.copy;
    ATHANOR_TRY_VOID(write_files(*one.files, one.copied));
  }
  return one;
}

void print_one(const OneJob& one, const Session& session, const ResultsOptions& options) {
  const Terminal out(STDOUT_FILENO);
  const Terminal err(STDERR_FILENO);
  const bool has_files = one.files && !one.files->empty();
  if (!one.results.empty()) {
    views::Table table({"RESULT", "TASK", "VALUE"});
    for (const views::JobResult& result : one.results) {
      table.add({result.name, result.task.empty() ? "-" : result.task, result.value});
    }
    out.print(table.text(out.columns()));
  }
  if (has_files) {
    views::Table table({"FILE", "BYTES"});
    for (const views::ResultFile& file : *one.files) {
      table.add({file.path, std::to_string(file.size)});
    }
    out.print((one.results.empty() ? "" : "\n") + table.text(out.columns()));
  }
  if (!one.files) {
    err.print(
        fmt::format("athanor: namespace {} has no results place: there is no "
                    "PersistentVolumeClaim {}. --claim names another one; to set it up: "
                    "docs/fournos.md#results\n",
                    session.ns(), options.claim));
  } else if (one.results.empty() && !has_files) {
    err.print(fmt::format("athanor: {} has neither results nor files of results\n", one.name));
  }
}

Result<int> show_results(const ResultsOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::vector<std::string> names,
              chosen_names(session, api::kFournosJob, options.jobs));
  const bool several = names.size() > 1;
  const bool shows_table = options.output == Output::Table;
  const Terminal out(STDOUT_FILENO);
  std::vector<Value> values;
  bool begun = false;
  const int code = for_each_name(names, [&](const std::string& name) -> Result<int> {
    ATHANOR_TRY(const OneJob one, read_one(session, options, name, several));
    values.push_back(
        results_value(name, one.results, one.files.value_or(std::vector<views::ResultFile>())));
    if (shows_table) {
      if (several) {
        out.print(fmt::format("{}job {}\n", begun ? "\n" : "", name));
      }
      begun = true;
      print_one(one, session, options);
    }
    if (!options.copy.empty()) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("{} files copied to {}\n", one.files ? one.files->size() : 0,
                             one.copied.empty() ? options.copy : one.copied));
    }
    return 0;
  });
  if (!shows_table && !values.empty()) {
    ATHANOR_TRY(const std::string document,
                render_values(values, {.output = options.output, .pattern = {}},
                              several ? Shape::List : Shape::Single, false));
    out.print(document);
  }
  return code;
}

}  // namespace

int run(const ResultsOptions& options) {
  const auto code = show_results(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
