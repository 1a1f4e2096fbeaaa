// SPDX-License-Identifier: Apache-2.0
// Paths and their answers.
#include "cli/outlook.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/log.hpp"
#include "cluster/http_endpoint.hpp"
#include "embedded/lab/process_metrics.hpp"
#include "kube/json.hpp"

namespace athanor::cli {
namespace {

using cluster::EndpointAnswer;

constexpr Duration kThreadPatience = std::chrono::seconds(5);  // of the controllers thread
constexpr Duration kAnswerAge = std::chrono::seconds(30);      // spec/fournos.md 16
constexpr std::size_t kShownKeys = 1000;
constexpr Duration kStuck = std::chrono::minutes(5);  // spec/hearth.md 12

EndpointAnswer json_answer(const Value& value) {
  return {.content_type = "application/json",
          .body = json::print(value, json::Style::Pretty) + "\n"};
}

class Paths final : public Outlook {
 public:
  explicit Paths(const OutlookOptions& options) : options_(options) {}

  Result<void> listen() {
    const bool apart =
        !options_.health_address.empty() && options_.health_address != options_.metrics_address;
    if (apart && options_.health_address != "0") {
      ATHANOR_TRY(health_,
                  cluster::HttpEndpoint::listen(
                      options_.health_address,
                      [this](std::string_view path, std::string_view) { return health(path); }));
      log::info("health is served", {{"address", health_->address()}});
    }
    if (options_.metrics_address != "0") {
      ATHANOR_TRY(metrics_, cluster::HttpEndpoint::listen(
                                options_.metrics_address,
                                [this, apart](std::string_view path, std::string_view query) {
                                  return all(path, query, !apart);
                                }));
      log::info("metrics are served", {{"address", metrics_->address()}});
    }
    return {};
  }

 private:
  EndpointAnswer health(std::string_view path) {
    if (path == "/healthz" || (!options_.liveness_path.empty() && path == options_.liveness_path)) {
      const bool stuck = options_.driver->busy_for() > kStuck;
      return {.status = stuck ? 503 : 200, .content_type = "application/json", .body = "{}"};
    }
    if (path == "/livez") {
      const auto alive = options_.driver->debug(0, kThreadPatience);
      return alive.ok() ? EndpointAnswer{.body = "ok\n"}
                        : EndpointAnswer{.status = 503,
                                         .body = fmt::format("{}\n", alive.error().message)};
    }
    if (path == "/readyz") {
      return ready();
    }
    return {.status = 404, .body = "not found\n"};
  }

  EndpointAnswer ready() {
    const std::string missing = missing_kinds();
    const bool answers = server_answers();
    const auto line = [](const char* what, bool good) {
      return fmt::format("[{}]{} {}\n", good ? '+' : '-', what, good ? "ok" : "failed");
    };
    std::string body = line("caches", missing.empty()) + missing + line("apiserver", answers);
    bool ready = missing.empty() && answers;
    if (options_.webhooks != nullptr) {
      const bool served = options_.webhooks->ready();
      body += line("webhooks", served);
      ready = ready && served;
    }
    return {.status = ready ? 200 : 503, .body = body};
  }

  // A line for each kind that is not there although it should be: not listed yet, or not allowed to
  // be. One that the cluster does not have is nothing to wait for.
  std::string missing_kinds() {
    constexpr int kNoSuchKind = 404;
    std::string text;
    const Value watches = options_.driver->watches();
    for (const Value& watch : watches.items()) {
      if (watch["listed"].as_bool() || watch["code"].as_int() == kNoSuchKind) {
        continue;
      }
      const std::string ns = watch["namespace"].str();
      const std::string why = watch["error"].str();
      text += fmt::format("[-]{}{}{}{}: {}\n", watch["resource"].as_string(),
                          watch["group"].as_string().empty() ? "" : ".", watch["group"].as_string(),
                          ns.empty() ? "" : " in " + ns, why.empty() ? "not listed yet" : why);
    }
    return text;
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

  EndpointAnswer all(std::string_view path, std::string_view query, bool with_health) {
    if (path == "/metrics") {
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text()};
    }
    if (path == "/debug/queue") {
      return queue(query);
    }
    if (path == "/debug/watches") {
      return json_answer(options_.driver->watches());
    }
    return with_health ? health(path) : EndpointAnswer{.status = 404, .body = "not found\n"};
  }

  std::string metrics_text() {
    if (!options_.lease_name.empty()) {
      options_.metrics
          ->gauge("leader_election_master_status", "1 while this process holds the Lease.",
                  {{"name", options_.lease_name}})
          .set(options_.leadership != nullptr && options_.leadership->leading() ? 1 : 0);
    }
    options_.metrics->gauge("athanor_caches_synced", "1 once every kind has been listed.")
        .set(options_.driver->synced() ? 1 : 0);
    // Without the controllers' gauges rather than without an answer, while they are busy.
    const auto state = options_.driver->state_metrics(kThreadPatience);
    return options_.metrics->text() + state.value_or("") + lab::process_metrics();
  }

  // ?limit=N
  EndpointAnswer queue(std::string_view query) {
    std::size_t limit = kShownKeys;
    constexpr std::string_view kLimit = "limit=";
    if (query.starts_with(kLimit)) {
      const std::string_view text = query.substr(kLimit.size());
      std::from_chars(text.data(), text.data() + text.size(), limit);
    }
    const auto state = options_.driver->debug(limit, kThreadPatience);
    return state.ok()
               ? json_answer(*state)
               : EndpointAnswer{.status = 503, .body = fmt::format("{}\n", state.error().message)};
  }

  OutlookOptions options_;
  std::unique_ptr<cluster::HttpEndpoint> health_{};
  std::unique_ptr<cluster::HttpEndpoint> metrics_{};
};

}  // namespace

Result<std::unique_ptr<Outlook>> Outlook::open(const OutlookOptions& options) {
  auto paths = std::make_unique<Paths>(options);
  ATHANOR_TRY_VOID(paths->listen());
  return std::unique_ptr<Outlook>(std::move(paths));
}

}  // namespace athanor::cli
