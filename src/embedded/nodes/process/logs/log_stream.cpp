// SPDX-License-Identifier: Apache-2.0
// The streams of a node's logs.
#include "embedded/nodes/process/logs/log_stream.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "embedded/nodes/process/files/regular_file.hpp"
#include "embedded/nodes/process/logs/log_files.hpp"
#include "net/paced_stream.hpp"

namespace athanor::nodes {

namespace {

// What the server owns; the runtime keeps a weak reference to the same file.
class OpenLog final : public net::PacedStream {
 public:
  explicit OpenLog(std::shared_ptr<LogFileStream> stream) : stream_(std::move(stream)) {}
  State pull(std::string& out) override { return stream_->pull(out); }
  void on_ready(std::function<void()> wake) override { stream_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<LogFileStream> stream_;
};

}  // namespace

Result<std::unique_ptr<net::Stream>> LogStreams::open(const std::string& path,
                                                      const std::string& uid,
                                                      const apiserver::LogOptions& options,
                                                      bool running) {
  std::string file = path;
  if (options.previous) {
    file.insert(file.size() - std::string_view(".log").size(), ".previous");
  }
  // The spawner makes it for a running container, perhaps after the first reader asks.
  if (running && !options.previous) {
    if (const int made = open_log_to_write(file); made >= 0) {
      ::close(made);
    }
  }
  const int descriptor = open_regular(file);
  if (descriptor < 0) {
    return Error::not_found(fmt::format("container {} has no{} log", options.container,
                                        options.previous ? " previous" : ""));
  }
  auto stream = std::make_shared<LogFileStream>(descriptor, file, options,
                                                running && !options.previous, reader_.queue());
  if (options.follow && running) {
    std::erase_if(followers_, [](const Follower& follower) { return follower.stream.expired(); });
    followers_.push_back({.uid = uid, .container = options.container, .stream = stream});
  }
  return std::unique_ptr<net::Stream>(std::make_unique<OpenLog>(std::move(stream)));
}

void LogStreams::grew(const std::string& uid, std::string_view container) {
  for (const Follower& follower : followers_) {
    if (follower.uid == uid && follower.container == container) {
      if (const auto stream = follower.stream.lock()) {
        stream->notify(false);
      }
    }
  }
}

void LogStreams::end_container(const std::string& uid, std::string_view container) {
  for (const Follower& follower : followers_) {
    if (follower.uid == uid && follower.container == container) {
      if (const auto stream = follower.stream.lock()) {
        stream->notify(true);
      }
    }
  }
  std::erase_if(followers_,
                [&](const Follower& f) { return f.uid == uid && f.container == container; });
}

void LogStreams::end_pod(const std::string& uid) {
  for (const Follower& follower : followers_) {
    if (follower.uid == uid) {
      if (const auto stream = follower.stream.lock()) {
        stream->notify(true);
      }
    }
  }
  std::erase_if(followers_, [&](const Follower& f) { return f.uid == uid; });
}

}  // namespace athanor::nodes
