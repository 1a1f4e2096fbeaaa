// SPDX-License-Identifier: Apache-2.0
// A thread for each followed log set drives its connection; the stream takes from a window.
#include "console/logs/log_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "client/connection.hpp"
#include "console/logs/log_text.hpp"
#include "kube/text/json.hpp"
#include "net/paced_stream.hpp"

namespace athanor::console {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostStreams = 64;     // threads
constexpr std::size_t kMostOfViewer = 24;    // so that one person leaves some to the others
constexpr std::size_t kMostWindow = 20'000;  // lines that wait for a browser
constexpr std::size_t kMostInEvent = 500;    // lines
constexpr int kServerError = 500;
constexpr Duration kTurn = std::chrono::milliseconds(100);

// State that the thread and the stream share.
struct LogFlow {
  Mutex mutex{};
  std::deque<LogLine> lines ATHANOR_GUARDED_BY(mutex){};
  std::size_t skipped ATHANOR_GUARDED_BY(mutex) = 0;
  bool ended ATHANOR_GUARDED_BY(mutex) = false;
  bool expired ATHANOR_GUARDED_BY(mutex) = false;  // the viewer may not read on
  bool left ATHANOR_GUARDED_BY(mutex) = false;     // the browser
  bool broken ATHANOR_GUARDED_BY(mutex) = false;   // the API server went away: the log may go on
  std::string error ATHANOR_GUARDED_BY(mutex){};
  std::function<void()> wake ATHANOR_GUARDED_BY(mutex){};

  void add(LogLine line) {
    const MutexLock lock(mutex);
    if (lines.size() >= kMostWindow) {
      lines.pop_front();
      ++skipped;
    }
    lines.push_back(std::move(line));
    if (wake) {
      wake();
    }
  }
};

class LogStream final : public net::PacedStream {
 public:
  LogStream(std::shared_ptr<LogFlow> flow, LogFraming framing, std::string load_path, Duration beat)
      : flow_(std::move(flow)), framing_(framing), load_path_(std::move(load_path)), beats_(beat) {}
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;
  ~LogStream() override {
    const MutexLock lock(flow_->mutex);
    flow_->left = true;
    flow_->wake = nullptr;
  }

  State pull(std::string& out) override {
    const MutexLock lock(flow_->mutex);
    if (flow_->expired) {
      out += framing_ == LogFraming::Events ? "event: auth\ndata: {}\n\n" : "";
      return State::Ended;
    }
    if (flow_->skipped > 0) {
      number_ += flow_->skipped;
      if (framing_ == LogFraming::Events) {
        out += fmt::format(
            "event: gap\ndata: {}\n\n",
            json::print(Value::object({{"skipped", flow_->skipped}, {"load", load_path_}})));
      } else {  // a format without events: the line is recognised by its marks, as those of a
                // runner
        out += fmt::format("data: ==== {} lines skipped, all of them: {} ====\n\n", flow_->skipped,
                           load_path_);
      }
      flow_->skipped = 0;
    }
    for (std::size_t count = 0; !flow_->lines.empty() && count < kMostInEvent; ++count) {
      const LogLine line = std::move(flow_->lines.front());
      flow_->lines.pop_front();
      append(line, out);
    }
    if (!out.empty()) {
      beat_ = Steady::now() + beats_;
    } else if (Steady::now() >= beat_) {
      out = ": heartbeat\n\n";
      beat_ = Steady::now() + beats_;
    }
    if (!flow_->lines.empty()) {
      if (flow_->wake) {
        flow_->wake();
      }
      return State::Open;
    }
    if (flow_->ended) {
      if (framing_ == LogFraming::Events) {
        Value data = Value::object();
        if (!flow_->error.empty()) {
          data.set("error", flow_->error);
        }
        if (flow_->broken) {
          data.set("again", true);
        }
        out += fmt::format("event: end\ndata: {}\n\n", json::print(data));
      }
      return State::Ended;
    }
    return State::Open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(flow_->mutex);
    flow_->wake = std::move(wake);
  }

 private:
  void append(const LogLine& line, std::string& out) {
    if (framing_ == LogFraming::Plain) {
      out += "data: ";
      for (const char c : line.text) {  // a carriage return ends a line of the stream, too
        out += c == '\r' ? "\ndata: " : std::string_view(&c, 1);
      }
      out += "\n\n";
      return;
    }
    ++number_;
    if (const std::string id = nanoseconds_text(line.at); !id.empty()) {
      out += fmt::format("id: {}\n", id);
    }
    out += fmt::format("event: line\ndata: {}\n\n", json::print(line_value(line, number_)));
  }

  std::shared_ptr<LogFlow> flow_;
  LogFraming framing_;
  std::string load_path_;
  std::size_t number_ = 0;
  Duration beats_;  // between two heartbeats
  Steady::time_point beat_ = Steady::now() + beats_;
};

// Returns true for a line that the reader has: it is not younger than its last one.
bool is_received(const LogLine& line, const std::string& since_ns) {
  const std::string id = nanoseconds_text(line.at);
  return !since_ns.empty() && !id.empty() &&
         (id.size() < since_ns.size() || (id.size() == since_ns.size() && id <= since_ns));
}

// Returns false, and marks the stream, once its viewer may no longer read it. Else wakes it: it
// knows whether a heartbeat is due.
bool look_after(LogFlow& flow, const LogRequest& request) {
  const bool goes_on = !request.may_go_on || request.may_go_on();
  const MutexLock lock(flow.mutex);
  if (!goes_on) {
    flow.expired = true;
    return false;
  }
  if (flow.wake) {
    flow.wake();
  }
  return true;
}

}  // namespace

