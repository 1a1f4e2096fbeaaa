// SPDX-License-Identifier: Apache-2.0
// athanor logs.
#include "cli/jobs/pod_logs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "api/tekton.hpp"
#include "base/clock.hpp"
#include "base/near_name.hpp"
#include "cli/jobs/follow.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/unreconciled.hpp"
#include "cli/session/verbs.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/usage.hpp"
#include "views/job_labels.hpp"
#include "views/reasons.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kUnseen = std::chrono::seconds(5);
// Each has a watch of its own, one of its pods, and a stream for each container that runs.
constexpr std::size_t kMostFollowed = 20;

// The tasks of a job's run in their order: behind those that they wait for, those for the end last.
std::vector<std::string> tasks_of(const Object& run) {
  std::vector<std::string> names;
  std::vector<Value> left(run.status()["pipelineSpec"]["tasks"].items().begin(),
                          run.status()["pipelineSpec"]["tasks"].items().end());
  const auto is_ready = [&](const Value& task) {
    return std::ranges::all_of(task["runAfter"].items(), [&](const Value& name) {
      return std::ranges::find(names, name.as_string()) != names.end();
    });
  };
  while (!left.empty()) {
    auto next = std::ranges::find_if(left, is_ready);
    next = next == left.end() ? left.begin() : next;
    names.push_back((*next)["name"].str());
    left.erase(next);
  }
  for (const Value& task : run.status()["pipelineSpec"]["finally"].items()) {
    names.push_back(task["name"].str());
  }
  return names;
}

// What keeps a pod from starting; empty: nothing that it says.
std::string obstacle_of(const Object& pod) {
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    const Value& waiting = status["state"]["waiting"];
    if (waiting["reason"].is_string()) {
      const std::string message = waiting["message"].str();
      return waiting["reason"].str() + (message.empty() ? "" : ": " + message);
    }
  }
  return find_condition(pod.status()["conditions"], "PodScheduled")["message"].str();
}

std::string state_of(const Object& job) {
  return views::state_text(job.status()["phase"].as_string(),
                           views::clear_reason(job.status()["message"].as_string()));
}

// Says that a run has no task of this name, and which it has; empty: it has, or shows none yet.
std::string no_such_task(const Object& run, const std::string& job, const std::string& task) {
  const std::vector<std::string> tasks = tasks_of(run);
  if (task.empty() || tasks.empty() || std::ranges::find(tasks, task) != tasks.end()) {
    return {};
  }
  const std::string hint = near_hint(task, tasks);
  return fmt::format("{} has no task \"{}\"{} Its tasks: {}", job, task, hint.empty() ? "." : hint,
                     fmt::join(tasks, ", "));
}

// The pods that may have the log, without those of other tasks.
std::vector<Object> pods_of_task(std::vector<Object> pods, const std::string& task) {
  std::erase_if(pods, [&](const Object& pod) {
    return !task.empty() && pod.label(views::kPipelineTaskLabel) != task;
  });
  return pods;
}

// Names the containers there are; empty: one of them is meant, or no pod shows any.
std::string no_such_container(const std::vector<Object>& pods, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Object& pod : pods) {
    for (const char* list : {"initContainers", "containers"}) {
      for (const Value& container : pod.spec()[list].items()) {
        if (is_container(container["name"].as_string(), wanted)) {
          return {};
        }
        if (std::ranges::find(names, container["name"].as_string()) == names.end()) {
          names.push_back(container["name"].str());
        }
      }
    }
  }
  if (wanted.empty() || names.empty()) {
    return {};
  }
  return fmt::format("no container \"{}\"{}; its containers: {}", wanted, near_hint(wanted, names),
                     fmt::join(names, ", "));
}

// Returns true if a workload that is over had pods at some time.
bool had_pods(const Object& object, std::string_view phase, bool ran) {
  return ran || phase == "Succeeded" || object.status()["failed"].as_int() > 0;
}

