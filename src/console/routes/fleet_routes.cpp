// SPDX-License-Identifier: Apache-2.0
// Routes of queues, clusters, slices and zones (docs/spec/dashboard.md B5).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/csv.hpp"
#include "console/data/queue_rows.hpp"
#include "console/data/row_texts.hpp"
#include "console/data/sight.hpp"
#include "console/routes/explaining.hpp"
#include "console/routes/route_table.hpp"
#include "console/world/cached_context.hpp"
#include "embedded/kueue/verb.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/verb/verb.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/verb.hpp"
#include "views/cluster_view.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr Duration kLongestRun = std::chrono::hours(24);  // that the timeline shows phase by phase
constexpr int kHardwareDays = 30;                         // of a cluster's page

Response show_queue(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  if (!may_list(exchange, api::kueue::kClusterQueue)) {
    return deny(api::kueue::kClusterQueue);
  }
  Value page = tables->queue;
  CachedContext context(tables->facts, exchange.services.port, exchange.now());
  const Verb verb = kueue::queues_verb();
  const auto shown = verb.run(context);
  Value tree = Value::list();
  if (shown.ok()) {
    for (const Value& node : context.printed()) {
      tree.push_back(node);
    }
  }
  page.set("tree", std::move(tree));
  const Visible queues = visible_namespaces(exchange, api::kueue::kLocalQueue);
  page.set("localQueues", visible_items(page["localQueues"], queues));
  page.set("now", format_time(exchange.now()));
  page.set("partial", !queues.all || !visible_namespaces(exchange, api::kueue::kWorkload).all);
  return answer_value(page);
}

Response list_workloads(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  return answer_list(exchange, workload_shape(), api::kueue::kWorkload, tables->list("workloads"));
}

Response list_pending(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  Rows rows;
  for (const Value& row : tables->list("workloads")) {
    if (row["clusterQueue"].as_string() == exchange.part("clusterqueue") &&
        row["state"].as_string() == "waits") {
      rows.push_back(row);
    }
  }
  return answer_list(exchange, workload_shape(), api::kueue::kWorkload, rows);
}

Response explain_workload(Exchange& exchange) {
  const Key key = path_key(exchange);
  const auto may = exchange.services.access.may(exchange.viewer(), "get", api::kueue::kWorkload,
                                                key.ns, key.name);
  if (!may.value_or(false)) {
    return deny(api::kueue::kWorkload);
  }
  CachedContext context(exchange.services.world.facts(), exchange.services.port, exchange.now());
  const auto explained = explain_for_viewer(exchange, context, key);
  return explained.ok() ? answer_value(explanation_value(exchange, *explained))
                        : answer_error(explained.error());
}

Response list_in_sight(Exchange& exchange, const ListShape& shape, const char* topic) {
  const auto tables = exchange.services.board.tables();
  const Sight sight = sight_of(exchange);
  Rows rows = tables->list(topic);
  for (Value& row : rows) {
    row = in_sight(topic, std::move(row), sight);
  }
  return answer_list(exchange, shape, api::kFournosCluster, rows, &api::kFournosJob);
}

Response list_clusters(Exchange& exchange) {
  return list_in_sight(exchange, cluster_shape(), "clusters");
}

Response list_locks(Exchange& exchange) {
  return list_in_sight(exchange, lock_shape(), "locks");
}

// Actions allowed on a cluster, and the reasons against the others.
Value cluster_actions(Exchange& exchange, const Value& cluster) {
  const auto allowed = [&](std::string_view verb) {
    std::string why;
    if (exchange.services.settings.read_only) {
      why = "the console is read-only";
    } else if (!cluster["managed"].as_bool()) {
      why = views::unmanaged_text(cluster["name"].str(), "");
    } else if (!exchange.services.access
                    .may(exchange.viewer(), verb, api::kFournosCluster, cluster["ns"].as_string(),
                         cluster["name"].as_string())
                    .value_or(false)) {
      why = fmt::format("you may not {} this cluster", verb);
    }
    Value action = Value::object({{"allowed", why.empty()}});
    set_text(action, "why", why);
    return action;
  };
  Value actions = Value::object({{"offboard", allowed("delete")}});
  const Value change = allowed("patch");
  for (const char* name : {"lock", "unlock", "rediscover", "cordon", "uncordon"}) {
    actions.set(name, change);
  }
  return actions;
}

