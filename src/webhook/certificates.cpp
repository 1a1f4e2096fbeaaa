// SPDX-License-Identifier: Apache-2.0
// Judging and making certificates.
#include "webhook/certificates.hpp"

#include <algorithm>
#include <optional>

#include "base/digest.hpp"
#include "net/crypto.hpp"

namespace athanor::webhook {
namespace {

using net::CertificatePtr;
using net::CertificateSpec;
using net::KeyPtr;

constexpr Duration kSkew = std::chrono::hours(1);  // clients' clocks may lag behind
constexpr Duration kMostRenewal = std::chrono::days(90);
constexpr Duration kMostSettling = std::chrono::minutes(10);
constexpr Duration kLook = std::chrono::hours(12);

// A set as OpenSSL sees it.
struct Parsed {
  std::vector<CertificatePtr> bundle{};
  KeyPtr authority_key{};
  CertificatePtr certificate{};
};

std::string text_of(const Value& data, std::string_view key) {
  return base64_decode(data[key].as_string()).value_or("");
}

std::vector<CertificatePtr> bundle_of(const CertificateSet& set) {
  auto certificates = net::parse_certificates(set.bundle);
  return certificates.ok() ? *std::move(certificates) : std::vector<CertificatePtr>();
}

// nullopt: incomplete, or its parts do not belong together.
std::optional<Parsed> parse(const CertificateSet& set) {
  Parsed parsed{.bundle = bundle_of(set)};
  auto authority_key = net::parse_key(set.authority_key);
  auto certificates = net::parse_certificates(set.certificate);
  const auto key = net::parse_key(set.key);
  if (parsed.bundle.empty() || !authority_key.ok() || !certificates.ok() || !key.ok()) {
    return std::nullopt;
  }
  parsed.authority_key = *std::move(authority_key);
  parsed.certificate = std::move(certificates->front());
  x509_st* serving = parsed.certificate.get();
  x509_st* first = parsed.bundle.front().get();
  const bool known = std::ranges::any_of(parsed.bundle, [&](const CertificatePtr& one) {
    return net::is_signed_by(serving, one.get());
  });
  if (!known || !net::is_key_of(first, parsed.authority_key.get()) ||
      !net::is_key_of(serving, key->get())) {
    return std::nullopt;
  }
  return parsed;
}

bool covers(x509_st* certificate, const std::vector<std::string>& hosts) {
  return std::ranges::all_of(
      hosts, [&](const std::string& host) { return net::covers_host(certificate, host); });
}

struct Pair {
  CertificatePtr certificate{};
  KeyPtr key{};
  std::string certificate_text{};
  std::string key_text{};
};

// `issuer` empty: self-signed.
Result<Pair> make(const CertificateSpec& spec, net::Issuer issuer) {
  Pair pair;
  ATHANOR_TRY(pair.key, net::generate_key());
  if (issuer.key == nullptr) {
    issuer.key = pair.key.get();
  }
  ATHANOR_TRY(pair.certificate, net::issue(spec, pair.key.get(), issuer));
  ATHANOR_TRY(pair.certificate_text, net::certificate_pem(pair.certificate.get()));
  ATHANOR_TRY(pair.key_text, net::key_pem(pair.key.get()));
  return pair;
}

Result<Pair> make_authority(const CertificateOptions& options, Instant now) {
  return make({.common_name = options.authority,
               .organizations = {options.organization},
               .use = CertificateSpec::Use::Authority,
               .not_before = now - kSkew,
               .not_after = now + options.authority_life},
              {});
}

Result<Pair> make_serving(const CertificateOptions& options, x509_st* authority, evp_pkey_st* key,
                          Instant now) {
  return make({.common_name = options.hosts.empty() ? options.authority : options.hosts.front(),
               .organizations = {options.organization},
               .use = CertificateSpec::Use::Server,
               .hosts = options.hosts,
               .not_before = now - kSkew,
               .not_after = now + options.life},
              {.certificate = authority, .key = key});
}

// Those authorities that clients may still need, as one text.
Result<std::string> kept(const std::vector<CertificatePtr>& bundle, Instant now) {
  std::string text;
  for (const CertificatePtr& one : bundle) {
    if (net::not_after(one.get()) > now) {
      ATHANOR_TRY(const std::string pem, net::certificate_pem(one.get()));
      text += pem;
    }
  }
  return text;
}

}  // namespace

CertificateSet read_set(const Value& data) {
  return {.bundle = text_of(data, "ca.crt"),
          .authority_key = text_of(data, "ca.key"),
          .certificate = text_of(data, "tls.crt"),
          .key = text_of(data, "tls.key")};
}

Value to_data(const CertificateSet& set) {
  return Value::object({{"ca.crt", base64_encode(set.bundle)},
                        {"ca.key", base64_encode(set.authority_key)},
                        {"tls.crt", base64_encode(set.certificate)},
                        {"tls.key", base64_encode(set.key)}});
}

Duration renewed_before(const CertificateOptions& options) {
  return std::min(kMostRenewal, options.life / 4);
}

Duration settling_time(const CertificateOptions& options) {
  return std::min(kMostSettling, options.life / 8);
}

std::string_view name_of(Duty duty) {
  switch (duty) {
    case Duty::None:
      return "none";
    case Duty::Everything:
      return "everything";
    case Duty::Serving:
      return "serving";
    case Duty::Authority:
      return "authority";
    case Duty::Prune:
      return "prune";
  }
  return "none";
}

Judgement judge(const CertificateSet& set, const CertificateOptions& options, Instant now) {
  const auto parsed = parse(set);
  if (!parsed || net::not_after(parsed->bundle.front().get()) <= now) {
    return {.duty = Duty::Everything};
  }
  x509_st* serving = parsed->certificate.get();
  x509_st* authority = parsed->bundle.front().get();
  const Instant joined = net::not_before(authority) + kSkew;
  const Instant settled = joined + settling_time(options);
  const bool follows = net::is_signed_by(serving, authority);
  const bool good = net::not_before(serving) <= now && covers(serving, options.hosts);
  Judgement judgement{.next = now + kLook};
  const auto at = [&](Instant when, Duty duty) {
    if (when <= now) {
      judgement.duty = judgement.duty == Duty::None ? duty : judgement.duty;
    } else {
      judgement.next = std::min(judgement.next, when);
    }
  };
  // A serving certificate never outlives its authority.
  at(net::not_after(authority) - 2 * options.life, Duty::Authority);
  if (!good) {
    at(now, Duty::Serving);
  } else if (!follows) {
    at(std::min(settled, net::not_after(serving)), Duty::Serving);
  } else {
    at(net::not_after(serving) - renewed_before(options), Duty::Serving);
  }
  if (follows && parsed->bundle.size() > 1) {
    at(joined + renewed_before(options), Duty::Prune);
  }
  return judgement;
}

Result<CertificateSet> renew(const CertificateSet& set, Duty duty,
                             const CertificateOptions& options, Instant now) {
  CertificateSet made = set;
  const std::vector<CertificatePtr> bundle = bundle_of(set);
  switch (duty) {
    case Duty::None:
      return made;
    case Duty::Everything: {
      ATHANOR_TRY(const Pair authority, make_authority(options, now));
      ATHANOR_TRY(const Pair serving,
                  make_serving(options, authority.certificate.get(), authority.key.get(), now));
      ATHANOR_TRY(const std::string old, kept(bundle, now));
      return CertificateSet{.bundle = authority.certificate_text + old,
                            .authority_key = authority.key_text,
                            .certificate = serving.certificate_text,
                            .key = serving.key_text};
    }
    case Duty::Serving: {
      ATHANOR_TRY(const KeyPtr key, net::parse_key(set.authority_key));
      if (bundle.empty()) {
        return Error::internal("there is no authority to sign with");
      }
      ATHANOR_TRY(const Pair serving, make_serving(options, bundle.front().get(), key.get(), now));
      made.certificate = serving.certificate_text;
      made.key = serving.key_text;
      return made;
    }
    case Duty::Authority: {
      ATHANOR_TRY(const Pair authority, make_authority(options, now));
      ATHANOR_TRY(const std::string old, kept(bundle, now));
      made.bundle = authority.certificate_text + old;
      made.authority_key = authority.key_text;
      return made;
    }
    case Duty::Prune: {
      if (bundle.empty()) {
        return Error::internal("there is no authority to keep");
      }
      ATHANOR_TRY(made.bundle, net::certificate_pem(bundle.front().get()));
      return made;
    }
  }
  return made;
}

Instant expiry_of(const CertificateSet& set) {
  const auto certificates = net::parse_certificates(set.certificate);
  return certificates.ok() ? net::not_after(certificates->front().get()) : Instant();
}

}  // namespace athanor::webhook
