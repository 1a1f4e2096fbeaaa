// SPDX-License-Identifier: Apache-2.0
// What `athanor appwrappers` prints.
#include "views/appwrapper_view.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "views/appwrapper_settings.hpp"

namespace athanor::views::appwrapper_view_test {
namespace {

Object object(const char* text) {
  return Object(*yaml::parse(text));
}
Instant at(const char* time) {
  return *parse_time(time);
}

Object app() {
  return object(R"(
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: aw, namespace: team, uid: u, creationTimestamp: "2026-01-05T00:00:00Z", labels: {kueue.x-k8s.io/queue-name: lq},
  annotations: {workload.codeflare.dev.appwrapper/retryLimit: "2"}}
spec:
  components:
  - template: {apiVersion: v1, kind: Service, metadata: {name: s}}
  - template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
status:
  phase: Running
  resettingCount: 1
  conditions:
  - {type: PodsReady, status: "False", reason: Resuming, message: "", lastTransitionTime: "2026-01-05T00:00:10Z"}
  - {type: ResourcesDeployed, status: "True", reason: Resuming, message: "", lastTransitionTime: "2026-01-05T00:00:10Z"}
  componentStatus:
  - {name: s, kind: Service, apiVersion: v1, podSets: [], conditions: [{type: ResourcesDeployed, status: "True", reason: ComponentCreatedSuccessfully}]}
  - {name: d, kind: Deployment, apiVersion: apps/v1, podSets: [{path: template.spec.template, replicas: 2}], conditions: [{type: ResourcesDeployed, status: "False", reason: ComponentCreationErrored, message: no room}]}
)");
}
Object pod() {
  return object(R"(
kind: Pod
metadata: {name: d-1, namespace: team, creationTimestamp: "2026-01-05T00:00:20Z", labels: {workload.codeflare.dev/appwrapper: aw},
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: d-x, uid: rs, controller: true}]}
spec: {nodeName: n1}
status: {phase: Running}
)");
}
Object replica_set() {
  return object(R"(
kind: ReplicaSet
metadata: {name: d-x, namespace: team, uid: rs, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: dd, controller: true}]}
)");
}

TEST(AppWrapperRow, CountsComponentsPodsAndRetries) {
  EXPECT_EQ(
      appwrapper_row(app(), {.pods = {pod()}, .with_namespace = true}, at("2026-01-05T00:01:00Z")),
      (std::vector<std::string>{"team", "aw", "Running", "lq", "1/2", "1/2", "1 left", "60s"}));
}

TEST(AppWrapperPage, ShowsTreeAndNextStep) {
  const std::string page = appwrapper_page(
      {.app = app(), .pods = {pod()}, .owners = {replica_set()}}, at("2026-01-05T00:01:10Z"));
  EXPECT_NE(
      page.find("  Service/s ComponentCreatedSuccessfully\n"
                "  Deployment/d ComponentCreationErrored\n"
                "    no room\n"
                "    pod d-1 Running on n1, 50s\n"
                "Next: reset unless all pods exist in 0s "
                "(workload.codeflare.dev.appwrapper/admissionGracePeriodDuration, default)\n"),
      std::string::npos)
      << page;
}

// docs/spec/appwrapper.md 5.3, R7: the limit depends on the pods that exist, and on lost ones.
TEST(AppWrapperPage, NamesTheTimerOfPodsThatAreAwaited) {
  const auto page_of = [](const char* ready, std::size_t pods) {
    Value body = app().body();
    body.set_path(
        {"status", "conditions"},
        *yaml::parse(std::string("[{type: ResourcesDeployed, status: 'True', reason: "
                                 "Resuming, lastTransitionTime: '2026-01-05T00:00:10Z'}, ") +
                     ready + "]"));
    return appwrapper_page({.app = Object(body), .pods = std::vector(pods, pod())},
                           at("2026-01-05T00:01:00Z"));
  };
  const std::string resuming = "{type: PodsReady, status: 'False', reason: Resuming}";
  EXPECT_NE(page_of(resuming.c_str(), 1)
                .find("Next: reset unless all pods exist in 10s (workload.codeflare.dev.appwrapper/"
                      "admissionGracePeriodDuration, default)"),
            std::string::npos);
  EXPECT_NE(page_of(resuming.c_str(), 2)
                .find("Next: reset unless all pods run in 4m10s (workload.codeflare.dev.appwrapper/"
                      "warmupGracePeriodDuration, default)"),
            std::string::npos);
  EXPECT_NE(page_of("{type: PodsReady, status: 'False', reason: InsufficientPodsReady, "
                    "lastTransitionTime: '2026-01-05T00:00:50Z'}",
                    1)
                .find("Next: reset unless all pods run in 4m50s"),
            std::string::npos);
}

