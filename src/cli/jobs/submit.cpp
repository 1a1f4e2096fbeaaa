// SPDX-License-Identifier: Apache-2.0
// athanor submit and athanor cancel.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "base/clock.hpp"
#include "cli/jobs/job_builder.hpp"
#include "cli/jobs/job_files.hpp"
#include "cli/jobs/job_templates.hpp"
#include "cli/jobs/preflight.hpp"
#include "cli/jobs/scheduled_submission.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/recurring_messages.hpp"

namespace athanor::cli {
namespace {

std::string user_name() {
  const char* user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread so far
  return user == nullptr ? "" : user;
}

Result<std::vector<Value>> jobs_of(const SubmitOptions& options, Session& session) {
  std::vector<Value> jobs;
  if (!options.rerun.empty()) {
    ATHANOR_TRY(const Object job, session.get(api::kFournosJob, session.ns(), options.rerun));
    ATHANOR_TRY(jobs, read_jobs(json::print(job.body()), options.rerun));
  }
  if (!options.job_template.empty()) {
    ATHANOR_TRY(Value job, read_template(session, options.job_template));
    if (const std::string user = user_name();
        !user.empty() && job["spec"]["owner"].as_string().empty()) {
      job.member("spec").set("owner", user);
    }
    jobs.push_back(std::move(job));
  }
  std::string problems;
  for (const std::string& path : options.files) {
    ATHANOR_TRY(const std::vector<std::string> files, manifest_files(path));
    for (const std::string& file : files) {
      ATHANOR_TRY(const std::string text, read_manifest(file));
      auto read = read_jobs(text, file == "-" ? "standard input" : file);
      if (read.ok()) {
        std::ranges::move(*read, std::back_inserter(jobs));
      } else {
        problems += (problems.empty() ? "" : "\n") + read.error().message;
      }
    }
  }
  if (!problems.empty()) {
    return Error::bad_request(std::move(problems));
  }
  if (jobs.size() > 1 && (!options.name.empty() || options.follow)) {
    return wrong_usage(fmt::format("{} is for one job: there are {}",
                                   options.follow ? "--follow" : "--name", jobs.size()));
  }
  for (Value& job : jobs) {
    ATHANOR_TRY_VOID(override_job(job, options));
    if (options.follow && !job["spec"]["schedule"].as_string().empty()) {
      return wrong_usage(
          fmt::format("--follow: a job with spec.schedule has no end; submit it without, and list "
                      "its runs by `athanor jobs -l {}=NAME`",
                      fournos::name::kRecurringParent));
    }
  }
  return jobs;
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

enum class Trial : std::uint8_t { Real, DryRun };

Result<Value> post_job(Session& session, const Value& job, const std::string& ns, Trial trial) {
  const std::string query = fmt::format("?fieldManager=athanor-submit&fieldValidation=Strict{}",
                                        trial == Trial::DryRun ? "&dryRun=All" : "");
  return session.connection().call(
      {.method = "POST", .path = Session::path(api::kFournosJob, ns) + query, .body = job});
}

std::string label_of_job(const Value& job, std::size_t index) {
  const std::string& name = job["metadata"]["name"].str();
  return name.empty() ? fmt::format("job {}", index + 1) : name;
}

// Submits one job and says what became of it; the exit code.
Result<int> submit_one(Session& session, const Value& job, const SubmitOptions& options) {
  ATHANOR_TRY(const std::string ns, namespace_of(job, options, session));
  ATHANOR_TRY(const Value created,
              post_job(session, job, ns, options.dry_run ? Trial::DryRun : Trial::Real));
  const Object object(created);
  const Preflight ahead = preflight(session, created, ns);
  if (options.dry_run) {
    if (const int code = print_preflight(session, ahead, object.name()); code != 0) {
      return code;
    }
  }
  const Terminal out(STDOUT_FILENO);
  if (options.output != Output::Table) {
    out.print(render({object}, options.output, true));
  } else {
    out.print(fmt::format("fournosjob.fournos.dev/{} created{} in namespace {}\n", object.name(),
                          options.dry_run ? " (dry run)" : "", ns));
  }
  if (options.dry_run) {
    return 0;
  }
  if (options.follow) {
    if (!ahead.misfit.empty()) {
      warn(fmt::format("{} waits, and can never start: {}", object.name(), ahead.misfit));
    }
    return follow_job(session, object);
  }
  const int code = report_created(session, object, ahead);
  if (code == 0 && options.output == Output::Table && out.interactive()) {
    out.print(fmt::format("Follow it: athanor logs -f {} -n {}\n", object.name(), ns));
  }
  return code;
}

// Has the server check all of several jobs first: one that it refuses keeps the others back.
int check_all(Session& session, const std::vector<Value>& jobs, const SubmitOptions& options) {
  int code = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto ns = namespace_of(jobs[i], options, session);
    if (!ns.ok()) {
      code = fail(ns.error().with_context(label_of_job(jobs[i], i)));
    } else if (const auto checked = post_job(session, jobs[i], *ns, Trial::DryRun); !checked.ok()) {
      code = fail(checked.error().with_context(label_of_job(jobs[i], i)));
    }
  }
  return code;
}

}  // namespace

int run(const SubmitOptions& options) {
  if (options.from_environment) {
    const auto code = submit_from_environment(options.target);
    return code.ok() ? *code : fail(code.error());
  }
  const bool from_flags =
      options.files.empty() && options.rerun.empty() && options.job_template.empty();
  const auto built = from_flags ? build_job(options, user_name()) : Result<Value>(Value());
  if (!built.ok()) {
    return fail(built.error());  // what is wrong with flags needs no server
  }
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto jobs = from_flags ? Result<std::vector<Value>>(std::vector<Value>{*built})
                               : jobs_of(options, *session);
  if (!jobs.ok()) {
    return fail(jobs.error());
  }
  if (jobs->size() > 1 && !options.keep_going) {
    if (const int code = check_all(*session, *jobs, options); code != 0) {
      warn("no job is submitted; --keep-going submits the good ones");
      return code;
    }
  }
  int exit_code = 0;
  for (const Value& job : *jobs) {
    const auto code = submit_one(*session, job, options);
    if (const int own = code.ok() ? *code : fail(code.error()); own != 0) {
      exit_code = own;
    }
  }
  return exit_code;
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
