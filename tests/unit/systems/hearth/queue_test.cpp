// SPDX-License-Identifier: Apache-2.0
// The ClusterQueue's one writer (docs/spec/hearth.md 8.4 to 8.6).
#include "lab.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"

namespace athanor::hearth::queue_test {
namespace {

using QueueWriter = Lab;

int queue_writes(const test::FakeWorld& world) {
  return static_cast<int>(std::ranges::count_if(
      world.writes, [](const test::Write& write) { return write.kind == "ClusterQueue"; }));
}

TEST_F(QueueWriter, FiftyClustersAtOnce) {  // X3, A11
  for (int i = 10; i < 60; ++i) {
    target("c" + std::to_string(i), 1, 8);
    secret("kubeconfig-c" + std::to_string(i), kubeconfig());
  }
  settle();
  const Object object = world.must(api::kueue::kClusterQueue, {"", kQueue});
  EXPECT_EQ(object.spec()["resourceGroups"][0]["flavors"].size(), 50U);
  EXPECT_EQ(world.count(api::kueue::kResourceFlavor), 50U);
  for (int i = 10; i < 60; ++i) {
    EXPECT_EQ(condition("c" + std::to_string(i), "KueueSynced"), "True/Synced fournos/gpu-a100: 8");
  }
}

TEST_F(QueueWriter, MoreThanAQueueHolds) {
  for (int i = 10; i < 76; ++i) {
    secret("kubeconfig-c" + std::to_string(i), kubeconfig());
  }
  settle();
  const Object object = world.must(api::kueue::kClusterQueue, {"", kQueue});
  EXPECT_EQ(object.spec()["resourceGroups"][0]["flavors"].size(), 64U);
  int refused = 0;
  for (int i = 10; i < 76; ++i) {
    refused +=
        condition("c" + std::to_string(i), "KueueSynced").starts_with("False/QuotaLimit") ? 1 : 0;
  }
  EXPECT_EQ(refused, 2);
}

TEST_F(QueueWriter, WaitsForTheQueue) {  // A18
  world.remove(api::kueue::kClusterQueue, {"", kQueue});
  onboard("edge");
  EXPECT_EQ(condition("edge", "KueueSynced"),
            "False/ClusterQueueNotFound ClusterQueue fournos-queue does not exist");
  EXPECT_EQ(status("edge")["kubeconfigStatus"], Value("Valid"));
  put("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: fournos-queue}}");
  settle();
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
}

TEST_F(QueueWriter, AForeignFlavorIsNotTaken) {
  put("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: edge}, spec: "
      "{nodeLabels: {zone: a}}}");
  onboard("edge");
  EXPECT_TRUE(condition("edge", "KueueSynced").starts_with("False/FlavorConflict"));
  EXPECT_EQ(queue(), "");
  EXPECT_EQ(world.must(api::kueue::kResourceFlavor, {"", "edge"}).metadata()["labels"], Value());
}

// docs/spec/hearth.md 8.5
TEST_F(QueueWriter, CountsOneServerUnderTwoNamesOnce) {
  const auto identify = [&](const std::string& name, const std::string& id) {
    target(name, 2, 8);
    Value answer = targets.at(name).value();
    answer.set("clusterId", id);
    targets.insert_or_assign(name, Result<Value>(answer));
    secret("kubeconfig-" + name, kubeconfig());
    settle();
    world.advance(std::chrono::seconds(1));
  };
  identify("first", "uid-1");
  identify("again", "uid-1");
  identify("other", "uid-2");
  settle();
  EXPECT_EQ(queue(),
            "first cluster-slot=100 gpu-a100=16; again cluster-slot=0 gpu-a100=0; other "
            "cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(condition("again", "KueueSynced"),
            "False/SameCluster its API server is that of FournosCluster first, whose GPUs and "
            "slots count once; remove one of the two");
  EXPECT_EQ(condition("first", "KueueSynced"), "True/Synced fournos/gpu-a100: 16");
  world.remove(api::kSecret, {kSecrets, "kubeconfig-first"});
  world.remove(api::kFournosCluster, key("first"));
  settle();
  pass(std::chrono::seconds(5));
  EXPECT_EQ(condition("again", "KueueSynced"), "True/Synced fournos/gpu-a100: 16");
  EXPECT_EQ(queue(), "again cluster-slot=100 gpu-a100=16; other cluster-slot=100 gpu-a100=16");
}

// docs/spec/hearth.md 2.6
TEST_F(QueueWriter, NamesThatDoNotFitALabel) {
  const std::string name(64, 'a');
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: " + name +
      ", namespace: hearth}, spec: {kubeconfigSecret: s}}");
  settle();
  EXPECT_EQ(condition(name, "KueueSynced"),
            "False/Rejected the name is longer than 63 bytes, the limit of a node label's value");
  EXPECT_EQ(status(name)["kubeconfigStatus"], Value("Missing"));
  EXPECT_EQ(world.count(api::kueue::kResourceFlavor), 0U);
}

TEST_F(QueueWriter, ForeignEditsSurvive) {  // X4, E5, E8
  onboard("edge");
  world.update(api::kueue::kClusterQueue, {"", kQueue}, [](Value& object) {
    object.set_path({"spec", "cohortName"}, "all");
    Value& group = object.member("spec").member("resourceGroups").item(0);
    Value& slot = group.member("flavors").item(0).member("resources").item(0);
    slot.set("nominalQuota", "50");
  });
  onboard("more");
  const Object object = world.must(api::kueue::kClusterQueue, {"", kQueue});
  EXPECT_EQ(object.spec()["cohortName"], Value("all"));
  EXPECT_EQ(queue(), "edge cluster-slot=50 gpu-a100=16; more cluster-slot=100 gpu-a100=16");
}

void take_out(test::FakeWorld& world) {
  world.update(api::kueue::kClusterQueue, {"", kQueue}, [](Value& object) {
    object.set_path({"spec", "resourceGroups"}, Value::list());
  });
}

// docs/spec/hearth.md 8.5
TEST_F(QueueWriter, RepairsAndFights) {
  onboard("edge");
  for (int i = 1; i <= 6; ++i) {
    take_out(world);
    settle();
    EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16") << i;
    EXPECT_EQ(world.event_count("QuotaRepaired", "edge"), i);
    pass(std::chrono::seconds(1));
  }
  EXPECT_EQ(world.event_count("QuotaFightDetected", "edge"), 1);
  take_out(world);
  settle();
  EXPECT_EQ(queue(), "");
  EXPECT_TRUE(condition("edge", "KueueSynced").starts_with("False/Conflict"));
  pass(std::chrono::minutes(5));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  EXPECT_TRUE(condition("edge", "KueueSynced").starts_with("True/Synced"));
}

TEST_F(QueueWriter, RetriesRefusedPatches) {
  int tries = 0;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* patch = std::get_if<Patch>(&step);
    if (patch == nullptr || patch->target.kind != &api::kueue::kClusterQueue) {
      return std::nullopt;
    }
    ++tries;
    return Error{.code = 403, .reason = "Forbidden", .message = "admission webhook denied it"};
  };
  onboard("edge");
  EXPECT_GE(tries, 1);
  world.fault = {};
  pass(std::chrono::minutes(2));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
}

