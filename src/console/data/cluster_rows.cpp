// SPDX-License-Identifier: Apache-2.0
#include "console/data/cluster_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/saturate.hpp"
#include "console/data/queue_quota.hpp"
#include "console/data/row_texts.hpp"
#include "console/data/sight.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/cluster_view.hpp"
#include "views/describe.hpp"
#include "views/reasons.hpp"
#include "views/texts.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kSlotResource = "fournos/cluster-slot";

// Quota and use of one resource of a cluster.
struct ClusterShare {
  std::int64_t total = 0;
  std::int64_t used = 0;
};
using ClusterShares = std::map<std::string, ClusterShare>;

// By cluster and resource, over all ClusterQueues.
std::map<std::string, ClusterShares> shares_of_clusters(const Facts& facts) {
  QuotaUses sums;
  for (const Object& queue : facts.all(api::kueue::kClusterQueue)) {
    add_uses(sums, uses_of_queue(queue));
  }
  std::map<std::string, ClusterShares> all;
  for (const auto& [name, use] : sums) {
    all[name.first][name.second] = {.total = use.nominal.value(), .used = use.used.value()};
  }
  return all;
}

void add_shares(Value& row, const ClusterShares& shares) {
  Value gpus = Value::list();
  for (const auto& [resource, share] : shares) {
    if (resource.starts_with(views::kGpuPrefix)) {
      gpus.push_back(Value::object({{"type", views::short_resource(resource)},
                                    {"total", share.total},
                                    {"used", share.used}}));
    } else if (resource == kSlotResource) {
      row.set("slots", Value::object({{"total", share.total}, {"used", share.used}}));
    }
  }
  row.set("gpus", std::move(gpus));
}

std::string cluster_of(const Object& job) {
  std::string assigned = job.status()["cluster"].str();
  return assigned.empty() ? job.spec()["cluster"].str() : assigned;
}

// Jobs that run on a cluster, and those that wait and name it, in their order in the queue.
struct ClusterJobs {
  std::vector<const Object*> running{};
  std::vector<const Object*> waiting{};
};
ClusterJobs jobs_of(const Facts& facts, const JobSurroundings& around, std::string_view cluster) {
  ClusterJobs jobs;
  for (const Object& job : facts.all(api::kFournosJob)) {
    if (views::is_over(job)) {
      continue;
    }
    if (job.status()["cluster"].as_string() == cluster) {
      jobs.running.push_back(&job);
    } else if (cluster_of(job) == cluster) {
      jobs.waiting.push_back(&job);
    }
  }
  const auto position = [&](const Object* job) {
    const auto entry = around.entries.find(job->key());
    return entry == around.entries.end() ? std::size_t{1} << 30 : entry->second->position;
  };
  std::ranges::stable_sort(jobs.waiting, {}, position);
  return jobs;
}

bool has_lock(const Value& status) {
  const std::string_view state = status["lockState"].as_string();
  return status["locked"].as_bool() || (!state.empty() && state != "Unlocked");
}

// Returns "ns/name" of each job but one.
Value names_of(const std::vector<const Object*>& jobs, std::string_view without) {
  Value names = Value::list();
  for (const Object* job : jobs) {
    if (job->name() != without) {
      names.push_back(job->key().text());
    }
  }
  return names;
}

Value lock_value(const Facts& facts, const JobSurroundings& around, const Object& cluster) {
  const Value& status = cluster.status();
  const std::string_view job = status["lockJobName"].as_string();
  std::string state = status["lockState"].str();
  if (state.empty()) {
    state = status["locked"].as_bool() ? "Held" : "Unlocked";
  }
  Value lock = Value::object({{"ns", cluster.ns()},
                              {"name", cluster.name()},
                              {"cluster", cluster.name()},
                              {"state", state}});
  set_text(lock, "holder", cluster.spec()["owner"].as_string());
  set_text(lock, "since", status["ownerSetAt"].as_string());
  set_text(lock, "expires", status["lockExpiresAt"].as_string());
  set_text(lock, "job", job);
  const ClusterJobs jobs = jobs_of(facts, around, cluster.name());
  if (state == "Acquiring") {
    lock.set("waitsFor", names_of(jobs.running, job));
  }
  lock.set("blocks", names_of(jobs.waiting, job));
  return lock;
}

const Object* find_cluster(const Facts& facts, std::string_view name) {
  for (const Object& cluster : facts.all(api::kFournosCluster)) {
    if (cluster.name() == name) {
      return &cluster;
    }
  }
  return nullptr;
}

