// SPDX-License-Identifier: Apache-2.0
// Locks: what scenario files cannot say (identity of the sentinel, types of events), and sentinels
// that fail, are lost or cannot be read (docs/spec/hearth.md section 9).
#include "lab.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::hearth::lock_test {
namespace {

class Locks : public Lab {
 protected:
  Locks() { onboard("c1"); }
  [[nodiscard]] bool has_sentinel(const std::string& name = "cluster-lock-c1") const {
    return world.has(api::kFournosJob, {kJobs, name});
  }
  [[nodiscard]] Object sentinel(const std::string& name = "cluster-lock-c1") const {
    return world.must(api::kFournosJob, {kJobs, name});
  }
  void hold(const std::string& owner, const std::string& ttl = "") {
    set_owner("c1", owner, ttl);
    sentinel_is("cluster-lock-c1", true);
  }
  // Out of the lists, as the engine reports it; the view keeps showing what is there.
  void hide(const Kind& kind) {
    world.fail_observation(unreadable_query(kind), {.code = 403, .reason = "Forbidden"});
  }
  std::string lock_state() { return status("c1")["lockState"].str(); }
};

TEST_F(Locks, FromRequestToHeldToReleased) {
  set_owner("c1", "alice", "2h");
  Value now = status("c1");
  EXPECT_EQ(now["locked"], Value(true));
  EXPECT_EQ(now["lockState"], Value("Acquiring"));
  EXPECT_EQ(now["lockJobName"], Value("cluster-lock-c1"));
  EXPECT_EQ(now["ownerSetAt"], Value(format_time(world.now)));
  EXPECT_EQ(now["lockExpiresAt"], Value(format_time(world.now + std::chrono::hours(2))));
  sentinel_is("cluster-lock-c1", true);
  EXPECT_EQ(lock_state(), "Held");
  EXPECT_EQ(condition("c1", "Locked"), "True/Held held by alice");
  EXPECT_EQ(world.event_count("LockAcquiring", "c1"), 1);
  EXPECT_EQ(world.event_count("LockHeld", "c1"), 1);
  set_owner("c1", "");
  EXPECT_FALSE(has_sentinel());
  now = status("c1");
  EXPECT_EQ(now["locked"], Value(false));
  EXPECT_EQ(now["lockState"], Value("Unlocked"));
  for (const char* key : {"lockExpiresAt", "ownerSetAt", "lockJobName"}) {
    EXPECT_FALSE(now.contains(key)) << key;
  }
  EXPECT_EQ(cluster("c1").spec()["ttl"], Value("2h"));
  EXPECT_EQ(world.event_count("LockReleased", "c1"), 1);
}

TEST_F(Locks, ExpiresOnTime) {  // A12, A13
  hold("alice", "30m");
  pass(std::chrono::minutes(20));
  EXPECT_EQ(world.event_count("LockExpiresSoon", "c1"), 1);
  const Value before = status("c1")["lockExpiresAt"];
  world.restart();
  settle();
  EXPECT_EQ(status("c1")["lockExpiresAt"], before);
  pass(std::chrono::minutes(9) + std::chrono::seconds(59));
  EXPECT_TRUE(has_sentinel());
  pass(std::chrono::seconds(1));
  EXPECT_FALSE(has_sentinel());
  EXPECT_EQ(cluster("c1").spec()["owner"], Value(""));
  EXPECT_EQ(condition("c1", "Locked"), "False/Expired the lock of alice expired");
  EXPECT_EQ(world.event_count("LockExpired", "c1"), 1);
  EXPECT_EQ(world.event_count("LockExpiresSoon", "c1"), 1);
  EXPECT_EQ(world.event_count("LockReleased", "c1"), 0);
  set_owner("c1", "alice");
  EXPECT_EQ(lock_state(), "Acquiring");
}

TEST_F(Locks, NoTimeAtAllIsOverAtOnce) {
  set_owner("c1", "alice", "0m");
  EXPECT_EQ(cluster("c1").spec()["owner"], Value(""));
  EXPECT_EQ(world.events.back().type + world.events.back().reason, "WarningLockExpired");
}

TEST_F(Locks, HandOverNeverLetsGo) {  // A14
  hold("alice", "1h");
  const std::string uid(sentinel().uid());
  pass(std::chrono::minutes(30));
  set_owner("c1", "bob");
  EXPECT_EQ(sentinel().uid(), uid);
  EXPECT_EQ(sentinel().spec()["owner"], Value("bob"));
  EXPECT_EQ(sentinel().spec()["displayName"], Value("Cluster lock: c1 (owner: bob)"));
  EXPECT_EQ(status("c1")["lockExpiresAt"], Value(format_time(world.now + std::chrono::hours(1))));
  EXPECT_EQ(lock_state(), "Held");
}

TEST_F(Locks, ADeletedSentinelComesBack) {  // A15
  hold("alice", "1h");
  const Value since = status("c1")["ownerSetAt"];
  pass(std::chrono::minutes(1));
  world.remove(api::kueue::kWorkload, {kJobs, "cluster-lock-c1"});
  world.remove(api::kFournosJob, {kJobs, "cluster-lock-c1"});
  settle();
  EXPECT_TRUE(has_sentinel());
  EXPECT_EQ(lock_state(), "Lost");
  EXPECT_EQ(status("c1")["ownerSetAt"], since);
  sentinel_is("cluster-lock-c1", true);
  EXPECT_EQ(lock_state(), "Held");
  EXPECT_EQ(world.event_count("LockLost", "c1"), 1);
}

TEST_F(Locks, UpstreamsSentinelIsAdopted) {  // D1, A19
  put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: hearth-lock-c1, namespace: "
      "psap-automation, labels: {fournos.dev/cluster-lock: c1}}, spec: {cluster: c1, lockOnly: "
      "true, owner: alice}}");
  world.update(api::kFournosCluster, key("c1"), [](Value& object) {
    object.set_path({"spec", "owner"}, "alice");
    object.set_path({"spec", "ttl"}, "1h");
    object.set_path({"status", "locked"}, true);
    object.set_path({"status", "lockJobName"}, "hearth-lock-c1");
    object.set_path({"status", "ownerSetAt"}, "2026-01-04T23:50:00.123456+00:00");
  });
  settle();
  EXPECT_FALSE(has_sentinel());
  EXPECT_EQ(status("c1")["lockJobName"], Value("hearth-lock-c1"));
  EXPECT_EQ(status("c1")["lockExpiresAt"], Value("2026-01-05T00:50:00Z"));
  set_owner("c1", "");
  EXPECT_FALSE(has_sentinel("hearth-lock-c1"));
}

