// SPDX-License-Identifier: Apache-2.0
// Resolvers http, hub and git (docs/spec/tekton.md 1): runs wait for what is fetched, and say what
// is wrong with it.
#include "embedded/tekton/model/remote_definitions.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
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

TEST_F(RemoteDefinitions, RefuseCredentialsOfServers) {
  serve({{"https://x.example/task.yaml", std::string(kTask)}});
  const std::string outcome = run_task(
      "{resolver: http, params: [{name: url, value: 'https://x.example/task.yaml'}, {name: "
      "http-username, value: u}, {name: http-password-secret, value: s}]}");
  EXPECT_NE(outcome.find("False/TaskRunResolutionFailed"), std::string::npos) << outcome;
  EXPECT_NE(outcome.find("resolver http: param http-username is not supported by the embedded "
                         "engine, which sends no credentials"),
            std::string::npos)
      << outcome;
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

// Params as "name: value" of a reference to the Task `here`.
TEST_F(RemoteDefinitions, RefuseWrongKindsAndParams) {
  lab.put(
      "{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: here}, spec: {steps: [{name: s, "
      "image: i}]}}");
  struct Row {
    std::string_view resolver{};
    std::string_view params{};
    std::string_view says{};
  };
  const Row rows[] = {
      {"cluster", "{name: kind, value: pipeline}, {name: name, value: here}",
       "param kind of resolver cluster is \"pipeline\", a task is needed here"},
      {"cluster", "{name: kind, value: configmap}, {name: name, value: here}",
       "unknown or unsupported resource kind 'configmap'"},
      {"cluster", "{name: kind, value: task}", "missing required cluster resolver params: name"},
      {"cluster", "{name: kind, value: task}, {name: name, value: [here]}",
       "missing required cluster resolver params: name"},
      {"http", "{name: url, value: 'https://x.example/t'}, {name: kind, value: task}",
       "resolver http: param kind is not supported by the embedded engine"}};
  int number = 0;
  for (const Row& row : rows) {
    const std::string name = "tr-" + std::to_string(++number);
    lab.put("{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: " + name +
            "}, spec: {taskRef: {resolver: " + std::string(row.resolver) + ", params: [" +
            std::string(row.params) + "]}}}");
    lab.settle();
    EXPECT_EQ(Lab::outcome(lab.task_run(name)),
              "False/TaskRunResolutionFailed: error when listing tasks for taskRun " + name + ": " +
                  std::string(row.says));
  }
  run_task("{resolver: cluster, params: [{name: kind, value: Task}, {name: name, value: here}]}");
  EXPECT_EQ(lab.pod("tr-pod").name(), "tr-pod");
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
      "{resolver: hub, params: [{name: type, value: tekton}, {name: name, value: build}, {name: "
      "version, value: '0.1.0'}]}";
  lab.world.configure("tekton",
                      json::parse(R"({"run":{"hubURL":"https://hub.example/"}})").value());
  serve({{"https://hub.example/v1/resource/tekton/task/build/0.1/yaml",
          json::print(Value::object({{"data", Value::object({{"yaml", kTask}})}}))}});
  run_task(kHubRef);
  EXPECT_TRUE(lab.has_pod("tr-pod"));
}

// The address that a hub is asked for, or what the run says against the params.
TEST_F(RemoteDefinitions, AskHubsByTheirType) {
  struct Row {
    std::string_view params{};
    std::string_view address{};
  };
  const Row rows[] = {
      {"{name: name, value: a}, {name: version, value: '0.1'}",
       "https://hub.example/api/v1/packages/tekton-task/tekton-catalog-tasks/a/0.1.0"},
      {"{name: name, value: a}, {name: version, value: 1.2.3}, {name: type, value: artifact}, "
       "{name: catalog, value: own}",
       "https://hub.example/api/v1/packages/tekton-task/own/a/1.2.3"},
      {"{name: name, value: a}, {name: version, value: '0.1'}, {name: type, value: tekton}",
       "https://hub.example/v1/resource/tekton/task/a/0.1/yaml"},
      {"{name: name, value: a}, {name: version, value: '0.1'}, {name: type, value: other}",
       "type must be either 'artifact' or 'tekton', not \"other\""},
      {"{name: name, value: a}, {name: version, value: '>= 0.1.0'}",
       "param version is not a name: \">= 0.1.0\""},
      {"{name: name, value: a}", "param version is required"}};
  lab.world.configure("tekton",
                      json::parse(R"({"run":{"hubURL":"https://hub.example/"}})").value());
  std::string asked;
  lab.world.probes["definition"] = [&asked](test::FakeWorld&,
                                            std::string_view query) -> Result<Value> {
    asked = std::string(query);
    return Error::bad_request("asked");
  };
  int number = 0;
  for (const Row& row : rows) {
    asked.clear();
    const std::string name = "tr-" + std::to_string(++number);
    lab.put("{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: " + name +
            "}, spec: {taskRef: {resolver: hub, params: [" + std::string(row.params) + "]}}}");
    lab.settle();
    const std::string said = asked + Lab::outcome(lab.task_run(name));
    EXPECT_NE(said.find(row.address), std::string::npos) << said;
  }
}

TEST_F(RemoteDefinitions, ComeFromArtifactHub) {
  lab.world.configure("tekton", json::parse(R"({"run":{"hubURL":"https://hub.example"}})").value());
  serve({{"https://hub.example/api/v1/packages/tekton-task/tekton-catalog-tasks/far/0.1.0",
          json::print(Value::object({{"data", Value::object({{"manifestRaw", kTask}})}}))}});
  run_task("{resolver: hub, params: [{name: name, value: far}, {name: version, value: '0.1'}]}");
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

// The address that params of the resolver git lead to, or what the run says against them.
class GitAddresses : public RemoteDefinitions {
 protected:
  std::string address(const std::string& params) {
    std::string asked;
    lab.world.probes["git"] = [&asked](test::FakeWorld&, std::string_view query) -> Result<Value> {
      asked = std::string(query.substr(4));
      return Value::object({{"text", kTask}});
    };
    std::string named = "{name: pathInRepo, value: a.yaml}";
    const Value given = yaml::parse(params).value();
    for (const Member& param : given.members()) {
      named += ", {name: " + std::string(param.key()) + ", value: '" + param.value.str() + "'}";
    }
    const std::string outcome = run_task("{resolver: git, params: [" + named + "]}");
    lab.world.probes.erase("git");
    return asked.empty() ? outcome.substr(outcome.rfind("tr: ") + 4)
                         : json::print(json::parse(asked).value()["url"]) +
                               json::print(json::parse(asked).value()["secret"]);
  }
};

TEST_F(GitAddresses, FollowFromOrganizationAndRepository) {
  EXPECT_EQ(address("{org: team, repo: tasks}"), R"("https://github.com/team/tasks.git"null)");
  EXPECT_EQ(address("{org: a/b, repo: tasks.git, scmType: gitlab, token: key, tokenKey: word}"),
            R"("https://gitlab.com/a/b/tasks.git"{"namespace":"ns","name":"key","key":"word"})");
  EXPECT_EQ(address("{org: t, repo: r, scmType: gitea, serverURL: 'https://git.example/'}"),
            R"("https://git.example/t/r.git"null)");
  EXPECT_EQ(address("{url: 'https://x.example/r', cache: never}"), R"("https://x.example/r"null)");
}

TEST_F(GitAddresses, NeedFolderForRepositoriesOfMachine) {
  EXPECT_EQ(address("{url: 'file:///srv/git/a'}"),
            "resolver git: url \"file:///srv/git/a\" is a repository of the lab's machine, which "
            "needs a folder of them: set TEKTON_GIT_FOLDER");
  lab.world.configure("tekton", json::parse(R"({"run":{"gitFolder":"/srv/git"}})").value());
  EXPECT_EQ(address("{url: /srv/git/a}"), R"("/srv/git/a"null)");
}

TEST_F(GitAddresses, NeedCompleteParams) {
  EXPECT_EQ(address("{url: 'https://x.example/r', org: t, repo: r}"),
            "cannot specify both 'url' and 'repo'");
  EXPECT_EQ(address("{repo: r}"), "'org' is required when 'repo' is specified");
  EXPECT_EQ(
      address("{url: 'https://x.example/r', token: key}"),
      "resolver git: param token needs param repo; with url, a token is named by gitToken and "
      "gitTokenKey");
  EXPECT_EQ(address("{org: t, repo: r, gitToken: key}"),
            "resolver git: with org and repo, a token is named by token and tokenKey, not by "
            "gitToken and gitTokenKey");
  EXPECT_EQ(address("{org: t, repo: r, scmType: gitea}"),
            "resolver git: param serverURL of scmType \"gitea\" is required");
  EXPECT_EQ(
      address("{org: t, repo: r, scmType: bitbucketserver, serverURL: 'https://b.example'}"),
      "resolver git: scmType \"bitbucketserver\" is not supported by the embedded engine with "
      "org and repo: give the address of the repository as url");
  EXPECT_EQ(address("{org: t, repo: r, serverURL: 'file:///etc'}"),
            "resolver git: param serverURL of scmType \"github\" is no http(s) url: "
            "\"file:///etc\"");
  for (const char* org : {"../x", "a//b", "a/", "/a", "a b"}) {
    EXPECT_EQ(address(std::string("{repo: r, org: '") + org + "'}"),
              "resolver git: param org is not a name: \"" + std::string(org) + "\"");
  }
  EXPECT_EQ(address("{org: t, repo: '../r'}"), "resolver git: param repo is not a name: \"../r\"");
  EXPECT_EQ(address("{url: 'https://x.example/r', configKey: k}"),
            "resolver git: param configKey is not supported by the embedded engine, which reads "
            "repositories by url, or by org and repo");
}

}  // namespace
}  // namespace athanor::tekton::remote_definitions_test
