// SPDX-License-Identifier: Apache-2.0
// The command line: what it understands, and how it refuses.
#include "cli/flags/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace athanor::cli::options_test {
namespace {

Command parse_words(std::vector<const char*> words) {
  words.insert(words.begin(), "athanor");
  return parse(static_cast<int>(words.size()), words.data());
}

TEST(Options, SubmitTakesRepeatedFlags) {
  const Command command =
      parse_words({"submit", "--cluster", "c", "--gpu", "a100:2", "--project", "llmd", "--arg",
                   "cks", "--arg", "more", "--env", "A=b", "--follow", "-n", "bench"});
  const auto* options = std::get_if<SubmitOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->args, (std::vector<std::string>{"cks", "more"}));
  EXPECT_EQ(options->gpu, "a100:2");
  EXPECT_EQ(options->target.ns, "bench");
  EXPECT_TRUE(options->follow);
}

TEST(Options, TakeConnectionFlagsBeforeVerb) {
  const Command command =
      parse_words({"-n", "bench", "--as", "ada", "--as-group", "team", "--token", "t", "-s",
                   "https://h:1", "-v", "1", "jobs", "one"});
  const auto* options = std::get_if<JobsOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->list.names, std::vector<std::string>{"one"});
  EXPECT_EQ(options->target.ns, "bench");
  EXPECT_EQ(options->target.as, "ada");
  EXPECT_EQ(options->target.as_groups, std::vector<std::string>{"team"});
  EXPECT_EQ(options->target.token, "t");
  EXPECT_EQ(options->target.server, "https://h:1");
  EXPECT_EQ(options->target.verbosity, 1);
}

// Those of "clusters" hold for what stands below it.
TEST(Options, FlagsOfTheConnectionReachTheVerbBelow) {
  const Command command = parse_words({"--as", "ada", "clusters", "check", "edge"});
  const auto* check = std::get_if<ClusterCheckOptions>(&command);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->target.as, "ada");
}

// The words of each verb that has --kubeconfig, with those below other verbs.
void collect(const VerbSummary& verb, std::vector<std::string> words,
             std::vector<std::pair<std::vector<std::string>, VerbSummary>>& found) {
  words.push_back(verb.name);
  if (std::ranges::find(verb.flags, "--kubeconfig", &FlagSummary::name) != verb.flags.end()) {
    found.emplace_back(words, verb);
  }
  for (const VerbSummary& below : verb.verbs) {
    collect(below, words, found);
  }
}

TEST(Options, OfferConnectionFlagsOnEveryKubeconfigVerb) {
  std::vector<std::pair<std::vector<std::string>, VerbSummary>> found;
  for (const VerbSummary& verb : verb_summaries()) {
    // Services act as the account that they run as.
    if (verb.name != "controllers" && verb.name != "extender") {
      collect(verb, {}, found);
    }
  }
  EXPECT_GE(found.size(), 18U);
  for (const auto& [words, verb] : found) {
    std::string name;
    std::vector<const char*> given{"--as", "joe", "--as-group", "g",  "--token",
                                   "x",    "-s",  "https://h",  "-v", "1"};
    for (const std::string& word : words) {
      name += word + " ";
      given.push_back(word.c_str());
    }
    for (const char* flag :
         {"--context", "--namespace", "--server", "--certificate-authority",
          "--insecure-skip-tls-verify", "--token", "--as", "--as-group", "--verbosity"}) {
      EXPECT_NE(std::ranges::find(verb.flags, flag, &FlagSummary::name), verb.flags.end())
          << name << flag;
    }
    const Command command = parse_words(given);
    const auto* message = std::get_if<Message>(&command);
    EXPECT_TRUE(message == nullptr || message->text.find("not expected") == std::string::npos)
        << name << message->text;
  }
}

VaultSyncOptions vault_sync(std::vector<const char*> words) {
  const Command command = parse_words(std::move(words));
  const auto* options = std::get_if<VaultSyncOptions>(&command);
  EXPECT_NE(options, nullptr);
  return options == nullptr ? VaultSyncOptions{} : *options;
}

TEST(Options, TakeConnectionFlagsAroundWordsOfVaultSync) {
  for (const auto& words :
       {std::vector<const char*>{"--as", "joe", "--token", "x", "-n", "bench", "vault", "sync"},
        {"vault", "sync", "--as", "joe", "--token", "x", "-n", "bench"}}) {
    const Target target = vault_sync(words).target;
    EXPECT_EQ(target.as, "joe");
    EXPECT_EQ(target.token, "x");
    EXPECT_EQ(target.ns, "bench");
  }
  EXPECT_EQ(vault_sync({"vault", "sync"}).target.ns, "psap-secrets");
}

