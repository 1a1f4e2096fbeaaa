// SPDX-License-Identifier: Apache-2.0
#include "console/model/filter_words.hpp"

#include <charconv>
#include <utility>

#include "base/ascii.hpp"

namespace athanor::console {
namespace {

FilterText read_text(std::string word, bool quoted) {
  FilterText text{.whole = std::move(word)};
  std::string_view rest = text.whole;
  if (rest.size() > 1 && rest.starts_with('-')) {
    text.negated = true;
    rest.remove_prefix(1);
  }
  const std::size_t colon = rest.find(':');
  if (quoted || colon == std::string_view::npos || colon == 0) {
    text.value = rest;
  } else {
    text.key = lower(rest.substr(0, colon));
    text.value = rest.substr(colon + 1);
  }
  return text;
}

// Seconds of a unit; 0: unknown.
double seconds_of_unit(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86'400;
    case 'w':
      return 604'800;
    default:
      return 0;
  }
}

}  // namespace

std::vector<FilterText> split_filter(std::string_view text) {
  std::vector<FilterText> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  bool began_quoted = false;  // then a colon is a part of the text
  const auto end_word = [&] {
    if (any) {
      words.push_back(read_text(std::exchange(word, {}), began_quoted));
    }
    any = began_quoted = false;
  };
  for (const char c : text) {
    if (c == '"') {
      began_quoted = began_quoted || (!quoted && (word.empty() || word == "-"));
      quoted = !quoted;
      any = true;
    } else if ((c == ' ' || c == '\t') && !quoted) {
      end_word();
    } else {
      word += c;
      any = true;
    }
  }
  end_word();
  return words;
}

bool matches_text(std::string_view value, std::string_view wanted) {
  const std::string text = lower(value);
  const std::string pattern = lower(wanted);
  std::size_t at = 0;                    // of the text
  std::size_t in = 0;                    // of the pattern
  std::size_t star = std::string::npos;  // the last "*"
  std::size_t mark = 0;                  // where it may take more
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      mark = at;
    } else if (in < pattern.size() && pattern[in] == text[at]) {
      ++in;
      ++at;
    } else if (star != std::string::npos) {
      in = star + 1;
      at = ++mark;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') {
    ++in;
  }
  return in == pattern.size();
}

bool matches_label(std::string_view name, std::string_view value, std::string_view wanted) {
  const std::size_t equals = wanted.find('=');
  return matches_text(name, wanted.substr(0, equals)) &&
         (equals == std::string_view::npos || matches_text(value, wanted.substr(equals + 1)));
}

std::optional<Duration> filter_length(std::string_view text) {
  constexpr double kMostSeconds = 100.0 * 365 * 86'400;
  double seconds = 0;
  if (text.empty()) {
    return std::nullopt;
  }
  while (!text.empty()) {
    double number = 0;
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || rest == text.data() + text.size() || !(number >= 0) ||
        seconds_of_unit(*rest) <= 0) {
      return std::nullopt;
    }
    seconds += number * seconds_of_unit(*rest);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + 1);
  }
  if (!(seconds <= kMostSeconds)) {  // not a number, too
    return std::nullopt;
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace athanor::console
