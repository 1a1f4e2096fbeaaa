// SPDX-License-Identifier: Apache-2.0
#include "client/webhook_poster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
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

// The answers to messages, in the order in which those of one line were given, each with the
// failures before it: a run that has gone on no longer knows the ids of its earlier events.
// Thread-safe; calls nothing with its mutex held.
class Answers {
 public:
  struct Message {
    std::string line{};
    std::string id{};
    WebhookPoster::Done done{};
    Value answer{};
  };
  using Ticket = std::shared_ptr<Message>;

  // Adds a message behind those of its line.
  Ticket add(const Value& message, WebhookPoster::Done done) {
    auto ticket = std::make_shared<Message>(Message{.line = message["line"].str(),
                                                    .id = message["id"].str(),
                                                    .done = std::move(done),
                                                    .answer = {}});
    const MutexLock lock(mutex_);
    lines_[ticket->line].open.push_back(ticket);
    return ticket;
  }

  // Takes the answer to a message; calls `done` of each message that has waited for it alone.
  void end(const Ticket& ticket, Value answer) {
    for (const Ticket& one : take(ticket, std::move(answer))) {
      one->done(std::move(one->answer));
    }
  }

 private:
  struct Line {
    std::deque<Ticket> open{};
    Value failures = Value::list();
  };
  // Failures are kept of the lines that failed last, a few of each: a run has few stages.
  static constexpr std::size_t kMostLines = 1000;
  static constexpr std::size_t kMostFailures = 20;

  std::vector<Ticket> take(const Ticket& ticket, Value answer) {
    const MutexLock lock(mutex_);
    ticket->answer = std::move(answer);
    Line& line = lines_[ticket->line];
    std::vector<Ticket> answered;
    while (!line.open.empty() && !line.open.front()->answer.is_null()) {
      answered.push_back(std::move(line.open.front()));
      line.open.pop_front();
      note(line, *answered.back());
    }
    if (line.open.empty() && line.failures.empty()) {
      lines_.erase(ticket->line);
    }
    forget_oldest();
    return answered;
  }

  void note(Line& line, Message& message) ATHANOR_REQUIRES(mutex_) {
    const Value error = message.answer["error"];
    if (!line.failures.empty()) {
      message.answer.set("earlier", line.failures);
    } else if (!error.is_null()) {
      failed_.push_back(message.line);
    }
    if (!error.is_null() && line.failures.size() < kMostFailures) {
      line.failures.push_back(Value::object({{"id", message.id}, {"error", error}}));
    }
  }

  void forget_oldest() ATHANOR_REQUIRES(mutex_) {
    for (; failed_.size() > kMostLines; failed_.pop_front()) {
      const auto oldest = lines_.find(failed_.front());
      if (oldest != lines_.end()) {
        oldest->second.failures = Value::list();
        if (oldest->second.open.empty()) {
          lines_.erase(oldest);
        }
      }
    }
  }

  Mutex mutex_{};
  std::map<std::string, Line> lines_ ATHANOR_GUARDED_BY(mutex_){};
  std::deque<std::string> failed_ ATHANOR_GUARDED_BY(mutex_){};  // lines, the oldest first
};

// Returns {status} or {error}.
Value outcome_of(const Result<Value>& answer) {
  return answer ? *answer : Value::object({{"error", answer.error().message}});
}

}  // namespace

// After the client has stopped each attempt fails at once, so that every message ends.
struct WebhookPoster::State {
  // Counts of the messages under way.
  std::atomic<std::size_t> messages = 0;
  std::atomic<std::size_t> bytes = 0;
  Answers answers{};
  AsyncHttp http{kMostConnections};

  // Sends the attempt with this number, from 0 on, and those behind it.
  static void attempt(State& state, HttpQuery post, int number, Answers::Ticket ticket);
};

void WebhookPoster::State::attempt(State& state, HttpQuery post, int number,
                                   Answers::Ticket ticket) {
  post.delay = number == 0 ? std::chrono::milliseconds{0} : pause_before(number);
  HttpQuery next = post;
  state.http.send(std::move(post), [&state, number, next = std::move(next),
                                    ticket = std::move(ticket)](const HttpReply& reply) mutable {
    if (number + 1 < kMostAttempts && is_passing(reply)) {
      attempt(state, std::move(next), number + 1, std::move(ticket));
      return;
    }
    --state.messages;
    state.bytes -= next.body.size();
    state.answers.end(ticket, outcome_of(answer_of(reply, next.url)));
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
  Answers::Ticket ticket = state_->answers.add(message, std::move(done));
  if (state_->messages >= kMostMessages || state_->bytes + post.body.size() > kMostBytes) {
    state_->answers.end(ticket,
                        Value::object({{"error", "too many messages wait for their receiver"}}));
    return;
  }
  ++state_->messages;
  state_->bytes += post.body.size();
  State::attempt(*state_, std::move(post), 0, std::move(ticket));
}

}  // namespace athanor::client
