// SPDX-License-Identifier: Apache-2.0
// CloudEvents of runs (docs/tekton.md, CloudEvents). Their delivery:
// tests/e2e/lab/test_pipeline_events.py.
#include "embedded/tekton/model/cloud_events.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/tekton.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::cloud_events_test {
namespace {

constexpr std::string_view kConfig = R"y(
{apiVersion: v1, kind: ConfigMap, metadata: {name: config-events, namespace: tekton-pipelines},
 data: {sink: "http://sink.example/"}}
)y";
constexpr std::string_view kRun = R"y(
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run, uid: of-run}
spec:
  timeouts: {pipeline: 5m}
  pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{name: s, image: i}]}}]}
)y";

class CloudEvents : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> types(std::string_view subject) const {
    std::vector<std::string> result;
    for (const Act& act : lab.world.acts) {
      if (act.verb == "cloudevent" && act.args["headers"]["Ce-Subject"].as_string() == subject) {
        result.push_back(act.args["headers"]["Ce-Type"].str());
      }
    }
    return result;
  }
  Lab lab{};
};

Value failed(std::string_view why) {
  return Value::object({{"error", why}});
}

std::vector<std::string> of(std::string_view kind, std::vector<std::string> stages) {
  for (std::string& stage : stages) {
    stage = "dev.tekton.event." + std::string(kind) + "." + stage + ".v1";
  }
  return stages;
}

TEST_F(CloudEvents, FollowEachChangeOfCondition) {
  lab.put(kConfig);
  lab.put(kRun);
  lab.play();
  EXPECT_EQ(types("run"), of("pipelinerun", {"started", "running", "successful"}));
  EXPECT_EQ(types("run-a"), of("taskrun", {"started", "running", "successful"}));
  const Act& last = lab.world.acts.back();
  EXPECT_EQ(last.args["url"], Value("http://sink.example/"));
  const Value body = json::parse(last.args["body"].as_string()).value();
  EXPECT_EQ(body["pipelineRun"]["apiVersion"], Value("tekton.dev/v1beta1"));
  EXPECT_EQ(body["pipelineRun"]["status"]["conditions"][0]["status"], Value("True"));
}

TEST_F(CloudEvents, ReportRefusalsOfTheSink) {
  lab.put(kConfig);
  lab.ends = [](std::string_view, std::string_view) { return Lab::End{.exit_code = 1}; };
  lab.world.executors["cloudevent"] = [](test::FakeWorld&, const Act&) -> Result<Value> {
    return failed("the webhook answered 401");
  };
  lab.put(kRun);
  lab.play();
  EXPECT_EQ(types("run").back(), "dev.tekton.event.pipelinerun.failed.v1");
  EXPECT_GE(lab.world.event_count("CloudEventFailed", "run"), 1);
}

// The answer about an event may come when the run has gone on, or is over.
TEST_F(CloudEvents, ReportRefusalsOfEarlierStages) {
  lab.put(kConfig);
  lab.put(kRun);
  lab.play();
  EXPECT_EQ(lab.world.event_count("CloudEventFailed", ""), 0);
  for (const char* stage : {"started", "running"}) {
    for (const Act& act : std::vector<Act>(lab.world.acts)) {
      if (act.args["headers"]["Ce-Subject"] == Value("run") &&
          act.args["headers"]["Ce-Type"].as_string().ends_with(std::string(stage) + ".v1")) {
        lab.world.observe_as("cloudevent:" + act.id, failed("answered 401"));
      }
    }
  }
  lab.settle();
  EXPECT_EQ(lab.world.event_count("CloudEventFailed", "run"), 2);
}

// An id of this stage follows from a condition that the run no longer has.
TEST_F(CloudEvents, ReportUnknownStagesWithNextAnswer) {
  lab.put(kConfig);
  lab.world.executors["cloudevent"] = [](test::FakeWorld&, const Act& act) -> Result<Value> {
    if (!act.args["headers"]["Ce-Type"].as_string().ends_with("successful.v1")) {
      return Value::object({{"status", 202}});
    }
    const Value earlier = Value::object({{"id", "of-past"}, {"error", "answered 401"}});
    return Value::object({{"status", 202}, {"earlier", Value::list({earlier})}});
  };
  lab.put(kRun);
  lab.play();
  EXPECT_GE(lab.world.event_count("CloudEventFailed", "run"), 1);
  EXPECT_GE(lab.world.event_count("CloudEventFailed", "run-a"), 1);
}

TEST_F(CloudEvents, NeedASink) {
  lab.put(kRun);
  lab.play();
  EXPECT_TRUE(types("run").empty());
}

TEST_F(CloudEvents, OfCustomRunsNeedTheirFlag) {
  const auto settle = [&] { lab.world.settle({&custom_run_events_operator()}); };
  lab.put(kConfig);
  lab.put(
      "{apiVersion: tekton.dev/v1beta1, kind: CustomRun, metadata: {name: c, uid: of-c}, spec: "
      "{}}");
  settle();
  EXPECT_TRUE(types("c").empty());
  lab.put(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: "
      "tekton-pipelines}, data: {send-cloudevents-for-runs: 'true'}}");
  settle();
  EXPECT_EQ(types("c"), of("customrun", {"started"}));
  for (const char* status : {"Unknown", "Unknown", "True"}) {
    lab.world.update(api::kCustomRun, {"ns", "c"}, [&](Value& object) {
      object.set_path(
          {"status", "conditions"},
          Value::list({Value::object({{"type", "Succeeded"},
                                      {"status", status},
                                      {"lastTransitionTime", format_time(lab.world.now)}})}));
    });
    settle();
  }
  EXPECT_EQ(types("c"), of("customrun", {"started", "running", "successful"}));
}

}  // namespace
}  // namespace athanor::tekton::cloud_events_test
