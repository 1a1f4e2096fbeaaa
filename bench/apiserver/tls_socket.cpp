// SPDX-License-Identifier: Apache-2.0
#include "apiserver/tls_socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace athanor::bench {
namespace {

Result<int> connect_to(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return Error::unavailable("no address for " + host);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || ::connect(socket, found->ai_addr, found->ai_addrlen) != 0) {
    if (socket >= 0) {
      ::close(socket);
    }
    return Error::unavailable("cannot connect to " + host + ":" + port);
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

Error tls_error(const std::string& what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return Error::unavailable(what + ": " + text.data());
}

}  // namespace

void TlsSocket::Free::operator()(ssl_st* stream) const {
  SSL_free(stream);
}
void TlsSocket::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

TlsSocket::TlsSocket(TlsSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      context_(std::move(other.context_)),
      stream_(std::move(other.stream_)) {}

TlsSocket::~TlsSocket() {
  stream_.reset();
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

Result<TlsSocket> TlsSocket::connect(const std::string& host, const std::string& port,
                                     const std::string& ca_file) {
  ATHANOR_TRY(const int socket, connect_to(host, port));
  TlsSocket made(socket);
  ATHANOR_TRY_VOID(made.shake_hands(host, ca_file));
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  return made;
}

Result<void> TlsSocket::shake_hands(const std::string& host, const std::string& ca_file) {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context_.get(), 1);
  if (SSL_CTX_load_verify_file(context_.get(), ca_file.c_str()) != 1) {
    return tls_error("cannot read " + ca_file);
  }
  stream_.reset(SSL_new(context_.get()));
  SSL_set_fd(stream_.get(), socket_);
  SSL_set_alpn_protos(stream_.get(), kHttp2.data(), kHttp2.size());
  X509_VERIFY_PARAM* expected = SSL_get0_param(stream_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    SSL_set_tlsext_host_name(stream_.get(), host.c_str());
  }
  ERR_clear_error();
  if (SSL_connect(stream_.get()) != 1) {
    return tls_error("no TLS with " + host);
  }
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(stream_.get(), &chosen, &size);
  if (size != 2) {
    return Error::unavailable(host + " does not speak HTTP/2");
  }
  return {};
}

Result<std::size_t> TlsSocket::count_of(int result, std::size_t count) {
  if (result == 1) {
    return count;
  }
  const int error = SSL_get_error(stream_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    return std::size_t{0};
  }
  return tls_error("the connection is lost");
}

Result<std::size_t> TlsSocket::read(std::span<char> buffer) {
  std::size_t count = 0;
  ERR_clear_error();
  const int result = SSL_read_ex(stream_.get(), buffer.data(), buffer.size(), &count);
  return count_of(result, count);
}

Result<std::size_t> TlsSocket::write(std::string_view bytes) {
  std::size_t count = 0;
  ERR_clear_error();
  const int result = SSL_write_ex(stream_.get(), bytes.data(), bytes.size(), &count);
  return count_of(result, count);
}

}  // namespace athanor::bench
