// SPDX-License-Identifier: Apache-2.0
// Jobs: how many pods, which outcome, what is said about it.
#include "embedded/workloads/jobs/job.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/workloads/jobs/job_facts.hpp"
#include "embedded/workloads/jobs/job_indexes.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/failures.hpp"
#include "support/fake_world.hpp"

namespace athanor::workloads::job_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class JobTest : public testing::Test {
 protected:
  JobTest() { world.graceful_pods = true; }

  void job(const std::string& spec) {
    world.put(yaml::parse("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ns}, "
                          "spec: {template: {metadata: {labels: {app: x, "
                          "batch.kubernetes.io/job-name: j}}, spec: {restartPolicy: "
                          "Never, containers: [{name: c, image: i}]}}, " +
                          spec + "}}")
                  .value());
    settle();
  }
  static test::FakeWorld::Operators operators() {
    return {&job_operator(), &ttl_after_finished_operator()};
  }
  void settle() { world.settle(operators()); }
  void pass(Duration duration) { world.settle_for(operators(), duration); }
  Value status() { return world.must(api::kJob, {"ns", "j"}).status(); }
  std::vector<Object> pods() { return world.list(api::kPod); }
  std::vector<Object> running() {
    std::vector<Object> some;
    for (const Object& pod : pods()) {
      if (!pod_succeeded(pod) && !pod_failed(pod) && !pod.deleting()) {
        some.push_back(pod);
      }
    }
    return some;
  }
  // What a node would say of a pod.
  void become(const Object& pod, const std::string& phase) {
    world.update(api::kPod, pod.key(), [&](Value& body) {
      body.set_path({"spec", "nodeName"}, "n1");
      body.set_path({"status", "phase"}, phase);
      if (phase != "Running") {
        body.set_path(
            {"status", "containerStatuses"},
            Value::list({Value::object(
                {{"name", "c"},
                 {"state",
                  Value::object({{"terminated",
                                  Value::object({{"finishedAt", format_time(world.now)}})}})}})}));
      }
    });
    settle();
  }
  // The node ends pods that are being deleted.
  void node_ends_deleted() {
    for (const Object& pod : pods()) {
      if (pod.deleting()) {
        EXPECT_TRUE(world
                        .apply([&] {
                          Plan plan;
                          plan.then(Delete{.target = {&api::kPod, pod.key()}, .grace_seconds = 0});
                          return plan;
                        }())
                        .ok());
      }
    }
    settle();
  }
  // "Complete=True CompletionsReached: Reached ...".
  std::string condition(const std::string& type) {
    const Value found = world.condition(api::kJob, {"ns", "j"}, type);
    return found["status"].str() + " " + found["reason"].str() + ": " + found["message"].str();
  }
  int tracked() {
    int count = 0;
    for (const Object& pod : pods()) {
      count += pod.has_finalizer(kTrackingFinalizer) ? 1 : 0;
    }
    return count;
  }

  test::FakeWorld world{};
};

TEST_F(JobTest, MakesAPodFromItsTemplate) {
  job("parallelism: 1, completions: 1");
  ASSERT_EQ(pods().size(), 1U);
  const Object pod = pods()[0];
  EXPECT_EQ(pod.name().size(), std::string_view("j-12345").size());
  EXPECT_EQ(pod.name().substr(0, 2), "j-");
  EXPECT_EQ(pod.label("app"), "x");
  EXPECT_TRUE(pod.has_finalizer(kTrackingFinalizer));
  EXPECT_EQ(pod.controller()->kind, "Job");
  EXPECT_TRUE(pod.controller()->block_owner_deletion);
  EXPECT_EQ(status()["active"].as_int(), 1);
  EXPECT_EQ(status()["ready"].as_int(), 0);
  EXPECT_EQ(status()["startTime"].str(), format_time(world.now));
  EXPECT_EQ(world.event_count("SuccessfulCreate", "j"), 1);
}

