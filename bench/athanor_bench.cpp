// SPDX-License-Identifier: Apache-2.0
// Loads a running lab with FournosJobs and prints what it took, one "name value unit" a line:
//   athanor_bench latency N PIPELINE          one job after the other: created -> its PipelineRun
//   athanor_bench burst N PIPELINE            N jobs at once on one cluster, until all Succeeded
//   athanor_bench scale N PIPELINE PID [keep] N jobs over all clusters; memory of the lab's
//   process;
//                                             keep: and leaves them there to be looked at
// $KUBECONFIG says where the lab is. scripts/bench starts it and compares with the targets.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/connection.hpp"
#include "kube/text/json.hpp"
#include "lab_client.hpp"
#include "process_stats.hpp"

namespace athanor::bench {
namespace {

using std::chrono::milliseconds;

constexpr const char* kNamespace = "fournos-local-dev";
constexpr int kWriters = 8;  // enough for group commits to fill
constexpr int kClusters = 4;

std::string collection(std::string_view group_version, std::string_view plural) {
  return fmt::format("{}/namespaces/{}/{}", group_version, kNamespace, plural);
}

std::string jobs_path() {
  return collection("/apis/fournos.dev/v1", "fournosjobs");
}

Value job_of(const std::string& name, const std::string& pipeline, int cluster) {
  const Value forge = Value::object({{"project", "bench"}, {"args", Value::list({"run"})}});
  return Value::object({{"apiVersion", "fournos.dev/v1"},
                        {"kind", "FournosJob"},
                        {"metadata", Value::object({{"name", name}})},
                        {"spec", Value::object({{"owner", "bench"},
                                                {"pipeline", pipeline},
                                                {"cluster", fmt::format("cluster-{}", cluster)},
                                                {"forge", forge}})}});
}

void create(client::Connection& connection, const Value& job) {
  const auto created = connection.call({.method = "POST", .path = jobs_path(), .body = job});
  if (!created.ok()) {
    give_up("create: " + created.error().message);
  }
}

void remove_all(client::Connection& connection) {
  const auto removed = connection.call({.method = "DELETE", .path = jobs_path()});
  if (!removed.ok()) {
    give_up("delete: " + removed.error().message);
  }
  const std::string collections[] = {
      jobs_path(), collection("/apis/kueue.x-k8s.io/v1beta2", "workloads"),
      collection("/apis/tekton.dev/v1", "pipelineruns"),
      collection("/apis/tekton.dev/v1", "taskruns"), collection("/api/v1", "pods")};
  const auto end = Clock::now() + std::chrono::seconds(180);
  for (const std::string& path : collections) {
    for (;;) {
      const auto left = connection.call({.path = path + "?limit=1"});
      if (left.ok() && (*left)["items"].size() == 0) {
        break;
      }
      if (Clock::now() > end) {
        give_up("not everything is deleted: " + path);
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
  }
}

void latency(int count, const std::string& pipeline) {
  const auto writer = connect();
  const auto watcher = connect();
  std::optional<Clock::time_point> arrived;
  std::string awaited;
  Watch runs(*watcher, collection("/apis/tekton.dev/v1", "pipelineruns"),
             [&](std::string_view type, const Value& run) {
               if (type == "ADDED" && run["metadata"]["name"].as_string() == awaited) {
                 arrived = Clock::now();
               }
             });
  std::vector<double> taken;
  for (int i = 0; i < count; ++i) {
    awaited = fmt::format("latency-{}", i);
    arrived.reset();
    create(*writer, job_of(awaited, pipeline, 1 + i % kClusters));
    const auto created = Clock::now();
    runs.until([&] { return arrived.has_value(); }, std::chrono::seconds(10));
    taken.push_back(std::chrono::duration<double, std::milli>(*arrived - created).count());
  }
  fmt::print("latency_p50 {:.2f} ms\nlatency_p99 {:.2f} ms\n", quantile(taken, 0.5),
             quantile(taken, 0.99));
  remove_all(*writer);
}

struct Load {
  double creating = 0;  // seconds until the last create was acknowledged
  double total = 0;     // seconds until the last job was done
};

// Creates jobs from several connections at once and waits until every one Succeeded.
Load run_jobs(int count, const std::string& prefix, const std::string& pipeline, int clusters,
              std::function<void(int done)> progress) {
  const auto watcher = connect();
  int succeeded = 0;
  std::map<std::string, bool, std::less<>> over;
  Watch jobs(*watcher, jobs_path(), [&](std::string_view type, const Value& job) {
    const std::string_view phase = job["status"]["phase"].as_string();
    if (type == "DELETED" || (phase != "Succeeded" && phase != "Failed" && phase != "Stopped")) {
      return;
    }
    if (phase != "Succeeded") {
      give_up("a job ended otherwise: " + json::print(job["status"]));
    }
    if (over.emplace(job["metadata"]["name"].as_string(), true).second) {
      progress(++succeeded);
    }
  });
  Load load;
  std::atomic<int> next{0};
  std::atomic<int> writing{kWriters};
  const auto start = Clock::now();
  std::vector<std::thread> writers;
  std::atomic<double> created{0};
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      const auto connection = connect();
      for (int i = next++; i < count; i = next++) {
        create(*connection, job_of(fmt::format("{}-{}", prefix, i), pipeline, 1 + i % clusters));
      }
      if (--writing == 0) {
        created = seconds_since(start);
      }
    });
  }
  jobs.until([&] { return succeeded == count; }, std::chrono::minutes(8));
  load.total = seconds_since(start);
  for (std::thread& writer : writers) {
    writer.join();
  }
  load.creating = created;
  return load;
}

void burst(int count, const std::string& pipeline) {
  const Load load = run_jobs(count, "burst", pipeline, 1, [](int) {});
  fmt::print("burst_create {:.2f} s\nburst_total {:.2f} s\n", load.creating, load.total);
  const auto connection = connect();
  remove_all(*connection);
}

void scale(int count, const std::string& pipeline, int pid, bool keep) {
  const auto connection = connect();
  constexpr double kKib = 1024;
  constexpr double kMib = 1024 * kKib;
  // One small round first: what is allocated once and kept is not the price of a job.
  run_jobs(100, "warm", pipeline, kClusters, [](int) {});
  remove_all(*connection);
  const std::uint64_t before = resident_bytes(pid);
  const double cpu_before = cpu_seconds(pid);
  std::uint64_t peak = before;
  const Load load = run_jobs(count, "scale", pipeline, kClusters, [&](int done) {
    if (done % 250 == 0) {
      peak = std::max(peak, resident_bytes(pid));
    }
  });
  peak = std::max(peak, resident_bytes(pid));
  const double cpu = cpu_seconds(pid) - cpu_before;
  fmt::print(
      "scale_rate {:.0f} jobs/s\nscale_create {:.1f} s\nscale_total {:.1f} s\nscale_cpu {:.2f} "
      "ms/job\n",
      count / load.total, load.creating, load.total, 1000 * cpu / count);
  fmt::print("scale_per_job {:.1f} KiB\n", static_cast<double>(peak - before) / kKib / count);
  fmt::print("scale_peak {:.0f} MiB\n", static_cast<double>(peak) / kMib);
  if (keep) {
    return;
  }
  const auto start = Clock::now();
  remove_all(*connection);
  const double removing = seconds_since(start);
  // Memory goes back to the system a little later: within a minute.
  constexpr double kMostOfBefore = 1.3;
  std::uint64_t resident = resident_bytes(pid);
  for (int second = 0; second < 60; ++second) {
    if (static_cast<double>(resident) <= kMostOfBefore * static_cast<double>(before)) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
    resident = std::min(resident, resident_bytes(pid));
  }
  fmt::print("scale_delete {:.1f} s\nscale_before {:.1f} MiB\nscale_after {:.1f} MiB\n", removing,
             static_cast<double>(before) / kMib, static_cast<double>(resident) / kMib);
}

}  // namespace
}  // namespace athanor::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) {
    athanor::bench::give_up("usage: athanor_bench latency|burst|scale N PIPELINE [PID [keep]]");
  }
  const int count = std::atoi(words[1].c_str());
  if (words[0] == "latency" && count > 0) {
    athanor::bench::latency(count, words[2]);
  } else if (words[0] == "burst" && count > 0) {
    athanor::bench::burst(count, words[2]);
  } else if (words[0] == "scale" && count > 0 && words.size() >= 4) {
    athanor::bench::scale(count, words[2], std::atoi(words[3].c_str()),
                          words.size() == 5 && words[4] == "keep");
  } else {
    athanor::bench::give_up("usage: athanor_bench latency|burst|scale N PIPELINE [PID [keep]]");
  }
  return 0;
}
