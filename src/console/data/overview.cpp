// SPDX-License-Identifier: Apache-2.0
#include "console/data/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/saturate.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/row_texts.hpp"
#include "console/data/sight.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::console {
namespace {

constexpr Duration kDay = std::chrono::hours(24);
constexpr Duration kSoon = std::chrono::hours(1);
constexpr double kFullPart = 0.9;
constexpr std::size_t kMostFailures = 20;

std::optional<Instant> time_in(const Value& row, std::string_view column) {
  return parse_time(row[column].as_string());
}

Value counts_by(std::span<const Value> rows, std::string_view column) {
  std::map<std::string, std::int64_t> counts;
  for (const Value& row : rows) {
    if (!row["archived"].as_bool()) {
      ++counts[row[column].str()];
    }
  }
  Value object = Value::object();
  for (const auto& [state, count] : counts) {
    object.set(state, count);
  }
  return object;
}

// Jobs that ended, by hour of the last day.
Value sparkline(std::span<const Value> jobs, Instant now) {
  constexpr std::size_t kHours = 24;
  std::array<std::int64_t, kHours> finished{};
  std::array<std::int64_t, kHours> failed{};
  for (const Value& job : jobs) {
    const auto end = time_in(job, "completed");
    if (!end || *end > now || now - *end >= kDay) {
      continue;
    }
    const auto hours = static_cast<std::size_t>(
        std::chrono::duration_cast<std::chrono::hours>(now - *end).count());
    ++finished.at(kHours - 1 - hours);
    failed.at(kHours - 1 - hours) += job["phase"].as_string() == "Failed" ? 1 : 0;
  }
  Value points = Value::list();
  for (std::size_t i = 0; i < kHours; ++i) {
    points.push_back(Value::object({{"at", format_time(now - std::chrono::hours(kHours - 1 - i))},
                                    {"finished", finished.at(i)},
                                    {"failed", failed.at(i)}}));
  }
  return points;
}

void set_number(Value& object, std::string_view name, const std::optional<double>& number) {
  if (number) {
    object.set(name, *number);
  }
}

Value queue_card(const OverviewRows& rows, Instant now) {
  std::int64_t waiting = 0;
  Duration oldest{};
  for (const Value& workload : rows.workloads) {
    if (workload["state"].as_string() == "waits") {
      ++waiting;
      if (const auto created = time_in(workload, "created")) {
        oldest = std::max(oldest, now - *created);
      }
    }
  }
  std::vector<double> waits;
  for (const Value& job : rows.jobs) {
    const auto started = time_in(job, "started");
    if (started && now - *started <= kDay && job.contains("waitSeconds")) {
      waits.push_back(job["waitSeconds"].as_double());
    }
  }
  Value card = Value::object({{"waiting", waiting}, {"oldestSeconds", seconds_of(oldest)}});
  set_number(card, "waitMedianSeconds", quantile(waits, 0.5));
  set_number(card, "waitP90Seconds", quantile(waits, 0.9));
  return card;
}

Value lock_card(std::span<const Value> locks, Instant now) {
  std::int64_t held = 0;
  std::int64_t acquiring = 0;
  std::int64_t soon = 0;
  for (const Value& lock : locks) {
    held += lock["state"].as_string() == "Held" ? 1 : 0;
    acquiring += lock["state"].as_string() == "Acquiring" ? 1 : 0;
    const auto expires = time_in(lock, "expires");
    soon += expires && *expires > now && *expires - now < kSoon ? 1 : 0;
  }
  return Value::object({{"held", held}, {"acquiring", acquiring}, {"expiringSoon", soon}});
}

bool is_full(const Value& resource) {
  const double all = resource["allocatable"].as_double();
  return all > 0 && resource["used"].as_double() > kFullPart * all;
}

Value failures_of(std::span<const Value> jobs, Instant since) {
  struct Failure {
    std::int64_t count = 0;
    std::string last{};
    const Value* job = nullptr;
  };
  std::map<std::string, Failure> failures;
  for (const Value& job : jobs) {
    const auto end = time_in(job, "completed");
    if (job["phase"].as_string() != "Failed" || !end || *end < since) {
      continue;
    }
    Failure& failure = failures[job["message"].str()];
    ++failure.count;
    if (failure.last < job["completed"].as_string()) {
      failure.last = job["completed"].str();
      failure.job = &job;
    }
  }
  std::vector<std::pair<std::string, Failure>> sorted(failures.begin(), failures.end());
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const auto& one) { return one.second.count; });
  Value list = Value::list();
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostFailures); ++i) {
    Value one = Value::object({{"message", sorted[i].first},
                               {"count", sorted[i].second.count},
                               {"last", sorted[i].second.last}});
    if (const Value* job = sorted[i].second.job) {
      one.set("job", Value::object({{"ns", (*job)["ns"]},
                                    {"name", (*job)["name"]},
                                    {"uid", (*job)["uid"]},
                                    {"archived", (*job)["archived"].as_bool()}}));
    }
    list.push_back(std::move(one));
  }
  return list;
}

