// SPDX-License-Identifier: Apache-2.0
// The server side of TLS on a non-blocking socket: OpenSSL without Asio's buffers, so that an idle
// connection costs little. For the .cpp files of transport/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/http.hpp"

struct ssl_st;
struct ssl_ctx_st;
struct x509_store_st;

namespace athanor::net {

// TLS 1.2 and newer, ECDHE only, ALPN h2 (unless set otherwise) and
// http/1.1, no resumption. Client certificates are asked for
// when there is a client CA, never required. Shared by all connections; thread-safe.
class TlsContext {
 public:
  // Requires PEM texts; certificate_pem may carry a chain, client_ca_pem and front_proxy_ca_pem (of
  // authenticating proxies) may be empty.
  static Result<TlsContext> create(const std::string& certificate_pem, const std::string& key_pem,
                                   const std::string& client_ca_pem, bool http2 = true,
                                   const std::string& front_proxy_ca_pem = {});
  // Refuses TLS 1.2 from now on.
  Result<void> demand_tls13();
  // Allows of TLS 1.2 these ciphers alone, by their IANA names; those of TLS 1.3 cannot be chosen.
  // A list of ciphers of TLS 1.3 alone refuses TLS 1.2. Errors name unknown ciphers, and change
  // nothing.
  Result<void> choose_ciphers(std::span<const std::string> names);
  TlsContext(TlsContext&&) noexcept;
  TlsContext& operator=(TlsContext&&) noexcept;
  ~TlsContext();

 private:
  friend class TlsStream;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context);
  struct FreeStore {
    void operator()(x509_store_st* store) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::unique_ptr<x509_store_st, FreeStore> front_proxies_{};  // null: there are none
};

// What OpenSSL's calls back into tls.cpp work on.
struct TlsCalls {
  int socket = -1;
  int receives_left = 0;  // of this call
  int key_updates = 0;    // by the client
  bool certificate_rejected = false;
};

// One connection; the socket stays the caller's. One thread at a time.
class TlsStream {
 public:
  enum class Outcome : std::uint8_t { Done, WantRead, WantWrite, Closed };

  TlsStream(const TlsContext& context, int socket);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream();

  Outcome handshake();
  // Reads. Done: `size` bytes came (went). WantRead may also mean: enough for one call.
  Outcome read(std::span<char> buffer, std::size_t& size);
  Outcome write(std::string_view bytes, std::size_t& size);
  // Notifies the peer that nothing more will come; best effort.
  void shutdown();
  // Returns true, after the handshake, if the client agreed to HTTP/2.
  [[nodiscard]] bool http2() const;
  // Returns the content of the client's certificate, after the handshake.
  [[nodiscard]] net::Credentials credentials() const;

 private:
  struct Free {
    void operator()(ssl_st* stream) const;
  };
  Outcome outcome_of(int result);
  // Returns true if the certificate is one of an authenticating proxy.
  [[nodiscard]] bool verifies_as_front_proxy() const;
  const TlsContext& context_;
  std::unique_ptr<ssl_st, Free> stream_;
  TlsCalls calls_{};
};

}  // namespace athanor::net
