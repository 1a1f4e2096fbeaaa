// SPDX-License-Identifier: Apache-2.0
#include "lab_client.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "kube/text/json.hpp"

namespace athanor::bench {
namespace {

constexpr std::chrono::milliseconds kRound{5};

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "bench: {}\n", why);
  std::exit(1);
}

std::unique_ptr<client::Connection> connect() {
  const char* kubeconfig = std::getenv("KUBECONFIG");  // NOLINT(concurrency-mt-unsafe): never set
  client::KubeconfigOptions options;
  options.environment["KUBECONFIG"] = kubeconfig == nullptr ? "" : kubeconfig;
  const auto config = client::resolve_cluster(options);
  if (!config.ok()) {
    give_up(config.error().message);
  }
  auto connection = client::Connection::open(*config);
  if (!connection.ok()) {
    give_up(connection.error().message);
  }
  return *std::move(connection);
}

Value ask(client::Connection& connection, const client::Call& call) {
  auto answer = connection.call(call);
  if (!answer.ok()) {
    give_up(fmt::format("{} {}: {}", call.method, call.path, answer.error().message));
  }
  return *std::move(answer);
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  return values[index];
}

Watch::Watch(client::Connection& connection, const std::string& path, Seen seen)
    : connection_(connection), seen_(std::move(seen)) {
  const Value list = ask(connection, {.path = path + "?limit=1"});
  handle_ = connection.stream(fmt::format("{}?watch=true&resourceVersion={}", path,
                                          list["metadata"]["resourceVersion"].as_string()),
                              {.line =
                                   [this](std::string_view line) {
                                     const auto event = json::parse(line);
                                     if (event.ok()) {
                                       seen_((*event)["type"].as_string(), (*event)["object"]);
                                     }
                                   },
                               .ended = [](const Result<void>&) { give_up("a watch ended"); }});
}

void Watch::follow(Clock::duration time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    connection_.run(kRound);
  }
}

void Watch::until(const std::function<bool()>& done, Clock::duration limit) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() > end) {
      give_up("not done in time");
    }
    connection_.run(kRound);
  }
}

}  // namespace athanor::bench
