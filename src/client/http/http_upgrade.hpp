// SPDX-License-Identifier: Apache-2.0
// HTTP requests whose connection becomes something else (101 Switching Protocols): WebSocket, SPDY.
// One thread for each such connection: they are few and last.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "base/mutex.hpp"
#include "base/unique_function.hpp"
#include "client/http/async_http.hpp"

namespace athanor::client {

// Bytes both ways. Thread-safe; letting go of it ends the connection.
class HttpChannel : public HttpBody {
 public:
  // Sends bytes to the other side. Never blocks.
  virtual void feed(std::string_view bytes) = 0;
  // Returns false when no more bytes shall come until the next wake.
  [[nodiscard]] virtual bool wants_more() const = 0;
};

// The answer to an upgrade: with status 101 the channel, else the reply alone.
struct UpgradeReply {
  HttpReply reply{};  // with another status than 101: the whole answer
  std::shared_ptr<HttpChannel> channel{};
};

// Thread-safe.
class HttpUpgrades {
 public:
  using Done = UniqueFunction<void(UpgradeReply)>;

  HttpUpgrades();
  HttpUpgrades(const HttpUpgrades&) = delete;
  HttpUpgrades& operator=(const HttpUpgrades&) = delete;
  ~HttpUpgrades();  // stops

  // Sends a `query` that names the protocol in its headers. Calls `done` once, on a thread of the
  // connection's own.
  void send(HttpQuery query, Done done);
  // Ends all connections.
  void stop();

 private:
  struct Link;
  struct Running;
  void reap() ATHANOR_REQUIRES(mutex_);

  Mutex mutex_{};
  bool stopping_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::uint64_t last_id_ ATHANOR_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::shared_ptr<Running>> running_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::client
