// SPDX-License-Identifier: Apache-2.0
#include "webhook/guarded_endpoint.hpp"

#include <fmt/core.h>

#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/contain.hpp"
#include "base/mutex.hpp"
#include "net/pki.hpp"
#include "webhook/https_server.hpp"

namespace athanor::webhook {
namespace {

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostWaiting = 64;  // a further request is refused with 503
constexpr int kThreads = 2;
constexpr Duration kReviewPatience = std::chrono::seconds(5);
constexpr transport::ServedLimits kLimits{.head = std::size_t{16} * 1024,
                                          .body = std::size_t{1024},
                                          .idle = std::chrono::seconds(30),
                                          .stall = std::chrono::seconds(10),
                                          .answer = std::chrono::seconds(30)};
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotAllowed = 405;
constexpr int kInternal = 500;
constexpr int kUnavailable = 503;

GuardedAnswer refusal(int status, std::string text) {
  return {.status = status, .body = std::move(text) + "\n"};
}

apiserver::Response response_of(const GuardedAnswer& answer) {
  apiserver::Response response;
  response.status = answer.status;
  response.content_type = answer.content_type;
  response.body = answer.body;
  return response;
}

// The token of "Bearer TOKEN"; empty: none.
std::string bearer(const apiserver::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view header = request.header("authorization");
  if (header.size() <= kScheme.size()) {
    return {};
  }
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char one =
        header[i] >= 'A' && header[i] <= 'Z' ? static_cast<char>(header[i] + 32) : header[i];
    if (one != kScheme[i]) {
      return {};
    }
  }
  return std::string(header.substr(kScheme.size()));
}

}  // namespace

struct GuardedEndpoint::State {
  struct Asked {
    std::string path{};
    std::string query{};
    std::string token{};
    HttpsOptions::Reply reply{};
  };

  explicit State(GuardedOptions endpoint_options) : options(std::move(endpoint_options)) {}

  // On the server's thread.
  void take(const apiserver::Request& request, HttpsOptions::Reply reply);
  // On the endpoint's threads.
  void work();
  [[nodiscard]] GuardedAnswer decide(const Asked& asked) const;
  // nullopt: the caller may read the path.
  [[nodiscard]] std::optional<GuardedAnswer> refused(const Asked& asked) const;
  [[nodiscard]] Result<Value> review(const char* path, const char* version, const char* kind,
                                     Value spec) const;

  GuardedOptions options;
  Mutex mutex{};
  ConditionVariable more{};
  std::deque<Asked> waiting ATHANOR_GUARDED_BY(mutex){};
  bool ending ATHANOR_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads{};
  std::unique_ptr<HttpsServer> server{};  // goes first
};

void GuardedEndpoint::State::take(const apiserver::Request& request, HttpsOptions::Reply reply) {
  const auto refuse = [&](int status, const char* text) {
    reply([answer = refusal(status, text)] { return response_of(answer); });
  };
  if (request.method != "GET") {
    refuse(kNotAllowed, "Method Not Allowed");
    return;
  }
  Asked asked{.path = request.path, .token = bearer(request), .reply = reply};
  for (const auto& [name, value] : request.query) {
    asked.query += asked.query.empty() ? "" : "&";
    asked.query += name;
    asked.query += '=';
    asked.query += value;
  }
  if (asked.token.empty()) {
    refuse(kUnauthorized, "Unauthorized");
    return;
  }
  bool full = false;
  {
    const MutexLock lock(mutex);
    full = waiting.size() >= kMostWaiting;
    if (!full) {
      waiting.push_back(std::move(asked));
    }
  }
  if (full) {
    refuse(kUnavailable, "Service Unavailable");
    return;
  }
  more.notify_one();
}

void GuardedEndpoint::State::work() {
  MutexLock lock(mutex);
  while (true) {
    more.wait(lock, [this]() ATHANOR_REQUIRES(mutex) { return ending || !waiting.empty(); });
    if (ending) {
      return;
    }
    const Asked asked = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    GuardedAnswer answer;
    if (const auto broken = contain([&] { answer = decide(asked); })) {
      answer = refusal(kInternal, *broken);
    }
    asked.reply([answer = std::move(answer)] { return response_of(answer); });
    lock.lock();
  }
}

GuardedAnswer GuardedEndpoint::State::decide(const Asked& asked) const {
  if (auto refusal = refused(asked)) {
    return *std::move(refusal);
  }
  return options.answer(asked.path, asked.query);
}

Result<Value> GuardedEndpoint::State::review(const char* path, const char* version,
                                             const char* kind, Value spec) const {
  client::ApiRequest request{
      .method = "POST",
      .path = path,
      .body = Value::object({{"apiVersion", version}, {"kind", kind}, {"spec", std::move(spec)}}),
      .lane = client::Lane::Urgent,
      .head_timeout = kReviewPatience,
      .timeout = kReviewPatience};
  client::ApiResult result = options.client->call(std::move(request));
  if (result.error) {
    return *std::move(result.error);
  }
  return result.body["status"];
}

std::optional<GuardedAnswer> GuardedEndpoint::State::refused(const Asked& asked) const {
  const auto known =
      review("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1",
             "TokenReview", Value::object({{"token", asked.token}}));
  if (!known.ok()) {
    return refusal(kInternal, "Authentication failed");
  }
  if (!(*known)["authenticated"].as_bool()) {
    return refusal(kUnauthorized, "Unauthorized");
  }
  const Value& user = (*known)["user"];
  Value spec = Value::object(
      {{"user", user["username"]},
       {"nonResourceAttributes", Value::object({{"path", asked.path}, {"verb", "get"}})}});
  for (const char* member : {"uid", "groups", "extra"}) {
    if (!user[member].is_null()) {
      spec.set(member, user[member]);
    }
  }
  const auto allowed = review("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                              "authorization.k8s.io/v1", "SubjectAccessReview", std::move(spec));
  if (!allowed.ok()) {
    return refusal(kInternal, "Authorization failed");
  }
  if (!(*allowed)["allowed"].as_bool()) {
    return refusal(kForbidden,
                   fmt::format("Authorization denied for user {}", user["username"].as_string()));
  }
  return std::nullopt;
}

Result<std::unique_ptr<GuardedEndpoint>> GuardedEndpoint::listen(GuardedOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  ATHANOR_TRY(state->server,
              HttpsServer::start({.address = state->options.address,
                                  .most_connections = kMostConnections,
                                  .limits = kLimits,
                                  .handle =
                                      [raw = state.get()](const apiserver::Request& request,
                                                          HttpsOptions::Reply reply) {
                                        raw->take(request, std::move(reply));
                                      },
                                  .clock = state->options.clock}));
  ATHANOR_TRY(const transport::ServingPair pair,
              transport::ensure_serving_pair({.now = state->options.clock->now()}));
  ATHANOR_TRY_VOID(state->server->use(pair.certificate, pair.key));
  for (int i = 0; i < kThreads; ++i) {
    state->threads.emplace_back([raw = state.get()] { raw->work(); });
  }
  return std::unique_ptr<GuardedEndpoint>(new GuardedEndpoint(std::move(state)));
}

GuardedEndpoint::GuardedEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

GuardedEndpoint::~GuardedEndpoint() {
  {
    const MutexLock lock(state_->mutex);
    state_->ending = true;
  }
  state_->more.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
  state_->server.reset();
}

Result<void> GuardedEndpoint::limit(transport::TlsLimits limits) {
  return state_->server->limit(std::move(limits));
}

std::string GuardedEndpoint::address() const {
  return state_->server->address();
}

}  // namespace athanor::webhook
