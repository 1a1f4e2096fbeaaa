// SPDX-License-Identifier: Apache-2.0
// The tests' HTTPS client.
#include "support/net/tls_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>

#include "net/crypto.hpp"

namespace athanor::net {
namespace {

constexpr int kTimeoutSeconds = 20;  // a hanging server fails the test

int connect_to(int port, int receive_buffer) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval timeout{};
  timeout.tv_sec = kTimeoutSeconds;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (receive_buffer > 0) {
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

std::size_t number(const std::string& text, int base) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

TlsClient::TlsClient(int port, const ClientOptions& options)
    : context_(SSL_CTX_new(TLS_client_method())),
      socket_(connect_to(port, options.receive_buffer)) {
  std::signal(SIGPIPE, SIG_IGN);  // servers close connections that tests still write to
  if (!options.certificate_pem.empty()) {
    const auto chain = parse_certificates(options.certificate_pem);
    const auto key = parse_key(options.key_pem);
    SSL_CTX_use_certificate(context_.get(), chain->front().get());
    SSL_CTX_use_PrivateKey(context_.get(), key->get());
  }
  if (!options.ca_pem.empty()) {
    const auto authorities = parse_certificates(options.ca_pem);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authorities->front().get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  SSL_CTX_set_options(context_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  static constexpr std::array<unsigned char, 12> kOffer = {2,   'h', '2', 8,   'h', 't',
                                                           't', 'p', '/', '1', '.', '1'};
  const std::size_t from = options.offer_http2 ? 0 : 3;
  SSL_CTX_set_alpn_protos(context_.get(), kOffer.data() + from,
                          static_cast<unsigned>(kOffer.size() - from));
  ssl_.reset(SSL_new(context_.get()));
  SSL_set1_host(ssl_.get(), "localhost");
  SSL_set_fd(ssl_.get(), socket_);
  connected_ = socket_ >= 0 && SSL_connect(ssl_.get()) == 1;
}

TlsClient::~TlsClient() {
  ssl_.reset();
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

std::string TlsClient::protocol() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

bool TlsClient::send(std::string_view bytes) {
  return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

bool TlsClient::update_key() {
  return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
         SSL_do_handshake(ssl_.get()) == 1;
}

bool TlsClient::fill() {
  std::array<char, 16 * 1024> block{};
  const int size = SSL_read(ssl_.get(), block.data(), block.size());
  if (size <= 0) {
    return false;
  }
  input_.append(block.data(), static_cast<std::size_t>(size));
  return true;
}

std::optional<std::string> TlsClient::read_line() {
  while (true) {
    if (const std::size_t end = input_.find("\r\n"); end != std::string::npos) {
      std::string line = input_.substr(0, end);
      input_.erase(0, end + 2);
      return line;
    }
    if (!fill()) {
      return std::nullopt;
    }
  }
}

std::optional<std::string> TlsClient::read_bytes(std::size_t size) {
  while (input_.size() < size) {
    if (!fill()) {
      return std::nullopt;
    }
  }
  std::string bytes = input_.substr(0, size);
  input_.erase(0, size);
  return bytes;
}

ClientResponse TlsClient::read_head() {
  ClientResponse response;
  const auto status_line = read_line();
  if (!status_line || !status_line->starts_with("HTTP/1.1 ")) {
    return response;
  }
  response.status = static_cast<int>(number(status_line->substr(9, 3), 10));
  while (true) {
    const auto line = read_line();
    if (!line) {
      return {};
    }
    if (line->empty()) {
      return response;
    }
    const std::size_t colon = line->find(": ");
    std::string name = line->substr(0, colon);
    for (char& c : name) {
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    response.headers[name] = line->substr(colon + 2);
  }
}

std::optional<std::string> TlsClient::read_chunk() {
  const auto size_line = read_line();
  if (!size_line) {
    return std::nullopt;
  }
  auto chunk = read_bytes(number(*size_line, 16));
  return read_line() == "" ? chunk : std::nullopt;
}

ClientResponse TlsClient::read_response(std::string_view method) {
  ClientResponse response = read_head();
  if (method == "HEAD" || response.status == 204 || response.status == 100) {
    return response;
  }
  if (response.headers["transfer-encoding"] == "chunked") {
    for (auto chunk = read_chunk(); chunk && !chunk->empty(); chunk = read_chunk()) {
      response.body += *chunk;
    }
    return response;
  }
  if (const auto length = response.headers.find("content-length");
      length != response.headers.end()) {
    const auto body = read_bytes(number(length->second, 10));
    if (!body) {
      return {};
    }
    response.body = *body;
    return response;
  }
  while (fill()) {
  }
  response.body = std::exchange(input_, {});
  return response;
}

std::size_t TlsClient::skip(std::size_t size) {
  std::size_t read = 0;
  while (read < size && (!input_.empty() || fill())) {
    const std::size_t part = std::min(size - read, input_.size());
    input_.erase(0, part);
    read += part;
  }
  return read;
}

bool TlsClient::readable_within(std::chrono::milliseconds time) {
  pollfd waited{.fd = socket_, .events = POLLIN, .revents = 0};
  return !input_.empty() || SSL_pending(ssl_.get()) > 0 ||
         ::poll(&waited, 1, static_cast<int>(time.count())) > 0;
}

bool TlsClient::at_end() {
  return input_.empty() && !fill() && errno != EAGAIN;
}

ClientResponse TlsClient::get(const std::string& path, const std::string& headers) {
  send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return read_response();
}

}  // namespace athanor::net
