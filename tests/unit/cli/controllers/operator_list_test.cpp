// SPDX-License-Identifier: Apache-2.0
// --controllers of the production world, and its configuration file.
#include "cli/controllers/operator_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "api/builtin.hpp"
#include "cli/controllers/controllers_flags.hpp"
#include "systems/list.hpp"

namespace athanor::cli {
namespace {

std::vector<std::string> names(const std::string& list) {
  std::vector<std::string> result;
  const auto operators = select_operators(list);
  EXPECT_TRUE(operators.ok()) << operators.error().message;
  for (const Operator* op : operators.ok() ? *operators : std::vector<const Operator*>()) {
    result.emplace_back(op->name);
  }
  return result;
}

TEST(OperatorList, AllSystemsAreNotTheStandIns) {
  const auto all = names("*");
  EXPECT_NE(std::ranges::find(all, "fournosjob"), all.end());
  EXPECT_EQ(std::ranges::find(all, "kueue-admission"), all.end());
}

TEST(OperatorList, SystemsAndControllersComeAndGo) {
  EXPECT_EQ(names("tekton"), (std::vector<std::string>{"tekton-pipelinerun", "tekton-taskrun"}));
  EXPECT_EQ(names("tekton,-tekton-taskrun"), (std::vector<std::string>{"tekton-pipelinerun"}));
  EXPECT_EQ(names("kubelet,kubelet"), (std::vector<std::string>{"kubelet"}));
}

// Kueue's ConfigMap is read beside a Kueue of ours; in the place of its integration no right to it
// is needed.
TEST(OperatorList, OneOfTwoFollowsTheWorkloadsOfAppWrappers) {
  const auto chosen = select_operators("appwrapper-kueue");
  ASSERT_TRUE(chosen.ok());
  for (const bool integrated : {false, true}) {
    const auto config = read_config(
        {}, "jobs", {{"appwrapper", Value::object({{"enableKueueIntegrations", integrated}})}});
    ASSERT_TRUE(config.ok()) << config.error().message;
    std::vector<std::string_view> running;
    bool reads_config_maps = false;
    for (const Operator* op : those_that_run(all_systems(), *chosen, *config)) {
      running.push_back(op->name);
      reads_config_maps =
          reads_config_maps || std::ranges::find(op->reads, &api::kConfigMap) != op->reads.end();
    }
    EXPECT_EQ(running, (std::vector<std::string_view>{
                           integrated ? "appwrapper-workload-integrated" : "appwrapper-workload",
                           "appwrapper-workload-release"}));
    EXPECT_EQ(reads_config_maps, !integrated);
  }
}

// AppWrappers that no controller queues are told of where their integration does not run.
TEST(OperatorList, QueueingAloneTellsOfAppWrappers) {
  const auto tells = [](const std::string& list) {
    const auto chosen = select_operators(list);
    const auto config =
        chosen.ok() ? read_config({}, "jobs", {}, *chosen) : Result<SystemConfig>(chosen.error());
    EXPECT_TRUE(config.ok());
    const auto running = those_that_run(all_systems(), *chosen, *config);
    return std::ranges::any_of(
        running, [](const Operator* op) { return op->name == "kueue-unqueued-appwrapper"; });
  };
  EXPECT_TRUE(tells("kueue"));
  EXPECT_TRUE(tells("kueue,appwrapper"));
  EXPECT_FALSE(tells("kueue,appwrapper-kueue"));
  EXPECT_FALSE(tells("appwrapper"));
}

TEST(OperatorList, RefusesWhatIsUnknownAndNothing) {
  EXPECT_EQ(select_operators("*,nonsense").error().message.find("--controllers: \"nonsense\" is "),
            0U);
  EXPECT_FALSE(select_operators("").ok());
  EXPECT_FALSE(select_operators("tekton,-tekton").ok());
}

std::vector<std::string> paths_of_webhook(const std::string& list, std::string_view name) {
  std::vector<std::string> paths;
  const auto webhooks = select_webhooks(list);
  EXPECT_TRUE(webhooks.ok()) << webhooks.error().message;
  for (const Webhook& webhook : webhooks.ok() ? *webhooks : std::vector<Webhook>()) {
    if (webhook.name == name) {
      paths.push_back(webhook.url_path());
    }
  }
  return paths;
}

TEST(Webhooks, AStandInYieldsToTheSystemOfItsName) {
  const std::vector<std::string> own{"/mutate-workload-codeflare-dev-v1beta2-appwrapper"};
  EXPECT_EQ(paths_of_webhook("appwrapper", "mappwrapper.kb.io"), own);
  EXPECT_EQ(paths_of_webhook("appwrapper,appwrapper-kueue", "mappwrapper.kb.io"), own);
}

TEST(Webhooks, AStandInWithoutThatSystemIsAsked) {
  EXPECT_EQ(paths_of_webhook("appwrapper-kueue", "mappwrapper.kb.io"),
            (std::vector<std::string>{"/mappwrapper.kb.io"}));
}

TEST(Webhooks, AStandInWithNamesOfItsOwnIsAskedBesideAll) {
  EXPECT_EQ(paths_of_webhook("*,kueue,tekton,appwrapper-kueue", "vclusterqueue.kb.io").size(), 1U);
}

// Names tell webhooks apart in metrics and configurations.
TEST(Webhooks, OnlyThoseThatYieldShareAName) {
  std::map<std::string_view, int> seen;
  for (const System* system : all_systems()) {
    for (const Webhook& webhook : system->webhooks) {
      seen[webhook.name] += webhook.yields_to_namesake ? 0 : 1;
    }
  }
  EXPECT_GT(seen.size(), 10U);
  for (const auto& [name, count] : seen) {
    EXPECT_EQ(count, 1) << name;
  }
}

TEST(ControllersConfig, KeysAreFlags) {
  const auto arguments = config_arguments(
      "log-level: debug\nnamespace: [a, b]\nkube-api-qps: 20\nleader-elect: false\n", "c.yaml");
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(*arguments,
            (std::vector<std::string>{"--log-level=debug", "--namespace=a", "--namespace=b",
                                      "--kube-api-qps=20", "--leader-elect=false"}));
}

TEST(ControllersConfig, NamesWhatIsWrong) {
  EXPECT_EQ(config_arguments("- a\n", "c.yaml").error().message, "c.yaml: not a map of flags");
  EXPECT_EQ(config_arguments("log-level:\n", "c.yaml").error().message,
            "c.yaml: log-level has no value");
  EXPECT_FALSE(config_arguments("a: [", "c.yaml").ok());
}

}  // namespace
}  // namespace athanor::cli
