// SPDX-License-Identifier: Apache-2.0
// The route of "what if" questions: the live fleet and the jobs as they are and with a change, both
// played by the simulator of the command line. Changes nothing.
#include <fmt/format.h>

#include <atomic>
#include <iterator>
#include <optional>

#include "api/kueue.hpp"
#include "console/data/what_if.hpp"
#include "console/routes/route_table.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr Duration kSimulationTime = std::chrono::seconds(25);

// The one place of a simulation: it keeps a processor busy, and one of the workers waits for it.
class SimulationPlace {
 public:
  explicit SimulationPlace(std::atomic<bool>& busy) : busy_(busy), taken_(!busy_.exchange(true)) {}
  SimulationPlace(const SimulationPlace&) = delete;
  SimulationPlace& operator=(const SimulationPlace&) = delete;
  ~SimulationPlace() {
    if (taken_) {
      busy_ = false;
    }
  }
  [[nodiscard]] bool taken() const { return taken_; }

 private:
  std::atomic<bool>& busy_;
  bool taken_;
};

// Returns why the viewer may not ask; nullopt: they may. The answer counts all jobs of the
// namespace and all quota of its clusters.
std::optional<Error> refusal(Exchange& exchange) {
  Services& services = exchange.services;
  const auto refuse = [](std::string message) {
    return Error{.code = 403, .reason = "Forbidden", .message = std::move(message)};
  };
  const std::string_view site = exchange.request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return refuse("simulations are not played for other sites");
  }
  const auto may = [&](const Kind& kind, std::string_view ns) {
    return services.access.may(exchange.viewer(), "list", kind, ns).value_or(false);
  };
  if (!may(api::kueue::kClusterQueue, "")) {
    return refuse("you may not list clusterqueues");
  }
  if (!may(api::kFournosCluster, "")) {
    return refuse("you may not list fournosclusters");
  }
  if (!may(api::kFournosJob, services.settings.jobs_ns)) {
    return refuse(fmt::format("you may not list fournosjobs in {}", services.settings.jobs_ns));
  }
  return std::nullopt;
}

Response what_if_fleet(Exchange& exchange) {
  Services& services = exchange.services;
  if (const auto refused = refusal(exchange)) {
    return answer_error(*refused);
  }
  WhatIfQuestion question;
  const WrongParameter wrong =
      read_question([&](std::string_view name) { return exchange.text(name); }, question);
  if (!wrong.name.empty()) {
    return answer_error(Error::bad_request(wrong.message), wrong.name);
  }
  const SimulationPlace place(services.simulates);
  if (!place.taken()) {
    return answer_error(Error{.code = 503,
                              .reason = "Unavailable",
                              .message = "another question is being simulated: try again in a "
                                         "few seconds"});
  }
  const auto facts = services.world.facts();
  const Instant now = exchange.now();
  const WhatIfState state{.facts = *facts,
                          .ns = services.settings.jobs_ns,
                          .ended = services.history.since(services.settings.jobs_ns,
                                                          now - std::chrono::days(question.days)),
                          .now = now};
  auto asked = make_call(question, state);
  if (!asked.ok()) {
    return answer_error(asked.error(), "cluster");
  }
  asked->call.patience = kSimulationTime;
  const auto played = services.simulator(asked->call);
  if (!played.ok()) {
    Error error = played.error();
    if (error.code == 504) {
      error = Error{.code = 503,
                    .reason = "Unavailable",
                    .message = fmt::format("{} in {} s: ask about fewer days", error.message,
                                           kSimulationTime / std::chrono::seconds(1))};
    }
    return answer_error(error);
  }
  return answer_value(answer_of(*asked, *played, state));
}

}  // namespace

std::vector<Route> what_if_routes() {
  return {{.method = "GET",
           .path = "/api/v1/whatif",
           .summary = "Simulate the live jobs and fleet with and without a change; changes nothing",
           .handle = what_if_fleet,
           .parameters = {std::begin(kWhatIfParameters), std::end(kWhatIfParameters)}}};
}

}  // namespace athanor::console
