// SPDX-License-Identifier: Apache-2.0
// Flags in the manner of Kubernetes' programs: forms, fallbacks, refusals word for word.
#include "cli/stand_ins/flag_table.hpp"

#include <gtest/gtest.h>

#include <array>

namespace athanor::cli::flag_table_test {
namespace {

using enum FlagType;

constexpr std::array kTable = {
    FlagSpec{"name", Text, "nobody", "who"},     FlagSpec{"tags", List, "", "which"},
    FlagSpec{"loud", Switch, "false", "how"},    FlagSpec{"count", Number, "3", "how many"},
    FlagSpec{"wait", Time, "1m30s", "how long"}, FlagSpec{"v", Number, "0", "verbosity", 'v'},
};

Result<FlagValues> parse(std::vector<std::string> words) {
  return parse_flags(kTable, "tool", words);
}

TEST(FlagTable, WithoutArgumentsEveryFlagHasItsFallback) {
  const auto flags = parse({});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(flags->text("name"), "nobody");
  EXPECT_TRUE(flags->list("tags").empty());
  EXPECT_FALSE(flags->on("loud"));
  EXPECT_EQ(flags->number("count"), 3);
  EXPECT_EQ(flags->time("wait"), std::chrono::seconds(90));
  EXPECT_FALSE(flags->given("name"));
  EXPECT_FALSE(flags->help_wanted());
}

TEST(FlagTable, TakesValuesAfterEqualsOrAsNextWord) {
  for (const auto& words :
       {std::vector<std::string>{"--name=ann", "--count=7", "--wait=2s", "-v=4", "--loud=true"},
        std::vector<std::string>{"--name", "ann", "--count", "7", "--wait", "2s", "-v", "4",
                                 "--loud"},
        std::vector<std::string>{"--name", "ann", "--count", "7", "--wait", "2s", "-v4",
                                 "--loud"}}) {
    const auto flags = parse(words);
    ASSERT_TRUE(flags.ok()) << flags.error().message;
    EXPECT_EQ(flags->text("name"), "ann");
    EXPECT_EQ(flags->number("count"), 7);
    EXPECT_EQ(flags->time("wait"), std::chrono::seconds(2));
    EXPECT_EQ(flags->number("v"), 4);
    EXPECT_TRUE(flags->on("loud"));
  }
}

TEST(FlagTable, ListsGrowAndSingleValuesAreReplaced) {
  const auto flags =
      parse({"--tags=a,b", "--tags", "c", "--name=x", "--name=y", "--loud", "--loud=false"});
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ(flags->list("tags"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(flags->text("name"), "y");
  EXPECT_FALSE(flags->on("loud"));
}

TEST(FlagTable, AsksForHelpByEveryName) {
  EXPECT_TRUE(parse({"--help"})->help_wanted());
  EXPECT_TRUE(parse({"-h", "rest"})->help_wanted());
}

struct Refusal {
  std::vector<std::string> words{};
  const char* message = "";
};
class FlagRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(FlagRefusals, AreWordedAsKubernetesWordsThem) {
  const auto flags = parse(GetParam().words);
  ASSERT_FALSE(flags.ok());
  EXPECT_EQ(flags.error().message, GetParam().message);
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
  EXPECT_EQ(flag_help(kTable),
            "      --name string     who (default \"nobody\")\n"
            "      --tags strings    which\n"
            "      --loud            how\n"
            "      --count int       how many (default 3)\n"
            "      --wait duration   how long (default 1m30s)\n"
            "  -v, --v int           verbosity (default 0)\n");
}

}  // namespace
}  // namespace athanor::cli::flag_table_test
