// SPDX-License-Identifier: Apache-2.0
// A server over the memory journal with a seeded source of ids and a clock that tests move.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/apiserver/read/encode.hpp"
#include "embedded/store/store.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void advance(Duration duration) { now_ += duration; }

 private:
  Instant now_ = *parse_time("2026-11-20T10:00:00Z");
};

// One answer, decoded.
struct Answer {
  int status = 0;
  Value value{};
  std::string text{};
  std::string content_type{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::unique_ptr<Stream> stream{};
  bool ended = false;

  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [key, header_value] : headers) {
      if (key == name) {
        return header_value;
      }
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const auto& [key, header_value] : headers) {
      if (key == "Warning") {
        texts.push_back(header_value);
      }
    }
    return texts;
  }
  [[nodiscard]] std::string message() const { return value["message"].str(); }
  [[nodiscard]] std::string reason() const { return value["reason"].str(); }
};

class TestServer {
 public:
  explicit TestServer(Options options = {}, Outside* outside = nullptr, AuditSink* audit = nullptr,
                      const store::Options& past = {}) {
    options.always_allow = true;
    options.default_roles = false;
    auto opened = store::Store::open(store::memory_journal(), past);
    EXPECT_TRUE(opened.ok());
    store_ = *std::move(opened);
    Dependencies dependencies;
    dependencies.store = store_.get();
    dependencies.clock = &clock_;
    dependencies.entropy = entropy_.get();
    dependencies.outside = outside;
    dependencies.audit = audit;
    auto server = Server::create(std::move(options), std::move(dependencies));
    EXPECT_TRUE(server.ok());
    server_ = *std::move(server);
    for (const char* ns : {"default", "kube-system", "tst"}) {
      if (store_->get("namespaces", {"", ns}) == nullptr) {
        const Answer made = post("/api/v1/namespaces",
                                 Value::object({{"metadata", Value::object({{"name", ns}})}}));
        EXPECT_EQ(made.status, 201) << made.message();
      }
    }
  }

  // A request line "GET /api/v1/pods?limit=2" with an optional body and headers, from outside.
  Answer call(std::string_view line, std::string body = {},
              std::vector<std::pair<std::string, std::string>> headers = {}) {
    Request request = parse_line(line);
    request.body = std::move(body);
    request.credentials.certificate = certificate_;
    for (auto& [name, value] : headers) {
      request.headers.emplace(name, std::move(value));
    }
    return decode(request, server_->handle(request, clock_.now()));
  }
  Answer get(std::string_view path) { return call("GET " + std::string(path)); }
  Answer post(std::string_view path, const Value& body) {
    return call("POST " + std::string(path), json::print(body));
  }
  Answer put(std::string_view path, const Value& body) {
    return call("PUT " + std::string(path), json::print(body));
  }
  Answer remove(std::string_view path, const Value& body = {}) {
    return call("DELETE " + std::string(path), body.is_null() ? "" : json::print(body));
  }
  // `type`: json, merge, strategic-merge or apply.
  Answer patch(std::string_view path, std::string_view type, std::string body) {
    const std::string media = type == "apply" ? "application/apply-patch+yaml"
                                              : "application/" + std::string(type) + "-patch+json";
    return call("PATCH " + std::string(path), std::move(body), {{"content-type", media}});
  }
  // What a stream has to say now, one document per line.
  static std::vector<Value> events(Answer& answer) {
    std::string text;
    if (answer.stream != nullptr) {
      std::size_t before = 0;
      do {
        before = text.size();
        answer.ended = answer.stream->pull(text) == Stream::State::Ended;
      } while (text.size() > before && !answer.ended);
    }
    std::vector<Value> documents;
    std::size_t start = 0;
    while (start < text.size()) {
      const std::size_t end = text.find('\n', start);
      documents.push_back(*json::parse(std::string_view(text).substr(start, end - start)));
      start = end + 1;
    }
    return documents;
  }

  // Who asks from now on.
  void act_as(std::string name, std::vector<std::string> groups) {
    certificate_.common_name = std::move(name);
    certificate_.organizations = std::move(groups);
  }
  void advance(Duration duration) {
    clock_.advance(duration);
    server_->tick(clock_.now());
  }
  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] Instant now() const { return clock_.now(); }

 private:
  static Request parse_line(std::string_view line) {
    Request request;
    const std::size_t blank = line.find(' ');
    request.method = std::string(line.substr(0, blank));
    line.remove_prefix(blank + 1);
    const std::size_t question = std::min(line.find('?'), line.size());
    request.path = std::string(line.substr(0, question));
    line.remove_prefix(std::min(question + 1, line.size()));
    while (!line.empty()) {
      const std::size_t end = std::min(line.find('&'), line.size());
      const std::string_view pair = line.substr(0, end);
      const std::size_t equals = std::min(pair.find('='), pair.size());
      request.query.emplace_back(
          std::string(pair.substr(0, equals)),
          equals < pair.size() ? std::string(pair.substr(equals + 1)) : std::string());
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    return request;
  }

  static Answer decode(const Request& request, Response response) {
    encode(request, response);
    Answer answer;
    answer.status = response.status;
    answer.content_type = response.content_type;
    answer.headers = std::move(response.headers);
    answer.stream = std::move(response.stream);
    answer.text = std::move(response.body);
    if (auto parsed = json::parse(answer.text); parsed.ok()) {
      answer.value = *std::move(parsed);
    }
    return answer;
  }

  Credentials::Certificate certificate_{
      .common_name = "admin", .organizations = {"system:masters"}, .sha256_hex = "ab"};
  ManualClock clock_{};
  std::unique_ptr<Entropy> entropy_ = seeded_entropy(7);
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<Server> server_{};
};

// "{"a":1}" as a Value.
inline Value parse(std::string_view text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *std::move(parsed) : Value();
}

inline Value config_map(std::string_view name, std::string_view data = "{}") {
  Value object = Value::object({{"kind", "ConfigMap"}, {"apiVersion", "v1"}});
  object.set("metadata", Value::object({{"name", Value(name)}}));
  object.set("data", parse(data));
  return object;
}

}  // namespace athanor::apiserver
