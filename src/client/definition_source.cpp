// SPDX-License-Identifier: Apache-2.0
#include "client/definition_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/ascii.hpp"
#include "client/http/async_http.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kMostDefinitionBytes = std::size_t{1} << 20;  // more than an object may have
constexpr std::chrono::seconds kFetchTime{30};
constexpr int kMostRedirects = 5;

// "https://host:port" of a URL.
std::string_view origin_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  return url.substr(0, url.find_first_of("/?#", begin));
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string header_of(const HttpReply& reply, std::string_view name) {
  const auto found =
      std::ranges::find_if(reply.headers, [&](const auto& header) { return header.first == name; });
  return found == reply.headers.end() ? std::string() : found->second;
}

}  // namespace

Result<std::string> redirected(const std::string& from, const std::string& location) {
  if (location.starts_with('/') && !location.starts_with("//")) {
    return std::string(origin_of(from)) + location;
  }
  const bool same = origin_of(lower(from)) == origin_of(lower(location));
  if (same || lower(location).starts_with("https://")) {
    return location;
  }
  return Error::bad_request(fmt::format(
      "'{}' redirects to '{}', which is neither the same server nor https", from, location));
}

struct DefinitionSource::State {
  AsyncHttp http{};

  void fetch(const std::string& url, int redirects, Done done) {
    HttpQuery query{.url = url,
                    .headers = {{"Accept", "application/yaml, text/yaml, text/plain, */*"}},
                    .timeout = kFetchTime,
                    .response_limit = kMostDefinitionBytes};
    http.send(std::move(query),
              [this, url, redirects, done = std::move(done)](const HttpReply& reply) {
                answer(url, redirects, done, reply);
              });
  }

  void answer(const std::string& url, int redirects, const Done& done, const HttpReply& reply) {
    if (!reply.failure.empty()) {
      done(Error::bad_request(fmt::format("cannot fetch '{}': {}", url, reply.failure)));
    } else if (is_redirect(reply.status)) {
      auto next = redirected(url, header_of(reply, "location"));
      if (next && redirects == 0) {
        next = Error::bad_request(
            fmt::format("'{}' redirects more than {} times", url, kMostRedirects));
      }
      next ? fetch(*next, redirects - 1, done) : done(next.error());
    } else if (reply.status != 200) {
      done(Error::bad_request(
          fmt::format("requested URL '{}' is not found (status {})", url, reply.status)));
    } else {
      done(Value::object({{"url", url}, {"text", reply.body}}));
    }
  }
};

DefinitionSource::DefinitionSource() : state_(std::make_unique<State>()) {}

DefinitionSource::~DefinitionSource() = default;

void DefinitionSource::ask(const std::string& query, Done done) {
  const auto question = json::parse(query.substr(std::min(query.find(':') + 1, query.size())));
  const std::string url = question ? (*question)["url"].str() : std::string();
  if (url.empty()) {
    done(Error::bad_request("the question names no URL"));
    return;
  }
  state_->fetch(url, kMostRedirects, std::move(done));
}

}  // namespace athanor::client
