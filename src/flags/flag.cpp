// SPDX-License-Identifier: Apache-2.0
#include "flags/flag.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace athanor::flags {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) {
      return parts;
    }
    begin = end + 1;
  }
}

}  // namespace

Flag::Flag(std::string_view names, std::string help, Takes takes, std::string type, Take take)
    : shown_(names),
      help_(std::move(help)),
      takes_(takes),
      type_(std::move(type)),
      take_(std::move(take)) {
  for (const std::string& name : split(shown_, ',')) {
    if (name.starts_with("--")) {
      longs_.push_back(name.substr(2));
    } else if (name.starts_with('-') && name.size() == 2) {
      shorts_.push_back(name[1]);
    }
  }
}

Flag* Flag::type_name(std::string name) {
  type_ = std::move(name);
  for (Check& check : checks_) {
    check.shown.clear();
  }
  return this;
}

Flag* Flag::required(bool is_required) {
  required_ = is_required;
  return this;
}

Flag* Flag::check(Check check) {
  checks_.push_back(std::move(check));
  return this;
}

Flag* Flag::capture_default_str() {
  default_ = present_ ? present_() : "";
  return this;
}

Flag* Flag::default_str(std::string text) {
  alone_ = text;
  default_ = std::move(text);
  return this;
}

Flag* Flag::shown_default(std::string text) {
  default_ = std::move(text);
  return this;
}

Flag* Flag::default_val(std::string value) {
  default_ = value;
  otherwise_ = std::move(value);
  return this;
}

Flag* Flag::envname(std::string variable) {
  variable_ = std::move(variable);
  return this;
}

Flag* Flag::group(std::string title) {
  group_ = std::move(title);
  return this;
}

Flag* Flag::delimiter(char separator) {
  separator_ = separator;
  return this;
}

Flag* Flag::joined(char separator) {
  joint_ = separator;
  return this;
}

Flag* Flag::allow_extra_args(bool allow) {
  extra_args_ = allow;
  return this;
}

Flag* Flag::expected(int least, int most) {
  takes_ = least == 0 ? Takes::Maybe : most == 1 ? Takes::OneValue : Takes::Values;
  return this;
}

Flag* Flag::option_text(std::string text) {
  type_ = std::move(text);
  default_.clear();
  for (Check& check : checks_) {
    check.shown.clear();
  }
  return this;
}

Flag* Flag::needs(const Flag* other) {
  needs_.push_back(other);
  return this;
}

Flag* Flag::excludes(const Flag* other) {
  return excludes(other->spoken());
}

Flag* Flag::excludes(std::string name) {
  excludes_.push_back(std::move(name));
  return this;
}

Flag* Flag::each(std::function<void(const std::string&)> seen) {
  each_.push_back(std::move(seen));
  return this;
}

bool Flag::named(std::string_view name) const {
  if (name.starts_with("--")) {
    return std::ranges::find(longs_, name.substr(2)) != longs_.end();
  }
  return positional() ? name == shown_
                      : name.size() == 2 && name[0] == '-' &&
                            std::ranges::find(shorts_, name[1]) != shorts_.end();
}

std::string Flag::spoken() const {
  if (!longs_.empty()) {
    return "--" + longs_.front();
  }
  return shorts_.empty() ? shown_ : std::string{'-', shorts_.front()};
}

std::string Flag::value_text() const {
  if (takes_ == Takes::Nothing) {
    return {};
  }
  std::string text = type_;
  for (const Check& check : checks_) {
    text = check.shown.empty() ? text : check.shown;
  }
  text += default_.empty() ? "" : "=" + default_;
  text += takes_ == Takes::Values ? " ..." : "";
  text += required_ ? " REQUIRED" : "";
  text += variable_.empty() ? "" : fmt::format(" (Env:{})", variable_);
  return text;
}

bool Flag::takes_files() const {
  return type_ == "FILE" || type_ == "DIR" ||
         std::ranges::any_of(checks_, [](const Check& check) { return check.files; });
}

std::vector<std::string> Flag::choices() const {
  for (const Check& check : checks_) {
    if (!check.words.empty()) {
      return check.words;
    }
  }
  return {};
}

void Flag::keep(std::string value) {
  if (joint_ != '\0' && !values_.empty() && !values_.back().empty()) {
    value = values_.back() + joint_ + value;
  }
  if (takes_ != Takes::Values) {
    values_.clear();
  }
  values_.push_back(std::move(value));
}

std::string Flag::finish() {
  std::vector<std::string> values = values_;
  if (values.empty() && !variable_.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the command line is read before threads start
    const char* set = std::getenv(variable_.c_str());
    if (set != nullptr && *set != '\0') {
      values.emplace_back(set);
    }
  }
  if (values.empty() && !otherwise_.empty()) {
    values.push_back(otherwise_);
  }
  if (values.empty()) {
    return {};
  }
  if (separator_ != '\0') {
    std::vector<std::string> parts;
    for (const std::string& value : values) {
      for (std::string& part : split(value, separator_)) {
        parts.push_back(std::move(part));
      }
    }
    values = std::move(parts);
  }
  for (std::string& value : values) {
    for (const Check& check : checks_) {
      if (std::string why = check.wrong(value); !why.empty()) {
        return why;
      }
    }
    for (const auto& seen : each_) {
      seen(value);
    }
  }
  return take_(values);
}

}  // namespace athanor::flags
