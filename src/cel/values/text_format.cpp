// SPDX-License-Identifier: Apache-2.0
#include "cel/values/text_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/utf8.hpp"
#include "cel/values/number_text.hpp"
#include "cel/values/time_text.hpp"

namespace athanor::cel {
namespace {

struct Fault {
  std::string text{};
};
using Text = Result<std::string, Fault>;

Fault fault(std::string_view text) {
  return {.text = "error during formatting: " + std::string(text)};
}

// What one call of format() makes. Lists that share their items may be far longer as a text than
// in memory: every part is counted before it is made.
class Formatter {
 public:
  explicit Formatter(Meter& meter) : meter_(meter) {}

  // Returns a text that is counted; empty beyond the limits.
  std::string counted(std::string text) {
    used_ += text.size();
    return meter_.room(used_) ? std::move(text) : std::string();
  }

  // %s
  Text plain(const Val& value) {
    if (!meter_.tick(Meter::kItem)) {
      return std::string();
    }
    switch (value.kind()) {
      case Val::Kind::Null:
        return std::string("null");
      case Val::Kind::Bool:
        return std::string(value.as_bool() ? "true" : "false");
      case Val::Kind::Int:
        return std::to_string(value.as_int());
      case Val::Kind::Uint:
        return std::to_string(value.as_uint());
      case Val::Kind::Double:
        return real_text(value.as_double());
      case Val::Kind::String:
      case Val::Kind::Type:
      case Val::Kind::Bytes:
        return meter_.room(used_ + value.text().size()) ? counted(std::string(value.text()))
                                                        : std::string();
      case Val::Kind::Timestamp:
        return timestamp_text(value);
      case Val::Kind::Duration:
        return duration_text(value.as_int());
      case Val::Kind::List:
        return list_text(*value.as_list());
      case Val::Kind::Map:
        return map_text(*value.as_map());
      default:
        return fault(
            fmt::format("string clause can only be used on strings, bools, bytes, ints, "
                        "doubles, maps, lists, types, durations, and timestamps, was given "
                        "{}",
                        type_name(value)));
    }
  }

 private:
  static std::string real_text(double number) {
    if (std::isinf(number)) {
      return number > 0 ? "Infinity" : "-Infinity";
    }
    return plain_double(number);
  }

  Text list_text(const ListNode& list) {
    std::string text = "[";
    for (std::size_t i = 0; i < list.size() && !meter_.over(); ++i) {
      ATHANOR_TRY(const std::string item, plain(list.at(i)));
      text += i == 0 ? "" : ", ";
      text += item;
    }
    text += ']';
    return counted(std::move(text));
  }

  Text map_text(const MapNode& map) {
    std::vector<std::string> entries;
    for (const Val& key : map.keys()) {
      if (meter_.over()) {
        return std::string();
      }
      ATHANOR_TRY(const std::string name, plain(key));
      ATHANOR_TRY(const std::string value, plain(map.find(key).value_or(Val())));
      entries.push_back(counted(fmt::format("{}: {}", name, value)));
    }
    std::ranges::sort(entries);
    return counted(fmt::format("{{{}}}", fmt::join(entries, ", ")));
  }

