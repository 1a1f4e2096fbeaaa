// SPDX-License-Identifier: Apache-2.0
// The client's side of one TLS connection that agreed to HTTP/2.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace athanor::bench {

class TlsSocket {
 public:
  // Waits for the connection and the handshake; does not wait from then on. The server's
  // certificate has to be good for `host`.
  static Result<TlsSocket> connect(const std::string& host, const std::string& port,
                                   const std::string& ca_file);
  TlsSocket(TlsSocket&& other) noexcept;
  TlsSocket& operator=(TlsSocket&&) = delete;
  ~TlsSocket();

  [[nodiscard]] int descriptor() const { return socket_; }
  // How many bytes came (went); 0: none now. An error when the connection is over.
  Result<std::size_t> read(std::span<char> buffer);
  Result<std::size_t> write(std::string_view bytes);

 private:
  struct Free {
    void operator()(ssl_st* stream) const;
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsSocket(int socket) : socket_(socket) {}
  Result<void> shake_hands(const std::string& host, const std::string& ca_file);
  Result<std::size_t> count_of(int result, std::size_t count);

  int socket_;
  std::unique_ptr<ssl_ctx_st, Free> context_{};
  std::unique_ptr<ssl_st, Free> stream_{};
};

}  // namespace athanor::bench
