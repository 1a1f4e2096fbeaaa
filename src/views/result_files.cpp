// SPDX-License-Identifier: Apache-2.0
#include "views/result_files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "kube/names/names.hpp"
#include "kube/value/object.hpp"

namespace athanor::views {
namespace {

constexpr int kNoObject = 404;

// One line "file SIZE PATH" for each file, its content in base64 below it, or "large"; "end" at the
// end: what follows a cut log lacks that line. Names with line ends are left out.
constexpr const char* kScript = R"(set -eu
cd "/results/$RESULTS_JOB" 2>/dev/null || { echo end; exit 0; }
find . -type f | sort | {
  count=0
  while IFS= read -r path; do
    [ -f "$path" ] || continue
    name=${path#./}
    if [ -n "$RESULTS_ONLY" ] && [ "$name" != "$RESULTS_ONLY" ]; then continue; fi
    count=$((count + 1))
    if [ "$RESULTS_MOST" -gt 0 ] && [ "$count" -gt "$RESULTS_MOST" ]; then break; fi
    size=$(wc -c <"$path" | tr -d ' ')
    echo "file $size $name"
    [ "$RESULTS_CONTENTS" = true ] || continue
    if [ "$RESULTS_BYTES" -gt 0 ] && [ "$size" -gt "$RESULTS_BYTES" ]; then echo large; else base64 "$path"; fi
  done
}
echo end
)";

Error damaged_results(std::string_view what) {
  return Error::internal(fmt::format("the files of the results cannot be read: {}", what));
}

std::string pods_path(const std::string& ns) {
  return fmt::format("/api/v1/namespaces/{}/pods", ns);
}

// Deletes the pod at the end, whatever happens.
class ReaderPod {
 public:
  ReaderPod(const ResultsAccess& access, const Object& pod)
      : access_(access),
        name_(pod.name()),
        path_(pods_path(std::string(pod.ns())) + "/" + std::string(pod.name())) {}
  ReaderPod(const ReaderPod&) = delete;
  ReaderPod& operator=(const ReaderPod&) = delete;
  ~ReaderPod() { static_cast<void>(access_.call("DELETE", path_ + "?gracePeriodSeconds=0", {})); }

  // Waits for the pod's end and returns its log.
  Result<std::string> log(Duration patience) const {
    constexpr std::chrono::milliseconds kPause{200};
    const Instant end = access_.now() + patience;
    while (true) {
      ATHANOR_TRY(const Value pod, access_.call("GET", path_, {}));
      const std::string phase = pod["status"]["phase"].str();
      if (phase == "Succeeded") {
        return access_.text(path_ + "/log?container=read");
      }
      if (phase == "Failed") {
        const auto said = access_.text(path_ + "/log?container=read");
        return Error::internal(fmt::format("pod {}, which reads the results, failed: {}", name_,
                                           said.ok() ? *said : pod["status"]["message"].str()));
      }
      if (access_.now() >= end) {
        return Error{
            .code = 504,
            .reason = "Timeout",
            .message = fmt::format("pod {}, which reads the results, is {} after {}", name_,
                                   phase.empty() ? "not started" : phase, format_age(patience))};
      }
      access_.pause(kPause);
    }
  }

 private:
  const ResultsAccess& access_;
  std::string name_;
  std::string path_;
};

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

std::string result_type(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string end = lower(dot == std::string_view::npos ? "" : path.substr(dot));
  return end == ".png"    ? "image/png"
         : end == ".json" ? "application/json"
         : end == ".csv"  ? "text/csv"
                          : "text/plain";
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
             Value::object({{"name", "RESULTS_ONLY"}, {"value", place.only}}),
             Value::object({{"name", "RESULTS_MOST"}, {"value", std::to_string(place.most_files)}}),
             Value::object(
                 {{"name", "RESULTS_BYTES"}, {"value", std::to_string(place.most_bytes)}}),
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
    } else if (line == "large" && !files.empty()) {
      return Error{.code = 413,
                   .reason = "RequestEntityTooLarge",
                   .message = fmt::format("{} has {} bytes, more than can be shown",
                                          files.back().path, files.back().size)};
    } else if (!files.empty() && wanted == ResultsWanted::Contents) {
      content += line;
    } else {
      return damaged_results(fmt::format("unexpected line \"{}\"", line.substr(0, 80)));
    }
  }
  return damaged_results("the log of the pod that reads them is cut off");
}

Result<std::optional<std::vector<ResultFile>>> read_result_files(const ResultsAccess& access,
                                                                 const ResultsPlace& place,
                                                                 ResultsWanted wanted,
                                                                 Duration patience) {
  for (const std::string* name : {&place.ns, &place.job, &place.claim}) {
    if (validate_dns1123_subdomain(*name)) {
      return Error::bad_request(fmt::format("\"{}\" is no name of an object", *name));
    }
  }
  const auto claim = access.call(
      "GET", fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", place.ns, place.claim),
      {});
  if (!claim.ok() && claim.error().code == kNoObject) {
    return std::optional<std::vector<ResultFile>>();
  }
  if (!claim.ok()) {
    return claim.error();
  }
  ATHANOR_TRY(Value created,
              access.call("POST", pods_path(place.ns) + "?fieldManager=athanor-results",
                          results_pod(place, wanted)));
  const ReaderPod pod(access, Object(std::move(created)));
  ATHANOR_TRY(const std::string log, pod.log(patience));
  ATHANOR_TRY(std::vector<ResultFile> files, parse_result_files(log, wanted));
  return std::optional(std::move(files));
}

}  // namespace athanor::views
