// SPDX-License-Identifier: Apache-2.0
// gRPC over HTTP/2 without TLS on unix sockets, unary or with a stream of answers: the protocol of
// kubelets and device plugins. client/unix_grpc.hpp makes calls (docs/decisions/own-grpc.md).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/http.hpp"

namespace athanor::net {

// Status codes of gRPC that servers of this program use.
inline constexpr int kGrpcOk = 0;
inline constexpr int kGrpcUnknown = 2;
inline constexpr int kGrpcInvalidArgument = 3;
inline constexpr int kGrpcResourceExhausted = 8;
inline constexpr int kGrpcFailedPrecondition = 9;
inline constexpr int kGrpcUnimplemented = 12;
inline constexpr int kGrpcInternal = 13;
inline constexpr int kGrpcUnavailable = 14;

// Answer of a call: a status with a message, an encoded message, or a stream of messages.
struct GrpcAnswer {
  int status = kGrpcOk;
  std::string message{};  // of an error
  std::string body{};     // the encoded message of an answer
  // Set: the answer's messages, each framed by grpc_frame(); the status follows their end.
  std::unique_ptr<Stream> stream{};
};

// Returns an encoded message with gRPC's prefix: not compressed, its length.
std::string grpc_frame(std::string_view message);

// Limits of a GrpcServer.
struct GrpcServerLimits {
  std::size_t request = std::size_t{1} << 16;  // bytes of one argument
  std::size_t clients = 64;                    // of one socket; more are turned away
};

// Serves any number of sockets on one thread of its own until destroyed.
class GrpcServer {
 public:
  // Answers a call once, from any thread; does nothing when the client or the server is gone.
  using Reply = std::function<void(GrpcAnswer answer)>;
  // `method` is "/v1.PodResourcesLister/List", `message` its encoded argument. Runs on the server's
  // thread and must not block for long.
  using Handle =
      std::function<void(std::string_view method, std::string_view message, const Reply& reply)>;

  explicit GrpcServer(const GrpcServerLimits& limits = {});
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

}  // namespace athanor::net