void add_jobs(Value& row, const ClusterJobs& jobs) {
  const auto counted = std::ranges::count_if(
      jobs.running, [](const Object* job) { return !job->spec()["lockOnly"].as_bool(); });
  row.set("runningJobs", counted);
  if (!jobs.waiting.empty()) {
    row.set("nextJob", jobs.waiting.front()->name());
    row.set("nextJobNs", jobs.waiting.front()->ns());
  }
}

Value managed_row(const Facts& facts, const JobSurroundings& around, const Object& cluster,
                  const ClusterShares& shares) {
  const Value& status = cluster.status();
  const views::ClusterUse use =
      views::cluster_use(facts.all(api::kueue::kClusterQueue), cluster.name());
  Value row = row_of(cluster);
  const std::string state = views::usable_state(cluster);
  row.set("state", state.empty() ? "Unknown" : state);
  row.set("managed", true);
  add_shares(row, shares);
  set_text(row, "details", use.details);
  set_text(row, "queues", use.queues);
  set_text(row, "gpuSummary", status["gpuSummary"].as_string());
  if (has_lock(status) || !cluster.spec()["owner"].as_string().empty()) {
    row.set("lock", lock_value(facts, around, cluster));
  }
  add_jobs(row, jobs_of(facts, around, cluster.name()));
  set_text(row, "lastProbe", status["lastProbeTime"].as_string());
  row.set("failures", cluster.spec()["hardware"]["consecutiveFailures"].as_int());
  set_text(row, "serverVersion", status["serverVersion"].as_string());
  if (status.contains("nodeCount")) {
    row.set("nodes", status["nodeCount"]);
  }
  set_text(row, "owner", cluster.spec()["owner"].as_string());
  set_text(row, "ttl", cluster.spec()["ttl"].as_string());
  row.set("cordoned", api::is_cordoned(api::read<api::FournosCluster>(cluster)));
  Value troubles = Value::list();
  for (const std::string& trouble : views::cluster_troubles(cluster)) {
    troubles.push_back(trouble);
  }
  row.set("troubles", std::move(troubles));
  return row;
}

// Compares quota with discovered hardware.
Value quota_against_hardware(const Object& cluster, const ClusterShares& shares) {
  std::map<std::string, std::int64_t> found;
  for (const Value& gpu : cluster.spec()["hardware"]["gpus"].items()) {
    std::int64_t& count = found[std::string(views::kGpuPrefix) + gpu["shortName"].str()];
    count = saturating_add(count, gpu["count"].as_int());
  }
  std::set<std::string> resources;
  for (const auto& [resource, share] : shares) {
    if (resource.starts_with(views::kGpuPrefix)) {
      resources.insert(resource);
    }
  }
  for (const auto& [resource, count] : found) {
    resources.insert(resource);
  }
  Value list = Value::list();
  for (const std::string& resource : resources) {
    const auto share = shares.find(resource);
    const std::int64_t quota = share == shares.end() ? 0 : share->second.total;
    const std::int64_t count = found.contains(resource) ? found.at(resource) : 0;
    list.push_back(Value::object({{"resource", resource},
                                  {"quota", std::to_string(quota)},
                                  {"discovered", std::to_string(count)},
                                  {"differs", quota != count}}));
  }
  return list;
}

}  // namespace

const ListShape& cluster_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "clusters",
                                .state = "state",
                                .columns = {{"ns", Text},
                                            {"name", Text},
                                            {"uid", Text},
                                            {"resourceVersion", Text},
                                            {"state", Text},
                                            {"managed", Flag},
                                            {"gpus", Object},
                                            {"gpus.type", List},
                                            {"slots", Object},
                                            {"slots.total", Number},
                                            {"slots.used", Number},
                                            {"details", Text},
                                            {"queues", Text},
                                            {"gpuSummary", Text},
                                            {"lock", Object},
                                            {"lock.state", Text},
                                            {"lock.holder", Text},
                                            {"lock.expires", Time},
                                            {"runningJobs", Number},
                                            {"nextJob", Text},
                                            {"nextJobNs", Text},
                                            {"lastProbe", Time},
                                            {"failures", Number},
                                            {"serverVersion", Text},
                                            {"nodes", Number},
                                            {"owner", Text},
                                            {"ttl", Text},
                                            {"cordoned", Flag},
                                            {"troubles", List},
                                            {"created", Time}},
                                .words = {{"phase", "state"},
                                          {"gpu", "gpus.type"},
                                          {"lock", "lock.state"},
                                          {"holder", "lock.holder"}}};
  return kShape;
}

