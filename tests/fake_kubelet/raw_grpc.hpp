// SPDX-License-Identifier: Apache-2.0
// gRPC with bytes in place of messages, for tests of what is damaged: calls, and a server that
// answers every call with the same bytes.
#pragma once

#include <memory>
#include <string>

namespace athanor::fake_kubelet {

struct RawAnswer {
  int status = 0;  // of gRPC; 0: OK
  std::string message{};
  std::string body{};
};

// A connection to a unix socket. Calls end after 5 s.
class RawClient {
 public:
  explicit RawClient(const std::string& socket);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  // `method` is "/v1beta1.DevicePlugin/Allocate". Of a stream: the first answer.
  RawAnswer call(const std::string& method, const std::string& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes bytes to a unix socket as they are, and hangs up.
void write_raw(const std::string& socket, const std::string& bytes);

class RawServer {
 public:
  explicit RawServer(const std::string& socket);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer();

  // Thread-safe.
  void answer_with(std::string body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The parts of messages: a varint, and a field of a length and bytes.
std::string varint(unsigned long long number);
std::string field(int number, const std::string& bytes);

}  // namespace athanor::fake_kubelet
