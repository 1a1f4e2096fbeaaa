// SPDX-License-Identifier: Apache-2.0
// A log file as a stream of lines.
#include "embedded/nodes/process/log_stream.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "embedded/nodes/process/log_format.hpp"

namespace athanor::nodes {

class FileLogStream {
 public:
  FileLogStream(int file, apiserver::LogOptions options, bool running)
      : file_(file), options_(std::move(options)), running_(running) {}
  FileLogStream(const FileLogStream&) = delete;
  FileLogStream& operator=(const FileLogStream&) = delete;
  ~FileLogStream() { ::close(file_); }

  apiserver::Stream::State pull(std::string& out) {
    const std::lock_guard lock(mutex_);
    const bool was_running = running_;  // what is written before the end is read after it
    if (!tailed_) {
      tailed_ = true;
      if (options_.tail_lines) {
        ::lseek(file_, tail_offset(*options_.tail_lines), SEEK_SET);
      }
    }
    char chunk[65536];
    for (ssize_t count = ::read(file_, chunk, sizeof chunk); count > 0 && !full_;
         count = ::read(file_, chunk, sizeof chunk)) {
      pending_.append(chunk, static_cast<std::size_t>(count));
      cut_lines(out);
    }
    return (options_.follow && was_running && !full_) ? apiserver::Stream::State::Open
                                                      : apiserver::Stream::State::Ended;
  }

  void on_ready(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

  void notify(bool ended) {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      running_ = running_ && !ended;
      wake = wake_;
    }
    if (wake) {
      wake();
    }
  }

 private:
  // Where the last `lines` lines begin.
  [[nodiscard]] off_t tail_offset(std::int64_t lines) const {
    std::deque<off_t> starts;
    off_t at = 0;
    bool fresh = true;
    char chunk[65536];
    for (ssize_t count = ::pread(file_, chunk, sizeof chunk, at); count > 0;
         count = ::pread(file_, chunk, sizeof chunk, at)) {
      for (ssize_t i = 0; i < count; ++i) {
        if (fresh) {
          starts.push_back(at + i);
          if (static_cast<std::int64_t>(starts.size()) > lines) {
            starts.pop_front();
          }
        }
        fresh = chunk[i] == '\n';
      }
      at += count;
    }
    return starts.empty() ? at : starts.front();
  }

  void cut_lines(std::string& out) {
    std::size_t start = 0;
    for (std::size_t end = pending_.find('\n'); end != std::string::npos && !full_;
         end = pending_.find('\n', start)) {
      emit(std::string_view(pending_).substr(start, end - start), out);
      start = end + 1;
    }
    pending_.erase(0, start);
  }

  void emit(std::string_view raw, std::string& out) {
    const LogLine line = parse_log_line(raw);
    if (options_.since) {
      const auto time = parse_time(line.time);
      if (time && *time < *options_.since) {
        return;
      }
    }
    std::string text =
        options_.timestamps ? fmt::format("{} {}", line.time, line.text) : std::string(line.text);
    if (line.finished) {
      text += '\n';
    }
    if (options_.limit_bytes &&
        sent_ + static_cast<std::int64_t>(text.size()) >= *options_.limit_bytes) {
      text.resize(static_cast<std::size_t>(*options_.limit_bytes - sent_));
      full_ = true;
    }
    sent_ += static_cast<std::int64_t>(text.size());
    out += text;
  }

  std::mutex mutex_{};
  int file_;
  apiserver::LogOptions options_;
  bool running_;                  // mutex_
  bool tailed_ = false;           // mutex_
  bool full_ = false;             // mutex_
  std::int64_t sent_ = 0;         // mutex_
  std::string pending_{};         // mutex_
  std::function<void()> wake_{};  // mutex_
};

namespace {

// What the server owns; the runtime keeps a weak reference to the same file.
class OpenLog final : public apiserver::Stream {
 public:
  explicit OpenLog(std::shared_ptr<FileLogStream> stream) : stream_(std::move(stream)) {}
  State pull(std::string& out) override { return stream_->pull(out); }
  void on_ready(std::function<void()> wake) override { stream_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<FileLogStream> stream_;
};

}  // namespace

Result<std::unique_ptr<apiserver::Stream>> LogStreams::open(const std::string& path,
                                                            const std::string& uid,
                                                            const apiserver::LogOptions& options,
                                                            bool running) {
  std::string file = path;
  if (options.previous) {
    file.insert(file.size() - std::string_view(".log").size(), ".previous");
  }
  // Of a container that runs the spawner makes it, sooner or later than somebody asks.
  const int make = running && !options.previous ? O_CREAT : 0;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | make, 0600);
  if (descriptor < 0) {
    return Error::not_found(fmt::format("container {} has no{} log", options.container,
                                        options.previous ? " previous" : ""));
  }
  auto stream = std::make_shared<FileLogStream>(descriptor, options, running);
  if (options.follow && running) {
    std::erase_if(followers_, [](const Follower& follower) { return follower.stream.expired(); });
    followers_.push_back({.uid = uid, .container = options.container, .stream = stream});
  }
  return std::unique_ptr<apiserver::Stream>(std::make_unique<OpenLog>(std::move(stream)));
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
