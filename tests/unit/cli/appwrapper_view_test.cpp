// SPDX-License-Identifier: Apache-2.0
// What `athanor appwrappers` prints.
#include "cli/appwrapper_view.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::cli {
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
      appwrapper_row(app(), {pod()}, true, at("2026-01-05T00:01:00Z")),
      (std::vector<std::string>{"team", "aw", "Running", "lq", "1/2", "1/2", "1 left", "60s"}));
}

TEST(AppWrapperPage, ShowsTheTreeAndWhatComesNext) {
  const std::string page = appwrapper_page(
      {.app = app(), .pods = {pod()}, .owners = {replica_set()}}, at("2026-01-05T00:01:10Z"));
  EXPECT_NE(page.find("  Service/s ComponentCreatedSuccessfully\n"
                      "  Deployment/d ComponentCreationErrored\n"
                      "    no room\n"
                      "    pod d-1 Running on n1, 50s\n"
                      "Next: reset unless all pods run in 4m0s "
                      "(workload.codeflare.dev.appwrapper/warmupGracePeriodDuration, default)\n"),
            std::string::npos)
      << page;
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
}  // namespace athanor::cli
