// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/process/logs/log_file_stream.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/mutex.hpp"
#include "embedded/nodes/process/logs/log_files.hpp"
#include "embedded/nodes/process/logs/log_format.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kBlock = std::size_t{64} * 1024;
constexpr std::size_t kAhead = std::size_t{64} * 1024;  // text that waits for the client
constexpr std::size_t kLongestStreamedLine = std::size_t{1}
                                             << 20U;  // longer ones are no lines of ours

}  // namespace

LogFileStream::LogFileStream(int file, std::string path, apiserver::LogOptions options,
                             bool running, std::shared_ptr<LogReader::Queue> reader)
    : file_(file),
      path_(std::move(path)),
      options_(std::move(options)),
      tail_{.lines = options_.tail_lines.value_or(0)},
      reader_(std::move(reader)),
      running_(running) {}

LogFileStream::~LogFileStream() {
  ::close(file_);
  if (next_ >= 0) {
    ::close(next_);
  }
}

net::Stream::State LogFileStream::pull(std::string& out) {
  const MutexLock lock(mutex_);
  out += std::exchange(ready_, {});
  if (ended_) {
    return net::Stream::State::Ended;
  }
  schedule();
  return net::Stream::State::Open;
}

void LogFileStream::on_ready(std::function<void()> wake) {
  const MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

void LogFileStream::notify(bool ended) {
  const MutexLock lock(mutex_);
  running_ = running_ && !ended;
  if (!ended_ && ready_.size() < kAhead) {
    schedule();
  }
}

void LogFileStream::schedule() {
  if (scheduled_) {
    again_ = true;
    return;
  }
  scheduled_ = true;
  reader_->add(weak_from_this());
}

bool LogFileStream::read_block() {
  bool was_running = false;  // what is written before the end is read after it
  {
    const MutexLock lock(mutex_);
    was_running = running_;
    again_ = false;
  }
  if (options_.tail_lines && seek_tail()) {
    return true;
  }
  std::string text;
  const bool more = !full_ && read_file(text);
  std::function<void()> wake;
  bool go_on = false;
  {
    const MutexLock lock(mutex_);
    ready_ += text;
    ended_ = full_ || (!more && !(options_.follow && was_running));
    // One that found nothing new waits for notify(), one that is ahead for pull().
    go_on = !ended_ && ready_.size() < kAhead && (more || again_);
    scheduled_ = go_on;
    if (!text.empty() || ended_) {
      wake = wake_;
    }
  }
  if (wake) {
    wake();
  }
  return go_on;
}

bool LogFileStream::seek_tail() {
  if (tail_.position == 0) {
    return false;
  }
  if (tail_.position < 0) {
    struct stat status {};
    tail_.position = ::fstat(file_, &status) == 0 ? status.st_size : 0;
    ++tail_.lines;  // the end of the last line is none of those that begin a wanted one
    if (options_.tail_lines == 0) {
      ::lseek(file_, tail_.position, SEEK_SET);
      tail_.position = 0;
      return false;
    }
  }
  char chunk[kBlock];
  const auto size = std::min<off_t>(tail_.position, kBlock);
  const off_t start = tail_.position - size;
  const ssize_t count = ::pread(file_, chunk, static_cast<std::size_t>(size), start);
  for (ssize_t i = count - 1; i >= 0; --i) {
    if (chunk[i] == '\n' && --tail_.lines == 0) {
      ::lseek(file_, start + i + 1, SEEK_SET);
      tail_.position = 0;
      return false;
    }
  }
  tail_.position = count < 0 ? 0 : start;
  return tail_.position > 0;
}

bool LogFileStream::read_file(std::string& out) {
  char chunk[kBlock];
  const ssize_t count = ::read(file_, chunk, sizeof chunk);
  if (count < 0 && errno == EINTR) {
    return true;
  }
  if (count <= 0) {
    return options_.follow && enter_next_file(out);
  }
  pending_.append(chunk, static_cast<std::size_t>(count));
  cut_lines(out);
  return true;
}

bool LogFileStream::enter_next_file(std::string& out) {
  if (next_ < 0) {
    next_ = open_next_log(path_, file_);
    return next_ >= 0;  // what was written before that was seen is still to be read
  }
  if (!pending_.empty()) {
    emit(pending_, out);
    pending_.clear();
  }
  ::close(std::exchange(file_, std::exchange(next_, -1)));
  return true;
}

void LogFileStream::cut_lines(std::string& out) {
  std::size_t start = 0;
  for (std::size_t end = pending_.find('\n'); end != std::string::npos && !full_;
       end = pending_.find('\n', start)) {
    emit(std::string_view(pending_).substr(start, end - start), out);
    start = end + 1;
  }
  pending_.erase(0, start);
  if (pending_.size() > kLongestStreamedLine && !full_) {
    emit(pending_, out);
    pending_.clear();
  }
}

void LogFileStream::emit(std::string_view raw, std::string& out) {
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

}  // namespace athanor::nodes
