// SPDX-License-Identifier: Apache-2.0
#include "console/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "console/routes/form_data.hpp"
#include "console/routes/job_changes.hpp"
#include "console/routes/route_table.hpp"
#include "kube/text/json.hpp"
#include "net/request_head.hpp"
#include "net/serving/gzip.hpp"

namespace athanor::console {
namespace {

using net::Response;

constexpr std::string_view kPolicy =
    "default-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'; "
    "object-src 'none'";

// Pages of the browser's side, by their first segment; with how many segments may follow.
struct PagePath {
  std::string_view first{};
  std::size_t most = 0;
};
constexpr PagePath kPages[] = {
    {"", 0},       {"jobs", 1},        {"queue", 0},     {"clusters", 1}, {"locks", 0},
    {"gpus", 0},   {"appwrappers", 2}, {"mig", 0},       {"numa", 0},     {"nodes", 1},
    {"submit", 0}, {"schedules", 2},   {"workloads", 2}, {"compare", 0},  {"insights", 0},
    {"system", 0}, {"login", 0},       {"whatif", 0}};

bool is_page(std::string_view path) {
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  const std::string_view first = path.substr(0, path.find('/'));
  const auto segments = static_cast<std::size_t>(std::ranges::count(path, '/'));
  return std::ranges::any_of(
      kPages, [&](const PagePath& page) { return page.first == first && segments <= page.most; });
}

bool takes_packed(const net::Request& request) {
  return request.header_list("accept-encoding").find("gzip") != std::string::npos;
}

Response file_answer(const net::Request& request, const PageFile& file, bool hashed) {
  Response response = answer_text("", file.content_type);
  const bool packed = !file.packed.empty() && takes_packed(request);
  response.body = std::string(packed ? file.packed : file.bytes());
  if (packed) {
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  response.headers.emplace_back("Vary", "Accept-Encoding");
  response.headers.emplace_back("Cache-Control",
                                hashed ? "public, max-age=31536000, immutable" : "no-cache");
  return response;
}

// Compresses long lists: 5,000 jobs are 2.5 MB. Short answers stay as they are: some hold a token,
// and the length of a compressed one tells of its contents.
void pack(const net::Request& request, Response& response) {
  constexpr std::size_t kShort = 8192;
  if (response.stream != nullptr || response.body.size() < kShort ||
      response.content_type != "application/json" || !takes_packed(request)) {
    return;
  }
  if (std::string packed = net::gzip(response.body); !packed.empty()) {
    response.body = std::move(packed);
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Vary", "Accept-Encoding");
  }
}

Response index_answer(Services& services, const PageHead& head, int status) {
  const auto index = services.files("index.html");
  if (!index) {
    return answer_text(
        "The pages of the console are not part of this program: build them with "
        "`npm --prefix web run build`, or name their folder with --web.\n",
        "text/plain; charset=utf-8", 503);
  }
  Response response =
      answer_text(page_with_head(index->bytes(), head), index->content_type, status);
  response.headers.emplace_back("Cache-Control", "no-cache");
  return response;
}

// Parameters of fournos-ui's list of jobs (docs/spec/dashboard.md A3).
constexpr std::string_view kOldQuery[] = {"tab", "page", "project", "cluster", "status", "owner"};

// "/?tab=live&status=Failed" of Part A: the jobs page with a filter.
Result<std::string> legacy_target(const net::Request& request, const std::string& base) {
  const std::string_view tab = request.parameter("tab").value_or("live");
  if (tab != "live" && tab != "history") {
    return Error{.code = 422, .reason = "Invalid", .message = "tab must be live or history"};
  }
  if (const auto page = request.parameter("page")) {
    const bool whole =
        !page->empty() && std::ranges::all_of(*page, [](char c) { return c >= '0' && c <= '9'; });
    if (!whole || *page == "0") {
      return Error{.code = 422, .reason = "Invalid", .message = "page must be at least 1"};
    }
  }
  std::string filter = fmt::format("archived:{}", tab == "history" ? "true" : "false");
  for (const char* name : {"project", "cluster", "status", "owner"}) {
    const std::string_view value = request.parameter(name).value_or("");
    if (!value.empty()) {
      filter +=
          fmt::format(" {}:\"{}\"", std::string_view(name) == "status" ? "phase" : name, value);
    }
  }
  std::string encoded;
  for (const char c : filter) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return base + "/jobs?filter=" + encoded;
}

constexpr Duration kPatience = std::chrono::seconds(5);  // for the first lists of all kinds

// The page of a job; it is outside /api/v1/, so its query is free.
Route job_page_route() {
  return {.method = "GET", .path = "/jobs/{name}"};
}

// Returns true for "/jobs/NAME" of a job that a viewer who is logged in finds nowhere.
bool is_absent_job(const net::Request& request, std::string_view path, Services& services) {
  constexpr std::string_view kJobs = "/jobs/";
  if (!path.starts_with(kJobs) || path.size() == kJobs.size() ||
      path.find('/', kJobs.size()) != std::string_view::npos) {
    return false;
  }
  const Route page = job_page_route();
  Exchange exchange{.request = request, .services = services, .route = page};
  auto session = services.access.session_of(request);
  if (!session.ok()) {
    return false;
  }
  exchange.session = *std::move(session);
  services.world.follow_all();
  services.world.wait_synced(kPatience);
  const auto job = find_named_job(exchange, path.substr(kJobs.size()));
  return !job.ok() && job.error().code == 404;
}

Response page_answer(const net::Request& request, std::string_view path, Services& services) {
  const std::string& base = services.settings.base_path;
  if (path == "/" && std::ranges::any_of(kOldQuery, [&](std::string_view name) {
        return request.parameter(name).has_value();
      })) {
    const auto target = legacy_target(request, base);
    if (!target.ok()) {
      return answer_detail(422, target.error().message);
    }
    Response response = answer_text("", "text/plain; charset=utf-8", 302);
    response.headers.emplace_back("Location", *target);
    return response;
  }
  if (is_absent_job(request, path, services)) {
    // fournos-ui answers JSON; the page itself says it to people.
    return request.header("accept").find("text/html") == std::string_view::npos
               ? answer_detail(404, "Job not found")
               : index_answer(services, {.base = base + "/"}, 404);
  }
  if (is_page(path)) {
    return index_answer(services, {.base = base + "/"}, 200);
  }
  path.remove_prefix(1);
  if (const auto file = services.files(path); file && path != "index.html") {
    return file_answer(request, *file, path.starts_with("assets/"));
  }
  return answer_error(Error::not_found(fmt::format("there is no /{}", path)));
}

// The body as JSON or as a form, by its type. Errors 400.
Result<void> read_body(Exchange& exchange) {
  const auto* text = std::get_if<std::string>(&exchange.request.body);
  if (text == nullptr || text->empty()) {
    return {};
  }
  const std::string_view type = exchange.request.header("content-type");
  if (type.starts_with("application/x-www-form-urlencoded")) {
    for (auto& [name, value] : net::decode_query(*text)) {
      exchange.form.insert_or_assign(name, value);
    }
    return {};
  }
  if (type.starts_with("multipart/form-data")) {
    exchange.form = multipart_fields(*text, type);
    return {};
  }
  auto body = json::parse(*text);
  if (!body.ok()) {
    return Error::bad_request("the body is no JSON: " + body.error().message);
  }
  exchange.body = *std::move(body);
  return {};
}

Response route_answer(const net::Request& request, const FoundRoute& found, Services& services) {
  const Route& route = *found.route;
  Exchange exchange{.request = request, .services = services, .route = route, .path = found.parts};
  if (route.guard != Guard::Open) {
    auto session = services.access.session_of(request);
    if (!session.ok()) {
      return answer_error(session.error());
    }
    exchange.session = *std::move(session);
  }
  std::string unknown;
  if (const auto known = check_query(route, request, unknown); !known.ok()) {
    return answer_error(known.error(), unknown);
  }
  if (const auto read = read_body(exchange); !read.ok()) {
    return answer_error(read.error());
  }
  if (const auto known = check_body(route, exchange.body, unknown); !known.ok()) {
    return answer_error(known.error(), unknown);
  }
  if (route.guard == Guard::Change) {
    const auto token = exchange.form.find("csrf");
    const auto checked = services.access.check_change(
        request, exchange.session, token == exchange.form.end() ? "" : token->second);
    if (!checked.ok()) {
      return answer_error(checked.error());
    }
  }
  if (route.guard != Guard::Open) {
    services.world.follow_all();
    services.world.wait_synced(kPatience);
  }
  Response response = route.handle(exchange);
  if (response.stream == nullptr) {
    response.headers.emplace_back("Cache-Control", "no-store");
  }
  return response;
}

bool is_probe(std::string_view path) {
  return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

Response answer_of(const net::Request& request, Services& services) {
  std::string_view path = request.path;
  if (!is_probe(path)) {
    if (const auto host = services.access.check_host(request); !host.ok()) {
      return answer_error(host.error());
    }
  }
  const std::string& base = services.settings.base_path;
  const std::string_view rest = path.substr(std::min(base.size(), path.size()));
  if (path.starts_with(base) && (rest.empty() || rest.starts_with('/'))) {
    path = rest.empty() ? "/" : rest;
  }
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto found = find_route(method, path);
  if (found.ok()) {
    return route_answer(request, *found, services);
  }
  if (method == "GET") {
    return page_answer(request, path, services);
  }
  return answer_error(found.error());
}

}  // namespace

net::Response dispatch(const net::Request& request, Services& services) {
  Response response = answer_of(request, services);
  pack(request, response);
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("X-Frame-Options", "DENY");
  return response;
}

}  // namespace athanor::console
