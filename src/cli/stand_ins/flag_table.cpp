// SPDX-License-Identifier: Apache-2.0
#include "cli/stand_ins/flag_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "base/check.hpp"

namespace athanor::cli {
namespace {

std::optional<bool> switch_value(std::string_view text) {
  constexpr std::string_view kOn[] = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::string_view kOff[] = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::find(kOn, text) != std::end(kOn)) {
    return true;
  }
  return std::ranges::find(kOff, text) != std::end(kOff) ? std::optional(false) : std::nullopt;
}

std::optional<std::int64_t> number_value(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

const FlagSpec& spec_of(std::span<const FlagSpec> table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &FlagSpec::name);
  ATHANOR_CHECK(found != table.end(), "flags are asked for by their names in the table");
  return *found;
}

// Returns the name that pflag, the flag library of Kubernetes, has for the type.
std::string_view type_name(FlagType type) {
  switch (type) {
    case FlagType::Text:
      return "string";
    case FlagType::List:
      return "strings";
    case FlagType::Switch:
      return "bool";
    case FlagType::Number:
      return "int";
    case FlagType::Time:
      return "duration";
  }
  return "";
}

std::function<std::string(std::string&)> check_of(FlagType type) {
  return [type](const std::string& value) {
    if (type == FlagType::Switch && !switch_value(value)) {
      return fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", value);
    }
    if (type == FlagType::Number && !number_value(value)) {
      return fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", value);
    }
    if (type == FlagType::Time) {
      const auto parsed = parse_go_duration(value);
      return parsed.ok() ? std::string() : parsed.error().message;
    }
    return std::string();
  };
}

}  // namespace

std::string FlagValues::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : std::string(spec_of(table_, name).fallback);
}

std::vector<std::string> FlagValues::list(std::string_view name) const {
  return split(text(name));
}

bool FlagValues::on(std::string_view name) const {
  return switch_value(text(name)).value_or(false);
}

std::int64_t FlagValues::number(std::string_view name) const {
  return number_value(text(name)).value_or(0);
}

Duration FlagValues::time(std::string_view name) const {
  const auto parsed = parse_go_duration(text(name));
  return parsed.ok() ? *parsed : Duration::zero();
}

void FlagValues::add_to(flags::Verb& verb) {
  for (const FlagSpec& row : table_) {
    const std::string name(row.name);
    const std::string names =
        row.letter == '\0' ? "--" + name : fmt::format("-{},--{}", row.letter, name);
    flags::Flag* const flag = verb.add_option_function(
        names,
        [this, name](const std::string& value) {
          values_[name] = value;
          return Result<void>();
        },
        std::string(row.help));
    flag->type_name(std::string(type_name(row.type)))->check({.wrong = check_of(row.type)});
    if (row.type == FlagType::Switch) {
      flag->expected(0, 1);
    }
    if (row.type == FlagType::List) {
      flag->joined(',');
    }
    if (!row.fallback.empty() && row.fallback != "false") {
      flag->shown_default(std::string(row.fallback));
    }
  }
}

}  // namespace athanor::cli
