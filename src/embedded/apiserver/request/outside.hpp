// SPDX-License-Identifier: Apache-2.0
// What the server asks of the world outside: webhooks and aggregated API servers. The server itself
// opens no socket; its host provides an Outside.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_function.hpp"
#include "embedded/apiserver/request/http.hpp"

namespace athanor::apiserver {

// One HTTPS request.
struct OutsideRequest {
  std::string method = "POST";
  std::string url{};  // its host is the name that the peer's certificate must carry
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::string ca_pem{};      // trusted for this request alone; empty: the system's roots
  std::string connect_to{};  // "HOST:PORT" to dial instead of the URL's; may be empty
  bool insecure_skip_verify = false;
  bool link_local = false;  // 169.254.0.0/16 and fe80::/10 may be dialled
  // The certificate to show, and its key; may be empty.
  std::string certificate_pem{};
  std::string key_pem{};
  std::chrono::milliseconds timeout{10'000};  // to the end of the answer (of its head: a stream)
  std::size_t response_limit = std::size_t{16} << 20;  // bytes of a body; more is a failure
  bool stream = false;  // the answer comes with its head, the body follows as a stream
  // The headers ask for another protocol; the answer 101 comes with a channel.
  bool upgrade = false;
};

// The answer to an OutsideRequest, or why there is none.
struct OutsideAnswer {
  // Why there is no answer, in the words that Go's client has for it ("dial tcp 127.0.0.1:1:
  // connect: connection refused"); empty: there is one.
  std::string failure{};
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};  // names in lower case
  std::string body{};
  std::shared_ptr<Stream> stream{};
  std::shared_ptr<Tunnel> channel{};  // status 101: what the connection has become

  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

// Thread-safe.
class Outside {
 public:
  virtual ~Outside() = default;
  // Calls `done` exactly once, perhaps at once, else on a thread of its own; `done` must not block.
  // An Outside that was stopped answers with a failure.
  virtual void ask(OutsideRequest request, UniqueFunction<void(OutsideAnswer)> done) = 0;
};

}  // namespace athanor::apiserver
