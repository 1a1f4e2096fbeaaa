// SPDX-License-Identifier: Apache-2.0
// Routes about the console itself: session, stream, overview, system, probes, description.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "console/data/features.hpp"
#include "console/data/overview.hpp"
#include "console/data/row_texts.hpp"
#include "console/routes/controllers_page.hpp"
#include "console/routes/route_table.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::size_t kShownAudit = 200;

Value session_value(Exchange& exchange, const Session& session) {
  const Services& services = exchange.services;
  Value groups = Value::list();
  for (const std::string& group : session.viewer.groups) {
    groups.push_back(group);
  }
  Value namespaces = Value::list();
  for (const std::string& ns : services.settings.namespaces) {
    namespaces.push_back(ns);
  }
  Value value = Value::object(
      {{"user", session.viewer.user},
       {"groups", std::move(groups)},
       {"auth", auth_text(services.settings.auth)},
       {"readOnly", services.settings.read_only},
       {"csrf", session.csrf},
       {"version", services.version},
       {"namespaces", std::move(namespaces)},
       {"jobsNamespace", services.settings.jobs_ns},
       {"embedded", services.embedded},
       {"features", feature_list(*services.world.facts(), services.history.state().connected)}});
  if (services.settings.auth != AuthMode::None) {
    value.set("expires", format_time(session.expires));
  }
  return value;
}

Response show_session(Exchange& exchange) {
  return answer_value(session_value(exchange, exchange.session));
}

Response log_in(Exchange& exchange) {
  // Prevents that a page of another site logs a browser in as another user.
  if (const auto origin = exchange.services.access.check_origin(exchange.request); !origin.ok()) {
    return answer_error(origin.error());
  }
  const auto session = exchange.services.access.log_in(exchange.body["token"].str());
  if (!session.ok()) {
    return answer_error(session.error(), "token");
  }
  Response response = answer_value(session_value(exchange, *session));
  response.headers.emplace_back("Set-Cookie",
                                exchange.services.access.cookie(*session, exchange.request));
  return response;
}

Response log_out(Exchange& exchange) {
  if (const auto origin = exchange.services.access.check_origin(exchange.request); !origin.ok()) {
    return answer_error(origin.error());
  }
  exchange.services.access.log_out(exchange.request);
  Response response = answer_value(Value::object());
  response.headers.emplace_back("Set-Cookie",
                                exchange.services.access.cookie({}, exchange.request));
  return response;
}

// Which kind decides who may see rows of a topic.
const Kind* kind_of_topic(std::string_view topic) {
  if (topic == "jobs") {
    return &api::kFournosJob;
  }
  if (topic == "workloads") {
    return &api::kueue::kWorkload;
  }
  if (topic == "clusters") {
    return &api::kFournosCluster;
  }
  if (topic == "appwrappers") {
    return &appwrapper::kAppWrapper;
  }
  if (topic == "nodes") {
    return &api::kNode;
  }
  if (topic == "schedules") {
    return &api::kCronJob;
  }
  if (topic == "mig") {
    return &das::kNodeAccelerator;
  }
  return topic == "numa" ? &numa::kTopologyKind : nullptr;
}

