// SPDX-License-Identifier: Apache-2.0
// Requests are made without waiting for one another.
#include "controllers/world.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <thread>
#include <utility>

#include "client/cluster_config.hpp"

namespace athanor::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kMaking = 64;       // requests under way while objects are made
constexpr int kFar = 7919;        // a prime: from one changed object to the next
constexpr int kMostWaiting = 90;  // changes under way: what one connection of HTTP/2 carries
constexpr auto kLook = std::chrono::milliseconds(10);

std::string path_of(const std::string& ns) {
  return fmt::format("/api/v1/namespaces/{}/configmaps", ns);
}

client::ApiRequest patch_of(const std::string& ns, const std::string& name, Value patch) {
  client::ApiRequest request;
  request.method = "PATCH";
  request.path = path_of(ns) + "/" + name;
  request.content_type = "application/merge-patch+json";
  request.body = std::move(patch);
  return request;
}

sigset_t orders() {
  sigset_t all;
  sigemptyset(&all);
  sigaddset(&all, SIGTERM);
  sigaddset(&all, SIGUSR1);
  return all;
}

}  // namespace

std::shared_ptr<client::ApiClient> World::client(const std::string& kubeconfig, bool http2) {
  auto config = client::resolve_cluster({.path = kubeconfig});
  if (!config.ok()) {
    fmt::print(stderr, "{}\n", config.error().message);
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): nothing has begun
  }
  return *client::ApiClient::open(
      *std::move(config), *clock, *entropy,
      {.qps = 0, .max_in_flight = std::size_t{1} << 16U, .http2 = http2});
}

cluster::DriverOptions World::options(const std::shared_ptr<client::ApiClient>& client,
                                      const std::string& ns) {
  return {.client = client,
          .clock = clock.get(),
          .entropy = entropy.get(),
          .executors = &executors,
          .namespaces = {ns}};
}

Value map_of(const std::string& name, Value data) {
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", Value::object({{"name", name}})},
                        {"data", std::move(data)}});
}

std::string name_of(const std::string& prefix, int number) {
  return fmt::format("{}-{:06}", prefix, number);
}

int make_all(client::ApiClient& client, const std::string& ns, int count,
             const std::function<Value(int)>& body) {
  std::counting_semaphore<kMaking> free(kMaking);
  std::atomic<int> failed{0};
  for (int i = 0; i < count; ++i) {
    free.acquire();
    client::ApiRequest request;
    request.method = "POST";
    request.path = path_of(ns);
    request.body = body(i);
    client.send(std::move(request), [&](const client::ApiResult& result) {
      failed += result.error && result.error->code != 409 ? 1 : 0;
      free.release();
    });
  }
  for (int i = 0; i < kMaking; ++i) {
    free.acquire();
  }
  return failed;
}

void load(client::ApiClient& client, const std::string& ns, const std::string& prefix, int count,
          int rate, int seconds) {
  std::counting_semaphore<kMostWaiting> free(kMostWaiting);
  std::atomic<int> failed{0};
  std::mutex mutex;
  std::vector<double> served;
  // Never the same wish twice, whatever was wished before.
  const auto first = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  const int stride = std::gcd(kFar, count) == 1 ? kFar : 1;
  const auto start = SteadyClock::now();
  for (int i = 0; i < rate * seconds; ++i) {
    std::this_thread::sleep_until(start + std::chrono::microseconds(1'000'000 / rate) * i);
    free.acquire();
    const int number = static_cast<int>(std::int64_t{i} * stride % count);
    client::ApiRequest request =
        patch_of(ns, name_of(prefix, number),
                 Value::object({{"data", Value::object({{"wish", std::to_string(first + i)}})}}));
    client.send(
        std::move(request), [&, began = SteadyClock::now()](const client::ApiResult& result) {
          failed += result.error ? 1 : 0;
          const std::scoped_lock lock(mutex);
          served.push_back(
              std::chrono::duration<double, std::milli>(SteadyClock::now() - began).count());
          free.release();
        });
  }
  const double took = std::chrono::duration<double>(SteadyClock::now() - start).count();
  for (int i = 0; i < kMostWaiting; ++i) {
    free.acquire();
  }
  std::ranges::sort(served);
  fmt::print(R"({{"sent": {}, "rate": {:.0f}, "failed": {}, "p50_ms": {:.2f}, "p99_ms": {:.2f}}})"
             "\n",
             rate * seconds, rate * seconds / took, failed.load(), at_share(served, 0.5),
             at_share(served, 0.99));
}

double at_share(const std::vector<double>& sorted, double share) {
  const auto place = static_cast<std::size_t>(static_cast<double>(sorted.size()) * share);
  return sorted.empty() ? 0 : sorted[std::min(place, sorted.size() - 1)];
}

void block_signals() {
  const sigset_t all = orders();
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

int await_signal() {
  const sigset_t all = orders();
  int signal = 0;
  sigwait(&all, &signal);
  return signal;
}

void await_rest(const cluster::ClusterDriver& driver) {
  while (!driver.synced() || !driver.idle()) {
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace athanor::bench
