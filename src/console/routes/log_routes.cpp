// SPDX-License-Identifier: Apache-2.0
// Routes of logs (docs/spec/dashboard.md B7).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/builtin.hpp"
#include "client/connection.hpp"
#include "console/logs/log_archive.hpp"
#include "console/logs/log_follower.hpp"
#include "console/logs/log_text.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "net/serving/gzip.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "views/job_labels.hpp"
#include "views/job_view.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::size_t kMostLines = 200'000;
constexpr std::size_t kDefaultLines = 1000;
constexpr std::size_t kMostMatches = 100'000;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;  // of a second
constexpr std::uint64_t kMostNanoseconds = kNanoseconds * 9'000'000'000;
constexpr std::size_t kPackedFrom = std::size_t{16} << 10;  // bytes of a log that is sent packed

// A log that may not be read by this viewer is refused by the API server: requests are the
// viewer's own.
std::string log_path(const Key& pod, std::string_view container, std::string_view more) {
  return fmt::format("{}/log?container={}&timestamps=true{}", api_path(api::kPod, pod.ns, pod.name),
                     client::escape(std::string(container)), more);
}

bool is_set(const Exchange& exchange, std::string_view name) {
  const auto value = exchange.parameter(name);
  return value && *value != "0" && *value != "false";
}

