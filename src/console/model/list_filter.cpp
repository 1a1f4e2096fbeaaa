// SPDX-License-Identifier: Apache-2.0
// The words of a filter (docs/spec/dashboard.md G3).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "console/model/filter_words.hpp"
#include "console/model/list_filter.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostTokens = 50;

using ReadToken = Result<FilterToken, FieldError>;

FieldError wrong_token(const std::string& token, std::string why) {
  return {.field = "filter", .message = fmt::format("{}: {}", token, why), .token = token};
}

FilterToken::Compare take_compare(std::string& value) {
  if (value.starts_with('<') || value.starts_with('>')) {
    const bool less = value.front() == '<';
    value.erase(0, 1);
    return less ? FilterToken::Compare::Less : FilterToken::Compare::More;
  }
  return FilterToken::Compare::Is;
}

ReadToken read_age(FilterToken token, const std::string& word, Instant now) {
  const FilterToken::Compare compare = take_compare(token.value);
  const auto age = filter_length(token.value);
  if (!age || compare == FilterToken::Compare::Is) {
    return wrong_token(word, "write age:<2h or age:>1d");
  }
  token.column = "created";
  token.instant = now - *age;
  token.compare = compare == FilterToken::Compare::Less ? FilterToken::Compare::More
                                                        : FilterToken::Compare::Less;
  return token;
}

// `raw`: the value as it was written.
ReadToken read_typed(FilterToken token, const std::string& word, std::string_view raw,
                     ColumnType type) {
  switch (type) {
    case ColumnType::Flag:
      if (token.value != "true" && token.value != "false") {
        return wrong_token(word, "must be true or false");
      }
      return token;
    case ColumnType::Number: {
      token.compare = take_compare(token.value);
      const char* end = token.value.data() + token.value.size();
      const auto [stop, error] = std::from_chars(token.value.data(), end, token.number);
      if (error != std::errc() || stop != end) {
        return wrong_token(word, "must be a number, with < or > in front of it if need be");
      }
      return token;
    }
    case ColumnType::Time: {
      token.compare = take_compare(token.value);
      const auto time = parse_time(token.compare == FilterToken::Compare::Is ? raw : raw.substr(1));
      if (!time || token.compare == FilterToken::Compare::Is) {
        return wrong_token(word, "must be < or > and an RFC 3339 time");
      }
      token.instant = *time;
      return token;
    }
    case ColumnType::Text:
    case ColumnType::List:
    case ColumnType::Object:
      return token;
  }
  return token;
}

std::string known_words(const ListShape& shape) {
  std::string text = "age, label";
  for (const FilterWord& one : shape.words) {
    text += fmt::format(", {}", one.word);
  }
  for (const Column& column : shape.columns) {
    if (column.type != ColumnType::Object && column.name.find('.') == std::string_view::npos) {
      text += fmt::format(", {}", column.name);
    }
  }
  return text;
}

ReadToken read_word(const ListShape& shape, const FilterText& text, Instant now) {
  const std::string& word = text.whole;
  FilterToken token{.key = text.key, .value = lower(text.value), .negated = text.negated};
  if (token.key.empty()) {
    return token;
  }
  if (token.value.empty()) {
    return wrong_token(word, "the value is missing");
  }
  if (token.key == "age") {
    return read_age(std::move(token), word, now);
  }
  if (token.key == "label") {
    token.column = "labels";
    return token;
  }
  // A word may name a second column besides the one of its own name.
  const Column* column = nullptr;
  for (const Column& one : shape.columns) {
    if (lower(one.name) == token.key && one.type != ColumnType::Object) {
      column = &one;
    }
  }
  for (const FilterWord& one : shape.words) {
    const Column* other = one.word == token.key ? find_column(shape, one.column) : nullptr;
    if (other != nullptr && column == nullptr) {
      column = other;
    } else if (other != nullptr) {
      token.also = other->name;
    }
  }
  if (column == nullptr) {
    return wrong_token(word, fmt::format("no such word; known are {}", known_words(shape)));
  }
  token.column = column->name;
  return read_typed(std::move(token), word, text.value, column->type);
}

