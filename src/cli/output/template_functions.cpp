// SPDX-License-Identifier: Apache-2.0
#include "cli/output/template_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>

#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::cli {
namespace {

// Of one value of printf: more only fills the memory.
constexpr std::size_t kMostWidth = 1000;

constexpr std::array<std::string_view, 16> kFunctions{
    "and", "or",  "not",   "eq",    "ne",      "lt",     "le",           "gt",
    "ge",  "len", "index", "print", "println", "printf", "base64decode", "exists"};

Error takes(std::string_view name, std::string_view what) {
  return Error::bad_request(fmt::format("{} takes {}", name, what));
}

std::partial_ordering compared(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return a.as_double() <=> b.as_double();
  }
  return a.is_string() && b.is_string() ? std::partial_ordering(a.as_string() <=> b.as_string())
                                        : std::partial_ordering::unordered;
}

Result<Value> compare(const std::string& name, const std::vector<Value>& arguments) {
  if (arguments.size() < 2 || (name != "eq" && arguments.size() != 2)) {
    return takes(name, name == "eq" ? "two values or more" : "two values");
  }
  if (name == "eq") {
    return Value(std::ranges::any_of(arguments.begin() + 1, arguments.end(),
                                     [&](const Value& one) { return one == arguments.front(); }));
  }
  if (name == "ne") {
    return Value(!(arguments[0] == arguments[1]));
  }
  const std::partial_ordering order = compared(arguments[0], arguments[1]);
  if (order == std::partial_ordering::unordered) {
    return takes(name, "two numbers or two strings");
  }
  const bool holds = name == "lt"   ? std::is_lt(order)
                     : name == "le" ? std::is_lteq(order)
                     : name == "gt" ? std::is_gt(order)
                                    : std::is_gteq(order);
  return Value(holds);
}

// The first argument that decides, else the last.
Result<Value> choose(const std::string& name, const std::vector<Value>& arguments) {
  if (arguments.empty()) {
    return takes(name, "one value or more");
  }
  for (const Value& one : arguments) {
    if (template_truth(one) == (name == "or")) {
      return one;
    }
  }
  return arguments.back();
}

Result<Value> index_of(const std::vector<Value>& arguments) {
  if (arguments.empty()) {
    return takes("index", "a value and keys");
  }
  Value value = arguments.front();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const Value& key = arguments[i];
    if (value.is_list()) {
      const std::int64_t at = key.as_int(-1);
      if (!key.is_number() || at < 0 || at >= static_cast<std::int64_t>(value.size())) {
        return Error::bad_request(fmt::format("index {} is out of range", template_text(key)));
      }
      value = Value(value[static_cast<std::size_t>(at)]);
    } else {
      const Value* found = value.find(key.as_string());
      value = found == nullptr ? Value() : Value(*found);
    }
  }
  return value;
}

std::string joined(const std::vector<Value>& arguments) {
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // As fmt.Sprint: a blank between two values of which none is a string.
    const bool blank = i > 0 && !arguments[i].is_string() && !arguments[i - 1].is_string();
    text += (blank ? " " : "") + template_text(arguments[i]);
  }
  return text;
}

Result<Value> print_formatted(const std::vector<Value>& arguments) {
  if (arguments.empty() || !arguments.front().is_string()) {
    return takes("printf", "a format and its values");
  }
  const std::string format = arguments.front().str();
  std::string text;
  std::size_t next = 1;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    std::string spec;
    for (++i; i < format.size() &&
              std::string_view("-+ #0123456789.").find(format[i]) != std::string_view::npos;
         ++i) {
      spec += format[i];
    }
    const char verb = i < format.size() ? format[i] : '\0';
    if (verb == '%') {
      text += '%';
      continue;
    }
    if (std::string_view("svdqf").find(verb) == std::string_view::npos || verb == '\0') {
      return takes("printf", "%s, %v, %d, %f, %q and %%");
    }
    if (next >= arguments.size()) {
      return takes("printf", "a value for each %");
    }
    const Value& value = arguments[next++];
    std::string shown = verb == 'q' ? json::quote(template_text(value)) : template_text(value);
    std::size_t width = 0;
    for (const char c : spec) {
      width = c >= '0' && c <= '9' ? width * 10 + static_cast<std::size_t>(c - '0') : width;
      if (c == '.') {
        break;
      }
    }
    width = std::min(width, kMostWidth);
    if (shown.size() < width) {
      shown.insert(spec.starts_with('-') ? shown.size() : 0, width - shown.size(), ' ');
    }
    text += shown;
  }
  return Value(text);
}

std::size_t size_of(const Value& value) {
  return value.is_string() ? value.as_string().size() : value.size();
}

}  // namespace

bool is_template_function(std::string_view name) {
  return std::ranges::find(kFunctions, name) != kFunctions.end();
}

Result<Value> call_template_function(const std::string& name, const std::vector<Value>& arguments) {
  if (name == "and" || name == "or") {
    return choose(name, arguments);
  }
  if (name == "index") {
    return index_of(arguments);
  }
  if (name == "print") {
    return Value(joined(arguments));
  }
  if (name == "println") {
    std::string text;
    for (const Value& one : arguments) {
      text += (text.empty() ? "" : " ") + template_text(one);
    }
    return Value(text + "\n");
  }
  if (name == "printf") {
    return print_formatted(arguments);
  }
  if (name == "exists") {
    Value at = arguments.empty() ? Value() : arguments.front();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const Value* found = at.find(arguments[i].as_string());
      if (found == nullptr) {
        return Value(false);
      }
      at = Value(*found);
    }
    return Value(!arguments.empty());
  }
  if (name == "not" || name == "len" || name == "base64decode") {
    if (arguments.size() != 1) {
      return takes(name, "one value");
    }
    if (name == "not") {
      return Value(!template_truth(arguments.front()));
    }
    if (name == "len") {
      return Value(static_cast<std::int64_t>(size_of(arguments.front())));
    }
    const auto bytes = base64_decode(arguments.front().as_string());
    return bytes ? Result<Value>(Value(*bytes)) : takes(name, "base64");
  }
  return compare(name, arguments);
}

std::string template_text(const Value& value) {
  if (value.is_null()) {
    return "<no value>";
  }
  if (value.is_list()) {
    std::string text = "[";
    for (const Value& item : value.items()) {
      text += (text.size() > 1 ? " " : "") + template_text(item);
    }
    return text + "]";
  }
  if (value.is_object()) {
    std::string text = "map[";
    for (const Member& member : value.members()) {
      text += (text.size() > 4 ? " " : "") + std::string(member.key()) + ":" +
              template_text(member.value);
    }
    return text + "]";
  }
  return value.is_string() ? value.str() : json::print(value);
}

bool template_truth(const Value& value) {
  if (value.is_null()) {
    return false;
  }
  if (value.is_number()) {
    return value.as_double() != 0;
  }
  return value.is_string() || value.is_list() || value.is_object() ? size_of(value) > 0
                                                                   : value.as_bool();
}

}  // namespace athanor::cli
