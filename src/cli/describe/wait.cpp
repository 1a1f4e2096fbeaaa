// SPDX-License-Identifier: Apache-2.0
// athanor wait: until objects have a phase, a condition, or come to their end.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "cli/describe/chosen_subjects.hpp"
#include "cli/describe/goals.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/verbs.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/recurring_messages.hpp"
#include "views/subjects.hpp"

namespace athanor::cli {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr Duration kAway = std::chrono::seconds(60);
constexpr int kNotFound = 404;

struct Waited {
  const Kind* kind = nullptr;
  std::string ns{};
  views::SubjectName subject{};
  std::optional<GoalOutcome> outcome{};
};

Result<Waited> waited_of(const views::SubjectName& subject, const std::string& jobs_ns,
                         const std::string& clusters_ns) {
  const Kind* kind = kind_of_subject(subject.kind);
  if (kind == nullptr || subject.kind == views::Subject::Schedule) {
    return wrong_usage(
        fmt::format("{}: nothing to wait for; wait takes jobs, clusters, queues, "
                    "appwrappers and workloads",
                    subject.name));
  }
  return Waited{.kind = kind,
                .ns = !kind->namespaced                         ? ""
                      : subject.kind == views::Subject::Cluster ? clusters_ns
                                                                : jobs_ns,
                .subject = subject};
}

// Looks at one object; the error is one that does not pass.
Result<void> look(Session& session, Waited& one, const Goal& goal, Reconnection& reconnection) {
  const auto object = session.get(*one.kind, one.ns, one.subject.name);
  if (object.ok()) {
    reconnection.answered();
    one.outcome = outcome_of(goal, one.subject.kind, *object);
    if (!one.outcome && never_comes(goal, one.subject.kind, *object)) {
      return Error::conflict(fmt::format(
          "{} is Recurring: it starts jobs and never runs itself; wait for these: -l {}={}",
          one.subject.name, fournos::name::kRecurringParent, one.subject.name));
    }
    if (one.outcome && one.subject.kind == views::Subject::Job && one.outcome->code != 0) {
      if (const std::string cause = failure_cause(session, *object); !cause.empty()) {
        one.outcome->text = "is Failed: " + cause;
      }
    }
    return {};
  }
  if (object.error().code == kNotFound) {
    reconnection.answered();
    if (goal.type != Goal::Type::Deletion) {
      return object.error();
    }
    one.outcome = GoalOutcome{.code = 0, .text = "is deleted"};
    return {};
  }
  if (!is_passing(object.error())) {
    return object.error();
  }
  reconnection.failed(object.error(), wall_clock()->now());
  return {};
}

Result<int> wait_all(const WaitOptions& options) {
  ATHANOR_TRY(const Goal goal, parse_goal(options.wanted));
  if (options.labels.empty()) {  // wrong words need no server
    ATHANOR_TRY(const auto named, views::parse_subjects(options.objects));
    for (const views::SubjectName& one : named) {
      ATHANOR_TRY_VOID(check_phase(goal, one.kind));
    }
  }
  const Instant start = wall_clock()->now();
  std::optional<Instant> end;
  if (!options.timeout.empty()) {
    const auto length = parse_length(options.timeout);
    if (!length) {
      return wrong_usage(fmt::format("--timeout {}: not a length of time such as 90s, 1h30m or 2d",
                                     options.timeout));
    }
    end = start + *length;
  }
  ATHANOR_TRY(Session session, Session::open(options.target, Session::Home::Jobs));
  ATHANOR_TRY(const std::vector<views::SubjectName> subjects,
              chosen_subjects(session, options.objects, options.labels, options.clusters_ns));
  std::vector<Waited> all;
  for (const views::SubjectName& subject : subjects) {
    ATHANOR_TRY(Waited one, waited_of(subject, session.ns(), options.clusters_ns));
    ATHANOR_TRY_VOID(check_phase(goal, subject.kind));
    all.push_back(std::move(one));
  }
  const Terminal out(STDOUT_FILENO);
  const Interrupt interrupt;
  Reconnection reconnection("what is waited for", kAway);
  int code = 0;
  while (true) {
    for (Waited& one : all) {
      if (one.outcome || !reconnection.due(wall_clock()->now())) {
        continue;
      }
      ATHANOR_TRY_VOID(look(session, one, goal, reconnection));
      if (one.outcome) {
        code = std::max(code, one.outcome->code);
        out.print(fmt::format("{} {}\n", one.subject.name, one.outcome->text));
      }
    }
    const auto open = std::ranges::find_if(all, [](const Waited& one) { return !one.outcome; });
    if (open == all.end()) {
      return code;
    }
    const Instant now = wall_clock()->now();
    if (end && now >= *end) {
      return Error{.code = 504,
                   .reason = "Timeout",
                   .message = fmt::format("{} is not {} after {}", open->subject.name,
                                          goal_text(goal), options.timeout)};
    }
    if (reconnection.lost(now)) {
      Terminal(STDERR_FILENO)
          .print(fmt::format("athanor: the API server is away: {}\n", reconnection.why()));
      return kOutcomeUnknown;
    }
    if (interrupt.came()) {
      return kInterrupted;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

int run(const WaitOptions& options) {
  const auto code = wait_all(options);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
