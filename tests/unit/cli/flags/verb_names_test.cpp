// SPDX-License-Identifier: Apache-2.0
// Names by verbs: verbs that act on objects take several, or labels in their place; those that take
// one have a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli::verb_names_test {
namespace {

using Words = std::vector<std::string>;

Command parse_names(const Words& words) {
  std::vector<const char*> given{"athanor"};
  for (const std::string& word : words) {
    given.push_back(word.c_str());
  }
  return parse(static_cast<int>(given.size()), given.data());
}

std::string refused_names(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  const Command command = parse_names(words);
  const auto* message = std::get_if<Message>(&command);
  return message == nullptr ? "" : message->text;
}

// Verbs whose argument is one thing, and why.
const std::map<std::string, std::string, std::less<>>& single_verbs() {
  static const std::map<std::string, std::string, std::less<>> kSingle{
      {"envtest", "a folder"},
      {"templates save", "the flags are of one job"},
      {"schedules create", "the flags are of one job"},
      {"schedules next", "a schedule or a cron line"},
      {"clusters add", "the kubeconfig is of one cluster"},
      {"top", "a view"},
      {"backup", "a file"},
      {"restore", "a file"},
      {"images", "an archive"},
      {"simulate", "a trace"},
      {"replay", "a record"},
      {"completion", "a shell"},
      {"man", "a verb or a folder"},
      {"slices", "an action; names follow"},
      {"numa", "an action; names follow"},
      {"queues", "an action; names follow"}};
  return kSingle;
}

// Verbs that take several words without labels in their place, and why.
const std::map<std::string, std::string, std::less<>>& unlabelled_verbs() {
  static const std::map<std::string, std::string, std::less<>> kUnlabelled{
      {"queue", "-l is that of the list"},  {"labs stop", "labs are folders"},
      {"labs delete", "labs are folders"},  {"labs merge", "labs are folders"},
      {"slices", "-l is that of the list"}, {"numa", "-l is that of the list"},
      {"queues", "-l is that of the list"}};
  return kUnlabelled;
}

void check_names(const VerbSummary& verb, const std::string& before, std::size_t& several) {
  const std::string path = before + verb.name;
  if (!verb.arguments.empty()) {
    const bool many = verb.arguments.front().several;
    EXPECT_NE(many, single_verbs().contains(path))
        << path << " takes " << (many ? "several names" : "one name");
    if (many && !unlabelled_verbs().contains(path)) {
      EXPECT_NE(std::ranges::find(verb.flags, "--selector", &FlagSummary::name), verb.flags.end())
          << path << " takes names, but no labels";
      ++several;
    }
  }
  for (const VerbSummary& below : verb.verbs) {
    check_names(below, path + " ", several);
  }
}

TEST(VerbNames, AreSeveralOrLabelsOnEveryVerb) {
  std::size_t several = 0;
  for (const VerbSummary& verb : verb_summaries()) {
    check_names(verb, "", several);
  }
  EXPECT_GE(several, 20U);
}

TEST(VerbNames, ReachTheVerb) {
  const std::vector<Words> verbs{{"cancel"},
                                 {"rerun"},
                                 {"results"},
                                 {"compare"},
                                 {"wait"},
                                 {"describe"},
                                 {"lock"},
                                 {"unlock"},
                                 {"clusters", "cordon"},
                                 {"clusters", "uncordon"},
                                 {"clusters", "drain"},
                                 {"clusters", "check"},
                                 {"clusters", "remove"},
                                 {"clusters", "describe"},
                                 {"appwrappers", "retry"},
                                 {"appwrappers", "suspend"},
                                 {"appwrappers", "resume"},
                                 {"schedules", "pause"},
                                 {"schedules", "resume"},
                                 {"schedules", "trigger"},
                                 {"schedules", "delete"},
                                 {"templates", "delete"}};
  for (const Words& verb : verbs) {
    SCOPED_TRACE(verb.back());
    EXPECT_EQ(refused_names(verb, {"a", "b", "c"}), "");
    EXPECT_EQ(refused_names(verb, {"-l", "team=llm"}), "");
    EXPECT_NE(refused_names(verb, {}).find("give "), std::string::npos);
  }
  EXPECT_NE(refused_names({"cancel"}, {"a", "-l", "b=c"}).find("-l excludes names"),
            std::string::npos);
  const Command command = parse_names({"clusters", "drain", "a", "b"});
  ASSERT_NE(std::get_if<ClusterCordonOptions>(&command), nullptr);
  EXPECT_EQ(std::get<ClusterCordonOptions>(command).choice.names, (Words{"a", "b"}));
}

}  // namespace
}  // namespace athanor::cli::verb_names_test
