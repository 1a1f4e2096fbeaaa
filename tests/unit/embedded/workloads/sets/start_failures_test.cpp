// SPDX-License-Identifier: Apache-2.0
// Owners of pods that fail before a container starts: few pods a minute, and all at once when pods
// start again. The table has every controller that replaces pods.
#include "embedded/workloads/sets/start_failures.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "embedded/workloads/jobs/job.hpp"
#include "embedded/workloads/sets/daemon_set.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "embedded/workloads/sets/stateful_set.hpp"
#include "support/source_dir/source_dir.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::start_failures_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kPods = 2;  // that each owner wants

struct Owner {
  const char* kind;
  const char* file;  // that makes the pods
  const Operator& (*controller)();
  const char* spec;
  const char* condition;  // that names the trouble; empty: its own conditions do
};

constexpr const char* kTemplate =
    "template: {metadata: {labels: {app: a}}, spec: {restartPolicy: Never, containers: [{name: c, "
    "image: i}]}}";

const Owner kOwners[] = {
    {"apps/v1 ReplicaSet", "src/embedded/workloads/sets/replica_set.cpp", replica_set_operator,
     "replicas: 2, selector: {matchLabels: {app: a}}", "ReplicaFailure"},
    {"v1 ReplicationController", "src/embedded/workloads/sets/replica_set.cpp",
     replication_controller_operator, "replicas: 2, selector: {app: a}", "ReplicaFailure"},
    {"apps/v1 StatefulSet", "src/embedded/workloads/sets/stateful_set.cpp", stateful_set_operator,
     "replicas: 2, serviceName: a, podManagementPolicy: Parallel, selector: {matchLabels: {app: "
     "a}}",
     kStartFailure},
    {"apps/v1 DaemonSet", "src/embedded/workloads/sets/daemon_set.cpp", daemon_set_operator,
     "selector: {matchLabels: {app: a}}", kStartFailure},
    {"batch/v1 Job", "src/embedded/workloads/jobs/job.cpp", job_operator,
     "parallelism: 2, completions: 2, backoffLimit: 1000", ""},
};

class StartFailures : public testing::TestWithParam<Owner> {
 protected:
  StartFailures() {
    world.on_create = [this](test::FakeWorld& here, Value& object) {
      if (object["kind"].as_string() != "Pod") {
        return;
      }
      ++made;
      object.set_path({"metadata", "creationTimestamp"}, format_time(here.now));
      Value status = Value::object({{"phase", works ? "Running" : "Failed"}});
      if (!works) {
        status.set("reason", "TopologyAffinityError");
        status.set("message", "no zone has room");
      }
      object.set("status", status);
    };
    for (const char* node : {"n1", "n2"}) {
      put(std::string("{apiVersion: v1, kind: Node, metadata: {name: ") + node + "}}");
    }
    const std::string both = GetParam().kind;
    const std::size_t space = both.find(' ');
    kind = both.substr(space + 1);
    put("{apiVersion: " + both.substr(0, space) + ", kind: " + kind +
        ", metadata: {name: a, namespace: ns}, spec: {" + GetParam().spec + ", " + kTemplate +
        "}}");
  }

  void put(const std::string& text) { world.put(yaml::parse(text).value()); }
  // Returns how many pods are made while `duration` passes.
  int made_during(Duration duration) {
    const int before = made;
    world.settle_for({&GetParam().controller()}, duration);
    return made - before;
  }
  [[nodiscard]] std::string trouble() const {
    for (const Kind* one :
         {&api::kReplicaSet, &api::kReplicationController, &api::kStatefulSet, &api::kDaemonSet}) {
      if (one->name == kind) {
        const Value condition = world.condition(*one, {"ns", "a"}, GetParam().condition);
        return condition["status"].str() + " " + condition["message"].str();
      }
    }
    return {};
  }

  test::FakeWorld world{};
  std::string kind{};
  bool works = false;
  int made = 0;
};

