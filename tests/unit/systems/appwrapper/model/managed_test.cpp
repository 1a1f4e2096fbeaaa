// SPDX-License-Identifier: Apache-2.0
// Whose configuration says which AppWrappers are queued (docs/spec/appwrapper.md 4.2, 4.6, 8.2).
#include "systems/appwrapper/model/managed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/kueue_configuration.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/appwrapper/admission/admission.hpp"
#include "systems/appwrapper/admission/webhooks.hpp"

namespace athanor::appwrapper::managed_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Value parsed(const std::string& text) {
  return *yaml::parse(text);
}

Value app(const std::string& metadata) {
  return parsed("{metadata: {namespace: team, " + metadata + "}, spec: {components: []}}");
}

class Managed : public testing::Test {
 protected:
  void write_map(const std::string& text) {
    Value map = parsed(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: kueue-manager-config, "
        "namespace: kueue-system}}");
    map.set_path({"data", api::kueue::kConfigurationKey}, text);
    world.put(map);
  }
  Queueing now(const char* config = "{}") {
    return queueing_of(View(world, reads), *read_settings(parsed(config)));
  }
  // Kueue's validating webhook for AppWrappers.
  Verdict judged(const std::string& metadata, const std::string& ns = "team") {
    const AdmissionRequest request{.key = {ns, "a"}, .object = app(metadata)};
    for (const Webhook& webhook : kueue_webhooks()) {
      if (!webhook.mutating) {
        return webhook.admit(View(world, reads), request, world.now);
      }
    }
    return {};
  }
  // Warnings of an update of a suspended AppWrapper.
  std::vector<std::string> warned(const std::string& before, const std::string& after) {
    AdmissionRequest request{.operation = AdmissionRequest::Operation::Update,
                             .key = {"team", "a"},
                             .object = app(after),
                             .old_object = app(before)};
    request.object.set_path({"spec", "suspend"}, true);
    request.old_object.set_path({"spec", "suspend"}, true);
    return kueue_webhooks().back().admit(View(world, reads), request, world.now).warnings;
  }
  test::FakeWorld world{};
  Reads reads{};
};

// Nothing starts it any more, and its Workload stays.
TEST_F(Managed, WarnsOfQueueLabelRemovedWhileWaiting) {
  const std::string queued = "labels: {kueue.x-k8s.io/queue-name: lq}";
  EXPECT_THAT(warned(queued, ""),
              ElementsAre("metadata.labels[kueue.x-k8s.io/queue-name] is removed: the AppWrapper "
                          "stays suspended, and its Workload keeps its place until it is deleted"));
  EXPECT_THAT(warned(queued, "labels: {kueue.x-k8s.io/queue-name: other}"), IsEmpty());
  EXPECT_THAT(warned("", ""), IsEmpty());
}

TEST_F(Managed, FollowsKueuesConfigurationWhenItChanges) {
  world.configure("kueue", parsed("{waitForPodsReady: false}"));
  EXPECT_FALSE(now().wait_for_pods_ready);
  write_map(
      "waitForPodsReady: {timeout: 5m}\nmanageJobsWithoutQueueName: true\n"
      "managedJobsNamespaceSelector: {matchLabels: {a: b}}\n");
  EXPECT_TRUE(now().wait_for_pods_ready);
  EXPECT_TRUE(now().without_queue);
  EXPECT_EQ(now().namespaces, parsed("{matchLabels: {a: b}}"));
  EXPECT_TRUE(now().enabled);
  write_map(
      "apiVersion: config.kueue.x-k8s.io/v1beta1\nwaitForPodsReady: {enable: false}\n"
      "integrations: {frameworks: [batch/job]}\n");
  EXPECT_FALSE(now().wait_for_pods_ready);
  EXPECT_FALSE(now().enabled);
  write_map("nonsense: 1");
  EXPECT_FALSE(now().wait_for_pods_ready) << "one that cannot be read leaves that of the start";
  EXPECT_TRUE(now().enabled);
}

TEST_F(Managed, FollowsProfileAndGateOfKueuesConfiguration) {
  world.configure("kueue", parsed("{admissionReasons: granular}"));
  EXPECT_TRUE(now().granular);
  EXPECT_FALSE(now().short_workload_names);
  write_map("featureGates: {ShortWorkloadNames: true}");
  EXPECT_TRUE(now().granular);
  EXPECT_TRUE(now().short_workload_names);
}

TEST_F(Managed, ReadsOwnConfigurationInPlaceOfKueuesIntegration) {
  write_map("waitForPodsReady: {timeout: 5m}");
  const Queueing queueing = now(
      "{enableKueueIntegrations: true, kueueJobReconciller: {waitForPodsReady: {enable: false}}}");
  EXPECT_FALSE(queueing.wait_for_pods_ready);
  EXPECT_TRUE(queueing.without_queue);
  EXPECT_THAT(reads.objects, IsEmpty());
}

