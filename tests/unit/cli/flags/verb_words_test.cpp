// SPDX-License-Identifier: Apache-2.0
// The words before the verb, and verbs of other programs.
#include "cli/flags/verb_words.hpp"

#include <gtest/gtest.h>

namespace athanor::cli::verb_words_test {
namespace {

using Words = std::vector<std::string>;

TEST(VerbWords, FlagsBeforeTheVerbMoveBehindIt) {
  EXPECT_EQ(plain_words({"athanor", "-n", "x", "--as=bob", "jobs", "one"}),
            (Words{"athanor", "jobs", "-n", "x", "--as=bob", "one"}));
  EXPECT_EQ(plain_words({"athanor", "-nx", "--insecure-skip-tls-verify", "-v=1", "jobs"}),
            (Words{"athanor", "jobs", "-nx", "--insecure-skip-tls-verify", "-v=1"}));
  EXPECT_EQ(plain_words({"athanor", "jobs", "-n", "x"}), (Words{"athanor", "jobs", "-n", "x"}));
  EXPECT_EQ(plain_words({"athanor", "--version"}), (Words{"athanor", "--version"}));
  EXPECT_EQ(plain_words({"athanor", "-n"}), (Words{"athanor", "-n"}));
}

TEST(VerbWords, HelpIsAFlagOfTheVerb) {
  EXPECT_EQ(plain_words({"athanor", "help"}), (Words{"athanor", "--help"}));
  EXPECT_EQ(plain_words({"athanor", "help", "clusters", "add"}),
            (Words{"athanor", "clusters", "add", "--help"}));
}

TEST(VerbWords, SuggestsVerbsForForeignNames) {
  const Words verbs{"jobs", "cancel", "submit", "logs"};
  EXPECT_EQ(verb_hint("list", verbs), "jobs");
  EXPECT_EQ(verb_hint("show", verbs), "jobs NAME");
  EXPECT_EQ(verb_hint("stop", verbs), "cancel");
  EXPECT_EQ(verb_hint("delete", verbs), "cancel");
  EXPECT_EQ(verb_hint("cancle", verbs), "cancel");
  EXPECT_EQ(verb_hint("nonsense", verbs), "");
}

}  // namespace
}  // namespace athanor::cli::verb_words_test
