// SPDX-License-Identifier: Apache-2.0
#include "client/webhook_poster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "client/http/async_http.hpp"
#include "client/http/link_local.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::chrono::milliseconds kPostTimeout{10'000};
constexpr std::size_t kAnswerLimit = std::size_t{64} << 10;  // of a receiver's answer, unread
constexpr int kFirstGood = 200;
constexpr int kFirstBad = 300;
constexpr int kFirstBroken = 500;

// Limits of deliver(): about 80 s for one message, and a bounded share of memory for all.
constexpr int kMostAttempts = 11;
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kMostPause{30'000};
constexpr long kMostConnections = 64;  // of all receivers, also those that hang
constexpr std::size_t kMostMessages = 1000;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Returns the answer's status, or why the post failed.
Result<Value> answer_of(const HttpReply& reply, const std::string& url) {
  if (!reply.failure.empty()) {
    std::string why = reply.failure;
    if (const std::size_t at = why.find(url); at != std::string::npos) {
      why.replace(at, url.size(), "the webhook");
    }
    return Error::unavailable(std::move(why));
  }
  if (reply.status < kFirstGood || reply.status >= kFirstBad) {
    return Error::unavailable(fmt::format("the webhook answered {}", reply.status));
  }
  return Value::object({{"status", reply.status}});
}

// Returns true for a failure that another attempt may mend: no answer, and the answers of a
// receiver that is away, busy or broken.
bool is_passing(const HttpReply& reply) {
  if (!reply.failure.empty()) {
    return reply.failure != kLinkLocalRefused;
  }
  constexpr int kBusy[] = {404, 408, 413, 425, 429};
  return reply.status >= kFirstBroken || std::ranges::find(kBusy, reply.status) != std::end(kBusy);
}

std::chrono::milliseconds pause_before(int attempt) {
  return std::min(kMostPause, kFirstPause * (1 << (attempt - 1)));
}

}  // namespace

// After the client has stopped each attempt fails at once, so that every message ends.
struct WebhookPoster::State {
  // Counts of the messages under way.
  std::atomic<std::size_t> messages = 0;
  std::atomic<std::size_t> bytes = 0;
  AsyncHttp http{kMostConnections};

  // Sends the attempt with this number, from 0 on, and those behind it.
  static void attempt(State& state, HttpQuery post, int number, Done done);
};

void WebhookPoster::State::attempt(State& state, HttpQuery post, int number, Done done) {
  post.delay = number == 0 ? std::chrono::milliseconds{0} : pause_before(number);
  HttpQuery next = post;
  state.http.send(std::move(post), [&state, number, next = std::move(next),
                                    done = std::move(done)](const HttpReply& reply) mutable {
    if (number + 1 < kMostAttempts && is_passing(reply)) {
      attempt(state, std::move(next), number + 1, std::move(done));
      return;
    }
    --state.messages;
    state.bytes -= next.body.size();
    done(answer_of(reply, next.url));
  });
}

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
    done(answer_of(reply, url));
  });
}

void WebhookPoster::deliver(const Value& message, Done done) {
  HttpQuery post{.method = "POST",
                 .url = message["url"].str(),
                 .headers = {{"User-Agent", "athanor"}},
                 .body = message["body"].str(),
                 .timeout = kPostTimeout,
                 .response_limit = kAnswerLimit};
  for (const Member& header : message["headers"].members()) {
    post.headers.emplace_back(header.key(), header.value.str());
  }
  if (state_->messages >= kMostMessages || state_->bytes + post.body.size() > kMostBytes) {
    done(Error::unavailable("too many messages wait for their receiver"));
    return;
  }
  ++state_->messages;
  state_->bytes += post.body.size();
  State::attempt(*state_, std::move(post), 0, std::move(done));
}

}  // namespace athanor::client
