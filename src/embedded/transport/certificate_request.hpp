// SPDX-License-Identifier: Apache-2.0
// Certificate signing requests (PKCS#10): what they ask for, and certificates for them.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::transport {

// Subject and alternative names of a request.
struct CertificateWish {
  std::string common_name{};
  std::vector<std::string> organizations{};
  std::vector<std::string> hosts{};   // DNS names and IP addresses
  std::vector<std::string> others{};  // mail addresses and URIs
};
// Reads a request in PEM form. Errors: no such request, or its signature is wrong.
Result<CertificateWish> read_certificate_request(const std::string& pem);

// A request and how it is to be signed.
struct CertificateGrant {
  std::string request_pem{};
  std::string ca_certificate_pem{};
  std::string ca_key_pem{};
  bool server = false;  // for serving; else for clients
  Instant not_before{};
  Instant not_after{};
};
// Returns the certificate as PEM text.
Result<std::string> grant_certificate(const CertificateGrant& grant);

}  // namespace athanor::transport
