// SPDX-License-Identifier: Apache-2.0
#include "kube/text/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kube/value/issue_budget.hpp"

namespace athanor::json_test {
namespace {

std::string round_trip(std::string_view text) {
  const auto value = json::parse(text);
  return value.ok() ? json::print(*value) : "error: " + value.error().message;
}

TEST(Json, KeepsOrderAndContent) {
  for (
      const char* text :
      {"null", "true", "false", "0", "-1", "\"\"", "[]", "{}", "[[],{}]", R"({"b":1,"a":[2,"x"]})",
       R"({"metadata":{"creationTimestamp":"2026-11-20T10:20:35Z","deletionGracePeriodSeconds":30}})",
       R"([{"creationTimestamp":null},{"creationTimestamp":null}])"}) {
    EXPECT_EQ(round_trip(text), text);
  }
  EXPECT_EQ(round_trip(" \t\r\n[ 1 , { \"a\" : null } ] \n"), R"([1,{"a":null}])");
}

TEST(Json, NumbersPrintAsGo) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"123456789012345678901", "123456789012345680000"},
      {"123456789012345680000", "123456789012345680000"},
      {"3.0", "3"},
      {"-0.0", "-0"},
      {"-0", "0"},
      {"0.1", "0.1"},
      {"1e3", "1000"},
      {"1.5E+2", "150"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"1.25e21", "1.25e+21"},
      {"0.000001", "0.000001"},
      {"0.0000001", "1e-7"},
      {"1.5e-9", "1.5e-9"},
      {"-2.5e100", "-2.5e+100"},
      {"1e-400", "0"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"}};
  for (const auto& [in, out] : table) {
    EXPECT_EQ(round_trip(in), out) << in;
  }
  EXPECT_EQ(json::format_number(std::numeric_limits<double>::infinity()), "null");
}

TEST(Json, StringsAreReadAsGoReadsThem) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
      {R"("\u0041\u00e9\u20AC")", "A\u00e9\u20ac"},
      {R"("\ud83d\ude00")", "\U0001f600"},
      {R"("\ud83d")", "\ufffd"},
      {R"("\ude00x")", "\ufffdx"},
      {R"("\ud83d\u0041")", "\ufffdA"},
      {R"("\ud83d\ud83d\ude00")", "\ufffd\U0001f600"},
      {"\"a\x80\xe2\x82z\"", "a\ufffd\ufffd\ufffdz"},
      {"\"0123456789 caf\u00e9 0123456789\"", "0123456789 caf\u00e9 0123456789"}};
  for (const auto& [in, out] : table) {
    const auto value = json::parse(in);
    ASSERT_TRUE(value.ok()) << in << ": " << value.error().message;
    EXPECT_EQ(value->as_string(), out) << in;
  }
}

TEST(Json, StringsAreEscapedAsGoEscapesThem) {
  EXPECT_EQ(
      json::quote("a<b>&\"\\\n\r\t\b\f\x01\x7f\u2028\u2029\u00e9\xff"),
      "\"a\\u003cb\\u003e\\u0026\\\"\\\\\\n\\r\\t\\b\\f\\u0001\x7f\\u2028\\u2029\u00e9\\ufffd\"");
}

TEST(Json, EscapesAtEveryPlace) {
  // Texts are looked at eight bytes at a time.
  for (const auto& [plain, escaped] :
       std::vector<std::pair<std::string, std::string>>{{"<", "\\u003c"},
                                                        {">", "\\u003e"},
                                                        {"&", "\\u0026"},
                                                        {"\"", "\\\""},
                                                        {"\\", "\\\\"},
                                                        {"\x1f", "\\u001f"},
                                                        {"\u2028", "\\u2028"},
                                                        {"\u00e9", "\u00e9"},
                                                        {"\xff", "\\ufffd"},
                                                        {" ", " "},
                                                        {"!", "!"},
                                                        {"#", "#"},
                                                        {"%", "%"},
                                                        {"'", "'"},
                                                        {":", ":"},
                                                        {";", ";"},
                                                        {"=", "="},
                                                        {"?", "?"},
                                                        {"X", "X"},
                                                        {"]", "]"},
                                                        {"^", "^"},
                                                        {"\x7f", "\x7f"}}) {
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string front(before, 'a');
      const std::string back(19 - before, 'b');
      EXPECT_EQ(json::quote(front + plain + back), '"' + front + escaped + back + '"');
    }
  }
}

TEST(Json, PrintsTextsOfAnyLength) {
  for (const std::size_t size : {0U, 1U, 509U, 510U, 511U, 512U, 513U, 1024U, 5000U}) {
    const std::string text(size, 'x');
    const Value value = Value::object({{"a", text}, {"b", Value::list({text, 1})}});
    EXPECT_EQ(json::print(value), R"({"a":")" + text + R"(","b":[")" + text + R"(",1]})");
  }
}

