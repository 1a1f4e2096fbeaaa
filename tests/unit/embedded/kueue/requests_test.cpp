// SPDX-License-Identifier: Apache-2.0
// What a workload is counted with, and what cannot be counted (docs/spec/kueue.md 7.3, 7.5, 11).
#include "embedded/kueue/cycle/requests.hpp"

#include "api/describe.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::requests_test {
namespace {

struct Counted {
  const char* what;
  const char* pod_spec;
  const char* total;  // of two pods
};
class Requests : public ::testing::TestWithParam<Counted> {
 protected:
  Requests() {
    world.put(from_yaml(
        "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: boxed}, handler: h, "
        "overhead: {podFixed: {cpu: 250m}}}"));
  }
  FakeWorld world;
};

std::string text_of(const Amounts& amounts) {
  std::string text;
  for (const auto& [resource, amount] : amounts) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : " ", resource, amount_text(resource, amount));
  }
  return text;
}

TEST_P(Requests, AreSumsOfPods) {
  Reads reads;
  const View view(world, reads);
  const Settings settings;
  RequestRules rules(view, settings);
  const Object workload(from_yaml(
      std::string("{metadata: {name: w, namespace: bench}, spec: {podSets: [{name: main, count: 2, "
                  "template: {spec: ") +
      GetParam().pod_spec + "}}]}}"));
  EXPECT_EQ(text_of(rules.requests(workload).at(0).total), GetParam().total) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Spec75, Requests,
    ::testing::Values(
        Counted{"containers together",
                "{containers: [{resources: {requests: {cpu: 100m}}}, {resources: {requests: {cpu: "
                "200m, gpu: 1}}}]}",
                "cpu=600m gpu=2"},
        Counted{
            "limits for what is not requested",
            "{containers: [{resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}]}",
            "cpu=1 memory=2Gi"},
        Counted{"the largest init container",
                "{initContainers: [{resources: {requests: {cpu: 3}}}, {resources: {requests: {cpu: "
                "2}}}], containers: [{resources: {requests: {cpu: 1}}}]}",
                "cpu=6"},
        Counted{"sidecars beside both",
                "{initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 1}}}, "
                "{resources: {requests: {cpu: 2}}}], containers: [{resources: {requests: {cpu: "
                "1500m}}}]}",
                "cpu=6"},
        Counted{
            "the pod's own",
            "{resources: {requests: {cpu: 4}}, containers: [{resources: {requests: {cpu: 1, gpu: "
            "1}}}]}",
            "cpu=8 gpu=2"},
        Counted{"at most what can be added up",
                "{containers: [{resources: {requests: {memory: 4Ei, gpu: 4611686018427387904}}}]}",
                "gpu=36028797018963968 memory=32Pi"},
        Counted{"the pod's own limits", "{resources: {limits: {cpu: 4}}, containers: [{}]}",
                "cpu=8"},
        Counted{"requests below the pod's own limits",
                "{resources: {limits: {cpu: 4, memory: 1Gi}}, containers: [{resources: {requests: "
                "{cpu: 1}}}]}",
                "cpu=2 memory=2Gi"},
        Counted{"its overhead",
                "{overhead: {cpu: 500m}, runtimeClassName: boxed, containers: [{resources: "
                "{requests: {cpu: 1}}}]}",
                "cpu=3"},
        Counted{"the overhead of its runtime class",
                "{runtimeClassName: boxed, containers: [{resources: {requests: {cpu: 1}}}]}",
                "cpu=2500m"}));

