// SPDX-License-Identifier: Apache-2.0
// StatefulSets: order, names, claims, updates, revisions.
#include "embedded/workloads/sets/stateful_set.hpp"

#include "embedded/workloads/sets/revisions.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::stateful_set_test {
namespace {

using std::chrono::seconds;
using Names = std::vector<std::string>;

class StatefulSetTest : public WorkloadTest {
 protected:
  StatefulSetTest() : WorkloadTest({&stateful_set_operator()}) {}

  void deploy(const std::string& more) {
    put("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: ns}, spec: "
        "{serviceName: front, selector: {matchLabels: {app: web}}, template: {metadata: {labels: "
        "{app: web}}, spec: {containers: [{name: c, image: v1}]}}, " +
        more + "}}");
    settle();
  }
  void set(Value::Path path, const Value& value) { set_spec(api::kStatefulSet, kKey, path, value); }
  void set_image(const std::string& image) {
    set({"template", "spec", "containers"},
        Value::list({Value::object({{"name", "c"}, {"image", image}})}));
  }
  Value status() { return world.must(api::kStatefulSet, kKey).status(); }
  Value pod(const std::string& name) { return world.must(api::kPod, {"ns", name}).body(); }
  std::string images() {
    std::string all;
    for (const Object& one : pods()) {
      all += (all.empty() ? "" : " ") + image_of(one);
    }
    return all;
  }

  const Key kKey{"ns", "web"};
};

TEST_F(StatefulSetTest, MakesPodsInOrderOfReadiness) {
  deploy("replicas: 3");
  EXPECT_EQ(pod_names(), (Names{"web-0"}));
  set_ready({"ns", "web-0"});
  EXPECT_EQ(pod_names(), (Names{"web-0", "web-1"}));
  make_all_ready();
  EXPECT_EQ(pod_names(), (Names{"web-0", "web-1", "web-2"}));
  const Value first = pod("web-1");
  EXPECT_EQ(first["spec"]["hostname"].str(), "web-1");
  EXPECT_EQ(first["spec"]["subdomain"].str(), "front");
  EXPECT_EQ(first["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"].str(), "web-1");
  EXPECT_EQ(first["metadata"]["labels"]["apps.kubernetes.io/pod-index"].str(), "1");
  EXPECT_EQ(first["metadata"]["labels"]["controller-revision-hash"].str(),
            status()["currentRevision"].str());
  EXPECT_EQ(note_of("SuccessfulCreate"), "Normal Create Pod web-0 in StatefulSet web successful");
  for (const char* counter :
       {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}) {
    EXPECT_EQ(status()[counter].as_int(), 3) << counter;
  }
  EXPECT_EQ(status()["collisionCount"], Value(0));
  EXPECT_EQ(status()["currentRevision"], status()["updateRevision"]);
  const std::size_t written = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), written) << "nothing is left to do";
}

TEST_F(StatefulSetTest, ScalesAllAtOnceUnderParallelPolicy) {
  deploy("replicas: 3, podManagementPolicy: Parallel, ordinals: {start: 5}");
  EXPECT_EQ(pod_names(), (Names{"web-5", "web-6", "web-7"}));
  make_all_ready();
  set({"replicas"}, 1);
  EXPECT_EQ(pod_names(), (Names{"web-5"}));
}

TEST_F(StatefulSetTest, ScalesDownFromEndOneByOne) {
  world.graceful_pods = true;
  deploy("replicas: 3");
  make_all_ready();
  set({"replicas"}, 1);
  EXPECT_TRUE(world.must(api::kPod, {"ns", "web-2"}).deleting());
  EXPECT_FALSE(world.must(api::kPod, {"ns", "web-1"}).deleting());
  EXPECT_EQ(note_of("SuccessfulDelete"), "Normal Delete Pod web-2 in StatefulSet web successful");
}

TEST_F(StatefulSetTest, UpdatesFromLastToFirstOneByOne) {
  deploy("replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}");
  make_all_ready();
  const Value before = status()["currentRevision"];
  set_image("v2");
  EXPECT_EQ(images(), "v1 v1 v2");
  EXPECT_EQ(status()["currentRevision"], before);
  EXPECT_NE(status()["updateRevision"], before);
  set_ready({"ns", "web-2"});
  EXPECT_EQ(images(), "v1 v2 v2");
  EXPECT_EQ(status()["currentReplicas"].as_int(), 1);
  make_all_ready();
  EXPECT_EQ(images(), "v2 v2 v2");
  EXPECT_EQ(status()["currentRevision"], status()["updateRevision"]);
  EXPECT_EQ(status()["currentReplicas"].as_int(), 3);
}