TEST(Options, TakeVerboseSwitchAndNumberForVaultSync) {
  EXPECT_EQ(vault_sync({"vault", "sync"}).target.verbosity, 0);
  EXPECT_EQ(vault_sync({"vault", "sync", "-v"}).target.verbosity, 1);
  EXPECT_EQ(vault_sync({"vault", "sync", "--verbose", "--dry-run"}).target.verbosity, 1);
  EXPECT_EQ(vault_sync({"vault", "sync", "-v", "6", "--dry-run"}).target.verbosity, 6);
  EXPECT_EQ(vault_sync({"-v", "6", "vault", "sync"}).target.verbosity, 6);
}

// A variable replaces the default namespace, not the flag before the verb.
TEST(Options, PreferNamespaceFlagBeforeVerbOverVariable) {
  // NOLINTBEGIN(concurrency-mt-unsafe): the test has one thread
  ::setenv("FOURNOS_SECRETS_NAMESPACE", "of-variable", 1);
  ::setenv("HEARTH_NAMESPACE", "of-variable", 1);
  EXPECT_EQ(vault_sync({"vault", "sync"}).target.ns, "of-variable");
  EXPECT_EQ(vault_sync({"-n", "bench", "vault", "sync"}).target.ns, "bench");
  const Command command = parse_words({"-n", "bench", "clusters", "check", "edge"});
  ::unsetenv("FOURNOS_SECRETS_NAMESPACE");
  ::unsetenv("HEARTH_NAMESPACE");
  // NOLINTEND(concurrency-mt-unsafe)
  const auto* check = std::get_if<ClusterCheckOptions>(&command);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->target.ns, "bench");
}

TEST(Options, HelpOfAVerbAndExitCodes) {
  for (const auto& words : {std::vector<const char*>{"help"}, {"--help"}}) {
    const Command command = parse_words(words);
    const auto* all = std::get_if<Message>(&command);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all->exit_code, 0);
    for (const char* text : {"Exit codes:", "  3    the outcome is unknown", "130", "--as-group"}) {
      EXPECT_NE(all->text.find(text), std::string::npos) << text;
    }
  }
  const Command command = parse_words({"help", "jobs"});
  const auto* jobs = std::get_if<Message>(&command);
  ASSERT_NE(jobs, nullptr);
  EXPECT_EQ(jobs->exit_code, 0);
  EXPECT_NE(jobs->text.find("--all-namespaces"), std::string::npos);
}

TEST(Options, UpHasTheDocumentedDefaults) {
  const Command command = parse_words({"up"});
  const auto* options = std::get_if<UpOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->storage, "disk");
  EXPECT_EQ(options->pods, "auto");
  EXPECT_EQ(options->controllers, "*");
}

TEST(Options, ClusterVerbsLookWhereHearthIs) {
  const Command listed = parse_words({"clusters", "-o", "wide", "-w"});
  const auto* list = std::get_if<ClustersOptions>(&listed);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->target.ns, "hearth");
  EXPECT_EQ(list->list.format.output, Output::Wide);
  EXPECT_TRUE(list->list.watch);
  const Command one = parse_words({"clusters", "edge"});
  ASSERT_NE(std::get_if<ClustersOptions>(&one), nullptr);
  EXPECT_EQ(std::get<ClustersOptions>(one).list.names, std::vector<std::string>{"edge"});
}

// --kubeconfig of "add" is the new cluster's; that of "clusters" is the API server's.
TEST(Options, AddedClustersBringTheirKubeconfig) {
  const Command command =
      parse_words({"clusters", "--kubeconfig", "hub", "-n", "h", "add", "edge", "--kubeconfig",
                   "edge.yaml", "--owner", "alice", "--for", "2h"});
  const auto* add = std::get_if<ClusterAddOptions>(&command);
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->name, "edge");
  EXPECT_EQ(add->kubeconfig, "edge.yaml");
  EXPECT_EQ(add->target.kubeconfig, "hub");
  EXPECT_EQ(add->target.ns, "h");
  EXPECT_EQ(add->lock_time, "2h");
  EXPECT_EQ(add->secrets_namespace, "psap-secrets");
}

TEST(Options, LocksAndRemovals) {
  const Command lock = parse_words({"lock", "edge", "--for", "30m"});
  ASSERT_NE(std::get_if<LockOptions>(&lock), nullptr);
  EXPECT_EQ(std::get<LockOptions>(lock).lock_time, "30m");
  const Command unlock = parse_words({"unlock", "edge"});
  ASSERT_NE(std::get_if<UnlockOptions>(&unlock), nullptr);
  const Command remove = parse_words({"clusters", "remove", "edge", "--policy", "Force"});
  ASSERT_NE(std::get_if<ClusterRemoveOptions>(&remove), nullptr);
  EXPECT_EQ(std::get<ClusterRemoveOptions>(remove).policy, "Force");
  const Command check = parse_words({"clusters", "check", "edge"});
  EXPECT_NE(std::get_if<ClusterCheckOptions>(&check), nullptr);
}

