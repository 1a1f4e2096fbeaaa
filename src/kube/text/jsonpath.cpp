// SPDX-License-Identifier: Apache-2.0
// JSONPath: a path is a chain of steps, each turns a set of values into the next one.
#include "kube/text/jsonpath.hpp"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>
#include <string>

#include "base/ascii.hpp"
#include "kube/text/json.hpp"

namespace athanor {
namespace {

enum class Comparison : std::uint8_t {
  Exists,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual
};

struct Spelling {
  std::string_view text{};
  Comparison comparison = Comparison::Exists;
};
// Longer spellings first.
constexpr Spelling kComparisons[] = {
    {"==", Comparison::Equal},        {"!=", Comparison::NotEqual}, {"<=", Comparison::LessEqual},
    {">=", Comparison::GreaterEqual}, {"<", Comparison::Less},      {">", Comparison::Greater}};

bool compares(const Value& value, Comparison comparison, const Value& operand) {
  switch (comparison) {
    case Comparison::Exists:
      return true;
    case Comparison::Equal:
      return value == operand;
    case Comparison::NotEqual:
      return !(value == operand);
    case Comparison::Less:
    case Comparison::LessEqual:
    case Comparison::Greater:
    case Comparison::GreaterEqual:
      break;
  }
  std::partial_ordering order = std::partial_ordering::unordered;
  if (value.is_number() && operand.is_number()) {
    order = value.as_double() <=> operand.as_double();
  } else if (value.is_string() && operand.is_string()) {
    order = value.as_string() <=> operand.as_string();
  }
  switch (comparison) {
    case Comparison::Less:
      return std::is_lt(order);
    case Comparison::LessEqual:
      return std::is_lteq(order);
    case Comparison::Greater:
      return std::is_gt(order);
    default:
      return std::is_gteq(order);
  }
}

Error malformed(std::string_view path, std::string_view why) {
  return Error::bad_request("invalid JSONPath " + json::quote(path) + ": " + std::string(why));
}

// The text between equal quotes, or nullopt when it is not quoted.
std::optional<std::string_view> unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return std::nullopt;
}

// A quoted string, a number, true, false or null.
std::optional<Value> parse_operand(std::string_view text) {
  if (const auto inner = unquoted(text)) {
    return Value(*inner);
  }
  auto value = json::parse(text);
  return value.ok() && !value->is_list() && !value->is_object() ? std::optional(*value)
                                                                : std::nullopt;
}

}  // namespace

struct JsonPath::Step {
  enum class Type : std::uint8_t { Field, Index, Slice, Wildcard, Filter };
  Type type = Type::Field;
  std::string field{};
  std::int64_t first = 0;              // of an index or slice; negative counts from the end
  std::optional<std::int64_t> last{};  // of a slice, exclusive
  JsonPath path{};                     // of a filter
  Comparison comparison = Comparison::Exists;
  Value operand{};

  void apply(const Value& value, std::vector<Value>& out) const;
  void apply_filter(const Value& value, std::vector<Value>& out) const;
  static Result<Step> parse_bracket(std::string_view inner, std::string_view whole);
  static Result<Step> parse_filter(std::string_view inner, std::string_view whole);
  static std::optional<Step> parse_index(std::string_view inner);
};

void JsonPath::Step::apply(const Value& value, std::vector<Value>& out) const {
  const auto items = value.items();
  const auto size = static_cast<std::int64_t>(items.size());
  const auto from_start = [&](std::int64_t index) { return index < 0 ? index + size : index; };
  switch (type) {
    case Type::Field:
      if (const Value* member = value.find(field)) {
        out.push_back(*member);
      }
      return;
    case Type::Index:
    case Type::Slice: {
      const std::int64_t begin =
          std::max<std::int64_t>(from_start(first), type == Type::Slice ? 0 : -1);
      const std::int64_t end =
          type == Type::Index ? begin + 1 : std::min(from_start(last.value_or(size)), size);
      for (std::int64_t i = begin; i >= 0 && i < end && i < size; ++i) {
        out.push_back(items[static_cast<std::size_t>(i)]);
      }
      return;
    }
    case Type::Wildcard:
      out.insert(out.end(), items.begin(), items.end());
      for (const Member& member : value.members()) {
        out.push_back(member.value);
      }
      return;
    case Type::Filter:
      apply_filter(value, out);
      return;
  }
}

void JsonPath::Step::apply_filter(const Value& value, std::vector<Value>& out) const {
  for (const Value& item : value.items()) {
    for (const Value& candidate : path.find(item)) {
      if (compares(candidate, comparison, operand)) {
        out.push_back(item);
        break;
      }
    }
  }
}

