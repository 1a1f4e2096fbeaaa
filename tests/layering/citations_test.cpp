// SPDX-License-Identifier: Apache-2.0
// Comments cite the contract as `docs/spec/hearth.md 9.3`; each citation names a document of the
// repository and a heading, a numbered row or a rule in it. Documents: decisions are short and
// indexed, pages open with what their reader can do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layering/sources.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::layering {
namespace {

struct Document {
  std::string text{};
  std::set<std::string, std::less<>> numbers{};  // "9.3" of headings and of rows' first cells
};

bool is_number_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
}

// The word at the start of `text`, without dots and dashes at its end.
std::string word_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_number_part(text[end])) {
    ++end;
  }
  while (end > 0 && (text[end - 1] == '.' || text[end - 1] == '-')) {
    --end;
  }
  return std::string(text.substr(0, end));
}

Document read_document(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  Document document{.text = std::string(std::istreambuf_iterator<char>(stream), {})};
  std::string_view rest = document.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with('#') || line.starts_with("| ")) {
      line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
      document.numbers.insert(word_at(line));
    }
  }
  return document;
}

const std::map<std::string, Document, std::less<>>& contract() {
  static const std::map<std::string, Document, std::less<>> kDocuments = [] {
    std::map<std::string, Document, std::less<>> documents;
    const std::filesystem::path folder =
        std::filesystem::path(athanor::test::source_dir()) / "docs/spec";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      documents.emplace(entry.path().filename().string(), read_document(entry.path()));
    }
    return documents;
  }();
  return kDocuments;
}

// Returns true if `word` stands in the text with nothing of a longer number around it.
bool mentions(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_number_part(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins &&
        (end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0)) {
      return true;
    }
  }
  return false;
}

// What is wrong with the citation that begins behind "docs/spec/"; empty: nothing.
std::string wrong_citation(std::string_view cited) {
  const std::size_t end = cited.find(".md");
  const std::string name(cited.substr(0, std::min(end, std::size_t{40}) + 3));
  const auto document = contract().find(name);
  if (end == std::string_view::npos || document == contract().end()) {
    return "no document " + name;
  }
  cited.remove_prefix(end + 3);
  for (const std::string_view filler : {",", " ", "sections ", "section "}) {
    if (cited.starts_with(filler)) {
      cited.remove_prefix(filler.size());
    }
  }
  const std::string number = word_at(cited);
  const bool numbered =
      number.find_first_of("0123456789") != std::string::npos &&
      (std::isdigit(static_cast<unsigned char>(number.front())) != 0 ||
       (std::isupper(static_cast<unsigned char>(number.front())) != 0 && number.size() <= 6));
  if (!numbered || document->second.numbers.contains(number) ||
      (std::isupper(static_cast<unsigned char>(number.front())) != 0 &&
       mentions(document->second.text, number))) {
    return {};
  }
  return name + " has no " + number;
}

TEST(Citations, OfTheContractResolve) {
  constexpr std::string_view kFolder = "docs/spec/";
  std::string wrong;
  std::size_t citations = 0;
  for (const std::string_view folder : {"src", "tests", "bench"}) {
    for (const Source& source : read_sources(folder)) {
      if (source.path.ends_with("citations_test.cpp")) {
        continue;
      }
      for (std::size_t at = source.text.find(kFolder); at != std::string::npos;
           at = source.text.find(kFolder, at + 1)) {
        ++citations;
        const std::string problem =
            wrong_citation(std::string_view(source.text).substr(at + kFolder.size()));
        if (!problem.empty()) {
          wrong += "\n  " + source.path + ": " + problem;
        }
      }
    }
  }
  EXPECT_TRUE(wrong.empty()) << wrong;
  EXPECT_GT(citations, 300U) << "the citations were not found";
}

// The tests that a section names as `Suite.Test` in the last cells of its rows.
std::set<std::string> named_tests(std::string_view text, std::string_view heading) {
  std::set<std::string> names;
  std::string_view section = text.substr(std::min(text.find(heading), text.size()));
  section = section.substr(0, section.find("\n## ", 1));
  for (std::size_t at = section.find("` |\n"); at != std::string_view::npos;
       at = section.find("` |\n", at + 1)) {
    const std::size_t start = section.rfind('`', at - 1) + 1;
    names.emplace(section.substr(start, at - start));
  }
  return names;
}

TEST(Citations, OfTestsResolve) {
  const auto names =
      named_tests(contract().find("apiserver.md")->second.text, "## 23. From Kubernetes 1.29");
  EXPECT_GT(names.size(), 20U);
  std::string all;
  for (const Source& source : read_sources("tests")) {
    all += source.text;
  }
  for (const std::string& name : names) {
    const std::size_t dot = name.find('.');
    ASSERT_NE(dot, std::string::npos) << name;
    const std::string form = "(" + name.substr(0, dot) + ", " + name.substr(dot + 1) + ")";
    EXPECT_NE(all.find(form), std::string::npos) << "no test " << name;
  }
}

TEST(Citations, AWrongOneIsFound) {
  EXPECT_EQ(wrong_citation("hearth.md 9.3)."), "");
  EXPECT_EQ(wrong_citation("hearth.md section 99"), "hearth.md has no 99");
  EXPECT_EQ(wrong_citation("nothing.md 1"), "no document nothing.md");
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Decisions, AreShortAndIndexed) {
  constexpr std::ptrdiff_t kMostLines = 40;
  const std::filesystem::path folder =
      std::filesystem::path(athanor::test::source_dir()) / "docs/decisions";
  const std::string index = text_of(folder / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "README.md") {
      EXPECT_NE(index.find("](" + name + ") | "), std::string::npos) << name;
      EXPECT_LE(std::ranges::count(text_of(entry.path()), '\n'), kMostLines) << name;
    }
  }
}

TEST(Pages, OpenWithTasksOfTheirReader) {
  constexpr std::size_t kOpening = 1200;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(athanor::test::source_dir()) / "docs")) {
    if (entry.path().extension() == ".md") {
      const std::string opening = text_of(entry.path()).substr(0, kOpening);
      EXPECT_TRUE(opening.find("After this page you") != std::string::npos ||
                  opening.find("After reading you can") != std::string::npos)
          << entry.path().filename();
    }
  }
}

}  // namespace
}  // namespace athanor::layering
