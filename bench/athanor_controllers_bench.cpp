// SPDX-License-Identifier: Apache-2.0
// The load driver of scripts/bench-controllers: the engine against a kube-apiserver.
//
//   fill KUBECONFIG NAMESPACE COUNT      makes so many ConfigMaps of 1 KiB
//   cache KUBECONFIG NAMESPACE           keeps the namespace's ConfigMaps; prints "synced", runs on
//   latency KUBECONFIG NAMESPACE SECONDS [WRITES]
//                                        events at 500 a second, with so many writes under way;
//                                        prints what the engine adds, and the server's own time
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "api/builtin.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "cluster/cluster_driver.hpp"

namespace athanor::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kRate = 500;  // events a second
// So many that none changes again while its last write is under way: that wait is the server's.
constexpr int kObjects = 2500;
constexpr int kInFlight = 64;
constexpr std::size_t kBody = 1024;

const Kind* const kKinds[] = {&api::kConfigMap};

// Looks and does nothing.
Plan look(const View& view, const Key& key, Instant /*now*/) {
  static_cast<void>(view.get(api::kConfigMap, key));
  return Plan::done();
}

// Copies data.wish to data.done.
Plan fulfil(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto map = view.get(api::kConfigMap, key);
  if (map && map->body()["data"]["wish"] != map->body()["data"]["done"]) {
    plan.then(Patch{.target = {&api::kConfigMap, key},
                    .merge = Value::object(
                        {{"data", Value::object({{"done", map->body()["data"]["wish"]}})}})});
  }
  return plan;
}

constexpr Operator kLooker{.name = "looker",
                           .primary = &api::kConfigMap,
                           .reads = kKinds,
                           .writes = {},
                           .reconcile = look};
constexpr Operator kFairy{.name = "fairy",
                          .primary = &api::kConfigMap,
                          .reads = kKinds,
                          .writes = kKinds,
                          .reconcile = fulfil};

// Passes everything on, and notes when an object's event came and when its write left.
class Watcher final : public client::ApiClient {
 public:
  explicit Watcher(std::shared_ptr<client::ApiClient> real) : real_(std::move(real)) {}

  void send(client::ApiRequest request, Done done) override {
    if (request.method == "PATCH") {
      const std::size_t slash = request.path.rfind('/');
      left(request.path.substr(slash + 1, request.path.find('?') - slash - 1));
      real_->send(std::move(request), [this, began = SteadyClock::now(),
                                       next = std::move(done)](client::ApiResult result) mutable {
        served(SteadyClock::now() - began);
        next(std::move(result));
      });
      return;
    }
    real_->send(std::move(request), std::move(done));
  }
  std::shared_ptr<client::ApiStream> watch(client::ApiRequest request,
                                           client::ApiStreamHandlers handlers) override {
    handlers.line = [this, next = std::move(handlers.line)](Value event) {
      const Value& object = event["object"];
      if (object["data"]["wish"] != object["data"]["done"]) {
        came(object["metadata"]["name"].str());
      }
      next(std::move(event));
    };
    return real_->watch(std::move(request), std::move(handlers));
  }
  void post(Task task) override { real_->post(std::move(task)); }
  void post_at(SteadyClock::time_point when, Task task) override {
    real_->post_at(when, std::move(task));
  }
  void stop() override { real_->stop(); }
  [[nodiscard]] const client::ClusterConfig& config() const override { return real_->config(); }

  // What came before the measurement.
  void forget() {
    const std::scoped_lock lock(mutex_);
    added_.clear();
    served_.clear();
  }
  // Milliseconds, sorted: from an event to its write; from a write to its answer.
  [[nodiscard]] std::vector<double> added() const { return sorted(added_); }
  [[nodiscard]] std::vector<double> served() const { return sorted(served_); }

 private:
  using Took = SteadyClock::duration;
  static double milliseconds(Took took) {
    return std::chrono::duration<double, std::milli>(took).count();
  }
  [[nodiscard]] std::vector<double> sorted(const std::vector<double>& figures) const {
    const std::scoped_lock lock(mutex_);
    std::vector<double> copy = figures;
    std::ranges::sort(copy);
    return copy;
  }
  void served(Took took) {
    const std::scoped_lock lock(mutex_);
    served_.push_back(milliseconds(took));
  }
  void came(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    since_.try_emplace(name, SteadyClock::now());
  }
  void left(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (const auto at = since_.find(name); at != since_.end()) {
      added_.push_back(milliseconds(SteadyClock::now() - at->second));
      since_.erase(at);
    }
  }

  std::shared_ptr<client::ApiClient> real_;
  mutable std::mutex mutex_{};  // guards what follows
  std::map<std::string, SteadyClock::time_point> since_{};
  std::vector<double> added_{};
  std::vector<double> served_{};
};

struct World {
  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = system_entropy();
  runtime::Executors executors{};

  std::shared_ptr<client::ApiClient> client(const std::string& kubeconfig) {
    auto config = client::resolve_cluster({.path = kubeconfig});
    if (!config.ok()) {
      fmt::print(stderr, "{}\n", config.error().message);
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): nothing has begun
    }
    return *client::ApiClient::open(*std::move(config), *clock, *entropy,
                                    {.qps = 0, .http2 = false});
  }
  cluster::DriverOptions options(const std::shared_ptr<client::ApiClient>& client,
                                 const std::string& ns) {
    return {.client = client,
            .clock = clock.get(),
            .entropy = entropy.get(),
            .executors = &executors,
            .namespaces = {ns}};
  }
};