TEST(RequestRules, ExcludeAndTransformInThatOrder) {
  const auto settings = parse_settings(
      {{"KUEUE_EXCLUDE_RESOURCE_PREFIXES", "scratch.example/, unused"},
       {"KUEUE_RESOURCE_TRANSFORMATIONS",
        R"([{"input": "mig-1g", "strategy": "Replace", "outputs": {"gpu-memory": "5Gi"}},
            {"input": "mig-2g", "outputs": {"gpu-memory": "10Gi"}},
            {"input": "cpu", "strategy": "Retain", "outputs": {"credits": "2"}},
            {"input": "scratch.example/disk", "outputs": {"gpu-memory": "1Ti"}}])"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  FakeWorld world;
  Reads reads;
  const View view(world, reads);
  RequestRules rules(view, *settings);
  const Object object(workload(
      "w", "q", "mig-1g: 2, mig-2g: 1, cpu: 1500m, scratch.example/disk: 1, unused-thing: 1"));
  EXPECT_EQ(text_of(rules.requests(object).at(0).total),
            "cpu=1500m credits=3 gpu-memory=21474836480 mig-2g=1");
}

TEST(RequestRules, TransformByFractions) {
  const auto settings =
      parse_settings({{"KUEUE_RESOURCE_TRANSFORMATIONS",
                       R"([{"input": "half", "strategy": "Replace", "outputs": {"gpu": "500m"}},
            {"input": "cpu", "strategy": "Replace", "outputs": {"credits": "250m"}},
            {"input": "disk", "strategy": "Replace", "outputs": {"bytes": "10Pi"}}])"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  FakeWorld world;
  Reads reads;
  const View view(world, reads);
  RequestRules rules(view, *settings);
  const Object object(workload("w", "q", "half: 4, cpu: 3, disk: 1"));
  EXPECT_EQ(text_of(rules.requests(object).at(0).total), "bytes=11258999068426240 credits=1 gpu=2");
}

TEST(RequestRules, TransformTimesAnotherResource) {
  const auto settings = parse_settings(
      {{"KUEUE_RESOURCE_TRANSFORMATIONS",
        R"([{"input": "mem-of-one", "strategy": "Replace", "multiplyBy": "gpu", "outputs": {"mem": "1"}},
            {"input": "gpu", "multiplyBy": "absent", "outputs": {"credits": "10"}},
            {"input": "disk", "multiplyBy": "cpu", "outputs": {"bytes": "2"}}])"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  FakeWorld world;
  Reads reads;
  const View view(world, reads);
  RequestRules rules(view, *settings);
  const Object object(workload("w", "q", "mem-of-one: 20, gpu: 3, disk: 3, cpu: 1500m"));
  EXPECT_EQ(text_of(rules.requests(object).at(0).total),
            "bytes=9 cpu=1500m credits=30 disk=3 gpu=3 mem=60");
}

struct Refused {
  const char* name;
  const char* value;
  const char* rule;
};
class KueueSettings : public ::testing::TestWithParam<Refused> {};
TEST_P(KueueSettings, RefuseWithTheRule) {
  const auto settings = parse_settings({{GetParam().name, GetParam().value}});
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.error().message,
            fmt::format("ERROR: {}={}: {}", GetParam().name, GetParam().value, GetParam().rule));
}
INSTANTIATE_TEST_SUITE_P(
    Rules, KueueSettings,
    ::testing::Values(
        Refused{"KUEUE_FAIR_SHARING", "yes", "must be true or false"},
        Refused{"KUEUE_PREEMPTION_STRATEGIES", "LessThanInitialShare,LessThanOrEqualToFinalShare",
                "must be LessThanOrEqualToFinalShare, LessThanInitialShare, or both in this order, "
                "separated by a comma"},
        Refused{"KUEUE_ADMISSION_REASONS", "loud", "must be legacy or granular"},
        Refused{"KUEUE_RESOURCE_TRANSFORMATIONS", "[{]",
                "must be a JSON list of {input, strategy, outputs}"},
        Refused{"KUEUE_RESOURCE_TRANSFORMATIONS", "[{\"input\": \"a\", \"strategy\": \"Drop\"}]",
                "a strategy must be Retain or Replace"},
        Refused{"KUEUE_RESOURCE_TRANSFORMATIONS", "[{\"input\": \"a\"}, {\"input\": \"a\"}]",
                "each transformation must name an input of its own"},
        Refused{"KUEUE_RESOURCE_TRANSFORMATIONS",
                "[{\"input\": \"a\", \"outputs\": {\"b\": \"-1\"}}]",
                "an output must be a quantity of at least 0"},
        Refused{"KUEUE_RESOURCE_TRANSFORMATIONS", "[{\"input\": \"a\", \"output\": {}}]",
                "a transformation has input, strategy, multiplyBy and outputs only"},
        Refused{"KUEUE_RETENTION_AFTER_FINISHED", "-1h",
                "must be a duration of at most a year, as 168h, or empty"}));

class Eligible : public QueueWorld {};

TEST_F(Eligible, LimitRangesGiveDefaultsAndBounds) {
  queue("q", "8");
  world.put(from_yaml(
      "{apiVersion: v1, kind: LimitRange, metadata: {name: a, namespace: bench}, spec: {limits: "
      "[{type: Container, default: {gpu: 6}, defaultRequest: {gpu: 2}, max: {gpu: 4}, min: {gpu: "
      "1}}, {type: Pod, max: {gpu: 6}}]}}"));
  world.put(workload("silent", "q", ""));
  run("large", "q", 5);
  run("none", "q", 0);
  EXPECT_TRUE(admitted("silent"));
  EXPECT_EQ(world.must(api::kueue::kWorkload, {"bench", "silent"})
                .status()["admission"]["podSetAssignments"][0]["resourceUsage"]["gpu"]
                .as_string(),
            "2");
  EXPECT_EQ(message("large"),
            "resources didn't satisfy LimitRange constraints: "
            "spec.podSets[0].template.spec.containers[0]: Invalid value: [\"gpu\"]: requests must "
            "not be above the limitRange max");
  EXPECT_EQ(message("none"),
            "resources didn't satisfy LimitRange constraints: "
            "spec.podSets[0].template.spec.containers[0]: Invalid value: [\"gpu\"]: requests must "
            "not be below the limitRange min");
}

TEST_F(Eligible, ARequestAboveItsLimit) {
  queue("q", "8");
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: bench}, "
      "spec: {queueName: q, podSets: [{name: main, count: 1, template: {spec: {containers: [{name: "
      "c, resources: {requests: {gpu: 2}, limits: {gpu: 1}}}]}}}]}}"));
  settle();
  EXPECT_EQ(message("w"),
            "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid "
            "value: [\"gpu\"]: requests must not exceed its limits");
}

