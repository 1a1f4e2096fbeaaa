// SPDX-License-Identifier: Apache-2.0
// Asynchronous HTTPS requests: one thread drives all of them, connections are kept and
// used again. What the embedded API server calls webhooks with.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_function.hpp"

namespace athanor::client {

// One request of an AsyncHttp.
struct HttpQuery {
  std::string method = "GET";
  std::string url{};  // https://...; its host is what the server's certificate must name
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::string ca_pem{};           // trusted for this request; empty: the system's roots
  std::string certificate_pem{};  // of the client, with key_pem; may be empty
  std::string key_pem{};
  std::string connect_to{};  // "HOST:PORT" to dial instead of the URL's; may be empty
  bool insecure_skip_verify = false;
  bool link_local = false;                    // 169.254.0.0/16 and fe80::/10 may be dialled
  std::chrono::milliseconds delay{0};         // waits so long before it is sent
  std::chrono::milliseconds timeout{10'000};  // to the last byte; of a stream: to its head
  std::size_t response_limit = std::size_t{16} << 20;
  bool stream = false;  // done() comes with the head; HttpReply::stream is the body
};

// A body that goes on. Thread-safe; letting go of it ends the request.
class HttpBody {
 public:
  virtual ~HttpBody() = default;
  // Appends what has come; false: nothing more will. Never blocks.
  virtual bool pull(std::string& out) = 0;
  // Sets `wake`, called on the client's thread whenever there may be something new; empty: never
  // again, once this returns.
  virtual void on_ready(std::function<void()> wake) = 0;
};

// The answer to an HttpQuery, or why there is none.
struct HttpReply {
  std::string failure{};  // why there is no answer, as Go's net/http words it; empty: there is one
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};  // names in lower case
  std::string body{};
  std::shared_ptr<HttpBody> stream{};
};

// Thread-safe.
class AsyncHttp {
 public:
  using Done = UniqueFunction<void(HttpReply)>;

  // Limits the connections open at once to `most_connections`; 0: any number.
  explicit AsyncHttp(long most_connections = 0);
  AsyncHttp(const AsyncHttp&) = delete;
  AsyncHttp& operator=(const AsyncHttp&) = delete;
  ~AsyncHttp();  // stops

  // Calls `done` once, on the client's thread; it must not block. After stop() at once, with a
  // failure. Refuses a query with control bytes in its head (header_text.hpp).
  void send(HttpQuery query, Done done);
  // Ends what is under way with a failure.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the streams that outlive this
};

}  // namespace athanor::client