Response open_stream(Exchange& exchange) {
  Services& services = exchange.services;
  Subscription subscription{.last_id = std::string(exchange.request.header("last-event-id"))};
  if (const auto id = exchange.parameter("lastEventId"); id && subscription.last_id.empty()) {
    subscription.last_id = std::string(*id);
  }
  std::string_view rest = exchange.parameter("topics").value_or("");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string topic(rest.substr(0, comma));
    if (!is_topic(topic)) {
      return answer_error(Error::bad_request(fmt::format("there is no topic {}", topic)), "topics");
    }
    subscription.topics.insert(topic);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  if (services.settings.auth != AuthMode::None) {
    std::map<std::string, Visible, std::less<>> visible;
    for (const std::string& topic : subscription.topics) {
      const Kind* kind = kind_of_topic(topic);
      visible[topic] = kind == nullptr ? Visible{.all = true} : visible_namespaces(exchange, *kind);
    }
    subscription.may_see = [visible = std::move(visible)](std::string_view topic,
                                                          const Value& row) {
      const auto found = visible.find(topic);
      return found != visible.end() && found->second.shows(row["ns"].as_string());
    };
    if (const Sight sight = sight_of(exchange); !sight.jobs.all || !sight.pods.all) {
      subscription.shown = [sight](std::string_view topic, const Value& row) {
        return in_sight(topic, row, sight);
      };
    }
    // What the viewer may see is asked again when the browser comes back: at the latest then.
    constexpr auto kTrust = std::chrono::seconds(30);
    const auto end = std::chrono::steady_clock::now() + kTrust;
    subscription.ends_at = end;
    subscription.is_valid = [&access = services.access, id = exchange.session.id] {
      return access.is_valid(id);
    };
  }
  Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering", "no");
  response.stream = services.board.subscribe(std::move(subscription));
  return response;
}

// The rows of all pages that the viewer may see.
struct VisibleRows {
  std::shared_ptr<const Tables> tables{};
  Rows jobs{};
  Rows workloads{};
  Rows appwrappers{};
  Rows clusters{};
  Rows locks{};
  Rows nodes{};
  OverviewSums sums{};
  Visible workload_namespaces{};
  bool partial = false;
  [[nodiscard]] OverviewRows rows() const {
    return {.jobs = jobs,
            .workloads = workloads,
            .clusters = clusters,
            .locks = locks,
            .appwrappers = appwrappers,
            .nodes = nodes,
            .slices = &tables->slices,
            .zones = &tables->zones,
            .sums = sums};
  }
};

Rows filtered(const Rows& rows, const Visible& visible) {
  Rows out;
  for (const Value& row : rows) {
    if (visible.shows(row["ns"].as_string())) {
      out.push_back(row);
    }
  }
  return out;
}

VisibleRows visible_rows(Exchange& exchange) {
  VisibleRows all{.tables = exchange.services.board.tables()};
  const Visible jobs = visible_namespaces(exchange, api::kFournosJob);
  const Visible clusters = visible_namespaces(exchange, api::kFournosCluster);
  const Visible workloads = visible_namespaces(exchange, api::kueue::kWorkload);
  const Visible wrappers = visible_namespaces(exchange, appwrapper::kAppWrapper);
  all.jobs = filtered(all.tables->list("jobs"), jobs);
  all.workloads = filtered(all.tables->list("workloads"), workloads);
  all.appwrappers = filtered(all.tables->list("appwrappers"), wrappers);
  all.clusters = filtered(all.tables->list("clusters"), clusters);
  all.locks = filtered(all.tables->list("locks"), clusters);
  const bool nodes = may_list(exchange, api::kNode);
  all.nodes = nodes ? all.tables->list("nodes") : Rows();
  all.sums = {.quota = may_list(exchange, api::kueue::kClusterQueue),
              .slices = may_list(exchange, das::kNodeAccelerator),
              .zones = may_list(exchange, numa::kTopologyKind)};
  all.sums.pods = visible_namespaces(exchange, api::kPod);
  all.workload_namespaces = workloads;
  all.partial = !jobs.all || !workloads.all || !wrappers.all || !clusters.all || !nodes ||
                !all.sums.quota || !all.sums.slices || !all.sums.zones;
  return all;
}

Response show_overview(Exchange& exchange) {
  const VisibleRows rows = visible_rows(exchange);
  Value page = overview(*rows.tables->facts, rows.rows(), exchange.now());
  page.set("partial", rows.partial);
  page.set("now", format_time(exchange.now()));
  return answer_value(page);
}