TEST_F(JobTest, TakesBackAPodThatLostItsOwner) {
  job("selector: {matchLabels: {app: x}}");
  const Object pod = pods().at(0);
  world.update(api::kPod, pod.key(), [](Value& body) {
    body.erase_path({"metadata", "ownerReferences"});
  });
  settle();
  ASSERT_EQ(pods().size(), 1U) << "none is made beside it";
  ASSERT_TRUE(pods().at(0).controller().has_value());
  EXPECT_EQ(pods().at(0).controller()->uid, world.must(api::kJob, {"ns", "j"}).uid());
}

TEST_F(JobTest, RemovesFinalizerOfPodThatLeft) {
  job("selector: {matchLabels: {app: x}}");
  const Object pod = pods().at(0);
  world.update(api::kPod, pod.key(), [](Value& body) {
    body.erase_path({"metadata", "ownerReferences"});
    body.set_path({"metadata", "labels", "app"}, "other");
  });
  settle();
  EXPECT_FALSE(world.must(api::kPod, pod.key()).has_finalizer(kTrackingFinalizer));
}

TEST_F(JobTest, RemovesFinalizersOfPodsWithoutJob) {
  job("selector: {matchLabels: {app: x}}");
  const Object pod = pods().at(0);
  world.update(api::kPod, pod.key(), [](Value& body) {
    body.erase_path({"metadata", "ownerReferences"});  // kubectl delete --cascade=orphan
  });
  world.remove(api::kJob, {"ns", "j"});
  settle();
  EXPECT_FALSE(world.must(api::kPod, pod.key()).has_finalizer(kTrackingFinalizer));
}

TEST_F(JobTest, CompletesWhenItsPodSucceeds) {
  job("parallelism: 1, completions: 1");
  become(pods()[0], "Running");
  world.advance(seconds(5));
  become(pods()[0], "Succeeded");
  EXPECT_EQ(condition("SuccessCriteriaMet"),
            "True CompletionsReached: Reached expected number of succeeded pods");
  EXPECT_EQ(condition("Complete"),
            "True CompletionsReached: Reached expected number of succeeded pods");
  EXPECT_EQ(status()["succeeded"].as_int(), 1);
  EXPECT_FALSE(status().contains("active"));
  EXPECT_EQ(status()["completionTime"].str(), format_time(world.now));
  EXPECT_EQ(json::print(status()["uncountedTerminatedPods"]), "{}");
  EXPECT_EQ(tracked(), 0);
  EXPECT_EQ(world.event_count("Completed", "j"), 1);
  const std::size_t written = world.writes.size();
  pass(hours(1));
  EXPECT_EQ(world.writes.size(), written);
}

TEST_F(JobTest, RunsAtMostParallelismAndCountsToCompletions) {
  job("parallelism: 3, completions: 5");
  std::set<std::string> names;
  for (int done = 0; done < 5; ++done) {
    EXPECT_EQ(running().size(), std::min<std::size_t>(3, 5U - static_cast<unsigned>(done)));
    for (const Object& pod : running()) {
      names.emplace(pod.name());
    }
    become(running()[0], "Succeeded");
  }
  EXPECT_EQ(names.size(), 5U);
  EXPECT_EQ(status()["succeeded"].as_int(), 5);
  EXPECT_EQ(condition("Complete").substr(0, 4), "True");
}

TEST_F(JobTest, EndsWorkQueueOnceSucceededAndEmpty) {
  job("parallelism: 2");
  EXPECT_EQ(running().size(), 2U);
  become(running()[0], "Succeeded");
  EXPECT_EQ(running().size(), 1U);
  EXPECT_EQ(condition("Complete"), " : ");
  become(running()[0], "Succeeded");
  EXPECT_EQ(condition("Complete").substr(0, 4), "True");
}

TEST_F(JobTest, FailsBeyondItsBackoffLimit) {
  job("parallelism: 1, completions: 1, backoffLimit: 1");
  become(running()[0], "Failed");
  EXPECT_TRUE(running().empty()) << "the next pod waits ten seconds";
  pass(seconds(9));
  EXPECT_TRUE(running().empty());
  pass(seconds(2));
  ASSERT_EQ(running().size(), 1U);
  become(running()[0], "Failed");
  EXPECT_EQ(condition("FailureTarget"),
            "True BackoffLimitExceeded: Job has reached the specified backoff limit");
  EXPECT_EQ(condition("Failed"),
            "True BackoffLimitExceeded: Job has reached the specified backoff limit");
  EXPECT_EQ(status()["failed"].as_int(), 2);
  EXPECT_FALSE(status().contains("completionTime"));
  EXPECT_EQ(tracked(), 0);
  EXPECT_EQ(world.event_count("BackoffLimitExceeded", "j"), 1);
  pass(hours(1));
  EXPECT_EQ(pods().size(), 2U);
}

