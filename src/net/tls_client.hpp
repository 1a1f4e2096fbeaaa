// SPDX-License-Identifier: Apache-2.0
// The client's side of TLS without a socket: bytes in, bytes out. Certificates are not checked, so
// it is for health checks of servers whose address is known, as a kubelet does them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace athanor::net {

// One connection, TLS 1.2 or newer. Not thread-safe.
class UncheckedTlsClient {
 public:
  // Begins the handshake; `server_name` may be empty: nothing is said of it.
  explicit UncheckedTlsClient(const std::string& server_name);
  UncheckedTlsClient(const UncheckedTlsClient&) = delete;
  UncheckedTlsClient& operator=(const UncheckedTlsClient&) = delete;
  ~UncheckedTlsClient();

  // Takes bytes of the server.
  void receive(std::string_view bytes);
  // Encrypts `plain` as soon as the handshake is done.
  void send(std::string_view plain);
  // Returns the bytes for the server since the last call.
  std::string take_output();
  // Returns what the server said since the last call.
  std::string take_plain();
  // Returns why the connection has failed or ended; empty: it goes on.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Free {
    void operator()(ssl_st* stream) const;
    void operator()(ssl_ctx_st* context) const;
  };
  void advance();
  std::unique_ptr<ssl_ctx_st, Free> context_{};
  std::unique_ptr<ssl_st, Free> stream_{};
  std::string waiting_{};  // for the end of the handshake
  std::string plain_{};
  std::string failure_{};
};

}  // namespace athanor::net