TEST_F(QueueWriter, ReportsEndlessConflicts) {  // X2
  const Ref ref{&api::kueue::kClusterQueue, {"", kQueue}};
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* patch = std::get_if<Patch>(&step);
    return patch != nullptr && patch->target.kind == ref.kind
               ? std::optional(Error::conflict("the object has been modified"))
               : std::nullopt;
  };
  world.fail_observation(contested_query(ref), Error::conflict("the object has been modified"));
  target("edge", 2, 8);
  secret("kubeconfig-edge", kubeconfig());
  world.settle_for(operators(), std::chrono::seconds(30));
  EXPECT_TRUE(condition("edge", "KueueSynced").starts_with("False/Conflict ClusterQueue"))
      << condition("edge", "KueueSynced");
  world.fault = {};
  world.forget_observation(contested_query(ref));
  pass(std::chrono::minutes(2));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  EXPECT_TRUE(condition("edge", "KueueSynced").starts_with("True/Synced"));
}

// docs/spec/hearth.md 8.5
TEST_F(QueueWriter, ReportsFlavorThatMayNotBeMade) {
  std::string query;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    if (create == nullptr || create->target.kind != &api::kueue::kResourceFlavor) {
      return std::nullopt;
    }
    query = refusal_query(step);
    return Error{.code = 403, .reason = "Forbidden", .message = "not you"};
  };
  target("edge", 2, 8);
  secret("kubeconfig-edge", kubeconfig());
  world.settle_for(operators(), std::chrono::seconds(30));
  EXPECT_EQ(condition("edge", "KueueSynced"),
            "False/Rejected cannot create resourceflavors.kueue.x-k8s.io: not you");
  world.fault = {};
  world.forget_observation(query);
  pass(std::chrono::minutes(2));
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
}