// Puts problems of the console's own stores before those of the cluster.
Value with_store_problems(const Services& services, const Value& problems) {
  Value all = Value::list();
  const auto add = [&](std::string_view name, const std::string& text) {
    all.push_back(Value::object({{"severity", "error"},
                                 {"object", Value::object({{"kind", "Console"}, {"name", name}})},
                                 {"text", text},
                                 {"action", "free space for its data, or mend the database"}}));
  };
  const HistoryState history = services.history.state();
  if (!history.error.empty()) {
    add("history", fmt::format("the history is not written: {}; {} entries wait", history.error,
                               history.queued));
  }
  const LogArchiveState logs = services.logs.state();
  if (!logs.error.empty()) {
    add("logs", fmt::format("logs are not archived: {}; {} wait", logs.error, logs.held));
  }
  for (const Value& problem : problems.items()) {
    all.push_back(problem);
  }
  return all;
}

Response show_problems(Exchange& exchange) {
  const VisibleRows rows = visible_rows(exchange);
  const Value items = with_store_problems(
      exchange.services, problems(*rows.tables->facts, rows.rows(), exchange.now()));
  return answer_value(
      Value::object({{"items", items}, {"total", items.size()}, {"partial", rows.partial}}));
}

Response show_insights(Exchange& exchange) {
  const std::string range = exchange.text("range", "7d");
  constexpr std::pair<std::string_view, int> kRanges[] = {
      {"24h", 1}, {"7d", 7}, {"30d", 30}, {"90d", 90}};
  const auto found =
      std::ranges::find(kRanges, std::string_view(range), &std::pair<std::string_view, int>::first);
  if (found == std::end(kRanges)) {
    return answer_error(Error::bad_request("range must be 24h, 7d, 30d or 90d"), "range");
  }
  const VisibleRows rows = visible_rows(exchange);
  const Instant from = exchange.now() - std::chrono::days(found->second);
  std::vector<Value> evictions = exchange.services.history.evictions(from);
  std::erase_if(evictions, [&](const Value& eviction) {
    return !rows.workload_namespaces.shows(eviction["ns"].as_string());
  });
  Value page = insights({.jobs = rows.jobs, .evictions = evictions, .clusters = rows.clusters},
                        from, exchange.now());
  const Visible clusters = visible_namespaces(exchange, api::kFournosCluster);
  std::vector<Value> repairs = exchange.services.history.repairs(from);
  std::erase_if(repairs,
                [&](const Value& repair) { return !clusters.shows(repair["ns"].as_string()); });
  page.set("repairs", repair_summary(repairs));
  page.set("partial", rows.partial || !clusters.all);
  return answer_value(page);
}

Value watch_list(const World& world) {
  Value list = Value::list();
  for (const WatchState& watch : world.watches()) {
    Value one = Value::object({{"kind", watch.kind->plural},
                               {"group", watch.kind->group},
                               {"listed", watch.listed},
                               {"watching", watch.watching},
                               {"events", watch.events},
                               {"lists", watch.lists},
                               {"objects", watch.objects}});
    if (watch.lag) {
      one.set("lagSeconds", seconds_of(*watch.lag));
      one.set("quietSeconds", seconds_of(watch.quiet.value_or(*watch.lag)));
    }
    set_text(one, "error", watch.error);
    list.push_back(std::move(one));
  }
  return list;
}

// A viewer sees their own changes, and those of objects that they may list.
bool may_see_record(Exchange& exchange, const Value& record) {
  const Viewer& viewer = exchange.viewer();
  if (!viewer.user.empty() && record["user"].as_string() == viewer.user) {
    return true;
  }
  const std::string object = record["object"].str();  // "Kind/namespace/name" or "Kind/name"
  const std::size_t slash = std::min(object.find('/'), object.size());
  const std::size_t end = object.find('/', slash + 1);
  const Kind* kind = find_shown_kind("", object.substr(0, slash));
  const std::string ns = kind != nullptr && kind->namespaced && end != std::string::npos
                             ? object.substr(slash + 1, end - slash - 1)
                             : "";
  return exchange.services.access.may(viewer, "list", kind == nullptr ? api::kSecret : *kind, ns)
      .value_or(false);
}

