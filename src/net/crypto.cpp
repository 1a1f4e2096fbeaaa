// SPDX-License-Identifier: Apache-2.0
// Keys and certificates by OpenSSL.
#include "net/crypto.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>

namespace athanor::net {
namespace {

struct FreeExtension {
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
struct FreeName {
  void operator()(GENERAL_NAME* name) const { GENERAL_NAME_free(name); }
};
struct FreeOctets {
  void operator()(ASN1_OCTET_STRING* octets) const { ASN1_OCTET_STRING_free(octets); }
};
struct FreeIa5 {
  void operator()(ASN1_IA5STRING* text) const { ASN1_IA5STRING_free(text); }
};

BioPtr memory_bio() {
  return BioPtr(BIO_new(BIO_s_mem()));
}

std::string text_of_bio(bio_st* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::time_t seconds_of(Instant instant) {
  return std::chrono::floor<std::chrono::seconds>(instant).time_since_epoch().count();
}

std::time_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

bool add_name(X509_NAME* name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(x509_st* certificate, x509_st* issuer, int id, const std::string& text) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeExtension> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, text.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Readers of C strings would take such a name for a shorter one.
bool has_zero(std::string_view host) {
  return host.find('\0') != std::string_view::npos;
}

// Adds one DNS name or address. OpenSSL's text form of such names is not used: a comma in a name
// begins another one there, of any kind.
bool add_host(GENERAL_NAMES* names, const std::string& host) {
  std::unique_ptr<GENERAL_NAME, FreeName> name(GENERAL_NAME_new());
  if (name == nullptr || has_zero(host)) {
    return false;
  }
  if (is_ip_address(host)) {
    std::unique_ptr<ASN1_OCTET_STRING, FreeOctets> address(a2i_IPADDRESS(host.c_str()));
    if (address == nullptr) {
      return false;
    }
    GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address.release());
  } else {
    std::unique_ptr<ASN1_IA5STRING, FreeIa5> text(ASN1_IA5STRING_new());
    if (text == nullptr ||
        ASN1_STRING_set(text.get(), host.data(), static_cast<int>(host.size())) != 1) {
      return false;
    }
    GENERAL_NAME_set0_value(name.get(), GEN_DNS, text.release());
  }
  if (sk_GENERAL_NAME_push(names, name.get()) <= 0) {
    return false;
  }
  static_cast<void>(name.release());  // the list owns it
  return true;
}

bool add_hosts(x509_st* certificate, const std::vector<std::string>& hosts) {
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(GENERAL_NAMES_new());
  return names != nullptr &&
         std::ranges::all_of(
             hosts, [&](const std::string& host) { return add_host(names.get(), host); }) &&
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) ==
             1;
}

bool add_extensions(const CertificateSpec& spec, x509_st* certificate, x509_st* issuer) {
  using Use = CertificateSpec::Use;
  const bool authority = spec.use == Use::Authority;
  bool ok = add_extension(certificate, issuer, NID_basic_constraints,
                          authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
            add_extension(certificate, issuer, NID_key_usage,
                          authority ? "critical,digitalSignature,keyCertSign,cRLSign"
                                    : "critical,digitalSignature") &&
            add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
            add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
  if (!authority) {
    ok = ok && add_extension(certificate, issuer, NID_ext_key_usage,
                             spec.use == Use::Server ? "serverAuth" : "clientAuth");
  }
  if (!spec.hosts.empty()) {
    ok = ok && add_hosts(certificate, spec.hosts);
  }
  return ok;
}

bool set_random_serial(x509_st* certificate) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof(serial)) != 1) {
    return false;
  }
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1U) == 1;
}

}  // namespace

void FreeBio::operator()(bio_st* bio) const {
  BIO_free_all(bio);
}
void FreeKey::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}
void FreeCertificate::operator()(x509_st* certificate) const {
  X509_free(certificate);
}

BioPtr reading_bio(std::string_view text) {
  // A negative size would be taken for a text that ends in a zero byte.
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  const char* bytes = text.data() == nullptr ? "" : text.data();
  return BioPtr(BIO_new_mem_buf(bytes, static_cast<int>(std::min(text.size(), kMost))));
}

int refuse_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

