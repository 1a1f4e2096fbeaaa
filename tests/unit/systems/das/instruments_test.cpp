// SPDX-License-Identifier: Apache-2.0
// Metrics of slices (docs/spec/das.md 11).
#include "systems/das/instruments.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/builtin.hpp"
#include "base/version/revision.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das::instruments_test {
namespace {

std::string text_of(const Samples& samples) {
  std::string text;
  for (const Sample& sample : samples) {
    const char* act = sample.act == Sample::Act::Put     ? ""
                      : sample.act == Sample::Act::Enter ? "enter "
                      : sample.act == Sample::Act::Leave ? "leave "
                      : sample.act == Sample::Act::Begin ? "begin "
                                                         : "drop ";
    text += act + std::string(sample.metric);
    for (const auto& [name, value] : sample.labels) {
      text.append(" ").append(name).append("=").append(value);
    }
    text += sample.act == Sample::Act::Put
                ? " " + std::to_string(static_cast<long long>(sample.value * 1000)) + "\n"
                : "\n";
  }
  return text;
}

std::string tally(const Kind& kind, const Object* before, const Object* after) {
  Samples samples;
  das_instruments().tally(ObjectChanged{.kind = kind, .before = before, .after = after}, samples);
  return text_of(samples);
}

Object claim(const std::string& state, int start = 0) {
  return Object(
      yaml::parse(
          "{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: "
          "{name: c" +
          std::to_string(start) +
          ", namespace: das-operator, uid: u}, spec: {profile: 2g.10gb, nodename: n1, gpuUUID: " +
          emulated_uuid("n1", 0) + ", migPlacement: {start: " + std::to_string(start) +
          ", size: 2}, podRef: {name: p, namespace: ns, uid: pu}}, status: {state: '" + state +
          "'}}")
          .value());
}

Object pod(const std::string& more) {
  return Object(yaml::parse("{metadata: {name: p, namespace: ns, uid: pu}, spec: {containers: "
                            "[{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}, " +
                            more + "}")
                    .value());
}

TEST(DasInstruments, ReportUsedAndRemainingSlices) {
  test::FakeWorld world;
  world.configure(kSettingsSection, api::encode(Settings()));
  Value accelerator = yaml::parse(
                          "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, "
                          "metadata: {name: n1, namespace: das-operator}, spec: {}}")
                          .value();
  accelerator.set_path({"status", "nodeResources"},
                       emulated_resources("n1", {.model = find_model(kDefaultModel), .count = 1}));
  world.put(accelerator);
  world.put(claim("inUse", 0).body());
  Reads reads;
  Samples samples;
  das_instruments().state(View(world, reads), samples);
  const std::string text = text_of(samples);
  const std::string gpu = emulated_uuid("n1", 0);
  for (const std::string& line :
       {"das_slots_total node=n1 gpu=" + gpu + " 8000\n",
        "das_slots_free node=n1 gpu=" + gpu + " 6000\n",
        "das_fragmentation_ratio node=n1 gpu=" + gpu + " 333\n",
        "instaslice_total_processed_gpu_slices node=n1 gpu_id=" + gpu + " 2000\n",
        "openshift_instaslice_operator_build_info major=0 minor=1 gitCommit=" +
            std::string(revision()) + " gitVersion=v0.1.0 1000\n",
        std::string("das_profile_capacity_remaining node=n1 profile=1g.5gb 5000\n"),
        std::string("das_profile_capacity_remaining node=n1 profile=7g.40gb 0\n"),
        std::string("instaslice_compatible_profiles node=n1 profile=3g.20gb 1000\n"),
        "das_slices node=n1 gpu=" + gpu + " profile=2g.10gb state=inUse 1000\n",
        "instaslice_pod_processed_slices node=n1 gpu_id=" + gpu +
            " namespace=ns podname=p profile=2g.10gb 2000\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

// Another program's instance at slots 0 to 3 holds them.
TEST(DasInstruments, CountForeignInstancesAsHeld) {
  test::FakeWorld world;
  world.configure(kSettingsSection, api::encode(Settings()));
  Value resources = emulated_resources("n1", {.model = find_model(kDefaultModel), .count = 1});
  Value gpus = resources["nodeGpus"];
  gpus.item(0).set("foreign", Value::list({Value::object({{"start", 0}, {"size", 4}})}));
  resources.set("nodeGpus", std::move(gpus));
  Value accelerator = yaml::parse(
                          "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, "
                          "metadata: {name: n1, namespace: das-operator}, spec: {}}")
                          .value();
  accelerator.set_path({"status", "nodeResources"}, std::move(resources));
  world.put(accelerator);
  Reads reads;
  Samples samples;
  das_instruments().state(View(world, reads), samples);
  const std::string text = text_of(samples);
  for (const std::string& line :
       {"das_slots_free node=n1 gpu=" + emulated_uuid("n1", 0) + " 4000\n",
        std::string("das_profile_capacity_remaining node=n1 profile=7g.40gb 0\n"),
        std::string("das_profile_capacity_remaining node=n1 profile=3g.20gb 1000\n"),
        std::string("instaslice_compatible_profiles node=n1 profile=7g.40gb 0\n")}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

// SlicesExhausted (deploy/kustomize/components/accelerators) sums the free slots.
TEST(DasInstruments, CountSharesAndNoSlotsOfSharedGpus) {
  test::FakeWorld world;
  world.configure(kSettingsSection, api::encode(Settings()));
  Value resources = emulated_resources("n1", {.model = find_model(kDefaultModel), .count = 2});
  const std::set<std::string, std::less<>> used;
  const Value nothing;
  EXPECT_TRUE(assign_sharing(resources, {.annotation = "1=timeslice:3",
                                         .vendor = find_vendor(""),
                                         .before = &nothing,
                                         .used = &used,
                                         .allows = {Divisible::Any, Divisible::Any}})
                  .empty());
  Value accelerator = yaml::parse(
                          "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, "
                          "metadata: {name: n1, namespace: das-operator}, spec: {}}")
                          .value();
  accelerator.set_path({"status", "nodeResources"}, resources);
  world.put(accelerator);
  const std::string shared = emulated_uuid("n1", 1);
  world.put(yaml::parse("{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, "
                        "metadata: {name: s, namespace: das-operator}, spec: {type: timeslice, "
                        "resource: ts.das.com/gpu, share: {index: 0}, gpuUUID: " +
                        shared +
                        ", nodename: n1, container: c, podRef: {name: p, namespace: ns, uid: pu}}, "
                        "status: {state: inUse}}")
                .value());
  Value whole = claim("inUse", 0).body();
  whole.member("spec").set("profile", "7g.40gb");
  whole.member("spec").set("migPlacement", Value::object({{"start", 0}, {"size", 8}}));
  world.put(whole);
  Reads reads;
  Samples samples;
  das_instruments().state(View(world, reads), samples);
  const std::string text = text_of(samples);
  for (const std::string& line :
       {"das_slots_free node=n1 gpu=" + emulated_uuid("n1", 0) + " 0\n",
        "das_slots_free node=n1 gpu=" + shared + " 0\n",
        "das_shares_total node=n1 gpu=" + shared + " resource=ts.das.com/gpu 3000\n",
        "das_shares_free node=n1 gpu=" + shared + " resource=ts.das.com/gpu 2000\n",
        "das_shares node=n1 gpu=" + shared +
            " resource=ts.das.com/gpu namespace=ns pod=p state=inUse 1000\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

TEST(DasInstruments, FollowClaimsThroughTheirStates) {
  const Object empty = claim("");
  const Object created = claim("created");
  const Object used = claim("inUse");
  EXPECT_EQ(tally(kAllocationClaim, nullptr, &empty), "");
  EXPECT_EQ(tally(kAllocationClaim, &empty, &created),
            "enter das_claim_phase_seconds phase=created\n");
  EXPECT_EQ(tally(kAllocationClaim, &created, &created), "");
  EXPECT_EQ(tally(kAllocationClaim, &created, &used),
            "enter das_claim_phase_seconds phase=inUse\n");
  EXPECT_EQ(tally(kAllocationClaim, nullptr, &used), "begin das_claim_phase_seconds phase=inUse\n");
  EXPECT_EQ(tally(kAllocationClaim, &used, nullptr), "leave das_claim_phase_seconds\n");
}

// docs/spec/das.md G8; the end of a claim with a pod is no garbage.
TEST(DasInstruments, CountClaimsThatNameNoPod) {
  Value body = claim("").body();
  body.member("spec").erase("podRef");
  const Object lost(body);
  EXPECT_EQ(tally(kAllocationClaim, &lost, nullptr),
            "leave das_claim_phase_seconds\n"
            "das_claims_garbage_collected_total reason=ClaimWithoutPod 1000\n");
  EXPECT_EQ(tally(kAllocationClaim, nullptr, &lost), "");
  body.member("spec").set("resourceClaim", Value::object({{"uid", "r"}}));
  const Object mirror(body);
  EXPECT_EQ(tally(kAllocationClaim, &mirror, nullptr), "leave das_claim_phase_seconds\n");
}

TEST(DasInstruments, FollowPodsWithSlices) {
  const Object fresh = pod("status: {}");
  const std::string refused =
      "status: {conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: "
      "'0/1 nodes are available: 1 no GPU available.'}]}";
  const Object waits = pod(refused);
  Value body = fresh.body();
  body.set_path({"spec", "nodeName"}, "n1");
  const Object bound(body);
  body.set("status", Value::object({{"phase", "Failed"}, {"reason", "UnexpectedAdmissionError"}}));
  const Object failed(body);
  EXPECT_EQ(tally(api::kPod, nullptr, &fresh), "enter das_schedule_seconds\n");
  EXPECT_EQ(tally(api::kPod, nullptr, &waits), "begin das_schedule_seconds\n");
  EXPECT_EQ(tally(api::kPod, &fresh, &waits),
            "das_allocation_failures_total reason=no GPU available 1000\n");
  EXPECT_EQ(tally(api::kPod, &waits, &waits), "");
  EXPECT_EQ(tally(api::kPod, &waits, &bound), "leave das_schedule_seconds\n");
  EXPECT_EQ(tally(api::kPod, &bound, &failed),
            "das_allocation_failures_total reason=UnexpectedAdmissionError 1000\n");
  const Object plain(yaml::parse("{metadata: {uid: x}, spec: {containers: [{name: c}]}}").value());
  EXPECT_EQ(tally(api::kPod, nullptr, &plain), "");
}

}  // namespace
}  // namespace athanor::das::instruments_test
