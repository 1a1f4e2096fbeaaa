// SPDX-License-Identifier: Apache-2.0
#include "kube/text/yaml.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::yaml_test {
namespace {

std::string as_json(std::string_view text) {
  const auto value = yaml::parse(text);
  return value.ok() ? json::print(*value) : "error: " + value.error().message;
}

// The table of docs/spec/foundations.md 3.
TEST(Yaml, ResolvesPlainScalars) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> table = {
      {{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"}, "true"},
      {{"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"}, "false"},
      {{"~", "null", "Null", "NULL", ""}, "null"},
      {{"012", "0o12", "10", "+10", "1_0", "0b1010", "0xA", "0XA", "1e1", "10.0"}, "10"},
      {{"0x1F"}, "31"},
      {{"0b11"}, "3"},
      {{"1_000", "1e3"}, "1000"},
      {{".5", "+.5", "0.5"}, "0.5"},
      {{"1.", "+1"}, "1"},
      {{"-0", "0", "-0.0"}, "0"},
      {{"-012"}, "-10"},
      {{"0777"}, "511"},
      {{"08"}, "8"},
      {{"1e400"}, "\"1e400\""},
      {{"123456789012345678901"}, "123456789012345680000"},
      {{"18446744073709551615"}, "18446744073709551615"},
      {{"-9223372036854775808"}, "-9223372036854775808"},
      {{"2001-01-01"}, "\"2001-01-01\""},
      {{"2001-01-01T00:00:00Z"}, "\"2001-01-01T00:00:00Z\""},
      {{"1:30"}, "\"1:30\""},
      {{"1,000"}, "\"1,000\""},
      {{"="}, "\"=\""},
      {{"!!str 1"}, "\"1\""},
      {{"!!int \"3\""}, "3"},
      {{"!!float 3"}, "3"},
      {{"!!binary aGk="}, "\"hi\""},
      {{"!!binary aP9p"}, "\"h\ufffdi\""},
      {{"!private 3"}, "\"3\""},
      {{"\"1\"", "'1'"}, "\"1\""},
      {{"\"yes\""}, "\"yes\""},
      {{"1.2.3"}, "\"1.2.3\""},
      {{"0x"}, "\"0x\""},
      {{"."}, "\".\""},
      {{"-"}, "[null]"},
      {{"1Gi"}, "\"1Gi\""},
      {{"yEs"}, "\"yEs\""}};
  for (const auto& [inputs, expected] : table) {
    for (const std::string& input : inputs) {
      EXPECT_EQ(as_json(input), expected) << input;
    }
  }
}

TEST(Yaml, RefusesValuesThatJsonLacks) {
  EXPECT_EQ(as_json(".inf"), "error: error converting YAML to JSON: json: unsupported value: +Inf");
  EXPECT_EQ(as_json("a: -.Inf"),
            "error: error converting YAML to JSON: json: unsupported value: -Inf");
  EXPECT_EQ(as_json("[.nan]"),
            "error: error converting YAML to JSON: json: unsupported value: NaN");
}

TEST(Yaml, TurnsKeysIntoStrings) {
  EXPECT_EQ(as_json("1: a\n1.5: b\ntrue: c\n0x10: d\n\"\": e"),
            R"({"1":"a","1.5":"b","true":"c","16":"d","":"e"})");
  EXPECT_EQ(as_json("y: 1"), R"({"true":1})");
  EXPECT_EQ(as_json("{1e3: a, 1e6: b, 0.00001: c}"), R"({"1000":"a","1e+06":"b","1e-05":"c"})");
  EXPECT_EQ(as_json("2001-01-01: 1"), R"({"2001-01-01":1})");
  EXPECT_TRUE(as_json("[a]: 1").starts_with("error: "));
  EXPECT_TRUE(as_json("~: 1").starts_with("error: "));
}

TEST(Yaml, ReadsCollectionsAndBlockTexts) {
  EXPECT_EQ(as_json("a:\n- 1\n- b: c\nd: {e: [f, g]}\nh: |\n  x\n  y\ni: >-\n  x\n  y\n"),
            R"({"a":[1,{"b":"c"}],"d":{"e":["f","g"]},"h":"x\ny\n","i":"x y"})");
  EXPECT_EQ(as_json("# only a comment\n"), "null");
  EXPECT_EQ(as_json(""), "null");
  EXPECT_EQ(as_json(R"({"json": [1, "two", null, true]})"), R"({"json":[1,"two",null,true]})");
  EXPECT_EQ(as_json("a: 1\n---\nb: 2\n"), R"({"a":1})");
  EXPECT_EQ(as_json("a: 1\n---\n\tbroken"), R"({"a":1})");
}

TEST(Yaml, ExpandsAnchorsAndMerges) {
  EXPECT_EQ(as_json("a: &x {p: 1, q: 2}\nb: *x\nc:\n  <<: *x\n  q: 3\n"),
            R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2},"c":{"q":3,"p":1}})");
  EXPECT_EQ(as_json("a: &x {p: 1}\nb: &y {p: 2, r: 3}\nc:\n  p: 0\n  <<: [*x, *y]\n"),
            R"({"a":{"p":1},"b":{"p":2,"r":3},"c":{"p":0,"r":3}})");
  EXPECT_TRUE(yaml::parse("\"<<\": 1")->contains("<<"));
  EXPECT_EQ(as_json("<<: 1"),
            "error: error converting YAML to JSON: yaml: map merge requires map or sequence of "
            "maps as the value");
  EXPECT_EQ(as_json("a: *x"),
            "error: error converting YAML to JSON: yaml: unknown anchor 'x' referenced");
  EXPECT_EQ(as_json("a: &x [*x]"),
            "error: error converting YAML to JSON: yaml: anchor 'x' value contains itself");
}

