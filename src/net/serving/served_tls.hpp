// SPDX-License-Identifier: Apache-2.0
// ServedTls: the certificate of a server and the limits of its handshakes, both of which may change
// while connections last.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "net/tls.hpp"

namespace athanor::net {

struct TlsLimits {
  std::string min_version{};           // "VersionTLS12", "VersionTLS13"; empty: TLS 1.2
  std::vector<std::string> ciphers{};  // IANA names; empty: those of TlsContext
  friend bool operator==(const TlsLimits&, const TlsLimits&) = default;
};

// Returns what of it cannot be applied, worded for a log. Versions that are unknown or older than
// TLS 1.2 mean TLS 1.2; a list with an unknown cipher suite has no effect.
std::vector<std::string> problems_of(const TlsLimits& limits);
// Returns the limits without unknown versions and cipher suites.
TlsLimits without_unknown(TlsLimits limits);
// Applies what can be applied.
Result<void> apply(const TlsLimits& limits, TlsContext& context);

// Thread-safe.
class ServedTls {
 public:
  // Takes a certificate for the handshakes from now on. Errors: PEM texts that cannot be used; the
  // former certificate stays.
  Result<void> use(const std::string& certificate, const std::string& key);
  // Limits the handshakes from now on, also of later certificates. Errors: OpenSSL's; the former
  // limits stay.
  Result<void> limit(TlsLimits limits);
  // Returns the context of a new connection; nullptr: there is no certificate yet.
  [[nodiscard]] std::shared_ptr<const TlsContext> current() const;

 private:
  Result<void> renew(const std::string& certificate, const std::string& key,
                     const TlsLimits& limits) ATHANOR_REQUIRES(mutex_);

  mutable Mutex mutex_{};
  std::string certificate_ ATHANOR_GUARDED_BY(mutex_){};
  std::string key_ ATHANOR_GUARDED_BY(mutex_){};
  TlsLimits limits_ ATHANOR_GUARDED_BY(mutex_){};
  std::shared_ptr<const TlsContext> context_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::net