// docs/spec/appwrapper.md 8.2: the operator's settings, not the defaults, where no annotation is.
TEST(AppWrapperPage, CountsByTheOperatorsSettings) {
  const auto settings = fault_tolerance_in(object("{data: {any: '{appwrapper: {faultTolerance: "
                                                  "{retryLimit: 5, admissionGracePeriod: 2m}}}'}}")
                                               .body());
  ASSERT_TRUE(settings.ok());
  Value body = app().body();
  body.erase_path({"metadata", "annotations"});
  const std::string page =
      appwrapper_page({.app = Object(body), .settings = *settings}, at("2026-01-05T00:01:10Z"));
  EXPECT_NE(page.find("4 left"), std::string::npos) << page;
  EXPECT_NE(page.find("Next: reset unless all pods exist in 1m0s"), std::string::npos) << page;
  EXPECT_FALSE(fault_tolerance_in(object("{data: {a: x, b: y}}").body()).ok());
  EXPECT_FALSE(fault_tolerance_in(object("{data: {a: 'appwrapper: 5'}}").body()).ok());
}

TEST(AppWrapperPage, ShowsPodsOfNoComponent) {
  const std::string page =
      appwrapper_page({.app = app(), .pods = {pod()}}, at("2026-01-05T00:01:10Z"));
  EXPECT_NE(page.find("    no room\n  pods of no component\n    pod d-1 Running on n1, 50s\n"),
            std::string::npos)
      << page;
}

TEST(AppWrapperPage, WarnsOfAnnotationsWithoutEffect) {
  Value body = app().body();
  body.set_path({"metadata", "annotations", "workload.codeflare.dev.appwrapper/retryLimit"},
                "many");
  EXPECT_NE(
      appwrapper_page({.app = Object(body)}, at("2026-01-05T00:01:10Z"))
          .find("Warning: metadata.annotations[workload.codeflare.dev.appwrapper/retryLimit]: "
                "\"many\" is not an integer; the default is used\n"),
      std::string::npos);
}

TEST(AppWrapperPage, ShowsRemainingTimeOfCreation) {
  Value body = app().body();
  body.set_path({"status", "phase"}, "Resuming");
  EXPECT_NE(appwrapper_page({.app = Object(body)}, at("2026-01-05T00:00:40Z"))
                .find("Next: reset unless all objects are created in 30s "
                      "(workload.codeflare.dev.appwrapper/admissionGracePeriodDuration, default)"),
            std::string::npos);
}

TEST(AppWrapperPage, NamesAReasonWithoutMessage) {
  Value body = app().body();
  body.set_path({"status", "conditions"},
                *yaml::parse("[{type: Unhealthy, status: 'True', reason: FoundFailedPods}]"));
  EXPECT_NE(appwrapper_page({.app = Object(body)}, at("2026-01-05T00:00:40Z"))
                .find("Why: FoundFailedPods\n"),
            std::string::npos);
}

TEST(AppWrapperPage, SaysWhyItWaits) {
  Value waiting = app().body();
  waiting.set_path({"status", "phase"}, "Suspended");
  AppWrapperFacts facts{.app = Object(waiting)};
  EXPECT_NE(
      appwrapper_page(facts, at("2026-01-05T00:01:10Z")).find("Why: suspended, and no Workload"),
      std::string::npos);
  facts.workload = object(
      "{metadata: {name: appwrapper-aw-1}, status: {conditions: [{type: QuotaReserved, status: "
      "'False', message: no quota}]}}");
  const std::string page = appwrapper_page(facts, at("2026-01-05T00:01:10Z"));
  EXPECT_NE(page.find("Workload appwrapper-aw-1\n"), std::string::npos);
  EXPECT_NE(page.find("Why: no quota\n"), std::string::npos);
}

}  // namespace
}  // namespace athanor::views::appwrapper_view_test