TEST(Yaml, BoundsAliasExpansionAndDepth) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) {
      bomb += (j == 0 ? "" : ",") + before;
    }
    bomb += "]\n";
  }
  EXPECT_EQ(as_json(bomb),
            "error: error converting YAML to JSON: yaml: document contains excessive aliasing");
  EXPECT_EQ(as_json(std::string(300, '[')),
            "error: error converting YAML to JSON: yaml: exceeded max depth");
}

TEST(Yaml, BoundsTheDepthThatAliasesAddUp) {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i <= 3; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " " + std::string(90, '[') +
            "*a" + std::to_string(i - 1) + " " + std::string(90, ']') + "\n";
    const auto value = yaml::parse(text);
    EXPECT_EQ(value.ok(), i < 3) << i;
  }
  EXPECT_EQ(as_json(text), "error: error converting YAML to JSON: yaml: exceeded max depth");
}

TEST(Yaml, TheLastOfRepeatedKeysWinsUnlessStrict) {
  constexpr const char* kText = "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n";
  std::vector<std::string> duplicates;
  const auto value = yaml::parse(kText, {.duplicates = &duplicates});
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(json::print(*value), R"({"a":3,"b":{"c":2}})");
  EXPECT_EQ(duplicates, (std::vector<std::string>{"b.c", "a"}));
  const auto strict = yaml::parse(kText, {.strict = true});
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().message,
            "error converting YAML to JSON: yaml: unmarshal errors:\n  line 4: key \"c\" already "
            "set in map");
}

TEST(Yaml, NamesLinesOfRepeatedKeys) {
  std::vector<std::string> repeated;
  ASSERT_TRUE(
      yaml::parse("a: 1\nb:\n  c: 1\n  c: 2\na:\n  d: 3\n", {.repeated_keys = &repeated}).ok());
  // The line of the value, of a block its first.
  EXPECT_EQ(repeated, (std::vector<std::string>{"line 4: key \"c\" already set in map",
                                                "line 6: key \"a\" already set in map"}));
}

TEST(Yaml, PathsOfRepeatedKeysAreLimited) {
  std::string text = "? " + std::string(100'000, 'k') + "\n:\n";
  for (int i = 0; i < 1'000; ++i) {
    text += "  a: 1\n";
  }
  std::vector<std::string> duplicates;
  ASSERT_TRUE(yaml::parse(text, {.duplicates = &duplicates}).ok());
  EXPECT_EQ(duplicates.size(), 2U);
}

TEST(Yaml, NamesTheLineOfAnError) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"a:\n\tb: 1", "yaml: line 2: found character that cannot start any token"},
      {"a: b: c", "yaml: line 1: mapping values are not allowed in this context"},
      {"a: 1\nb: [1, 2", "yaml: line 3: did not find expected ',' or ']'"},
      {"!!int abc", "yaml: cannot decode !!str `abc` as a !!int"},
      {"!!binary '*'", "yaml: line 1: !!binary value contains invalid base64 data"}};
  for (const auto& [text, message] : table) {
    const auto value = yaml::parse(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, 400);
    EXPECT_EQ(value.error().message, "error converting YAML to JSON: " + message) << text;
  }
}

TEST(Yaml, RecordsLines) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  ASSERT_TRUE(yaml::parse("# lab\nnodes:\n- name: a\n  capacity:\n    cpu: 4\n- name: b\nx: 1\n",
                          {.lines = &lines})
                  .ok());
  EXPECT_EQ(lines, (std::vector<std::pair<std::string, std::size_t>>{{"", 2},
                                                                     {"nodes", 2},
                                                                     {"nodes[0]", 3},
                                                                     {"nodes[0].name", 3},
                                                                     {"nodes[0].capacity", 4},
                                                                     {"nodes[0].capacity.cpu", 5},
                                                                     {"nodes[1]", 6},
                                                                     {"nodes[1].name", 6},
                                                                     {"x", 7}}));
}

