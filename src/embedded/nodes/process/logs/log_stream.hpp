// SPDX-License-Identifier: Apache-2.0
// Reading container logs, once or for as long as the container writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/apiserver/request/pod_logs.hpp"
#include "embedded/nodes/process/logs/log_file_stream.hpp"
#include "embedded/nodes/process/logs/log_reader.hpp"

namespace athanor::nodes {

// The open log streams of a node. Not thread-safe; the streams it hands out are.
class LogStreams {
 public:
  Result<std::unique_ptr<net::Stream>> open(const std::string& path, const std::string& uid,
                                            const apiserver::LogOptions& options, bool running);
  void grew(const std::string& uid, std::string_view container);
  void end_container(const std::string& uid, std::string_view container);
  void end_pod(const std::string& uid);

 private:
  struct Follower {
    std::string uid{}, container{};
    std::weak_ptr<LogFileStream> stream{};
  };
  LogReader reader_{};
  std::vector<Follower> followers_{};
};

}  // namespace athanor::nodes
