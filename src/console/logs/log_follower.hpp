// SPDX-License-Identifier: Apache-2.0
// LogFollower: follows logs of running containers for browsers as server-sent events. A reader
// that is slower than the log gets a window of it and the number of skipped lines
// (docs/spec/dashboard.md L2, L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "client/cluster_config.hpp"
#include "console/world/api_port.hpp"
#include "net/http.hpp"

namespace athanor::console {

// One log of a stream.
struct FollowedLog {
  std::string path{};    // "/api/v1/namespaces/a/pods/b/log?container=c"
  std::string source{};  // of its lines; empty: the only one
  std::string resume{};  // appended to it: "&sinceTime=..."
  std::string id{};      // of the container's instance; empty: of a log that is alone
};

// How events are written.
enum class LogFraming : std::uint8_t {
  Events,  // id, event and JSON
  Plain,   // "data: LINE", as fournos-ui does (docs/spec/dashboard.md A3)
};

// Logs that a stream follows from now on.
struct MoreLogs {
  std::vector<FollowedLog> logs{};  // those that are followed already count once, by their id
  bool last = false;                // none will come
};

// Logs to follow, and their starting points.
struct LogRequest {
  std::vector<FollowedLog> logs{};
  std::string since_ns{};   // of the last line received, nanoseconds since 1970; empty: all
  std::string load_path{};  // where lines that were left out can be read
  LogFraming framing = LogFraming::Events;
  // Returns true while the viewer may read on; called on a thread of the follower about once a
  // second, may wait. Empty: for ever. The stream then says "event: auth" and ends.
  std::function<bool()> may_go_on{};
  // Returns the logs that are there now; called as `may_go_on`. Empty: those of `logs` are all.
  std::function<MoreLogs()> more{};
};

// Intervals of a stream. Its heartbeats are the only traffic of a silent log, so they come more
// often than servers and proxies close connections.
struct LogPace {
  Duration beat = std::chrono::seconds(15);  // without a line
  Duration look = std::chrono::seconds(1);   // at the viewer's rights and at the heartbeat
};

// Thread-safe.
class LogFollower {
 public:
  explicit LogFollower(client::ClusterConfig config, LogPace pace = {});
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower();  // ends all

  // Opens a stream; the requests are made as the viewer. Error 503: too many are open, of all or of
  // this viewer.
  Result<std::unique_ptr<net::Stream>> follow(const Viewer& viewer, LogRequest request);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::console