Response show_cluster(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  const Visible visible = visible_namespaces(exchange, api::kFournosJob);
  Value page = cluster_page(*tables->facts, tables->surroundings, exchange.part("name"), visible);
  if (page.is_null()) {
    return answer_error(
        Error::not_found(fmt::format("cluster \"{}\" not found", exchange.part("name"))));
  }
  const auto may =
      exchange.services.access.may(exchange.viewer(), "get", api::kFournosCluster,
                                   page["cluster"]["ns"].as_string(), exchange.part("name"));
  if (!may.value_or(false)) {
    return deny(api::kFournosCluster);
  }
  page.set("partial", !visible.all);
  page.set("hardware",
           exchange.services.history.hardware(exchange.part("name"),
                                              exchange.now() - std::chrono::days(kHardwareDays)));
  page.set("actions", cluster_actions(exchange, page["cluster"]));
  return answer_value(page);
}

// The FournosCluster of the path. Error 404, with a hint where the queue alone knows it.
Result<Object> cluster_of_path(Exchange& exchange) {
  const std::string& name = exchange.part("name");
  const auto facts = exchange.services.world.facts();
  for (const Object& cluster : facts->all(api::kFournosCluster)) {
    if (cluster.name() == name) {
      return exchange.services.port.get(exchange.viewer(), api::kFournosCluster, cluster.key());
    }
  }
  Error error = Error::not_found(fmt::format("cluster \"{}\" not found", name));
  if (facts->find(api::kueue::kResourceFlavor, {"", name}) != nullptr) {
    error.message += "; " + views::unmanaged_text(name, "");
  }
  return error;
}

Result<void> patch_cluster(Exchange& exchange, const Object& cluster, const Value& patch,
                           std::string_view action) {
  const auto patched =
      exchange.services.port.patch(exchange.viewer(), api::kFournosCluster, cluster.key(), patch);
  note_change(exchange, action, "FournosCluster/" + cluster.key().text(),
              patched.ok() ? nullptr : &patched.error());
  return patched.ok() ? Result<void>() : patched.error();
}

// A patch of the spec that fails if the cluster has changed since.
Value spec_patch(const Object& cluster, Value spec) {
  return Value::object(
      {{"metadata", Value::object({{"resourceVersion", cluster.resource_version()}})},
       {"spec", std::move(spec)}});
}

// Tries a change of a cluster again that lost against its controller, which writes its status.
template <class Change>
Response try_again(Change change) {
  constexpr int kConflict = 409;
  constexpr int kMostAttempts = 5;
  Result<Response> done = change();
  for (int i = 1; i < kMostAttempts && !done.ok() && done.error().code == kConflict; ++i) {
    done = change();
  }
  return done.ok() ? *std::move(done) : answer_error(done.error());
}

Response lock_cluster(Exchange& exchange) {
  const std::string owner = exchange.body["owner"].str();
  const std::string ttl = exchange.body["ttl"].str();
  if (owner.empty()) {
    return answer_error(Error::bad_request("owner is required"), "owner");
  }
  if (!ttl.empty() && !views::is_lock_time(ttl)) {
    return answer_error(
        Error::bad_request(fmt::format("ttl \"{}\" is not a time such as 30m, 4h or 2d", ttl)),
        "ttl");
  }
  return try_again([&]() -> Result<Response> {
    ATHANOR_TRY(const Object cluster, cluster_of_path(exchange));
    const std::string holder = cluster.spec()["owner"].str();
    if (!holder.empty() && holder != owner && !exchange.body["transfer"].as_bool()) {
      return answer_error(
          Error::conflict(fmt::format("{} is locked for {}", cluster.name(), holder)), "owner");
    }
    Value spec = Value::object({{"owner", owner}});
    spec.set("ttl", ttl.empty() ? Value() : Value(ttl));
    const bool same = holder == owner && cluster.spec()["ttl"].as_string() == ttl;
    if (!same) {
      ATHANOR_TRY_VOID(
          patch_cluster(exchange, cluster, spec_patch(cluster, std::move(spec)), "lock"));
    }
    Value lock =
        Value::object({{"ns", cluster.ns()},
                       {"cluster", cluster.name()},
                       {"state", same ? cluster.status()["lockState"] : Value("Acquiring")},
                       {"holder", owner}});
    set_text(lock, "expires", same ? cluster.status()["lockExpiresAt"].as_string() : "");
    return answer_value(
        Value::object({{"lock", std::move(lock)},
                       {"message", fmt::format("{} is locked for {}", cluster.name(), owner)}}));
  });
}

