// SPDX-License-Identifier: Apache-2.0
// The parser of flags: every form in which a value may be given, and what is refused.
#include "flags/verb.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace athanor::flags::verb_test {
namespace {

using Words = std::vector<std::string>;

// A program with one verb of every kind of flag.
struct Program {
  Program() {
    verb.add_option("-o,--output", output, "format")->check(one_of({"json", "text"}));
    verb.add_option("-v,--verbosity", level, "level")->check(in_range(0, 10));
    verb.add_option("--label", labels, "labels")->delimiter(',')->allow_extra_args(false);
    verb.add_option("--elect", elect, "elect")->capture_default_str();
    verb.add_option("--port", port, "port")->envname("ATHANOR_FLAGS_TEST_PORT");
    watch_flag = verb.add_flag("-w,--watch", watch, "watch");
    verb.add_flag("-A,--all", all, "all");
    verb.add_option("--interval", interval, "interval")->needs(watch_flag);
    verb.add_option("--explain", explain, "explain")->excludes("--watch");
    verb.add_option("name", name, "the name");
    verb.add_option("rest", rest, "more names");
    Verb& below = *verb.add_subcommand("add", "Add one");
    below.add_option("what", added, "what")->required();
  }

  // Returns the error's text; empty: the words were read.
  std::string read(const Words& words) {
    const auto ending = program.parse(words);
    text = ending.ok() ? ending->text : "";
    return ending.ok() ? "" : ending.error().message;
  }

  Verb program{"A program", "prog"};
  Verb& verb = *program.add_subcommand("list", "List things");
  std::string output{};
  int level = 0;
  std::vector<std::string> labels{};
  bool elect = true;
  bool watch = false;
  bool all = false;
  int port = 1;
  std::string interval{};
  std::string explain{};
  std::string name{};
  std::vector<std::string> rest{};
  std::string added{};
  Flag* watch_flag = nullptr;
  std::string text{};
};

TEST(Verb, ReadsEachFormOfValue) {
  for (const Words& words :
       {Words{"list", "-o", "json"}, Words{"list", "-ojson"}, Words{"list", "-o=json"},
        Words{"list", "--output", "json"}, Words{"list", "--output=json"},
        Words{"list", "-output=json"}, Words{"list", "-output", "json"},
        Words{"list", "-o", "text", "--output=json"}}) {
    Program program;
    EXPECT_EQ(program.read(words), "");
    EXPECT_EQ(program.output, "json") << words[1];
  }
}

TEST(Verb, ReadsSwitches) {
  Program program;
  EXPECT_EQ(program.read({"list", "-wA", "--elect=false"}), "");
  EXPECT_TRUE(program.watch && program.all);
  EXPECT_FALSE(program.elect);
  Program other;
  EXPECT_EQ(other.read({"list", "--watch=false", "-Av=6", "--elect", "a"}), "");
  EXPECT_FALSE(other.watch);
  EXPECT_TRUE(other.all && other.elect);
  EXPECT_EQ(other.level, 6);
  EXPECT_EQ(other.name, "a");
}

TEST(Verb, FillsArgumentsInOrder) {
  Program program;
  EXPECT_EQ(program.read({"list", "a", "-w", "b", "--", "-c"}), "");
  EXPECT_EQ(program.name, "a");
  EXPECT_EQ(program.rest, (Words{"b", "-c"}));
}

TEST(Verb, SplitsAndRepeatsValues) {
  Program program;
  EXPECT_EQ(program.read({"list", "--label", "a=1,b=2", "x", "--label=c=3"}), "");
  EXPECT_EQ(program.labels, (Words{"a=1", "b=2", "c=3"}));
  EXPECT_EQ(program.name, "x");
}

TEST(Verb, ReadsEnvironmentWithoutFlag) {
  ::setenv("ATHANOR_FLAGS_TEST_PORT", "7", 1);  // NOLINT(concurrency-mt-unsafe)
  Program program;
  EXPECT_EQ(program.read({"list"}), "");
  Program given;
  EXPECT_EQ(given.read({"list", "--port=8"}), "");
  ::unsetenv("ATHANOR_FLAGS_TEST_PORT");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(program.port, 7);
  EXPECT_EQ(given.port, 8);
}

TEST(Verb, RefusesMisuse) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"list", "--bad"}, "The following argument was not expected: --bad"},
      {{"list", "-z"}, "The following argument was not expected: -z"},
      {{"other", "more"}, "The following arguments were not expected: other more"},
      {{"list", "-o", "xml"}, "--output: \"xml\" is not json or text"},
      {{"list", "-v", "11"}, "--verbosity: \"11\" is not a whole number from 0 to 10"},
      {{"list", "-v", "x"}, "--verbosity: \"x\" is not a whole number from 0 to 10"},
      {{"list", "--port", "x"}, "--port: \"x\" is not a number"},
      {{"list", "-o"}, "--output: a value is missing"},
      {{"list", "--elect=maybe"}, "--elect: \"maybe\" is not true or false"},
      {{"list", "--interval", "1s"}, "--interval requires --watch"},
      {{"list", "--explain", "a", "-w"}, "--explain excludes --watch"},
      {{"list", "add"}, "what is required"},
  };
  for (const auto& [words, message] : cases) {
    Program program;
    EXPECT_EQ(program.read(words), message);
  }
}

TEST(Verb, ChoosesVerbsBelow) {
  Program program;
  EXPECT_EQ(program.read({"list", "-w", "add", "x"}), "");
  EXPECT_TRUE(program.verb.got_subcommand("add"));
  EXPECT_EQ(program.added, "x");
  EXPECT_TRUE(program.watch);
  Program missing;
  missing.program.require_subcommand(1);
  EXPECT_EQ(missing.read({}), "a verb is missing: list");
}

TEST(Verb, PrintsHelpFromItsRows) {
  Program program;
  EXPECT_EQ(program.read({"list", "-o", "xml", "--help"}), "");
  for (const char* line :
       {"List things\nUsage: prog list [OPTIONS] [name] [rest...] [SUBCOMMAND]\n",
        "  -o,--output {json,text}     format\n", "  --elect BOOLEAN=true        elect\n",
        "  --port INT (Env:ATHANOR_FLAGS_TEST_PORT)\n                              port\n",
        "  add                         Add one\n"}) {
    EXPECT_NE(program.text.find(line), std::string::npos) << line << "\n" << program.text;
  }
}

TEST(Verb, ReadsSizes) {
  std::uint64_t bytes = 0;
  Verb verb("Sizes", "sizes");
  verb.add_option("--size", bytes, "size")->check(as_bytes());
  for (const auto& [text, value] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"1KiB", 1024}, {"256 MiB", 268435456}, {"17", 17}, {"2g", 2147483648}}) {
    EXPECT_TRUE(verb.parse(Words{"--size", text}).ok());
    EXPECT_EQ(bytes, value);
  }
  EXPECT_FALSE(verb.parse(Words{"--size", "many"}).ok());
  EXPECT_FALSE(verb.parse(Words{"--size", "99999999999TiB"}).ok());
}

}  // namespace
}  // namespace athanor::flags::verb_test
