// SPDX-License-Identifier: Apache-2.0
// The files of a run's results place, as a pod that mounts it prints them. Pure: requests and time
// come in as functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
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
  std::string only{};            // one file; empty: all
  std::size_t most_files = 0;    // 0: no limit
  std::uint64_t most_bytes = 0;  // of a file whose content is printed; 0: no limit
};

// Whether the pod prints names and sizes alone, or the contents, too.
enum class ResultsWanted : std::uint8_t { List, Contents };

// Returns a pod that mounts the claim read-only and prints the files of the job's folder.
Value results_pod(const ResultsPlace& place, ResultsWanted wanted);

// Reads what such a pod printed. Errors: the text is cut off or damaged, a path leads out of the
// folder, a file is larger than the limit (413).
Result<std::vector<ResultFile>> parse_result_files(std::string_view log, ResultsWanted wanted);

// Requests of one caller; each waits for its answer.
struct ResultsAccess {
  std::function<Result<Value>(const std::string& method, const std::string& path,
                              const Value& body)>
      call{};
  std::function<Result<std::string>(const std::string& path)> text{};
  std::function<Instant()> now{};
  std::function<void(Duration)> pause{};
};

// Lists or reads the files by such a pod, which is deleted afterwards; nullopt: the namespace lacks
// the claim. Errors: a wrong name (400), the API server's, the pod failed or takes longer than
// `patience` (504), and those of parse_result_files().
Result<std::optional<std::vector<ResultFile>>> read_result_files(const ResultsAccess& access,
                                                                 const ResultsPlace& place,
                                                                 ResultsWanted wanted,
                                                                 Duration patience);

// Returns the media type of a file by the end of its name: that of PNG, JSON, CSV; "text/plain" for
// all others.
std::string result_type(std::string_view path);

// Returns true for a relative path without "." and ".." parts.
bool is_path_below(std::string_view path);

}  // namespace athanor::views
