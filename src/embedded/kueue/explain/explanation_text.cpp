// SPDX-License-Identifier: Apache-2.0
// An explanation as JSON and as text.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "embedded/kueue/explain/explain.hpp"
#include "kube/text/json.hpp"

namespace athanor::kueue {
namespace {

Value value_of(const QuotaReport& report) {
  Value holders = Value::list();
  for (const QuotaReport::Holder& holder : report.holders) {
    Value one = Value::object({{"workload", holder.workload.text()},
                               {"clusterQueue", holder.cluster_queue},
                               {"priority", holder.priority},
                               {"holds", holder.holds}});
    if (!holder.owner.empty()) {
      one.set("owner", holder.owner);
    }
    if (holder.since) {
      one.set("since", format_time(*holder.since));
    }
    if (!holder.kept_for.empty()) {
      one.set("notPreempted", holder.kept_for);
    }
    holders.push_back(std::move(one));
  }
  return Value::object({{"flavor", report.flavor},
                        {"resource", report.resource},
                        {"nominal", report.nominal},
                        {"used", report.used},
                        {"available", report.available},
                        {"borrowable", report.borrowable},
                        {"capacity", report.capacity},
                        {"wanted", report.wanted},
                        {"holders", std::move(holders)}});
}

Value value_of(const StartEstimate& estimate) {
  Value value = Value::object({{"runs", static_cast<std::int64_t>(estimate.runs)}});
  if (estimate.earliest) {
    value.set("earliest", format_time(*estimate.earliest));
  }
  if (estimate.latest) {
    value.set("latest", format_time(*estimate.latest));
  }
  return value;
}

std::string sentence_of(const QuotaReport& report, Instant now) {
  std::string out = fmt::format(
      "  {} of flavor {}: {} wanted, {} available, {} of it borrowed ({} used of {}, at most {})\n",
      report.resource, report.flavor, report.wanted, report.available, report.borrowable,
      report.used, report.nominal, report.capacity);
  for (const QuotaReport::Holder& holder : report.holders) {
    const auto whole = [](Duration length) {
      return format_go_duration(std::chrono::floor<std::chrono::seconds>(length));
    };
    out += fmt::format(
        "    {}{} holds {}{} (ClusterQueue {}, priority {}): {}\n", holder.workload.text(),
        holder.owner.empty() ? "" : fmt::format(" of {}", holder.owner), holder.holds,
        holder.since ? fmt::format(" for {}", whole(now - *holder.since)) : "",
        holder.cluster_queue, holder.priority,
        holder.kept_for.empty() ? "would be preempted" : "not preempted, " + holder.kept_for);
  }
  return out;
}

Value value_of(const Explanation::Cause& cause) {
  Value value = Value::object(
      {{"kind", cause_word(cause.kind)}, {"object", cause.object}, {"text", cause.text}});
  if (!cause.unblocked_by.empty()) {
    value.set("unblockedBy", cause.unblocked_by);
  }
  if (cause.details.is_object()) {
    value.set("details", cause.details);
  }
  return value;
}

Value value_of(const Explanation::Preempted& preempted) {
  Value frees = Value::list();
  for (const auto& [of, amount] : preempted.frees) {
    frees.push_back(
        Value::object({{"flavor", of.flavor}, {"resource", of.resource}, {"amount", amount}}));
  }
  return Value::object({{"workload", preempted.workload.text()},
                        {"clusterQueue", preempted.cluster_queue},
                        {"why", preempted.why},
                        {"frees", std::move(frees)}});
}

std::string sentence_of(const Explanation::Cause& cause) {
  std::string text = fmt::format("  {}: {}\n", cause.object, cause.text);
  for (const Member& detail : cause.details.members()) {
    text += fmt::format("    {}: {}\n", detail.key(), json::print(detail.value));
  }
  return text +
         (cause.unblocked_by.empty() ? "" : fmt::format("    ends when {}\n", cause.unblocked_by));
}

std::string sentence_of(const Explanation::Preempted& preempted) {
  std::string frees;
  for (const auto& [of, amount] : preempted.frees) {
    frees += fmt::format("{}{} {} of flavor {}", frees.empty() ? "" : ", ", amount, of.resource,
                         of.flavor);
  }
  return fmt::format("  would preempt {} of ClusterQueue {} ({}), which frees {}\n",
                     preempted.workload.text(), preempted.cluster_queue, preempted.why, frees);
}

// Returns true if it waits for quota that others use: their ends may be estimated.
bool waits_for_used_quota(const std::vector<Explanation::Cause>& causes) {
  return causes.empty() || std::ranges::any_of(causes, [](const Explanation::Cause& cause) {
           return cause.kind == CauseKind::QuotaInUse || cause.kind == CauseKind::Preempting;
         });
}

std::string sentence_of(const StartEstimate& estimate,
                        const std::vector<Explanation::Cause>& causes, Instant now) {
  const auto moment = [&](Instant when) {
    const auto left = std::chrono::round<std::chrono::seconds>(when - now);
    return left <= std::chrono::seconds(0)
               ? std::string("now")
               : fmt::format("{} (in {})", format_time(when), format_go_duration(left));
  };
  const std::string from = fmt::format("by declared times and {} earlier run{}", estimate.runs,
                                       estimate.runs == 1 ? "" : "s");
  if (estimate.earliest && estimate.latest) {
    return *estimate.earliest == *estimate.latest
               ? fmt::format("  estimate: starts {}, {}\n", moment(*estimate.latest), from)
               : fmt::format("  estimate: starts between {} and {}, {}\n",
                             moment(*estimate.earliest), moment(*estimate.latest), from);
  }
  if (estimate.earliest) {
    return fmt::format("  estimate: starts {} at the earliest, {}\n", moment(*estimate.earliest),
                       from);
  }
  return waits_for_used_quota(causes)
             ? "  estimate: unknown, those before it declare no maximum execution time and no run "
               "of their queue ended yet\n"
             : "  estimate: none, it does not start before the obstacles above are gone\n";
}

}  // namespace

Value Explanation::to_value() const {
  Value value = Value::object({{"workload", workload.text()},
                               {"owner", owner},
                               {"localQueue", local_queue},
                               {"clusterQueue", cluster_queue},
                               {"state", state},
                               {"causes", Value::list()},
                               {"ahead", Value::list()},
                               {"quotas", Value::list()},
                               {"preempts", Value::list()}});
  for (const Cause& one : causes) {
    value.member("causes").push_back(value_of(one));
  }
  for (const Ahead& one : ahead) {
    value.member("ahead").push_back(Value::object({{"workload", one.workload.text()},
                                                   {"position", one.position},
                                                   {"priority", one.priority}}));
  }
  for (const QuotaReport& one : quotas) {
    value.member("quotas").push_back(value_of(one));
  }
  for (const Preempted& one : preempts) {
    value.member("preempts").push_back(value_of(one));
  }
  if (position) {
    value.set("position", *position);
  }
  if (estimate) {
    value.set("estimate", value_of(*estimate));
  }
  if (!missing.empty()) {
    Value kinds = Value::list();
    for (const std::string& kind : missing) {
      kinds.push_back(kind);
    }
    value.set("missing", std::move(kinds));
  }
  if (hidden > 0) {
    value.set("hidden", hidden);
  }
  return value;
}

std::string Explanation::text(Instant now) const {
  std::string out = fmt::format("{}{} {}", workload.text(),
                                owner.empty() ? "" : fmt::format(" ({})", owner), state);
  if (!cluster_queue.empty()) {
    out += fmt::format(" in ClusterQueue {}", cluster_queue);
  }
  if (position) {
    out += fmt::format(", {} ahead of it", *position);
  }
  out += "\n";
  for (const Cause& one : causes) {
    out += sentence_of(one);
  }
  for (const Ahead& one : ahead) {
    out += fmt::format("  ahead at place {}: {} (priority {})\n", one.position + 1,
                       one.workload.text(), one.priority);
  }
  for (const QuotaReport& one : quotas) {
    out += sentence_of(one, now);
  }
  for (const Preempted& one : preempts) {
    out += sentence_of(one);
  }
  if (estimate) {
    out += sentence_of(*estimate, causes, now);
  }
  if (state == "waits" && causes.empty()) {
    out += "  nothing speaks against it: it is admitted in the next cycle\n";
  }
  return out;
}

}  // namespace athanor::kueue
