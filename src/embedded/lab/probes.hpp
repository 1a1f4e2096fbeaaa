// SPDX-License-Identifier: Apache-2.0
// What workload controllers ask about the world outside, answered.
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/apiserver/core/token_signer.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// "timezone:Europe/Berlin": {"tzif": base64} of the machine's tz database, or an error.
Result<Value> read_time_zone(const std::string& query);
// "service-account-token:<namespace>/<account>/<account's uid>/<secret>": {"token": text}, a token
// without expiry (docs/spec/apiserver.md 16.3).
Result<Value> sign_account_token(apiserver::TokenSigner& signer, const std::string& query);

// "certificate-request:<base64 of PEM>": {commonName, organizations, hosts, others} of a PKCS#10
// request.
Result<Value> read_certificate_wish(const std::string& query);
// Certificate and key that sign the cluster's certificates.
struct CertificateAuthority {
  std::string certificate_pem{};
  std::string key_pem{};
};
// "certificate:<uid>:<client or server>:<seconds, 0 for a year>:<base64 of PEM>": {"certificate":
// base64 of PEM}.
Result<Value> sign_certificate(const CertificateAuthority& authority, Instant now,
                               const std::string& query);
// "subject-access:<spec of a SubjectAccessReview>": its status.
Result<Value> review_access(apiserver::Server& server, Instant now, const std::string& query);

// The body of a Secret, for who answers questions about target clusters.
Result<Value> read_secret(apiserver::Server& server, Instant now, const Key& key);

}  // namespace athanor::lab
