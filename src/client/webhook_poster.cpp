// SPDX-License-Identifier: Apache-2.0
#include "client/webhook_poster.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "client/http/async_http.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::chrono::milliseconds kPostTimeout{10'000};
constexpr std::size_t kAnswerLimit = std::size_t{64} << 10;  // of a receiver's answer, unread
constexpr int kFirstGood = 200;
constexpr int kFirstBad = 300;

}  // namespace

struct WebhookPoster::State {
  AsyncHttp http{};
};

WebhookPoster::WebhookPoster() : state_(std::make_unique<State>()) {}
WebhookPoster::~WebhookPoster() = default;

void WebhookPoster::ask(const std::string& query, Done done) {
  const std::size_t colon = query.find(':');
  const auto question = json::parse(std::string_view(query).substr(colon + 1));
  if (colon == std::string::npos || !question.ok()) {
    done(Error::bad_request("not a notification"));
    return;
  }
  HttpQuery post{
      .method = "POST",
      .url = (*question)["url"].str(),
      .headers = {{"Content-Type", (*question)["contentType"].str()}, {"User-Agent", "athanor"}},
      .body = (*question)["body"].str(),
      .timeout = kPostTimeout,
      .response_limit = kAnswerLimit};
  const std::string url = post.url;
  state_->http.send(std::move(post), [url, done = std::move(done)](const HttpReply& reply) {
    if (!reply.failure.empty()) {
      std::string why = reply.failure;
      if (const std::size_t at = why.find(url); at != std::string::npos) {
        why.replace(at, url.size(), "the webhook");
      }
      done(Error::unavailable(std::move(why)));
    } else if (reply.status < kFirstGood || reply.status >= kFirstBad) {
      done(Error::unavailable(fmt::format("the webhook answered {}", reply.status)));
    } else {
      done(Value::object({{"status", reply.status}}));
    }
  });
}

}  // namespace athanor::client