TEST_F(JobTest, FailuresInARowDoubleTheWait) {
  job("parallelism: 1, completions: 1, backoffLimit: 20");
  for (const int wait : {10, 20, 40, 80, 160, 320, 600, 600}) {
    become(running()[0], "Failed");
    pass(seconds(wait - 1));
    EXPECT_TRUE(running().empty()) << wait;
    pass(seconds(1));
    ASSERT_EQ(running().size(), 1U) << wait;
  }
}

TEST_F(JobTest, TheFailingJobTakesItsOtherPodsDown) {
  job("parallelism: 3, completions: 3, backoffLimit: 0");
  for (const Object& pod : running()) {
    become(pod, "Running");
  }
  become(running()[0], "Failed");
  EXPECT_EQ(condition("FailureTarget").substr(0, 4), "True");
  EXPECT_EQ(condition("Failed"), " : ") << "pods are still ending";
  EXPECT_EQ(status()["terminating"].as_int(), 2);
  node_ends_deleted();
  EXPECT_EQ(condition("Failed").substr(0, 4), "True");
  EXPECT_EQ(status()["failed"].as_int(), 3);
  EXPECT_EQ(status()["terminating"].as_int(), 0);
}

TEST_F(JobTest, EndsAtItsDeadline) {
  job("parallelism: 1, completions: 1, activeDeadlineSeconds: 60");
  become(running()[0], "Running");
  pass(seconds(59));
  EXPECT_EQ(running().size(), 1U);
  pass(seconds(1));
  node_ends_deleted();
  EXPECT_EQ(condition("Failed"),
            "True DeadlineExceeded: Job was active longer than specified deadline");
  EXPECT_EQ(world.event_count("DeadlineExceeded", "j"), 1);
}

TEST_F(JobTest, RestartsInsideAPodCountWithOnFailure) {
  job("parallelism: 1, completions: 1, backoffLimit: 2");
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "template", "spec", "restartPolicy"}, "OnFailure");
  });
  world.update(api::kPod, running()[0].key(), [](Value& body) {
    body.set_path({"status", "phase"}, "Running");
    body.set_path({"status", "containerStatuses"},
                  Value::list({Value::object({{"name", "c"}, {"restartCount", 2}})}));
  });
  settle();
  node_ends_deleted();
  EXPECT_EQ(condition("Failed").substr(0, 25), "True BackoffLimitExceeded");
}

TEST_F(JobTest, SuspendedItHasNoPodsAndNoStart) {
  job("parallelism: 2, completions: 2, suspend: true");
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(condition("Suspended"), "True JobSuspended: Job suspended");
  EXPECT_FALSE(status().contains("startTime"));
  world.advance(minutes(5));
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "suspend"}, false);
  });
  settle();
  EXPECT_EQ(running().size(), 2U);
  EXPECT_EQ(condition("Suspended"), "False JobResumed: Job resumed");
  EXPECT_EQ(status()["startTime"].str(), format_time(world.now));
  for (const Object& pod : running()) {
    become(pod, "Running");
  }
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "suspend"}, true);
  });
  settle();
  EXPECT_EQ(status()["terminating"].as_int(), 2);
  node_ends_deleted();
  EXPECT_TRUE(pods().empty());
  EXPECT_FALSE(status().contains("failed")) << "suspending is no failure";
  EXPECT_EQ(world.event_count("Suspended", "j"), 2);
  EXPECT_EQ(world.event_count("Resumed", "j"), 1);
}