Response unlock_cluster(Exchange& exchange) {
  return try_again([&, first = std::optional<std::string>()]() mutable -> Result<Response> {
    ATHANOR_TRY(const Object cluster, cluster_of_path(exchange));
    const std::string holder = cluster.spec()["owner"].str();
    if (first.value_or(holder) != holder) {  // another owner took it meanwhile
      return answer_error(
          Error::conflict(fmt::format("{} is locked for {}", cluster.name(), holder)));
    }
    first = holder;
    Value spec = Value::object({{"owner", ""}});
    spec.set("ttl", Value());
    ATHANOR_TRY_VOID(
        patch_cluster(exchange, cluster, spec_patch(cluster, std::move(spec)), "unlock"));
    return answer_value(
        Value::object({{"message", fmt::format("{} is unlocked", cluster.name())}}));
  });
}

Response change_cluster(Exchange& exchange, const Value& patch, std::string_view action,
                        std::string_view done) {
  const auto cluster = cluster_of_path(exchange);
  if (!cluster.ok()) {
    return answer_error(cluster.error());
  }
  const auto patched = patch_cluster(exchange, *cluster, patch, action);
  return patched.ok() ? answer_value(Value::object(
                            {{"message", fmt::format("{} {}", cluster->name(), done)}}))
                      : answer_error(patched.error());
}

Response rediscover_cluster(Exchange& exchange) {
  Value annotations = Value::object();
  annotations.set("fournos.dev/rediscover", format_micro_time(exchange.now()));
  return change_cluster(
      exchange,
      Value::object({{"metadata", Value::object({{"annotations", std::move(annotations)}})}}),
      "rediscover", "is asked for its hardware");
}

Value cordon_patch(bool cordoned) {
  return Value::object({{"spec", Value::object({{"cordoned", cordoned}})}});
}

Response cordon_cluster(Exchange& exchange) {
  return change_cluster(exchange, cordon_patch(true), "cordon", "is cordoned");
}

Response uncordon_cluster(Exchange& exchange) {
  return change_cluster(exchange, cordon_patch(false), "uncordon", "is no longer cordoned");
}

Response offboard_cluster(Exchange& exchange) {
  const auto cluster = cluster_of_path(exchange);
  if (!cluster.ok()) {
    return answer_error(cluster.error());
  }
  const Value options =
      Value::object({{"apiVersion", "v1"},
                     {"kind", "DeleteOptions"},
                     {"preconditions", Value::object({{"uid", cluster->uid()}})}});
  const auto removed = exchange.services.port.remove(exchange.viewer(), api::kFournosCluster,
                                                     cluster->key(), options);
  note_change(exchange, "offboard", "FournosCluster/" + cluster->key().text(),
              removed.ok() ? nullptr : &removed.error());
  return removed.ok() ? answer_value(Value::object(
                            {{"message", fmt::format("{} is leaving", cluster->name())}}))
                      : answer_error(removed.error());
}

// "24h", "7d", "30d".
Result<Duration> range_of(const Exchange& exchange, std::string_view fallback) {
  std::string text = exchange.text("range", fallback);
  constexpr std::int64_t kMostDays = 90;
  if (text.ends_with('d')) {
    std::int64_t days = 0;
    const char* const end = text.data() + text.size() - 1;
    const auto [rest, failed] = std::from_chars(text.data(), end, days);
    if (failed == std::errc() && rest == end && days >= 1 && days <= kMostDays) {
      return Duration(std::chrono::days(days));
    }
  } else if (const auto length = parse_go_duration(text);
             length.ok() && *length > Duration{} && *length <= std::chrono::days(kMostDays)) {
    return *length;
  }
  return Error::bad_request("range must be a time up to 90d, as 24h or 7d");
}