// One problem; errors come before warnings.
struct Trouble {
  bool error = false;
  std::string kind{};
  std::string ns{};
  std::string name{};
  std::string since{};
  std::string text{};
  std::string action{};
};

void add_job_troubles(std::span<const Value> jobs, Instant now, std::vector<Trouble>& out) {
  constexpr Duration kLongWait = std::chrono::hours(1);
  for (const Value& job : jobs) {
    if (job["archived"].as_bool()) {
      continue;
    }
    const std::string name = job["name"].str();
    const std::string ns = job["ns"].str();
    const auto end = time_in(job, "completed");
    const auto created = time_in(job, "created");
    if (job["phase"].as_string() == "Failed" && end && now - *end < kDay) {
      out.push_back({true, "FournosJob", ns, name, job["completed"].str(), job["message"].str(),
                     "athanor describe job/" + name});
    } else if (!end && !job.contains("started") && created && now - *created > kLongWait) {
      out.push_back({false, "FournosJob", ns, name, job["created"].str(),
                     "waits for more than an hour: " + job["message"].str(),
                     "athanor queues explain " + name});
    }
  }
}

// Returns the last change of a condition of the object, of any type where `type` is empty; the
// object's creation where there is none; empty: the object is unknown.
std::string since_of(const Object* object, std::string_view type = {}) {
  if (object == nullptr) {
    return {};
  }
  std::string last;
  for (const Value& condition : object->status()["conditions"].items()) {
    if (type.empty() || condition["type"].as_string() == type) {
      last = std::max(last, condition["lastTransitionTime"].str());
    }
  }
  return last.empty() ? object->metadata()["creationTimestamp"].str() : last;
}

void add_cluster_troubles(const Facts& facts, const OverviewRows& rows, Instant now,
                          std::vector<Trouble>& out) {
  for (const Value& cluster : rows.clusters) {
    const std::string since =
        since_of(facts.find(api::kFournosCluster, {cluster["ns"].str(), cluster["name"].str()}));
    for (const Value& trouble : cluster["troubles"].items()) {
      out.push_back({true, "FournosCluster", cluster["ns"].str(), cluster["name"].str(), since,
                     trouble.str(), "athanor describe cluster/" + cluster["name"].str()});
    }
  }
  for (const Value& lock : rows.locks) {
    const std::string name = lock["cluster"].str();
    const auto expires = time_in(lock, "expires");
    const std::string_view state = lock["state"].as_string();
    if (state == "Failed" || state == "Lost") {
      out.push_back({true, "FournosCluster", lock["ns"].str(), name, lock["since"].str(),
                     fmt::format("the lock of {} is {}", lock["holder"].as_string(), state),
                     "athanor unlock " + name});
    } else if (expires && *expires > now && *expires - now < kSoon) {
      out.push_back(
          {false, "FournosCluster", lock["ns"].str(), name, lock["since"].str(),
           fmt::format("the lock of {} expires at {}", lock["holder"].as_string(),
                       lock["expires"].as_string()),
           fmt::format("athanor lock {} --owner {} --for 1h", name, lock["holder"].as_string())});
    }
  }
}

