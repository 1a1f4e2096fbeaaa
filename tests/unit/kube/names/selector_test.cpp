// SPDX-License-Identifier: Apache-2.0
#include "kube/names/selector.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::selector_test {
namespace {

Value labels(std::string_view text) {
  return *json::parse(text);
}

TEST(LabelSelector, PrintsParsedSelectors) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", ""},
      {"a", "a"},
      {"!a", "!a"},
      {"a=b", "a=b"},
      {"a == b", "a=b"},
      {"a!=b", "a!=b"},
      {"b in (y, x,y),a=1", "a=1,b in (x,y)"},
      {"a notin (x,y)", "a notin (x,y)"},
      {"a=", "a="},
      {"a in ()", "a="},
      {"a in (,x)", "a in (,x)"},
      {"a in (x,)", "a in (,x)"},
      {"a>1,b<2", "a>1,b<2"},
      {"in in (in,notin)", "in in (in,notin)"},
      {"ex.com/role=w", "ex.com/role=w"}};
  for (const auto& [in, out] : table) {
    const auto selector = LabelSelector::parse(in);
    ASSERT_TRUE(selector.ok()) << in << ": " << selector.error().message;
    EXPECT_EQ(selector->text(), out) << in;
  }
}

TEST(LabelSelector, Matches) {
  const Value app = labels(R"({"app":"web","n":"5"})");
  const std::vector<std::pair<std::string, bool>> table = {{"", true},
                                                           {"app", true},
                                                           {"!app", false},
                                                           {"zz", false},
                                                           {"!zz", true},
                                                           {"app=web", true},
                                                           {"app=db", false},
                                                           {"app!=db", true},
                                                           {"zz!=db", true},
                                                           {"app in (db,web)", true},
                                                           {"app notin (web)", false},
                                                           {"zz notin (web)", true},
                                                           {"n>4", true},
                                                           {"n>5", false},
                                                           {"n<6", true},
                                                           {"app>1", false},
                                                           {"zz in ()", false},
                                                           {"app=web,n=5", true},
                                                           {"app=web,n=6", false}};
  for (const auto& [text, expected] : table) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_TRUE(selector.ok()) << text;
    EXPECT_EQ(selector->matches(app), expected) << text;
  }
  EXPECT_TRUE(LabelSelector::parse("!a")->matches(Value()));
}

TEST(LabelSelector, RefusesWithTheTextsOfTheReference) {
  const std::string bad_label =
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
      "'.', and must "
      "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
      "regex used for "
      "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"=x", "found '=', expected: !, identifier, or 'end of string'"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"i=-x-", "unable to parse requirement: values[0][i]: Invalid value: \"-x-\": " + bad_label},
      {"a,", "found '', expected: identifier after ','"},
      {"a=b c", "found 'c', expected: ',' or 'end of string'"},
      {"!a=b", "found '=', expected: ',' or 'end of string'"},
      {"!", "unable to parse requirement: found '', expected: identifier"},
      {"a in b", "unable to parse requirement: found 'b' expected: '('"},
      {"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
      {"a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"},
      {"a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"},
      {"a=(", "unable to parse requirement: found '(', expected: identifier"},
      {"a>x",
       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
       "the value must be "
       "an integer"}};
  for (const auto& [text, message] : table) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_FALSE(selector.ok()) << text;
    EXPECT_EQ(selector.error().code, 400);
    EXPECT_EQ(selector.error().message, message) << text;
  }
  EXPECT_NE(
      LabelSelector::parse("-bad=x").error().message.find(
          "unable to parse requirement: <nil>: Invalid value: \"-bad\": name part must consist"),
      std::string::npos);
}

TEST(LabelSelector, ReadsTheObjectForm) {
  const auto selector = LabelSelector::from_value(labels(
      R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"c","operator":"NotIn","values":["x","y"]},
          {"key":"d","operator":"Exists"},{"key":"e","operator":"DoesNotExist"},{"key":"f","operator":"In","values":["z"]}]})"));
  ASSERT_TRUE(selector.ok()) << selector.error().message;
  EXPECT_EQ(selector->text(), "a=1,b=2,c notin (x,y),d,!e,f=z");
  EXPECT_TRUE(LabelSelector::from_value(Value::object())->matches(Value()));
  EXPECT_TRUE(LabelSelector::from_value(Value::object())->empty());
  EXPECT_FALSE(LabelSelector::from_value(Value())->matches(Value()));
  EXPECT_FALSE(LabelSelector::from_value(Value())->empty());
  for (const char* text :
       {R"({"matchExpressions":[{"key":"a","operator":"Near"}]})",
        R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
        R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
        R"({"matchLabels":{"a b":"c"}})"}) {
    EXPECT_FALSE(LabelSelector::from_value(labels(text)).ok()) << text;
  }
  EXPECT_TRUE(LabelSelector::equals("a", "1").matches(labels(R"({"a":"1"})")));
}

TEST(FieldSelector, ReadsTerms) {
  const auto fields =
      parse_field_selector("metadata.name=a,status.phase!=Failed,x==y,,e=a\\,b\\=c\\\\");
  ASSERT_TRUE(fields.ok()) << fields.error().message;
  ASSERT_EQ(fields->size(), 4U);
  EXPECT_EQ((*fields)[0].field, "metadata.name");
  EXPECT_EQ((*fields)[0].value, "a");
  EXPECT_TRUE((*fields)[0].equal);
  EXPECT_EQ((*fields)[1].field, "status.phase");
  EXPECT_FALSE((*fields)[1].equal);
  EXPECT_EQ((*fields)[2].value, "y");
  EXPECT_EQ((*fields)[3].value, "a,b=c\\");
  EXPECT_TRUE(parse_field_selector("")->empty());
}

TEST(FieldSelector, Refuses) {
  EXPECT_EQ(parse_field_selector("bad").error().message,
            "invalid selector: 'bad'; can't understand 'bad'");
  EXPECT_EQ(parse_field_selector("a=b,bad").error().message,
            "invalid selector: 'a=b,bad'; can't understand 'bad'");
  EXPECT_EQ(parse_field_selector("a=b\\x").error().message,
            "invalid field selector: invalid escape sequence: \\x");
  EXPECT_EQ(parse_field_selector("a=b=c").error().message,
            "invalid field selector: unescaped character in value: 61");
}

}  // namespace
}  // namespace athanor::selector_test
