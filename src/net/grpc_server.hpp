// SPDX-License-Identifier: Apache-2.0
// Unary gRPC over HTTP/2 without TLS on unix sockets: what kubelets and device plugins speak.
// (Calls are made by client/unix_grpc.hpp.)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace athanor::transport {

// Status codes of gRPC that servers of this program use.
inline constexpr int kGrpcOk = 0;
inline constexpr int kGrpcUnknown = 2;
inline constexpr int kGrpcInvalidArgument = 3;
inline constexpr int kGrpcUnimplemented = 12;
inline constexpr int kGrpcUnavailable = 14;

// Answer of a call: a status with a message, or an encoded message.
struct GrpcAnswer {
  int status = kGrpcOk;
  std::string message{};  // of an error
  std::string body{};     // the encoded message of an answer
};

// Serves any number of sockets on one thread of its own until destroyed.
class GrpcServer {
 public:
  // `method` is "/v1.PodResourcesLister/List", `message` its encoded argument. Runs on the server's
  // thread and must not block for long.
  using Handle = std::function<GrpcAnswer(std::string_view method, std::string_view message)>;

  GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  // Ends every connection and removes the sockets.
  ~GrpcServer();

  // Listens at `path` (listen_at_path()). May be called by one thread at a time.
  Result<void> open(const std::string& path, Handle handle);
  // Ends the socket's connections and removes it.
  void close(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::transport