TEST_F(JobTest, IndexedPodsKnowTheirIndexes) {
  job("parallelism: 3, completions: 4, completionMode: Indexed");
  std::set<std::int64_t> indexes;
  for (const Object& pod : running()) {
    indexes.insert(index_of(pod));
    const std::string index = std::to_string(index_of(pod));
    EXPECT_EQ(pod.label(kIndexKey), index);
    EXPECT_EQ(pod.spec()["hostname"].str(), "j-" + index);
    EXPECT_EQ(pod.name().substr(0, 4), "j-" + index + "-");
    EXPECT_EQ(pod.spec()["containers"][0]["env"][0]["name"].str(), "JOB_COMPLETION_INDEX");
  }
  EXPECT_EQ(indexes, (std::set<std::int64_t>{0, 1, 2}));
  become(running()[1], "Succeeded");
  EXPECT_EQ(status()["completedIndexes"].str(), "1");
  become(running()[0], "Failed");
  pass(seconds(10));
  ASSERT_EQ(running().size(), 3U);
  EXPECT_EQ(index_of(running()[0]), 0) << "a failed index runs again";
  while (!running().empty()) {
    become(running()[0], "Succeeded");
  }
  EXPECT_EQ(status()["completedIndexes"].str(), "0-3");
  EXPECT_EQ(status()["succeeded"].as_int(), 4);
  EXPECT_EQ(condition("Complete").substr(0, 4), "True");
}

TEST_F(JobTest, LessParallelismRemovesPodsWithoutCountingThem) {
  job("parallelism: 4, completions: 9");
  const Object kept = running()[2];
  become(kept, "Running");
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "parallelism"}, 1);
  });
  settle();
  node_ends_deleted();
  ASSERT_EQ(running().size(), 1U);
  EXPECT_EQ(running()[0].name(), kept.name()) << "pods without a node go first";
  EXPECT_FALSE(status().contains("failed"));
  EXPECT_EQ(status()["active"].as_int(), 1);
}

TEST_F(JobTest, ReplacesDeletedPodsByPolicy) {
  struct Case {
    const char* policy;
    std::size_t while_ending;
    int failed_while_ending;
  };
  for (const Case& c : {Case{"TerminatingOrFailed", 1, 1}, Case{"Failed", 0, 0}}) {
    world.remove(api::kJob, {"ns", "j"});
    for (const Object& pod : pods()) {
      world.remove(api::kPod, pod.key());
    }
    node_ends_deleted();
    job(std::string("parallelism: 1, completions: 1, podReplacementPolicy: ") + c.policy);
    become(running()[0], "Running");
    world.remove(api::kPod, running()[0].key());
    settle();
    EXPECT_EQ(running().size(), c.while_ending) << c.policy;
    EXPECT_EQ(status()["failed"].as_int(), c.failed_while_ending) << c.policy;
    EXPECT_EQ(status()["terminating"].as_int(), 1) << c.policy;
  }
}

TEST_F(JobTest, GoesWhenItsTimeToLiveIsOver) {
  job("parallelism: 1, completions: 1, ttlSecondsAfterFinished: 100");
  become(running()[0], "Succeeded");
  pass(seconds(99));
  EXPECT_TRUE(world.has(api::kJob, {"ns", "j"}));
  pass(seconds(1));
  EXPECT_FALSE(world.has(api::kJob, {"ns", "j"}));
}

TEST_F(JobTest, PodsOfADeletedJobAreFreed) {
  job("parallelism: 2, completions: 2");
  EXPECT_EQ(tracked(), 2);
  world.remove(api::kJob, {"ns", "j"}, Propagation::Background);
  settle();
  EXPECT_TRUE(pods().empty());
}

TEST_F(JobTest, OthersJobsAreLeftAlone) {
  job("parallelism: 1, completions: 1, managedBy: kueue.x-k8s.io/multikueue");
  EXPECT_TRUE(pods().empty());
  EXPECT_TRUE(world.writes.empty());
}

TEST_F(JobTest, AStaleViewMakesNothingTwice) {
  job("parallelism: 3, completions: 3, suspend: true");
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "suspend"}, false);
  });
  const Plan plan = world.reconcile(job_operator(), {"ns", "j"});
  ASSERT_TRUE(world.apply(plan, "job-controller").ok());
  EXPECT_EQ(pods().size(), 3U);
  static_cast<void>(world.apply(plan, "job-controller"));  // as after a crash, from an old cache
  EXPECT_EQ(pods().size(), 3U);
}