TEST_F(Eligible, APodsRequestAboveItsLimit) {
  queue("q", "8");
  world.put(from_yaml(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w, namespace: bench}, "
      "spec: {queueName: q, podSets: [{name: main, count: 1, template: {spec: {resources: "
      "{requests: {gpu: 2}, limits: {gpu: 1}}, containers: [{name: c}]}}}]}}"));
  settle();
  EXPECT_EQ(message("w"),
            "resources validation failed: spec.podSets[0].template.spec.resources: Invalid value: "
            "[\"gpu\"]: requests must not exceed its limits");
}

TEST_F(Eligible, ResourceClaimsAreRefusedWithASentence) {
  queue("q", "8");
  world.put(workload("w", "q", "gpu: 1", "",
                     ", resourceClaims: [{name: d, resourceClaimTemplateName: t}]"));
  settle();
  EXPECT_EQ(message("w"),
            "resources validation failed: spec.podSets[0].template.spec.resourceClaims: Forbidden: "
            "quota does not count resource claims; request the device as an extended resource");
}

// ---- partial admission (11.1, 16.4 number 14)
class PartialAdmission : public QueueWorld {
 protected:
  Value four_pods(const std::string& name, const std::string& min, int priority = 0) {
    return from_yaml(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {{name: {}, namespace: "
        "bench}}, spec: {{queueName: q, priority: {}, podSets: [{{name: main, count: 4{}, "
        "template: "
        "{{spec: {{containers: [{{name: c, resources: {{requests: {{gpu: 2}}}}}}]}}}}}}]}}}}",
        name, priority, min));
  }
  Value assignment(const std::string& name) {
    return world.must(api::kueue::kWorkload, {"bench", name})
        .status()["admission"]["podSetAssignments"][0];
  }
};

TEST_F(PartialAdmission, GivesAsManyPodsAsFit) {
  queue("q", "7");
  world.put(four_pods("w", ", minCount: 2"));
  settle();
  EXPECT_EQ(assignment("w")["count"].as_int(), 3);
  EXPECT_EQ(assignment("w")["resourceUsage"]["gpu"].as_string(), "6");
}

TEST_F(PartialAdmission, NotBelowTheMinimum) {
  queue("q", "3");
  world.put(four_pods("w", ", minCount: 2"));
  settle();
  EXPECT_FALSE(admitted("w"));
  EXPECT_NE(message("w").find("current podset request (8) > maximum capacity (3)"),
            std::string::npos)
      << message("w");
}

TEST_F(PartialAdmission, IsOffByItsGate) {
  queue("q", "7");
  Value section = api::encode(Settings{});
  section.set("partialAdmission", false);
  world.configure("kueue", section);
  world.put(four_pods("w", ", minCount: 2"));
  settle();
  EXPECT_FALSE(admitted("w"));
}

TEST_F(PartialAdmission, AllOfThemWherePreemptionMakesRoom) {
  queue("q", "8", ", preemption: {withinClusterQueue: LowerPriority}");
  run("low", "q", 2, 1);
  world.put(four_pods("w", ", minCount: 2", 5));
  settle();
  EXPECT_TRUE(evicted("low"));
  release("low");
  EXPECT_EQ(assignment("w")["count"].as_int(), 4);
}

// ---- reclaimable pods (11.2)
TEST_F(PartialAdmission, PodsThatAreOverLetOthersIn) {
  queue("q", "8");
  world.put(four_pods("w", ""));
  settle();
  run("next", "q", 2);
  EXPECT_FALSE(admitted("next"));
  world.update(api::kueue::kWorkload, {"bench", "w"}, [](Value& object) {
    object.member("status").set("reclaimablePods", from_yaml("[{name: main, count: 1}]"));
  });
  settle();
  EXPECT_TRUE(admitted("next"));
}

}  // namespace
}  // namespace athanor::kueue::test::requests_test