bool has_text(const Value& value, std::string_view needle) {
  if (value.is_string()) {
    return lower(value.as_string()).find(needle) != std::string::npos;
  }
  return std::ranges::any_of(value.items(),
                             [&](const Value& one) { return has_text(one, needle); }) ||
         std::ranges::any_of(value.members(),
                             [&](const Member& one) { return has_text(one.value, needle); });
}

bool has_label(const Value& labels, std::string_view wanted) {
  return std::ranges::any_of(labels.members(), [&](const Member& label) {
    return matches_label(label.key(), label.value.as_string(), wanted);
  });
}

bool is_compared(const FilterToken& token, const Value& value) {
  if (value.is_string()) {
    const auto time = parse_time(value.as_string());
    return time && (token.compare == FilterToken::Compare::Less ? *time < token.instant
                                                                : *time > token.instant);
  }
  return value.is_number() &&
         (token.compare == FilterToken::Compare::Less ? value.as_double() < token.number
                                                      : value.as_double() > token.number);
}

bool is_equal(const FilterToken& token, const Value& value) {
  if (value.is_bool()) {
    return value.as_bool() == (token.value == "true");
  }
  if (value.is_number()) {
    return value.as_double() == token.number;
  }
  if (value.is_list()) {
    return std::ranges::any_of(value.items(),
                               [&](const Value& one) { return is_equal(token, one); });
  }
  if (value.is_null()) {
    return token.value == "false" || token.value == "none";
  }
  return matches_text(value.as_string(), token.value);
}

// `column` may be a member of the objects in a list: "gpus.type".
bool takes_column(const FilterToken& token, const Value& row, std::string_view column) {
  const std::size_t dot = column.find('.');
  if (const Value& list = row[column.substr(0, dot)];
      dot != std::string_view::npos && list.is_list()) {
    return std::ranges::any_of(list.items(), [&](const Value& one) {
      return takes_column(token, one, column.substr(dot + 1));
    });
  }
  const Value& value = cell(row, column);
  return token.compare == FilterToken::Compare::Is ? is_equal(token, value)
                                                   : is_compared(token, value);
}

bool takes(const FilterToken& token, const Value& row) {
  if (token.column.empty()) {
    return has_text(row, token.value);
  }
  if (token.column == "labels") {
    return has_label(row["labels"], token.value);
  }
  if (token.also.empty() || cell(row, token.also).is_null()) {
    return takes_column(token, row, token.column);
  }
  return takes_column(token, row, token.also) ||
         (!cell(row, token.column).is_null() && takes_column(token, row, token.column));
}

}  // namespace

Result<std::vector<FilterToken>, FieldError> parse_filter(const ListShape& shape,
                                                          std::string_view text, Instant now) {
  std::vector<FilterToken> tokens;
  const std::vector<FilterText> words = split_filter(text);
  if (words.size() > kMostTokens) {
    return FieldError{.field = "filter",
                      .message = fmt::format("has more than {} words", kMostTokens)};
  }
  for (const FilterText& word : words) {
    ReadToken token = read_word(shape, word, now);
    if (!token.ok()) {
      return token.error();
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

bool passes_filter(std::span<const FilterToken> filter, const Value& row,
                   std::string_view ignored) {
  for (const FilterToken& token : filter) {
    if (!ignored.empty() && token.column == ignored) {
      continue;
    }
    if (token.negated || token.key.empty() ||
        token.compare != FilterToken::Compare::Is) {  // each of them has to hold
      if (takes(token, row) == token.negated) {
        return false;
      }
      continue;
    }
    const bool any = std::ranges::any_of(filter, [&](const FilterToken& other) {
      return other.key == token.key && !other.negated && takes(other, row);
    });
    if (!any) {
      return false;
    }
  }
  return true;
}

}  // namespace athanor::console
