// SPDX-License-Identifier: Apache-2.0
// One thread watches; writers take what is due: a creation, an end, a release of quota.
#include "queue/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "client/connection.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "lab_client.hpp"
#include "process_stats.hpp"

namespace athanor::bench {
namespace {

using std::chrono::milliseconds;

constexpr int kWriters = 8;
constexpr const char* kGroup = "/apis/kueue.x-k8s.io/v1beta2";
constexpr const char* kNamespace = "default";
constexpr int kNominal = 20;

struct Set {
  const char* name = "";
  int count = 0;
  milliseconds interval{};
  milliseconds runtime{};
  int priority = 0;
  int request = 0;
};
struct Shape {
  int cohorts = 0;
  int queues = 0;  // of each cohort
  std::array<Set, 3> sets{};
};
constexpr Shape kPublished{
    .cohorts = 5,
    .queues = 6,
    .sets = {{{"small", 350, milliseconds(100), milliseconds(200), 50, 1},
              {"medium", 100, milliseconds(500), milliseconds(500), 100, 5},
              {"large", 50, milliseconds(1200), milliseconds(1000), 200, 20}}}};
constexpr Shape kLarge{.cohorts = 10,
                       .queues = 100,
                       .sets = {{{"small", 35, milliseconds(60), milliseconds(150), 50, 1},
                                 {"medium", 11, milliseconds(300), milliseconds(350), 100, 5},
                                 {"large", 4, milliseconds(700), milliseconds(700), 200, 20}}}};

std::string workloads_path() {
  return fmt::format("{}/namespaces/{}/workloads", kGroup, kNamespace);
}

Value parsed(const std::string& text) {
  return json::parse(text).value();
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

struct Job {
  const Set* set = nullptr;
  std::string queue{};
  Clock::time_point created{};
  Clock::time_point admitted{};
  std::string version{};
  Value conditions{};
  bool runs = false;
  bool over = false;
};

struct Due {
  enum class What : std::uint8_t { Create, Admit, Finish, Release };
  Clock::time_point at{};
  What what = What::Create;
  int job = 0;
  friend bool operator<(const Due& a, const Due& b) { return a.at > b.at; }
};

class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options), shape_(options.large ? kLarge : kPublished) {}

  void run() {
    make_queues();
    plan_jobs();
    const double engine_before = options_.engine_pid > 0 ? cpu_seconds(options_.engine_pid) : 0;
    const double server_before = options_.server_pid > 0 ? cpu_seconds(options_.server_pid) : 0;
    std::vector<std::thread> writers;
    writers.reserve(kWriters);
    for (int i = 0; i < kWriters; ++i) {
      writers.emplace_back([this] { write(); });
    }
    watch();
    const double wall = seconds(Clock::now() - start_);
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& writer : writers) {
      writer.join();
    }
    report(wall, engine_before, server_before);
  }

 private:
  void must(client::Connection& connection, const std::string& path, const Value& body) {
    const auto made = connection.call({.method = "POST", .path = path, .body = body});
    if (!made.ok() && made.error().code != 409) {
      give_up(fmt::format("{}: {}", path, made.error().message));
    }
  }

  void make_queues() {
    const auto connection = connect();
    must(*connection, fmt::format("{}/resourceflavors", kGroup),
         parsed(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",)"
                R"("metadata":{"name":"rf"},"spec":{}})"));
    for (int c = 0; c < shape_.cohorts; ++c) {
      for (int q = 0; q < shape_.queues; ++q) {
        must(*connection, fmt::format("{}/clusterqueues", kGroup),
             parsed(fmt::format(
                 R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",)"
                 R"("metadata":{{"name":"cq-{0}-{1}"}},"spec":{{"cohortName":"cohort-{0}",)"
                 R"("namespaceSelector":{{}},"preemption":{{"reclaimWithinCohort":"Any",)"
                 R"("withinClusterQueue":"LowerPriority"}},"resourceGroups":[{{)"
                 R"("coveredResources":["cpu"],"flavors":[{{"name":"rf","resources":[)"
                 R"({{"name":"cpu","nominalQuota":"{2}","borrowingLimit":"100"}}]}}]}}]}}}})",
                 c, q, kNominal)));
        must(*connection, fmt::format("{}/namespaces/{}/localqueues", kGroup, kNamespace),
             parsed(fmt::format(R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",)"
                                R"("metadata":{{"name":"lq-{0}-{1}"}},)"
                                R"("spec":{{"clusterQueue":"cq-{0}-{1}"}}}})",
                                c, q)));
      }
    }
  }