TEST_F(JobTest, ReportsAndRetriesRefusedPod) {
  world.fault = [](const Step& step) {
    return std::holds_alternative<Create>(step)
               ? std::optional(Error{.code = 403, .reason = "Forbidden", .message = "no quota"})
               : std::nullopt;
  };
  job("parallelism: 1, completions: 1");
  const Plan plan = world.reconcile(job_operator(), {"ns", "j"});
  for (const auto& query :
       {refusals_query(plan.steps().front()), refusal_query(plan.steps().front())}) {
    world.fail_observation(query, Error{.code = 403, .reason = "Forbidden", .message = "no quota"});
  }
  settle();
  EXPECT_GE(world.event_count("FailedCreate", "j"), 1);
  EXPECT_EQ(world.events.front().note, "Error creating: no quota");
  EXPECT_TRUE(status().contains("startTime")) << "the status does not wait for the pod";
  world.fault = nullptr;
  pass(hours(1));
  EXPECT_EQ(running().size(), 1U);
}

TEST_F(JobTest, EveryCrashPointCountsEachPodOnce) {
  for (int crash_after = 0; crash_after < 4; ++crash_after) {
    test::FakeWorld fresh;
    fresh.put(yaml::parse("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ns}, "
                          "spec: {parallelism: 2, completions: 2, template: {spec: {containers: "
                          "[{name: c}]}}}}")
                  .value());
    fresh.settle({&job_operator()});
    for (const Object& pod : fresh.list(api::kPod)) {
      fresh.update(api::kPod, pod.key(), [](Value& body) {
        body.set_path({"status", "phase"}, "Succeeded");
      });
    }
    Plan plan = fresh.reconcile(job_operator(), {"ns", "j"});
    plan.steps().resize(std::min(plan.steps().size(), static_cast<std::size_t>(crash_after)));
    ASSERT_TRUE(fresh.apply(plan, "job-controller").ok());
    fresh.restart();
    fresh.settle({&job_operator()});
    const Value status = fresh.must(api::kJob, {"ns", "j"}).status();
    EXPECT_EQ(status["succeeded"].as_int(), 2) << crash_after;
  }
}

TEST_F(JobTest, ManyPodsAreMadeInBoundedPlans) {
  job("parallelism: 1000, completions: 1000, suspend: true");
  world.update(api::kJob, {"ns", "j"}, [](Value& body) {
    body.set_path({"spec", "suspend"}, false);
  });
  EXPECT_LE(world.reconcile(job_operator(), {"ns", "j"}).steps().size(), 500U);
  settle();
  EXPECT_EQ(running().size(), 1000U);
  EXPECT_EQ(status()["active"].as_int(), 1000);
}

TEST(JobIndexes, ReadAsKubernetesWritesThem) {
  struct Case {
    Indexes indexes;
    const char* text;
  };
  const Case cases[] = {
      {{}, ""},           {{4}, "4"},           {{1, 3, 4, 5, 7}, "1,3-5,7"}, {{0, 1}, "0,1"},
      {{0, 1, 2}, "0-2"}, {{0, 2, 3}, "0,2,3"}, {{9, 10, 11}, "9-11"}};
  for (const Case& c : cases) {
    EXPECT_EQ(format_indexes(c.indexes), c.text);
    EXPECT_EQ(parse_indexes(c.text, 100), c.indexes) << c.text;
  }
  EXPECT_EQ(parse_indexes("0-5,x,8-", 3), (Indexes{0, 1, 2}));
}

// What a container's end looks like.
void exit_with(test::FakeWorld& world, const Object& pod, int code) {
  world.update(api::kPod, pod.key(), [&](Value& body) {
    body.set_path({"spec", "nodeName"}, "n1");
    body.set_path({"status", "phase"}, code == 0 ? "Succeeded" : "Failed");
    const Value end = Value::object({{"exitCode", code}, {"finishedAt", format_time(world.now)}});
    body.set_path({"status", "containerStatuses"},
                  Value::list({Value::object(
                      {{"name", "c"}, {"state", Value::object({{"terminated", end}})}})}));
  });
}