// Rows of jobs that the viewer may see.
Rows visible_jobs(Exchange& exchange) {
  const auto tables = exchange.services.board.tables();
  const Visible visible = visible_namespaces(exchange, api::kFournosJob);
  Rows rows;
  for (const Value& row : tables->list("jobs")) {
    if (visible.shows(row["ns"].as_string())) {
      rows.push_back(row);
    }
  }
  return rows;
}

Response show_gpus(Exchange& exchange) {
  const auto range = range_of(exchange, "24h");
  if (!range.ok()) {
    return answer_error(range.error(), "range");
  }
  const std::string by = exchange.text("by", "owner");
  if (by != "owner" && by != "project" && by != "namespace") {
    return answer_error(Error::bad_request("by must be owner, project or namespace"), "by");
  }
  const Value items =
      gpu_hours(visible_jobs(exchange), by, exchange.now() - *range, exchange.now());
  if (exchange.parameter("format").value_or("") == "csv") {
    Response response =
        answer_text(csv_of(items, {"key", "gpuHours", "jobs", "now"}), "text/csv; charset=utf-8");
    response.headers.emplace_back("Content-Disposition", "attachment; filename=\"gpus.csv\"");
    return response;
  }
  return answer_value(
      Value::object({{"items", items},
                     {"total", items.size()},
                     {"partial", !visible_namespaces(exchange, api::kFournosJob).all}}));
}

Response show_fleet(Exchange& exchange) {
  const Instant now = exchange.now();
  for (const std::string_view name : {"from", "to"}) {
    const auto text = exchange.parameter(name);
    if (text && !parse_time(*text)) {
      return answer_error(Error::bad_request(fmt::format("{} must be a time of RFC 3339", name)),
                          name);
    }
  }
  const auto time = [&](std::string_view name, Instant fallback) {
    return parse_time(exchange.parameter(name).value_or("")).value_or(fallback);
  };
  const Instant to = time("to", now);
  const Instant from = time("from", to - std::chrono::hours(24));
  if (from >= to) {
    return answer_error(Error::bad_request("from must be before to"), "from");
  }
  const auto tables = exchange.services.board.tables();
  const Visible clusters = visible_namespaces(exchange, api::kFournosCluster);
  Rows locks;
  for (const Value& lock : tables->list("locks")) {
    if (clusters.shows(lock["ns"].as_string())) {
      locks.push_back(lock);
    }
  }
  for (const Value& lock : exchange.services.history.ended_locks(from)) {
    if (clusters.shows(lock["ns"].as_string())) {
      locks.push_back(lock);
    }
  }
  const Rows jobs = visible_jobs(exchange);
  FleetPast past{.jobs = jobs, .locks = locks};
  // Jobs that began before the period may last into it. Those that began even earlier are drawn
  // from their row alone.
  const auto seen = exchange.services.history.phases(from - kLongestRun);
  for (const auto& [uid, events] : seen.value_or({})) {
    for (const HistoryEvent& event : events) {
      if (const auto at = parse_time(event.at)) {
        past.phases[uid].push_back({.phase = event.phase, .at = *at});
      }
    }
  }
  Value timeline = fleet_timeline(past, from, to, now);
  if (const auto cluster = exchange.parameter("cluster")) {
    Value lanes = Value::list();
    for (const Value& lane : timeline["lanes"].items()) {
      if (lane["cluster"].as_string() == *cluster) {
        lanes.push_back(lane);
      }
    }
    timeline.set("lanes", std::move(lanes));
  }
  return answer_value(timeline);
}

Response show_slices(Exchange& exchange) {
  if (!may_list(exchange, das::kNodeAccelerator)) {
    return deny(das::kNodeAccelerator);
  }
  const Visible pods = visible_namespaces(exchange, api::kPod);
  Value page = exchange.services.board.tables()->slices;
  if (!pods.all) {
    page.set("waiting", visible_items(page["waiting"], pods));
    page.set("problems", problems_in_sight(page["problems"], pods));
    for (const char* member : {"nodes", "lost"}) {
      page.set(member, slices_in_sight(page[std::string_view(member)], pods));
    }
  }
  page.set("partial", !pods.all);
  return answer_value(page);
}

