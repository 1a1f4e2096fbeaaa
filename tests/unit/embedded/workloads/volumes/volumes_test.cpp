// SPDX-License-Identifier: Apache-2.0
// Claims find volumes, classes make them, and neither goes while it is used.
#include "embedded/workloads/volumes/volumes.hpp"

#include "embedded/workloads/namespace_basics.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::volumes_test {
namespace {

class VolumesTest : public WorkloadTest {
 protected:
  VolumesTest()
      : WorkloadTest({&volume_claim_operator(), &volume_operator(), &claim_protection_operator(),
                      &volume_protection_operator(), &provisioner_operator(),
                      &reclaimer_operator()}) {}
  void claim(const std::string& name, const std::string& more = "") {
    put("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
        ", namespace: ns, finalizers: [kubernetes.io/pvc-protection]}, spec: {accessModes: "
        "[ReadWriteOnce], resources: {requests: {storage: 2Gi}}" +
        more + "}, status: {phase: Pending}}");
    settle();
  }
  void volume(const std::string& name, const std::string& size, const std::string& more = "") {
    put("{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + name +
        ", finalizers: [kubernetes.io/pv-protection]}, spec: {capacity: {storage: " + size +
        "}, accessModes: [ReadWriteOnce, ReadOnlyMany], persistentVolumeReclaimPolicy: Retain" +
        more + "}, status: {phase: Pending}}");
    settle();
  }
  void storage_class(const std::string& mode = "Immediate",
                     const std::string& provisioner = kEmulatedProvisioner) {
    put("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: std}, provisioner: " +
        provisioner + ", reclaimPolicy: Delete, volumeBindingMode: " + mode + "}");
  }
  void pod() {
    put("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {volumes: [{name: "
        "v, persistentVolumeClaim: {claimName: c}}]}}");
    settle();
  }
  std::string phase(const Kind& kind, const Key& key) {
    return world.must(kind, key).status()["phase"].str();
  }
  std::string claim_phase() { return phase(api::kPersistentVolumeClaim, {"ns", "c"}); }
};

TEST_F(VolumesTest, AClaimGetsTheSmallestVolumeThatFits) {
  volume("small", "1Gi");
  volume("large", "10Gi");
  volume("fits", "3Gi");
  volume("classy", "2Gi", ", storageClassName: gold");
  EXPECT_EQ(phase(api::kPersistentVolume, {"", "fits"}), "Available");
  claim("c");
  const Object bound = world.must(api::kPersistentVolumeClaim, {"ns", "c"});
  EXPECT_EQ(bound.spec()["volumeName"].str(), "fits");
  EXPECT_EQ(bound.status()["phase"].str(), "Bound");
  EXPECT_EQ(bound.status()["capacity"]["storage"].str(), "3Gi");
  EXPECT_EQ(bound.annotation("pv.kubernetes.io/bind-completed"), "yes");
  EXPECT_EQ(bound.annotation("pv.kubernetes.io/bound-by-controller"), "yes");
  const Object held = world.must(api::kPersistentVolume, {"", "fits"});
  EXPECT_EQ(held.spec()["claimRef"]["uid"].as_string(), bound.uid());
  EXPECT_EQ(held.status()["phase"].str(), "Bound");
  claim("d", ", volumeName: large");
  EXPECT_EQ(phase(api::kPersistentVolumeClaim, {"ns", "d"}), "Bound");
}

TEST_F(VolumesTest, RemovesVolumeDeletedWhileBoundWithClaim) {
  volume("fits", "3Gi");
  claim("c");
  world.remove(api::kPersistentVolume, {"", "fits"});
  settle();
  ASSERT_TRUE(world.has(api::kPersistentVolume, {"", "fits"})) << "it is protected while bound";
  world.remove(api::kPersistentVolumeClaim, {"ns", "c"});
  settle();
  EXPECT_FALSE(world.has(api::kPersistentVolume, {"", "fits"}));
}

TEST_F(VolumesTest, WithoutVolumeAndClassItWaits) {
  claim("c");
  EXPECT_EQ(claim_phase(), "Pending");
  EXPECT_EQ(note_of("FailedBinding"),
            "Normal no persistent volumes available for this claim and no storage class is set");
  volume("fits", "3Gi");
  EXPECT_EQ(claim_phase(), "Bound");
}

TEST_F(VolumesTest, ProvisionsAndRemovesVolumesOfEmulatedClass) {
  storage_class();
  claim("c", ", storageClassName: std");
  EXPECT_EQ(claim_phase(), "Bound");
  const std::string name =
      "pvc-" + std::string(world.must(api::kPersistentVolumeClaim, {"ns", "c"}).uid());
  EXPECT_EQ(phase(api::kPersistentVolume, {"", name}), "Bound");
  EXPECT_EQ(note_of("ProvisioningSucceeded"), "Normal Successfully provisioned volume " + name);
  world.remove(api::kPersistentVolumeClaim, {"ns", "c"});
  settle();
  EXPECT_FALSE(world.has(api::kPersistentVolumeClaim, {"ns", "c"}));
  EXPECT_FALSE(world.has(api::kPersistentVolume, {"", name}));
}

TEST_F(VolumesTest, WaitsForPodOrExternalProvisioner) {
  storage_class("WaitForFirstConsumer");
  claim("c", ", storageClassName: std");
  EXPECT_EQ(claim_phase(), "Pending");
  EXPECT_EQ(world.event_count("WaitForFirstConsumer"), 1);
  put("{apiVersion: v1, kind: Pod, metadata: {name: w, namespace: ns}, spec: "
      "{volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}");
  settle();
  EXPECT_EQ(claim_phase(), "Pending");
  EXPECT_EQ(note_of("WaitForPodScheduled"), "Normal waiting for pod w to be scheduled");
  world.update(api::kPersistentVolumeClaim, {"ns", "c"}, [](Value& body) {
    body.set_path({"metadata", "annotations"},
                  Value::object({{"volume.kubernetes.io/selected-node", "n1"}}));
  });
  settle();
  EXPECT_EQ(claim_phase(), "Bound");
  storage_class("Immediate", "example.com/nfs");
  claim("d", ", storageClassName: std");
  EXPECT_EQ(phase(api::kPersistentVolumeClaim, {"ns", "d"}), "Pending");
  EXPECT_GE(world.event_count("ExternalProvisioning"), 1);
}

TEST_F(VolumesTest, AClaimStaysWhileAPodMountsIt) {
  volume("v", "3Gi");
  claim("c");
  pod();
  world.remove(api::kPersistentVolumeClaim, {"ns", "c"});
  world.remove(api::kPersistentVolume, {"", "v"});
  settle();
  EXPECT_TRUE(world.must(api::kPersistentVolumeClaim, {"ns", "c"}).deleting());
  EXPECT_TRUE(world.must(api::kPersistentVolume, {"", "v"}).deleting());
  world.remove(api::kPod, {"ns", "p"});
  settle();
  EXPECT_FALSE(world.has(api::kPersistentVolumeClaim, {"ns", "c"}));
}

TEST_F(VolumesTest, ReleasesRetainedVolumeAndReportsLostClaim) {
  volume("v", "3Gi");
  claim("c");
  world.remove(api::kPersistentVolumeClaim, {"ns", "c"});
  settle();
  EXPECT_EQ(phase(api::kPersistentVolume, {"", "v"}), "Released");
  volume("w", "3Gi");
  claim("c");
  world.update(api::kPersistentVolume, {"", "w"}, [](Value& body) {
    body.erase_path({"metadata", "finalizers"});
  });
  world.remove(api::kPersistentVolume, {"", "w"});
  settle();
  EXPECT_EQ(claim_phase(), "Lost");
  EXPECT_EQ(note_of("ClaimLost"),
            "Warning Bound claim has lost its PersistentVolume. Data on the volume is lost!");
}

TEST_F(VolumesTest, EphemeralVolumesHaveClaimsOfTheirPods) {
  put("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {volumes: [{name: v, "
      "ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, spec: {storageClassName: "
      "none}}}}]}}");
  world.settle({&ephemeral_volume_operator()});
  const Object claim = world.must(api::kPersistentVolumeClaim, {"ns", "p-v"});
  EXPECT_EQ(claim.controller()->kind, "Pod");
  EXPECT_EQ(claim.label("a"), "b");
  world.remove(api::kPod, {"ns", "p"});
  EXPECT_FALSE(world.has(api::kPersistentVolumeClaim, {"ns", "p-v"}));
}

TEST(AccountTokens, SecretsAreFilledAndGoWithTheirAccount) {
  test::FakeWorld world;
  world.configure("rootCA", Value::object({{"pem", "PEM"}}));
  const Object account = world.put(
      yaml::parse("{apiVersion: v1, kind: ServiceAccount, metadata: {name: bot, namespace: ns}}")
          .value());
  world.put(yaml::parse("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns, "
                        "annotations: {kubernetes.io/service-account.name: bot}}, type: "
                        "kubernetes.io/service-account-token}")
                .value());
  world.settle({&account_token_operator()});
  EXPECT_TRUE(world.must(api::kSecret, {"ns", "s"}).body()["data"].empty());
  world.observe_as("service-account-token:ns/bot/" + std::string(account.uid()) + "/s",
                   Value::object({{"token", "jwt"}}));
  world.settle({&account_token_operator()});
  const Object secret = world.must(api::kSecret, {"ns", "s"});
  EXPECT_EQ(secret.body()["data"]["token"].str(), "and0");
  EXPECT_EQ(secret.body()["data"]["ca.crt"].str(), "UEVN");
  EXPECT_EQ(secret.body()["data"]["namespace"].str(), "bnM=");
  EXPECT_EQ(secret.annotation("kubernetes.io/service-account.uid"), account.uid());
  world.remove(api::kServiceAccount, {"ns", "bot"});
  world.settle({&account_token_operator()});
  EXPECT_FALSE(world.has(api::kSecret, {"ns", "s"}));
}

}  // namespace
}  // namespace athanor::workloads::volumes_test