TEST_F(JobTest, AFailurePolicyEndsTheJobAtOnce) {
  job("parallelism: 2, completions: 2, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: "
      "{containerName: c, operator: In, values: [42]}}]}");
  const Object pod = running()[0];
  exit_with(world, pod, 42);
  settle();
  node_ends_deleted();
  const Value failed = world.condition(api::kJob, {"ns", "j"}, "Failed");
  EXPECT_EQ(failed["reason"].str(), "PodFailurePolicy");
  EXPECT_EQ(failed["message"].str(),
            "Container c for pod ns/" + std::string(pod.name()) +
                " failed with exit code 42 matching FailJob rule at index 0");
}

TEST_F(JobTest, IgnoredFailuresDoNotCount) {
  job("backoffLimit: 0, podReplacementPolicy: Failed, podFailurePolicy: {rules: [{action: Ignore, "
      "onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}");
  for (int i = 0; i < 3; ++i) {
    const Object pod = running().at(0);
    world.update(api::kPod, pod.key(), [&](Value& body) {
      body.set_path({"status", "phase"}, "Failed");
      body.set_path(
          {"status", "conditions"},
          Value::list({Value::object({{"type", "DisruptionTarget"}, {"status", "True"}})}));
    });
    pass(minutes(20));
  }
  EXPECT_EQ(running().size(), 1U);
  EXPECT_FALSE(status().contains("failed"));
}

TEST_F(JobTest, EveryIndexHasItsOwnLimit) {
  job("completionMode: Indexed, completions: 2, parallelism: 2, backoffLimitPerIndex: 1, "
      "backoffLimit: 2147483647");
  const auto pod_of = [&](std::int64_t index) {
    for (const Object& pod : running()) {
      if (index_of(pod) == index) {
        return pod;
      }
    }
    return Object{};
  };
  EXPECT_EQ(status()["failedIndexes"], Value(""));
  exit_with(world, pod_of(0), 1);
  pass(minutes(1));
  ASSERT_TRUE(pod_of(0).body().is_object());
  EXPECT_EQ(pod_of(0).annotation("batch.kubernetes.io/job-index-failure-count"), "1");
  exit_with(world, pod_of(0), 1);
  pass(minutes(10));
  EXPECT_EQ(status()["failedIndexes"].str(), "0");
  EXPECT_FALSE(pod_of(0).body().is_object());
  exit_with(world, pod_of(1), 0);
  settle();
  const Value failed = world.condition(api::kJob, {"ns", "j"}, "Failed");
  EXPECT_EQ(failed["reason"].str(), "FailedIndexes");
  EXPECT_EQ(failed["message"].str(), "Job has failed indexes");
  EXPECT_EQ(status()["completedIndexes"].str(), "1");
}

TEST_F(JobTest, TooManyFailedIndexesEndTheJob) {
  job("completionMode: Indexed, completions: 3, parallelism: 3, backoffLimitPerIndex: 0, "
      "maxFailedIndexes: 0, backoffLimit: 2147483647");
  exit_with(world, running()[0], 1);
  settle();
  node_ends_deleted();
  EXPECT_EQ(world.condition(api::kJob, {"ns", "j"}, "Failed")["reason"].str(),
            "MaxFailedIndexesExceeded");
}

TEST_F(JobTest, ASuccessPolicyIsEnough) {
  job("completionMode: Indexed, completions: 3, parallelism: 3, successPolicy: {rules: "
      "[{succeededIndexes: '0,2', succeededCount: 1}]}");
  for (const Object& pod : running()) {
    if (index_of(pod) == 2) {
      exit_with(world, pod, 0);
    }
  }
  settle();
  node_ends_deleted();
  const Value complete = world.condition(api::kJob, {"ns", "j"}, "Complete");
  EXPECT_EQ(complete["reason"].str(), "SuccessPolicy");
  EXPECT_EQ(complete["message"].str(), "Matched rules at index 0");
}

}  // namespace
}  // namespace athanor::workloads::job_test
