// SPDX-License-Identifier: Apache-2.0
// Paths and their answers.
#include "cli/controllers/status_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "base/log.hpp"
#include "embedded/lab/serving/process_metrics.hpp"
#include "kube/text/json.hpp"
#include "net/serving/page_server.hpp"
#include "webhook/guarded_endpoint.hpp"

namespace athanor::cli {
namespace {

using net::Page;

constexpr Duration kThreadPatience = std::chrono::seconds(5);  // of the controllers thread
constexpr Duration kAnswerAge = std::chrono::seconds(30);      // docs/spec/fournos.md 16
constexpr std::size_t kShownKeys = 1000;
constexpr Duration kStuck = std::chrono::minutes(5);  // docs/spec/hearth.md 12

constexpr int kNoSuchKind = 404;

std::string resource_of(const Value& watch) {
  const std::string group = watch["group"].str();
  return watch["resource"].str() + (group.empty() ? "" : "." + group);
}

// Groups of CRDs; those of the API server itself are plain words or end so.
bool is_custom_group(std::string_view group) {
  return group.find('.') != std::string_view::npos && !group.ends_with(".k8s.io");
}

Page json_answer(const Value& value) {
  return {.content_type = "application/json",
          .body = json::print(value, json::Style::Pretty) + "\n"};
}

class Paths final : public StatusServer {
 public:
  explicit Paths(const StatusServerOptions& options) : options_(options) {}

  Result<void> listen() {
    const bool apart =
        !options_.health_address.empty() && options_.health_address != options_.metrics_address;
    if (apart && options_.health_address != "0") {
      ATHANOR_TRY(
          health_,
          net::PageServer::start(
              {.address = options_.health_address,
               .answer = [this](const net::Request& request) { return health(request.path); },
               .clock = options_.clock}));
      log::info("health is served", {{"address", health_->address()}});
    }
    if (options_.metrics_address == "0") {
      return {};
    }
    const auto page = [this, apart](const net::Request& request) { return all(request, !apart); };
    if (options_.guarded) {
      ATHANOR_TRY(guarded_, webhook::GuardedEndpoint::listen({.address = options_.metrics_address,
                                                              .client = options_.client,
                                                              .clock = options_.clock,
                                                              .answer = page}));
      ATHANOR_TRY_VOID(guarded_->limit(options_.tls));
      log::info("metrics are served over TLS", {{"address", guarded_->address()}});
    } else {
      ATHANOR_TRY(metrics_, net::PageServer::start({.address = options_.metrics_address,
                                                    .answer = page,
                                                    .clock = options_.clock}));
      log::info("metrics are served", {{"address", metrics_->address()}});
    }
    return {};
  }

  Result<void> limit(net::TlsLimits limits) override {
    return guarded_ ? guarded_->limit(std::move(limits)) : Result<void>();
  }

 private:
  Page health(std::string_view path) {
    if (path == "/healthz" || (!options_.liveness_path.empty() && path == options_.liveness_path)) {
      const bool stuck = options_.driver->busy_for() > kStuck;
      return {.status = stuck ? 503 : 200, .content_type = "application/json", .body = "{}"};
    }
    if (path == "/livez") {
      const auto alive = options_.driver->debug(0, kThreadPatience);
      return alive.ok() ? Page{.body = "ok\n"}
                        : Page{.status = 503, .body = fmt::format("{}\n", alive.error().message)};
    }
    if (path == "/readyz") {
      return ready();
    }
    return {.status = 404, .body = "not found\n"};
  }

  Page ready() {
    const Lists lists = lists_of(options_.driver->watches());
    const bool answers = server_answers();
    const auto line = [](const char* what, bool good) {
      return fmt::format("[{}]{} {}\n", good ? '+' : '-', what, good ? "ok" : "failed");
    };
    std::string body = line("caches", lists.seen) + lists.text + line("apiserver", answers);
    bool ready = lists.seen && answers;
    if (options_.webhooks != nullptr) {
      const bool served = options_.webhooks->ready();
      body += line("webhooks", served);
      ready = ready && served;
    }
    for (const ReadyCheck& check : options_.checks) {
      const bool good = check.good();
      body += line(check.name.c_str(), good);
      ready = ready && good;
    }
    return {.status = ready ? 200 : 503, .body = body};
  }

  // Whether every kind is seen, and a line for each that is not listed. A list that the API server
  // refuses (403, 405) counts as seen: other kinds' controllers must not wait for a right that
  // is never granted. So does a built-in kind that this version of the API server lacks.
  struct Lists {
    bool seen = true;
    std::string text{};
  };
  [[nodiscard]] Lists lists_of(const Value& watches) const {
    Lists lists;
    for (const auto& [resource, kind] : custom_kinds(watches)) {
      if (kind.missing) {
        lists.seen = lists.seen && kind.optional;
        lists.text += fmt::format("[{}]{}: the cluster does not have this kind\n",
                                  kind.optional ? '+' : '-', resource);
      }
    }
    for (const Value& watch : watches.items()) {
      const std::int64_t code = watch["code"].as_int();
      if (watch["listed"].as_bool() || code == kNoSuchKind) {
        continue;
      }
      const bool refused = code == 403 || code == 405;
      const std::string ns = watch["namespace"].str();
      const std::string why = watch["error"].str();
      lists.text +=
          fmt::format("[{}]{}{}: {}\n", refused ? '+' : '-', resource_of(watch),
                      ns.empty() ? "" : " in " + ns, why.empty() ? "not listed yet" : why);
      lists.seen = lists.seen && refused;
    }
    return lists;
  }