INSTANTIATE_TEST_SUITE_P(Owners, StartFailures, testing::ValuesIn(kOwners), [](const auto& owner) {
  const std::string kind = owner.param.kind;
  return kind.substr(kind.find(' ') + 1);
});

TEST_P(StartFailures, MakeFewPodsAMinute) {
  EXPECT_LE(made_during(minutes(1)), 5 * kPods);
  EXPECT_LE(made_during(minutes(1)), 3 * kPods);
  const int hour = made_during(minutes(60));
  EXPECT_LE(hour, 15 * kPods);
  EXPECT_GE(hour, 2) << "it goes on trying";
}

TEST_P(StartFailures, SayWhyPodsAreMissing) {
  made_during(seconds(1));
  if (*GetParam().condition == '\0') {
    return;
  }
  EXPECT_EQ(trouble(),
            "True pods fail before a container starts (TopologyAffinityError: no zone has room); "
            "their replacements wait 10 s to 5 min");
  works = true;
  made_during(minutes(10));
  EXPECT_EQ(trouble(), " ") << "the condition is gone with its reason";
}

TEST_P(StartFailures, EndWhenPodsStart) {
  made_during(minutes(30));
  works = true;
  EXPECT_GE(made_during(minutes(11)), 1);
  int running = 0;
  for (const Object& pod : world.list(api::kPod)) {
    running += has_started(pod) ? 1 : 0;
  }
  EXPECT_EQ(running, kPods);
  const std::size_t written = world.writes.size();
  EXPECT_EQ(made_during(minutes(60)), 0);
  EXPECT_EQ(world.writes.size(), written) << "a settled owner writes nothing";
}

TEST(StartFailuresTable, HasEveryControllerThatReplacesPods) {
  std::set<std::string> listed;
  for (const Owner& owner : kOwners) {
    listed.insert(owner.file);
  }
  std::set<std::string> makers;
  const std::string root = std::string(test::source_dir()) + "/";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "src")) {
    if (entry.path().extension() != ".cpp") {
      continue;
    }
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("Create{.target = {&api::kPod,") != std::string::npos) {
      makers.insert(entry.path().string().substr(root.size()));
    }
  }
  EXPECT_EQ(makers, listed);
}

Object pod(const std::string& status) {
  return Object(yaml::parse("{metadata: {name: p, creationTimestamp: '2026-01-05T00:00:00Z'}, "
                            "status: " +
                            status + "}")
                    .value());
}

TEST(StartFailuresTest, TellAStartedPodFromARefusedOne) {
  for (const char* refused :
       {"{phase: Failed}",
        "{phase: Failed, reason: TopologyAffinityError, containerStatuses: "
        "[{state: {waiting: {reason: ContainerCreating}}, restartCount: 0}]}"}) {
    EXPECT_TRUE(failed_to_start(pod(refused))) << refused;
  }
  for (const char* started :
       {"{phase: Failed, reason: Evicted, containerStatuses: [{state: {terminated: {startedAt: "
        "'2026-01-05T00:00:00Z'}}}]}",
        "{phase: Failed, initContainerStatuses: [{state: {terminated: {startedAt: "
        "'2026-01-05T00:00:00Z'}}}]}",
        "{phase: Failed, containerStatuses: [{state: {waiting: {}}, restartCount: 3}]}",
        "{phase: Running}", "{phase: Succeeded}"}) {
    EXPECT_FALSE(failed_to_start(pod(started))) << started;
    EXPECT_TRUE(has_started(pod(started))) << started;
  }
  EXPECT_FALSE(failed_to_start(pod("{phase: Pending}")));
}

TEST(StartFailuresTest, DoubleTheTimeOfTroubleWithinBounds) {
  const Instant since = *parse_time("2026-01-05T00:00:00Z");
  for (const auto& [after, wait] : {std::pair{0, 10}, {7, 10}, {30, 30}, {120, 120}, {900, 300}}) {
    const Instant failed = since + seconds(after);
    EXPECT_EQ(replacement_due(since, failed), failed + seconds(wait)) << after;
  }
}

}  // namespace
}  // namespace athanor::workloads::start_failures_test