struct LogFollower::State {
  State(client::ClusterConfig with, LogPace how) : config(std::move(with)), pace(how) {}

  struct Run {
    std::shared_ptr<bool> done{};  // guarded by `mutex`
    std::string user{};
    std::thread thread{};
  };

  client::ClusterConfig config;
  const LogPace pace;
  Mutex mutex{};
  std::vector<Run> runs ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;

  // Returns true once the flow has no reader.
  bool is_over(LogFlow& flow) {
    {
      const MutexLock lock(mutex);
      if (stopping) {
        return true;
      }
    }
    const MutexLock lock(flow.mutex);
    return flow.left;
  }

  void drive(const std::shared_ptr<LogFlow>& flow, const client::ClusterConfig& as,
             const LogRequest& request);
  // Joins threads that ended.
  void reap() ATHANOR_REQUIRES(mutex) {
    for (Run& run : runs) {
      if (*run.done) {
        run.thread.join();
      }
    }
    std::erase_if(runs, [](const Run& run) { return *run.done; });
  }
};

void LogFollower::State::drive(const std::shared_ptr<LogFlow>& flow,
                               const client::ClusterConfig& as, const LogRequest& request) {
  const auto finish = [&](const std::optional<Error>& error) {
    const MutexLock lock(flow->mutex);
    flow->ended = true;
    flow->error = error ? error->message : "";
    flow->broken = error && error->code >= kServerError;
    if (flow->wake) {
      flow->wake();
    }
  };
  auto opened = client::Connection::open(as);
  if (!opened.ok()) {
    finish(opened.error());
    return;
  }
  client::Connection& connection = **opened;
  std::size_t open = 0;
  std::optional<Error> error;
  std::set<std::string> known;
  std::vector<std::shared_ptr<void>> streams;
  const auto begin = [&](const FollowedLog& log) {
    if (!log.id.empty() && !known.insert(log.id).second) {
      return;
    }
    ++open;
    streams.push_back(connection.stream(log.path + log.resume,
                                        {.line =
                                             [&, source = log.source](std::string_view text) {
                                               LogLine line = parse_log_line(text);
                                               line.source = source;
                                               if (!is_received(line, request.since_ns)) {
                                                 flow->add(std::move(line));
                                               }
                                             },
                                         .ended =
                                             [&](const Result<void>& outcome) {
                                               --open;
                                               if (!outcome.ok()) {
                                                 error = outcome.error();
                                               }
                                             }}));
  };
  for (const FollowedLog& log : request.logs) {
    begin(log);
  }
  auto look = Steady::now() + pace.look;
  bool complete = !request.more;
  while ((open > 0 || !complete) && !is_over(*flow)) {
    connection.run(std::min(kTurn, pace.look));
    if (Steady::now() < look) {
      continue;
    }
    look = Steady::now() + pace.look;
    if (!look_after(*flow, request)) {
      break;
    }
    if (request.more) {
      const MoreLogs more = request.more();
      for (const FollowedLog& log : more.logs) {
        begin(log);
      }
      complete = more.last;
    }
  }
  streams.clear();
  finish(error);
}

LogFollower::LogFollower(client::ClusterConfig config, LogPace pace)
    : state_(std::make_shared<State>(std::move(config), pace)) {}

LogFollower::~LogFollower() {
  std::vector<State::Run> runs;
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
    runs = std::move(state_->runs);
    state_->runs.clear();
  }
  for (State::Run& run : runs) {
    run.thread.join();
  }
}

Result<std::unique_ptr<net::Stream>> LogFollower::follow(const Viewer& viewer, LogRequest request) {
  client::ClusterConfig config = state_->config;
  if (!viewer.user.empty()) {
    config.impersonate = {.user = viewer.user, .groups = viewer.groups};
  }
  auto flow = std::make_shared<LogFlow>();
  auto stream =
      std::make_unique<LogStream>(flow, request.framing, request.load_path, state_->pace.beat);
  const MutexLock lock(state_->mutex);
  state_->reap();
  if (state_->stopping || state_->runs.size() >= kMostStreams) {
    return Error::unavailable(fmt::format("{} logs are followed already", kMostStreams));
  }
  const auto own = std::ranges::count(state_->runs, viewer.user, &State::Run::user);
  if (!viewer.user.empty() && static_cast<std::size_t>(own) >= kMostOfViewer) {
    return Error::unavailable(fmt::format("you follow {} logs already", kMostOfViewer));
  }
  auto done = std::make_shared<bool>(false);
  state_->runs.push_back(
      {.done = done,
       .user = viewer.user,
       .thread = std::thread([state = state_.get(), flow, done, config = std::move(config),
                              request = std::move(request)] {
         state->drive(flow, config, request);
         const MutexLock inner(state->mutex);
         *done = true;
       })});
  return std::unique_ptr<net::Stream>(std::move(stream));
}

}  // namespace athanor::console
