// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/interpreters.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace athanor::nodes {
namespace {

using Words = std::vector<std::string>;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

Words line_words(std::string_view line) {
  Words words;
  std::size_t at = line.find_first_not_of(" \t");
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return words;
}

// A shell that takes what is written for busybox's; empty: there is none.
Words present_shell(ProgramFinder find) {
  for (const std::string_view name : {"busybox", "bash", "dash"}) {
    if (std::string path = find(name); !path.empty()) {
      return name == "busybox" ? Words{std::move(path), "ash"} : Words{std::move(path)};
    }
  }
  return {};
}

// Programs of images that machines have under another name.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"python", "python3"}, {"pip", "pip3"}, {"nodejs", "node"}, {"awk", "mawk"}};

std::string other_name(std::string_view program, ProgramFinder find) {
  for (const auto& [name, other] : kOtherNames) {
    if (name == base_name(program)) {
      return find(other).empty() ? std::string() : std::string(other);
    }
  }
  return {};
}

// What replaces the first words of a command line, or nullopt when they can run as they are
// or nothing can take them.
std::optional<Words> stand_in(Words words, ProgramFinder find) {
  if (words.empty() || !find(words.front()).empty()) {
    return std::nullopt;
  }
  if (std::string other = other_name(words.front(), find); !other.empty()) {
    words.front() = std::move(other);
    return words;
  }
  const bool applet = base_name(words.front()) == "busybox";
  if (applet) {
    words.erase(words.begin());
    if (words.empty()) {
      return std::nullopt;
    }
  }
  const std::string_view shell = base_name(words.front());
  if (shell != "ash" && (shell != "sh" || !applet)) {
    // Another applet of busybox: the host's own program of that name.
    return applet ? std::optional(std::move(words)) : std::nullopt;
  }
  Words present = present_shell(find);
  if (present.empty()) {
    return std::nullopt;
  }
  std::move(words.begin() + 1, words.end(), std::back_inserter(present));
  return present;
}

}  // namespace

std::string find_program(std::string_view program) {
  const std::string name(program);
  if (program.find('/') != std::string_view::npos) {
    return ::access(name.c_str(), X_OK) == 0 ? name : std::string();
  }
  for (const char* folder :
       {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    if (std::string path = folder + name; ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return {};
}

std::vector<std::string> script_interpreter(std::string_view script, ProgramFinder find) {
  if (!script.starts_with("#!")) {
    return {};
  }
  Words words = line_words(script.substr(2, script.find('\n') - 2));
  if (!words.empty() && base_name(words.front()) == "env") {
    words.erase(words.begin());
    if (!words.empty() && words.front() == "-S") {
      words.erase(words.begin());
    }
  }
  return stand_in(std::move(words), find).value_or(Words());
}

Value with_busybox(Value command, ProgramFinder find) {
  const std::string busybox = find("busybox");
  const std::string_view first = command[0].as_string();
  const std::string_view name = base_name(first);
  const bool shell = name == "sh" || name == "ash";
  if (busybox.empty() || command.empty() || name == "busybox" ||
      (!shell && (!find(first).empty() || !other_name(first, find).empty()))) {
    return with_present_shell(std::move(command), find);
  }
  Value result = Value::list({busybox, std::string(name)});
  for (std::size_t i = 1; i < command.size(); ++i) {
    result.push_back(command[i]);
  }
  return result;
}

Value with_present_shell(Value command, ProgramFinder find) {
  Words words;
  for (const Value& word : command.items()) {
    words.push_back(word.str());
  }
  const auto replaced = stand_in(std::move(words), find);
  if (!replaced) {
    return command;
  }
  Value result = Value::list();
  for (const std::string& word : *replaced) {
    result.push_back(word);
  }
  return result;
}

}  // namespace athanor::nodes