// docs/spec/hearth.md 8.6
TEST_F(QueueWriter, Cordons) {
  onboard("edge");
  edit("edge", [](Value& object) { object.set_path({"spec", "cordoned"}, true); });
  EXPECT_EQ(queue(), "edge cluster-slot=0 gpu-a100=16");
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "100");
  world.restart();
  settle();
  EXPECT_EQ(queue(), "edge cluster-slot=0 gpu-a100=16");
  edit("edge", [](Value& object) { object.set_path({"spec", "cordoned"}, false); });
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "");
  EXPECT_EQ(world.event_count("QuotaRepaired"), 0);
}

// What the API server holds of a kind, when it is not what the views show.
class OldViews : public Lab {
 protected:
  void truth_of(const std::string& kind, std::function<void(Value& object)> edit) {
    world.probes["live"] = [this, kind, edit = std::move(edit)](test::FakeWorld& seen,
                                                                std::string_view text) {
      Result<Value> answer = answers_(seen, text);
      const auto query = LiveQuery::parse(text);
      if (query && query->kind == kind && answer.ok()) {
        Value object = (*answer)["objects"][0];
        object.set_path({"metadata", "resourceVersion"}, "999999");
        edit(object);
        answer = LiveQuery::answer({Object(object)});
      }
      return answer;
    };
  }
  void views_are_new() { world.probes["live"] = answers_; }

 private:
  std::function<Result<Value>(test::FakeWorld&, std::string_view)> answers_ = world.probes["live"];
};

TEST_F(OldViews, ACordonThatIsOverClosesNothing) {
  onboard("edge");
  truth_of("FournosCluster", [](Value& object) { object.set_path({"spec", "cordoned"}, false); });
  edit("edge", [](Value& object) {
    object.set_path({"spec", "cordoned"}, true);
    object.set_path({"metadata", "annotations", "fournos.dev/slot-quota"}, "100");
  });
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
  views_are_new();
  pass(std::chrono::seconds(5));
  EXPECT_EQ(queue(), "edge cluster-slot=0 gpu-a100=16");
}

TEST_F(OldViews, IgnoreZeroSlotQuotaUntilViewsAreNew) {
  onboard("edge");
  world.update(api::kueue::kClusterQueue, {"", kQueue}, [](Value& object) {
    Value& flavor =
        object.member("spec").member("resourceGroups").item(0).member("flavors").item(0);
    flavor.member("resources").item(0).set("nominalQuota", 0);
  });
  truth_of("ClusterQueue", [](Value& /*object*/) {});
  edit("edge", [](Value& object) { object.set_path({"spec", "cordoned"}, true); });
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "");
  views_are_new();
  pass(std::chrono::seconds(5));
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "0") << "somebody wanted it so";
}

TEST_F(OldViews, KeepSlotQuotaUntilQueueIsKnownOpen) {
  onboard("edge");
  truth_of("ClusterQueue", [](Value& /*object*/) {});
  edit("edge", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/slot-quota"}, "100");
  });
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "100");
  views_are_new();
  pass(std::chrono::seconds(5));
  EXPECT_EQ(cluster("edge").annotation("fournos.dev/slot-quota"), "");
}

TEST_F(QueueWriter, AutoCordon) {
  onboard("edge");
  edit("edge", [](Value& object) {
    object.set_path({"metadata", "annotations", "fournos.dev/auto-cordon"}, "true");
  });
  world.remove(api::kSecret, {kSecrets, "kubeconfig-edge"});
  settle();
  EXPECT_EQ(queue(), "edge cluster-slot=0 gpu-a100=16");
  secret("kubeconfig-edge", kubeconfig());
  settle();
  EXPECT_EQ(queue(), "edge cluster-slot=100 gpu-a100=16");
}

TEST_F(QueueWriter, WritesNothingAtRest) {
  onboard("edge");
  const int before = queue_writes(world);
  world.restart();
  settle();
  pass(std::chrono::hours(1));
  EXPECT_EQ(queue_writes(world), before);
}

}  // namespace
}  // namespace athanor::hearth::queue_test