TEST(Json, PrettyUsesTwoBlanks) {
  const Value value = Value::object({{"a", Value::list({1, Value::object()})},
                                     {"b", Value::list()},
                                     {"c", Value::object({{"d", "<"}})}});
  EXPECT_EQ(json::print(value, json::Style::Pretty),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": {\n    \"d\": "
            "\"\\u003c\"\n  }\n}");
}

TEST(Json, RefusesWithGoTexts) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "unexpected end of JSON input"},
      {"  ", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"[1,", "unexpected end of JSON input"},
      {"\"abc", "unexpected end of JSON input"},
      {"\"ab\\", "unexpected end of JSON input"},
      {"\"ab\\u12", "unexpected end of JSON input"},
      {"tru", "unexpected end of JSON input"},
      {"-", "unexpected end of JSON input"},
      {"1.", "unexpected end of JSON input"},
      {"nope", "invalid character 'o' in literal null (expecting 'u')"},
      {"a", "invalid character 'a' looking for beginning of value"},
      {"'a'", "invalid character '\\'' looking for beginning of value"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"{a:1}", "invalid character 'a' looking for beginning of object key string"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"},
      {"[1 2]", "invalid character '2' after array element"},
      {"{} x", "invalid character 'x' after top-level value"},
      {"01", "invalid character '1' after top-level value"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"\"a\nb\"", "invalid character '\\n' in string literal"},
      {"\"\\x\"", "invalid character 'x' in string escape code"},
      {"\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"},
      {std::string("\0", 1), "invalid character '\\x00' looking for beginning of value"},
      {"// no", "invalid character '/' looking for beginning of value"},
      {"NaN", "invalid character 'N' looking for beginning of value"},
      {"1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"}};
  for (const auto& [text, message] : table) {
    const auto value = json::parse(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().message, message) << text;
    EXPECT_EQ(value.error().code, 400);
  }
}

TEST(Json, LimitsDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(json::parse(nested(200)).ok());
  const auto refused = json::parse(nested(201));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "exceeded max depth");
  EXPECT_FALSE(json::parse(nested(3), {.max_depth = 2}).ok());
}

TEST(Json, KeepsLastRepeatedKeyAndReportsPaths) {
  std::vector<std::string> duplicates;
  const auto value = json::parse(
      R"({"spec":{"list":[{},{"name":"a","x":{"q":1,"q":2},"name":"b"}],"list2":0},"a":1,"b":2,"a":3,"a":4})",
      {.duplicates = &duplicates});
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["a"].as_int(), 4);
  EXPECT_EQ((*value)["spec"]["list"][1]["name"].as_string(), "b");
  EXPECT_EQ(duplicates, (std::vector<std::string>{"spec.list[1].x.q", "spec.list[1].name", "a"}));
}

// A request of 3 MB with a long key above 100,000 repeated ones would make 150 GB of paths.
TEST(Json, LimitsPathsOfRepeatedKeys) {
  const auto repeats = [](std::size_t key, int count) {
    std::string text = "{\"" + std::string(key, 'k') + "\":{\"a\":1,\"a\":1";
    for (int i = 0; i < count; ++i) {
      const std::string name = ",\"b" + std::to_string(i) + "\":1";
      text.append(name).append(name);
    }
    std::vector<std::string> duplicates;
    EXPECT_TRUE(json::parse(text + "}}", {.duplicates = &duplicates}).ok());
    return duplicates.size();
  };
  EXPECT_EQ(repeats(1, 20), 21U);
  EXPECT_EQ(repeats(1, 5'000), IssueBudget::kMostTexts);
  EXPECT_EQ(repeats(100'000, 5'000), 2U);    // IssueBudget::kMostBytes
  EXPECT_EQ(repeats(1'000'000, 5'000), 1U);  // the first always
}

TEST(Json, FindsRepeatsInLargeObjects) {
  std::string text = "{\"data\":{";
  for (int i = 0; i < 500; ++i) {
    text += "\"a-rather-long-key-of-number-" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  }
  text += "\"a-rather-long-key-of-number-250\":\"last\"}}";
  std::vector<std::string> duplicates;
  const auto value = json::parse(text, {.duplicates = &duplicates});
  ASSERT_TRUE(value.ok());
  EXPECT_EQ((*value)["data"].size(), 500U);
  EXPECT_EQ((*value)["data"]["a-rather-long-key-of-number-250"].as_string(), "last");
  EXPECT_EQ(duplicates, std::vector<std::string>{"data.a-rather-long-key-of-number-250"});
}

TEST(Json, SharesLongKeys) {
  const auto value =
      json::parse(R"([{"deletionGracePeriodSeconds":1},{"deletionGracePeriodSeconds":2}])");
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE((*value)[0].members()[0].name.identical((*value)[1].members()[0].name));
}

}  // namespace
}  // namespace athanor::json_test
