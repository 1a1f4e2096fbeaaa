// SPDX-License-Identifier: Apache-2.0
// Reading questions, printing answers.
#include "webhook/review.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/contain.hpp"
#include "cluster/admission_review.hpp"
#include "kube/text/json.hpp"

namespace athanor::webhook {

namespace {

constexpr int kBadRequest = 400;

const Webhook* webhook_at(std::span<const Webhook> webhooks, std::string_view path) {
  const auto found = std::ranges::find_if(
      webhooks, [&](const Webhook& webhook) { return webhook.url_path() == path; });
  return found == webhooks.end() ? nullptr : &*found;
}

// Returns the review of a request, or what is wrong with it in the webhook's own words.
Result<Value> read_review(const Webhook& webhook, std::string_view content_type,
                          const std::string* body) {
  const bool own_words = webhook.reviews_faults;
  if (own_words && (body == nullptr || body->empty())) {
    return Error::bad_request(body == nullptr ? "request body is nil" : "request body is empty");
  }
  if (content_type.substr(0, content_type.find(';')) != "application/json") {
    return own_words ? Error::bad_request(
                           fmt::format("contentType={}, expected application/json", content_type))
                     : Error{.code = 415,
                             .reason = "UnsupportedMediaType",
                             .message = "an AdmissionReview comes as application/json"};
  }
  auto review = json::parse(body == nullptr ? std::string() : *body);
  if (!review.ok()) {
    return Error::bad_request(review.error().message);
  }
  if (own_words && !(*review)["request"].is_object()) {
    return Error::bad_request("no request in request body");
  }
  return *std::move(review);
}

}  // namespace

Result<Question> read_question(std::span<const Webhook> webhooks, std::string_view method,
                               std::string_view path, std::string_view content_type,
                               const std::string* body) {
  const Webhook* webhook = webhook_at(webhooks, path);
  if (webhook == nullptr) {
    return Error::not_found(fmt::format("no webhook has the path {}", path));
  }
  if (method != "POST") {
    return Error{
        .code = 405, .reason = "MethodNotAllowed", .message = "webhooks are asked by POST"};
  }
  ATHANOR_TRY(const Value review, read_review(*webhook, content_type, body));
  Question question{.webhook = webhook};
  ATHANOR_TRY(question.request, cluster::parse_review(review));
  return question;
}

std::string fault_text(std::span<const Webhook> webhooks, std::string_view path,
                       const Error& error) {
  const Webhook* webhook = webhook_at(webhooks, path);
  return webhook != nullptr && webhook->reviews_faults && error.code == kBadRequest
             ? json::print(cluster::answer_review("", Verdict::deny(error.message, error.code)))
             : "";
}

Verdict verdict_of(const Question& question, const View& view, Instant now) {
  Verdict verdict;
  const auto broken =
      contain([&] { verdict = question.webhook->admit(view, question.request, now); });
  return broken ? Verdict::deny(*broken, 500) : verdict;
}

std::string answer_text(const Question& question, const Verdict& verdict) {
  return json::print(cluster::answer_review(question.request.uid, verdict));
}

}  // namespace athanor::webhook