// "hours" of the query, from 1 to 90 days; nullopt: anything else.
std::optional<std::chrono::hours> hours_of(const Exchange& exchange) {
  constexpr int kMostHours = 90 * 24;
  const std::string_view text = exchange.parameter("hours").value_or("24");
  int hours = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), hours);
  return failed == std::errc() && rest == text.data() + text.size() && hours >= 1 &&
                 hours <= kMostHours
             ? std::optional(std::chrono::hours(hours))
             : std::nullopt;
}

Response show_slice_changes(Exchange& exchange) {
  if (!may_list(exchange, das::kNodeAccelerator)) {
    return deny(das::kNodeAccelerator);
  }
  const auto hours = hours_of(exchange);
  if (!hours) {
    return answer_error(Error::bad_request("hours must be a whole number from 1 to 2160"), "hours");
  }
  const Instant from = exchange.now() - *hours;
  auto changes = exchange.services.history.slice_changes(from);
  if (!changes.ok()) {
    return answer_error(
        Error{.code = 503,
              .reason = "Unavailable",
              .message = "the history cannot be read now: " + changes.error().message});
  }
  const Visible pods = visible_namespaces(exchange, api::kPod);
  Value list = Value::list();
  for (Value& change : *changes) {
    list.push_back(slice_change_in_sight(std::move(change), pods));
  }
  return answer_value(Value::object({{"from", format_time(from)},
                                     {"to", format_time(exchange.now())},
                                     {"changes", std::move(list)}}));
}

Response what_if(Exchange& exchange) {
  if (!may_list(exchange, das::kNodeAccelerator)) {
    return deny(das::kNodeAccelerator);
  }
  const std::int64_t count = exchange.body["count"].as_int(1);
  const std::string profile = exchange.body["profile"].str();
  if (profile.empty()) {
    return answer_error(Error::bad_request("profile is required"), "profile");
  }
  CachedContext context(
      exchange.services.world.facts(), exchange.services.port, exchange.now(),
      {.arguments = {{"ACTION", "what-if"}, {"SUBJECT", fmt::format("{}:{}", profile, count)}}});
  const auto run = das::slices_verb().run(context);
  if (!run.ok()) {
    Error error = run.error();
    error.code = 400;
    return answer_error(error, "profile");
  }
  Value spots = Value::list();
  for (const Value& spot : context.printed()) {
    Value one = spot;
    one.set("profile", profile);
    spots.push_back(std::move(one));
  }
  const std::size_t fits = spots.size();
  Value page = Value::object({{"fits", fits}, {"asked", count}, {"spots", std::move(spots)}});
  if (static_cast<std::int64_t>(fits) < count) {
    page.set("why", fmt::format("no GPU has the slots free in a legal place for {} more",
                                count - static_cast<std::int64_t>(fits)));
  }
  return answer_value(page);
}

Response show_zones(Exchange& exchange) {
  if (!may_list(exchange, numa::kTopologyKind)) {
    return deny(numa::kTopologyKind);
  }
  const Visible pods = visible_namespaces(exchange, api::kPod);
  Value page = zones_at(exchange.services.board.tables()->zones, exchange.now());
  if (!pods.all) {
    Value nodes = Value::list();
    for (const Value& node : page["nodes"].items()) {
      Value one = node;
      one.set("pods", visible_items(node["pods"], pods));
      nodes.push_back(std::move(one));
    }
    page.set("nodes", std::move(nodes));
  }
  page.set("partial", !pods.all);
  return answer_value(page);
}