// Describes the state of a Job, PipelineRun or other workload that is not a FournosJob.
std::string state_of_workload(const LogSource& source, const Object& object,
                              const std::string& phase) {
  if (object.spec()["suspend"].as_bool() && !is_end_phase(phase)) {
    const bool queued = !object.label("kueue.x-k8s.io/queue-name").empty();
    return queued ? "suspended: it waits for quota" : "suspended";
  }
  const std::string message =
      source.kind == &api::kPipelineRun
          ? find_condition(object.status()["conditions"], "Succeeded")["message"].str()
          : std::string();
  return fmt::format("{}{}", phase, message.empty() ? "" : ": " + message);
}

// Why a workload without pods has no log.
Result<std::string> why_no_pod(Session& session, const LogSource& source, const std::string& what,
                               bool ran) {
  ATHANOR_TRY(const Object object, session.get(*source.kind, source.ns, source.name));
  const std::string phase = phase_of_source(*source.kind, object);
  if (source.is_job() && phase.empty()) {
    return fmt::format("no log of {}: {}", what,
                       unseen_text(session, source.ns, source.name, kUnseen));
  }
  const std::string_view how = !is_end_phase(phase)           ? "it has not started"
                               : had_pods(object, phase, ran) ? "its pods are gone"
                                                              : "it ended before a step started";
  return fmt::format("no log of {}: {} ({})", what, how,
                     source.is_job() ? state_of(object) : state_of_workload(source, object, phase));
}

Result<LogChoice> choice_of(const LogsOptions& options) {
  LogChoice choice{.task = options.task,
                   .container = options.container,
                   .failed = options.failed,
                   .previous = options.previous,
                   .timestamps = options.timestamps};
  choice.prefix = options.no_prefix ? LogPrefix::None
                  : options.prefix  ? LogPrefix::Pod
                                    : LogPrefix::Short;
  if (options.tail >= 0) {
    choice.tail = options.tail;
  }
  if (!options.since.empty()) {
    choice.since = parse_since(options.since, wall_clock()->now());
    if (!choice.since) {
      return wrong_usage(fmt::format(
          "--since {}: not a length of time such as 90s, 1h30m or 2d, nor an RFC 3339 time",
          options.since));
    }
  }
  return choice;
}

// The tasks of a FournosJob's run, or of a PipelineRun itself; no object: it has no run yet.
std::optional<Object> run_of(Session& session, const LogSource& source) {
  if (!source.is_job() && source.kind != &api::kPipelineRun) {
    return std::nullopt;
  }
  const auto run = session.get(api::kPipelineRun, source.ns, source.name);
  return run.ok() ? std::optional(*run) : std::nullopt;
}

// One workload that is read.
struct Reader {
  LogSource source{};
  std::unique_ptr<Follower> follower{};
  bool interrupted = false;  // by the user, while it was read
};

Result<Reader> reader_of(Session& session, LogSource source, const LogsOptions& options,
                         const LogChoice& choice) {
  // A workload that does not exist would leave the watches silent, as would a task that it does
  // not have.
  std::vector<std::string> tasks;
  if (const auto made = run_of(session, source)) {
    if (std::string why = no_such_task(*made, source.name, options.task); !why.empty()) {
      return Error::not_found(std::move(why));
    }
    tasks = tasks_of(*made);
  }
  auto follower = std::make_unique<Follower>(session, source,
                                             FollowOptions{.progress = false,
                                                           .follow_logs = options.follow,
                                                           .logs = choice,
                                                           .tasks = std::move(tasks)});
  return Reader{.source = std::move(source), .follower = std::move(follower)};
}

