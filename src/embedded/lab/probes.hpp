// SPDX-License-Identifier: Apache-2.0
// What workload controllers ask about the world outside, answered.
#pragma once

#include <string>

#include "base/result.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/apiserver/request/token_signer.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// Answers "timezone:Europe/Berlin" by {"tzif": base64} of the machine's tz database, or an error.
Result<Value> read_time_zone(const std::string& query);
// Answers "service-account-token:<namespace>/<account>/<account's uid>/<secret>" by {"token":
// text}, a token without expiry (docs/spec/apiserver.md 16.3).
Result<Value> sign_account_token(apiserver::TokenSigner& signer, const std::string& query);

// Answers "certificate-request:<base64 of PEM>" by {commonName, organizations, hosts, others} of a
// PKCS#10 request.
Result<Value> read_certificate_wish(const std::string& query);
// Certificate and key that sign the cluster's certificates.
struct CertificateAuthority {
  std::string certificate_pem{};
  std::string key_pem{};
};
// Answers "certificate:<uid>:<client or server>:<seconds, 0 for a year>:<base64 of PEM>" by
// {"certificate": base64 of PEM}.
Result<Value> sign_certificate(const CertificateAuthority& authority, Instant now,
                               const std::string& query);
// Answers "subject-access:<spec of a SubjectAccessReview>" by its status.
Result<Value> review_access(apiserver::Server& server, Instant now, const std::string& query);

// Returns the body of a Secret, for answers to questions about target clusters.
Result<Value> read_secret(apiserver::Server& server, Instant now, const Key& key);

}  // namespace athanor::lab
