// SPDX-License-Identifier: Apache-2.0
// Pods of Jobs that went while nobody looked.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "embedded/workloads/jobs/job.hpp"
#include "embedded/workloads/jobs/job_facts.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::workloads::orphan_pods_test {
namespace {

const Key kPod{"ns", "p"};

void put_pod(test::FakeWorld& world) {
  world.put(
      yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, finalizers: "
                  "[batch.kubernetes.io/job-tracking, other.io/kept], ownerReferences: "
                  "[{apiVersion: batch/v1, kind: Job, name: j, uid: uid-j, controller: true}]}}")
          .value());
}

TEST(JobOrphans, AreReleased) {
  test::FakeWorld world;
  put_pod(world);
  world.settle({&job_orphan_operator()});
  EXPECT_FALSE(world.must(api::kPod, kPod).has_finalizer(kTrackingFinalizer));
  EXPECT_TRUE(world.must(api::kPod, kPod).has_finalizer("other.io/kept"));
}

TEST(JobOrphans, OfALivingJobAreNone) {
  test::FakeWorld world;
  world.put(yaml::parse("{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ns, uid: "
                        "uid-j}}")
                .value());
  put_pod(world);
  world.settle({&job_orphan_operator()});
  EXPECT_TRUE(world.must(api::kPod, kPod).has_finalizer(kTrackingFinalizer));
}

}  // namespace
}  // namespace athanor::workloads::orphan_pods_test