Value log_state(const LogArchiveState& logs) {
  Value state = Value::object({{"bytes", logs.bytes},
                               {"limitBytes", logs.limit},
                               {"held", logs.held},
                               {"lost", logs.lost}});
  set_text(state, "error", logs.error);
  return state;
}

Response show_system(Exchange& exchange) {
  Services& services = exchange.services;
  const Link link = services.world.link();
  const auto& config = services.port.client().config();
  Value api = Value::object({{"server", config.server}, {"connected", link.connected}});
  set_text(api, "error", link.error);
  const auto asked = std::chrono::steady_clock::now();
  const auto version = services.port.call({}, {.path = "/version"});
  if (version.ok()) {
    api.set("version", (*version)["gitVersion"]);
    api.set(
        "latencySeconds",
        seconds_of(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - asked)));
  } else {
    api.set("connected", false);
    api.set("error", version.error().message);
  }
  const HistoryState history = services.history.state();
  Value store = Value::object({{"backend", history.backend},
                               {"connected", history.connected},
                               {"jobs", history.jobs},
                               {"queued", history.queued},
                               {"lost", history.lost}});
  set_text(store, "error", history.error);
  Value audit = Value::list();
  for (Value& record : services.history.audit(kShownAudit)) {
    if (may_see_record(exchange, record)) {
      audit.push_back(std::move(record));
    }
  }
  Value configuration = Value::list();
  for (const auto& [name, value] : services.settings.lines()) {
    configuration.push_back(Value::object({{"name", name}, {"value", value}}));
  }
  return answer_value(
      Value::object({{"version", services.version},
                     {"api", std::move(api)},
                     {"watches", watch_list(services.world)},
                     {"controllers", controllers_page(exchange)},
                     {"features", feature_list(*services.world.facts(), history.connected)},
                     {"history", std::move(store)},
                     {"logs", log_state(services.logs.state())},
                     {"viewers", services.board.viewers()},
                     {"audit", std::move(audit)},
                     {"configuration", std::move(configuration)}}));
}

Response show_object(Exchange& exchange) {
  return with_named_object(exchange, [&](const Kind& kind, const Object& object) {
    Value events = Value::list();
    const auto listed = exchange.services.port.list(
        exchange.viewer(), api::kEvent, object.ns().empty() ? "default" : std::string(object.ns()),
        fmt::format("?fieldSelector=involvedObject.name%3D{},involvedObject.kind%3D{}",
                    object.name(), kind.name));
    for (const Object& event : listed.value_or({})) {
      events.push_back(Value::object({{"last", event.body()["lastTimestamp"]},
                                      {"count", event.body()["count"].as_int(1)},
                                      {"type", event.body()["type"]},
                                      {"reason", event.body()["reason"]},
                                      {"message", event.body()["message"]}}));
    }
    return answer_value(
        Value::object({{"object", shown_object(object)}, {"events", std::move(events)}}));
  });
}

Response show_description(Exchange& exchange) {
  return answer_value(openapi_document(exchange.services.version));
}

Response answer_health(Exchange& /*exchange*/) {
  return answer_text("ok", "text/plain; charset=utf-8");
}

Response answer_readiness(Exchange& exchange) {
  const bool ready = exchange.services.world.synced();
  return answer_text(ready ? "ok" : "the caches are not filled yet", "text/plain; charset=utf-8",
                     ready ? 200 : 503);
}

