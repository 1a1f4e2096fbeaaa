// SPDX-License-Identifier: Apache-2.0
#include "cli/stand_ins/flag_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

}  // namespace

std::string_view type_name(FlagType type) {
  switch (type) {
    case FlagType::Text:
      return "string";
    case FlagType::List:
      return "strings";
    case FlagType::Switch:
      return "";
    case FlagType::Number:
      return "int";
    case FlagType::Time:
      return "duration";
  }
  return "";
}

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

// Goes over the arguments once.
class FlagParser {
 public:
  FlagParser(std::span<const FlagSpec> table, std::span<const std::string> arguments)
      : values_(table), rest_(arguments) {}

  Result<FlagValues> parse(std::string_view program) {
    std::vector<std::string> others;
    while (!rest_.empty()) {
      const std::string argument = rest_.front();
      rest_ = rest_.subspan(1);
      if (argument == "--") {
        others.insert(others.end(), rest_.begin(), rest_.end());
        break;
      }
      if (argument.size() < 2 || argument.front() != '-') {
        others.push_back(argument);
      } else if (argument[1] == '-') {
        ATHANOR_TRY_VOID(take_long(argument));
      } else {
        ATHANOR_TRY_VOID(take_short(argument));
      }
    }
    if (!others.empty() && !values_.help_wanted_) {
      return Error::bad_request(fmt::format("\"{}\" does not take any arguments, got [\"{}\"]",
                                            program, fmt::join(others, "\" \"")));
    }
    return std::move(values_);
  }

 private:
  Result<void> take_long(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '_', '-');
    std::optional<std::string> value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    }
    if (name.empty() || name.front() == '-') {
      return Error::bad_request(fmt::format("bad flag syntax: {}", argument));
    }
    const auto found = std::ranges::find(values_.table_, name, &FlagSpec::name);
    if (found != values_.table_.end()) {
      return take(*found, "--" + name, std::move(value));
    }
    if (name == "help") {
      values_.help_wanted_ = true;
      return {};
    }
    return Error::bad_request(fmt::format("unknown flag: --{}", name));
  }

  // "-v2", "-v=2", "-v 2".
  Result<void> take_short(const std::string& argument) {
    const char letter = argument[1];
    const auto found = std::ranges::find(values_.table_, letter, &FlagSpec::letter);
    if (found == values_.table_.end()) {
      if (letter == 'h') {
        values_.help_wanted_ = true;
        return {};
      }
      return Error::bad_request(
          fmt::format("unknown shorthand flag: '{}' in {}", letter, argument));
    }
    std::optional<std::string> value;
    if (argument.size() > 2) {
      value = argument.substr(argument[2] == '=' ? 3 : 2);
    }
    return take(*found, fmt::format("-{}, --{}", letter, found->name), std::move(value));
  }

  Result<void> take(const FlagSpec& spec, const std::string& shown,
                    std::optional<std::string> value) {
    if (!value && spec.type == FlagType::Switch) {
      value = "true";
    }
    if (!value) {
      if (rest_.empty()) {
        return Error::bad_request(fmt::format("flag needs an argument: {}", shown));
      }
      value = rest_.front();
      rest_ = rest_.subspan(1);
    }
    if (const std::string wrong = complaint(spec.type, *value); !wrong.empty()) {
      return Error::bad_request(
          fmt::format("invalid argument \"{}\" for \"{}\" flag: {}", *value, shown, wrong));
    }
    std::string& known = values_.values_[std::string(spec.name)];
    known = spec.type == FlagType::List && !known.empty() ? known + "," + *value : *value;
    return {};
  }

  static std::string complaint(FlagType type, const std::string& value) {
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
    return {};
  }

  FlagValues values_;
  std::span<const std::string> rest_;
};

Result<FlagValues> parse_flags(std::span<const FlagSpec> table, std::string_view program,
                               std::span<const std::string> arguments) {
  return FlagParser(table, arguments).parse(program);
}

std::string flag_help(std::span<const FlagSpec> table) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const FlagSpec& flag : table) {
    const std::string letter = flag.letter == '\0' ? "    " : fmt::format("-{}, ", flag.letter);
    names.push_back(fmt::format("  {}--{}{}{}", letter, flag.name,
                                flag.type == FlagType::Switch ? "" : " ", type_name(flag.type)));
    width = std::max(width, names.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("{:<{}}   {}", names[i], width, table[i].help);
    const bool quoted = table[i].type == FlagType::Text || table[i].type == FlagType::List;
    if (!table[i].fallback.empty() && table[i].fallback != "false") {
      text += fmt::format(" (default {}{}{})", quoted ? "\"" : "", table[i].fallback,
                          quoted ? "\"" : "");
    }
    text += "\n";
  }
  return text;
}

}  // namespace athanor::cli