struct Misuse {
  std::vector<const char*> words;
  const char* says;
};
class MisusedOptions : public ::testing::TestWithParam<Misuse> {};

TEST_P(MisusedOptions, ExitWithCode2AndNameFault) {
  const Command command = parse_words(GetParam().words);
  const auto* message = std::get_if<Message>(&command);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->exit_code, 2);
  EXPECT_NE(message->text.find(GetParam().says), std::string::npos) << message->text;
}

INSTANTIATE_TEST_SUITE_P(
    Refusals, MisusedOptions,
    ::testing::Values(Misuse{{"submti"}, "did you mean \"submit\"?"},
                      Misuse{{"submit", "--folow"}, "did you mean \"--follow\"?"},
                      Misuse{{"up", "--storage", "tape"}, "--storage"},
                      Misuse{{"up", "--port", "70000"}, "--port"},
                      Misuse{{"logs"}, "give the name of a workload, or -l LABELS"},
                      Misuse{{"rerun", "--follow"}, "give a name, or -l LABELS"},
                      Misuse{{"lock"}, "name"}, Misuse{{"clusters", "add"}, "name"},
                      Misuse{{"clusters", "remove", "a", "--policy", "Later"}, "--policy"},
                      Misuse{{"jobs", "-o", "broad"},
                             "--output: no format \"broad\": table, wide, json, yaml, name, "
                             "jsonpath=..., custom-columns=..., go-template=... or trace"},
                      Misuse{{"list"}, "there is no verb \"list\"\ndid you mean \"jobs\"?"},
                      Misuse{{"describe"}, "give KIND/NAME, or -l LABELS"},
                      Misuse{{"wait"}, "give KIND/NAME, or -l LABELS"},
                      Misuse{{"nonsense", "--help"}, "there is no verb \"nonsense\""},
                      Misuse{{"help", "nonsense"}, "there is no verb \"nonsense\""},
                      Misuse{{"-n", "x", "crds"}, "-n"},
                      Misuse{{"crds", "--all", "--group", "tekton.dev"}, "--group"},
                      Misuse{{"simulate", "-o", "yaml"}, "no format \"yaml\": table or json"},
                      Misuse{{"completion", "tcsh"}, "tcsh"}));

TEST(Options, HelpExitsWith0AndShowsExamples) {
  const Command command = parse_words({"submit", "--help"});
  const auto* message = std::get_if<Message>(&command);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->exit_code, 0);
  EXPECT_NE(message->text.find("--gpu a100:2"), std::string::npos);
  EXPECT_NE(message->text.find("--output FORMAT          table, json, yaml or name"),
            std::string::npos);
}

TEST(Options, EveryVerbIsKnownToCompletion) {
  std::vector<std::string> names;
  for (const VerbSummary& verb : verb_summaries()) {
    names.push_back(verb.name);
  }
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "up",     "console",     "controllers", "extender", "apiserver", "etcd",       "envtest",
          "submit", "rerun",       "describe",    "wait",     "jobs",      "logs",       "cancel",
          "queue",  "templates",   "results",     "compare",  "schedules", "events",     "top",
          "labs",   "appwrappers", "clusters",    "lock",     "unlock",    "backup",     "restore",
          "images", "simulate",    "crds",        "rbac",     "webhooks",  "replay",     "slices",
          "numa",   "queues",      "systems",     "vault",    "version",   "completion", "man",
          "help"}));
}

TEST(Options, ExtenderNeedsBothHalvesOfItsCertificate) {
  const auto exit_of = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"athanor", "extender"});
    const Command command = parse(static_cast<int>(words.size()), words.data());
    const auto* message = std::get_if<Message>(&command);
    return message == nullptr ? 0 : message->exit_code;
  };
  EXPECT_EQ(exit_of({"--tls-cert-file=a"}), 2);
  EXPECT_EQ(exit_of({"--tls-private-key-file=a"}), 2);
  EXPECT_EQ(exit_of({"--tls-cert-file=a", "--tls-private-key-file=b"}), 0);
  EXPECT_EQ(exit_of({"--url=http://h:1"}), 2) << "of --print-scheduler-config alone";
  EXPECT_EQ(exit_of({"--log-level=loud"}), 2);
}

}  // namespace
}  // namespace athanor::cli::options_test
