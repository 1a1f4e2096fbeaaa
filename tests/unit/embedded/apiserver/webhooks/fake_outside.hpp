// SPDX-License-Identifier: Apache-2.0
// Webhooks without a network: what they are asked, and what they answer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {

class FakeOutside final : public Outside {
 public:
  using Answerer = std::function<OutsideAnswer(const Value& body)>;
  struct Asked {
    OutsideRequest request{};
    Value body{};
  };

  // What requests to this URL (without its query) hear; others are refused.
  void on(std::string url, Answerer answerer) { answerers_[std::move(url)] = std::move(answerer); }
  // Answers wait for release() from now on.
  void hold() { holding_ = true; }
  void release() {
    holding_ = false;
    for (auto& [request, done] : std::exchange(held_, {})) {
      ask(std::move(request), std::move(done));
    }
  }

  void ask(OutsideRequest request, UniqueFunction<void(OutsideAnswer)> done) override {
    if (holding_) {
      held_.emplace_back(std::move(request), std::move(done));
      return;
    }
    const auto body = json::parse(request.body);
    asked.push_back({.request = request, .body = body.ok() ? *body : Value()});
    const auto found = answerers_.find(request.url.substr(0, request.url.find('?')));
    done(found == answerers_.end()
             ? OutsideAnswer{.failure = "dial tcp 127.0.0.1:1: connect: connection refused"}
             : found->second(asked.back().body));
  }

  // Names of the webhooks' URLs in the order they were asked: the part behind the last slash.
  [[nodiscard]] std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (const Asked& one : asked) {
      const std::string url = one.request.url.substr(0, one.request.url.find('?'));
      names.push_back(url.substr(url.rfind('/') + 1));
    }
    return names;
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }

  std::vector<Asked> asked{};

 private:
  std::map<std::string, Answerer, std::less<>> answerers_{};
  std::vector<std::pair<OutsideRequest, UniqueFunction<void(OutsideAnswer)>>> held_{};
  bool holding_ = false;
};

// What the connection to a server that repeats everything has become.
class EchoTunnel final : public Tunnel {
 public:
  State pull(std::string& out) override {
    out += std::exchange(held_, {});
    return State::Open;
  }
  void on_ready(std::function<void()> /*wake*/) override {}
  void feed(std::string_view bytes) override { held_ += bytes; }
  [[nodiscard]] bool wants_more() const override { return true; }

 private:
  std::string held_{};
};

inline OutsideAnswer json_answer(const Value& body, int status = 200) {
  return {.status = status,
          .headers = {{"content-type", "application/json"}},
          .body = json::print(body)};
}

// A review's answer: uid and envelope as they must be, the rest as given.
inline OutsideAnswer review_answer(const Value& review, Value response) {
  response.set("uid", review["request"]["uid"]);
  return json_answer(Value::object({{"kind", "AdmissionReview"},
                                    {"apiVersion", review["apiVersion"]},
                                    {"response", std::move(response)}}));
}
inline OutsideAnswer allow(const Value& review) {
  return review_answer(review, Value::object({{"allowed", true}}));
}
inline OutsideAnswer allow_with_patch(const Value& review, std::string_view patch) {
  return review_answer(review, Value::object({{"allowed", true},
                                              {"patchType", "JSONPatch"},
                                              {"patch", base64_encode(patch)}}));
}

}  // namespace athanor::apiserver
