// SPDX-License-Identifier: Apache-2.0
// athanor submit and athanor cancel.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "base/clock.hpp"
#include "cli/flags/environment.hpp"
#include "cli/jobs/job_builder.hpp"
#include "cli/jobs/job_files.hpp"
#include "cli/jobs/job_templates.hpp"
#include "cli/jobs/preflight.hpp"
#include "cli/jobs/scheduled_submission.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/elsewhere.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/job.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/recurring_messages.hpp"

namespace athanor::cli {
namespace {

// Adds the jobs of a file, or what is wrong with it.
void add_file(const std::string& file, JobBatch& batch) {
  const auto text = read_manifest(file);
  if (!text.ok()) {
    batch.problems.push_back(text.error().message);
    return;
  }
  JobBatch read = read_job_documents(*text, file == "-" ? "standard input" : file);
  std::ranges::move(read.jobs, std::back_inserter(batch.jobs));
  std::ranges::move(read.problems, std::back_inserter(batch.problems));
}

Result<void> add_reruns(const SubmitOptions& options, Session& session, JobBatch& batch) {
  ATHANOR_TRY(const std::vector<std::string> again,
              chosen_names(session, api::kFournosJob, options.rerun));
  for (const std::string& name : again) {
    const auto job = session.get(api::kFournosJob, session.ns(), name);
    if (!job.ok()) {
      return with_other_namespaces(session, api::kFournosJob, name, job.error());
    }
    JobBatch read = read_job_documents(json::print(job->body()), name);
    std::ranges::move(read.jobs, std::back_inserter(batch.jobs));
  }
  return {};
}

Result<JobBatch> jobs_of(const SubmitOptions& options, Session& session) {
  JobBatch batch;
  ATHANOR_TRY_VOID(add_reruns(options, session, batch));
  if (!options.job_template.empty()) {
    ATHANOR_TRY(Value job, read_template(session, options.job_template));
    if (const std::string user = user_name();
        !user.empty() && job["spec"]["owner"].as_string().empty()) {
      job.member("spec").set("owner", user);
    }
    batch.jobs.push_back({.job = std::move(job), .place = "template " + options.job_template});
  }
  for (const std::string& path : options.files) {
    ATHANOR_TRY(const std::vector<std::string> files, manifest_files(path));
    for (const std::string& file : files) {
      add_file(file, batch);
    }
  }
  const std::size_t all = batch.jobs.size() + batch.problems.size();
  if (all > 1 && (!options.name.empty() || options.follow)) {
    return wrong_usage(fmt::format("{} is for one job: there are {}",
                                   options.follow ? "--follow" : "--name", all));
  }
  for (PlacedJob& one : batch.jobs) {
    if (const auto done = override_job(one.job, options); !done.ok()) {
      return done.error();
    }
    if (options.follow && !one.job["spec"]["schedule"].as_string().empty()) {
      return wrong_usage(
          fmt::format("--follow: a job with spec.schedule has no end; submit it without, and list "
                      "its runs by `athanor jobs -l {}=NAME`",
                      fournos::name::kRecurringParent));
    }
  }
  return batch;
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
    return wrong_usage(fmt::format(
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

// Names jobs that are in the batch twice: the server would refuse the second when the first is
// there.
Result<void> check_twins(const JobBatch& batch, std::size_t index, const std::string& ns) {
  const Value& metadata = batch.jobs[index].job["metadata"];
  for (std::size_t i = 0; i < index && !metadata["name"].as_string().empty(); ++i) {
    const Value& other = batch.jobs[i].job["metadata"];
    if (other["name"] == metadata["name"] && other["namespace"] == metadata["namespace"]) {
      return Error::conflict(fmt::format("{}/{} is also in {}", ns, metadata["name"].as_string(),
                                         batch.jobs[i].place));
    }
  }
  return {};
}

// Has the server check all of several jobs first: one that it refuses keeps the others back.
int check_all(Session& session, const JobBatch& batch, const SubmitOptions& options) {
  int code = batch.problems.empty() ? 0 : 1;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const PlacedJob& one = batch.jobs[i];
    const auto check = [&]() -> Result<void> {
      ATHANOR_TRY(const std::string ns, namespace_of(one.job, options, session));
      ATHANOR_TRY_VOID(check_twins(batch, i, ns));
      ATHANOR_TRY_VOID(post_job(session, one.job, ns, Trial::DryRun));
      return {};
    };
    if (const auto checked = check(); !checked.ok()) {
      code = fail(checked.error().with_context(one.place));
    }
  }
  return code;
}

// Submits the jobs; the exit code.
int submit_batch(Session& session, const JobBatch& batch, const SubmitOptions& options) {
  for (const std::string& problem : batch.problems) {
    warn(problem);
  }
  const bool several = batch.jobs.size() + batch.problems.size() > 1;
  if (several && !options.keep_going) {
    if (const int code = check_all(session, batch, options); code != 0) {
      warn("no job is submitted; --keep-going submits the good ones");
      return code;
    }
  }
  int exit_code = batch.problems.empty() ? 0 : 1;
  for (const PlacedJob& one : batch.jobs) {
    const auto code = submit_one(session, one.job, options);
    const int own = code.ok() ? *code
                    : several ? fail(code.error().with_context(one.place))
                              : fail(code.error());
    exit_code = own != 0 ? own : exit_code;
  }
  return exit_code;
}

}  // namespace

int run(const SubmitOptions& options) {
  if (options.from_environment) {
    const auto code = submit_from_environment(options.target);
    return code.ok() ? *code : fail(code.error());
  }
  const bool from_flags = options.files.empty() && options.rerun.names.empty() &&
                          options.rerun.labels.empty() && options.job_template.empty();
  const auto built = from_flags ? build_job(options, user_name()) : Result<Value>(Value());
  if (!built.ok()) {
    return fail(built.error());  // what is wrong with flags needs no server
  }
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto batch = from_flags
                         ? Result<JobBatch>(JobBatch{.jobs = {{.job = *built, .place = "flags"}}})
                         : jobs_of(options, *session);
  return batch.ok() ? submit_batch(*session, *batch, options) : fail(batch.error());
}

namespace {

Result<int> cancel_all(const CancelOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  const Kind& kind = api::kFournosJob;
  ATHANOR_TRY(const std::vector<std::string> names, chosen_names(session, kind, options.choice));
  const Terminal out(STDOUT_FILENO);
  return for_each_name(names, [&](const std::string& name) -> Result<int> {
    const auto over = [&](const std::string& phase) {
      out.print(fmt::format("{} is over already: {}\n", name, phase));
      return 0;
    };
    const auto found = session.get(kind, session.ns(), name);
    if (!found.ok()) {
      return with_other_namespaces(session, kind, name, found.error());
    }
    if (const std::string phase = found->status()["phase"].str(); fournos::is_terminal(phase)) {
      return over(phase);  // its record stays as it is
    }
    const Value patch = Value::object(
        {{"spec", Value::object({{"shutdown", options.terminate ? "Terminate" : "Stop"}})}});
    const auto patched = session.connection().call(
        {.method = "PATCH",
         .path = Session::path(kind, session.ns(), name) + "?fieldManager=athanor-cancel",
         .body = patch,
         .content_type = "application/merge-patch+json"});
    if (!patched.ok()) {
      return with_other_namespaces(session, kind, name, patched.error());
    }
    const std::string phase = Object(*patched).status()["phase"].str();
    if (fournos::is_terminal(phase)) {
      return over(phase);
    }
    out.print(fmt::format("{} is being stopped\n", name));
    return 0;
  });
}

}  // namespace

int run(const CancelOptions& options) {
  const auto code = cancel_all(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
