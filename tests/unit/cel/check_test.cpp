// SPDX-License-Identifier: Apache-2.0
// What does not compile, and how it is said.
#include <gtest/gtest.h>

#include "cel/names.hpp"
#include "cel/program.hpp"
#include "cel/rules/estimate.hpp"

namespace athanor::cel::check_test {
namespace {

Declarations declarations() {
  const TypePtr text = simple_type(TypeKind::String);
  return {{"self", object_type("selfType", {{"name", text},
                                            {"count", simple_type(TypeKind::Int)},
                                            {"tags", list_type(text)},
                                            {"labels", map_type(text, text)},
                                            {"inner", object_type("selfType.inner", {})}})},
          {"any", simple_type(TypeKind::Dyn)}};
}

struct Case {
  const char* expression = nullptr;
  const char* error = nullptr;
};

void PrintTo(const Case& row, std::ostream* out) {
  *out << row.expression;
}

class Refused : public ::testing::TestWithParam<Case> {};

TEST_P(Refused, SaysWhere) {
  const auto program = Program::compile(GetParam().expression, declarations());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, GetParam().error);
}

constexpr Case kTypes[] = {
    {"self.nope", "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^"},
    {"nope == 1",
     "ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope == 1\n | ^"},
    {"self.count == 'a'",
     "ERROR: <input>:1:12: found no matching overload for '_==_' applied to '(int, string)'\n"
     " | self.count == 'a'\n | ...........^"},
    {"self.count.startsWith('a')",
     "ERROR: <input>:1:22: found no matching overload for 'startsWith' applied to "
     "'int.(string)'\n | self.count.startsWith('a')\n | .....................^"},
    {"self.name.foo()",
     "ERROR: <input>:1:14: undeclared reference to 'foo' (in container '')\n"
     " | self.name.foo()\n | .............^"},
    {"self.count.x",
     "ERROR: <input>:1:11: type 'int' does not support field selection\n"
     " | self.count.x\n | ..........^"},
    {"self.count.all(x, x > 0)",
     "ERROR: <input>:1:5: expression of type 'int' cannot be range of a comprehension (must be "
     "list, map, or dynamic)\n | self.count.all(x, x > 0)\n | ....^"},
    {"self.tags.all(x, x)",
     "ERROR: <input>:1:18: expected type 'bool' but found 'string'\n"
     " | self.tags.all(x, x)\n | .................^"},
    {"'%d'.format(['x', 1]) == ''",
     "ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, "
     "was given string\n | '%d'.format(['x', 1]) == ''\n | .............^"},
    {"'%q'.format(['a']) == ''",
     "ERROR: <input>:1:14: could not parse formatting clause: unrecognized formatting clause "
     "\"q\"\n | '%q'.format(['a']) == ''\n | .............^"},
    {"[1, 'a'] == [1]",
     "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a'] == [1]\n | ....^"},
    {"self.name == null",
     "ERROR: <input>:1:11: found no matching overload for '_==_' applied to '(string, null)'\n"
     " | self.name == null\n | ..........^"},
    {"self.inner == 1",
     "ERROR: <input>:1:12: found no matching overload for '_==_' applied to '(selfType.inner, "
     "int)'\n | self.inner == 1\n | ...........^"},
    {"Thing{a: 1}",
     "ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')\n"
     " | Thing{a: 1}\n | .....^"},
    {"self.a +\n self.b",
     "ERROR: <input>:1:5: undefined field 'a'\n | self.a +\n | ....^\n"
     "ERROR: <input>:2:6: undefined field 'b'\n |  self.b\n | .....^"},
    {"self.name.matches('(')",
     "ERROR: <input>:1:19: invalid matches argument\n"
     " | self.name.matches('(')\n | ..................^"},
    {"duration('1y') == duration('1s')",
     "ERROR: <input>:1:10: invalid duration argument\n"
     " | duration('1y') == duration('1s')\n | .........^"},
    {"timestamp('now') == timestamp(0)",
     "ERROR: <input>:1:11: invalid timestamp argument\n"
     " | timestamp('now') == timestamp(0)\n | ..........^"},
};
INSTANTIATE_TEST_SUITE_P(Types, Refused, ::testing::ValuesIn(kTypes));

constexpr Case kSyntax[] = {
    {"1 +",
     "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
     "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
     "IDENTIFIER}\n | 1 +\n | ...^"},
    {"-",
     "ERROR: <input>:1:2: Syntax error: no viable alternative at input '-'\n | -\n | .^\n"
     "ERROR: <input>:1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
     "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
     "IDENTIFIER}\n | -\n | .^"},
    {"",
     "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
     "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
     "IDENTIFIER}"},
    {"(1", "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"},
    {"1 @ 2",
     "ERROR: <input>:1:3: Syntax error: token recognition error at: '@'\n | 1 @ 2\n | ..^\n"
     "ERROR: <input>:1:5: Syntax error: extraneous input '2' expecting <EOF>\n | 1 @ 2\n | "
     "....^"},
    {"a b",
     "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^"},
    {"has(1)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(1)\n | ....^"},
    {"[1].all(1, true)",
     "ERROR: <input>:1:9: argument must be a simple name\n | [1].all(1, true)\n | ........^"},
    {"9223372036854775808 > 1",
     "ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808 > 1\n | ^"},
    {"package == 1", "ERROR: <input>:1:1: reserved identifier: package\n | package == 1\n | ^"},
};
INSTANTIATE_TEST_SUITE_P(Syntax, Refused, ::testing::ValuesIn(kSyntax));

TEST(Parser, BoundsNestingAndLength) {
  EXPECT_FALSE(Program::compile(std::string(5000, '(') + "1" + std::string(5000, ')'), {}).ok());
  EXPECT_FALSE(Program::compile(std::string(200'000, '-') + "1", {}).ok());
  std::string sum = "1";
  for (int i = 0; i < 20'000; ++i) {
    sum += "+1";
  }
  EXPECT_FALSE(Program::compile(sum, {}).ok());
  std::string any = "true";
  for (int i = 0; i < 5000; ++i) {
    any += "||true";
  }
  EXPECT_TRUE(Program::compile(any, {}).ok());
}

TEST(Checker, KnowsResultTypes) {
  const auto type_of = [](const char* expression) {
    const auto program = Program::compile(expression, declarations());
    return program.ok() ? type_text((*program)->result_type()) : program.error().message;
  };
  EXPECT_EQ(type_of("self.count + 1"), "int");
  EXPECT_EQ(type_of("self.tags.map(t, t.size())"), "list(int)");
  EXPECT_EQ(type_of("any.x"), "dyn");
  EXPECT_EQ(type_of("self.?name"), "optional_type(string)");
  EXPECT_EQ(type_of("{'a': [1]}"), "map(string, list(int))");
  EXPECT_EQ(type_of("true ? 1 : 2"), "int");
  EXPECT_EQ(type_of("timestamp('2026-01-01T00:00:00Z')"), "google.protobuf.Timestamp");
  EXPECT_EQ(type_of("self.labels.transformMap(k, v, v.size())"), "map(string, int)");
  EXPECT_EQ(type_of("[]"), "list(dyn)");
}

TEST(Names, AreEscaped) {
  EXPECT_EQ(escape_name("a-b.c/d"), "a__dash__b__dot__c__slash__d");
  EXPECT_EQ(escape_name("a__b"), "a__underscores__b");
  EXPECT_EQ(escape_name("in"), "__in__");
  EXPECT_EQ(escape_name("namespace"), "__namespace__");
  EXPECT_EQ(escape_name("self"), "self");
  EXPECT_EQ(escape_name("1a"), std::nullopt);
  EXPECT_EQ(escape_name("a b"), std::nullopt);
}

TEST(Estimate, FollowsTheSizesOfTypes) {
  auto item = std::make_shared<Type>(*simple_type(TypeKind::String));
  item->max_elements = 100;
  auto list = std::make_shared<Type>(*list_type(item));
  list->max_elements = 50;
  const auto cost = [&](const char* expression) {
    const auto program = Program::compile(expression, {{"self", list}, {"text", item}});
    EXPECT_TRUE(program.ok()) << program.error().message;
    return program.ok() ? estimate_cost(**program) : 0;
  };
  EXPECT_EQ(cost("true"), 0U);
  EXPECT_EQ(cost("text == 'abc'"), 1U + 1U);          // the shorter of the two
  EXPECT_EQ(cost("text.contains('abc')"), 1U + 10U);  // 100 * 0.1 times 3 * 0.1
  EXPECT_EQ(cost("text.matches('^a+$')"), 1U + 11U);  // 101 * 0.1 times 4 * 0.25
  EXPECT_EQ(cost("self.all(x, x == 'a')"), 1U + 50U * 5U + 1U);
  EXPECT_EQ(cost("'a' in self"), 1U + 50U);
}

}  // namespace
}  // namespace athanor::cel::check_test
