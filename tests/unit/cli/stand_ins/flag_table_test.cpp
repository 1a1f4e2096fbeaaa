// SPDX-License-Identifier: Apache-2.0
// Flags in the manner of Kubernetes' programs: forms, fallbacks, refusals word for word.
#include "cli/stand_ins/flag_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace athanor::cli::flag_table_test {
namespace {

using enum FlagType;

constexpr std::array kTable = {
    FlagSpec{"name", Text, "nobody", "who"},     FlagSpec{"tags", List, "", "which"},
    FlagSpec{"loud", Switch, "false", "how"},    FlagSpec{"count", Number, "3", "how many"},
    FlagSpec{"wait", Time, "1m30s", "how long"}, FlagSpec{"v", Number, "0", "verbosity", 'v'},
};

struct Tool {
  Tool() { values.add_to(*verb.as_kubernetes("A tool.")); }
  Result<flags::Ending> parse(const std::vector<std::string>& words) { return verb.parse(words); }

  FlagValues values{kTable};
  flags::Verb verb{"", "tool"};
};

TEST(FlagTable, WithoutArgumentsEveryFlagHasItsFallback) {
  Tool tool;
  const auto ending = tool.parse({});
  ASSERT_TRUE(ending.ok());
  EXPECT_EQ(ending->kind, flags::Ending::Kind::Run);
  EXPECT_EQ(tool.values.text("name"), "nobody");
  EXPECT_TRUE(tool.values.list("tags").empty());
  EXPECT_FALSE(tool.values.on("loud"));
  EXPECT_EQ(tool.values.number("count"), 3);
  EXPECT_EQ(tool.values.time("wait"), std::chrono::seconds(90));
  EXPECT_FALSE(tool.values.given("name"));
}

TEST(FlagTable, TakesValuesAfterEqualsOrAsNextWord) {
  for (const auto& words :
       {std::vector<std::string>{"--name=ann", "--count=7", "--wait=2s", "-v=4", "--loud=true"},
        std::vector<std::string>{"--name", "ann", "--count", "7", "--wait", "2s", "-v", "4",
                                 "--loud"},
        std::vector<std::string>{"--name", "ann", "--count", "7", "--wait", "2s", "-v4",
                                 "--loud"}}) {
    Tool tool;
    const auto ending = tool.parse(words);
    ASSERT_TRUE(ending.ok()) << ending.error().message;
    EXPECT_EQ(tool.values.text("name"), "ann");
    EXPECT_EQ(tool.values.number("count"), 7);
    EXPECT_EQ(tool.values.time("wait"), std::chrono::seconds(2));
    EXPECT_EQ(tool.values.number("v"), 4);
    EXPECT_TRUE(tool.values.on("loud"));
  }
}

TEST(FlagTable, ListsGrowAndSingleValuesAreReplaced) {
  Tool tool;
  ASSERT_TRUE(
      tool.parse({"--tags=a,b", "--tags", "c", "--name=x", "--name=y", "--loud", "--loud=false"})
          .ok());
  EXPECT_EQ(tool.values.list("tags"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(tool.values.text("name"), "y");
  EXPECT_FALSE(tool.values.on("loud"));
}

TEST(FlagTable, TakesUnderscoresForDashes) {
  Tool tool;
  EXPECT_FALSE(tool.parse({"--na_me=x"}).ok());
  constexpr std::array kLong = {FlagSpec{"a-b-c", Text, "", "what"}};
  FlagValues values(kLong);
  flags::Verb verb("", "tool");
  values.add_to(*verb.as_kubernetes("A tool."));
  ASSERT_TRUE(verb.parse(std::vector<std::string>{"--a_b_c=x"}).ok());
  EXPECT_EQ(values.text("a-b-c"), "x");
}

TEST(FlagTable, AsksForHelpByEveryName) {
  EXPECT_EQ(Tool().parse({"--help"})->kind, flags::Ending::Kind::Help);
  EXPECT_EQ(Tool().parse({"-h", "rest"})->kind, flags::Ending::Kind::Help);
}

struct Refusal {
  std::vector<std::string> words{};
  const char* message = "";
};
class FlagRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(FlagRefusals, AreWordedAsKubernetesWordsThem) {
  const auto ending = Tool().parse(GetParam().words);
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, FlagRefusals,
    ::testing::Values(
        Refusal{{"--x"}, "unknown flag: --x"}, Refusal{{"--x=1"}, "unknown flag: --x"},
        Refusal{{"-x"}, "unknown shorthand flag: 'x' in -x"},
        Refusal{{"--name"}, "flag needs an argument: --name"},
        Refusal{{"--=x"}, "bad flag syntax: --=x"},
        Refusal{{"--count=zz"},
                "invalid argument \"zz\" for \"--count\" flag: strconv.ParseInt: parsing \"zz\": "
                "invalid syntax"},
        Refusal{{"-v", "zz"},
                "invalid argument \"zz\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"zz\": "
                "invalid syntax"},
        Refusal{{"--loud=yes"},
                "invalid argument \"yes\" for \"--loud\" flag: strconv.ParseBool: parsing \"yes\": "
                "invalid syntax"},
        Refusal{{"--wait=zz"},
                "invalid argument \"zz\" for \"--wait\" flag: time: invalid duration \"zz\""},
        Refusal{{"one", "--", "--two"},
                "\"tool\" does not take any arguments, got [\"one\" \"--two\"]"}));

TEST(FlagTable, ListsEveryFlagOnItsOwnHelpLine) {
  EXPECT_EQ(Tool().verb.help(),
            "A tool.\n\nFlags:\n"
            "      --name string     who (default \"nobody\")\n"
            "      --tags strings    which\n"
            "      --loud            how\n"
            "      --count int       how many (default 3)\n"
            "      --wait duration   how long (default 1m30s)\n"
            "  -v, --v int           verbosity (default 0)\n"
            "  -h, --help   this text\n");
}

}  // namespace
}  // namespace athanor::cli::flag_table_test
