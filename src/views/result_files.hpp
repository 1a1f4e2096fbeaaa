// SPDX-License-Identifier: Apache-2.0
// The files of a run's results place, as a pod that mounts it prints them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::views {

// One file.
struct ResultFile {
  std::string path{};  // below the job's folder
  std::uint64_t size = 0;
  std::string content{};  // empty where only the list was asked for
};

// Inputs of a reader pod.
struct ResultsPlace {
  std::string ns{};
  std::string job{};
  std::string claim{};
  std::string image{};
};

// Whether the pod prints names and sizes alone, or the contents, too.
enum class ResultsWanted : std::uint8_t { List, Contents };

// Returns a pod that mounts the claim read-only and prints the files of the job's folder.
Value results_pod(const ResultsPlace& place, ResultsWanted wanted);

// Reads what such a pod printed. Errors: the text is cut off or damaged, a path leads out of the
// folder.
Result<std::vector<ResultFile>> parse_result_files(std::string_view log, ResultsWanted wanted);

// Returns true for a relative path without "." and ".." parts.
bool is_path_below(std::string_view path);

}  // namespace athanor::views