TEST_F(StatefulSetTest, KeepsPodsBelowPartitionWhenMadeAgain) {
  deploy("replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}");
  make_all_ready();
  set_image("v2");
  make_all_ready();
  EXPECT_EQ(images(), "v1 v1 v2");
  world.remove(api::kPod, {"ns", "web-0"});
  settle();
  make_all_ready();
  EXPECT_EQ(images(), "v1 v1 v2");
  set({"updateStrategy", "rollingUpdate", "partition"}, 0);
  make_all_ready();
  EXPECT_EQ(images(), "v2 v2 v2");
}

TEST_F(StatefulSetTest, OnDeleteUpdatesOnlyDeletedPods) {
  deploy("replicas: 2, updateStrategy: {type: OnDelete}");
  make_all_ready();
  set_image("v2");
  EXPECT_EQ(images(), "v1 v1");
  world.remove(api::kPod, {"ns", "web-0"});
  settle();
  make_all_ready();
  EXPECT_EQ(images(), "v2 v1");
}

TEST_F(StatefulSetTest, MaxUnavailableTakesSeveralAtOnce) {
  deploy(
      "replicas: 4, podManagementPolicy: Parallel, updateStrategy: {type: RollingUpdate, "
      "rollingUpdate: {partition: 0, maxUnavailable: 2}}");
  make_all_ready();
  set_image("v2");
  EXPECT_EQ(images(), "v1 v1 v2 v2");
}

TEST_F(StatefulSetTest, FailedAndEndedPodsAreMadeAgain) {
  deploy("replicas: 1");
  for (const auto& [phase, reason, note] :
       {std::tuple{"Failed", "RecreatingFailedPod",
                   "Warning StatefulSet ns/web is recreating failed Pod web-0"},
        {"Succeeded", "RecreatingTerminatedPod",
         "Normal StatefulSet ns/web is recreating terminated Pod web-0"}}) {
    const std::string uid(world.must(api::kPod, {"ns", "web-0"}).uid());
    world.update(api::kPod, {"ns", "web-0"}, [&](Value& body) {
      body.set_path({"status", "phase"}, phase);
    });
    pass(std::chrono::seconds(10));  // none of its containers has started
    EXPECT_NE(world.must(api::kPod, {"ns", "web-0"}).uid(), uid) << phase;
    EXPECT_EQ(note_of(reason), note);
  }
}

TEST_F(StatefulSetTest, ClaimsAreMadeOncePerOrdinalAndStay) {
  deploy(
      "replicas: 2, volumeClaimTemplates: [{metadata: {name: data, labels: {tier: db}}, spec: "
      "{accessModes: [ReadWriteOnce]}}]");
  make_all_ready();
  const Object claim = world.must(api::kPersistentVolumeClaim, {"ns", "data-web-1"});
  EXPECT_EQ(claim.label("tier"), "db");
  EXPECT_EQ(claim.label("app"), "web");
  EXPECT_TRUE(claim.metadata()["ownerReferences"].empty());
  EXPECT_EQ(pod("web-1")["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"].str(),
            "data-web-1");
  EXPECT_EQ(note_of("SuccessfulCreate"),
            "Normal Create Claim data-web-0 Pod web-0 in StatefulSet web success");
  set({"replicas"}, 1);
  world.remove(api::kStatefulSet, kKey);
  settle();
  EXPECT_EQ(world.count(api::kPersistentVolumeClaim), 2U);
}

