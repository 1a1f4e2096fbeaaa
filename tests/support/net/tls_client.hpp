// SPDX-License-Identifier: Apache-2.0
// A blocking HTTPS client for tests: byte-exact requests, and a strict reading of responses.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace athanor::net {

struct ClientOptions {
  std::string ca_pem{};           // empty: the server is not verified
  std::string certificate_pem{};  // of the client; empty: none
  std::string key_pem{};
  bool offer_http2 = false;
  int receive_buffer = 0;  // bytes of the socket's; 0: the system's choice
};

struct ClientResponse {
  int status = 0;                                // 0: the connection ended before a whole response
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
};

class TlsClient {
 public:
  explicit TlsClient(int port, const ClientOptions& options = {});
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] std::string protocol() const;  // chosen by ALPN
  bool send(std::string_view bytes);
  // New keys, the message of which carries nothing.
  bool update_key();
  // Only the head; what follows is read by read_chunk() or read_body().
  ClientResponse read_head();
  // The whole response to a request with that method.
  ClientResponse read_response(std::string_view method = "GET");
  // The next chunk of a chunked body; "" is its end, nullopt the end of the connection.
  std::optional<std::string> read_chunk();
  // Reads so many bytes, or fewer at the end of the connection; returns how many.
  std::size_t skip(std::size_t size);
  // True when something came, or the end.
  bool readable_within(std::chrono::milliseconds time);
  // True when the server ends the connection and sends nothing before.
  bool at_end();

  ClientResponse get(const std::string& path, const std::string& headers = "");

 private:
  bool fill();
  std::optional<std::string> read_line();
  std::optional<std::string> read_bytes(std::size_t size);

  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  int socket_ = -1;
  bool connected_ = false;
  std::string input_{};
};

}  // namespace athanor::net
