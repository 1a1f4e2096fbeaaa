// SPDX-License-Identifier: Apache-2.0
// Resolvers http, hub and git (docs/spec/tekton.md 1): runs wait for what is fetched, and say what
// is wrong with it.
#include "embedded/tekton/model/remote_definitions.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/text/json.hpp"
#include "unit/embedded/tekton/lab.hpp"

namespace athanor::tekton::remote_definitions_test {
namespace {

constexpr std::string_view kTask = R"y(
apiVersion: tekton.dev/v1beta1
kind: Task
metadata: {name: far}
spec: {steps: [{name: s, image: i, resources: {limits: {cpu: "1"}}}]}
)y";

class RemoteDefinitions : public testing::Test {
 protected:
  // Answers questions with the text of the URL.
  void serve(std::map<std::string, std::string> pages) {
    lab.world.probes["definition"] = [pages](test::FakeWorld&,
                                             std::string_view query) -> Result<Value> {
      const auto question = json::parse(query.substr(query.find(':') + 1));
      const auto page = pages.find((*question)["url"].str());
      if (page == pages.end()) {
        return Error::bad_request("requested URL is not found");
      }
      return Value::object({{"text", page->second}});
    };
  }

  std::string run_task(const std::string& ref) {
    lab.put("{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: tr}, spec: {taskRef: " +
            ref + "}}");
    lab.settle();
    return Lab::outcome(lab.task_run("tr"));
  }

  Lab lab{};
};

constexpr const char* kRef =
    "{resolver: http, params: [{name: url, value: 'https://x.example/task.yaml'}]}";

TEST_F(RemoteDefinitions, RunFetchedDefinitions) {
  serve({{"https://x.example/task.yaml", std::string(kTask)}});
  run_task(kRef);
  EXPECT_EQ(lab.pod("tr-pod").spec()["containers"][0]["resources"]["limits"]["cpu"], Value("1"));
}

TEST_F(RemoteDefinitions, KeepTheRunWaiting) {
  EXPECT_EQ(run_task(kRef), "Unknown/ResolvingTaskRef: TaskRun ns/tr awaiting remote resource");
}

TEST_F(RemoteDefinitions, FailTheRunWithTheCause) {
  serve({{"https://x.example/task.yaml", "kind: Pod"}});
  EXPECT_EQ(run_task(kRef),
            "False/TaskRunResolutionFailed: error when listing tasks for taskRun tr: what was "
            "fetched is no Task of tekton.dev");
}

TEST_F(RemoteDefinitions, AreFoundForPipelines) {
  serve({{"https://x.example/p.yaml",
          "{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: "
          "{name: far}, spec: {tasks: [{name: a, taskRef: "
          "{resolver: http, params: [{name: url, value: "
          "'https://x.example/task.yaml'}]}}]}}"},
         {"https://x.example/task.yaml", std::string(kTask)}});
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineRef: "
      "{resolver: http, params: [{name: url, value: 'https://x.example/p.yaml'}]}}}");
  lab.play();
  EXPECT_EQ(Lab::outcome(lab.run()),
            "True/Succeeded: Tasks Completed: 1 (Failed: 0, Cancelled 0), Skipped: 0");
}

TEST_F(RemoteDefinitions, ComeFromAHubThatIsSet) {
  constexpr const char* kHubRef =
      "{resolver: hub, params: [{name: name, value: build}, {name: version, value: '0.1'}]}";
  lab.world.configure("tekton",
                      json::parse(R"({"run":{"hubURL":"https://hub.example/"}})").value());
  serve({{"https://hub.example/v1/resource/tekton/task/build/0.1/yaml",
          json::print(Value::object({{"data", Value::object({{"yaml", kTask}})}}))}});
  run_task(kHubRef);
  EXPECT_TRUE(lab.has_pod("tr-pod"));
}

TEST_F(RemoteDefinitions, RefuseParamsThatLeadElsewhere) {
  EXPECT_NE(run_task("{resolver: http, params: [{name: url, value: 'file:///etc/passwd'}]}")
                .find("is not a valid http(s) url"),
            std::string::npos);
}

TEST_F(RemoteDefinitions, NeedAHubsAddress) {
  EXPECT_NE(run_task("{resolver: hub, params: [{name: name, value: a}]}").find("TEKTON_HUB_URL"),
            std::string::npos);
}

TEST_F(RemoteDefinitions, AskRepositoriesWithNamedTokens) {
  std::string asked;
  lab.world.probes["git"] = [&asked](test::FakeWorld&, std::string_view query) -> Result<Value> {
    asked = std::string(query);
    return Value::object({{"text", kTask}});
  };
  run_task(
      "{resolver: git, params: [{name: url, value: 'https://x.example/r.git'}, {name: pathInRepo, "
      "value: a.yaml}, {name: gitToken, value: key}]}");
  EXPECT_EQ(asked, R"(git:{"url":"https://x.example/r.git","path":"a.yaml","revision":"main",)"
                   R"("secret":{"namespace":"ns","name":"key","key":"token"}})");
  EXPECT_EQ(lab.pod("tr-pod").spec()["containers"][0]["resources"]["limits"]["cpu"], Value("1"));
}

}  // namespace
}  // namespace athanor::tekton::remote_definitions_test
