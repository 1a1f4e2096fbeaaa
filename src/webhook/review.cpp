// SPDX-License-Identifier: Apache-2.0
// Reading questions, printing answers.
#include "webhook/review.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/contain.hpp"
#include "cluster/admission_review.hpp"
#include "kube/text/json.hpp"

namespace athanor::webhook {

Result<Question> read_question(std::span<const Webhook> webhooks, std::string_view method,
                               std::string_view path, std::string_view content_type,
                               const std::string& body) {
  const auto found = std::ranges::find_if(
      webhooks, [&](const Webhook& webhook) { return webhook.url_path() == path; });
  if (found == webhooks.end()) {
    return Error::not_found(fmt::format("no webhook has the path {}", path));
  }
  if (method != "POST") {
    return Error{
        .code = 405, .reason = "MethodNotAllowed", .message = "webhooks are asked by POST"};
  }
  if (content_type.substr(0, content_type.find(';')) != "application/json") {
    return Error{.code = 415,
                 .reason = "UnsupportedMediaType",
                 .message = "an AdmissionReview comes as application/json"};
  }
  const auto review = json::parse(body);
  if (!review.ok()) {
    return Error::bad_request(review.error().message);
  }
  Question question{.webhook = &*found};
  ATHANOR_TRY(question.request, cluster::parse_review(*review));
  return question;
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
