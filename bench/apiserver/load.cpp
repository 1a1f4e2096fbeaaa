// SPDX-License-Identifier: Apache-2.0
#include "apiserver/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace athanor::bench {
namespace {

constexpr auto kWait = std::chrono::milliseconds(100);
constexpr auto kStandstill = std::chrono::seconds(60);
constexpr std::size_t kErrorBytes = 1024;  // of a refusal, to be shown

struct Loop {
  Http2Client& client;
  const Load& load;
  Outcome outcome{};
  std::size_t begun = 0;
  Result<void> failure{};

  void begin(std::size_t connection);
  void end(std::size_t connection, std::size_t number, int status, Clock::time_point since,
           const std::string& refusal);
};

// What one request's two handlers share.
struct Seen {
  std::string head{};
};

void Loop::begin(std::size_t connection) {
  if (begun == load.count) {
    return;
  }
  const std::size_t number = begun++;
  auto seen = std::make_shared<Seen>();
  Handlers handlers;
  handlers.data = [this, seen](std::string_view bytes) {
    outcome.bytes += bytes.size();
    if (seen->head.size() < kErrorBytes) {
      seen->head += bytes.substr(0, kErrorBytes - seen->head.size());
    }
  };
  const auto since = Clock::now();
  handlers.ended = [this, seen, connection, number, since](int status) {
    end(connection, number, status, since, seen->head);
  };
  if (auto sent = client.send(connection, load.query(number), std::move(handlers)); !sent.ok()) {
    failure = std::move(sent);
  }
}

void Loop::end(std::size_t connection, std::size_t number, int status, Clock::time_point since,
               const std::string& refusal) {
  outcome.latency.push_back(milliseconds_since(since));
  if (status / 100 != 2) {
    const Query query = load.query(number);
    failure =
        Error::unavailable(fmt::format("{} {}: {} {}", query.method, query.path, status, refusal));
  }
  begin(connection);
}

}  // namespace

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

Result<Outcome> run_load(Http2Client& client, const Load& load) {
  Loop loop{.client = client, .load = load};
  loop.outcome.latency.reserve(load.count);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < std::min(load.clients, load.count); ++i) {
    loop.begin(i % client.connections());
  }
  std::size_t before = 0;
  auto progress = start;
  while (loop.outcome.latency.size() < load.count && loop.failure.ok()) {
    ATHANOR_TRY_VOID(client.run(kWait));
    const std::size_t moved = loop.outcome.latency.size() + loop.outcome.bytes;
    if (std::exchange(before, moved) != moved) {
      progress = Clock::now();
    } else if (Clock::now() > progress + kStandstill) {
      return Error::unavailable("the server stands still");
    }
  }
  ATHANOR_TRY_VOID(std::move(loop.failure));
  loop.outcome.seconds = milliseconds_since(start) / 1000;
  return std::move(loop.outcome);
}

Result<Answer> ask(Http2Client& client, const Query& query) {
  Answer answer;
  int status = -1;
  const auto start = Clock::now();
  ATHANOR_TRY_VOID(client.send(0, query,
                               {.data = [&](std::string_view bytes) { answer.body += bytes; },
                                .ended = [&](int code) { status = code; }}));
  while (status < 0) {
    ATHANOR_TRY_VOID(client.run(kWait));
    if (Clock::now() > start + kStandstill) {
      return Error::unavailable("the server stands still");
    }
  }
  answer.milliseconds = milliseconds_since(start);
  if (status / 100 != 2) {
    return Error{.code = status,
                 .reason = "Refused",
                 .message = fmt::format("{} {}: {} {}", query.method, query.path, status,
                                        answer.body.substr(0, kErrorBytes))};
  }
  return answer;
}

}  // namespace athanor::bench