Response fit_zones(Exchange& exchange) {
  if (!may_list(exchange, numa::kTopologyKind)) {
    return deny(numa::kTopologyKind);
  }
  VerbCall call{.arguments = {{"ACTION", "fit"}}, .ns = exchange.services.settings.jobs_ns};
  std::string devices;
  for (const Member& request : exchange.body["requests"].members()) {
    const std::string amount =
        request.value.is_number() ? std::to_string(request.value.as_int()) : request.value.str();
    if (request.key() == "cpu" || request.key() == "memory") {
      call.flags.emplace(request.key(), amount);
    } else {
      devices += fmt::format("{}{}={}", devices.empty() ? "" : ",", request.key(), amount);
    }
  }
  if (!devices.empty()) {
    call.flags.emplace("device", devices);
  }
  CachedContext context(exchange.services.world.facts(), exchange.services.port, exchange.now(),
                        std::move(call));
  const auto run = numa::numa_verb().run(context);
  if (!run.ok()) {
    Error error = run.error();
    error.code = error.code == 404 ? 404 : 400;
    return answer_error(error, "requests");
  }
  Value nodes = Value::list();
  for (const Value& node : context.printed()) {
    Value one = node;
    const bool zone = !node["zone"].as_string().empty();
    one.set("verdict", !node["fits"].as_bool() ? "no" : zone ? "one zone" : "across zones");
    nodes.push_back(std::move(one));
  }
  return answer_value(Value::object({{"nodes", std::move(nodes)}}));
}

}  // namespace

std::vector<Route> fleet_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/queue",
       .summary = "Show queues, quota and use",
       .handle = show_queue},
      {.method = "GET",
       .path = "/api/v1/queue/{clusterqueue}/pending",
       .summary = "List what waits in a ClusterQueue",
       .handle = list_pending,
       .shape = workload_shape},
      {.method = "GET",
       .path = "/api/v1/workloads",
       .summary = "List Workloads",
       .handle = list_workloads,
       .shape = workload_shape},
      {.method = "GET",
       .path = "/api/v1/workloads/{ns}/{name}/explain",
       .summary = "Explain why a Workload waits",
       .handle = explain_workload},
      {.method = "GET",
       .path = "/api/v1/clusters",
       .summary = "List clusters",
       .handle = list_clusters,
       .shape = cluster_shape},
      {.method = "GET",
       .path = "/api/v1/clusters/{name}",
       .summary = "Show one cluster",
       .handle = show_cluster},
      {.method = "PUT",
       .path = "/api/v1/clusters/{name}/lock",
       .summary = "Lock a cluster, or extend its lock",
       .handle = lock_cluster,
       .guard = Guard::Change,
       .body = {"owner", "ttl", "transfer:boolean"}},
      {.method = "DELETE",
       .path = "/api/v1/clusters/{name}/lock",
       .summary = "Unlock a cluster",
       .handle = unlock_cluster,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/clusters/{name}/rediscover",
       .summary = "Ask a cluster for its hardware",
       .handle = rediscover_cluster,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/clusters/{name}/cordon",
       .summary = "Keep new jobs off a cluster",
       .handle = cordon_cluster,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/clusters/{name}/uncordon",
       .summary = "Let new jobs onto a cluster",
       .handle = uncordon_cluster,
       .guard = Guard::Change},
      {.method = "POST",
       .path = "/api/v1/clusters/{name}/offboard",
       .summary = "Remove a cluster",
       .handle = offboard_cluster,
       .guard = Guard::Change},
      {.method = "GET",
       .path = "/api/v1/locks",
       .summary = "List locks of clusters",
       .handle = list_locks,
       .shape = lock_shape},
      {.method = "GET",
       .path = "/api/v1/gpus",
       .summary = "Show GPU-hours by owner, project or namespace",
       .handle = show_gpus,
       .parameters = {"by", "range", "format"}},
      {.method = "GET",
       .path = "/api/v1/fleet/timeline",
       .summary = "Show jobs by cluster over time",
       .handle = show_fleet,
       .parameters = {"from", "to", "cluster"}},
      {.method = "GET",
       .path = "/api/v1/mig",
       .summary = "Show slices of all GPUs",
       .handle = show_slices},
      {.method = "GET",
       .path = "/api/v1/mig/history",
       .summary = "List slices that came and went",
       .handle = show_slice_changes,
       .parameters = {"hours"}},
      {.method = "POST",
       .path = "/api/v1/mig/whatif",
       .summary = "Try to place slices; changes nothing",
       .handle = what_if,
       .body = {"profile", "count:integer"}},
      {.method = "GET",
       .path = "/api/v1/numa",
       .summary = "Show NUMA zones of all nodes",
       .handle = show_zones},
      {.method = "POST",
       .path = "/api/v1/numa/fit",
       .summary = "Check whether a request fits into zones; changes nothing",
       .handle = fit_zones,
       .body = {"requests:object"}},
  };
}

}  // namespace athanor::console
