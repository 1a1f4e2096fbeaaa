// SPDX-License-Identifier: Apache-2.0
// The command line: what it understands, and how it refuses.
#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace athanor::cli {
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

TEST(Options, UpHasTheDocumentedDefaults) {
  const Command command = parse_words({"up"});
  const auto* options = std::get_if<UpOptions>(&command);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->storage, "disk");
  EXPECT_EQ(options->pods, "process");
  EXPECT_EQ(options->controllers, "*");
}

struct Misuse {
  std::vector<const char*> words;
  const char* says;
};
class MisusedOptions : public ::testing::TestWithParam<Misuse> {};

TEST_P(MisusedOptions, ExitWith2AndSayWhat) {
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
                      Misuse{{"up", "--port", "70000"}, "--port"}, Misuse{{"logs"}, "name"},
                      Misuse{{"submit", "-f", "x", "--project", "y"}, "--file"},
                      Misuse{{"completion", "tcsh"}, "tcsh"}));

TEST(Options, HelpExitsWith0AndShowsExamples) {
  const Command command = parse_words({"submit", "--help"});
  const auto* message = std::get_if<Message>(&command);
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->exit_code, 0);
  EXPECT_NE(message->text.find("--gpu a100:2"), std::string::npos);
}

TEST(Options, EveryVerbIsKnownToCompletion) {
  std::vector<std::string> names;
  for (const VerbSummary& verb : verb_summaries()) {
    names.push_back(verb.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"up", "controllers", "apiserver", "etcd", "envtest",
                                             "submit", "jobs", "logs", "cancel", "queue", "backup",
                                             "restore", "crds", "rbac", "version", "completion"}));
}

}  // namespace
}  // namespace athanor::cli
