// SPDX-License-Identifier: Apache-2.0
// TLS by OpenSSL over an own BIO: send() without SIGPIPE, straight on the socket.
#include "net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/digest.hpp"
#include "net/crypto.hpp"

namespace athanor::net {
namespace {

// OpenSSL goes on reading while records carry nothing for us: enough for one record of any size.
constexpr int kReceives = 4;
// Of a connection; one is due after 2^24 records. Each costs a derivation of keys.
constexpr int kMostKeyUpdates = 64;

// The BIO's data are the TlsStream's calls.
TlsCalls& calls_of(BIO* bio) {
  return *static_cast<TlsCalls*>(BIO_get_data(bio));
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int socket_read(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  TlsCalls& calls = calls_of(bio);
  if (calls.key_updates > kMostKeyUpdates) {
    return -1;
  }
  if (calls.receives_left-- <= 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const auto got = ::recv(calls.socket, buffer, static_cast<std::size_t>(size), 0);
  if (got < 0 && would_block()) {
    BIO_set_retry_read(bio);
  }
  return static_cast<int>(got);
}

int socket_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent =
      ::send(calls_of(bio).socket, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && would_block()) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(sent);
}

long socket_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

struct FreeMethod {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> kMethod = [] {
    std::unique_ptr<BIO_METHOD, FreeMethod> method(
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "athanor socket"));
    BIO_meth_set_read(method.get(), socket_read);
    BIO_meth_set_write(method.get(), socket_write);
    BIO_meth_set_ctrl(method.get(), socket_control);
    return method;
  }();
  return kMethod.get();
}

// `without_h2` is null where HTTP/2 is spoken.
int choose_protocol(ssl_st* /*stream*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void* without_h2) {
  static constexpr std::array<unsigned char, 12> kProtocols = {2,   'h', '2', 8,   'h', 't',
                                                               't', 'p', '/', '1', '.', '1'};
  constexpr std::size_t kH2Size = 3;
  const std::size_t from = without_h2 == nullptr ? 0 : kH2Size;
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, kProtocols.data() + from,
                            static_cast<unsigned>(kProtocols.size() - from), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// A certificate that does not verify is noted; whether that matters is the API server's decision.
int note_verification(int ok, X509_STORE_CTX* verification) {
  if (ok == 0) {
    const auto* stream = static_cast<ssl_st*>(
        X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
    static_cast<TlsCalls*>(SSL_get_app_data(stream))->certificate_rejected = true;
  }
  return 1;
}

void count_key_updates(const ssl_st* stream, int where, int /*result*/) {
  if ((where & SSL_CB_LOOP) != 0 && SSL_get_state(stream) == TLS_ST_SR_KEY_UPDATE) {
    ++static_cast<TlsCalls*>(SSL_get_app_data(stream))->key_updates;
  }
}

Result<void> use_chain(ssl_ctx_st* context, const std::string& certificate_pem,
                       const std::string& key_pem) {
  ATHANOR_TRY(const auto chain, parse_certificates(certificate_pem));
  ATHANOR_TRY(const auto key, parse_key(key_pem));
  bool ok = SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
            SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    ok = ok && SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  if (!ok) {
    return openssl_error("cannot use the serving certificate");
  }
  return {};
}

Result<void> ask_for_clients(ssl_ctx_st* context, const std::string& client_ca_pem) {
  ATHANOR_TRY(const auto authorities, parse_certificates(client_ca_pem));
  for (const CertificatePtr& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return openssl_error("cannot use the client CA");
    }
  }
  return {};
}

std::vector<std::string> name_entries(const X509_NAME* name, int id) {
  std::vector<std::string> texts;
  for (int at = X509_NAME_get_index_by_NID(name, id, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, id, at)) {
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size >= 0) {
      texts.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
      OPENSSL_free(text);
    }
  }
  return texts;
}

}  // namespace

void TlsContext::FreeStore::operator()(x509_store_st* store) const {
  X509_STORE_free(store);
}
void TlsContext::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}
TlsContext::TlsContext(ssl_ctx_st* context) : context_(context) {}
TlsContext::TlsContext(TlsContext&&) noexcept = default;
TlsContext& TlsContext::operator=(TlsContext&&) noexcept = default;
TlsContext::~TlsContext() = default;

Result<void> TlsContext::demand_tls13() {
  return SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION) == 1
             ? Result<void>()
             : openssl_error("cannot demand TLS 1.3");
}

Result<void> TlsContext::choose_ciphers(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) {
    const std::string_view known(OPENSSL_cipher_name(name.c_str()));
    if (known == "(NONE)") {
      return Error::bad_request("unknown cipher suite \"" + name + "\"");
    }
    if (!known.starts_with("TLS_")) {
      list += (list.empty() ? "" : ":") + std::string(known);
    }
  }
  if (list.empty()) {
    return names.empty() ? Result<void>() : demand_tls13();
  }
  return SSL_CTX_set_cipher_list(context_.get(), list.c_str()) == 1
             ? Result<void>()
             : openssl_error("cannot choose ciphers");
}

