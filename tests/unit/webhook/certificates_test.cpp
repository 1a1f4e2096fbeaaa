// SPDX-License-Identifier: Apache-2.0
// Certificates in virtual time: names, lives, the moment of each renewal, and that at every moment
// of a roll-over whoever knows the bundle of the moment before trusts what is served.
#include "webhook/certificates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/crypto.hpp"

namespace athanor::webhook::certificates_test {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

constexpr Instant kStart{std::chrono::sys_days{std::chrono::year{2026} / 1 / 5}};

CertificateOptions options() {
  return {.authority = "appwrapper-ca",
          .organization = "appwrapper",
          .hosts = {"hooks.sys.svc", "hooks.sys.svc.cluster.local"}};
}

CertificateSet fresh(Instant now = kStart) {
  auto made = renew({}, Duty::Everything, options(), now);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *made;
}

bool trusted(const CertificateSet& served, const CertificateSet& known) {
  const auto serving = net::parse_certificates(served.certificate);
  const auto authorities = net::parse_certificates(known.bundle);
  return std::ranges::any_of(*authorities, [&](const auto& one) {
    return net::is_signed_by(serving->front().get(), one.get());
  });
}

std::size_t authorities(const CertificateSet& set) {
  return net::parse_certificates(set.bundle)->size();
}

TEST(Certificates, NameServiceAndLiveOneYear) {
  const CertificateSet set = fresh();
  const auto serving = net::parse_certificates(set.certificate);
  for (const char* host : {"hooks.sys.svc", "hooks.sys.svc.cluster.local"}) {
    EXPECT_TRUE(net::covers_host(serving->front().get(), host)) << host;
  }
  EXPECT_FALSE(net::covers_host(serving->front().get(), "hooks.other.svc"));
  EXPECT_EQ(expiry_of(set), kStart + days(365));
  EXPECT_TRUE(trusted(set, set));
  const auto authority = net::parse_certificates(set.bundle);
  EXPECT_EQ(net::not_after(authority->front().get()), kStart + days(3650));
  EXPECT_LT(net::not_before(serving->front().get()), kStart) << "clocks may lag behind";
  EXPECT_EQ(read_set(to_data(set)), set);
}

TEST(Certificates, AreCheckedTwiceDailyRenewedNinetyDaysBefore) {
  const CertificateSet set = fresh();
  EXPECT_EQ(judge(set, options(), kStart).duty, Duty::None);
  EXPECT_EQ(judge(set, options(), kStart).next, kStart + hours(12));
  const Instant due = kStart + days(365 - 90);
  const Judgement before = judge(set, options(), due - minutes(1));
  EXPECT_EQ(before.duty, Duty::None);
  EXPECT_EQ(before.next, due);
  EXPECT_EQ(judge(set, options(), due).duty, Duty::Serving);
  const auto renewed = renew(set, Duty::Serving, options(), due);
  ASSERT_TRUE(renewed.ok());
  EXPECT_EQ(renewed->bundle, set.bundle);
  EXPECT_NE(renewed->key, set.key);
  EXPECT_EQ(expiry_of(*renewed), due + days(365));
  EXPECT_EQ(judge(*renewed, options(), due).duty, Duty::None);
}

TEST(Certificates, RenewShortLifeAtLastQuarter) {
  CertificateOptions brief = options();
  brief.life = hours(8);
  brief.authority_life = hours(80);
  const CertificateSet set = *renew({}, Duty::Everything, brief, kStart);
  EXPECT_EQ(judge(set, brief, kStart + hours(6) - minutes(1)).duty, Duty::None);
  EXPECT_EQ(judge(set, brief, kStart + hours(6)).duty, Duty::Serving);
}

TEST(Certificates, AnotherNameNeedsANewOneAtOnce) {
  const CertificateSet set = fresh();
  CertificateOptions more = options();
  more.hosts.emplace_back("10.0.0.1");
  EXPECT_EQ(judge(set, more, kStart).duty, Duty::Serving);
  const CertificateSet renewed = *renew(set, Duty::Serving, more, kStart);
  EXPECT_EQ(judge(renewed, more, kStart).duty, Duty::None);
}

TEST(Certificates, ReplaceMissingOrMismatchedParts) {
  const CertificateSet good = fresh();
  const CertificateSet other = fresh();
  EXPECT_EQ(judge({}, options(), kStart).duty, Duty::Everything);
  const auto broken = [&](auto change) {
    CertificateSet set = good;
    change(set);
    return judge(set, options(), kStart).duty;
  };
  EXPECT_EQ(broken([](auto& set) { set.key = "x"; }), Duty::Everything);
  EXPECT_EQ(broken([](auto& set) { set.bundle.clear(); }), Duty::Everything);
  EXPECT_EQ(broken([&](auto& set) { set.key = other.key; }), Duty::Everything);
  EXPECT_EQ(broken([&](auto& set) { set.authority_key = other.authority_key; }), Duty::Everything);
  EXPECT_EQ(broken([&](auto& set) { set.certificate = other.certificate; }), Duty::Everything);
  // Those who trust the old authority go on doing so until it has ended.
  CertificateSet lost = good;
  lost.authority_key.clear();
  const CertificateSet renewed = *renew(lost, Duty::Everything, options(), kStart);
  EXPECT_EQ(authorities(renewed), 2U);
  EXPECT_EQ(judge(renewed, options(), kStart).duty, Duty::None);
}

TEST(Certificates, RollAuthorityOverInStepsThatClientsTrust) {
  CertificateOptions brief = options();  // fewer looks, the same steps
  brief.life = days(20);
  brief.authority_life = days(200);
  CertificateSet set = *renew({}, Duty::Everything, brief, kStart);
  CertificateSet known = set;  // what clients learned before the last change
  std::vector<std::pair<Duty, Instant>> history;
  Instant now = kStart;
  while (now < kStart + days(200)) {
    const Judgement judgement = judge(set, brief, now);
    if (judgement.duty == Duty::None) {
      ASSERT_GT(judgement.next, now);
      known = set;
      now = judgement.next;
      continue;
    }
    known = set;
    set = *renew(set, judgement.duty, brief, now);
    history.emplace_back(judgement.duty, now);
    EXPECT_TRUE(trusted(set, known)) << name_of(judgement.duty);
    EXPECT_TRUE(trusted(set, set)) << name_of(judgement.duty);
    EXPECT_GT(expiry_of(set), now);
    ASSERT_LT(history.size(), 100U);
  }
  const auto of = [&](Duty duty) {
    return std::ranges::find(history, duty, &std::pair<Duty, Instant>::first);
  };
  const auto authority = of(Duty::Authority);
  ASSERT_NE(authority, history.end());
  EXPECT_EQ(authority->second, kStart + days(200 - 40));
  EXPECT_EQ(std::next(authority)->first, Duty::Serving) << "the new one signs";
  EXPECT_EQ(std::next(authority)->second, authority->second + settling_time(brief));
  const auto prune = of(Duty::Prune);
  ASSERT_NE(prune, history.end());
  EXPECT_EQ(prune->second, authority->second + days(5)) << "the old one stays for a while";
  EXPECT_EQ(authorities(set), 1U);
}

}  // namespace
}  // namespace athanor::webhook::certificates_test
