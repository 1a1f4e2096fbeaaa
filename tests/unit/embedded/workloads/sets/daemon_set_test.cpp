// SPDX-License-Identifier: Apache-2.0
// DaemonSets: which nodes, which pods, updates in place and with surge.
#include "embedded/workloads/sets/daemon_set.hpp"

#include <set>

#include "embedded/workloads/sets/daemon_set_nodes.hpp"
#include "embedded/workloads/sets/revisions.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::daemon_set_test {
namespace {

class DaemonSetTest : public WorkloadTest {
 protected:
  DaemonSetTest() : WorkloadTest({&daemon_set_operator()}) {
    for (const char* name : {"n1", "n2", "n3"}) {
      node(name);
    }
  }
  void node(const std::string& name, const std::string& spec = "{}") {
    put("{apiVersion: v1, kind: Node, metadata: {name: " + name +
        ", labels: {disk: ssd}}, spec: " + spec + "}");
  }
  void deploy(const std::string& more, const std::string& pod_spec = "") {
    put("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: ns, "
        "annotations: {deprecated.daemonset.template.generation: '1'}}, spec: {selector: "
        "{matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: "
        "[{name: c, image: v1}]" +
        pod_spec + "}}, " + more + "}}");
    settle();
  }
  void set_image(const std::string& image) {
    set_spec(api::kDaemonSet, {"ns", "agent"}, {"template", "spec", "containers"},
             Value::list({Value::object({{"name", "c"}, {"image", image}})}));
  }
  [[nodiscard]] std::string place_of(const Object& pod) const override { return node_of(pod); }
  void run_all() {
    make_all_ready();
    world.advance(std::chrono::seconds(1));
  }
  std::multiset<std::string> places() {
    std::multiset<std::string> all;
    for (const Object& pod : pods()) {
      all.insert(node_of(pod) + "=" + image_of(pod));
    }
    return all;
  }
  Value status() { return world.must(api::kDaemonSet, {"ns", "agent"}).status(); }
};

using Places = std::multiset<std::string>;

TEST_F(DaemonSetTest, PutsAPodOnEveryNode) {
  deploy("updateStrategy: {type: RollingUpdate}");
  EXPECT_EQ(places(), (Places{"n1=v1", "n2=v1", "n3=v1"}));
  const Object pod = pods()[0];
  EXPECT_TRUE(pod.name().starts_with("agent-"));
  EXPECT_EQ(pod.label("pod-template-generation"), "1");
  const auto revisions = world.list(api::kControllerRevision);
  ASSERT_EQ(revisions.size(), 1U);
  EXPECT_EQ(pod.label("controller-revision-hash"), revisions[0].label("controller-revision-hash"));
  EXPECT_EQ(pod.spec()["tolerations"].size(), 6U);
  run_all();
  const Value now = status();
  EXPECT_EQ(now["desiredNumberScheduled"].as_int(), 3);
  EXPECT_EQ(now["currentNumberScheduled"].as_int(), 3);
  EXPECT_EQ(now["numberReady"].as_int(), 3);
  EXPECT_EQ(now["numberAvailable"].as_int(), 3);
  EXPECT_EQ(now["updatedNumberScheduled"].as_int(), 3);
  EXPECT_EQ(now["numberMisscheduled"], Value(0));
  EXPECT_FALSE(now.contains("numberUnavailable"));
  const std::size_t written = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), written);
}

TEST_F(DaemonSetTest, NodesComeGoAndChange) {
  deploy("updateStrategy: {type: RollingUpdate}", ", nodeSelector: {disk: ssd}");
  run_all();
  node("n4");
  settle();
  EXPECT_EQ(pods().size(), 4U);
  run_all();
  world.update(api::kNode, {"", "n4"}, [](Value& body) {
    body.set_path({"metadata", "labels"}, Value::object());
  });
  settle();
  EXPECT_EQ(pods().size(), 3U);
  node("cordoned",
       "{unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: "
       "NoSchedule}]}");
  settle();
  EXPECT_EQ(pods().size(), 4U) << "daemons tolerate it";
}

TEST_F(DaemonSetTest, TaintsDecide) {
  struct Case {
    const char* taint;
    bool start;
    bool stay;
  };
  for (const Case& c :
       {Case{"{key: a, effect: NoSchedule}", false, true},
        Case{"{key: a, effect: NoExecute}", false, false},
        Case{"{key: a, effect: PreferNoSchedule}", true, true},
        Case{"{key: node.kubernetes.io/not-ready, effect: NoExecute}", true, true},
        Case{"{key: node.kubernetes.io/not-ready, effect: NoSchedule}", false, true},
        Case{"{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}", true, true}}) {
    const Object node(
        yaml::parse("{metadata: {name: n}, spec: {taints: [" + std::string(c.taint) + "]}}")
            .value());
    const Object set(yaml::parse("{spec: {template: {spec: {}}}}").value());
    const DaemonFit fit = daemon_fit(daemon_pod_spec(set), node);
    EXPECT_EQ(fit.start, c.start) << c.taint;
    EXPECT_EQ(fit.stay, c.stay) << c.taint;
  }
}

TEST_F(DaemonSetTest, ReplacesAsManyAsMayBeUnavailable) {
  deploy("updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}");
  run_all();
  set_image("v2");
  EXPECT_EQ(places().count("n1=v1") + places().count("n2=v1") + places().count("n3=v1"), 2U);
  EXPECT_EQ(status()["updatedNumberScheduled"].as_int(), 1);
  EXPECT_EQ(status()["numberUnavailable"].as_int(), 1);
  run_all();
  EXPECT_EQ(places(), (Places{"n1=v2", "n2=v2", "n3=v2"}));
  EXPECT_EQ(world.count(api::kControllerRevision), 2U);
}

TEST_F(DaemonSetTest, StartsSurgePodBeforeOldOneGoes) {
  deploy("updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}");
  run_all();
  set_image("v2");
  EXPECT_EQ(pods().size(), 4U);
  EXPECT_EQ(status()["numberAvailable"].as_int(), 3);
  run_all();
  EXPECT_EQ(places(), (Places{"n1=v2", "n2=v2", "n3=v2"}));
}

TEST_F(DaemonSetTest, OnDeleteWaits) {
  deploy("updateStrategy: {type: OnDelete}");
  run_all();
  set_image("v2");
  EXPECT_EQ(places(), (Places{"n1=v1", "n2=v1", "n3=v1"}));
  world.remove(api::kPod, pods()[0].key());
  settle();
  run_all();
  EXPECT_EQ(status()["updatedNumberScheduled"].as_int(), 1);
}

TEST_F(DaemonSetTest, ReplacesFailedPodsAndFollowsLostNodes) {
  deploy("updateStrategy: {type: RollingUpdate}");
  const Object first = pods()[0];
  world.update(api::kPod, first.key(), [&](Value& body) {
    body.set_path({"status", "phase"}, "Failed");
  });
  settle();
  EXPECT_TRUE(world.has(api::kPod, first.key())) << "none of its containers has started";
  pass(std::chrono::seconds(10));
  EXPECT_EQ(places(), (Places{"n1=v1", "n2=v1", "n3=v1"}));
  EXPECT_FALSE(world.has(api::kPod, first.key()) &&
               world.must(api::kPod, first.key()).uid() == first.uid());
  EXPECT_EQ(world.event_count("FailedDaemonPod"), 1);
  world.remove(api::kNode, {"", "n3"});
  settle();
  EXPECT_EQ(places(), (Places{"n1=v1", "n2=v1"}));
}

}  // namespace
}  // namespace athanor::workloads::daemon_set_test
