// SPDX-License-Identifier: Apache-2.0
#include "base/process/child_process.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace athanor {

std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> words;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view word = *entry;
    const std::string_view name = word.substr(0, word.find('='));
    if (std::ranges::none_of(added, [&](const auto& one) { return one.first == name; })) {
      words.emplace_back(word);
    }
  }
  for (const auto& [name, value] : added) {
    words.push_back(fmt::format("{}={}", name, value));
  }
  return words;
}

std::vector<char*> exec_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace athanor