TEST_F(StatefulSetTest, DeletesClaimsByRetentionPolicy) {
  struct Case {
    const char* deleted;
    const char* scaled;
    std::size_t after_scaling;
    std::size_t after_deletion;
  };
  for (const Case& c : {Case{"Retain", "Retain", 2, 2}, Case{"Delete", "Retain", 2, 0},
                        Case{"Retain", "Delete", 1, 1}, Case{"Delete", "Delete", 1, 0}}) {
    deploy("replicas: 2, persistentVolumeClaimRetentionPolicy: {whenDeleted: " +
           std::string(c.deleted) + ", whenScaled: " + c.scaled +
           "}, volumeClaimTemplates: [{metadata: {name: data}, spec: {}}]");
    make_all_ready();
    ASSERT_EQ(world.count(api::kPersistentVolumeClaim), 2U);
    set({"replicas"}, 1);
    EXPECT_EQ(world.count(api::kPersistentVolumeClaim), c.after_scaling) << c.deleted << c.scaled;
    world.remove(api::kStatefulSet, kKey);
    settle();
    EXPECT_EQ(world.count(api::kPersistentVolumeClaim), c.after_deletion) << c.deleted << c.scaled;
    for (const Object& claim : world.list(api::kPersistentVolumeClaim)) {
      world.remove(api::kPersistentVolumeClaim, claim.key());
    }
  }
}

TEST_F(StatefulSetTest, RevisionsAreNumberedReusedAndForgotten) {
  deploy("replicas: 1, revisionHistoryLimit: 1");
  for (const char* image : {"v2", "v3", "v2"}) {
    make_all_ready();
    set_image(image);
  }
  make_all_ready();
  settle();
  const auto revisions = world.list(api::kControllerRevision);
  ASSERT_EQ(revisions.size(), 2U);
  for (const Object& revision : revisions) {
    const bool latest = revision.name() == status()["updateRevision"].as_string();
    EXPECT_EQ(number_of_revision(revision), latest ? 4 : 3);
    EXPECT_EQ(template_of(revision)["spec"]["containers"][0]["image"].str(), latest ? "v2" : "v3");
    EXPECT_EQ(revision.body()["data"]["spec"]["template"]["$patch"].str(), "replace");
    EXPECT_EQ(std::string(revision.name()),
              "web-" + std::string(revision.label("controller.kubernetes.io/hash")));
  }
}

TEST_F(StatefulSetTest, CountsPodsAvailableAfterMinimumReadiness) {
  deploy("replicas: 2, minReadySeconds: 10");
  set_ready({"ns", "web-0"});
  EXPECT_EQ(status()["availableReplicas"].as_int(), 0);
  EXPECT_EQ(pod_names(), (Names{"web-0"}));
  pass(seconds(10));
  EXPECT_EQ(status()["availableReplicas"].as_int(), 1);
  EXPECT_EQ(pod_names(), (Names{"web-0", "web-1"}));
}

TEST_F(StatefulSetTest, OrphansWithTheRightNamesAreAdopted) {
  put("{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: ns, labels: {app: web}}}");
  put("{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: ns, labels: {app: web}}}");
  deploy("replicas: 1");
  ASSERT_TRUE(world.must(api::kPod, {"ns", "web-0"}).controller());
  EXPECT_EQ(world.must(api::kPod, {"ns", "web-0"}).controller()->kind, "StatefulSet");
  EXPECT_FALSE(world.must(api::kPod, {"ns", "other"}).controller());
}

TEST_F(StatefulSetTest, ReportsAndRetriesRefusedPod) {
  bool full = true;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return full && create != nullptr && create->target.kind == &api::kPod
               ? std::optional(Error{.code = 403, .reason = "Forbidden", .message = "quota"})
               : std::nullopt;
  };
  deploy("replicas: 1");
  EXPECT_TRUE(pods().empty());
  full = false;
  pass(seconds(60));
  EXPECT_EQ(pod_names(), (Names{"web-0"}));
}

TEST(RevisionHash, IsFnv1OfSortedDataAndCollisionCount) {
  // FNV-1 (32 bit) of "{}0" is 777742067; each digit as a character of the safe alphabet.
  EXPECT_EQ(revision_hash(Value::object(), 0), "cccc864bc");
  const Value one = json::parse(R"({"a":1,"b":{"d":2,"c":3}})").value();
  const Value other = json::parse(R"({"b":{"c":3,"d":2},"a":1})").value();
  EXPECT_EQ(revision_hash(one, 0), revision_hash(other, 0));
  EXPECT_NE(revision_hash(one, 0), revision_hash(one, 1));
}

}  // namespace
}  // namespace athanor::workloads::stateful_set_test
