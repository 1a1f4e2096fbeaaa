// SPDX-License-Identifier: Apache-2.0
// The server's side of SPDY/3.1, as far as exec, attach and port-forward use it: streams that the
// client opens, data both ways, half-closes, resets, pings. Without I/O. Windows are not kept: no
// Kubernetes client does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::apiserver {

using SpdyHeaders = std::map<std::string, std::string, std::less<>>;  // names in lower case

// What the client did on one stream.
struct SpdyEvent {
  enum class Type : std::uint8_t { Opened, Data, Reset };
  Type type = Type::Data;
  std::uint32_t stream = 0;
  SpdyHeaders headers{};  // Opened
  std::string data{};     // Data
  bool last = false;      // the client sends nothing more on this stream
};

// One connection. Not thread-safe.
class SpdyConnection {
 public:
  SpdyConnection();
  SpdyConnection(const SpdyConnection&) = delete;
  SpdyConnection& operator=(const SpdyConnection&) = delete;
  ~SpdyConnection();

  void feed(std::string_view bytes);
  std::optional<SpdyEvent> next();
  // Returns true once the client said goodbye, or sent what is no SPDY.
  [[nodiscard]] bool ended() const { return ended_; }

  // Agrees to a stream that was opened.
  void accept(std::uint32_t stream);
  void send(std::uint32_t stream, std::string_view bytes, bool last);
  void reset(std::uint32_t stream);
  // Moves out the output for the client.
  std::string take_output();
  [[nodiscard]] bool has_output() const { return !output_.empty(); }
  // Returns true when the client must read its many answers before it may say more.
  [[nodiscard]] bool congested() const { return output_.size() >= kAnswersLimit; }

 private:
  static constexpr std::size_t kAnswersLimit = std::size_t{64} << 10;  // bytes
  struct Zlib;  // the two compression contexts
  bool read_frame();
  void read_control(unsigned type, unsigned flags, std::string_view payload);
  void control(unsigned type, unsigned flags, std::string_view payload);
  std::optional<SpdyHeaders> headers_of(std::string_view block);

  std::unique_ptr<Zlib> zlib_;
  std::string input_{};
  std::size_t read_ = 0;  // bytes of input_ that were read
  std::string output_{};
  std::deque<SpdyEvent> events_{};
  bool ended_ = false;
};

}  // namespace athanor::apiserver