// Returns the first object of such a name, which maps of devices give with or without namespace.
const Object* find_by_name(const Facts& facts, std::string_view kind, std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view ns =
      slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  name = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
  for (const Kind* one : {&das::kNodeAccelerator, &das::kAllocationClaim, &numa::kTopologyKind,
                          &api::kNode, &api::kPod}) {
    if (one->name != kind) {
      continue;
    }
    for (const Object& object : facts.all(*one)) {
      if (object.name() == name && (ns.empty() || object.ns() == ns)) {
        return &object;
      }
    }
  }
  return nullptr;
}

void add_object_troubles(const Facts& facts, const Value& list, std::string_view action,
                         std::vector<Trouble>& out) {
  for (const Value& one : list.items()) {
    const std::string object = one["object"].str();
    const std::size_t slash = object.find('/');
    const std::string kind = object.substr(0, slash);
    const std::string name = slash == std::string::npos ? object : object.substr(slash + 1);
    out.push_back({false, kind, "", name, since_of(find_by_name(facts, kind, name)),
                   one["text"].str(), std::string(action)});
  }
}

void add_other_troubles(const Facts& facts, const OverviewRows& rows, std::vector<Trouble>& out) {
  for (const Value& node : rows.nodes) {
    const Object* object = facts.find(api::kNode, {"", node["name"].str()});
    if (node["state"].as_string() == "NotReady") {
      out.push_back({true, "Node", "", node["name"].str(), since_of(object, "Ready"),
                     "the node is not ready", "kubectl describe node " + node["name"].str()});
    }
    for (const Value& pressure : node["pressure"].items()) {
      out.push_back({false, "Node", "", node["name"].str(),
                     since_of(object, pressure.str() + "Pressure"),
                     fmt::format("{} pressure", pressure.as_string()),
                     "kubectl describe node " + node["name"].str()});
    }
  }
  for (const Value& app : rows.appwrappers) {
    if (app["phase"].as_string() == "Failed") {
      out.push_back(
          {true, "AppWrapper", app["ns"].str(), app["name"].str(),
           since_of(facts.find(appwrapper::kAppWrapper, {app["ns"].str(), app["name"].str()})),
           "has failed", "athanor appwrappers " + app["name"].str()});
    }
  }
}

// Waits and runs of the jobs of one group.
struct Spans {
  std::int64_t jobs = 0;
  std::int64_t failed = 0;
  std::vector<double> waits{};
  std::vector<double> runs{};
};

Value spans_value(std::string_view by, const std::string& key, const Spans& spans) {
  Value group =
      Value::object({{"by", by}, {"key", key}, {"jobs", spans.jobs}, {"failed", spans.failed}});
  set_number(group, "waitMedianSeconds", quantile(spans.waits, 0.5));
  set_number(group, "waitP90Seconds", quantile(spans.waits, 0.9));
  set_number(group, "runMedianSeconds", quantile(spans.runs, 0.5));
  set_number(group, "runP90Seconds", quantile(spans.runs, 0.9));
  return group;
}

constexpr std::size_t kHoursOfDay = 24;
using SecondsByHour = std::array<double, kHoursOfDay>;  // of the day, UTC

// Adds the part of [begin, end) in each hour of the day, `weight` times.
void add_hours(Instant begin, Instant end, double weight, SecondsByHour& sums) {
  using Hours = std::chrono::hours;
  for (auto hour = std::chrono::floor<Hours>(begin); hour < end; hour += Hours(1)) {
    const Instant from = std::max<Instant>(begin, hour);
    const Instant to = std::min<Instant>(end, hour + Hours(1));
    const auto of_day = static_cast<std::size_t>(hour.time_since_epoch().count() %
                                                 static_cast<Hours::rep>(kHoursOfDay));
    sums.at(of_day) += weight * seconds_of(to - from);
  }
}