TEST(Yaml, ReadsEveryDocument) {
  const auto documents = yaml::parse_all("---\na: 1\n---\n# nothing\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents.ok());
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ((*documents)[1]["b"].as_int(), 2);
  EXPECT_TRUE(yaml::parse_all("")->empty());
  EXPECT_FALSE(yaml::parse_all("a: 1\n---\n\tb").ok());
}

TEST(Yaml, PrintsStringsAsKubectl) {
  const std::vector<std::pair<std::string, std::string>> table = {{"plain", "plain"},
                                                                  {"with blanks", "with blanks"},
                                                                  {"yes", "\"yes\""},
                                                                  {"1", "\"1\""},
                                                                  {"012", "\"012\""},
                                                                  {"2001-01-01", "\"2001-01-01\""},
                                                                  {"1:30", "\"1:30\""},
                                                                  {"", "\"\""},
                                                                  {"~", "\"~\""},
                                                                  {"a\tb", "\"a\\tb\""},
                                                                  {"a\rb", "\"a\\rb\""},
                                                                  {"a \nb", "\"a \\nb\""},
                                                                  {"a\x01z", "\"a\\x01z\""},
                                                                  {"a: b", "'a: b'"},
                                                                  {"- x", "'- x'"},
                                                                  {"#c", "'#c'"},
                                                                  {" lead", "' lead'"},
                                                                  {"trail ", "'trail '"},
                                                                  {"it's", "it's"},
                                                                  {"a:b", "a:b"},
                                                                  {"caf\u00e9", "caf\u00e9"},
                                                                  {"{x}", "'{x}'"},
                                                                  {"*star", "'*star'"},
                                                                  {"a\nb", "|-\n  a\n  b"},
                                                                  {"a\nb\n", "|\n  a\n  b"},
                                                                  {" a\nb", "|2-\n   a\n  b"}};
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(yaml::print(Value::object({{"k", text}})), "k: " + expected + "\n") << text;
  }
}

TEST(Yaml, FoldsLongPlainTexts) {
  const std::string word(30, 'w');
  EXPECT_EQ(yaml::print(Value::object({{"k", word + " " + word + " " + word + " " + word}})),
            "k: " + word + " " + word + " " + word + "\n  " + word + "\n");
  const std::string long_word(200, 'w');
  EXPECT_EQ(yaml::print(Value::object({{"k", long_word}})), "k: " + long_word + "\n");
}

TEST(Yaml, PrintsCollectionsAsKubectl) {
  const Value value =
      Value::object({{"a", Value::list({1, Value::object({{"x", 1}, {"b", Value::list({"q"})}})})},
                     {"Key10", Value::object()},
                     {"Key9", Value::list()},
                     {"n", Value()},
                     {"list", Value::list({Value::list({1, 2})})},
                     {"f", 0.5},
                     {"big", 1e21},
                     {"wart", 1234567.5},
                     {"whole", 3.0}});
  EXPECT_EQ(yaml::print(value),
            "Key9: []\nKey10: {}\na:\n- 1\n- b:\n  - q\n  x: 1\nbig: 1e+21\nf: 0.5\nlist:\n- - 1\n "
            " - 2\n\"n\": null\nwart: 1.2345675e+06\nwhole: 3\n");
  EXPECT_EQ(yaml::print(Value("text")), "text\n");
  EXPECT_EQ(yaml::print(Value()), "null\n");
  EXPECT_EQ(yaml::print(Value::object()), "{}\n");
}

TEST(Yaml, ReadsItsOwnOutput) {
  const std::vector<std::string> texts = {"a\n\n",
                                          "\n",
                                          "\na",
                                          "a\n b\n  c",
                                          "...",
                                          "---",
                                          "a\n---\nb",
                                          "!x",
                                          "&x",
                                          "%x",
                                          "@x",
                                          "`x",
                                          "x #y",
                                          "x: ",
                                          "?",
                                          "? x",
                                          "\u2028",
                                          "\u0085",
                                          "\xf0\x9f\x98\x80",
                                          std::string(300, 'x') + " " + std::string(10, 'y'),
                                          std::string("a\0b", 3),
                                          "\x7f",
                                          "\ufeff",
                                          "key: |\n  x\n",
                                          "'",
                                          "\"",
                                          "'a\"",
                                          " a\nb ",
                                          "a  \n",
                                          "0x1F",
                                          "<<",
                                          "=",
                                          "y",
                                          ".inf",
                                          "1_000",
                                          "+1",
                                          "1e3",
                                          ".5"};
  for (const std::string& text : texts) {
    const Value value = Value::object({{"k", text}, {text, Value::list({text})}});
    const std::string printed = yaml::print(value);
    const auto again = yaml::parse(printed);
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << printed;
    EXPECT_EQ(*again, value) << printed;
  }
}

}  // namespace
}  // namespace athanor::yaml_test
