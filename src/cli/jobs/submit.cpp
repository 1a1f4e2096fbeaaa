// SPDX-License-Identifier: Apache-2.0
// athanor submit and athanor cancel.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/clock.hpp"
#include "cli/jobs/job_builder.hpp"
#include "cli/preflight.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

std::string user_name() {
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread so far
  return user == nullptr ? "" : user;
}

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
    return build_job(options, user_name());
  }
  ATHANOR_TRY(const std::string text, read_input(options.file));
  return read_job(text, options.file == "-" ? "standard input" : options.file);
}

void warn(const std::string& text) {
  Terminal(STDERR_FILENO).print(fmt::format("athanor: {}\n", text));
}

// A job's first word on its fate, waited for a moment: what fails does so at once. An empty phase:
// no controller has looked yet.
struct FirstWord {
  std::string phase{};
  std::string message{};
};
FirstWord first_word(Session& session, const Object& created) {
  constexpr Duration kPatience = std::chrono::seconds(1);
  constexpr std::chrono::milliseconds kPause{50};
  const auto clock = wall_clock();
  const Instant end = clock->now() + kPatience;
  while (clock->now() < end) {
    const auto job =
        session.get(api::kFournosJob, std::string(created.ns()), std::string(created.name()));
    if (!job.ok()) {
      return {};  // it is stored; whether it can be read is another matter
    }
    const std::string phase = job->status()["phase"].str();
    if (!phase.empty()) {
      return {.phase = phase, .message = job->status()["message"].str()};
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

// What a dry run says besides the server's checks; the exit code.
int print_preflight(Session& session, const Preflight& ahead, std::string_view name) {
  if (!ahead.unseen.empty()) {
    warn("not everything could be looked at: " + ahead.unseen);
  }
  if (!ahead.failure.empty()) {
    warn(fmt::format("{} would fail at once: {}{}", name, ahead.failure,
                     correction(session, ahead.failure)));
    return 1;
  }
  if (!ahead.misfit.empty()) {
    warn(fmt::format("{} would never start: {}", name, ahead.misfit));
    return 1;
  }
  return 0;
}

// What is said of a job that was stored; the exit code.
int report_created(Session& session, const Object& created, const Preflight& ahead) {
  const FirstWord word = first_word(session, created);
  if (word.phase == "Failed") {
    warn(fmt::format("{} failed: {}{}", created.name(), word.message,
                     correction(session, word.message)));
    return 1;
  }
  const std::string& lab = session.connection().config().jobs_ns;
  if (word.phase.empty() && !lab.empty() && lab != created.ns()) {
    warn(fmt::format("no controller watches {}: this lab's controllers watch namespace {} alone",
                     created.name(), lab));
  }
  if (!ahead.misfit.empty()) {
    warn(fmt::format("{} waits, and can never start: {}", created.name(), ahead.misfit));
  }
  return 0;
}

// The namespace of the file and that of -n are to be one, as for kubectl.
Result<std::string> namespace_of(const Value& job, const SubmitOptions& options,
                                 const Session& session) {
  const std::string own = job["metadata"]["namespace"].str();
  if (own.empty()) {
    return session.ns();
  }
  if (!options.target.ns.empty() && options.target.ns != own) {
    return Error::bad_request(fmt::format(
        "the namespace from the provided object \"{}\" does not match the namespace \"{}\". You "
        "must pass '--namespace={}' to perform this operation.",
        own, options.target.ns, own));
  }
  return own;
}

}  // namespace

int run(const SubmitOptions& options) {
  auto job = job_of(options);
  if (!job.ok()) {
    fail(job.error());
    return options.file.empty() ? 2 : 1;
  }
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const Kind& kind = api::kFournosJob;
  const auto ns = namespace_of(*job, options, *session);
  if (!ns.ok()) {
    return fail(ns.error());
  }
  const std::string query = fmt::format("?fieldManager=athanor-submit&fieldValidation=Strict{}",
                                        options.dry_run ? "&dryRun=All" : "");
  const auto created = session->connection().call(
      {.method = "POST", .path = Session::path(kind, *ns) + query, .body = *job});
  if (!created.ok()) {
    return fail(created.error());
  }
  const Object object(*created);
  const Preflight ahead = preflight(*session, *created, *ns);
  if (options.dry_run) {
    if (const int code = print_preflight(*session, ahead, object.name()); code != 0) {
      return code;
    }
  }
  const Terminal out(STDOUT_FILENO);
  if (options.output != Output::Table) {
    out.print(render({object}, options.output, true, kind));
  } else {
    out.print(fmt::format("fournosjob.fournos.dev/{} created{} in namespace {}\n", object.name(),
                          options.dry_run ? " (dry run)" : "", *ns));
  }
  if (options.dry_run) {
    return 0;
  }
  if (options.follow) {
    if (!ahead.misfit.empty()) {
      warn(fmt::format("{} waits, and can never start: {}", object.name(), ahead.misfit));
    }
    return follow_job(*session, object);
  }
  const int code = report_created(*session, object, ahead);
  if (code == 0 && options.output == Output::Table && out.interactive()) {
    out.print(fmt::format("Follow it: athanor logs -f {} -n {}\n", object.name(), *ns));
  }
  return code;
}

int run(const CancelOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
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
