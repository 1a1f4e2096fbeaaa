// SPDX-License-Identifier: Apache-2.0
// Routes of logs (docs/spec/dashboard.md B7).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/builtin.hpp"
#include "client/connection.hpp"
#include "console/logs/log_archive.hpp"
#include "console/logs/log_follower.hpp"
#include "console/logs/log_text.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "net/serving/gzip.hpp"
#include "views/job_labels.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::size_t kMostLines = 200'000;
constexpr std::size_t kDefaultLines = 1000;
constexpr std::size_t kMostMatches = 100'000;
constexpr std::size_t kPackedFrom = std::size_t{16} << 10;  // bytes of a log that is sent packed

// A log that may not be read by this viewer is refused by the API server: requests are the
// viewer's own.
std::string log_path(const Key& pod, std::string_view container, std::string_view more) {
  return fmt::format("{}/log?container={}&timestamps=true{}", api_path(api::kPod, pod.ns, pod.name),
                     client::escape(std::string(container)), more);
}

bool is_set(const Exchange& exchange, std::string_view name) {
  const auto value = exchange.request.parameter(name);
  return value && *value != "0" && *value != "false";
}

Result<std::size_t> count_of(const Exchange& exchange, std::string_view name,
                             std::size_t fallback) {
  const auto text = exchange.request.parameter(name);
  if (!text || text->empty()) {
    return fallback;
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number > kMostLines) {
    return Error::bad_request(fmt::format("{} must be a whole number up to {}", name, kMostLines));
  }
  return number;
}

// The whole log of one container: from the API server, else from the archive.
Result<std::vector<LogLine>> read_log(Exchange& exchange, const Key& pod,
                                      const std::string& container, bool& archived) {
  const bool previous = is_set(exchange, "previous");
  auto text = exchange.services.port.text(
      exchange.viewer(), log_path(pod, container, previous ? "&previous=true" : ""));
  archived = false;
  if (text.ok()) {
    return parse_log(*text);
  }
  if (!previous) {
    const auto kept = exchange.services.logs.find(pod, container);
    if (kept) {
      const auto may = exchange.services.access.may(exchange.viewer(), "get", kPodLogs, pod.ns);
      if (may.value_or(false)) {
        archived = true;
        return parse_log(*kept);
      }
    }
  }
  return text.error();
}

// A page of lines: `tail` last ones, else `lines` from `offset` on.
Response answer_lines(Exchange& exchange, const std::vector<LogLine>& lines, bool archived,
                      const Value& sources) {
  const auto tail = count_of(exchange, "tail", 0);
  const auto offset = count_of(exchange, "offset", 0);
  const auto wanted = count_of(exchange, "lines", tail.ok() && *tail > 0 ? *tail : kDefaultLines);
  for (const auto* number : {&tail, &offset, &wanted}) {
    if (!number->ok()) {
      return answer_error(number->error(), number == &tail     ? "tail"
                                           : number == &offset ? "offset"
                                                               : "lines");
    }
  }
  const bool from_end = !exchange.request.parameter("offset") && *tail > 0;
  const std::size_t count = std::min(from_end ? *tail : *wanted, lines.size());
  const std::size_t begin = from_end ? lines.size() - count : std::min(*offset, lines.size());
  const std::size_t end = std::min(begin + count, lines.size());
  Value list = Value::list();
  for (std::size_t i = begin; i < end; ++i) {
    list.push_back(line_value(lines[i], i + 1));
  }
  Value page = Value::object({{"lines", std::move(list)},
                              {"total", lines.size()},
                              {"first", begin + 1},
                              {"complete", begin == 0 && end == lines.size()},
                              {"archived", archived}});
  if (sources.is_list()) {
    page.set("sources", sources);
  }
  return answer_value(page);
}

// The name with other characters than a-z, 0-9, "-" and "." replaced.
std::string plain_file_name(const std::string& name) {
  std::string file;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    file += plain ? c : '_';
  }
  return file;
}