Error openssl_error(std::string_view what) {
  std::string message(what);
  if (const unsigned long code = ERR_peek_last_error(); code != 0) {
    std::array<char, 256> text{};
    ERR_error_string_n(code, text.data(), text.size());
    message += std::string(": ") + text.data();
  }
  ERR_clear_error();
  return Error::internal(std::move(message));
}

Result<KeyPtr> generate_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) {
    return openssl_error("cannot make a key");
  }
  return key;
}

Result<std::string> key_pem(evp_pkey_st* key) {
  const BioPtr bio = memory_bio();
  if (PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
      1) {
    return openssl_error("cannot print a key");
  }
  return text_of_bio(bio.get());
}

std::string portable_key(const std::string& pem) {
  const auto key = parse_key(pem);
  auto text = key.ok() ? key_pem(key->get()) : Result<std::string>(pem);
  return text.ok() ? *std::move(text) : pem;
}

Result<KeyPtr> parse_key(const std::string& pem) {
  KeyPtr key(PEM_read_bio_PrivateKey(reading_bio(pem).get(), nullptr, refuse_passphrase, nullptr));
  if (key == nullptr) {
    return openssl_error("not a private key in PEM form");
  }
  return key;
}

Result<std::string> certificate_pem(x509_st* certificate) {
  const BioPtr bio = memory_bio();
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) {
    return openssl_error("cannot print a certificate");
  }
  return text_of_bio(bio.get());
}

Result<std::vector<CertificatePtr>> parse_certificates(const std::string& pem) {
  const BioPtr bio = reading_bio(pem);
  std::vector<CertificatePtr> certificates;
  while (x509_st* certificate = PEM_read_bio_X509(bio.get(), nullptr, refuse_passphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  if (certificates.empty()) {
    return openssl_error("not a certificate in PEM form");
  }
  ERR_clear_error();  // the end of the text counts as an error
  return certificates;
}

Result<CertificatePtr> issue(const CertificateSpec& spec, evp_pkey_st* key, const Issuer& issuer) {
  CertificatePtr certificate(X509_new());
  x509_st* signer = issuer.certificate == nullptr ? certificate.get() : issuer.certificate;
  bool ok = certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
            set_random_serial(certificate.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  for (const std::string& organization : spec.organizations) {
    ok = ok && add_name(name, "O", organization);
  }
  ok =
      ok && add_name(name, "CN", spec.common_name) &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1 &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds_of(spec.not_before)) !=
          nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds_of(spec.not_after)) != nullptr &&
      add_extensions(spec, certificate.get(), signer) &&
      X509_sign(certificate.get(), issuer.key, EVP_sha256()) != 0;
  if (!ok) {
    return openssl_error("cannot make the certificate of " + spec.common_name);
  }
  return certificate;
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return !has_zero(host) && (::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                             ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1);
}

bool covers_host(x509_st* certificate, const std::string& host) {
  return is_ip_address(host)
             ? X509_check_ip_asc(certificate, host.c_str(), 0) == 1
             : X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1;
}

bool belongs_to(x509_st* certificate, evp_pkey_st* key, evp_pkey_st* issuer) {
  const bool belongs =
      X509_check_private_key(certificate, key) == 1 && X509_verify(certificate, issuer) == 1;
  ERR_clear_error();
  return belongs;
}

Instant not_before(const x509_st* certificate) {
  return Instant(std::chrono::seconds(seconds_of(X509_get0_notBefore(certificate))));
}

Instant not_after(const x509_st* certificate) {
  return Instant(std::chrono::seconds(seconds_of(X509_get0_notAfter(certificate))));
}

bool is_key_of(x509_st* certificate, evp_pkey_st* key) {
  const bool is_key = X509_check_private_key(certificate, key) == 1;
  ERR_clear_error();
  return is_key;
}

bool is_signed_by(x509_st* certificate, x509_st* issuer) {
  const bool signed_by = X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
  ERR_clear_error();
  return signed_by;
}

bool is_due(x509_st* certificate, Instant now) {
  const std::time_t start = seconds_of(X509_get0_notBefore(certificate));
  const std::time_t end = seconds_of(X509_get0_notAfter(certificate));
  return seconds_of(now) < start || seconds_of(now) >= start + ((end - start) / 3 * 2);
}

}  // namespace athanor::net