TEST_F(Locks, RestartFailedSentinelWithGrowingDelay) {
  set_owner("c1", "alice");
  const auto fail_it = [&] {
    world.update(api::kFournosJob, {kJobs, "cluster-lock-c1"}, [&](Value& object) {
      object.set_path({"status", "phase"}, "Failed");
      object.set_path({"status", "message"}, "Cluster 'c1' not found");
      object.set_path({"status", "completionTime"}, format_time(world.now));
    });
    settle();
  };
  fail_it();
  EXPECT_EQ(lock_state(), "Failed");
  EXPECT_EQ(condition("c1", "Locked"), "False/SentinelFailed Cluster 'c1' not found");
  std::string uid(sentinel().uid());
  for (const int seconds : {5, 10, 20}) {
    pass(std::chrono::seconds(seconds - 1));
    EXPECT_EQ(sentinel().uid(), uid) << seconds;
    pass(std::chrono::seconds(1));
    EXPECT_NE(sentinel().uid(), uid) << seconds;
    uid = sentinel().uid();
    EXPECT_EQ(sentinel().status()["phase"], Value());
    fail_it();
  }
}

// docs/spec/hearth.md 9.5
TEST_F(Locks, FairAcquisition) {
  workload("job-a", "c1", 1);
  settle();
  set_owner("c1", "alice");
  sentinel_is("cluster-lock-c1", false);
  EXPECT_EQ(queue(), "c1 cluster-slot=1 gpu-a100=16");
  EXPECT_EQ(condition("c1", "Locked"), "False/Acquiring waiting for 1 running workload: job-a");
  EXPECT_EQ(cluster("c1").annotation("fournos.dev/slot-quota"), "100");
  world.restart();
  settle();
  EXPECT_EQ(queue(), "c1 cluster-slot=1 gpu-a100=16");
  world.remove(api::kueue::kWorkload, {kJobs, "job-a"});
  settle();
  EXPECT_EQ(queue(), "c1 cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(cluster("c1").annotation("fournos.dev/slot-quota"), "");
  sentinel_is("cluster-lock-c1", true);
  EXPECT_EQ(lock_state(), "Held");
  EXPECT_EQ(status("c1")["activeWorkloads"].as_int(), 1);
}

TEST_F(Locks, UnlockingWhileItWaitsOpensTheDoor) {
  workload("job-a", "c1", 3);
  settle();
  set_owner("c1", "alice");
  EXPECT_EQ(queue(), "c1 cluster-slot=3 gpu-a100=16");
  set_owner("c1", "");
  EXPECT_EQ(queue(), "c1 cluster-slot=100 gpu-a100=16");
  EXPECT_FALSE(has_sentinel());
}

TEST_F(Locks, AnEvictedSentinelIsLost) {
  hold("alice");
  world.update(api::kueue::kWorkload, {kJobs, "cluster-lock-c1"}, [](Value& object) {
    object.set_path({"status", "conditions"}, *yaml::parse("[{type: Evicted, status: \"True\"}]"));
  });
  settle();
  EXPECT_EQ(lock_state(), "Lost");
  EXPECT_TRUE(condition("c1", "Locked").starts_with("False/SentinelLost"));
}

TEST_F(Locks, ReleaseIsAnnouncedOnceTheSentinelIsGone) {
  hold("alice");
  world.update(api::kFournosJob, {kJobs, "cluster-lock-c1"}, [](Value& object) {
    object.set_path({"metadata", "finalizers"}, Value::list({"example.com/slow"}));
  });
  set_owner("c1", "");
  EXPECT_TRUE(sentinel().deleting());
  EXPECT_EQ(status("c1")["locked"], Value(true));
  EXPECT_EQ(lock_state(), "Held");
  EXPECT_EQ(condition("c1", "Locked"), "True/Releasing waiting for cluster-lock-c1 to go");
  EXPECT_EQ(world.event_count("LockReleased", "c1"), 0);
  world.update(api::kFournosJob, {kJobs, "cluster-lock-c1"}, [](Value& object) {
    object.erase_path({"metadata", "finalizers"});
  });
  settle();
  EXPECT_EQ(lock_state(), "Unlocked");
  EXPECT_EQ(world.event_count("LockReleased", "c1"), 1);
}

// As with upstream's role: FournosJobs may be got and deleted, not listed; Workloads not even that.
TEST_F(Locks, WithoutListsSentinelsAreReadByName) {
  hide(api::kFournosJob);
  hide(api::kueue::kWorkload);
  settle();
  set_owner("c1", "alice");
  ASSERT_TRUE(has_sentinel());
  EXPECT_EQ(lock_state(), "Acquiring");
  world.update(api::kFournosJob, {kJobs, "cluster-lock-c1"}, [](Value& object) {
    object.set_path({"status", "phase"}, "Admitted");
  });
  pass(std::chrono::seconds(7));
  EXPECT_EQ(lock_state(), "Held");
  set_owner("c1", "");
  pass(std::chrono::seconds(5));
  EXPECT_FALSE(has_sentinel());
  EXPECT_EQ(lock_state(), "Unlocked");
  EXPECT_EQ(world.event_count("LockReleased", "c1"), 1);
  set_owner("c1", "bob");
  ASSERT_TRUE(has_sentinel());
  world.remove(api::kFournosCluster, key("c1"));
  pass(std::chrono::seconds(10));
  EXPECT_FALSE(has_sentinel());
  EXPECT_FALSE(has("c1"));
}

TEST_F(Locks, KeepUnreadableSentinelHeld) {
  hold("alice");
  hide(api::kFournosJob);
  const auto truth = world.probes["live"];
  world.probes["live"] = [](test::FakeWorld&, std::string_view) {
    return Result<Value>(Error{.code = 403, .reason = "Forbidden", .message = "not you"});
  };
  set_owner("c1", "");
  pass(std::chrono::minutes(1));
  EXPECT_EQ(lock_state(), "Held");
  EXPECT_EQ(condition("c1", "Locked"), "True/Releasing the lock's job cannot be read: not you");
  world.probes["live"] = truth;
  pass(std::chrono::minutes(1));
  EXPECT_FALSE(has_sentinel());
  EXPECT_EQ(lock_state(), "Unlocked");
}

TEST_F(Locks, RetryRefusedSentinels) {  // R9
  world.fault = [](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return create != nullptr && create->target.kind == &api::kFournosJob
               ? std::optional(Error::not_found("namespaces \"psap-automation\" not found"))
               : std::nullopt;
  };
  set_owner("c1", "alice");
  EXPECT_EQ(status("c1")["locked"], Value(true));
  world.fault = {};
  pass(std::chrono::minutes(2));
  EXPECT_TRUE(has_sentinel());
}

}  // namespace
}  // namespace athanor::hearth::lock_test