const ListShape& lock_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "locks",
                                .state = "state",
                                .columns = {{"ns", Text},
                                            {"name", Text},
                                            {"cluster", Text},
                                            {"state", Text},
                                            {"holder", Text},
                                            {"since", Time},
                                            {"expires", Time},
                                            {"job", Text},
                                            {"waitsFor", List},
                                            {"blocks", List}},
                                .words = {{"owner", "holder"}}};
  return kShape;
}

std::vector<Value> cluster_rows(const Facts& facts, const JobSurroundings& around) {
  auto shares = shares_of_clusters(facts);
  std::vector<Value> rows;
  std::set<std::string, std::less<>> managed;
  for (const Object& cluster : facts.all(api::kFournosCluster)) {
    managed.emplace(cluster.name());
    rows.push_back(managed_row(facts, around, cluster, shares[std::string(cluster.name())]));
  }
  for (const Object& flavor : facts.all(api::kueue::kResourceFlavor)) {
    if (!views::is_cluster_flavor(flavor) || managed.contains(flavor.name())) {
      continue;
    }
    const views::ClusterUse use =
        views::cluster_use(facts.all(api::kueue::kClusterQueue), flavor.name());
    Value row = row_of(flavor);
    row.set("state", "Unmanaged");
    row.set("managed", false);
    add_shares(row, shares[std::string(flavor.name())]);
    set_text(row, "details", use.details);
    set_text(row, "queues", use.queues);
    add_jobs(row, jobs_of(facts, around, flavor.name()));
    row.set("cordoned", false);
    row.set("failures", 0);
    row.set("troubles", Value::list());
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Value> lock_rows(const Facts& facts, const JobSurroundings& around) {
  std::vector<Value> rows;
  for (const Object& cluster : facts.all(api::kFournosCluster)) {
    if (has_lock(cluster.status()) || !cluster.spec()["owner"].as_string().empty()) {
      rows.push_back(lock_value(facts, around, cluster));
    }
  }
  return rows;
}

Value bare_lock(Value lock) {
  lock.erase("waitsFor");
  lock.erase("blocks");
  return lock;
}

Value lock_of(const Facts& facts, const JobSurroundings& around, std::string_view name) {
  const Object* cluster = find_cluster(facts, name);
  if (cluster == nullptr ||
      (!has_lock(cluster->status()) && cluster->spec()["owner"].as_string().empty())) {
    return {};
  }
  return bare_lock(lock_value(facts, around, *cluster));
}

Value cluster_page(const Facts& facts, const JobSurroundings& around, std::string_view name,
                   const Visible& visible) {
  Value page;
  for (Value& row : cluster_rows(facts, around)) {
    if (row["name"].as_string() == name) {
      page.set("cluster", in_sight("clusters", std::move(row), {.jobs = visible}));
    }
  }
  if (page.is_null()) {
    return page;
  }
  Value jobs = Value::list();
  std::vector<Object> seen;
  for (const Object& job : facts.all(api::kFournosJob)) {
    if (visible.shows(job.ns())) {
      seen.push_back(job);
      if (cluster_of(job) == name) {
        jobs.push_back(job_row(job, around));
      }
    }
  }
  page.set("jobs", std::move(jobs));
  if (const Object* cluster = find_cluster(facts, name)) {
    page.set("object", shown_object(*cluster));
    page.set("conditions", condition_list(cluster->status()["conditions"]));
    page.set(
        "description",
        views::describe_cluster(*cluster, seen, facts.all(api::kueue::kClusterQueue)).to_value());
    page.set("nodes",
             cluster->status()["nodes"].is_list() ? cluster->status()["nodes"] : Value::list());
    page.set("quota",
             quota_against_hardware(*cluster, shares_of_clusters(facts)[std::string(name)]));
  }
  return page;
}

Value gpu_totals(const Facts& facts) {
  ClusterShares sums;
  for (const auto& [cluster, shares] : shares_of_clusters(facts)) {
    for (const auto& [resource, share] : shares) {
      if (resource.starts_with(views::kGpuPrefix)) {
        auto& sum = sums[views::short_resource(resource)];
        sum.total = saturating_add(sum.total, share.total);
        sum.used = saturating_add(sum.used, share.used);
      }
    }
  }
  Value list = Value::list();
  for (const auto& [type, share] : sums) {
    list.push_back(Value::object({{"type", type},
                                  {"total", share.total},
                                  {"used", share.used},
                                  {"free", std::max<std::int64_t>(share.total - share.used, 0)}}));
  }
  return list;
}

Value gpu_hours(std::span<const Value> jobs, std::string_view by, Instant from, Instant now) {
  struct Use {
    double hours = 0;
    std::int64_t jobs = 0;
    std::int64_t now = 0;
    std::map<std::string, double> types{};
  };
  std::map<std::string, Use> uses;
  const std::string_view column = by == "namespace" ? "ns" : by;
  for (const Value& job : jobs) {
    const std::int64_t gpus = job["hardware"]["gpuCount"].as_int();
    const auto started = parse_time(job["started"].as_string());
    const auto ended = parse_time(job["completed"].as_string());
    if (gpus <= 0 || !started || ended.value_or(now) <= from) {
      continue;
    }
    const double hours = seconds_of(ended.value_or(now) - std::max(*started, from)) / 3600.0 *
                         static_cast<double>(gpus);
    Use& use = uses[job[column].str()];
    use.hours += hours;
    ++use.jobs;
    use.now = saturating_add(use.now, ended ? 0 : gpus);
    use.types[job["hardware"]["gpuType"].str()] += hours;
  }
  Value items = Value::list();
  for (const auto& [key, use] : uses) {
    Value types = Value::object();
    for (const auto& [type, hours] : use.types) {
      types.set(type, hours);
    }
    items.push_back(Value::object({{"key", key},
                                   {"gpuHours", use.hours},
                                   {"jobs", use.jobs},
                                   {"byType", std::move(types)},
                                   {"now", use.now}}));
  }
  return items;
}

namespace {

// Reads the course of a job from its row. Rows do not record when an admitted job began to run:
// it counts as running from its admission, unless it is still Admitted.
views::JobCourse course_of_row(const Value& job) {
  views::JobCourse course{.phase = job["phase"].str(),
                          .created = parse_time(job["created"].as_string()),
                          .admitted = parse_time(job["started"].as_string()),
                          .ended = parse_time(job["completed"].as_string())};
  if (course.phase != "Admitted") {
    course.ran = course.admitted;
  }
  return course;
}

}  // namespace

Value fleet_timeline(const FleetPast& past, Instant from, Instant to, Instant now) {
  std::map<std::string, std::pair<Value, Value>> lanes;  // bars, locks
  for (const Value& job : past.jobs) {
    const std::string cluster =
        job["cluster"].as_string().empty() ? job["requestedCluster"].str() : job["cluster"].str();
    views::JobCourse course = course_of_row(job);
    if (cluster.empty() || !course.created) {
      continue;
    }
    if (const auto seen = past.phases.find(job["uid"].str()); seen != past.phases.end()) {
      course.seen = seen->second;
    }
    auto& [bars, held] = lanes[cluster];
    for (const views::PhaseSpan& span : views::phase_spans(course)) {
      const Instant end = span.to.value_or(now);
      if (span.from < to && end > from && end > span.from) {
        Value bar = Value::object({{"job", job["name"]},
                                   {"ns", job["ns"]},
                                   {"phase", span.phase},
                                   {"from", format_time(span.from)},
                                   {"to", format_time(end)},
                                   {"owner", job["owner"]}});
        set_text(bar, "outcome", course.ended ? course.phase : "");
        bars.push_back(std::move(bar));
      }
    }
  }
  for (const Value& lock : past.locks) {
    auto& [bars, held] = lanes[lock["cluster"].str()];
    const bool ended = lock.contains("to");
    held.push_back(Value::object({{"holder", lock["holder"]},
                                  {"from", ended ? lock["from"] : lock["since"]},
                                  {"to", ended ? lock["to"] : lock["expires"]}}));
  }
  Value list = Value::list();
  for (auto& [cluster, lane] : lanes) {
    list.push_back(Value::object({{"cluster", cluster},
                                  {"bars", lane.first.is_list() ? lane.first : Value::list()},
                                  {"locks", lane.second.is_list() ? lane.second : Value::list()}}));
  }
  return Value::object(
      {{"from", format_time(from)}, {"to", format_time(to)}, {"lanes", std::move(list)}});
}

}  // namespace athanor::console
