// SPDX-License-Identifier: Apache-2.0
// From a request's bytes to a webhook and its question, and from a verdict to the answer's bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::webhook {

// A decoded AdmissionReview and the webhook that it is for.
struct Question {
  const Webhook* webhook = nullptr;
  AdmissionRequest request{};
};
// Reads a question. Errors: 404 for a path that no webhook has, 405 for another method than POST,
// 415 for another type than JSON, 400 for a body other than an AdmissionReview of v1. Of a webhook
// that reviews_faults: 400 for all but the first two, in the words of docs/spec/das.md 5.2. `body`:
// nullptr: none.
Result<Question> read_question(std::span<const Webhook> webhooks, std::string_view method,
                               std::string_view path, std::string_view content_type,
                               const std::string* body);
// Returns the AdmissionReview for an error of read_question() as JSON; empty: a Status answers it.
std::string fault_text(std::span<const Webhook> webhooks, std::string_view path,
                       const Error& error);
// Returns the webhook's verdict. A broken invariant costs this question alone: denied with code
// 500.
Verdict verdict_of(const Question& question, const View& view, Instant now);
// Returns the AdmissionReview that answers the question, as JSON.
std::string answer_text(const Question& question, const Verdict& verdict);

}  // namespace athanor::webhook
