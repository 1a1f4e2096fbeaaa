// SPDX-License-Identifier: Apache-2.0
// --controllers of the production world, and its configuration file.
#include "cli/controllers/operator_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "api/builtin.hpp"
#include "cli/flags/controllers_flags.hpp"
#include "product/list.hpp"

namespace athanor::cli::operator_list_test {
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
  EXPECT_EQ(names("tekton"),
            (std::vector<std::string>{"tekton-pipelinerun", "tekton-taskrun",
                                      "tekton-customrun-events", "tekton-pruner"}));
  EXPECT_EQ(names("tekton,-tekton-taskrun,-tekton-pruner"),
            (std::vector<std::string>{"tekton-pipelinerun", "tekton-customrun-events"}));
  EXPECT_EQ(names("kubelet,kubelet"), (std::vector<std::string>{"kubelet"}));
}

// Kueue's ConfigMap is read beside a Kueue of ours; in the place of its integration no right to it
// is needed.
TEST(OperatorList, FollowsWorkloadsOfAppWrappersInOneOperator) {
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
TEST(OperatorList, ReportsUnqueuedAppWrappersWithoutIntegration) {
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

// What a cluster has to bring for a system to be of use: the kinds of the systems themselves, and
// those of Kueue and Tekton. Without any other kind a process is ready.
TEST(OptionalKinds, CoverEveryKindOfAnotherProduct) {
  const auto kinds_of_system = [](const System& system) {
    return system.kinds == nullptr ? std::vector<const api::CustomKind*>() : system.kinds({});
  };
  for (const System* system : all_systems()) {
    std::set<std::pair<std::string_view, std::string_view>> own;
    for (const System* other : all_systems()) {
      for (const api::CustomKind* custom : kinds_of_system(*other)) {
        if (other == system || !other->stand_in) {
          own.emplace(custom->kind->group, custom->kind->plural);
        }
      }
    }
    const auto is_needed = [&](const Kind* kind) {
      return kind->group.find('.') == std::string_view::npos || kind->group.ends_with(".k8s.io") ||
             kind->group == "kueue.x-k8s.io" || kind->group == "tekton.dev" ||
             own.contains({kind->group, kind->plural});
    };
    const auto optional = optional_kinds_of({system->operators.begin(), system->operators.end()});
    for (const Operator* op : system->operators) {
      std::vector<const Kind*> touched(op->reads.begin(), op->reads.end());
      if (op->primary != nullptr) {
        touched.push_back(op->primary);
      }
      for (const Kind* kind : touched) {
        EXPECT_TRUE(is_needed(kind) || std::ranges::find(optional, kind) != optional.end())
            << op->name << " reads " << kind->plural << "." << kind->group;
      }
    }
  }
}

// Each system whose webhooks decide on what it watches: refused with --namespace, and wherever its
// kinds have places that are not all of theirs.
TEST(Scope, CoversKindsThatWebhooksDecideOn) {
  std::size_t with_webhooks = 0;
  for (const System* system : all_systems()) {
    const std::vector<const Operator*> operators(system->operators.begin(),
                                                 system->operators.end());
    const Kind* decided = nullptr;
    for (const Webhook& webhook : system->webhooks) {
      for (const WebhookRule& rule : webhook.rules) {
        const bool watched = std::ranges::any_of(operators, [&](const Operator* op) {
          return op->primary == rule.kind ||
                 std::ranges::find(op->reads, rule.kind) != op->reads.end();
        });
        if (watched && rule.kind->namespaced && webhook.ns.empty()) {
          decided = rule.kind;
        }
      }
    }
    EXPECT_TRUE(check_scope(operators, {}, {}).ok()) << system->name;
    if (decided == nullptr) {
      continue;
    }
    ++with_webhooks;
    const auto narrow = check_scope(operators, {"jobs"}, {});
    ASSERT_FALSE(narrow.ok()) << system->name;
    EXPECT_NE(narrow.error().message.find(system->name), std::string::npos);
    EXPECT_FALSE(check_scope(operators, {}, {{decided, {.watched = {"jobs"}}}}).ok())
        << system->name;
  }
  EXPECT_GE(with_webhooks, 3U);
}

// Settings of one system do not narrow another one.
TEST(Scope, IsEachSystemsOwn) {
  const auto chosen = select_operators("fournos,hearth,das,appwrapper");
  ASSERT_TRUE(chosen.ok());
  const auto config = read_config({{"FOURNOS_WORKLOAD_NAMESPACE", "jobs"},
                                   {"FOURNOS_SECRETS_NAMESPACE", "keys"},
                                   {"HEARTH_NAMESPACE", "fleet"}},
                                  "jobs", {}, *chosen);
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto operators = those_that_run(all_systems(), *chosen, *config);
  const Places places = places_of(parts_of(operators, *config));
  EXPECT_TRUE(check_scope(operators, {}, places).ok());
  std::map<std::string_view, std::vector<std::string>> told;
  for (const System* system : systems_of(operators)) {
    told[system->name] = namespaces_of(*system, operators, *config);
  }
  const std::vector<std::string> everywhere;
  EXPECT_EQ(told["das"], everywhere) << "but for the API server's EndpointSlice";
  EXPECT_EQ(told["appwrapper"], everywhere);
  EXPECT_EQ(told["fournos"], (std::vector<std::string>{"fleet", "jobs", "keys"}));
  const auto jobs = std::ranges::find_if(
      places, [](const auto& entry) { return entry.first->plural == "fournosjobs"; });
  ASSERT_NE(jobs, places.end());
  EXPECT_EQ(jobs->second.watched, std::vector<std::string>{"jobs"});
}

TEST(OptionalKinds, AreNeededOnceAnotherSystemNeedsThem) {
  const auto is_optional = [](const std::string& list) {
    const auto chosen = select_operators(list);
    const auto kinds = chosen.ok() ? optional_kinds_of(*chosen) : std::vector<const Kind*>();
    return std::ranges::any_of(kinds,
                               [](const Kind* kind) { return kind->plural == "fournosclusters"; });
  };
  EXPECT_TRUE(is_optional("fournos"));
  EXPECT_FALSE(is_optional("fournos,hearth"));
}

TEST(OperatorList, RefusesUnknownAndEmptyLists) {
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

TEST(Webhooks, PreferSystemOverStandInOfItsName) {
  const std::vector<std::string> own{"/mutate-workload-codeflare-dev-v1beta2-appwrapper"};
  EXPECT_EQ(paths_of_webhook("appwrapper", "mappwrapper.kb.io"), own);
  EXPECT_EQ(paths_of_webhook("appwrapper,appwrapper-kueue", "mappwrapper.kb.io"), own);
}

TEST(Webhooks, AStandInWithoutThatSystemIsAsked) {
  EXPECT_EQ(paths_of_webhook("appwrapper-kueue", "mappwrapper.kb.io"),
            (std::vector<std::string>{"/mappwrapper.kb.io"}));
}

TEST(Webhooks, AskStandInWithOwnNamesBesideAll) {
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

TEST(ControllersConfig, NamesFaultsOfConfigurationFile) {
  EXPECT_EQ(config_arguments("- a\n", "c.yaml").error().message, "c.yaml: not a map of flags");
  EXPECT_EQ(config_arguments("log-level:\n", "c.yaml").error().message,
            "c.yaml: log-level has no value");
  EXPECT_FALSE(config_arguments("a: [", "c.yaml").ok());
}

}  // namespace
}  // namespace athanor::cli::operator_list_test