// GPU-hours of jobs in per cent of those of the cluster's quota, by hour of the day. Clusters
// without GPUs have none.
Value utilisation_of(const InsightsRows& rows, Instant from, Instant now) {
  std::map<std::string, double> gpus;  // by cluster
  for (const Value& cluster : rows.clusters) {
    for (const Value& gpu : cluster["gpus"].items()) {
      gpus[cluster["name"].str()] += gpu["total"].as_double();
    }
  }
  std::map<std::string, SecondsByHour> used;
  for (const Value& job : rows.jobs) {
    const auto started = time_in(job, "started");
    const Instant end = time_in(job, "completed").value_or(now);
    const std::string cluster = job["cluster"].str();
    if (started && end > from && !cluster.empty()) {
      add_hours(std::max(*started, from), end, job["hardware"]["gpuCount"].as_double(),
                used[cluster]);
    }
  }
  SecondsByHour all{};
  add_hours(from, now, 1, all);
  Value list = Value::list();
  for (const auto& [cluster, seconds] : used) {
    const auto total = gpus.find(cluster);
    for (std::size_t i = 0; i < kHoursOfDay && total != gpus.end() && total->second > 0; ++i) {
      if (all.at(i) > 0) {
        list.push_back(Value::object(
            {{"cluster", cluster},
             {"hour", i},
             {"percent", std::min(100.0, 100.0 * seconds.at(i) / (all.at(i) * total->second))}}));
      }
    }
  }
  return list;
}

// Evictions by LocalQueue: one name may be in several namespaces.
Value evictions_of(std::span<const Value> evictions) {
  struct Sum {
    std::int64_t count = 0;
    std::string last{};
  };
  std::map<Key, Sum> sums;
  for (const Value& one : evictions) {
    Sum& sum = sums[{one["ns"].str(), one["queue"].str()}];
    sum.count = saturating_add(sum.count, one["count"].as_int());
    sum.last = std::max(sum.last, one["at"].str());
  }
  Value list = Value::list();
  for (const auto& [queue, sum] : sums) {
    list.push_back(Value::object(
        {{"ns", queue.ns}, {"queue", queue.name}, {"count", sum.count}, {"last", sum.last}}));
  }
  return list;
}

}  // namespace

Value overview(const Facts& facts, const OverviewRows& rows, Instant now) {
  Value page = Value::object({{"jobs", Value::object({{"phases", counts_by(rows.jobs, "phase")},
                                                      {"sparkline", sparkline(rows.jobs, now)}})},
                              {"queue", queue_card(rows, now)},
                              {"clusters", counts_by(rows.clusters, "state")},
                              {"locks", lock_card(rows.locks, now)},
                              {"appwrappers", counts_by(rows.appwrappers, "phase")},
                              {"failures", failures_of(rows.jobs, now - kDay)}});
  page.set("gpus", rows.sums.quota ? gpu_totals(facts) : Value::list());
  if (rows.slices != nullptr && rows.sums.slices && facts.has(das::kNodeAccelerator)) {
    const Value& map = *rows.slices;
    page.set("mig",
             Value::object({{"used", map["slots"]["used"]},
                            {"total", map["slots"]["total"]},
                            {"unplaceable",
                             std::ranges::count_if(map["waiting"].items(), [](const Value& pod) {
                               return !pod["fits"].as_bool();
                             })}}));
  }
  if (rows.zones != nullptr && rows.sums.zones && facts.has(numa::kTopologyKind)) {
    const auto& nodes = (*rows.zones)["nodes"];
    std::int64_t over = 0;
    for (const Value& node : nodes.items()) {
      over += std::ranges::any_of(node["zones"].items(),
                                  [](const Value& zone) {
                                    return std::ranges::any_of(zone["resources"].items(), is_full);
                                  })
                  ? 1
                  : 0;
    }
    page.set("numa", Value::object({{"nodes", nodes.size()}, {"over90", over}}));
  }
  return page;
}

