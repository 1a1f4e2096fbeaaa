// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/tool_flags.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "systems/numa/tools/tool.hpp"

namespace athanor::numa {

Result<ToolFlags> ToolFlags::parse(std::span<const std::string> arguments,
                                   std::span<const ToolFlag> known) {
  ToolFlags flags;
  flags.known_ = known;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (word.size() < 2 || word.front() != '-') {
      flags.words_.emplace_back(word);
      continue;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (name == "h" || name == "help") {
      flags.help_ = true;
      continue;
    }
    const auto flag = std::ranges::find(known, name, &ToolFlag::name);
    if (flag == known.end()) {
      return Error::bad_request(fmt::format("flag provided but not defined: -{}", name));
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (flag->boolean) {
      value = "true";
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return Error::bad_request(fmt::format("flag needs an argument: -{}", name));
    }
    if (flag->boolean && value != "true" && value != "false") {
      return Error::bad_request(
          fmt::format("invalid boolean value \"{}\" for -{}: parse error", value, name));
    }
    flags.given_.insert_or_assign(std::string(name), std::move(value));
  }
  return flags;
}

std::string ToolFlags::text(std::string_view name) const {
  if (const auto found = given_.find(name); found != given_.end()) {
    return found->second;
  }
  const auto flag = std::ranges::find(known_, name, &ToolFlag::name);
  return flag == known_.end() ? std::string() : std::string(flag->initial);
}

Result<Duration> ToolFlags::duration(std::string_view name) const {
  auto duration = parse_go_duration(text(name));
  if (!duration.ok()) {
    return Error::bad_request(fmt::format("invalid value \"{}\" for flag -{}: {}", text(name), name,
                                          duration.error().message));
  }
  return duration;
}

ToolCall open_tool(ToolContext& context, std::string_view tool,
                   std::span<const std::string> arguments, std::span<const ToolFlag> known,
                   ToolWords words, std::string_view synopsis) {
  std::string usage = synopsis.empty() ? std::string() : std::string(synopsis) + "\n";
  usage += usage_of(tool, known);
  auto flags = ToolFlags::parse(arguments, known);
  if (flags.ok() && flags->help()) {
    context.out(usage);
    return {.ended = kToolDone};
  }
  if (flags.ok() && words == ToolWords::Refused && !flags->words().empty()) {
    flags = Error::bad_request("unexpected argument " + flags->words().front());
  }
  if (!flags.ok()) {
    context.err(flags.error().message + "\n" + usage);
    return {.ended = kToolUsage};
  }
  return {.flags = *std::move(flags)};
}

std::string usage_of(std::string_view tool, std::span<const ToolFlag> known) {
  std::string text = fmt::format("Usage of {}:\n", tool);
  for (const ToolFlag& flag : known) {
    text += fmt::format(
        "  -{}\n    \t{}{}\n", flag.name, flag.help,
        flag.initial.empty() ? std::string() : fmt::format(" (default {})", flag.initial));
  }
  return text;
}

}  // namespace athanor::numa
