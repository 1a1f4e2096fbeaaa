// SPDX-License-Identifier: Apache-2.0
// AccessQuestions: the rights that a webhook asks about ("subject-access:SPEC") while it decides.
// The API server answers each by a SubjectAccessReview; the webhook then decides again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_function.hpp"
#include "client/api_client.hpp"
#include "runtime/view/view.hpp"

namespace athanor::webhook {

// Prefix of these observations.
inline constexpr std::string_view kAccessQuery = "subject-access:";

// The answers so far, by query.
using AccessAnswers = std::map<std::string, Observed, std::less<>>;

// A view with these answers. Everything else comes from the view below, which must outlive it.
class AnsweredView final : public Snapshot {
 public:
  AnsweredView(const View& below, const AccessAnswers& answers)
      : below_(below), answers_(answers) {}

  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override;
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override;
  [[nodiscard]] Observed observe(std::string_view query, Duration max_age) const override;
  [[nodiscard]] const Value& config(std::string_view section) const override;

 private:
  const View& below_;
  const AccessAnswers& answers_;
};

// Returns the questions about rights among these reads that `answers` lacks.
std::vector<std::string> open_questions(const Reads& reads, const AccessAnswers& answers);

// Sends each question and calls `done` with `answers` and the new ones, on the client's thread. A
// question without an answer becomes an error.
void ask_access(client::ApiClient& client, std::vector<std::string> questions,
                AccessAnswers answers, Instant now, UniqueFunction<void(AccessAnswers)> done);

}  // namespace athanor::webhook
