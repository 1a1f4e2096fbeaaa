// SPDX-License-Identifier: Apache-2.0
// athanor logs, and what it shares with following a job.
#include "cli/pod_logs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "base/near_name.hpp"
#include "cli/jobs/follow.hpp"
#include "cli/reasons.hpp"
#include "cli/terminal.hpp"
#include "cli/unreconciled.hpp"
#include "cli/verbs.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kUnseen = std::chrono::seconds(5);

const Value& status_of(const Object& pod, std::string_view container) {
  static const Value kNone;
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    if (status["name"].as_string() == container) {
      return status;
    }
  }
  return kNone;
}

// The tasks of a job's run in their order, those for the end last.
std::vector<std::string> tasks_of(const Object& run) {
  std::vector<std::string> names;
  for (const char* part : {"tasks", "finally"}) {
    for (const Value& task : run.status()["pipelineSpec"][part].items()) {
      names.push_back(task["name"].str());
    }
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
  const std::string message = clear_reason(job.status()["message"].as_string());
  return fmt::format("{}{}", job.status()["phase"].as_string(),
                     message.empty() ? "" : ": " + message);
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

}  // namespace

std::vector<StartedContainer> started_containers(const Object& pod) {
  std::vector<StartedContainer> started;
  std::size_t place = 0;
  for (const Value& container : pod.spec()["containers"].items()) {
    const std::string name = container["name"].str();
    const Value& state = status_of(pod, name)["state"];
    const bool terminated = state.contains("terminated");
    if (terminated || state.contains("running")) {
      std::string at = state[terminated ? "terminated" : "running"]["startedAt"].str();
      if (at.empty()) {
        at = pod.status()["startTime"].str();
      }
      started.push_back(
          {.name = name, .started = std::move(at), .place = place, .terminated = terminated});
    }
    ++place;
  }
  return started;
}

std::string log_prefix(const Object& pod, std::string_view container) {
  const std::string task(pod.label(kPipelineTaskLabel));
  const std::string_view step = container.starts_with("step-") ? container.substr(5) : container;
  return fmt::format("[{}/{}]", task.empty() ? std::string(pod.name()) : task, step);
}

Result<std::string> why_no_log(Session& session, const std::string& ns, const std::string& name,
                               const std::string& task) {
  ATHANOR_TRY(const Object job, session.get(api::kFournosJob, ns, name));
  const auto run = session.get(api::kPipelineRun, ns, name);
  if (run.ok()) {
    if (std::string why = no_such_task(*run, name, task); !why.empty()) {
      return why;
    }
  }
  const std::string what = task.empty() ? name : fmt::format("task {} of {}", task, name);
  const std::string phase = job.status()["phase"].str();
  if (phase.empty()) {
    return fmt::format("no log of {}: {}", what, unseen_text(session, ns, name, kUnseen));
  }
  ATHANOR_TRY(const std::vector<Object> pods,
              session.list(api::kPod, ns, fmt::format("{}={}", kJobNameLabel, name)));
  for (const Object& pod : pods) {
    if (!task.empty() && pod.label(kPipelineTaskLabel) != task) {
      continue;
    }
    const std::string obstacle = obstacle_of(pod);
    return fmt::format("no log of {}: pod {} has not started{}", what, pod.name(),
                       obstacle.empty() ? "" : " (" + obstacle + ")");
  }
  const bool over = phase == "Failed" || phase == "Succeeded" || phase == "Stopped";
  const std::string_view how = !over      ? "it has not started"
                               : run.ok() ? "its pods are gone"
                                          : "it ended before a step started";
  return fmt::format("no log of {}: {} ({})", what, how, state_of(job));
}

int run(const LogsOptions& options) {
  auto session = Session::open(options.target, Session::Home::Jobs);
  if (!session.ok()) {
    return fail(session.error());
  }
  const std::string& ns = session->ns();
  // A job that does not exist would leave the watches silent.
  if (const auto job = session->get(api::kFournosJob, ns, options.name); !job.ok()) {
    return fail(job.error());
  }
  // Neither would a task that the run does not have ever say anything.
  if (const auto made = session->get(api::kPipelineRun, ns, options.name); made.ok()) {
    if (std::string why = no_such_task(*made, options.name, options.task); !why.empty()) {
      return fail(Error::not_found(std::move(why)));
    }
  }
  Follower follower(*session, ns, options.name,
                    {.progress = false, .follow_logs = options.follow, .task = options.task});
  const auto followed = follower.run();
  if (!followed.ok()) {
    return fail(followed.error());
  }
  if (const int code = explain_end(*followed, ns, options.name); code != 0) {
    return code;
  }
  if (followed->logs > 0) {
    return 0;
  }
  const auto why = why_no_log(*session, ns, options.name, options.task);
  return fail(why.ok() ? Error::not_found(*why) : why.error());
}

}  // namespace athanor::cli