Result<TlsContext> TlsContext::create(const std::string& certificate_pem,
                                      const std::string& key_pem, const std::string& client_ca_pem,
                                      bool http2, const std::string& front_proxy_ca_pem) {
  TlsContext made(SSL_CTX_new(TLS_server_method()));
  ssl_ctx_st* context = made.context_.get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    return openssl_error("cannot set up TLS");
  }
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_read_ahead(context, 1);  // one system call a record instead of two
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_info_callback(context, count_key_updates);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, http2 ? nullptr : context);
  ATHANOR_TRY_VOID(use_chain(context, certificate_pem, key_pem));
  if (!client_ca_pem.empty()) {
    ATHANOR_TRY_VOID(ask_for_clients(context, client_ca_pem));
  }
  if (!front_proxy_ca_pem.empty()) {
    made.front_proxies_.reset(X509_STORE_new());
    ATHANOR_TRY(const auto authorities, parse_certificates(front_proxy_ca_pem));
    for (const CertificatePtr& authority : authorities) {
      if (X509_STORE_add_cert(made.front_proxies_.get(), authority.get()) != 1 ||
          SSL_CTX_add_client_CA(context, authority.get()) != 1) {
        return openssl_error("cannot use the CA of authenticating proxies");
      }
    }
  }
  if (!client_ca_pem.empty() || !front_proxy_ca_pem.empty()) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_verification);
  }
  return made;
}

void TlsStream::Free::operator()(ssl_st* stream) const {
  SSL_free(stream);
}

TlsStream::TlsStream(const TlsContext& context, int socket)
    : context_(context), stream_(SSL_new(context.context_.get())), calls_{.socket = socket} {
  BIO* bio = BIO_new(socket_method());
  BIO_set_data(bio, &calls_);
  BIO_set_init(bio, 1);
  SSL_set_bio(stream_.get(), bio, bio);
  SSL_set_app_data(stream_.get(), &calls_);
  SSL_set_accept_state(stream_.get());
}
TlsStream::~TlsStream() = default;

TlsStream::Outcome TlsStream::outcome_of(int result) {
  switch (SSL_get_error(stream_.get(), result)) {
    case SSL_ERROR_NONE:
      return Outcome::Done;
    case SSL_ERROR_WANT_READ:
      return Outcome::WantRead;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::WantWrite;
    default:
      ERR_clear_error();
      return Outcome::Closed;
  }
}

TlsStream::Outcome TlsStream::handshake() {
  ERR_clear_error();
  calls_.receives_left = kReceives;
  return outcome_of(SSL_do_handshake(stream_.get()));
}

TlsStream::Outcome TlsStream::read(std::span<char> buffer, std::size_t& size) {
  ERR_clear_error();
  calls_.receives_left = kReceives;
  return outcome_of(SSL_read_ex(stream_.get(), buffer.data(), buffer.size(), &size));
}

TlsStream::Outcome TlsStream::write(std::string_view bytes, std::size_t& size) {
  ERR_clear_error();
  calls_.receives_left = kReceives;
  return outcome_of(SSL_write_ex(stream_.get(), bytes.data(), bytes.size(), &size));
}

void TlsStream::shutdown() {
  ERR_clear_error();
  if (SSL_is_init_finished(stream_.get()) == 1) {
    SSL_shutdown(stream_.get());
    ERR_clear_error();
  }
}

bool TlsStream::http2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(stream_.get(), &name, &size);
  return size == 2 && name[0] == 'h' && name[1] == '2';
}

bool TlsStream::verifies_as_front_proxy() const {
  if (context_.front_proxies_ == nullptr) {
    return false;
  }
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> verification(
      X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  const bool ok = verification != nullptr &&
                  X509_STORE_CTX_init(verification.get(), context_.front_proxies_.get(),
                                      SSL_get0_peer_certificate(stream_.get()),
                                      SSL_get_peer_cert_chain(stream_.get())) == 1 &&
                  X509_STORE_CTX_set_default(verification.get(), "ssl_client") == 1 &&
                  X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  return ok;
}

net::Credentials TlsStream::credentials() const {
  net::Credentials credentials;
  x509_st* certificate = SSL_get0_peer_certificate(stream_.get());
  if (certificate == nullptr) {
    return credentials;
  }
  net::Credentials::Certificate known;
  const X509_NAME* name = X509_get_subject_name(certificate);
  if (auto names = name_entries(name, NID_commonName); !names.empty()) {
    known.common_name = std::move(names.back());
  }
  if (verifies_as_front_proxy()) {
    credentials.front_proxy = known.common_name;
  }
  if (calls_.certificate_rejected) {
    credentials.certificate_rejected = true;
    return credentials;
  }
  known.organizations = name_entries(name, NID_organizationName);
  unsigned char* der = nullptr;
  if (const int size = i2d_X509(certificate, &der); size > 0) {
    known.sha256_hex =
        sha256_hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
    OPENSSL_free(der);
  }
  credentials.certificate = std::move(known);
  return credentials;
}

}  // namespace athanor::net
