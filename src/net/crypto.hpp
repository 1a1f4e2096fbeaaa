// SPDX-License-Identifier: Apache-2.0
// OpenSSL's keys and certificates as owning values and PEM text. For the .cpp files of transport/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

struct bio_st;
struct evp_pkey_st;
struct x509_st;

namespace athanor::net {

// Deleters of OpenSSL's objects.
struct FreeBio {
  void operator()(bio_st* bio) const;
};
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
struct FreeCertificate {
  void operator()(x509_st* certificate) const;
};
using BioPtr = std::unique_ptr<bio_st, FreeBio>;
using KeyPtr = std::unique_ptr<evp_pkey_st, FreeKey>;
using CertificatePtr = std::unique_ptr<x509_st, FreeCertificate>;

// Returns "what: " and OpenSSL's newest error text of this thread; empties its queue.
Error openssl_error(std::string_view what);

// Returns a BIO that reads `text`, which must outlive it; its first 2 GiB.
BioPtr reading_bio(std::string_view text);
// Refuses as a pem_password_cb. Every PEM reader needs it: without a callback OpenSSL asks on the
// terminal, also for a certificate whose header claims to be encrypted.
int refuse_passphrase(char* buffer, int size, int writing, void* data);

// Makes a new key on the curve P-256.
Result<KeyPtr> generate_key();
// Returns SEC1 (EC) or PKCS#1 (RSA): some clients cannot read PKCS#8 of an EC key.
Result<std::string> key_pem(evp_pkey_st* key);
// Returns the key of a PEM text in the form of key_pem(); a text without a key as it is.
std::string portable_key(const std::string& pem);
// Parses a private key in PEM. Errors: what is none, or is encrypted.
Result<KeyPtr> parse_key(const std::string& pem);
// Returns the certificate as PEM text.
Result<std::string> certificate_pem(x509_st* certificate);
// Parses all certificates of a PEM text, at least one.
Result<std::vector<CertificatePtr>> parse_certificates(const std::string& pem);

// What a certificate shall say.
struct CertificateSpec {
  std::string common_name{};
  std::vector<std::string> organizations{};
  enum class Use : std::uint8_t { Authority, Server, Client };
  Use use = Use::Server;
  std::vector<std::string> hosts{};  // DNS names and IP addresses
  Instant not_before{};
  Instant not_after{};
};
// The signer of a certificate.
struct Issuer {
  x509_st* certificate = nullptr;  // nullptr: self-signed
  evp_pkey_st* key = nullptr;
};
// Issues a certificate over `key`, signed by the issuer's key.
Result<CertificatePtr> issue(const CertificateSpec& spec, evp_pkey_st* key, const Issuer& issuer);

// Returns true for an IPv4 or IPv6 address.
bool is_ip_address(const std::string& host);
// Returns true if the certificate names `host`.
bool covers_host(x509_st* certificate, const std::string& host);
// Returns true if `key` belongs to the certificate and `issuer` signed the certificate.
bool belongs_to(x509_st* certificate, evp_pkey_st* key, evp_pkey_st* issuer);
// Returns the start (not_after(): the end) of the certificate's validity.
Instant not_before(const x509_st* certificate);
Instant not_after(const x509_st* certificate);
// Returns true if the private key belongs to the certificate.
bool is_key_of(x509_st* certificate, evp_pkey_st* key);
// Returns true if the issuer's key signed the certificate.
bool is_signed_by(x509_st* certificate, x509_st* issuer);
// Returns true once two thirds of the certificate's life are over.
bool is_due(x509_st* certificate, Instant now);

}  // namespace athanor::net