  // Every set of every queue has a pace of its own.
  void plan_jobs() {
    start_ = Clock::now() + milliseconds(500);
    double work = 0;
    double last = 0;
    for (int c = 0; c < shape_.cohorts; ++c) {
      for (int q = 0; q < shape_.queues; ++q) {
        for (const Set& set : shape_.sets) {
          const int count = std::max(1, set.count / options_.share);
          for (int i = 0; i < count; ++i) {
            due_.push({.at = start_ + i * set.interval,
                       .what = Due::What::Create,
                       .job = static_cast<int>(jobs_.size())});
            jobs_.push_back({.set = &set, .queue = fmt::format("lq-{}-{}", c, q)});
          }
          work += count * set.request * seconds(set.runtime);
          last = std::max(last, seconds((count - 1) * set.interval + set.runtime));
        }
      }
    }
    bound_ = std::max(last, work / (shape_.cohorts * shape_.queues * kNominal));
    left_ = jobs_.size();
  }

  [[nodiscard]] std::string name_of(int job) const {
    return fmt::format("{}-{}", jobs_[static_cast<std::size_t>(job)].set->name, job);
  }
  static int job_of(std::string_view name) {
    return std::atoi(std::string(name.substr(name.rfind('-') + 1)).c_str());
  }

  void write() {
    const auto connection = connect();
    for (;;) {
      Due due;
      {
        std::unique_lock lock(mutex_);
        for (;;) {
          if (ended_) {
            return;
          }
          if (due_.empty()) {
            changed_.wait(lock);
          } else if (due_.top().at > Clock::now()) {
            changed_.wait_until(lock, due_.top().at);
          } else {
            break;
          }
        }
        due = due_.top();
        due_.pop();
      }
      carry_out(*connection, due);
    }
  }

  void carry_out(client::Connection& connection, const Due& due) {
    if (due.what == Due::What::Create) {
      create(connection, due.job);
      return;
    }
    Value status = Value::object();
    std::string version;
    {
      const std::lock_guard lock(mutex_);
      Job& job = jobs_[static_cast<std::size_t>(due.job)];
      if (due.what == Due::What::Finish && !job.runs) {
        return;  // preempted meanwhile
      }
      Value conditions = job.conditions;
      version = job.version;
      const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
      const Instant instant{now.time_since_epoch()};
      switch (due.what) {
        case Due::What::Finish:
          set_condition(conditions, {"Finished", "True", "ByTest", "By test runner", {}}, instant);
          break;
        case Due::What::Release:
          set_condition(conditions, {"QuotaReserved", "False", "Pending", "By test runner", {}},
                        instant);
          set_condition(conditions, {"Admitted", "False", "NoReservation", "By test runner", {}},
                        instant);
          set_condition(conditions, {"Requeued", "True", "Preempted", "By test runner", {}},
                        instant);
          status.set("admission", Value());
          break;
        case Due::What::Admit:
          set_condition(conditions, {"QuotaReserved", "True", "QuotaReserved", "alone", {}},
                        instant);
          set_condition(conditions, {"Admitted", "True", "Admitted", "alone", {}}, instant);
          status.set("admission", parsed(R"({"clusterQueue":"cq-0-0","podSetAssignments":[)"
                                         R"({"name":"main","count":1}]})"));
          break;
        case Due::What::Create:
          return;
      }
      status.set("conditions", std::move(conditions));
    }
    const auto written = connection.call(
        {.method = "PATCH",
         .path = fmt::format("{}/{}/status", workloads_path(), name_of(due.job)),
         .body = Value::object({{"metadata", Value::object({{"resourceVersion", version}})},
                                {"status", std::move(status)}}),
         .content_type = "application/merge-patch+json"});
    // A conflict: the watch brings what is newer, and with it the next thing to do.
    if (!written.ok() && written.error().code != 409) {
      give_up(fmt::format("{}: {}", name_of(due.job), written.error().message));
    }
  }