Response show_metrics(Exchange& exchange) {
  Services& services = exchange.services;
  const HistoryState history = services.history.state();
  std::string text;
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       double value) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
  };
  add("athanor_console_viewers", "gauge", "Open streams of browsers.",
      static_cast<double>(services.board.viewers()));
  add("athanor_console_connected", "gauge", "1 while the API server answers.",
      services.world.link().connected ? 1 : 0);
  add("athanor_console_history_connected", "gauge", "1 while the history can be written.",
      history.connected ? 1 : 0);
  add("athanor_console_history_jobs", "gauge", "Jobs in the history.",
      static_cast<double>(history.jobs));
  add("athanor_console_history_queued", "gauge", "Entries that wait to be written.",
      static_cast<double>(history.queued));
  add("athanor_console_history_lost_total", "counter",
      "Entries that were never written: the queue was full, or the database refuses them.",
      static_cast<double>(history.lost));
  const LogArchiveState logs = services.logs.state();
  add("athanor_console_logs_held", "gauge", "Logs in memory that could not be archived yet.",
      static_cast<double>(logs.held));
  add("athanor_console_logs_lost_total", "counter", "Logs that had no place in memory.",
      static_cast<double>(logs.lost));
  text +=
      "# HELP athanor_console_watch_events_total Events of watches by kind.\n"
      "# TYPE athanor_console_watch_events_total counter\n";
  const std::vector<WatchState> watches = services.world.watches();
  for (const WatchState& watch : watches) {
    text += fmt::format("athanor_console_watch_events_total{{resource=\"{}\"}} {}\n",
                        watch.kind->plural, watch.events);
  }
  text +=
      "# HELP athanor_console_watch_lag_seconds How far the objects of a kind are behind the API "
      "server.\n"
      "# TYPE athanor_console_watch_lag_seconds gauge\n";
  for (const WatchState& watch : watches) {
    if (watch.lag) {
      text += fmt::format("athanor_console_watch_lag_seconds{{resource=\"{}\"}} {}\n",
                          watch.kind->plural, seconds_of(*watch.lag));
    }
  }
  return answer_text(text, "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace

std::vector<Route> system_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/session",
       .summary = "Show who is logged in, and what the console can do",
       .handle = show_session},
      {.method = "POST",
       .path = "/api/v1/login",
       .summary = "Log in with a bearer token",
       .handle = log_in,
       .guard = Guard::Open,
       .body = {"token"}},
      {.method = "POST",
       .path = "/api/v1/logout",
       .summary = "Log out",
       .handle = log_out,
       .guard = Guard::Open},
      {.method = "GET",
       .path = "/api/v1/stream",
       .summary = "Follow changes as server-sent events",
       .handle = open_stream,
       .parameters = {"topics", "lastEventId"},
       .content_type = "text/event-stream"},
      {.method = "GET",
       .path = "/api/v1/overview",
       .summary = "Show the cards of the overview",
       .handle = show_overview},
      {.method = "GET",
       .path = "/api/v1/problems",
       .summary = "List problems, the worst first",
       .handle = show_problems},
      {.method = "GET",
       .path = "/api/v1/insights",
       .summary = "Show waits, runs, failures and utilisation of a period",
       .handle = show_insights,
       .parameters = {"range"}},
      {.method = "GET",
       .path = "/api/v1/system",
       .summary = "Show the state of the console",
       .handle = show_system},
      {.method = "GET",
       .path = "/api/v1/objects",
       .summary = "Show one object with its events",
       .handle = show_object,
       .parameters = {"apiVersion", "kind", "ns", "name"}},
      {.method = "GET",
       .path = "/api/v1/openapi.json",
       .summary = "Show this description",
       .handle = show_description,
       .guard = Guard::Open},
      {.method = "GET",
       .path = "/openapi.json",
       .summary = "Show this description",
       .handle = show_description,
       .guard = Guard::Open},
      {.method = "GET",
       .path = "/healthz",
       .summary = "Check that the console runs",
       .handle = answer_health,
       .guard = Guard::Open,
       .content_type = "text/plain"},
      {.method = "GET",
       .path = "/readyz",
       .summary = "Check that the caches are filled",
       .handle = answer_readiness,
       .guard = Guard::Open,
       .content_type = "text/plain"},
      {.method = "GET",
       .path = "/metrics",
       .summary = "Show metrics for Prometheus",
       .handle = show_metrics,
       .guard = Guard::Open,
       .content_type = "text/plain"},
  };
}

}  // namespace athanor::console
