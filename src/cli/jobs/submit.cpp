// SPDX-License-Identifier: Apache-2.0
// athanor submit and athanor cancel.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/jobs/job_builder.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

Result<std::string> read_input(const std::string& file) {
  if (file == "-") {
    std::string text;
    char buffer[65536];
    for (ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer); count > 0;
         count = ::read(STDIN_FILENO, buffer, sizeof buffer)) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return Error::not_found(fmt::format("cannot read {}", file));
  }
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

Result<Value> job_of(const SubmitOptions& options) {
  if (options.file.empty()) {
    const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread so far
    return build_job(options, user == nullptr ? "" : user);
  }
  ATHANOR_TRY(const std::string text, read_input(options.file));
  return read_job(text, options.file == "-" ? "standard input" : options.file);
}

}  // namespace

int run(const SubmitOptions& options) {
  auto job = job_of(options);
  if (!job.ok()) {
    fail(job.error());
    return options.file.empty() ? 2 : 1;
  }
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const Kind& kind = api::kFournosJob;
  std::string ns = (*job)["metadata"]["namespace"].str();
  if (ns.empty()) {
    ns = session->ns();
  }
  const std::string query = fmt::format("?fieldManager=athanor-submit&fieldValidation=Strict{}",
                                        options.dry_run ? "&dryRun=All" : "");
  const auto created = session->connection().call(
      {.method = "POST", .path = Session::path(kind, ns) + query, .body = *job});
  if (!created.ok()) {
    return fail(created.error());
  }
  const Object object(*created);
  const Terminal out(STDOUT_FILENO);
  if (options.output != Output::Table) {
    out.print(render({object}, options.output, true, kind));
  } else {
    out.print(fmt::format("fournosjob.fournos.dev/{} created{} in namespace {}\n", object.name(),
                          options.dry_run ? " (dry run)" : "", ns));
  }
  if (options.dry_run) {
    return 0;
  }
  if (options.follow) {
    return follow_job(*session, object);
  }
  if (options.output == Output::Table && out.interactive()) {
    out.print(fmt::format("Follow it: athanor logs -f {} -n {}\n", object.name(), ns));
  }
  return 0;
}

int run(const CancelOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const Kind& kind = api::kFournosJob;
  const Terminal out(STDOUT_FILENO);
  int exit_code = 0;
  for (const std::string& name : options.names) {
    const Value patch = Value::object(
        {{"spec", Value::object({{"shutdown", options.terminate ? "Terminate" : "Stop"}})}});
    const auto patched = session->connection().call(
        {.method = "PATCH",
         .path = Session::path(kind, session->ns(), name) + "?fieldManager=athanor-cancel",
         .body = patch,
         .content_type = "application/merge-patch+json"});
    if (!patched.ok()) {
      exit_code = fail(patched.error());
      continue;
    }
    const std::string phase = Object(*patched).status()["phase"].str();
    const bool over = phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
    out.print(over ? fmt::format("{} is over already: {}\n", name, phase)
                   : fmt::format("{} is being stopped\n", name));
  }
  return exit_code;
}

}  // namespace athanor::cli
