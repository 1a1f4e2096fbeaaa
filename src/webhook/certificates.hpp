// SPDX-License-Identifier: Apache-2.0
// The webhooks' serving certificate and its authority: when they have to be made anew, and making
// them. Kept in a Secret, so that all replicas serve the same one.
//
// An authority is replaced in two steps, so that no request fails: the new one joins the bundle,
// and signs after all clients had time to read the bundle; the old one is removed later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/value.hpp"

namespace athanor::webhook {

// PEM texts, as in the Secret's ca.crt, ca.key, tls.crt and tls.key.
struct CertificateSet {
  std::string bundle{};  // the authority that signs first, then those that signed before
  std::string authority_key{};
  std::string certificate{};
  std::string key{};
  friend bool operator==(const CertificateSet&, const CertificateSet&) = default;
};
// Reads a Secret's `data` and back; what is missing or not base64 is empty.
CertificateSet read_set(const Value& data);
Value to_data(const CertificateSet& set);

// Names and lifetimes of the certificates.
struct CertificateOptions {
  std::string authority = "athanor-webhooks";  // common name
  std::string organization = "athanor";
  std::vector<std::string> hosts{};  // that are served; the first one is the common name
  Duration life = std::chrono::days(365);
  Duration authority_life = std::chrono::days(3650);
};
// Returns the life left at a certificate's renewal: 90 days, or a quarter of a shorter life.
Duration renewed_before(const CertificateOptions& options);
// Returns the time between an authority's joining the bundle and its first signature.
Duration settling_time(const CertificateOptions& options);

// What has to be made anew.
enum class Duty : std::uint8_t {
  None,
  Everything,  // something is missing, or does not belong together
  Serving,     // a new serving certificate by the bundle's first authority
  Authority,   // a new authority in front of the bundle, which does not sign yet
  Prune,       // authorities leave the bundle that nothing needs any more
};
// Returns the duty's name in CertificateQuery: "none", "everything", "serving", "authority",
// "prune".
std::string_view name_of(Duty duty);

// Result of judge().
struct Judgement {
  Duty duty = Duty::None;
  Instant next{};  // when to look again, with Duty::None
};
// Checks the set at a time: its validity, its hosts, and whether its parts belong together.
Judgement judge(const CertificateSet& set, const CertificateOptions& options, Instant now);
// Returns the set once the duty is done. Makes keys: random.
Result<CertificateSet> renew(const CertificateSet& set, Duty duty,
                             const CertificateOptions& options, Instant now);

// Returns the end of the serving certificate; the epoch for none.
Instant expiry_of(const CertificateSet& set);

}  // namespace athanor::webhook
