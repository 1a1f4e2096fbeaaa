// SPDX-License-Identifier: Apache-2.0
// Functions that headers of the product declare and nothing names: dead ones.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layering/functions.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::symbols_test {
namespace {

using Counts = std::map<std::string, std::size_t, std::less<>>;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// How often each identifier stands in the code.
void count_words(std::string_view code, Counts& counts) {
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word(code[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < code.size() && is_word(code[at])) {
      ++at;
    }
    ++counts[std::string(code.substr(begin, at - begin))];
  }
}

// "run" of "View::run".
std::string last_part(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

// A call that looks like a declaration: "x = &made();".
bool is_call(const Source& source, const Function& function) {
  std::size_t begin = 0;
  for (std::size_t line = 1; line < function.line; ++line) {
    begin = source.code.find('\n', begin) + 1;
  }
  const std::size_t name = source.code.find(last_part(function.name), begin);
  const std::string_view before = std::string_view(source.code).substr(begin, name - begin);
  return before.find_first_of("=?") != std::string_view::npos;
}

// The functions of the product's headers that stand in `sources` nowhere but where they are
// declared and defined.
std::vector<std::string> dead_functions(const std::vector<Source>& sources) {
  Counts words;
  Counts made;  // declarations and definitions
  std::map<std::string, std::string> places;
  for (const Source& source : sources) {
    count_words(source.code, words);
    for (const Function& function : functions_of(source.code)) {
      const std::string name = last_part(function.name);
      if (is_call(source, function)) {
        continue;
      }
      ++made[name];
      if (source.is_header() && source.path.starts_with("src/")) {
        places.emplace(name, source.path + ":" + std::to_string(function.line));
      }
    }
  }
  std::vector<std::string> dead;
  for (const auto& [name, place] : places) {
    if (words[name] <= made[name]) {
      dead.push_back(place + " " + name);
    }
  }
  return dead;
}

TEST(Symbols, FunctionsOfHeadersAreUsed) {
  std::vector<Source> all;
  for (const std::string_view folder : {"src", "tests", "bench"}) {
    for (Source& source : read_sources(folder)) {
      all.push_back(std::move(source));
    }
  }
  std::string text;
  for (const std::string& one : dead_functions(all)) {
    text += "\n  " + one;
  }
  EXPECT_TRUE(text.empty()) << "nothing names:" << text;
}

TEST(Symbols, FindDeadFunction) {
  const Source header{.path = "src/a/a.hpp",
                      .code = "int used(int a);\nint dead(int a);\nconst A& a();\n"};
  const Source source{.path = "src/a/a.cpp",
                      .code =
                          "int used(int a) {\n  return a;\n}\nint dead(int a) {\n  return "
                          "used(a);\n}\n"};
  const auto found = dead_functions({header, source});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "src/a/a.hpp:2 dead");
}

}  // namespace
}  // namespace athanor::layering::symbols_test
