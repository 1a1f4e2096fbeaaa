// SPDX-License-Identifier: Apache-2.0
#include "cli/pages/man_page.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::cli::man_page_test {
namespace {

std::string dashed(std::string text) {
  for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

TEST(ManPage, HasEveryFlagOfEveryVerb) {
  for (const VerbSummary& verb : verb_summaries()) {
    const std::string page = verb_page(verb);
    EXPECT_TRUE(page.starts_with(".TH \"athanor-" + verb.name + "\" \"1\"")) << page;
    for (const FlagSummary& flag : verb.flags) {
      EXPECT_NE(page.find(dashed(flag.name)), std::string::npos) << verb.name << " " << flag.name;
    }
    for (const VerbSummary& below : verb.verbs) {
      EXPECT_NE(page.find("athanor " + verb.name + " " + below.name), std::string::npos);
    }
  }
}

TEST(ManPage, NamesEveryVerbAndExitCode) {
  const std::string page = program_page(verb_summaries(), about_program());
  for (const VerbSummary& verb : verb_summaries()) {
    EXPECT_NE(page.find("\\fB" + verb.name + "\\fR"), std::string::npos) << verb.name;
  }
  EXPECT_NE(page.find("the outcome is unknown"), std::string::npos);
}

TEST(ManPage, EscapesTroffSyntax) {
  const std::string page = verb_page({.name = "x",
                                      .help = "a\\b",
                                      .footer = ".hidden\n'quoted",
                                      .flags = {{.name = "--f", .shown = "-f,--f", .help = "h"}}});
  EXPECT_NE(page.find("a\\eb"), std::string::npos) << page;
  EXPECT_NE(page.find("\\&.hidden\n\\&'quoted"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fB\\-f,\\-\\-f\\fR"), std::string::npos) << page;
}

}  // namespace
}  // namespace athanor::cli::man_page_test
