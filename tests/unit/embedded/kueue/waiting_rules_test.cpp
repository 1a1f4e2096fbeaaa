// SPDX-License-Identifier: Apache-2.0
// What Athanor adds to the order of waiting (docs/spec/kueue.md 17): a longest wait per LocalQueue,
// and StrictFIFO flavor by flavor.
#include "embedded/kueue/rules/admission.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::waiting_rules_test {
namespace {

class MaxWait : public QueueWorld {
 protected:
  void local(const std::string& annotations) {
    world.configure("kueue", from_yaml("{waitForPodsReady: false}"));
    world.put(small_queue("q", "4"));
    world.put(
        from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: "
                  "q, namespace: bench, annotations: {" +
                  annotations + "}}, spec: {clusterQueue: q}}"));
  }
  // Two small ones run, a large one waits, and when the first ends another small one comes.
  void play(Duration waited) {
    run("small-1", "q", 2);
    run("small-2", "q", 2);
    run("large", "q", 4);
    world.advance(waited);
    submit("small-3", "q", 2);
    remove("small-1");
  }
};

TEST_F(MaxWait, LetsSmallOnesPassBeforeIt) {
  local("athanor.dev/max-wait: 30m");
  play(std::chrono::minutes(10));
  EXPECT_TRUE(admitted("small-3"));
}

TEST_F(MaxWait, HoldsTheQuotaAfterwards) {
  local("athanor.dev/max-wait: 30m");
  play(std::chrono::minutes(31));
  EXPECT_FALSE(admitted("small-3"));
  remove("small-2");
  EXPECT_TRUE(admitted("large"));
  EXPECT_FALSE(admitted("small-3"));
}

TEST_F(MaxWait, IgnoresWorkloadsThatNeverFit) {
  local("athanor.dev/max-wait: 1m");
  run("huge", "q", 40);
  world.advance(std::chrono::minutes(5));
  run("small", "q", 2);
  EXPECT_TRUE(admitted("small"));
}

class StrictPerFlavor : public QueueWorld {
 protected:
  void put(const std::string& annotations) {
    for (const char* name : {"f", "g"}) {
      world.put(flavor(name));
    }
    world.put(from_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: q, annotations: "
        "{" +
        annotations +
        "}}, spec: {namespaceSelector: {}, queueingStrategy: StrictFIFO, resourceGroups: "
        "[{coveredResources: [gpu], flavors: [{name: f, resources: [{name: gpu, nominalQuota: 4}]},"
        " {name: g, resources: [{name: gpu, nominalQuota: 4}]}]}]}}"));
    world.put(local_queue("q", "q"));
  }
  void on(const std::string& name, const std::string& flavor, int gpus) {
    world.advance(std::chrono::seconds(1));
    world.put(workload(name, "q", fmt::format("gpu: {}", gpus), "",
                       ", nodeSelector: {fournos.dev/cluster: " + flavor + "}"));
    settle();
  }
};

TEST_F(StrictPerFlavor, HoldsBackWorkloadsOfSameFlavorOnly) {
  put("athanor.dev/strict-fifo: PerFlavor");
  on("runs", "f", 2);
  on("head", "f", 4);
  on("behind", "f", 2);
  on("elsewhere", "g", 2);
  EXPECT_FALSE(admitted("behind"));
  EXPECT_TRUE(admitted("elsewhere"));
  remove("runs");
  EXPECT_TRUE(admitted("head"));
}

TEST_F(StrictPerFlavor, WithoutTheAnnotationAllBehindTheHeadWait) {
  put("");
  on("runs", "f", 2);
  on("head", "f", 4);
  on("elsewhere", "g", 2);
  EXPECT_FALSE(admitted("elsewhere"));
}

TEST(OwnAnnotations, AreCheckedWhenTheyAreWritten) {
  const auto refused = [](const std::string& text) {
    const auto valid = validate(from_yaml(text), nullptr);
    return valid.ok() ? "" : valid.error().message;
  };
  EXPECT_EQ(refused("{kind: LocalQueue, metadata: {annotations: {athanor.dev/max-wait: soon}}}"),
            "admission webhook \"vlocalqueue.kb.io\" denied the request: "
            "metadata.annotations[athanor.dev/max-wait]: Invalid value: \"soon\": must be a "
            "duration above 0, as 30m");
  EXPECT_EQ(refused("{kind: LocalQueue, metadata: {annotations: {athanor.dev/max-wait: 30m}}}"),
            "");
  EXPECT_EQ(refused("{kind: ClusterQueue, metadata: {annotations: {athanor.dev/strict-fifo: x}}, "
                    "spec: {queueingStrategy: StrictFIFO}}"),
            "admission webhook \"vclusterqueue.kb.io\" denied the request: "
            "metadata.annotations[athanor.dev/strict-fifo]: Unsupported value: \"x\": supported "
            "values: \"PerFlavor\"");
  EXPECT_EQ(
      refused("{kind: ClusterQueue, metadata: {annotations: {athanor.dev/strict-fifo: PerFlavor}}, "
              "spec: {queueingStrategy: BestEffortFIFO}}"),
      "admission webhook \"vclusterqueue.kb.io\" denied the request: "
      "metadata.annotations[athanor.dev/strict-fifo]: Invalid value: \"PerFlavor\": needs "
      "spec.queueingStrategy StrictFIFO");
}

}  // namespace
}  // namespace athanor::kueue::test::waiting_rules_test