Result<std::size_t> count_of(const Exchange& exchange, std::string_view name,
                             std::size_t fallback) {
  const auto text = exchange.parameter(name);
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
                                      const std::string& container, bool previous, bool& archived) {
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
  const bool from_end = !exchange.parameter("offset") && *tail > 0;
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

bool wants_json(const Exchange& exchange) {
  return exchange.request.header_list("accept").find("application/json") != std::string::npos;
}

// Returns a log as `read(archived)` reads it; later parts come from the log that the first part has
// read. `name` identifies the log.
template <class Read>
Result<ReadLog> read_in_parts(Exchange& exchange, std::string name, const Read& read) {
  const bool parts = wants_json(exchange);
  LogCache& cache = exchange.services.read_logs;
  for (const std::string& group : exchange.viewer().groups) {
    name += "\n" + group;
  }
  name += "\n" + exchange.viewer().user;
  if (parts && exchange.parameter("offset")) {
    // A part beyond its end asks for lines that came since.
    ATHANOR_TRY(const std::size_t offset, count_of(exchange, "offset", 0));
    auto kept = cache.find(name, exchange.now());
    if (kept && offset < kept->lines->size()) {
      return *std::move(kept);
    }
  }
  ReadLog log;
  ATHANOR_TRY(std::vector<LogLine> lines, read(log.archived));
  log.lines = std::make_shared<const std::vector<LogLine>>(std::move(lines));
  if (parts && log.lines->size() > kDefaultLines) {
    cache.keep(name, log, exchange.now());
  }
  return log;
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
  const bool archive = exchange.parameter("download").value_or("") == "gzip";
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

// Returns the check that ends a stream once its viewer has logged out or may not read logs any more
// (X4).
std::function<bool()> right_to_follow(Exchange& exchange, const std::string& ns) {
  if (exchange.services.settings.auth == AuthMode::None) {
    return {};
  }
  Access& access = exchange.services.access;
  return [&access, ns, id = exchange.session.id, viewer = exchange.session.viewer] {
    const auto may = access.may(viewer, "get", kPodLogs, ns);  // an unknown answer ends nothing
    return access.is_valid(id) && may.value_or(true);
  };
}

// Leaves out lines that the reader has. Several logs may arrive out of order, so the lines of the
// last ten seconds are sent again; the reader recognizes them by source and time.
void begin_after(LogRequest& request, std::uint64_t nanoseconds) {
  constexpr std::uint64_t kMoments = 10'000'000'000;
  const std::uint64_t margin = request.logs.size() > 1 || request.more ? kMoments : 0;
  const std::uint64_t from = nanoseconds - std::min(nanoseconds, margin);
  request.since_ns = std::to_string(from);
  const Instant whole{std::chrono::seconds(static_cast<std::int64_t>(from / kNanoseconds))};
  for (FollowedLog& log : request.logs) {
    log.resume = "&sinceTime=" + format_time(whole);
  }
}

Response answer_stream(Exchange& exchange, const std::string& ns, LogRequest request) {
  request.may_go_on = right_to_follow(exchange, ns);
  const std::string_view last = exchange.request.header("last-event-id");
  const auto given = exchange.parameter("since");
  const std::string_view since = last.empty() ? given.value_or("") : last;
  std::uint64_t nanoseconds = 0;
  const auto [end, error] = std::from_chars(since.data(), since.data() + since.size(), nanoseconds);
  if (error == std::errc() && end == since.data() + since.size() &&
      nanoseconds <= kMostNanoseconds) {
    begin_after(request, nanoseconds);
  } else if (!since.empty() && last.empty()) {
    return answer_error(Error::bad_request("since must be nanoseconds since 1970"), "since");
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
        exchange, pod.ns,
        {.logs = {{.path = log_path(pod, container, "&follow=true")}},
         .load_path = fmt::format("/api/v1/logs/{}/{}/{}", pod.ns, pod.name, container)});
  }
  const bool previous = is_set(exchange, "previous");
  const auto log = read_in_parts(
      exchange, fmt::format("{}/{}/{}", pod.text(), container, previous),
      [&](bool& archived) { return read_log(exchange, pod, container, previous, archived); });
  if (!log.ok()) {
    return answer_error(log.error());
  }
  return wants_json(exchange) ? answer_lines(exchange, *log->lines, log->archived, {})
                              : answer_plain(exchange, *log->lines, pod.name + "-" + container);
}

Response answer_search(Exchange& exchange, const std::vector<LogLine>& lines) {
  const LogSearch search{.text = exchange.text("q"),
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
  const auto lines = read_log(exchange, pod_of(exchange), exchange.part("container"),
                              is_set(exchange, "previous"), archived);
  return lines.ok() ? answer_search(exchange, *lines) : answer_error(lines.error());
}

// A container of a job's pod.
struct JobLog {
  Key pod{};
  std::string container{};
  std::string source{};
  bool previous = false;      // of the instance before the last restart
  std::int64_t instance = 0;  // counts restarts
};

// Logs of a job's pods that are there.
std::vector<JobLog> live_logs(const Facts& facts, const Key& job) {
  std::vector<JobLog> logs;
  for (const Object& pod : facts.all(api::kPod)) {
    if (pod.ns() != job.ns || pod.label(views::kJobNameLabel) != job.name ||
        pod.name().starts_with("affinity-assistant")) {
      continue;
    }
    const std::string task(pod.label(views::kPipelineTaskLabel));
    for (const char* part : {"initContainerStatuses", "containerStatuses"}) {
      for (const Value& status : pod.status()[std::string_view(part)].items()) {
        // A container that waits has a log if it ran before: restarts count only those that began.
        if (status["state"]["waiting"].is_object() &&
            !status["lastState"]["terminated"].is_object()) {
          continue;
        }
        const std::string name = status["name"].str();
        const std::string source = (task.empty() ? std::string(pod.name()) : task) + "/" +
                                   (name.starts_with("step-") ? name.substr(5) : name);
        const std::int64_t instance = status["restartCount"].as_int();
        if (instance > 0) {
          logs.push_back({.pod = pod.key(),
                          .container = name,
                          .source = source + " (previous)",
                          .previous = true,
                          .instance = instance - 1});
        }
        logs.push_back(
            {.pod = pod.key(), .container = name, .source = source, .instance = instance});
      }
    }
  }
  return logs;
}

// Returns them as a stream follows them; each instance of a container is followed once.
std::vector<FollowedLog> followed_logs(const std::vector<JobLog>& logs) {
  std::vector<FollowedLog> followed;
  followed.reserve(logs.size());
  for (const JobLog& log : logs) {
    followed.push_back(
        {.path = log_path(log.pod, log.container, log.previous ? "&previous=true" : "&follow=true"),
         .source = log.source,
         .id = fmt::format("{}/{}#{}", log.pod.text(), log.container, log.instance)});
  }
  return followed;
}

// Returns the function that finds containers of a job that begin later; it reads the pods only
// after changes. Containers may be seen a moment after the end of the job.
std::function<MoreLogs()> later_logs(const World& world, const FoundJob& job) {
  constexpr int kMoments = 3;
  return [&world, key = job.object.key(), uid = std::string(job.object.uid()), left = kMoments,
          seen = std::uint64_t{0}]() mutable {
    const auto facts = world.facts();
    const Object* now = facts->find(api::kFournosJob, key);
    const bool over = now == nullptr || now->uid() != uid || views::is_over(*now);
    left = over ? left - 1 : kMoments;
    MoreLogs more{.last = left <= 0};
    const KindObjects* pods = facts->state(api::kPod);
    if (pods != nullptr && pods->changes != std::exchange(seen, pods->changes)) {
      more.logs = followed_logs(live_logs(*facts, key));
    }
    return more;
  };
}

// Logs of a job's pods: those that are there, and those of the archive.
std::vector<JobLog> logs_of_job(Exchange& exchange, const FoundJob& job) {
  std::vector<JobLog> logs = live_logs(*exchange.services.world.facts(), job.object.key());
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
    auto lines = read_log(exchange, log.pod, log.container, log.previous, kept);
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
  const auto job = find_job(exchange, path_key(exchange), exchange.parameter("uid").value_or(""));
  if (!job.ok()) {
    return answer_error(job.error());
  }
  if (is_set(exchange, "follow")) {
    World& world = exchange.services.world;
    LogRequest request{
        .logs = followed_logs(live_logs(*world.facts(), job->object.key())),
        .load_path = fmt::format("/api/v1/jobs/{}/{}/logs", job->object.ns(), job->object.name()),
        .more = later_logs(world, *job)};
    return answer_stream(exchange, std::string(job->object.ns()), std::move(request));
  }
  const std::vector<JobLog> logs = logs_of_job(exchange, *job);
  const auto log =
      read_in_parts(exchange, fmt::format("{} {}", job->object.key().text(), job->object.uid()),
                    [&](bool& archived) { return read_job_log(exchange, logs, archived); });
  if (!log.ok()) {
    return answer_error(log.error());
  }
  const std::vector<LogLine>& lines = *log->lines;
  if (exchange.parameter("q")) {
    return answer_search(exchange, lines);
  }
  Value sources = Value::list();
  for (const JobLog& one : logs) {
    sources.push_back(one.source);
  }
  return wants_json(exchange) ? answer_lines(exchange, lines, log->archived, sources)
                              : answer_plain(exchange, lines, std::string(job->object.name()));
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
  return answer_stream(
      exchange, pod.ns,
      {.logs = {{.path = log_path(pod, container, "&follow=true")}},
       .load_path = fmt::format("/api/v1/logs/{}/{}/{}", pod.ns, pod.name, container),
       .framing = LogFraming::Plain});
}

}  // namespace

std::vector<Route> log_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/logs/{ns}/{pod}/{container}",
       .summary = "Show or follow the log of a container",
       .handle = show_log,
       .parameters = {"previous", "timestamps", "tail", "offset", "lines", "follow", "since",
                      "download"},
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
       .parameters = {"uid", "timestamps", "tail", "offset", "lines", "follow", "since", "download",
                      "q", "regex", "case", "limit"},
       .content_type = "text/plain"},
      {.method = "GET",
       .path = "/api/jobs/{name}/logs/{pod}",
       .summary = "Follow the first container's log as plain events",
       .handle = legacy_log,
       .content_type = "text/event-stream"},
  };
}

}  // namespace athanor::console
