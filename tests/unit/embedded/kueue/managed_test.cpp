// SPDX-License-Identifier: Apache-2.0
// Which objects the queueing manages (docs/spec/kueue.md 10.1, 12), and what follows for their
// pods.
#include "embedded/kueue/jobs/managed.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::managed_test {
namespace {

using jobs::integrations_of;

class Managed : public ::testing::Test {
 protected:
  Managed() { world.put(bench_namespace("{team: blue}")); }

  void configure(const std::string& integrations) {
    world.configure("kueue", from_yaml("{integrations: " + integrations + "}"));
  }
  // A Job with further metadata.
  static Value job(const std::string& name, const std::string& more,
                   const std::string& ns = "bench") {
    return from_yaml(fmt::format(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {}, namespace: {}, uid: uid-{}{}}}}}",
        name, ns, name, more));
  }
  static std::string below(const std::string& kind, const std::string& name,
                           const std::string& uid = "") {
    return fmt::format(
        ", ownerReferences: [{{apiVersion: {}, kind: {}, name: {}, uid: {}, controller: true}}]",
        kind == "Job" ? "batch/v1" : "apps/v1", kind, name, uid.empty() ? "uid-" + name : uid);
  }
  bool managed(const Value& object) {
    const View view(world, reads);
    return jobs::is_managed(view, integrations_of(view), Object(object));
  }
  bool below_managed(const Value& object) {
    const View view(world, reads);
    return jobs::is_below_managed(view, integrations_of(view), Object(object));
  }

  FakeWorld world{};
  Reads reads{};
};

constexpr const char* kQueued = ", labels: {kueue.x-k8s.io/queue-name: q}";
constexpr const char* kPrebuilt = ", labels: {kueue.x-k8s.io/prebuilt-workload-name: w}";

TEST_F(Managed, AreThoseNamingQueueOrWorkload) {
  EXPECT_TRUE(managed(job("a", kQueued)));
  EXPECT_TRUE(managed(job("a", kPrebuilt)));
  EXPECT_FALSE(managed(job("a", "")));
}

TEST_F(Managed, NeverInTheNamespacesOfTheSystem) {
  configure("{manageJobsWithoutQueueName: true}");
  for (const char* ns : {"kube-system", "kueue-system"}) {
    EXPECT_FALSE(managed(job("a", kQueued, ns))) << ns;
    EXPECT_FALSE(managed(job("a", "", ns))) << ns;
  }
}

TEST_F(Managed, IncludesUnqueuedJobsInSelectedNamespaces) {
  configure("{manageJobsWithoutQueueName: true}");
  EXPECT_TRUE(managed(job("a", "")));
  configure(
      "{manageJobsWithoutQueueName: true, managedJobsNamespaceSelector: {matchLabels: {team: "
      "red}}}");
  EXPECT_FALSE(managed(job("a", "")));
  EXPECT_FALSE(managed(job("a", kQueued))) << "also with a queue";
  configure(
      "{manageJobsWithoutQueueName: true, managedJobsNamespaceSelector: {matchLabels: {team: "
      "blue}}}");
  EXPECT_TRUE(managed(job("a", "")));
  EXPECT_FALSE(managed(job("a", "", "missing"))) << "labels of a namespace that is not there";
}

// docs/spec/appwrapper.md 4.7
TEST_F(Managed, ExcludesJobsBelowOwnerOfReplicaSet) {
  world.put(job("owner", kQueued));
  const auto between = [&](const char* kind, const char* name, const std::string& owner) {
    Value object = job(name, owner);
    object.set("apiVersion", "apps/v1");
    object.set("kind", kind);
    world.put(object);
  };
  between("Deployment", "d", below("Job", "owner"));
  between("ReplicaSet", "r", below("Deployment", "d"));
  between("StatefulSet", "s", below("Job", "owner"));
  EXPECT_TRUE(below_managed(job("child", below("ReplicaSet", "r"))));
  EXPECT_TRUE(below_managed(job("child", below("StatefulSet", "s"))));
  between("Deployment", "free", "");
  EXPECT_FALSE(below_managed(job("child", below("Deployment", "free"))));
}

TEST_F(Managed, NotBelowAManagedOwner) {
  world.put(job("owner", kQueued));
  EXPECT_TRUE(below_managed(job("child", below("Job", "owner"))));
  EXPECT_FALSE(managed(job("child", std::string(kQueued) + below("Job", "owner"))));
  EXPECT_FALSE(below_managed(job("child", below("Job", "owner", "another-uid"))))
      << "an owner of the same name that came later";
  EXPECT_FALSE(below_managed(job("child", below("Job", "gone"))));
  EXPECT_FALSE(below_managed(job("child", below("ReplicaSet", "owner"))))
      << "an owner of another kind";
  EXPECT_FALSE(below_managed(job("child", below("DaemonSet", "owner"))))
      << "the chain ends at a kind that is not read";
}

TEST_F(Managed, CountsUnqueuedOwnersOnlyWhereManaged) {
  world.put(job("owner", ""));
  const Value child = job("child", below("Job", "owner"));
  EXPECT_FALSE(below_managed(child));
  configure("{manageJobsWithoutQueueName: true}");
  EXPECT_TRUE(below_managed(child));
  configure(
      "{manageJobsWithoutQueueName: true, managedJobsNamespaceSelector: {matchLabels: {team: "
      "red}}}");
  EXPECT_FALSE(below_managed(child));
}

TEST_F(Managed, IgnoresOwnersOfLeftOutKinds) {
  world.put(job("owner", kQueued));
  configure("{frameworks: [pod]}");
  EXPECT_FALSE(below_managed(job("child", below("Job", "owner"))));
}

// Ten owners are looked at, and no more.
TEST_F(Managed, TenOwnersUpAndNoFurther) {
  world.put(job("o10", kQueued));
  for (int i = 9; i >= 1; --i) {
    world.put(job(fmt::format("o{}", i), below("Job", fmt::format("o{}", i + 1))));
  }
  EXPECT_TRUE(below_managed(job("child", below("Job", "o1"))));
  world.put(job("o0", below("Job", "o1")));
  EXPECT_FALSE(below_managed(job("child", below("Job", "o0"))));
}

}  // namespace
}  // namespace athanor::kueue::test::managed_test