std::optional<JsonPath::Step> JsonPath::Step::parse_index(std::string_view inner) {
  const auto number = [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t result = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, result);
    return read.ec == std::errc() && read.ptr == end ? std::optional(result) : std::nullopt;
  };
  const std::size_t colon = inner.find(':');
  if (colon == std::string_view::npos) {
    const auto index = number(inner);
    return index ? std::optional(Step{.type = Type::Index, .first = *index}) : std::nullopt;
  }
  const std::string_view left = trimmed(inner.substr(0, colon), " ");
  const std::string_view right = trimmed(inner.substr(colon + 1), " ");
  const auto first = left.empty() ? std::optional<std::int64_t>(0) : number(left);
  const auto last = number(right);
  if (!first || (!right.empty() && !last)) {
    return std::nullopt;
  }
  return Step{.type = Type::Slice, .first = *first, .last = last};
}

Result<JsonPath::Step> JsonPath::Step::parse_filter(std::string_view inner,
                                                    std::string_view whole) {
  if (!inner.starts_with("?(") || !inner.ends_with(')')) {
    return malformed(whole, "a filter is written [?(@.field==\"value\")]");
  }
  inner = trimmed(inner.substr(2, inner.size() - 3), " ");
  if (!inner.starts_with('@')) {
    return malformed(whole, "a filter starts with @");
  }
  Step step{.type = Type::Filter};
  std::string_view left = inner.substr(1);
  char quote = '\0';
  for (std::size_t i = 0; i < left.size() && step.comparison == Comparison::Exists; ++i) {
    if (quote != '\0' || left[i] == '"' || left[i] == '\'') {
      quote = quote == '\0' ? left[i] : quote == left[i] ? '\0' : quote;
      continue;
    }
    for (const Spelling& spelling : kComparisons) {
      if (!left.substr(i).starts_with(spelling.text)) {
        continue;
      }
      const auto operand = parse_operand(trimmed(left.substr(i + spelling.text.size()), " "));
      if (!operand) {
        return malformed(whole, "a filter compares with a string, a number or a boolean");
      }
      step.comparison = spelling.comparison;
      step.operand = *operand;
      left = left.substr(0, i);
      break;
    }
  }
  ATHANOR_TRY(step.path, JsonPath::parse(trimmed(left, " ")));
  return step;
}

Result<JsonPath::Step> JsonPath::Step::parse_bracket(std::string_view inner,
                                                     std::string_view whole) {
  inner = trimmed(inner, " ");
  if (inner == "*") {
    return Step{.type = Type::Wildcard};
  }
  if (inner.starts_with('?')) {
    return parse_filter(inner, whole);
  }
  if (const auto field = unquoted(inner)) {
    return Step{.type = Type::Field, .field = std::string(*field)};
  }
  if (auto step = parse_index(inner)) {
    return *std::move(step);
  }
  return malformed(whole, "invalid array index " + std::string(inner));
}

namespace {

// The place of the ']' that closes text[0] == '[', minding quotes and inner brackets; npos when
// missing.
std::size_t closing_bracket(std::string_view text) {
  char quote = '\0';
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Takes a field name from the front of `rest`; "\." is a dot within the name.
std::string take_name(std::string_view& rest) {
  std::string name;
  std::size_t i = 0;
  for (; i < rest.size() && rest[i] != '.' && rest[i] != '['; ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size()) {
      ++i;
    }
    name += rest[i];
  }
  rest.remove_prefix(i);
  return name;
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view path) {
  std::string_view rest = trimmed(path, " ");
  if (rest.starts_with('{')) {
    if (!rest.ends_with('}')) {
      return malformed(path, "unclosed action");
    }
    rest = trimmed(rest.substr(1, rest.size() - 2), " ");
  }
  if (rest.starts_with('$')) {
    rest.remove_prefix(1);
  }
  JsonPath result;
  if (rest == ".") {
    return result;  // the root
  }
  while (!rest.empty()) {
    if (rest.front() == '[') {
      const std::size_t end = closing_bracket(rest);
      if (end == std::string_view::npos) {
        return malformed(path, "unterminated array");
      }
      ATHANOR_TRY(Step step, Step::parse_bracket(rest.substr(1, end - 1), path));
      result.steps_.push_back(std::make_shared<const Step>(std::move(step)));
      rest.remove_prefix(end + 1);
      continue;
    }
    if (rest.front() == '.') {
      rest.remove_prefix(1);
    }
    if (rest.starts_with('[') && !result.steps_.empty()) {
      continue;  // ".a.[0]" is ".a[0]"
    }
    std::string name = take_name(rest);
    if (name.empty()) {
      return malformed(path, "a field name is missing");
    }
    const auto type = name == "*" ? Step::Type::Wildcard : Step::Type::Field;
    result.steps_.push_back(
        std::make_shared<const Step>(Step{.type = type, .field = std::move(name)}));
  }
  return result;
}

std::vector<Value> JsonPath::find(const Value& root) const {
  std::vector<Value> values = {root};
  for (const auto& step : steps_) {
    std::vector<Value> next;
    for (const Value& value : values) {
      step->apply(value, next);
    }
    values = std::move(next);
  }
  return values;
}

Value JsonPath::first(const Value& root) const {
  std::vector<Value> values = find(root);
  return values.empty() ? Value() : std::move(values.front());
}

}  // namespace athanor