  void create(client::Connection& connection, int number) {
    const Job& job = jobs_[static_cast<std::size_t>(number)];
    const auto made = connection.call(
        {.method = "POST",
         .path = workloads_path(),
         .body = parsed(fmt::format(
             R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{{)"
             R"("name":"{0}","labels":{{"class":"{1}"}}}},"spec":{{"queueName":"{2}",)"
             R"("priority":{3},"podSets":[{{"name":"main","count":1,"template":{{"spec":{{)"
             R"("restartPolicy":"Never","containers":[{{"name":"c","image":"i","resources":{{)"
             R"("requests":{{"cpu":"{4}"}}}}}}]}}}}}}]}}}})",
             name_of(number), job.set->name, job.queue, job.set->priority, job.set->request))});
    if (!made.ok()) {
      give_up(fmt::format("{}: {}", name_of(number), made.error().message));
    }
    const std::lock_guard lock(mutex_);
    jobs_[static_cast<std::size_t>(number)].created = Clock::now();
    ++created_;
    last_created_ = seconds(Clock::now() - start_);
  }

  // Until every job is over.
  void watch() {
    const auto connection = connect();
    const auto list = connection->call({.path = workloads_path() + "?limit=1"});
    if (!list.ok()) {
      give_up(list.error().message);
    }
    const auto handle =
        connection->stream(fmt::format("{}?watch=true&resourceVersion={}", workloads_path(),
                                       (*list)["metadata"]["resourceVersion"].as_string()),
                           {.line =
                                [this](std::string_view line) {
                                  const auto event = json::parse(line);
                                  if (event.ok() && (*event)["type"].as_string() != "BOOKMARK") {
                                    seen((*event)["object"]);
                                  }
                                },
                            .ended = [](const Result<void>&) { give_up("the watch ended"); }});
    while (left_ > 0) {
      connection->run(milliseconds(100));
      if (options_.engine_pid > 0) {
        peak_ = std::max(peak_, resident_bytes(options_.engine_pid));
      }
    }
  }

  void seen(const Value& object) {
    const int number = job_of(object["metadata"]["name"].as_string());
    const Value& conditions = object["status"]["conditions"];
    const std::lock_guard lock(mutex_);
    Job& job = jobs_[static_cast<std::size_t>(number)];
    job.version = object["metadata"]["resourceVersion"].str();
    job.conditions = conditions;
    if (condition_is(conditions, "Finished", "True")) {
      if (!job.over) {
        job.over = true;
        job.runs = false;
        --left_;
      }
      return;
    }
    const bool admitted = condition_is(conditions, "Admitted", "True");
    if (condition_is(conditions, "Evicted", "True") && admitted) {
      job.runs = false;
      ++evicted_;
      push({.at = Clock::now(), .what = Due::What::Release, .job = number});
    } else if (admitted && !job.runs) {
      job.runs = true;
      if (job.admitted == Clock::time_point{}) {
        job.admitted = Clock::now();
      }
      push({.at = Clock::now() + job.set->runtime, .what = Due::What::Finish, .job = number});
    } else if (admitted) {
      // Another client wrote it: a Finish that conflicted is due again.
      push({.at = Clock::now(), .what = Due::What::Finish, .job = number});
    } else if (!admitted) {
      job.runs = false;
      if (options_.alone) {
        push({.at = Clock::now(), .what = Due::What::Admit, .job = number});
      }
    }
  }
  void push(const Due& due) {
    due_.push(due);
    changed_.notify_one();
  }

  void report(double wall, double engine_before, double server_before) {
    fmt::print("workloads {} \nwall {:.1f} s\nbound {:.1f} s\ncreated_in {:.1f} s\nevicted {} \n",
               jobs_.size(), wall, bound_, last_created_, evicted_);
    if (options_.engine_pid > 0) {
      fmt::print("engine_cpu {:.1f} s\nengine_peak {:.0f} MiB\n",
                 cpu_seconds(options_.engine_pid) - engine_before,
                 static_cast<double>(peak_) / 1048576);
    }
    if (options_.server_pid > 0) {
      fmt::print("server_cpu {:.1f} s\n", cpu_seconds(options_.server_pid) - server_before);
    }
    for (const Set& set : shape_.sets) {
      double sum = 0;
      int count = 0;
      for (const Job& job : jobs_) {
        if (job.set->name == set.name && job.admitted > job.created) {
          sum += seconds(job.admitted - job.created);
          ++count;
        }
      }
      fmt::print("admission_{} {:.2f} s\n", set.name, count > 0 ? sum / count : 0);
    }
  }

  LoadOptions options_;
  const Shape& shape_;
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::vector<Job> jobs_{};
  std::priority_queue<Due> due_{};
  Clock::time_point start_{};
  double bound_ = 0;
  double last_created_ = 0;
  std::size_t left_ = 0;
  std::size_t created_ = 0;
  std::uint64_t evicted_ = 0;
  std::uint64_t peak_ = 0;
  bool ended_ = false;
};

}  // namespace

void run_load(const LoadOptions& options) {
  Load(options).run();
}

}  // namespace athanor::bench