  Meter& meter_;
  std::size_t used_ = 0;
};

// %d
Text decimal(Formatter& formatter, const Val& value) {
  if (value.is(Val::Kind::Int) || value.is(Val::Kind::Uint)) {
    return formatter.plain(value);
  }
  if (value.is(Val::Kind::Double) && !std::isfinite(value.as_double())) {
    return formatter.plain(value);
  }
  return fault(
      fmt::format("decimal clause can only be used on integers, was given {}", type_name(value)));
}

// %f and %e
Text real(Formatter& formatter, const Val& value, int precision, bool scientific) {
  double number = 0;
  if (value.is(Val::Kind::Double)) {
    number = value.as_double();
  } else if (value.is(Val::Kind::Int)) {
    number = static_cast<double>(value.as_int());
  } else if (value.is(Val::Kind::Uint)) {
    number = static_cast<double>(value.as_uint());
  } else {
    return fault(fmt::format("{} clause can only be used on doubles, was given {}",
                             scientific ? "scientific" : "fixed-point", type_name(value)));
  }
  if (!std::isfinite(number)) {
    return formatter.plain(Val::real(number));
  }
  return scientific ? fmt::format("{:.{}e}", number, precision)
                    : fmt::format("{:.{}f}", number, precision);
}

// %b
Text binary(const Val& value) {
  if (value.is(Val::Kind::Bool)) {
    return std::string(value.as_bool() ? "1" : "0");
  }
  if (value.is(Val::Kind::Int)) {
    return fmt::format("{:b}", value.as_int());
  }
  if (value.is(Val::Kind::Uint)) {
    return fmt::format("{:b}", value.as_uint());
  }
  return fault(fmt::format("only integers and bools can be formatted as binary, was given {}",
                           type_name(value)));
}

// %o
Text octal(const Val& value) {
  if (value.is(Val::Kind::Int)) {
    return fmt::format("{:o}", value.as_int());
  }
  if (value.is(Val::Kind::Uint)) {
    return fmt::format("{:o}", value.as_uint());
  }
  return fault(
      fmt::format("octal clause can only be used on integers, was given {}", type_name(value)));
}

// %x and %X
Text hexadecimal(Formatter& formatter, const Val& value, bool upper) {
  std::string text;
  if (value.is(Val::Kind::Int)) {
    text = fmt::format("{:x}", value.as_int());
  } else if (value.is(Val::Kind::Uint)) {
    text = fmt::format("{:x}", value.as_uint());
  } else if (value.is(Val::Kind::String) || value.is(Val::Kind::Bytes)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text = formatter.counted(std::string(2 * value.text().size(), '0'));
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(value.text()[i / 2]);
      text[i] = kDigits[i % 2 == 0 ? byte >> 4U : byte & 0xfU];
    }
  } else {
    return fault(
        fmt::format("only integers, byte buffers, and strings can be formatted as hex, "
                    "was given {}",
                    type_name(value)));
  }
  if (upper) {
    std::ranges::transform(text, text.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
  }
  return text;
}

Text clause(Formatter& formatter, char verb, const Val& value, int precision) {
  switch (verb) {
    case 's':
      return formatter.plain(value);
    case 'd':
      return decimal(formatter, value);
    case 'f':
      return real(formatter, value, precision, false);
    case 'e':
      return real(formatter, value, precision, true);
    case 'b':
      return binary(value);
    case 'o':
      return octal(value);
    case 'x':
    case 'X':
      return hexadecimal(formatter, value, verb == 'X');
    default:
      return fault(fmt::format("unrecognized formatting clause \"{}\"", verb));
  }
}

constexpr bool is_clause(char verb) {
  return std::string_view("sdfeboxX").find(verb) != std::string_view::npos;
}

}  // namespace

Val format_text(std::string_view format, const ListNode& arguments, Meter& meter) {
  constexpr int kDefaultPrecision = 6;
  constexpr int kMostPrecision = 1000;  // a bound for what one clause may produce
  Formatter formatter(meter);
  std::string result;
  std::size_t used = 0;
  while (!format.empty()) {
    const std::size_t percent = format.find('%');
    result += format.substr(0, percent);
    if (percent == std::string_view::npos) {
      break;
    }
    format.remove_prefix(percent + 1);
    if (format.empty()) {
      return Val::error("unexpected end of string");
    }
    if (format.front() == '%') {
      result += '%';
      format.remove_prefix(1);
      continue;
    }
    int precision = kDefaultPrecision;
    if (format.front() == '.') {
      format.remove_prefix(1);
      precision = 0;
      while (!format.empty() && format.front() >= '0' && format.front() <= '9') {
        precision = std::min(kMostPrecision, precision * 10 + (format.front() - '0'));
        format.remove_prefix(1);
      }
      if (format.empty()) {
        return Val::error("could not find end of precision specifier");
      }
    }
    const char verb = format.front();
    format.remove_prefix(1);
    if (!is_clause(verb)) {
      return Val::error(fmt::format(
          "could not parse formatting clause: unrecognized formatting clause \"{}\"", verb));
    }
    if (used >= arguments.size()) {
      return Val::error(fmt::format("index {} out of range", used));
    }
    if (!meter.room(result.size())) {
      return {};
    }
    Text text = clause(formatter, verb, arguments.at(used), precision);
    if (!text.ok()) {
      return Val::error(text.error().text);
    }
    result += *text;
    ++used;
  }
  return Val::string(result);
}

}  // namespace athanor::cel
