// SPDX-License-Identifier: Apache-2.0
// A removal is over when the API server has no pod left, whatever the caches show
// (docs/spec/appwrapper.md 5.6, 5.9).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/live.hpp"
#include "support/fake_world.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/operators.hpp"

namespace athanor::appwrapper::removal_test {
namespace {

const Key kApp{"team", "aw"};

class LaggingPods : public testing::Test {
 protected:
  LaggingPods() {
    world_.put(*yaml::parse(R"({
apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper,
metadata: {name: aw, namespace: team, uid: uid-aw, finalizers: [workload.codeflare.dev/finalizer]},
spec: {suspend: true, components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: j},
  spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}]},
status: {phase: Suspending, conditions: [
  {type: QuotaReserved, status: "True", reason: Resuming, message: "", lastTransitionTime: "2026-01-04T23:59:00Z"},
  {type: ResourcesDeployed, status: "True", reason: Resuming, message: "", lastTransitionTime: "2026-01-04T23:59:00Z"}],
 componentStatus: [{name: j, kind: Job, apiVersion: batch/v1, podSets: [{path: template.spec.template, replicas: 1}],
  conditions: [{type: ResourcesDeployed, status: "True", reason: ComponentCreatedSuccessfully, message: "",
   lastTransitionTime: "2026-01-04T23:59:00Z"}]}]}})"));
    const auto truth = world_.probes["live"];
    world_.probes["live"] = [this, truth](test::FakeWorld& world,
                                          std::string_view text) -> Result<Value> {
      const auto query = LiveQuery::parse(text);
      if (!query || query->kind != "Pod" || !query->key.name.empty()) {
        return truth(world, text);
      }
      EXPECT_EQ(query->label, "workload.codeflare.dev/appwrapper=aw");
      return LiveQuery::answer(unseen_);
    };
  }
  std::string phase() { return world_.read<AppWrapper>(kApp).status.phase; }
  void pass(Duration time) { world_.settle_for({&appwrapper_operator()}, time); }

  std::vector<Object> unseen_{};  // pods of which the cache knows nothing
  test::FakeWorld world_{};
};

TEST_F(LaggingPods, KeepTheQuota) {
  unseen_ = {Object(*yaml::parse(
      "{apiVersion: v1, kind: Pod, metadata: {name: j-x, namespace: team, uid: uid-x, labels: "
      "{workload.codeflare.dev/appwrapper: aw}}, status: {phase: Running}}"))};
  pass(std::chrono::seconds(20));
  EXPECT_EQ(phase(), "Suspending");
  EXPECT_EQ(world_.condition(kAppWrapper, kApp, "QuotaReserved")["status"], Value("True"));
  unseen_.clear();
  pass(std::chrono::seconds(10));
  EXPECT_EQ(phase(), "Suspended");
  EXPECT_EQ(world_.condition(kAppWrapper, kApp, "QuotaReserved")["status"], Value("False"));
}

// A kind that the operator may neither create nor read keeps no AppWrapper from being reset.
TEST(Removal, SkipsObjectsThatCouldNotBeCreated) {
  test::FakeWorld world;
  const Error denied{.code = 403, .reason = "Forbidden", .message = "configmaps is forbidden"};
  world.probes["live"] = [truth = world.probes["live"], denied](
                             test::FakeWorld& here, std::string_view text) -> Result<Value> {
    const auto query = LiveQuery::parse(text);
    return query && query->kind == "ConfigMap" ? Result<Value>(denied) : truth(here, text);
  };
  world.fault = [denied](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return create != nullptr && create->target.kind == &api::kConfigMap ? std::optional(denied)
                                                                        : std::nullopt;
  };
  world.put(*yaml::parse(R"({
apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: aw, namespace: team, annotations: {
  workload.codeflare.dev.appwrapper/admissionGracePeriodDuration: 2s, workload.codeflare.dev.appwrapper/retryPausePeriodDuration: 1s,
  workload.codeflare.dev.appwrapper/retryLimit: "1"}},
spec: {components: [{template: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}},
  {template: {apiVersion: v1, kind: ConfigMap, metadata: {name: cm}}}]}})"));
  world.settle_for({&appwrapper_operator()}, std::chrono::seconds(30));
  const AppWrapper app = world.read<AppWrapper>(kApp);
  EXPECT_EQ(app.status.phase, "Failed");
  EXPECT_EQ(app.status.resetting_count, 1);
  EXPECT_EQ(world.condition(kAppWrapper, kApp, "QuotaReserved")["status"], Value("False"));
  EXPECT_FALSE(world.has(api::kPod, {"team", "p"}));
}

}  // namespace
}  // namespace athanor::appwrapper::removal_test