TEST_F(Managed, QueuesNoneWhereTheFrameworkIsLeftOut) {
  const Value queued = app("name: a, labels: {kueue.x-k8s.io/queue-name: q}");
  EXPECT_TRUE(is_queued(View(world, reads), queued, now()));
  EXPECT_THAT(judged("name: a, labels: {kueue.x-k8s.io/queue-name: q}").warnings, IsEmpty());
  write_map("integrations: {frameworks: [batch/job]}");
  EXPECT_FALSE(is_queued(View(world, reads), queued, now()));
  EXPECT_THAT(judged("name: a").warnings, IsEmpty());
  EXPECT_THAT(judged("name: a, labels: {kueue.x-k8s.io/queue-name: q}").warnings,
              ElementsAre("AppWrapper is not integrated with the queueing: label "
                          "kueue.x-k8s.io/queue-name has no effect, and its pods run without "
                          "quota"));
}

TEST_F(Managed, LeavesSystemNamespacesAlone) {
  world.put(
      parsed("{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: "
             "default, namespace: kube-system}, spec: {clusterQueue: c}}"));
  write_map("manageJobsWithoutQueueName: true");
  const std::string labelled = "name: a, labels: {kueue.x-k8s.io/queue-name: q}";
  for (const std::string ns : {"kube-system", "kueue-system"}) {
    for (const std::string& metadata : {labelled, std::string("name: a")}) {
      Value object = app(metadata);
      object.set_path({"metadata", "namespace"}, ns);
      EXPECT_FALSE(is_queued(View(world, reads), object, now())) << ns;
      EXPECT_EQ(with_kueue_defaults(View(world, reads), object, now()), object) << ns;
    }
    EXPECT_THAT(judged(labelled, ns).warnings,
                ElementsAre("metadata.labels[kueue.x-k8s.io/queue-name] has no effect: the "
                            "queueing ignores namespace " +
                            ns));
    EXPECT_TRUE(judged("name: a.b", ns).allowed) << "its name is no Workload's";
    EXPECT_THAT(judged("name: a", ns).warnings, IsEmpty());
  }
}

TEST_F(Managed, WarnsOfUnreadLabelsAndAnnotations) {
  EXPECT_THAT(judged("name: a, labels: {kueue.x-k8s.io/priority-class: p}, annotations: "
                     "{kueue.x-k8s.io/prebuilt-workload-name: w, kueue.x-k8s.io/queue-name: q, "
                     "example.com/a: b}")
                  .warnings,
              IsEmpty());
  EXPECT_THAT(
      judged("name: a, annotations: {kueue.x-k8s.io/admission-gated-by: example.com/a}").warnings,
      IsEmpty());
  EXPECT_THAT(judged("name: a, labels: {kueue.x-k8s.io/queue: q}, annotations: "
                     "{kueue.x-k8s.io/cannot-preempt: 'true'}")
                  .warnings,
              ElementsAre("metadata.labels[kueue.x-k8s.io/queue] has no effect: the embedded "
                          "engine does not read it on an AppWrapper",
                          "metadata.annotations[kueue.x-k8s.io/cannot-preempt] has no effect: the "
                          "embedded engine does not read it on an AppWrapper"));
}

TEST_F(Managed, WarnsOfLabelsOverriddenByPrebuiltWorkload) {
  EXPECT_THAT(judged("name: a, labels: {kueue.x-k8s.io/max-exec-time-seconds: '5'}, annotations: "
                     "{kueue.x-k8s.io/prebuilt-workload-name: w}")
                  .warnings,
              ElementsAre("metadata.labels[kueue.x-k8s.io/max-exec-time-seconds] has no effect "
                          "beside the prebuilt Workload w: its own "
                          "spec.maximumExecutionTimeSeconds counts"));
}

TEST_F(Managed, WarnsOfATopologyRequest) {
  Value object = app("name: a, labels: {kueue.x-k8s.io/queue-name: q}");
  object.set_path({"spec", "components"},
                  parsed("[{template: {apiVersion: v1, kind: Pod, metadata: {name: p, annotations: "
                         "{kueue.x-k8s.io/podset-required-topology: rack}}, spec: {containers: "
                         "[{name: c, image: i}]}}}]"));
  EXPECT_THAT(kueue_warnings(object, "us"),
              ElementsAre("the topology request of pod set[0] has no effect: topology-aware "
                          "scheduling is not available in us"));
  object.erase_path({"metadata", "labels"});
  EXPECT_THAT(kueue_warnings(object, "us"), IsEmpty());
}

// B-11
TEST_F(Managed, RefusesANameThatCouldNotBeQueued) {
  EXPECT_TRUE(judged("name: a.b").allowed);
  write_map("manageJobsWithoutQueueName: true");
  EXPECT_TRUE(judged("name: a").allowed);
  EXPECT_EQ(judged("name: a.b").message,
            "metadata.name: Invalid value: \"a.b\": must be a lowercase RFC 1123 label of at most "
            "60 characters to be queued");
}

}  // namespace
}  // namespace athanor::appwrapper::managed_test
