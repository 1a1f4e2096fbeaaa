// SPDX-License-Identifier: Apache-2.0
// Routes of the files of a run's results place: the list and each file, read by the same pod as
// `athanor results` does (views/result_files.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/utf8.hpp"
#include "console/routes/route_table.hpp"
#include "views/result_files.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::size_t kMostFiles = 2000;
// Base64 of it fits in a pod's log before kubelets rotate it (10 MiB).
constexpr std::uint64_t kMostBytes = std::uint64_t{6} << 20;
constexpr int kMostReaders = 2;  // half of the workers: each waits for a pod
constexpr Duration kPatience = std::chrono::seconds(60);

// Takes one of the places for readers, until the end of the request.
class ReaderSlot {
 public:
  explicit ReaderSlot(std::atomic<int>& readers)
      : readers_(readers), taken_(readers_.fetch_add(1) < kMostReaders) {}
  ReaderSlot(const ReaderSlot&) = delete;
  ReaderSlot& operator=(const ReaderSlot&) = delete;
  ~ReaderSlot() { readers_.fetch_sub(1); }
  [[nodiscard]] bool taken() const { return taken_; }

 private:
  std::atomic<int>& readers_;
  bool taken_;
};

using Files = std::optional<std::vector<views::ResultFile>>;

// Reads with the viewer's own rights. Errors: 403 where the console takes no changes, because a
// pod is made, and for a request from another site's page; 503 while too many read.
Result<Files> read_files(Exchange& exchange, std::string only, views::ResultsWanted wanted) {
  const Services& services = exchange.services;
  const auto refuse = [](const char* message) {
    return Error{.code = 403, .reason = "Forbidden", .message = message};
  };
  const std::string_view site = exchange.request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return refuse("files of results are not handed to other sites");
  }
  if (services.settings.read_only) {
    return refuse("the console is read-only: a pod would have to read the files");
  }
  const Key job = path_key(exchange);
  if (!services.settings.shows(job.ns)) {
    return refuse("namespaces of this console do not include that one");
  }
  const ReaderSlot slot(exchange.services.result_readers);
  if (!slot.taken()) {
    return Error{.code = 503,
                 .reason = "Unavailable",
                 .message = "other results are being read: try again in a few seconds"};
  }
  const views::ResultsAccess access{
      .call =
          [&](const std::string& method, const std::string& path, const Value& body) {
            return services.port.call(exchange.viewer(),
                                      {.method = method, .path = path, .body = body});
          },
      .text = [&](const std::string& path) { return services.port.text(exchange.viewer(), path); },
      .now = [&] { return exchange.now(); },
      .pause = [](Duration time) { std::this_thread::sleep_for(time); }};
  return views::read_result_files(access,
                                  {.ns = job.ns,
                                   .job = job.name,
                                   .claim = services.settings.results_claim,
                                   .image = services.settings.results_image,
                                   .only = std::move(only),
                                   .most_files = kMostFiles + 1,
                                   .most_bytes = kMostBytes},
                                  wanted, kPatience);
}

Response list_results(Exchange& exchange) {
  const auto found = read_files(exchange, {}, views::ResultsWanted::List);
  if (!found.ok()) {
    return answer_error(found.error());
  }
  if (!*found) {
    return answer_value(Value::object(
        {{"available", false},
         {"reason",
          fmt::format("namespace {} has no results place: there is no PersistentVolumeClaim {}",
                      exchange.part("ns"), exchange.services.settings.results_claim)}}));
  }
  Value files = Value::list();
  const std::size_t count = std::min((*found)->size(), kMostFiles);
  for (std::size_t i = 0; i < count; ++i) {
    const views::ResultFile& file = (**found)[i];
    files.push_back(Value::object({{"path", utf8::repaired(file.path)},
                                   {"bytes", file.size},
                                   {"type", views::result_type(file.path)}}));
  }
  return answer_value(Value::object({{"available", true},
                                     {"files", std::move(files)},
                                     {"complete", (*found)->size() <= kMostFiles},
                                     {"mostBytes", kMostBytes}}));
}

// "a b/c.txt" → "c.txt", with plain characters alone.
std::string download_name(std::string_view path) {
  std::string name;
  for (const char c : path.substr(path.rfind('/') + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_';
    name += plain ? c : '_';
  }
  return name;
}

Response show_result(Exchange& exchange) {
  const std::string path = exchange.text("path");
  if (!views::is_path_below(path)) {
    return answer_error(Error::bad_request("path must be below the job's folder"), "path");
  }
  auto found = read_files(exchange, path, views::ResultsWanted::Contents);
  if (!found.ok()) {
    return answer_error(found.error());
  }
  if (!*found || (*found)->empty()) {
    return answer_error(Error::not_found(
        fmt::format("{} left no file {}", exchange.part("name"), utf8::repaired(path))));
  }
  views::ResultFile file = std::move((**found).front());
  // HTML and scripts are handed out as plain text: a page of a run is not a page of the console.
  std::string type = views::result_type(path);
  const bool text = type != "image/png";
  if (text && !utf8::is_valid(file.content)) {
    type = "application/octet-stream";
  }
  const bool shown = type != "application/octet-stream";
  Response response =
      answer_text(std::move(file.content), text && shown ? type + "; charset=utf-8" : type);
  response.headers.emplace_back(
      "Content-Disposition",
      fmt::format("{}; filename=\"{}\"", shown ? "inline" : "attachment", download_name(path)));
  return response;
}

}  // namespace

std::vector<Route> result_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/results/{ns}/{name}",
       .summary = "List the files that a job's run left in its results place",
       .handle = list_results},
      {.method = "GET",
       .path = "/api/v1/results/{ns}/{name}/file",
       .summary = "Show one of these files",
       .handle = show_result,
       .parameters = {"path"},
       .content_type = "application/octet-stream"},
  };
}

}  // namespace athanor::console
