// SPDX-License-Identifier: Apache-2.0
// The help text of a verb (Verb::help(), declared in verb.hpp).
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flags/verb.hpp"

namespace athanor::flags {
namespace {

constexpr std::size_t kColumn = 30;  // where the texts begin

std::string row(const std::string& left, const std::string& text) {
  const std::string shown = "  " + left;
  if (shown.size() < kColumn) {
    return fmt::format("{:<{}}{}\n", shown, kColumn, text);
  }
  return fmt::format("{}\n{:<{}}{}\n", shown, "", kColumn, text);
}

std::string left_of(const Flag& flag) {
  const std::string value = flag.value_text();
  return flag.shown() + (value.empty() ? "" : " " + value);
}

}  // namespace

std::string Verb::path() const {
  return parent_ == nullptr ? name_ : parent_->path() + " " + name_;
}

std::string Verb::help() const {
  if (manner_ == Manner::Kubernetes) {
    return kubernetes_help();
  }
  std::string text = fmt::format("{}\nUsage: {} [OPTIONS]", help_, path());
  std::string arguments;
  std::vector<std::string> titles{""};
  for (const auto& flag : flags_) {
    if (flag->positional()) {
      const std::string many = flag->takes() == Takes::Values ? "..." : "";
      text += flag->required_ ? fmt::format(" {}{}", flag->shown(), many)
                              : fmt::format(" [{}{}]", flag->shown(), many);
      arguments += row(left_of(*flag), flag->help());
    } else if (std::find(titles.begin(), titles.end(), flag->title()) == titles.end()) {
      titles.push_back(flag->title());
    }
  }
  if (!below_.empty()) {
    text += least_ > 0 ? " SUBCOMMAND" : " [SUBCOMMAND]";
  }
  text += "\n";
  text += arguments.empty() ? "" : "\nPositionals:\n" + arguments;
  for (const std::string& title : titles) {
    text += fmt::format("\n{}:\n", title.empty() ? "Options" : title);
    text += title.empty() ? row("-h,--help", "Print this help message and exit") : "";
    for (const auto& flag : flags_) {
      if (!flag->positional() && flag->title() == title) {
        text += row(left_of(*flag), flag->help());
      }
    }
  }
  if (!below_.empty()) {
    text += "\nSubcommands:\n";
    for (const auto& verb : below_) {
      text += row(verb->name_, verb->help_);
    }
  }
  text += footer_.empty() ? "" : "\n" + footer_ + "\n";
  return text;
}

}  // namespace athanor::flags
