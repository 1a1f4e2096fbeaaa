// SPDX-License-Identifier: Apache-2.0
#include "embedded/transport/certificate_request.hpp"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

#include "net/crypto.hpp"

namespace athanor::transport {
namespace {

using RequestPtr = std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)>;

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
struct FreeExtensions {
  void operator()(STACK_OF(X509_EXTENSION) * extensions) const {
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  }
};

Result<RequestPtr> parse(const std::string& pem) {
  const net::BioPtr bio = net::reading_bio(pem);
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, net::refuse_passphrase, nullptr),
                     &X509_REQ_free);
  if (request == nullptr) {
    return net::openssl_error("PEM block type must be CERTIFICATE REQUEST");
  }
  if (X509_REQ_verify(request.get(), X509_REQ_get0_pubkey(request.get())) != 1) {
    return net::openssl_error("the request's signature is wrong");
  }
  return request;
}

std::string text_of(const ASN1_STRING* string) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL speaks unsigned bytes
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  return {data, static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::vector<std::string> entries_of(const X509_NAME* name, int id) {
  std::vector<std::string> texts;
  for (int at = X509_NAME_get_index_by_NID(name, id, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, id, at)) {
    texts.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  return texts;
}

// Empty: not as many bytes as an address has.
std::string address_of(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(bytes);
  if (size != sizeof(in_addr) && size != sizeof(in6_addr)) {
    return {};
  }
  const int family = size == sizeof(in_addr) ? AF_INET : AF_INET6;
  const char* printed = ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return printed == nullptr ? std::string() : printed;
}

void read_names(X509_REQ* request, CertificateWish& wish) {
  const std::unique_ptr<STACK_OF(X509_EXTENSION), FreeExtensions> extensions(
      X509_REQ_get_extensions(request));
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(static_cast<GENERAL_NAMES*>(
      X509V3_get_d2i(extensions.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type == GEN_DNS) {
      wish.hosts.push_back(text_of(static_cast<const ASN1_STRING*>(value)));
    } else if (type == GEN_IPADD) {
      std::string address = address_of(static_cast<const ASN1_OCTET_STRING*>(value));
      if (address.empty()) {
        wish.others.emplace_back("malformed address");
      } else {
        wish.hosts.push_back(std::move(address));
      }
    } else if (type == GEN_EMAIL || type == GEN_URI) {
      wish.others.push_back(text_of(static_cast<const ASN1_STRING*>(value)));
    } else {
      wish.others.emplace_back("other name");
    }
  }
}

CertificateWish wish_of(X509_REQ* request) {
  CertificateWish wish;
  const X509_NAME* name = X509_REQ_get_subject_name(request);
  if (auto names = entries_of(name, NID_commonName); !names.empty()) {
    wish.common_name = std::move(names.back());
  }
  wish.organizations = entries_of(name, NID_organizationName);
  read_names(request, wish);
  return wish;
}

}  // namespace

Result<CertificateWish> read_certificate_request(const std::string& pem) {
  ATHANOR_TRY(const RequestPtr request, parse(pem));
  return wish_of(request.get());
}

Result<std::string> grant_certificate(const CertificateGrant& grant) {
  ATHANOR_TRY(const RequestPtr request, parse(grant.request_pem));
  CertificateWish wish = wish_of(request.get());
  ATHANOR_TRY(const auto authority, net::parse_certificates(grant.ca_certificate_pem));
  ATHANOR_TRY(const net::KeyPtr key, net::parse_key(grant.ca_key_pem));
  const net::CertificateSpec spec{
      .common_name = std::move(wish.common_name),
      .organizations = std::move(wish.organizations),
      .use = grant.server ? net::CertificateSpec::Use::Server : net::CertificateSpec::Use::Client,
      .hosts = std::move(wish.hosts),
      .not_before = grant.not_before,
      .not_after = grant.not_after};
  ATHANOR_TRY(const net::CertificatePtr certificate,
              net::issue(spec, X509_REQ_get0_pubkey(request.get()),
                         {.certificate = authority.front().get(), .key = key.get()}));
  return net::certificate_pem(certificate.get());
}

}  // namespace athanor::transport
