// SPDX-License-Identifier: Apache-2.0
// Loads a running lab with AppWrappers and prints what it took, one "name value unit" a line:
//   athanor_appwrapper_bench create N       unsuspended -> all of 10 components created
//   athanor_appwrapper_bench failures N     a failed pod, a lost component, a marked node ->
//   condition athanor_appwrapper_bench lives N PID    N AppWrappers of 5 pods through their whole
//   life athanor_appwrapper_bench waiting N PID  N AppWrappers that wait for quota
// $KUBECONFIG says where the lab is, PID is its process. scripts/bench-appwrapper starts it and
// compares with the targets.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "lab_client.hpp"
#include "process_stats.hpp"

namespace athanor::bench {
namespace {

using std::chrono::milliseconds;

constexpr const char* kApps = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr int kWriters = 8;
constexpr double kKib = 1024;
constexpr double kMib = 1024 * kKib;

Value from_yaml(const std::string& text) {
  auto parsed = yaml::parse(text);
  if (!parsed.ok()) {
    give_up(parsed.error().message);
  }
  return *std::move(parsed);
}

// One that runs at once, without Kueue, unless `queue` names a LocalQueue.
Value app_of(const std::string& name, const std::string& queue, const std::string& components) {
  const std::string labels =
      queue.empty() ? "" : fmt::format(", labels: {{kueue.x-k8s.io/queue-name: {}}}", queue);
  return from_yaml(
      fmt::format("{{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: "
                  "{{name: {}{}}}, spec: {{components: [{}]}}}}",
                  name, labels, components));
}

std::string pod(const std::string& name, double seconds, int code, const std::string& requests) {
  return fmt::format(
      "{{template: {{apiVersion: v1, kind: Pod, metadata: {{name: {}, annotations: "
      "{{athanor.dev/simulate: '{{\"c\": {{\"seconds\": {}, \"exitCode\": {}}}}}'}}}}, spec: "
      "{{restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{{name: c, image: i, "
      "command: [run], resources: {{limits: {{{}}}}}}}]}}}}}}",
      name, seconds, code, requests);
}

std::string config_map(const std::string& name) {
  return fmt::format("{{template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}}}",
                     name);
}

std::string job(const std::string& name, int pods) {
  return fmt::format(
      "{{template: {{apiVersion: batch/v1, kind: Job, metadata: {{name: {0}}}, spec: "
      "{{parallelism: "
      "{1}, completions: {1}, template: {{spec: {{restartPolicy: Never, containers: [{{name: c, "
      "image: i, command: [run]}}]}}}}}}}}}}",
      name, pods);
}

std::string path_of(const std::string& name) {
  return fmt::format("{}/{}", kApps, name);
}

void patch(client::Connection& connection, const std::string& path, const std::string& merge) {
  ask(connection, {.method = "PATCH",
                   .path = path,
                   .body = from_yaml(merge),
                   .content_type = "application/merge-patch+json"});
}

void remove_all(client::Connection& connection) {
  ask(connection, {.method = "DELETE", .path = kApps});
  const auto end = Clock::now() + std::chrono::minutes(5);
  for (const char* path :
       {kApps, kPods, "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads",
        "/apis/batch/v1/namespaces/default/jobs"}) {
    while (ask(connection, {.path = std::string(path) + "?limit=1"})["items"].size() != 0) {
      if (Clock::now() > end) {
        give_up(std::string("not everything is deleted: ") + path);
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
  }
}

bool all_created(const Value& app, std::size_t components) {
  const Value& status = app["status"]["componentStatus"];
  std::size_t created = 0;
  for (const Value& one : status.items()) {
    created += condition_is(one["conditions"], "ResourcesDeployed", "True") ? 1 : 0;
  }
  return created == components;
}

void create(int count) {
  constexpr int kHalf = 5;
  const auto writer = connect();
  const auto watcher = connect();
  std::string awaited;
  bool suspended = false;
  std::optional<Clock::time_point> arrived;
  Watch apps(*watcher, kApps, [&](std::string_view, const Value& app) {
    if (app["metadata"]["name"].as_string() != awaited || arrived) {
      return;
    }
    suspended = suspended || app["status"]["phase"].as_string() == "Suspended";
    if (all_created(app, std::size_t{2} * kHalf)) {
      arrived = Clock::now();
    }
  });
  std::vector<double> taken;
  for (int i = 0; i < count; ++i) {
    awaited = fmt::format("ten-{}", i);
    arrived.reset();
    suspended = false;
    std::string components;
    for (int j = 0; j < kHalf; ++j) {
      const std::string name = fmt::format("{}-{}", awaited, j);
      components +=
          (components.empty() ? "" : ", ") + pod(name, 0.1, 0, "") + ", " + config_map(name);
    }
    Value app = app_of(awaited, "", components);
    app.member("spec").set("suspend", true);
    ask(*writer, {.method = "POST", .path = kApps, .body = app});
    apps.until([&] { return suspended; }, std::chrono::seconds(10));
    const auto start = Clock::now();
    patch(*writer, path_of(awaited), "{spec: {suspend: false}}");
    apps.until([&] { return arrived.has_value(); }, std::chrono::seconds(10));
    taken.push_back(std::chrono::duration<double, std::milli>(*arrived - start).count());
    ask(*writer, {.method = "DELETE", .path = path_of(awaited)});
  }
  fmt::print("create_p50 {:.2f} ms\ncreate_p99 {:.2f} ms\n", quantile(taken, 0.5),
             quantile(taken, 0.99));
  remove_all(*writer);
}

// From what went wrong to the condition that says so.
class Failures {
 public:
  Failures()
      : writer_(connect()),
        watcher_(connect()),
        apps_(*watcher_, kApps, [this](std::string_view, const Value& app) { see(app); }),
        pods_(*watcher_, kPods, [this](std::string_view, const Value& pod) {
          const bool failed = pod["status"]["phase"].as_string() == "Failed";
          if (failed && pod["metadata"]["name"].as_string() == awaited_ && !happened_) {
            happened_ = Clock::now();
          }
        }) {}

  void run(int count) {
    print("failed_pod", repeat(count, "pod", [this](const std::string& name) {
            make(app_of(name, "", pod(name, 0.2, 1, "")));
          }));
    print("lost_component", repeat(count, "part", [this](const std::string& name) {
            make(app_of(name, "", pod(name, 600, 0, "") + ", " + config_map(name)));
            await([this] { return phase_ == "Running"; });
            happened_ = Clock::now();
            ask(*writer_,
                {.method = "DELETE", .path = "/api/v1/namespaces/default/configmaps/" + name});
          }));
    print("marked_node", repeat(count, "gpu", [this](const std::string& name) {
            make(app_of(name, "", pod(name, 600, 0, "nvidia.com/gpu: '1'")));
            await([this] { return ready_; });
            const Value there = ask(*writer_, {.path = std::string(kPods) + "/" + name});
            const std::string node = "/api/v1/nodes/" + there["spec"]["nodeName"].str();
            happened_ = Clock::now();
            patch(*writer_, node, "{metadata: {labels: {autopilot.ibm.com/gpuhealth: EVICT}}}");
            await([this] { return seen_.has_value(); });
            patch(*writer_, node, "{metadata: {labels: {autopilot.ibm.com/gpuhealth: null}}}");
          }));
    remove_all(*writer_);
  }

 private:
  void see(const Value& app) {
    if (app["metadata"]["name"].as_string() != awaited_) {
      return;
    }
    const Value& conditions = app["status"]["conditions"];
    phase_ = app["status"]["phase"].str();
    ready_ = condition_is(conditions, "PodsReady", "True");
    if (!seen_ && condition_is(conditions, "Unhealthy", "True")) {
      seen_ = Clock::now();
    }
  }
  void make(const Value& app) { ask(*writer_, {.method = "POST", .path = kApps, .body = app}); }
  void await(const std::function<bool()>& done) { apps_.until(done, std::chrono::seconds(30)); }

  template <class Cause>
  std::vector<double> repeat(int count, const char* prefix, Cause cause) {
    std::vector<double> taken;
    for (int i = 0; i < count; ++i) {
      awaited_ = fmt::format("{}-{}", prefix, i);
      happened_.reset();
      seen_.reset();
      ready_ = false;
      phase_.clear();
      cause(awaited_);
      await([this] { return seen_ && happened_; });
      taken.push_back(
          std::max(0.0, std::chrono::duration<double, std::milli>(*seen_ - *happened_).count()));
      ask(*writer_, {.method = "DELETE", .path = path_of(awaited_)});
    }
    return taken;
  }
  static void print(const char* what, const std::vector<double>& taken) {
    fmt::print("{}_p50 {:.2f} ms\n{}_worst {:.2f} ms\n", what, quantile(taken, 0.5), what,
               quantile(taken, 1));
  }

  std::unique_ptr<client::Connection> writer_;
  std::unique_ptr<client::Connection> watcher_;
  std::string awaited_{};
  std::string phase_{};
  bool ready_ = false;
  std::optional<Clock::time_point> happened_{}, seen_{};
  Watch apps_;
  Watch pods_;
};

// Creates them from several connections at once.
void create_all(int count, const std::function<Value(int)>& make) {
  std::atomic<int> next{0};
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      const auto connection = connect();
      for (int i = next++; i < count; i = next++) {
        ask(*connection, {.method = "POST", .path = kApps, .body = make(i)});
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
}

double live_through(int count, const std::string& prefix) {
  const auto watcher = connect();
  std::set<std::string> over;
  Watch apps(*watcher, kApps, [&](std::string_view type, const Value& app) {
    const std::string_view phase = app["status"]["phase"].as_string();
    if (phase == "Failed") {
      give_up("an AppWrapper failed");
    }
    if (type != "DELETED" && phase == "Succeeded") {
      over.insert(app["metadata"]["name"].str());
    }
  });
  const auto start = Clock::now();
  std::thread creating([&] {
    create_all(count, [&](int i) {
      const std::string name = fmt::format("{}-{}", prefix, i);
      return app_of(name, "", job(name, 5));
    });
  });
  apps.until([&] { return over.size() == static_cast<std::size_t>(count); },
             std::chrono::minutes(8));
  const double total = seconds_since(start);
  creating.join();
  return total;
}

// Looks for so many seconds, or until it is no more than `enough`.
std::uint64_t resting(int pid, int seconds, double enough = 0) {
  std::uint64_t least = resident_bytes(pid);
  for (int second = 0; second<seconds&& static_cast<double>(least)> enough; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    least = std::min(least, resident_bytes(pid));
  }
  return least;
}

void lives(int count, int pid) {
  const auto connection = connect();
  // What is allocated once and kept is not the price of an AppWrapper.
  live_through(100, "warm");
  remove_all(*connection);
  const std::uint64_t before = resting(pid, 5);
  const double cpu_before = cpu_seconds(pid);
  const double total = live_through(count, "life");
  const double cpu = cpu_seconds(pid) - cpu_before;
  const std::uint64_t peak = resting(pid, 3);
  fmt::print("lives_rate {:.0f} /s\nlives_total {:.1f} s\nlives_cpu {:.2f} ms\n", count / total,
             total, 1000 * cpu / count);
  fmt::print("lives_each {:.1f} KiB\n", static_cast<double>(peak - before) / kKib / count);
  remove_all(*connection);
  const std::uint64_t after = resting(pid, 60, 1.3 * static_cast<double>(before));
  fmt::print("lives_before {:.1f} MiB\nlives_peak {:.1f} MiB\nlives_after {:.1f} MiB\n",
             static_cast<double>(before) / kMib, static_cast<double>(peak) / kMib,
             static_cast<double>(after) / kMib);
}

std::string revision(client::Connection& connection) {
  return ask(connection, {.path = std::string(kApps) + "?limit=1"})["metadata"]["resourceVersion"]
      .str();
}

void waiting(int count, int pid) {
  constexpr int kIdle = 20;  // seconds
  const auto connection = connect();
  ask(*connection, {.method = "POST",
                    .path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
                    .body = from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, "
                                      "metadata: {name: empty}, spec: {namespaceSelector: {}, "
                                      "resourceGroups: [{coveredResources: [cpu], flavors: [{name: "
                                      "any, resources: [{name: cpu, nominalQuota: 0}]}]}]}}")});
  ask(*connection, {.method = "POST",
                    .path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues",
                    .body = from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, "
                                      "metadata: {name: empty}, spec: {clusterQueue: empty}}")});
  const auto pair = [&](int i) {
    const std::string name = fmt::format("wait-{}", i);
    return app_of(name, "empty", pod(name, 0.1, 0, "cpu: '1'"));
  };
  const std::uint64_t before = resting(pid, 5);
  const auto start = Clock::now();
  create_all(count, pair);
  fmt::print("waiting_create {:.1f} s\n", seconds_since(start));
  // Until each has its Workload.
  const std::string workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
  std::string seen;
  for (std::string now = revision(*connection); now != seen; now = revision(*connection)) {
    seen = now;
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  const Value list = ask(*connection, {.path = workloads + "?limit=1"});
  const std::int64_t made = 1 + list["metadata"]["remainingItemCount"].as_int();
  if (made != count) {
    give_up(fmt::format("{} of {} AppWrappers have a Workload", made, count));
  }
  const std::uint64_t peak = resting(pid, 5);
  fmt::print("waiting_each {:.1f} KiB\n", static_cast<double>(peak - before) / kKib / count);
  // The kubelets of the lab's nodes renew their Leases, whatever waits.
  const auto watcher = connect();
  std::int64_t renewed = 0;
  Watch leases(*watcher, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
               [&](std::string_view, const Value&) { ++renewed; });
  const double cpu = cpu_seconds(pid);
  const std::string then = revision(*connection);
  leases.follow(std::chrono::seconds(kIdle));
  const std::int64_t writes = std::stoll(revision(*connection)) - std::stoll(then);
  fmt::print("waiting_cpu {:.2f} %\nwaiting_writes {} revisions\nwaiting_renewals {} revisions\n",
             100 * (cpu_seconds(pid) - cpu) / kIdle, std::max<std::int64_t>(0, writes - renewed),
             renewed);
}

}  // namespace
}  // namespace athanor::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int count = words.size() >= 2 ? std::atoi(words[1].c_str()) : 0;
  const int pid = words.size() >= 3 ? std::atoi(words[2].c_str()) : 0;
  if (count > 0 && words[0] == "create") {
    athanor::bench::create(count);
  } else if (count > 0 && words[0] == "failures") {
    athanor::bench::Failures().run(count);
  } else if (count > 0 && pid > 0 && words[0] == "lives") {
    athanor::bench::lives(count, pid);
  } else if (count > 0 && pid > 0 && words[0] == "waiting") {
    athanor::bench::waiting(count, pid);
  } else {
    athanor::bench::give_up(
        "usage: athanor_appwrapper_bench create|failures N | lives|waiting N PID");
  }
  return 0;
}
