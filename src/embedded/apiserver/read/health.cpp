// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "embedded/apiserver/request/respond.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::array<std::string_view, 6> kChecks = {
    "ping",
    "log",
    "etcd",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/crd-informer-synced"};
constexpr std::array<std::string_view, 3> kReadyChecks = {"etcd-readiness", "informer-sync",
                                                          "shutdown"};
constexpr std::array<std::string_view, 3> kEndpoints = {"healthz", "livez", "readyz"};

std::vector<std::string_view> checks_of(std::string_view endpoint) {
  std::vector<std::string_view> checks(kChecks.begin(), kChecks.end());
  if (endpoint == "readyz") {
    checks.insert(checks.end(), kReadyChecks.begin(), kReadyChecks.end());
  }
  return checks;
}

bool passes(const Core& core, std::string_view check) {
  if (check == "shutdown") {
    return !core.shutting_down;
  }
  if (check == "etcd-readiness") {
    return core.store.writable().ok();  // alive, but not ready, while its disk is full
  }
  return true;
}

Response verdict(const Core& core, const Request& request, std::string_view endpoint) {
  const auto excluded = request.parameters("exclude");
  const auto checks = checks_of(endpoint);
  std::string listing;
  bool healthy = true;
  for (const std::string_view check : checks) {
    if (std::find(excluded.begin(), excluded.end(), check) != excluded.end()) {
      listing += fmt::format("[+]{} excluded: ok\n", check);
    } else if (passes(core, check)) {
      listing += fmt::format("[+]{} ok\n", check);
    } else {
      listing += fmt::format("[-]{} failed: reason withheld\n", check);
      healthy = false;
    }
  }
  std::set<std::string> unknown;
  for (const std::string_view name : excluded) {
    if (std::find(checks.begin(), checks.end(), name) == checks.end()) {
      unknown.insert(fmt::format("\"{}\"", name));
    }
  }
  if (!unknown.empty()) {
    listing += fmt::format("warn: some health checks cannot be excluded: no matches for {}\n",
                           fmt::join(unknown, ","));
  }
  if (!healthy) {
    return text_response(500, listing + fmt::format("{} check failed\n", endpoint));
  }
  if (request.parameter("verbose")) {
    return text_response(200, listing + fmt::format("{} check passed\n", endpoint));
  }
  return text_response(200, "ok");
}

}  // namespace

std::vector<HealthCheck> health_checks(const Core& core) {
  std::vector<HealthCheck> checks;
  for (const std::string_view endpoint : kEndpoints) {
    for (const std::string_view check : checks_of(endpoint)) {
      checks.push_back({.endpoint = std::string(endpoint),
                        .name = std::string(check),
                        .passes = passes(core, check)});
    }
  }
  return checks;
}

std::vector<std::string> health_paths() {
  std::vector<std::string> paths;
  for (const std::string_view endpoint : kEndpoints) {
    paths.push_back(fmt::format("/{}", endpoint));
    for (const std::string_view check : checks_of(endpoint)) {
      paths.push_back(fmt::format("/{}/{}", endpoint, check));
    }
  }
  return paths;
}

std::optional<StatusResult<Response>> serve_health(Call& call) {
  std::string_view path = call.request.path;
  for (const std::string_view endpoint : kEndpoints) {
    const std::string prefix = fmt::format("/{}", endpoint);
    if (path == prefix || path == prefix + "/") {
      return verdict(call.core, call.request, endpoint);
    }
    if (!path.starts_with(prefix + "/")) {
      continue;
    }
    const std::string_view check = path.substr(prefix.size() + 1);
    const auto checks = checks_of(endpoint);
    if (std::find(checks.begin(), checks.end(), check) == checks.end()) {
      return status::page_not_found();
    }
    if (passes(call.core, check)) {
      return text_response(200, "ok");
    }
    return text_response(500, "internal server error: reason withheld\n");
  }
  return std::nullopt;
}

}  // namespace athanor::apiserver
