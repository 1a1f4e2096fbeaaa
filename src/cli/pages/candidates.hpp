// SPDX-License-Identifier: Apache-2.0
// Candidates that completion offers behind the words of a command line: from the table of verbs,
// and from which objects the rest comes. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::cli {

// Objects whose names complete a word.
enum class NameSource : std::uint8_t {
  Nothing,
  Files,
  Contexts,  // of the kubeconfig
  Namespaces,
  Jobs,
  Clusters,
  GpuTypes,
  Queues,
  AppWrappers,
  Pipelines,
  Priorities,
  Pods,
  Nodes,
  Schedules,
  Subjects,  // KIND/NAME
};

// One word that may stand at the end.
struct Candidate {
  std::string word{};
  std::string help{};
};

// Completion of the last word.
struct Completion {
  std::vector<Candidate> words{};  // those that begin as the last word does
  NameSource source = NameSource::Nothing;
  std::string lead{};     // stands before a name: "--cluster=", "jobs/"
  std::string partial{};  // the beginning of a name
  // Flags of the connection on the line, to find the objects with.
  Target target{};
};

// Splits a command line at blanks, outside of quotes; the last word is the one to complete, and may
// be empty.
std::vector<std::string> split_line(std::string_view line);

// Completes the last of `words`, those behind the program's name.
Completion complete_words(const std::vector<VerbSummary>& verbs,
                          std::span<const std::string> words);

}  // namespace athanor::cli
