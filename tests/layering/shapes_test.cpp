// SPDX-License-Identifier: Apache-2.0
// The rules of CONTRIBUTING.md on the shape of code: sizes of headers and functions, parameters,
// members. A rule that is not held everywhere yet has a ceiling, the present number of offenders,
// that a commit may only lower.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "layering/functions.hpp"
#include "layering/offenders.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::shapes_test {
namespace {

constexpr std::size_t kMostBodyLines = 71;  // between the braces: 70 and the closing one
constexpr std::size_t kMostParameters = 6;
constexpr std::size_t kMostHeaderLines = 200;

constexpr std::size_t kParameterCeiling = 0;
constexpr std::size_t kBoolCeiling = 80;
constexpr std::size_t kLongFunctionCeiling = 0;
constexpr std::size_t kLongHeaderCeiling = 4;

// Functions whose body is one table.
constexpr std::array<std::string_view, 4> kTables = {"fleet_routes", "schedule_routes",
                                                     "system_routes", "make_dictionary"};

// Functions that a C library calls: the parameters are its own.
constexpr std::array<std::string_view, 2> kCallbacks = {"on_header", "on_read"};

bool is_callback(std::string_view name) {
  name = name.substr(name.rfind(':') + 1);
  return std::find(kCallbacks.begin(), kCallbacks.end(), name) != kCallbacks.end();
}

bool is_table(std::string_view name) {
  return std::find(kTables.begin(), kTables.end(), name) != kTables.end();
}

bool is_bool(std::string_view parameter) {
  if (parameter.starts_with("const ")) {
    parameter.remove_prefix(6);
  }
  return parameter.starts_with("bool ") && parameter.find("=") == std::string_view::npos;
}

// Lists the functions of `src` that `broken` says yes to.
template <typename Broken>
std::vector<Offender> functions_with(Broken broken) {
  std::vector<Offender> found;
  for (const Source& source : read_sources("src")) {
    for (const Function& function : functions_of(source.code)) {
      if (broken(source, function)) {
        found.push_back({source.path, function.line, function.name});
      }
    }
  }
  return found;
}

TEST(Shapes, FunctionsHaveAtMostSixParameters) {
  check_ceiling(functions_with([](const Source&, const Function& function) {
                  return function.parameters.size() > kMostParameters &&
                         !is_callback(function.name);
                }),
                kParameterCeiling, "kParameterCeiling");
}

TEST(Shapes, HeadersDeclareNoBoolParameters) {
  check_ceiling(functions_with([](const Source& source, const Function& function) {
                  return source.is_header() && function.parameters.size() > 1 &&
                         std::any_of(function.parameters.begin(), function.parameters.end(),
                                     is_bool);
                }),
                kBoolCeiling, "kBoolCeiling");
}

TEST(Shapes, FunctionsHaveAtMostSeventyLines) {
  check_ceiling(functions_with([](const Source&, const Function& function) {
                  return function.body_lines > kMostBodyLines && !is_table(function.name);
                }),
                kLongFunctionCeiling, "kLongFunctionCeiling");
}

TEST(Shapes, HeadersHaveAtMostTwoHundredLines) {
  std::vector<Offender> found;
  for (const Source& source : read_sources("src")) {
    if (source.is_header() && source.lines > kMostHeaderLines) {
      found.push_back({source.path, source.lines, "lines"});
    }
  }
  check_ceiling(found, kLongHeaderCeiling, "kLongHeaderCeiling");
}

TEST(Shapes, FindsFunctionsWithTheirParameters) {
  const std::string code =
      "Result<int> read(const Key& key, bool all, std::map<int, int> rows = {});\n"
      "void A::run() const {\n  call(a, b);\n  return make(1);\n}\n"
      "[[nodiscard]] int size() const ATHANOR_REQUIRES(mutex) { return 1; }\n"
      "int x = f(a + b, 2);\nA::A(int a) : a_(a) {}\n";
  const auto found = functions_of(code);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "read");
  EXPECT_EQ(found[0].parameters.size(), 3U);
  EXPECT_TRUE(is_bool(found[0].parameters[1]));
  EXPECT_EQ(found[0].body_lines, 0U);
  EXPECT_EQ(found[1].name, "A::run");
  EXPECT_EQ(found[1].line, 2U);
  EXPECT_EQ(found[1].body_lines, 3U);
  EXPECT_EQ(found[2].name, "size");
}

}  // namespace
}  // namespace athanor::layering::shapes_test
