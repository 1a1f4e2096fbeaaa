// SPDX-License-Identifier: Apache-2.0
#include "console/routes/controllers_page.hpp"

#include <fmt/format.h>

#include <string>

#include "api/builtin.hpp"
#include "console/data/controllers.hpp"
#include "kube/text/json.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kMetricsPath = "/metrics";

// Reads the endpoints of a controllers process; notes an error in the page.
class ControllerSource {
 public:
  ControllerSource(const ApiPort& port, const Viewer& viewer, Value& errors)
      : port_(port), viewer_(viewer), errors_(errors) {}

  std::string text(const std::string& path) {
    auto answer = port_.text(viewer_, path);
    if (!answer.ok()) {
      errors_.push_back(fmt::format("{}: {}", path, answer.error().message));
      return {};
    }
    return *std::move(answer);
  }

  Value json(const std::string& path) {
    const std::string body = text(path);
    auto value = body.empty() ? Result<Value>(Value()) : json::parse(body);
    if (!value.ok()) {
      errors_.push_back(fmt::format("{}: {}", path, value.error().message));
      return {};
    }
    return *std::move(value);
  }

 private:
  const ApiPort& port_;
  const Viewer& viewer_;
  Value& errors_;
};

void add_leader(Exchange& exchange, Value& page, Value& errors) {
  const std::string& lease = exchange.services.settings.controllers_lease;
  if (lease.empty()) {
    return;
  }
  const std::size_t slash = lease.find('/');
  const auto found = exchange.services.port.get(exchange.viewer(), api::kLease,
                                                {lease.substr(0, slash), lease.substr(slash + 1)});
  if (found.ok()) {
    page.set("leader", leader_of(*found, exchange.now()));
  } else {
    errors.push_back(fmt::format("Lease {}: {}", lease, found.error().message));
  }
}

}  // namespace

Value controllers_page(Exchange& exchange) {
  Services& services = exchange.services;
  Value errors = Value::list();
  Value page = Value::object({{"items", Value::list()}, {"ready", Value::list()}});
  const ApiPort* port = services.embedded ? &services.port : services.controllers;
  if (port == nullptr) {
    page.set("absent", "CONSOLE_CONTROLLERS_URL names no endpoint of the controllers");
  } else if (!services.access.may_get(exchange.viewer(), kMetricsPath).value_or(false)) {
    page.set("absent", "you may not get /metrics");
  } else {
    // The lab's API server checks the viewer's rights; the controllers' endpoint knows no viewers.
    const Viewer viewer = services.embedded ? exchange.viewer() : Viewer{};
    ControllerSource source(*port, viewer, errors);
    const std::string metrics = source.text(std::string(kMetricsPath));
    const Value queue = source.json("/debug/queue");
    page.set("source", services.embedded ? "this lab" : services.settings.controllers_url);
    page.set("items", controller_rows(metrics, queue));
    page.set("ready", ready_checks(source.text("/readyz?verbose")));
    if (!services.embedded) {  // a lab's controllers read its store
      page.set("watches", controller_watches(source.json("/debug/watches")));
    }
    if (const Value leads = leading_of(metrics); !leads.is_null()) {
      page.set("leads", leads);
    }
  }
  add_leader(exchange, page, errors);
  page.set("errors", std::move(errors));
  return page;
}

}  // namespace athanor::console
