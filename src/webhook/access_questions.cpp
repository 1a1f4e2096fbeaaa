// SPDX-License-Identifier: Apache-2.0
#include "webhook/access_questions.hpp"

#include <utility>

#include "kube/text/json.hpp"

namespace athanor::webhook {
namespace {

// Less than the 10 s for which an API server waits for a webhook by default.
constexpr Duration kPatience = std::chrono::seconds(5);

// Counts down the questions that are under way. On the client's thread alone.
struct Round {
  std::size_t left = 0;
  AccessAnswers answers{};
  UniqueFunction<void(AccessAnswers)> done{};

  void take(const std::string& query, Observed answer) {
    answers.insert_or_assign(query, std::move(answer));
    if (--left == 0) {
      done(std::move(answers));
    }
  }
};

Observed answer_of(const client::ApiResult& result, Instant now) {
  if (result.error) {
    return {.error = result.error, .at = now};
  }
  return {.value = result.body["status"], .at = now};
}

}  // namespace

std::optional<Object> AnsweredView::get(const Kind& kind, const Key& key) const {
  return below_.get(kind, key);
}

std::vector<Object> AnsweredView::list(const Kind& kind, const Select& select) const {
  return below_.list(kind, select);
}

Observed AnsweredView::observe(std::string_view query, Duration max_age) const {
  if (!query.starts_with(kAccessQuery)) {
    return below_.observe(query, max_age);
  }
  const auto known = answers_.find(query);
  return known == answers_.end() ? Observed{.in_flight = true} : known->second;
}

const Value& AnsweredView::config(std::string_view section) const {
  return below_.config(section);
}

std::vector<std::string> open_questions(const Reads& reads, const AccessAnswers& answers) {
  std::vector<std::string> open;
  for (const auto& [query, max_age] : reads.observations) {
    if (query.starts_with(kAccessQuery) && !answers.contains(query)) {
      open.push_back(query);
    }
  }
  return open;
}

void ask_access(client::ApiClient& client, std::vector<std::string> questions,
                AccessAnswers answers, Instant now, UniqueFunction<void(AccessAnswers)> done) {
  auto round = std::make_shared<Round>(
      Round{.left = questions.size(), .answers = std::move(answers), .done = std::move(done)});
  client.post([&client, round, questions = std::move(questions), now] {
    for (const std::string& query : questions) {
      Result<Value> spec = json::parse(query.substr(kAccessQuery.size()));
      if (!spec.ok()) {
        round->take(query, {.error = spec.error(), .at = now});
        continue;
      }
      client::ApiRequest request{.method = "POST",
                                 .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                 .body = Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                                                        {"kind", "SubjectAccessReview"},
                                                        {"spec", *std::move(spec)}}),
                                 .lane = client::Lane::Urgent,
                                 .head_timeout = kPatience,
                                 .timeout = kPatience};
      client.send(std::move(request), [round, query, now](const client::ApiResult& result) {
        round->take(query, answer_of(result, now));
      });
    }
  });
}

}  // namespace athanor::webhook
