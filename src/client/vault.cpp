// SPDX-License-Identifier: Apache-2.0
#include "client/vault.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "client/connection.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr int kNotFound = 404;

// "a/b c" as the segments of a path.
std::string escaped(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) {
      out += "/" + escape(part);
    }
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return out;
}

// Vault's own words, or the status.
std::string failure(int status, const Value& body) {
  std::string words;
  for (const Value& one : body["errors"].items()) {
    words += (words.empty() ? "" : ", ") + one.str();
  }
  return words.empty() ? fmt::format("Vault answers with status {}", status)
                       : fmt::format("Vault answers with status {}: {}", status, words);
}

// Shared with the client's thread.
struct Waiting {
  Mutex mutex{};
  ConditionVariable arrived{};
  std::optional<HttpReply> reply ATHANOR_GUARDED_BY(mutex){};
};

// The reply, or the failure that stands for it once the query's time is over.
HttpReply wait_for_reply(AsyncHttp& http, HttpQuery query) {
  const auto waiting = std::make_shared<Waiting>();
  http.send(std::move(query), [waiting](HttpReply reply) {
    const MutexLock lock(waiting->mutex);
    waiting->reply = std::move(reply);
    waiting->arrived.notify_one();
  });
  MutexLock lock(waiting->mutex);
  waiting->arrived.wait(
      lock, [&]() ATHANOR_REQUIRES(waiting->mutex) { return waiting->reply.has_value(); });
  return std::move(waiting->reply).value_or(HttpReply{});
}

}  // namespace

Result<Vault::Answer> Vault::ask(std::string method, const std::string& kind,
                                 const std::string& entry) {
  std::string base = options_.address;
  base.erase(base.find_last_not_of('/') + 1);
  HttpQuery query{.method = std::move(method),
                  .url = fmt::format("{}/v1{}/{}{}{}", base, escaped(options_.mount), kind,
                                     escaped(options_.path), escaped(entry)),
                  .headers = {{"X-Vault-Token", options_.token}, {"X-Vault-Request", "true"}},
                  .ca_pem = options_.ca_pem,
                  .timeout = kPatience};
  if (!options_.ns.empty()) {
    query.headers.emplace_back("X-Vault-Namespace", options_.ns);
  }
  const HttpReply got = wait_for_reply(http_, std::move(query));
  if (!got.failure.empty()) {
    return Error{.code = 503, .reason = "VaultUnreachable", .message = got.failure};
  }
  auto body = json::parse(got.body);
  return Answer{.status = got.status, .body = body.ok() ? *std::move(body) : Value()};
}

Result<std::vector<std::string>> Vault::list() {
  ATHANOR_TRY(const Answer answer, ask("LIST", "metadata", {}));
  // A path that holds nothing is 404 without words.
  const bool nothing = answer.status == kNotFound && answer.body["errors"].is_list() &&
                       answer.body["errors"].empty();
  if (nothing) {
    return std::vector<std::string>{};
  }
  if (answer.status != 200) {
    return Error{.code = answer.status,
                 .reason = "VaultRefused",
                 .message = failure(answer.status, answer.body)};
  }
  std::vector<std::string> names;
  for (const Value& name : answer.body["data"]["keys"].items()) {
    names.push_back(name.str());
  }
  return names;
}

Result<Value> Vault::read(const std::string& entry) {
  ATHANOR_TRY(const Answer answer, ask("GET", "data", entry));
  const Value& metadata = answer.body["data"]["metadata"];
  if (answer.status == kNotFound && !metadata["deletion_time"].as_string().empty()) {
    return Value::object();
  }
  if (answer.status != 200) {
    return Error{.code = answer.status,
                 .reason = "VaultRefused",
                 .message = failure(answer.status, answer.body)};
  }
  const Value& data = answer.body["data"]["data"];
  if (!data.is_object()) {
    return Error::internal("Vault's answer holds no data");
  }
  return data;
}

}  // namespace athanor::client