// Says what was read of one workload, where that is not plain; returns the exit code.
Result<int> report_read(Session& session, const LogSource& source, const LogChoice& choice,
                        const Followed& followed) {
  if (const int code = explain_end(followed, source); code != 0) {
    return code;
  }
  if (followed.logs > 0) {
    if (followed.lines == 0) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("athanor: {} container{} of {} {} printed nothing{}\n", followed.logs,
                             followed.logs == 1 ? "" : "s", source.name,
                             followed.logs == 1 ? "has" : "have",
                             choice.since ? " since then" : ""));
    }
    return 0;
  }
  if (choice.failed && is_end_phase(followed.phase) && followed.phase != "Failed") {
    Terminal(STDERR_FILENO)
        .print(fmt::format("athanor: no container of {} failed: it is {}\n", source.name,
                           followed.phase));
    return 0;
  }
  ATHANOR_TRY(std::string why, why_no_log(session, source, choice));
  return Error::not_found(std::move(why));
}

// Reads these side by side.
int read_all(Session& session, std::vector<Reader>& readers, const LogChoice& choice) {
  std::vector<Follower*> followers;
  followers.reserve(readers.size());
  for (const Reader& reader : readers) {
    followers.push_back(reader.follower.get());
  }
  int code = 0;
  auto reader = readers.begin();
  for (const Result<Followed>& followed : follow_together(session, followers)) {
    const Result<int> done = followed.ok() ? report_read(session, reader->source, choice, *followed)
                                           : Result<int>(followed.error());
    code = std::max(code, done.ok() ? *done : fail(done.error()));
    reader->interrupted = followed.ok() && followed->end == Followed::End::Interrupted;
    ++reader;
  }
  return code;
}

Result<int> print_logs(const LogsOptions& options) {
  ATHANOR_TRY(LogChoice choice, choice_of(options));
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(std::vector<LogSource> sources,
              find_log_sources(session, options.words, options.labels));
  if (options.follow && sources.size() > kMostFollowed) {
    return wrong_usage(fmt::format("-f follows at most {} workloads, these are {}", kMostFollowed,
                                   sources.size()));
  }
  if (sources.size() > 1 && choice.prefix == LogPrefix::Short) {
    choice.prefix = LogPrefix::Pod;
  }
  int code = 0;
  std::vector<Reader> readers;
  for (LogSource& source : sources) {
    ATHANOR_TRY(Reader reader, reader_of(session, std::move(source), options, choice));
    readers.push_back(std::move(reader));
    if (options.follow) {
      continue;
    }
    // Its watches end with it: a thousand jobs must not hold a thousand connections.
    const int done = read_all(session, readers, choice);
    code = std::max(code, done);
    if (readers.front().interrupted) {
      return code;
    }
    readers.clear();
  }
  return options.follow ? read_all(session, readers, choice) : code;
}

}  // namespace

Result<std::string> why_no_log(Session& session, const LogSource& source, const LogChoice& choice) {
  const auto run = run_of(session, source);
  if (run) {
    if (std::string why = no_such_task(*run, source.name, choice.task); !why.empty()) {
      return why;
    }
  }
  const std::string what =
      choice.task.empty() ? source.name : fmt::format("task {} of {}", choice.task, source.name);
  ATHANOR_TRY(std::vector<Object> all, source.pods(session));
  const std::vector<Object> pods = pods_of_task(std::move(all), choice.task);
  if (const std::string none = no_such_container(pods, choice.container); !none.empty()) {
    return fmt::format("{} has {}", what, none);
  }
  for (const Object& pod : pods) {
    if (!started_containers(pod).empty()) {
      continue;
    }
    const std::string obstacle = obstacle_of(pod);
    return fmt::format("no log of {}: pod {} has not started{}", what, pod.name(),
                       obstacle.empty() ? "" : " (" + obstacle + ")");
  }
  if (!pods.empty()) {
    return fmt::format("no log of {}: {}", what,
                       choice.previous ? "no container was restarted"
                       : choice.failed ? "no container has failed"
                                       : "the chosen container has not started");
  }
  return why_no_pod(session, source, what,
                    run && !run->status()["childReferences"].items().empty());
}

int run(const LogsOptions& options) {
  const auto code = print_logs(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