Response answer_plain(Exchange& exchange, const std::vector<LogLine>& lines,
                      const std::string& name) {
  const bool times = is_set(exchange, "timestamps");
  std::string text;
  for (const LogLine& line : lines) {
    text += (times && !line.at.empty() ? line.at + " " : "") +
            (line.source.empty() ? "" : "[" + line.source + "] ") + line.text + "\n";
  }
  // "gzip" is a file of its own; other answers are only packed on their way.
  const bool archive = exchange.request.parameter("download").value_or("") == "gzip";
  const bool encoded =
      !archive && text.size() >= kPackedFrom &&
      exchange.request.header_list("accept-encoding").find("gzip") != std::string::npos;
  std::string packed = archive || encoded ? net::gzip(text) : "";
  if (archive && packed.empty()) {
    return answer_error(Error::unavailable("the log cannot be packed now"));
  }
  const bool is_packed = !packed.empty();
  Response response = answer_text(is_packed ? std::move(packed) : std::move(text),
                                  archive ? "application/gzip" : "text/plain; charset=utf-8");
  if (encoded && is_packed) {
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (is_set(exchange, "download")) {
    response.headers.emplace_back("Content-Disposition",
                                  fmt::format("attachment; filename=\"{}.log{}\"",
                                              plain_file_name(name), archive ? ".gz" : ""));
  }
  return response;
}

bool wants_json(const Exchange& exchange) {
  return exchange.request.header_list("accept").find("application/json") != std::string::npos;
}

Response answer_stream(Exchange& exchange, LogRequest request) {
  request.since_ns = std::string(exchange.request.header("last-event-id"));
  if (!std::ranges::all_of(request.since_ns, [](char c) { return c >= '0' && c <= '9'; })) {
    request.since_ns.clear();
  }
  auto stream = exchange.services.follower.follow(exchange.viewer(), std::move(request));
  if (!stream.ok()) {
    return answer_error(stream.error());
  }
  Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering", "no");
  response.stream = *std::move(stream);
  return response;
}

Key pod_of(const Exchange& exchange) {
  return {exchange.part("ns"), exchange.part("pod")};
}

Response show_log(Exchange& exchange) {
  const Key pod = pod_of(exchange);
  const std::string& container = exchange.part("container");
  if (is_set(exchange, "follow")) {
    const auto may = exchange.services.access.may(exchange.viewer(), "get", kPodLogs, pod.ns);
    if (!may.value_or(false)) {
      return answer_error(
          Error{.code = 403, .reason = "Forbidden", .message = "you may not read its logs"});
    }
    return answer_stream(
        exchange, {.logs = {{.path = log_path(pod, container, "&follow=true")}},
                   .load_path = fmt::format("/api/v1/logs/{}/{}/{}", pod.ns, pod.name, container)});
  }
  bool archived = false;
  const auto lines = read_log(exchange, pod, container, archived);
  if (!lines.ok()) {
    return answer_error(lines.error());
  }
  return wants_json(exchange) ? answer_lines(exchange, *lines, archived, {})
                              : answer_plain(exchange, *lines, pod.name + "-" + container);
}

Response answer_search(Exchange& exchange, const std::vector<LogLine>& lines) {
  const LogSearch search{.text = std::string(exchange.request.parameter("q").value_or("")),
                         .regex = is_set(exchange, "regex"),
                         .match_case = is_set(exchange, "case")};
  if (search.text.empty()) {
    return answer_error(Error::bad_request("q is required"), "q");
  }
  const auto limit = count_of(exchange, "limit", kMostMatches);
  if (!limit.ok()) {
    return answer_error(limit.error(), "limit");
  }
  const auto matches = search_log(lines, search, *limit);
  if (!matches.ok()) {
    return answer_error(Error::bad_request(matches.error().message), "q");
  }
  Value numbers = Value::list();
  for (const std::size_t number : matches->numbers) {
    numbers.push_back(number);
  }
  return answer_value(Value::object({{"matches", std::move(numbers)}, {"total", matches->total}}));
}

Response search_container(Exchange& exchange) {
  bool archived = false;
  const auto lines = read_log(exchange, pod_of(exchange), exchange.part("container"), archived);
  return lines.ok() ? answer_search(exchange, *lines) : answer_error(lines.error());
}

// A container of a job's pod.
struct JobLog {
  Key pod{};
  std::string container{};
  std::string source{};
};

// Logs of a job's pods: those that are there, and those of the archive.
std::vector<JobLog> logs_of_job(Exchange& exchange, const FoundJob& job) {
  std::vector<JobLog> logs;
  const std::string ns(job.object.ns());
  const auto facts = exchange.services.world.facts();
  for (const Object& pod : facts->all(api::kPod)) {
    if (pod.ns() != ns || pod.label(views::kJobNameLabel) != job.object.name() ||
        pod.name().starts_with("affinity-assistant")) {
      continue;
    }
    const std::string task(pod.label(views::kPipelineTaskLabel));
    for (const char* part : {"initContainerStatuses", "containerStatuses"}) {
      for (const Value& status : pod.status()[std::string_view(part)].items()) {
        if (status["state"]["waiting"].is_object()) {
          continue;
        }
        const std::string name = status["name"].str();
        logs.push_back({.pod = pod.key(),
                        .container = name,
                        .source = (task.empty() ? std::string(pod.name()) : task) + "/" +
                                  (name.starts_with("step-") ? name.substr(5) : name)});
      }
    }
  }
  for (const KeptLogName& kept : exchange.services.logs.of_job(job.object.key().text())) {
    const bool known = std::ranges::any_of(logs, [&](const JobLog& one) {
      return one.pod == kept.pod && one.container == kept.container;
    });
    if (!known) {
      logs.push_back({.pod = kept.pod, .container = kept.container, .source = kept.source});
    }
  }
  return logs;
}

// The merged log of a job.
Result<std::vector<LogLine>> read_job_log(Exchange& exchange, const std::vector<JobLog>& logs,
                                          bool& archived) {
  std::vector<std::vector<LogLine>> parts;
  for (const JobLog& log : logs) {
    bool kept = false;
    auto lines = read_log(exchange, log.pod, log.container, kept);
    if (!lines.ok()) {
      if (lines.error().code == 403) {
        return lines.error();
      }
      continue;  // its container has not begun, or its pod is gone
    }
    archived = archived || kept;
    for (LogLine& line : *lines) {
      line.source = log.source;
    }
    parts.push_back(*std::move(lines));
  }
  return merge_logs(std::move(parts));
}

Response show_job_log(Exchange& exchange) {
  const auto job =
      find_job(exchange, path_key(exchange), exchange.request.parameter("uid").value_or(""));
  if (!job.ok()) {
    return answer_error(job.error());
  }
  const std::vector<JobLog> logs = logs_of_job(exchange, *job);
  if (is_set(exchange, "follow")) {
    LogRequest request{
        .load_path = fmt::format("/api/v1/jobs/{}/{}/logs", job->object.ns(), job->object.name())};
    for (const JobLog& log : logs) {
      request.logs.push_back(
          {.path = log_path(log.pod, log.container, "&follow=true"), .source = log.source});
    }
    return answer_stream(exchange, std::move(request));
  }
  bool archived = false;
  const auto lines = read_job_log(exchange, logs, archived);
  if (!lines.ok()) {
    return answer_error(lines.error());
  }
  if (exchange.request.parameter("q")) {
    return answer_search(exchange, *lines);
  }
  Value sources = Value::list();
  for (const JobLog& log : logs) {
    sources.push_back(log.source);
  }
  return wants_json(exchange) ? answer_lines(exchange, *lines, archived, sources)
                              : answer_plain(exchange, *lines, std::string(job->object.name()));
}

// fournos-ui's stream: the first container, plain lines (docs/spec/dashboard.md L8).
Response legacy_log(Exchange& exchange) {
  const auto job = find_named_job(exchange, exchange.part("name"));
  if (!job.ok()) {
    return answer_detail(404, "Job not found");
  }
  const Key pod{std::string(job->object.ns()), exchange.part("pod")};
  const auto facts = exchange.services.world.facts();
  const Object* found = facts->find(api::kPod, pod);
  if (found == nullptr || found->label(views::kJobNameLabel) != job->object.name()) {
    return answer_detail(404, "Pod not found for this job");
  }
  const std::string container = found->spec()["containers"][0]["name"].str();
  return answer_stream(exchange, {.logs = {{.path = log_path(pod, container, "&follow=true")}},
                                  .framing = LogFraming::Plain});
}

}  // namespace

std::vector<Route> log_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/logs/{ns}/{pod}/{container}",
       .summary = "Show or follow the log of a container",
       .handle = show_log,
       .parameters = {"previous", "timestamps", "tail", "offset", "lines", "follow", "download"},
       .content_type = "text/plain"},
      {.method = "GET",
       .path = "/api/v1/logs/{ns}/{pod}/{container}/search",
       .summary = "Search the whole log of a container",
       .handle = search_container,
       .parameters = {"q", "regex", "case", "limit", "previous"}},
      {.method = "GET",
       .path = "/api/v1/jobs/{ns}/{name}/logs",
       .summary = "Show, search or follow all logs of a job, merged by time",
       .handle = show_job_log,
       .parameters = {"uid", "timestamps", "tail", "offset", "lines", "follow", "download", "q",
                      "regex", "case", "limit"},
       .content_type = "text/plain"},
      {.method = "GET",
       .path = "/api/jobs/{name}/logs/{pod}",
       .summary = "Follow the first container's log as plain events",
       .handle = legacy_log,
       .content_type = "text/event-stream"},
  };
}

}  // namespace athanor::console
