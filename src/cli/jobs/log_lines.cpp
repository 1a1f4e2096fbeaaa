// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/log_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/session/session.hpp"
#include "client/connection.hpp"
#include "views/job_labels.hpp"

namespace athanor::cli {
namespace {

constexpr std::string_view kStepPrefix = "step-";

const Value& status_of_container(const Object& pod, std::string_view list, std::string_view name) {
  static const Value kNone;
  for (const Value& status : pod.status()[list].items()) {
    if (status["name"].as_string() == name) {
      return status;
    }
  }
  return kNone;
}

void add_started(const Object& pod, bool init, std::vector<StartedContainer>& started) {
  std::size_t place = started.size();
  for (const Value& container : pod.spec()[init ? "initContainers" : "containers"].items()) {
    const std::string name = container["name"].str();
    const Value& status =
        status_of_container(pod, init ? "initContainerStatuses" : "containerStatuses", name);
    const Value& state = status["state"];
    const bool terminated = state.contains("terminated");
    const std::int64_t restarts = status["restartCount"].as_int();
    // One that waits for its first restart has run, too.
    const bool ran = status["lastState"].contains("terminated");
    if (terminated || state.contains("running") || restarts > 0 || ran) {
      std::string at = state[terminated ? "terminated" : "running"]["startedAt"].str();
      if (at.empty()) {
        at = pod.status()["startTime"].str();
      }
      started.push_back({.name = name,
                         .started = std::move(at),
                         .place = place,
                         .terminated = terminated,
                         .exit_code = state["terminated"]["exitCode"].as_int(),
                         .restarts = restarts,
                         .init = init});
    }
    ++place;
  }
}

// Lines are counted from the start of a log unless a flag cuts the start off.
bool is_cut(const LogChoice& choice) {
  return choice.tail.has_value() || choice.since.has_value();
}

}  // namespace

std::vector<StartedContainer> started_containers(const Object& pod) {
  std::vector<StartedContainer> started;
  add_started(pod, true, started);
  add_started(pod, false, started);
  return started;
}

bool is_container(std::string_view name, std::string_view wanted) {
  return name == wanted ||
         (name.starts_with(kStepPrefix) && name.substr(kStepPrefix.size()) == wanted);
}

std::vector<StartedContainer> chosen_containers(const Object& pod, const LogChoice& choice) {
  std::vector<StartedContainer> chosen;
  if (!choice.task.empty() && pod.label(views::kPipelineTaskLabel) != choice.task) {
    return chosen;
  }
  for (StartedContainer& one : started_containers(pod)) {
    const bool failed = one.terminated && one.exit_code != 0;
    const bool named = !choice.container.empty() && is_container(one.name, choice.container);
    if ((!choice.container.empty() && !named) || (one.init && !named && !failed) ||
        (choice.failed && !failed) || (choice.previous && one.restarts == 0)) {
      continue;
    }
    chosen.push_back(std::move(one));
  }
  return chosen;
}

std::string log_prefix(const Object& pod, std::string_view container, LogPrefix prefix) {
  switch (prefix) {
    case LogPrefix::None:
      return {};
    case LogPrefix::Pod:
      return fmt::format("[pod/{}/{}]", pod.name(), container);
    case LogPrefix::Short:
      break;
  }
  const std::string task(pod.label(views::kPipelineTaskLabel));
  const std::string_view step =
      container.starts_with(kStepPrefix) ? container.substr(kStepPrefix.size()) : container;
  return fmt::format("[{}/{}]", task.empty() ? std::string(pod.name()) : task, step);
}

std::string LogProgress::query(const LogChoice& choice) const {
  std::string text;
  if (choice.timestamps || is_cut(choice)) {
    text += "&timestamps=true";
  }
  if (choice.previous) {
    text += "&previous=true";
  }
  if (!resume_after_.empty()) {
    return text + "&sinceTime=" + client::escape(resume_after_);
  }
  if (choice.tail) {
    text += fmt::format("&tailLines={}", *choice.tail);
  }
  if (choice.since) {
    text += "&sinceTime=" + client::escape(format_time(*choice.since));
  }
  return text;
}

std::optional<std::string> LogProgress::take(const LogChoice& choice, std::string_view line) {
  if (to_skip_ > 0) {
    --to_skip_;
    return std::nullopt;
  }
  if (is_cut(choice)) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view time = line.substr(0, blank);
    // Times of one clock in one form: their texts are in order, too.
    if (!resume_after_.empty() && time <= resume_after_) {
      return std::nullopt;
    }
    last_ = std::string(time);
    if (!choice.timestamps) {
      line = blank < line.size() ? line.substr(blank + 1) : std::string_view();
    }
  }
  ++printed_;
  return std::string(line);
}

void LogProgress::resume() {
  if (!last_.empty()) {
    resume_after_ = last_;
  } else {
    to_skip_ = printed_;
  }
}

}  // namespace athanor::cli
