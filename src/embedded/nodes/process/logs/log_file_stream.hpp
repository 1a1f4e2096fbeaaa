// SPDX-License-Identifier: Apache-2.0
// A container's log as one reader gets it: by blocks, on the reader's thread, no further ahead of
// the client than a buffer holds; followed into the files that are begun later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "embedded/apiserver/request/pod_logs.hpp"
#include "embedded/nodes/process/logs/log_reader.hpp"
#include "net/paced_stream.hpp"

namespace athanor::nodes {

// Thread-safe, but for read_block(), which is the reader's.
class LogFileStream final : public LogReader::Job,
                            public std::enable_shared_from_this<LogFileStream> {
 public:
  // Owns `file`, which is that of `path`. `running`: its container may still write.
  LogFileStream(int file, std::string path, apiserver::LogOptions options, bool running,
                std::shared_ptr<LogReader::Queue> reader);
  LogFileStream(const LogFileStream&) = delete;
  LogFileStream& operator=(const LogFileStream&) = delete;
  ~LogFileStream() override;

  // Pulls or waits as apiserver::Stream does.
  net::Stream::State pull(std::string& out);
  void on_ready(std::function<void()> wake);
  // Records that the log has grown, or its container has ended.
  void notify(bool ended);

  bool read_block() override;

 private:
  // Where reading begins, found from the end on a block at a time.
  struct Tail {
    std::int64_t lines = 0;  // still to be found
    off_t position = -1;     // of what was looked at, which ends there; -1: nothing was
  };

  void schedule() ATHANOR_REQUIRES(mutex_);
  // Seeks the tail's beginning; returns false once it is found.
  bool seek_tail();
  // Appends the text of a block to `out`; false: the file has no more for now.
  bool read_file(std::string& out);
  // Goes on with the next file of the log, if there is one.
  bool enter_next_file(std::string& out);
  void cut_lines(std::string& out);
  void emit(std::string_view raw, std::string& out);

  // The reader's alone.
  int file_;
  int next_ = -1;  // the file after it, once it is there
  const std::string path_;
  const apiserver::LogOptions options_;
  Tail tail_{};
  bool full_ = false;  // limit_bytes
  std::int64_t sent_ = 0;
  std::string pending_{};  // the beginning of a line

  std::shared_ptr<LogReader::Queue> reader_;
  Mutex mutex_{};
  std::string ready_ ATHANOR_GUARDED_BY(mutex_){};
  bool running_ ATHANOR_GUARDED_BY(mutex_);
  bool scheduled_ ATHANOR_GUARDED_BY(mutex_) = false;  // the reader has it
  bool again_ ATHANOR_GUARDED_BY(mutex_) = false;      // something came while it read
  bool ended_ ATHANOR_GUARDED_BY(mutex_) = false;      // nothing comes after ready_
  std::function<void()> wake_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::nodes
