// SPDX-License-Identifier: Apache-2.0
#include "client/http/curl_failure.hpp"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

#include "base/ascii.hpp"

namespace athanor::client {
namespace {

// "https://host:port/path" without all but host and port.
std::string_view authority_of(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) {
    url.remove_prefix(scheme + 3);
  }
  return url.substr(0, url.find_first_of("/?#"));
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    return authority.substr(1, authority.find(']') - 1);
  }
  return authority.substr(0, authority.rfind(':'));
}

std::string_view dialled(const HttpQuery& query) {
  return query.connect_to.empty() ? authority_of(query.url) : std::string_view(query.connect_to);
}

std::string connect_failure(CURL* handle, const HttpQuery& query) {
  long error = 0;
  curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
  const std::string why = error == 0
                              ? "connection refused"
                              : lower(std::generic_category().message(static_cast<int>(error)));
  return fmt::format("dial tcp {}: connect: {}", dialled(query), why);
}

std::string certificate_failure(CURL* handle, const HttpQuery& query) {
  constexpr long kExpired = 10;     // X509_V_ERR_CERT_HAS_EXPIRED
  constexpr long kNotYetOk = 9;     // X509_V_ERR_CERT_NOT_YET_VALID
  constexpr long kChainIsFine = 1;  // curl leaves 1 (or 0) when it stops at the name
  long verdict = 0;
  curl_easy_getinfo(handle, CURLINFO_SSL_VERIFYRESULT, &verdict);
  std::string why = "x509: certificate signed by unknown authority";
  if (verdict == kExpired || verdict == kNotYetOk) {
    why = "x509: certificate has expired or is not yet valid";
  } else if (verdict <= kChainIsFine) {
    why = fmt::format("x509: certificate is not valid for {}", host_of(authority_of(query.url)));
  }
  return "tls: failed to verify certificate: " + why;
}

}  // namespace

std::string curl_failure(void* handle, int code, const HttpQuery& query) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return "context deadline exceeded";
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("dial tcp: lookup {}: no such host", host_of(dialled(query)));
    case CURLE_COULDNT_CONNECT:
      return connect_failure(handle, query);
    case CURLE_PEER_FAILED_VERIFICATION:
      return certificate_failure(handle, query);
    case CURLE_SSL_CACERT_BADFILE:
      return "unable to load root certificates: unable to parse bytes as PEM block";
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return "EOF";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return fmt::format("read tcp {}: read: connection reset by peer", dialled(query));
    case CURLE_SSL_CONNECT_ERROR:
      return "remote error: tls: handshake failure";
    default:
      return lower(curl_easy_strerror(static_cast<CURLcode>(code)));
  }
}

}  // namespace athanor::client
