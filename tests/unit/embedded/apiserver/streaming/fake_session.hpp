// SPDX-License-Identifier: Apache-2.0
// A PodSession whose other side is the test, and a client's SPDY frames.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/apiserver/streaming/pod_streams.hpp"

namespace athanor::apiserver::test {

struct SessionLog {
  std::string input{};
  int writes = 0;
  bool input_closed = false;
  std::vector<std::pair<unsigned, unsigned>> sizes{};
  std::string out{};
  std::string err{};
  std::optional<int> exit_code{};
  std::string failure{};
  std::size_t unread = 0;
  bool gone = false;
};

class FakeSession final : public PodSession {
 public:
  explicit FakeSession(std::shared_ptr<SessionLog> log) : log_(std::move(log)) {}
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;
  ~FakeSession() override { log_->gone = true; }
  void write(std::string_view bytes) override {
    log_->input += bytes;
    ++log_->writes;
  }
  void close_input() override { log_->input_closed = true; }
  [[nodiscard]] std::size_t unread() const override { return log_->unread; }
  void resize(unsigned columns, unsigned rows) override { log_->sizes.emplace_back(columns, rows); }
  void take(Output& output, std::size_t /*limit*/) override {
    output.out = std::exchange(log_->out, {});
    output.err = std::exchange(log_->err, {});
    output.exit_code = log_->exit_code;
    output.failure = log_->failure;
  }
  void on_ready(std::function<void()> /*wake*/) override {}

 private:
  std::shared_ptr<SessionLog> log_;
};

class FakeStreams final : public PodStreams {
 public:
  Result<std::unique_ptr<PodSession>> exec(const Key& /*pod*/, std::string_view /*uid*/,
                                           const ExecOptions& options) override {
    last = options;
    if (!runs) {
      return Error::not_found("container not found (\"c\")");
    }
    return std::unique_ptr<PodSession>(std::make_unique<FakeSession>(log));
  }
  Result<std::unique_ptr<PodSession>> attach(const Key& pod, std::string_view uid,
                                             const ExecOptions& options) override {
    return exec(pod, uid, options);
  }
  Result<std::unique_ptr<PodSession>> connect(const Key& /*pod*/, std::string_view /*uid*/,
                                              std::uint16_t port) override {
    ports.push_back(port);
    return std::unique_ptr<PodSession>(std::make_unique<FakeSession>(log));
  }

  std::shared_ptr<SessionLog> log = std::make_shared<SessionLog>();
  bool runs = true;
  ExecOptions last{};
  std::vector<std::uint16_t> ports{};
};

inline std::string number(std::size_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i > 0; --i) {
    const std::size_t place = i - 1;  // of the byte; the value has none beyond its own size
    bytes += place < sizeof value ? static_cast<char>((value >> (8 * place)) & 0xFFU) : '\0';
  }
  return bytes;
}

// The client's side of SPDY; its headers are compressed without the dictionary, which is allowed.
class SpdyClient {
 public:
  SpdyClient() { deflateInit(&zlib_, Z_BEST_SPEED); }
  SpdyClient(const SpdyClient&) = delete;
  SpdyClient& operator=(const SpdyClient&) = delete;
  ~SpdyClient() { deflateEnd(&zlib_); }

  using Headers = std::map<std::string, std::string>;
  // Several, in this order: they share a compression context.
  std::string open_all(const std::vector<std::pair<std::uint32_t, Headers>>& streams) {
    std::string bytes;
    for (const auto& [stream, headers] : streams) {
      bytes += open(stream, headers);
    }
    return bytes;
  }
  std::string open(std::uint32_t stream, const Headers& headers) {
    std::string text = number(headers.size(), 4);
    for (const auto& [name, value] : headers) {
      text += number(name.size(), 4) + name + number(value.size(), 4) + value;
    }
    std::string block(4096, '\0');
    zlib_.next_in = reinterpret_cast<Bytef*>(text.data());
    zlib_.avail_in = static_cast<uInt>(text.size());
    zlib_.next_out = reinterpret_cast<Bytef*>(block.data());
    zlib_.avail_out = static_cast<uInt>(block.size());
    deflate(&zlib_, Z_SYNC_FLUSH);
    block.resize(block.size() - zlib_.avail_out);
    return control(1, 0, number(stream, 4) + number(0, 6) + block);
  }
  static std::string control(unsigned type, unsigned flags, const std::string& payload) {
    return number(0x80030000U | type, 4) + number(flags, 1) + number(payload.size(), 3) + payload;
  }
  static std::string data(std::uint32_t stream, const std::string& bytes, bool last) {
    return number(stream, 4) + number(last ? 1 : 0, 1) + number(bytes.size(), 3) + bytes;
  }

 private:
  z_stream zlib_{};
};

}  // namespace athanor::apiserver::test
