// SPDX-License-Identifier: Apache-2.0
// OpenSSL between two memory BIOs.
#include "net/tls_client.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace athanor::net {
namespace {

std::string last_tls_failure() {
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "connection closed" : reason;
}

}  // namespace

void UncheckedTlsClient::Free::operator()(ssl_st* stream) const {
  SSL_free(stream);
}

void UncheckedTlsClient::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

UncheckedTlsClient::UncheckedTlsClient(const std::string& server_name)
    : context_(SSL_CTX_new(TLS_client_method())) {
  if (context_) {
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    stream_.reset(SSL_new(context_.get()));
  }
  BIO* input = BIO_new(BIO_s_mem());
  BIO* output = BIO_new(BIO_s_mem());
  if (!stream_ || input == nullptr || output == nullptr) {
    BIO_free(input);
    BIO_free(output);
    stream_.reset();
    failure_ = last_tls_failure();
    return;
  }
  BIO_set_mem_eof_return(input, -1);
  SSL_set_bio(stream_.get(), input, output);  // it owns them
  SSL_set_connect_state(stream_.get());
  if (!server_name.empty()) {
    SSL_set_tlsext_host_name(stream_.get(), server_name.c_str());
  }
  advance();
}

UncheckedTlsClient::~UncheckedTlsClient() = default;

void UncheckedTlsClient::receive(std::string_view bytes) {
  if (failure_.empty() && !bytes.empty()) {
    const auto size = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
    BIO_write(SSL_get_rbio(stream_.get()), bytes.data(), size);
  }
  advance();
}

void UncheckedTlsClient::send(std::string_view plain) {
  waiting_ += plain;
  advance();
}

std::string UncheckedTlsClient::take_output() {
  std::string bytes;
  if (!stream_) {
    return bytes;
  }
  char chunk[4096];
  BIO* output = SSL_get_wbio(stream_.get());
  for (int count = BIO_read(output, chunk, sizeof chunk); count > 0;
       count = BIO_read(output, chunk, sizeof chunk)) {
    bytes.append(chunk, static_cast<std::size_t>(count));
  }
  return bytes;
}

std::string UncheckedTlsClient::take_plain() {
  return std::exchange(plain_, {});
}

void UncheckedTlsClient::advance() {
  if (!failure_.empty()) {
    return;
  }
  const auto failed = [this](int result) {
    const int error = SSL_get_error(stream_.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      ERR_clear_error();
      return;
    }
    failure_ = error == SSL_ERROR_ZERO_RETURN ? "EOF" : last_tls_failure();
  };
  ERR_clear_error();
  if (!SSL_is_init_finished(stream_.get())) {
    if (const int result = SSL_do_handshake(stream_.get()); result != 1) {
      return failed(result);
    }
  }
  if (!waiting_.empty()) {
    const int result = SSL_write(stream_.get(), waiting_.data(), static_cast<int>(waiting_.size()));
    if (result <= 0) {
      return failed(result);
    }
    waiting_.erase(0, static_cast<std::size_t>(result));
  }
  char chunk[16384];
  int count = SSL_read(stream_.get(), chunk, sizeof chunk);
  for (; count > 0; count = SSL_read(stream_.get(), chunk, sizeof chunk)) {
    plain_.append(chunk, static_cast<std::size_t>(count));
  }
  failed(count);
}

}  // namespace athanor::net
