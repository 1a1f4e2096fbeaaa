// SPDX-License-Identifier: Apache-2.0
#include "apiserver/fan_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/load.hpp"
#include "apiserver/objects.hpp"

namespace athanor::bench {
namespace {

constexpr std::size_t kConnections = 4;
constexpr std::size_t kStreams = 90;  // on one connection; the patches need some, too
constexpr auto kPatience = std::chrono::seconds(10);

struct Run {
  std::vector<Clock::time_point> sent{};
  Arrivals arrivals{};
  std::vector<std::size_t> seen{};  // events, by watcher
  std::size_t answered = 0;         // patches
  Result<void> failure{};

  // One event a line. All watchers see the patches in the order in which they were sent.
  void take(std::size_t watcher, std::string_view bytes) {
    for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
      const std::size_t event = seen[watcher]++;
      if (event < sent.size()) {
        arrivals.latency.push_back(milliseconds_since(sent[event]));
      } else {
        failure = Error::internal("more events than patches");
      }
    }
  }
};

// Of object 0, changed just now: whoever watches from there sees what follows, and nothing else.
Result<std::string> revision_of(Http2Client& client, const std::string& ns) {
  constexpr std::string_view kField = R"("resourceVersion":")";
  ATHANOR_TRY(const Answer object, ask(client, patch_object(ns, 0, 0)));
  const std::size_t start = object.body.find(kField);
  if (start == std::string::npos) {
    return Error::internal("an object without a resourceVersion");
  }
  const std::size_t text = start + kField.size();
  return object.body.substr(text, object.body.find('"', text) - text);
}

Result<void> begin_watches(Http2Client& client, const FanOut& options, Run& run) {
  ATHANOR_TRY(const std::string revision, revision_of(client, options.ns));
  const Query query{.path = fmt::format("{}?watch=true&resourceVersion={}&timeoutSeconds=600",
                                        collection_path(options.ns), revision)};
  run.seen.resize(options.watchers);
  for (std::size_t i = 0; i < options.watchers; ++i) {
    ATHANOR_TRY_VOID(
        client.send(i % client.connections(), query,
                    {.data = [&run, i](std::string_view bytes) { run.take(i, bytes); },
                     .ended = [&run](int) { run.failure = Error::unavailable("a watch ended"); }}));
  }
  return {};
}

Result<void> send_patch(Http2Client& client, const FanOut& options, Run& run) {
  const std::size_t number = run.sent.size();
  run.sent.push_back(Clock::now());
  return client.send(number % client.connections(), patch_object(options.ns, 0, number + 1),
                     {.data = {}, .ended = [&run](int status) {
                        ++run.answered;
                        if (status != 200) {
                          run.failure = Error::unavailable(fmt::format("a patch: {}", status));
                        }
                      }});
}

Result<void> settle(Http2Client& client, Clock::duration time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {
    ATHANOR_TRY_VOID(client.run(std::chrono::milliseconds(10)));
  }
  return {};
}

}  // namespace

std::size_t connections_for(std::size_t watchers) {
  return std::max(kConnections, (watchers + kStreams - 1) / kStreams);
}

Result<Arrivals> run_fan_out(Http2Client& client, const FanOut& options) {
  Run run;  // the handlers refer to it; nothing runs them after the last client.run()
  ATHANOR_TRY_VOID(begin_watches(client, options, run));
  ATHANOR_TRY_VOID(settle(client, std::chrono::seconds(1)));
  const auto start = Clock::now();
  const auto step = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(1 / options.writes_per_second));
  const std::size_t expected = options.watchers * options.writes;
  auto end = Clock::time_point::max();
  while (run.arrivals.latency.size() < expected || run.answered < options.writes) {
    ATHANOR_TRY_VOID(std::exchange(run.failure, {}));
    const auto now = Clock::now();
    if (now > end) {
      return Error::unavailable(
          fmt::format("{} of {} events came", run.arrivals.latency.size(), expected));
    }
    auto wait = std::chrono::milliseconds(100);
    if (run.sent.size() < options.writes) {
      const auto due = start + step * static_cast<int>(run.sent.size());
      if (now >= due) {
        ATHANOR_TRY_VOID(send_patch(client, options, run));
        end = now + kPatience;
        wait = std::chrono::milliseconds(0);
      } else {
        wait = std::chrono::duration_cast<std::chrono::milliseconds>(due - now) +
               std::chrono::milliseconds(1);
      }
    }
    ATHANOR_TRY_VOID(client.run(wait));
  }
  run.arrivals.seconds = milliseconds_since(start) / 1000;
  return std::move(run.arrivals);
}

}  // namespace athanor::bench
