// SPDX-License-Identifier: Apache-2.0
#include "webhook/guarded_endpoint.hpp"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/pki.hpp"

namespace athanor::webhook {
namespace {

constexpr std::size_t kMaxEndpointConnections = 64;
constexpr std::size_t kMaxWaiting = 64;
constexpr int kThreads = 2;
constexpr Duration kReviewPatience = std::chrono::seconds(5);
constexpr std::chrono::seconds kClientPatience{10};  // of clients, in each stage
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kInternal = 500;

net::Page refusal(int status, std::string text) {
  return {.status = status, .body = std::move(text) + "\n"};
}

// The token of "Bearer TOKEN"; empty: none.
std::string bearer(const net::Request& request) {
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
  explicit State(GuardedOptions endpoint_options) : options(std::move(endpoint_options)) {}

  // On the endpoint's threads.
  [[nodiscard]] net::Page decide(const net::Request& request) const;
  // nullopt: the caller may read the path.
  [[nodiscard]] std::optional<net::Page> refused(const net::Request& request) const;
  [[nodiscard]] Result<Value> review(const char* path, const char* version, const char* kind,
                                     Value spec) const;

  GuardedOptions options;
  const std::shared_ptr<net::ServedTls> tls = std::make_shared<net::ServedTls>();
  std::unique_ptr<net::PageServer> server{};  // goes first
};

net::Page GuardedEndpoint::State::decide(const net::Request& request) const {
  if (auto refusal = refused(request)) {
    return *std::move(refusal);
  }
  return options.answer(request);
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

std::optional<net::Page> GuardedEndpoint::State::refused(const net::Request& request) const {
  const std::string token = bearer(request);
  if (token.empty()) {
    return refusal(kUnauthorized, "Unauthorized");
  }
  const auto known =
      review("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1",
             "TokenReview", Value::object({{"token", token}}));
  if (!known.ok()) {
    return refusal(kInternal, "Authentication failed");
  }
  if (!(*known)["authenticated"].as_bool()) {
    return refusal(kUnauthorized, "Unauthorized");
  }
  const Value& user = (*known)["user"];
  Value spec = Value::object(
      {{"user", user["username"]},
       {"nonResourceAttributes", Value::object({{"path", request.path}, {"verb", "get"}})}});
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
  ATHANOR_TRY(const net::ServingPair pair,
              net::ensure_serving_pair({.now = state->options.clock->now()}));
  ATHANOR_TRY_VOID(state->tls->use(pair.certificate, pair.key));
  ATHANOR_TRY(state->server,
              net::PageServer::start(
                  {.address = state->options.address,
                   .tls = state->tls,
                   .threads = kThreads,
                   .max_connections = kMaxEndpointConnections,
                   .max_waiting = kMaxWaiting,
                   .patience = kClientPatience,
                   .answer = [raw = state.get()](
                                 const net::Request& request) { return raw->decide(request); },
                   .clock = state->options.clock}));
  return std::unique_ptr<GuardedEndpoint>(new GuardedEndpoint(std::move(state)));
}

GuardedEndpoint::GuardedEndpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}

GuardedEndpoint::~GuardedEndpoint() {
  state_->server.reset();
}

Result<void> GuardedEndpoint::limit(net::TlsLimits limits) {
  return state_->tls->limit(std::move(limits));
}

std::string GuardedEndpoint::address() const {
  return state_->server->address();
}

}  // namespace athanor::webhook