Value problems(const Facts& facts, const OverviewRows& rows, Instant now) {
  std::vector<Trouble> troubles;
  add_cluster_troubles(facts, rows, now, troubles);
  add_job_troubles(rows.jobs, now, troubles);
  add_other_troubles(facts, rows, troubles);
  if (rows.slices != nullptr && rows.sums.slices && facts.has(das::kNodeAccelerator)) {
    add_object_troubles(facts, problems_in_sight((*rows.slices)["problems"], rows.sums.pods),
                        "athanor slices", troubles);
  }
  if (rows.zones != nullptr && rows.sums.zones && facts.has(numa::kTopologyKind)) {
    add_object_troubles(facts, zones_at(*rows.zones, now)["problems"], "athanor numa", troubles);
  }
  std::ranges::stable_sort(troubles, std::greater(), &Trouble::error);
  Value items = Value::list();
  for (const Trouble& trouble : troubles) {
    Value object = Value::object({{"kind", trouble.kind}, {"name", trouble.name}});
    set_text(object, "ns", trouble.ns);
    Value item = Value::object({{"severity", trouble.error ? "error" : "warning"},
                                {"object", std::move(object)},
                                {"text", trouble.text},
                                {"action", trouble.action}});
    set_text(item, "since", trouble.since);
    items.push_back(std::move(item));
  }
  return items;
}

Value insights(const InsightsRows& rows, Instant from, Instant now) {
  std::vector<Value> period;
  for (const Value& job : rows.jobs) {
    const auto end = time_in(job, "completed");
    if (!end || *end >= from) {
      period.push_back(job);
    }
  }
  Value groups = Value::list();
  for (const char* by : {"project", "pipeline", "cluster"}) {
    std::map<std::string, Spans> all;
    for (const Value& job : period) {
      Spans& spans = all[job[std::string_view(by)].str()];
      ++spans.jobs;
      spans.failed += job["phase"].as_string() == "Failed" ? 1 : 0;
      if (job.contains("waitSeconds") && job.contains("started")) {
        spans.waits.push_back(job["waitSeconds"].as_double());
      }
      if (job.contains("runSeconds") && job.contains("completed")) {
        spans.runs.push_back(job["runSeconds"].as_double());
      }
    }
    for (const auto& [key, spans] : all) {
      groups.push_back(spans_value(by, key, spans));
    }
  }
  Value failures = Value::list();
  const Value failed = failures_of(period, from);
  for (const Value& failure : failed.items()) {
    failures.push_back(
        Value::object({{"reason", failure["message"]}, {"count", failure["count"]}}));
  }
  return Value::object({{"from", format_time(from)},
                        {"to", format_time(now)},
                        {"groups", std::move(groups)},
                        {"failures", std::move(failures)},
                        {"evictions", evictions_of(rows.evictions)},
                        {"utilisation", utilisation_of(rows, from, now)}});
}

Value repair_summary(std::span<const Value> repairs) {
  constexpr std::size_t kShownRepairs = 50;
  struct Sum {
    std::int64_t count = 0;
    std::int64_t fights = 0;
    std::string last{};
  };
  std::map<std::string, Sum> sums;
  Value newest = Value::list();
  for (const Value& repair : repairs) {
    Sum& sum = sums[repair["cluster"].str()];
    ++sum.count;
    sum.fights += repair["fight"].as_bool() ? 1 : 0;
    sum.last = std::max(sum.last, repair["at"].str());
    if (newest.size() < kShownRepairs) {
      newest.push_back(repair);
    }
  }
  Value clusters = Value::list();
  for (const auto& [cluster, sum] : sums) {
    clusters.push_back(Value::object(
        {{"cluster", cluster}, {"count", sum.count}, {"fights", sum.fights}, {"last", sum.last}}));
  }
  return Value::object({{"clusters", std::move(clusters)}, {"newest", std::move(newest)}});
}

}  // namespace athanor::console
