// SPDX-License-Identifier: Apache-2.0
// The shape rules of words (CONTRIBUTING.md): a function's comment in a header begins with a verb
// in the third person; a test's name has at most eight words and none of a list. Each rule has a
// ceiling, the present number of offenders, that a commit may only lower.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "layering/offenders.hpp"
#include "layering/sources.hpp"

namespace athanor::layering::words_test {
namespace {

constexpr std::size_t kCommentCeiling = 0;
constexpr std::size_t kLongNameCeiling = 0;
constexpr std::size_t kVagueNameCeiling = 0;

constexpr std::size_t kMostWords = 8;
constexpr std::array<std::string_view, 8> kVagueWords = {
    "Who", "What", "Whatever", "Nobody", "Somebody", "Told", "Tells", "Everybody"};
// Words that end in "s" and are no verbs.
constexpr std::array<std::string_view, 20> kNoVerbs = {
    "Always", "As",    "Bytes",   "Errors",  "Is",     "Its",   "Jobs",
    "Kinds",  "Nodes", "Objects", "Options", "Pods",   "Rules", "Settings",
    "Status", "Texts", "This",    "Unless",  "Values", "Was"};

template <std::size_t Size>
bool contains(const std::array<std::string_view, Size>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_letter(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z');
}

bool is_name_char(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> rows_of(std::string_view text) {
  std::vector<std::string_view> rows;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    rows.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return rows;
}

std::string_view trimmed(std::string_view row) {
  const std::size_t first = row.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : row.substr(first);
}

// Returns the text of a row that is a comment and nothing else; empty: it is none.
std::string_view comment_of(std::string_view row) {
  const std::string_view text = trimmed(row);
  return text.starts_with("//") ? trimmed(text.substr(2)) : std::string_view();
}

bool begins_with_verb(std::string_view comment) {
  std::size_t length = 0;
  while (length < comment.size() && is_letter(comment[length])) {
    ++length;
  }
  const std::string_view word = comment.substr(0, length);
  const bool ends = length == comment.size() || comment[length] == ' ' || comment[length] == ',' ||
                    comment[length] == '.' || comment[length] == ':';
  return ends && length > 1 && is_upper(word.front()) && word.back() == 's' &&
         !contains(kNoVerbs, word);
}

// Returns true if `code`, from the first row of a declaration on, declares a function: its name is
// followed by a parenthesis outside template arguments.
bool declares_function(std::string_view code) {
  constexpr std::array<std::string_view, 9> kOthers = {
      "class ", "struct ", "enum ", "union ", "using ", "namespace ", "typedef ", "#", "concept "};
  code = trimmed(code);
  for (const std::string_view other : kOthers) {
    if (code.starts_with(other)) {
      return false;
    }
  }
  int depth = 0;
  std::size_t name = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (is_name_char(c)) {
      name = i == 0 || !is_name_char(code[i - 1]) ? i : name;
      if (code.substr(i).starts_with("operator") && name == i) {
        return true;
      }
    } else if (c == '<' || c == '>') {
      depth += c == '<' ? 1 : -1;
    } else if (depth == 0 && (c == ';' || c == '{' || c == '=')) {
      return false;
    } else if (depth == 0 && c == '(') {
      return !code.substr(name).starts_with("ATHANOR_");
    } else if (depth == 0 && c == '\n' && trimmed(code.substr(0, i)).starts_with("template <")) {
      return declares_function(code.substr(i + 1));
    }
  }
  return false;
}

// Lists the functions' comments of a header that begin with another word than a verb.
std::vector<Offender> comments_without_verb(const Source& header) {
  const std::vector<std::string_view> rows = rows_of(header.text);
  std::vector<Offender> found;
  std::size_t begin = 0;  // offset of the row
  bool inside = false;    // of a block of comment rows
  std::size_t first = 0;
  for (std::size_t i = 0; i < rows.size(); begin += rows[i].size() + 1, ++i) {
    const bool comment = trimmed(rows[i]).starts_with("//");
    if (comment) {
      first = inside ? first : i;
    } else if (inside && declares_function(std::string_view(header.code).substr(begin)) &&
               !begins_with_verb(comment_of(rows[first]))) {
      found.push_back({header.path, first + 1, std::string(comment_of(rows[first]))});
    }
    inside = comment;
  }
  return found;
}

// Splits a name at its capitals; capitals in a row are one word, digits belong to the word before.
std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t i = 1; i <= name.size(); ++i) {
    const bool begins = i < name.size() && is_upper(name[i]) &&
                        (!is_upper(name[i - 1]) ||
                         (i + 1 < name.size() && is_letter(name[i + 1]) && !is_upper(name[i + 1])));
    if (begins || i == name.size()) {
      words.push_back(name.substr(start, i - start));
      start = i;
    }
  }
  return words;
}

struct Named {
  std::string name{};
  std::size_t line = 0;
};

// Lists the names of the tests that a source defines: "Subject.VerbObject".
std::vector<Named> tests_of(const Source& source) {
  std::vector<Named> found;
  const std::string_view code = source.code;
  std::size_t line = 1;
  std::size_t counted = 0;
  for (std::size_t at = code.find("TEST"); at != std::string_view::npos;
       at = code.find("TEST", at + 4)) {
    std::string_view rest = code.substr(at + 4);
    for (const std::string_view suffix : {"_F", "_P"}) {
      rest.remove_prefix(rest.starts_with(suffix) ? suffix.size() : 0);
    }
    const bool begins = at == 0 || code[at - 1] == '\n' || code[at - 1] == ' ';
    const std::size_t close = rest.find(')');
    if (!begins || !rest.starts_with("(") || close == std::string_view::npos) {
      continue;
    }
    const std::string_view arguments = rest.substr(1, close - 1);
    const std::size_t comma = arguments.find(',');
    if (comma == std::string_view::npos) {
      continue;
    }
    std::string_view name = arguments.substr(comma + 1);
    name.remove_prefix(std::min(name.find_first_not_of(" \n"), name.size()));
    line +=
        static_cast<std::size_t>(std::count(code.begin() + static_cast<std::ptrdiff_t>(counted),
                                            code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted = at;
    found.push_back({std::string(arguments.substr(0, comma)) + "." + std::string(name), line});
  }
  return found;
}

std::string_view behaviour_of(std::string_view name) {
  return name.substr(name.find('.') + 1);
}

bool is_long(std::string_view name) {
  return words_of(behaviour_of(name)).size() > kMostWords;
}

bool is_vague(std::string_view name) {
  const auto words = words_of(behaviour_of(name));
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view word) { return contains(kVagueWords, word); });
}

// Checks that the number of offenders is the ceiling; a lower one has to become the ceiling.
std::vector<Offender> names_with(bool (*broken)(std::string_view)) {
  std::vector<Offender> found;
  for (const Source& source : read_sources("tests")) {
    for (const Named& test : tests_of(source)) {
      if (broken(test.name)) {
        found.push_back({source.path, test.line, test.name});
      }
    }
  }
  return found;
}

TEST(Words, CommentsOfFunctionsBeginWithVerbs) {
  std::vector<Offender> found;
  for (const Source& source : read_sources("src")) {
    if (source.is_header()) {
      const auto comments = comments_without_verb(source);
      found.insert(found.end(), comments.begin(), comments.end());
    }
  }
  check_ceiling(found, kCommentCeiling, "kCommentCeiling");
}

TEST(Words, TestNamesHaveAtMostEightWords) {
  check_ceiling(names_with(is_long), kLongNameCeiling, "kLongNameCeiling");
}

TEST(Words, TestNamesAvoidVagueWords) {
  check_ceiling(names_with(is_vague), kVagueNameCeiling, "kVagueNameCeiling");
}

TEST(Words, FindsCommentsWithoutVerb) {
  Source header{.path = "src/a/x.hpp"};
  header.text =
      "// Whether it is open.\nbool is_open();\n// Returns it.\n// Never null.\nT* get();\n"
      "// The port.\nint port = 0;\n// A class.\nclass X {\n  // The next (or none).\n"
      "  std::optional<T> next(int a) const;\n  // Called later.\n"
      "  std::function<void(int)> done{};\n  // Guarded.\n  int n ATHANOR_GUARDED_BY(m);\n"
      "  // Any value.\n  template <typename T>\n  T as() const;\n  // Is it?\n"
      "  bool operator==(const X&) const;\n};\n";
  header.code = blank_comments_and_literals(header.text);
  std::vector<std::size_t> lines;
  for (const Offender& offender : comments_without_verb(header)) {
    lines.push_back(offender.line);
  }
  EXPECT_EQ(lines, (std::vector<std::size_t>{1, 10, 16, 19}));
}

TEST(Words, TakesVerbsForVerbsOnly) {
  EXPECT_TRUE(begins_with_verb("Returns the key."));
  EXPECT_TRUE(begins_with_verb("Closes, then waits."));
  EXPECT_FALSE(begins_with_verb("This is it."));
  EXPECT_FALSE(begins_with_verb("`keys` are sorted."));
  EXPECT_FALSE(begins_with_verb("The key."));
  EXPECT_FALSE(begins_with_verb("lists it"));
  EXPECT_FALSE(begins_with_verb(""));
}

TEST(Words, CountsWordsOfTestNames) {
  EXPECT_EQ(words_of("KeepsEarlierWakeUp").size(), 4U);
  EXPECT_EQ(words_of("ExitWith2AndSay").size(), 4U);
  EXPECT_EQ(words_of("ReadsHTTPHeaders").size(), 3U);
  EXPECT_TRUE(is_vague("A.RefusesWhatIsNone"));
  EXPECT_FALSE(is_vague("A.ReadsWholeFiles"));
  EXPECT_TRUE(is_long("A.OneTwoThreeFourFiveSixSevenEightNine"));
  EXPECT_FALSE(is_long("A.OneTwoThreeFourFiveSixSevenEight"));
}

TEST(Words, FindsNamesOfTests) {
  Source source{.path = "tests/a_test.cpp"};
  source.code =
      "TEST(A, DoesIt) {}\nTEST_F(B,\n       Runs) {}\nint TESTED(C, D);\nTEST_P(E, F) {}\n";
  const auto tests = tests_of(source);
  ASSERT_EQ(tests.size(), 3U);
  EXPECT_EQ(tests[0].name, "A.DoesIt");
  EXPECT_EQ(tests[1].name, "B.Runs");
  EXPECT_EQ(tests[1].line, 2U);
  EXPECT_EQ(tests[2].name, "E.F");
}

}  // namespace
}  // namespace athanor::layering::words_test