  // Each watched kind of a CRD, by resource.
  struct CustomKind {
    bool optional = false;  // the controllers work without it
    bool missing = false;
  };
  [[nodiscard]] std::map<std::string, CustomKind> custom_kinds(const Value& watches) const {
    std::map<std::string, CustomKind> kinds;
    for (const Value& watch : watches.items()) {
      if (!is_custom_group(watch["group"].as_string())) {
        continue;
      }
      CustomKind& one = kinds[resource_of(watch)];
      one.optional = std::ranges::any_of(options_.optional, [&](const Kind* kind) {
        return kind->plural == watch["resource"].as_string() &&
               kind->group == watch["group"].as_string();
      });
      one.missing = one.missing || watch["code"].as_int() == kNoSuchKind;
    }
    return kinds;
  }

  // Whether the API server answered lately; asks it where nothing was asked.
  bool server_answers() {
    const Instant last{Duration(options_.last_answer->load())};
    if (options_.clock->now() - last < kAnswerAge) {
      return true;
    }
    client::ApiRequest request;
    request.path = "/version";
    request.lane = client::Lane::Lease;
    request.retries = 0;
    request.timeout = kThreadPatience;
    return options_.client->call(std::move(request)).status != 0;
  }

  Page all(const net::Request& request, bool with_health) {
    const std::string& path = request.path;
    if (path == "/metrics") {
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text()};
    }
    if (path == "/debug/queue") {
      return queue(request.parameter("limit").value_or(""));
    }
    if (path == "/debug/watches") {
      return json_answer(options_.driver->watches());
    }
    return with_health ? health(path) : Page{.status = 404, .body = "not found\n"};
  }

  // Sets how far the objects of each kind are behind the server; of several namespaces the
  // furthest.
  void note_watch_lags(const Value& watches) {
    std::map<std::string, double> lags;
    for (const Value& watch : watches.items()) {
      if (watch.contains("lagSeconds")) {
        double& lag = lags[watch["resource"].str()];
        lag = std::max(lag, watch["lagSeconds"].as_double());
      }
    }
    for (const auto& [resource, seconds] : lags) {
      options_.metrics
          ->gauge("athanor_watch_lag_seconds",
                  "How far the objects of a kind are behind the API server.",
                  {{"resource", resource}})
          .set(seconds);
    }
  }

  std::string metrics_text() {
    if (!options_.lease_name.empty()) {
      options_.metrics
          ->gauge("leader_election_master_status", "1 while this process holds the Lease.",
                  {{"name", options_.lease_name}})
          .set(options_.leadership != nullptr && options_.leadership->leading() ? 1 : 0);
    }
    options_.metrics
        ->gauge("athanor_caches_synced", "1 once every kind has been listed or refused.")
        .set(options_.driver->synced() ? 1 : 0);
    const Value watches = options_.driver->watches();
    note_watch_lags(watches);
    for (const auto& [resource, kind] : custom_kinds(watches)) {
      if (kind.optional) {
        continue;
      }
      options_.metrics
          ->gauge("athanor_kind_missing", "1 while the cluster does not have this kind.",
                  {{"kind", resource}})
          .set(kind.missing ? 1 : 0);
    }
    // Without the controllers' gauges rather than without an answer, while they are busy.
    const auto state = options_.driver->state_metrics(kThreadPatience);
    return options_.metrics->text() + state.value_or("") + lab::process_metrics();
  }

  // At most `most` keys (of ?limit=N), by default kShownKeys.
  Page queue(std::string_view most) {
    std::size_t limit = kShownKeys;
    std::from_chars(most.data(), most.data() + most.size(), limit);
    const auto state = options_.driver->debug(limit, kThreadPatience);
    return state.ok() ? json_answer(*state)
                      : Page{.status = 503, .body = fmt::format("{}\n", state.error().message)};
  }

  StatusServerOptions options_;
  std::unique_ptr<net::PageServer> health_{};
  std::unique_ptr<net::PageServer> metrics_{};
  std::unique_ptr<webhook::GuardedEndpoint> guarded_{};
};

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::open(const StatusServerOptions& options) {
  auto paths = std::make_unique<Paths>(options);
  ATHANOR_TRY_VOID(paths->listen());
  return std::unique_ptr<StatusServer>(std::move(paths));
}

}  // namespace athanor::cli