Value map_of(const std::string& name, Value data) {
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", Value::object({{"name", name}})},
                        {"data", std::move(data)}});
}

// Makes `count` ConfigMaps, many at a time; the number that failed.
int make_all(client::ApiClient& client, const std::string& ns, int count,
             const std::function<Value(int)>& body) {
  std::counting_semaphore<kInFlight> free(kInFlight);
  std::atomic<int> failed{0};
  for (int i = 0; i < count; ++i) {
    free.acquire();
    client::ApiRequest request;
    request.method = "POST";
    request.path = fmt::format("/api/v1/namespaces/{}/configmaps", ns);
    request.body = body(i);
    client.send(std::move(request), [&](const client::ApiResult& result) {
      failed += result.error && result.error->code != 409 ? 1 : 0;
      free.release();
    });
  }
  for (int i = 0; i < kInFlight; ++i) {
    free.acquire();
  }
  return failed;
}

void fill(World& world, const std::string& kubeconfig, const std::string& ns, int count) {
  const auto client = world.client(kubeconfig);
  const int failed = make_all(*client, ns, count, [](int i) {
    return map_of(fmt::format("object-{:06}", i),
                  Value::object({{"text", std::string(kBody, 'x')}}));
  });
  client->stop();
  fmt::print("filled {}, failed {}\n", count, failed);
}

void wait_synced(const cluster::ClusterDriver& driver) {
  while (!driver.synced() || !driver.idle()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void keep(World& world, const std::string& kubeconfig, const std::string& ns) {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  const auto client = world.client(kubeconfig);
  const Operator* const operators[] = {&kLooker};
  cluster::ClusterDriver driver(operators, world.options(client, ns));
  driver.start();
  wait_synced(driver);
  fmt::print("synced\n");
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ending, &signal);
  driver.stop();
  client->stop();
}

void latency(World& world, const std::string& kubeconfig, const std::string& ns, int seconds,
             int writes) {
  const auto client = std::make_shared<Watcher>(world.client(kubeconfig));
  const auto user = world.client(kubeconfig);
  make_all(*user, ns, kObjects, [](int i) {
    return map_of(fmt::format("wish-{:04}", i), Value::object({{"wish", "0"}}));
  });
  const Operator* const operators[] = {&kFairy};
  cluster::DriverOptions options = world.options(client, ns);
  if (writes > 0) {
    options.writes_per_controller = static_cast<std::size_t>(writes);
  }
  cluster::ClusterDriver driver(operators, std::move(options));
  driver.start();
  wait_synced(driver);
  client->forget();
  const auto start = SteadyClock::now();
  std::atomic<int> failed{0};
  for (int i = 0; i < kRate * seconds; ++i) {
    std::this_thread::sleep_until(start + std::chrono::microseconds(1'000'000 / kRate) * i);
    client::ApiRequest request;
    request.method = "PATCH";
    request.path = fmt::format("/api/v1/namespaces/{}/configmaps/wish-{:04}", ns, i % kObjects);
    request.content_type = "application/merge-patch+json";
    request.body = Value::object({{"data", Value::object({{"wish", std::to_string(i + 1)}})}});
    user->send(std::move(request),
               [&](const client::ApiResult& result) { failed += result.error ? 1 : 0; });
  }
  const double took = std::chrono::duration<double>(SteadyClock::now() - start).count();
  wait_synced(driver);
  driver.stop();
  client->stop();
  user->stop();
  const std::vector<double> added = client->added();
  const std::vector<double> served = client->served();
  const auto at = [](const std::vector<double>& figures, double share) {
    const auto place = static_cast<double>(figures.size()) * share;
    return figures.empty() ? 0
                           : figures[std::min(static_cast<std::size_t>(place), figures.size() - 1)];
  };
  fmt::print(R"({{"events": {}, "rate": {:.0f}, "writes": {}, "failed": {}, "p50_ms": {:.3f}, )"
             R"("p99_ms": {:.3f}, "max_ms": {:.3f}, "server_p50_ms": {:.3f}, )"
             R"("server_p99_ms": {:.3f}}})"
             "\n",
             kRate * seconds, kRate * seconds / took, added.size(), failed.load(), at(added, 0.5),
             at(added, 0.99), at(added, 1), at(served, 0.5), at(served, 0.99));
}

}  // namespace
}  // namespace athanor::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  athanor::bench::World world;
  if (argc == 5 && words[1] == "fill") {
    athanor::bench::fill(world, words[2], words[3],
                         std::atoi(argv[4]));  // NOLINT(cert-err34-c): a number is asked for
  } else if (argc == 4 && words[1] == "cache") {
    athanor::bench::keep(world, words[2], words[3]);
  } else if ((argc == 5 || argc == 6) && words[1] == "latency") {
    // NOLINTNEXTLINE(cert-err34-c): numbers are asked for
    athanor::bench::latency(world, words[2], words[3], std::atoi(argv[4]),
                            argc == 6 ? std::atoi(argv[5]) : 0);  // NOLINT(cert-err34-c): likewise
  } else {
    fmt::print(stderr, "usage: fill|cache|latency KUBECONFIG NAMESPACE [COUNT|SECONDS [WRITES]]\n");
    return 2;
  }
  return 0;
}
