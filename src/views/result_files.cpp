// SPDX-License-Identifier: Apache-2.0
#include "views/result_files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/digest.hpp"

namespace athanor::views {
namespace {

// One line "file SIZE PATH" for each file, its content in base64 below it, "end" at the end: what
// follows a cut log lacks that line. Names with line ends are left out.
constexpr const char* kScript = R"(set -eu
cd "/results/$RESULTS_JOB" 2>/dev/null || { echo end; exit 0; }
find . -type f | sort | while IFS= read -r path; do
  [ -f "$path" ] || continue
  echo "file $(wc -c <"$path" | tr -d ' ') ${path#./}"
  if [ "$RESULTS_CONTENTS" = true ]; then base64 "$path"; fi
done
echo end
)";

Error damaged_results(std::string_view what) {
  return Error::internal(fmt::format("the files of the results cannot be read: {}", what));
}

std::optional<ResultFile> parse_head(std::string_view line) {
  constexpr std::string_view kFile = "file ";
  if (!line.starts_with(kFile)) {
    return std::nullopt;
  }
  line.remove_prefix(kFile.size());
  ResultFile file;
  const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), file.size);
  if (failure != std::errc{} || end == line.data() + line.size() || *end != ' ') {
    return std::nullopt;
  }
  file.path = std::string(end + 1, line.data() + line.size());
  return file;
}

}  // namespace

bool is_path_below(std::string_view path) {
  if (path.empty() || path.front() == '/') {
    return false;
  }
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    start = end + 1;
  }
  return true;
}

Value results_pod(const ResultsPlace& place, ResultsWanted wanted) {
  const Value limits = Value::object({{"cpu", "500m"}, {"memory", "64Mi"}});
  const Value container = Value::object(
      {{"name", "read"},
       {"image", place.image},
       {"command", Value::list({"/bin/sh", "-c", kScript})},
       {"env",
        Value::list(
            {Value::object({{"name", "RESULTS_JOB"}, {"value", place.job}}),
             Value::object({{"name", "RESULTS_CONTENTS"},
                            {"value", wanted == ResultsWanted::Contents ? "true" : "false"}})})},
       {"resources", Value::object({{"limits", limits}})},
       {"securityContext", Value::object({{"allowPrivilegeEscalation", false}})},
       {"volumeMounts",
        Value::list({Value::object(
            {{"name", "results"}, {"mountPath", "/results"}, {"readOnly", true}})})}});
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata",
        Value::object({{"generateName", "results-reader-"},
                       {"namespace", place.ns},
                       {"labels", Value::object({{"athanor.dev/results-of", place.job}})}})},
       {"spec", Value::object({{"restartPolicy", "Never"},
                               {"automountServiceAccountToken", false},
                               {"activeDeadlineSeconds", 600},
                               {"containers", Value::list({container})},
                               {"volumes", Value::list({Value::object(
                                               {{"name", "results"},
                                                {"persistentVolumeClaim",
                                                 Value::object({{"claimName", place.claim},
                                                                {"readOnly", true}})}})})}})}});
}

Result<std::vector<ResultFile>> parse_result_files(std::string_view log, ResultsWanted wanted) {
  std::vector<ResultFile> files;
  std::string content;
  const auto close = [&]() -> Result<void> {
    if (files.empty() || wanted == ResultsWanted::List) {
      return {};
    }
    auto decoded = base64_decode(content);
    if (!decoded || decoded->size() != files.back().size) {
      return damaged_results(fmt::format("{} is not whole", files.back().path));
    }
    files.back().content = *std::move(decoded);
    content.clear();
    return {};
  };
  for (std::size_t start = 0; start < log.size();) {
    const std::size_t end = std::min(log.find('\n', start), log.size());
    const std::string_view line = log.substr(start, end - start);
    start = end + 1;
    if (line == "end") {
      ATHANOR_TRY_VOID(close());
      return files;
    }
    if (auto head = parse_head(line)) {
      ATHANOR_TRY_VOID(close());
      if (!is_path_below(head->path)) {
        return damaged_results(fmt::format("\"{}\" leads out of the job's folder", head->path));
      }
      files.push_back(*std::move(head));
    } else if (!files.empty() && wanted == ResultsWanted::Contents) {
      content += line;
    } else {
      return damaged_results(fmt::format("unexpected line \"{}\"", line.substr(0, 80)));
    }
  }
  return damaged_results("the log of the pod that reads them is cut off");
}

}  // namespace athanor::views
