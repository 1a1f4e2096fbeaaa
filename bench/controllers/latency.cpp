// SPDX-License-Identifier: Apache-2.0
// Wishes are numbers that come once: the sockets' bytes are searched for them.
#include "controllers/latency.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "controllers/socket_times.hpp"

namespace athanor::bench {
namespace {

using Time = SteadyClock::time_point;

const Kind* const kKinds[] = {&api::kConfigMap};

// So many that the target's 500 a second are never held back by a server of up to two seconds.
constexpr std::size_t kWrites = 1000;
constexpr std::size_t kTail = 256;  // bytes of a wish that may be cut by the end of a record

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

constexpr Operator kFairy{.name = "fairy",
                          .primary = &api::kConfigMap,
                          .reads = kKinds,
                          .writes = kKinds,
                          .reconcile = fulfil};

// One wish's way. What is missing has not happened.
struct Way {
  std::optional<Time> arrived{};  // the event's last byte could be read
  std::optional<Time> decoded{};  // its line left the client
  std::optional<Time> decided{};  // the write came to the client
  std::optional<Time> sent{};     // the socket had it
  std::optional<Time> answered{};
};

// The number behind `mark`, up to the next quote, and what follows; nullopt: not whole.
struct Found {
  std::string_view number{};
  std::size_t end = 0;
};
std::optional<Found> find_number(std::string_view text, std::string_view mark, std::size_t from) {
  const std::size_t start = text.find(mark, from);
  if (start == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t first = start + mark.size();
  const std::size_t end = text.find('"', first);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  return Found{.number = text.substr(first, end - first), .end = end};
}

class Ledger final : public SocketObserver {
 public:
  void read(const void* connection, std::string_view text, Time arrived) override {
    const std::scoped_lock lock(mutex_);
    std::string& pending = pending_[connection];
    pending += text;
    std::size_t from = 0;
    // "data":{"done":"7","wish":"8"}: members come in the order of their names.
    while (const auto wish = find_number(pending, R"("wish":")", from)) {
      const std::string done = fmt::format(R"("done":"{}",)", wish->number);
      const std::size_t start = pending.rfind("\"data\":{", wish->end);
      const bool fulfilled =
          start != std::string::npos &&
          std::string_view(pending).substr(start, wish->end - start).find(done) !=
              std::string_view::npos;
      if (!fulfilled) {
        note(wish->number, &Way::arrived, arrived);
      }
      from = wish->end;
    }
    pending.erase(0, std::max(from, pending.size() - std::min(pending.size(), kTail)));
  }
  void written(std::string_view text) override {
    const Time now = SteadyClock::now();
    const std::scoped_lock lock(mutex_);
    std::size_t from = 0;
    while (const auto done = find_number(text, R"("done":")", from)) {
      note(done->number, &Way::sent, now);
      from = done->end;
    }
  }
  void happened(std::string_view wish, std::optional<Time> Way::*what) {
    const Time now = SteadyClock::now();
    const std::scoped_lock lock(mutex_);
    note(wish, what, now);
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    ways_.clear();
  }
  // Milliseconds from one to the other, sorted, of those that went the whole way.
  std::vector<double> between(std::optional<Time> Way::*from, std::optional<Time> Way::*to) {
    const std::scoped_lock lock(mutex_);
    std::vector<double> took;
    for (const auto& [wish, way] : ways_) {
      if (way.arrived && way.sent && way.*from && way.*to) {
        took.push_back(
            std::chrono::duration<double, std::milli>(*(way.*to) - *(way.*from)).count());
      }
    }
    std::ranges::sort(took);
    return took;
  }
  std::size_t wishes() {
    const std::scoped_lock lock(mutex_);
    return ways_.size();
  }

 private:
  // Under the mutex; what comes first counts.
  void note(std::string_view wish, std::optional<Time> Way::*what, Time when) {
    std::optional<Time>& time = ways_[std::string(wish)].*what;
    time = time.value_or(when);
  }

  std::mutex mutex_{};  // guards what follows
  std::unordered_map<std::string, Way> ways_{};
  std::map<const void*, std::string> pending_{};
};

// Passes everything on, and notes when events leave the client and when writes come to it.
class Watcher final : public client::ApiClient {
 public:
  Watcher(std::shared_ptr<client::ApiClient> real, Ledger& ledger)
      : real_(std::move(real)), ledger_(ledger) {}

  void send(client::ApiRequest request, Done done) override {
    if (request.method == "PATCH") {
      const std::string wish = request.body["data"]["done"].str();
      ledger_.happened(wish, &Way::decided);
      done = [this, wish, next = std::move(done)](client::ApiResult result) mutable {
        ledger_.happened(wish, &Way::answered);
        next(std::move(result));
      };
    }
    real_->send(std::move(request), std::move(done));
  }
  std::shared_ptr<client::ApiStream> watch(client::ApiRequest request,
                                           client::ApiStreamHandlers handlers) override {
    handlers.line = [this, next = std::move(handlers.line)](Value event) {
      const Value& data = event["object"]["data"];
      if (data["wish"] != data["done"]) {
        ledger_.happened(data["wish"].as_string(), &Way::decoded);
      }
      next(std::move(event));
    };
    return real_->watch(std::move(request), std::move(handlers));
  }
  void post(Task task) override { real_->post(std::move(task)); }
  void post_at(Time when, Task task) override { real_->post_at(when, std::move(task)); }
  void stop() override { real_->stop(); }
  [[nodiscard]] const client::ClusterConfig& config() const override { return real_->config(); }

 private:
  std::shared_ptr<client::ApiClient> real_;
  Ledger& ledger_;
};

std::string shares(const std::vector<double>& figures) {
  return fmt::format(R"({{"p50": {:.3f}, "p90": {:.3f}, "p99": {:.3f}, "max": {:.3f}}})",
                     at_share(figures, 0.5), at_share(figures, 0.9), at_share(figures, 0.99),
                     at_share(figures, 1));
}

}  // namespace

void measure_latency(World& world, const std::string& kubeconfig, const std::string& ns,
                     int objects, bool http2) {
  block_signals();
  {
    const auto user = world.client(kubeconfig);
    make_all(*user, ns, objects, [](int i) {
      return map_of(name_of("wish", i), Value::object({{"wish", "0"}}));
    });
    user->stop();
  }
  Ledger ledger;
  observe_sockets(ledger);
  const auto client = std::make_shared<Watcher>(world.client(kubeconfig, http2), ledger);
  const Operator* const operators[] = {&kFairy};
  cluster::DriverOptions options = world.options(client, ns);
  options.writes_per_controller = kWrites;
  cluster::ClusterDriver driver(operators, std::move(options));
  driver.start();
  await_rest(driver);
  do {
    ledger.forget();
    fmt::print("ready\n");
    std::fflush(stdout);
  } while (await_signal() == SIGUSR1);
  await_rest(driver);
  driver.stop();
  client->stop();
  const std::vector<double> added = ledger.between(&Way::arrived, &Way::sent);
  fmt::print(R"({{"events": {}, "writes": {}, "added_ms": {}, "read_ms": {}, "decide_ms": {}, )"
             R"("send_ms": {}, "server_ms": {}}})"
             "\n",
             ledger.wishes(), added.size(), shares(added),
             shares(ledger.between(&Way::arrived, &Way::decoded)),
             shares(ledger.between(&Way::decoded, &Way::decided)),
             shares(ledger.between(&Way::decided, &Way::sent)),
             shares(ledger.between(&Way::sent, &Way::answered)));
}

}  // namespace athanor::bench
