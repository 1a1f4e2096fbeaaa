// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/model/observations.hpp"

#include <algorithm>

#include "runtime/view/live.hpp"

namespace athanor::runtime {

const Observed* Observations::find(std::string_view query) const {
  const auto at = known_.find(query);
  return at == known_.end() ? nullptr : &at->second;
}

bool Observations::any(std::string_view prefix) const {
  const auto at = known_.lower_bound(prefix);
  return at != known_.end() && at->first.starts_with(prefix);
}

Observed& Observations::entry(const std::string& query) {
  const auto [place, fresh] = known_.try_emplace(query);
  if (fresh) {
    maybe_unread_.push_back(query);
  }
  return place->second;
}

Observations::Taken Observations::take(const Observation& observation, Instant now) {
  const auto question = probed_.find(observation.query);
  if (observation.asked != 0 &&
      (question == probed_.end() || question->second.id != observation.asked ||
       !entry(observation.query).in_flight)) {
    return {};
  }
  Observed& known = entry(observation.query);
  if (known.in_flight && observation.asked == 0 && !reads_.is_observed(observation.query) &&
      question == probed_.end()) {
    known_.erase(observation.query);  // the result of an Act without readers
    return {};
  }
  const bool news = known.in_flight || known.value != observation.value ||
                    known.error.has_value() != observation.error.has_value() ||
                    (known.error && !(*known.error == *observation.error));
  known = {.value = observation.value, .error = observation.error, .at = now};
  if (observation.asked == 0) {
    return {.news = news};
  }
  return {.news = news, .took = std::max(now - question->second.at, Duration::zero())};
}

bool Observations::record(const std::string& query, const std::optional<Error>& error,
                          Instant now) {
  const auto known = known_.find(query);
  const bool news =
      error ? known == known_.end() || known->second.error != error : known != known_.end();
  if (error) {
    entry(query) = {.error = error, .at = now};
  } else if (known != known_.end()) {
    known_.erase(known);
  }
  return news;
}

void Observations::take_written(const Kind& kind, const Object& object, Instant now) {
  if (read_live_.empty() ||
      !read_live_.contains({std::string(kind.group), std::string(kind.plural)})) {
    return;
  }
  LiveQuery query = LiveQuery::of(kind, object.key());
  query.seen = object.resource_version();
  entry(query.text()) = {.value = LiveQuery::answer({object}), .at = now};
}

void Observations::probe_stale(const std::vector<std::pair<std::string, Duration>>& queries,
                               Instant now, std::vector<Effect>& out) {
  for (const auto& [query, max_age] : queries) {
    if (query.starts_with("refused:") || query.starts_with("contested:") ||
        query.starts_with("unreadable:")) {
      continue;  // the engine itself answers these
    }
    Observed& known = entry(query);
    const bool answered = known.value || known.error;
    if (known.in_flight || (answered && now - known.at <= max_age)) {
      continue;
    }
    const auto [last, first] = probed_.try_emplace(query);
    if (!first && answered && now - last->second.at < kProbeInterval) {
      continue;
    }
    last->second = {.id = ++last_question_, .at = now};
    known.in_flight = true;
    if (const auto live = LiveQuery::parse(query); live && !live->seen.empty()) {
      read_live_.emplace(live->group, live->plural);
    }
    out.emplace_back(Probe{.query = query, .id = last_question_});
  }
}

void Observations::drop_unread(const std::vector<std::string>& queries) {
  for (const std::string& query : queries) {
    const auto known = known_.find(query);
    if (known != known_.end() && !known->second.in_flight && !reads_.is_observed(query)) {
      known_.erase(known);
      probed_.erase(query);
    }
  }
}

void Observations::sweep(Instant now) {
  if (now < next_sweep_) {
    return;
  }
  next_sweep_ = now + kKeptUnread;
  reads_.take_unread(maybe_unread_);
  // True: the query need not be looked at until it loses a reader, or comes back.
  std::erase_if(maybe_unread_, [&](const std::string& query) {
    const auto known = known_.find(query);
    if (known == known_.end() || reads_.is_observed(query)) {
      return true;
    }
    const bool old = !known->second.in_flight && now - known->second.at > kKeptUnread;
    if (old) {
      known_.erase(known);
      probed_.erase(query);
    }
    return old;
  });
}

void Observations::shift(Duration by) {
  next_sweep_ += by;
  for (auto& [query, known] : known_) {
    known.at += by;
  }
  for (auto& [query, question] : probed_) {
    question.at += by;
  }
}

}  // namespace athanor::runtime
