// SPDX-License-Identifier: Apache-2.0
#include "net/serving/served_tls.hpp"

#include <openssl/ssl.h>

#include <utility>

namespace athanor::net {
namespace {

constexpr std::string_view kTls12 = "VersionTLS12";
constexpr std::string_view kTls13 = "VersionTLS13";

bool is_unknown(const std::string& cipher) {
  return std::string_view(OPENSSL_cipher_name(cipher.c_str())) == "(NONE)";
}

bool is_unusable(std::string_view version) {
  return !version.empty() && version != kTls12 && version != kTls13;
}

}  // namespace

std::vector<std::string> problems_of(const TlsLimits& limits) {
  std::vector<std::string> problems;
  if (is_unusable(limits.min_version)) {
    problems.push_back("TLS version \"" + limits.min_version +
                       "\" is unknown or older than 1.2: 1.2 is used");
  }
  for (const std::string& cipher : limits.ciphers) {
    if (is_unknown(cipher)) {
      problems.push_back("unknown cipher suite \"" + cipher + "\": the usual ones are used");
      break;
    }
  }
  return problems;
}

TlsLimits without_unknown(TlsLimits limits) {
  if (is_unusable(limits.min_version)) {
    limits.min_version.clear();
  }
  std::erase_if(limits.ciphers, is_unknown);
  return limits;
}

Result<void> apply(const TlsLimits& limits, TlsContext& context) {
  if (limits.min_version == kTls13) {
    ATHANOR_TRY_VOID(context.demand_tls13());
  }
  return limits.ciphers.empty() || !problems_of({.ciphers = limits.ciphers}).empty()
             ? Result<void>()
             : context.choose_ciphers(limits.ciphers);
}

Result<void> ServedTls::renew(const std::string& certificate, const std::string& key,
                              const TlsLimits& limits) {
  ATHANOR_TRY(auto context, TlsContext::create(certificate, key, "", /*http2=*/false));
  ATHANOR_TRY_VOID(apply(limits, context));
  context_ = std::make_shared<const TlsContext>(std::move(context));
  return {};
}

Result<void> ServedTls::use(const std::string& certificate, const std::string& key) {
  const MutexLock lock(mutex_);
  ATHANOR_TRY_VOID(renew(certificate, key, limits_));
  certificate_ = certificate;
  key_ = key;
  return {};
}

Result<void> ServedTls::limit(TlsLimits limits) {
  const MutexLock lock(mutex_);
  if (context_ != nullptr) {
    ATHANOR_TRY_VOID(renew(certificate_, key_, limits));
  }
  limits_ = std::move(limits);
  return {};
}

std::shared_ptr<const TlsContext> ServedTls::current() const {
  const MutexLock lock(mutex_);
  return context_;
}

}  // namespace athanor::net
