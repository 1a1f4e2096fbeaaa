// SPDX-License-Identifier: Apache-2.0
// The webhooks' controllers in a world of their own.
#include "webhook/operators.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "support/fake_world.hpp"

namespace athanor::webhook::operators_test {
namespace {

using std::chrono::days;
using std::chrono::seconds;

constexpr std::string_view kService = R"({"service": {"name": "hooks", "namespace": "sys"}})";

class WebhookOperators : public ::testing::Test {
 protected:
  WebhookOperators() {
    settings = {.secret = {"sys", "certs"}, .target = {.service = "hooks", .ns = "sys"}};
    settings.certificates.hosts = {"hooks.sys.svc"};
    world.configure(kSection, to_value(settings));
    world.probes[std::string(kCertificateProbe)] = [this](test::FakeWorld& here,
                                                          std::string_view query) -> Result<Value> {
      ++asked;
      const CertificateQuery parsed = CertificateQuery::parse(query);
      const auto secret = here.get(api::kSecret, settings.secret);
      EXPECT_EQ(parsed.version, secret ? secret->resource_version() : "-");
      const CertificateSet set = secret ? read_set(secret->body()["data"]) : CertificateSet();
      auto made = renew(set, parsed.duty, settings.certificates, here.now);
      return made.ok() ? Result<Value>(to_data(*made)) : made.error();
    };
  }

  [[nodiscard]] CertificateSet stored() const {
    return read_set(world.must(api::kSecret, settings.secret).body()["data"]);
  }
  void put(const Kind& kind, const std::string& name, std::string_view config) {
    Value hook = Value::object({{"name", "a.b.c"}, {"clientConfig", *json::parse(config)}});
    world.put(Value::object({{"apiVersion", kind.api_version()},
                             {"kind", kind.name},
                             {"metadata", Value::object({{"name", name}})},
                             {"webhooks", Value::list({hook})}}));
  }
  [[nodiscard]] std::string bundle(const Kind& kind, const std::string& name) const {
    const Object object = world.must(kind, {"", name});
    return base64_decode(object.body()["webhooks"][0]["clientConfig"]["caBundle"].as_string())
        .value_or("?");
  }

  test::FakeWorld world{};
  Settings settings{};
  int asked = 0;
};

TEST_F(WebhookOperators, MakeCertificateAndWriteBundlesOfOwnService) {
  put(kValidatingConfiguration, "ours", kService);
  put(kMutatingConfiguration, "ours", kService);
  put(kValidatingConfiguration, "theirs",
      R"({"service": {"name": "x", "namespace": "sys"}, "caBundle": "b3RoZXI="})");
  world.settle(operators(false));
  const std::string ca = stored().bundle;
  EXPECT_FALSE(ca.empty());
  EXPECT_EQ(bundle(kValidatingConfiguration, "ours"), ca);
  EXPECT_EQ(bundle(kMutatingConfiguration, "ours"), ca);
  EXPECT_EQ(bundle(kValidatingConfiguration, "theirs"), "other");
  EXPECT_EQ(world.writes.size(), 3U);
  EXPECT_EQ(asked, 1);
}

TEST_F(WebhookOperators, ReportBundlesWrittenOnceAllOwnHaveThem) {
  put(kValidatingConfiguration, "ours", kService);
  put(kMutatingConfiguration, "ours", kService);
  put(kMutatingConfiguration, "theirs", R"({"service": {"name": "x", "namespace": "sys"}})");
  const auto written = [&] {
    Reads reads;
    return bundles_are_written(View(world, reads));
  };
  EXPECT_FALSE(written()) << "there is none";
  world.settle(operators(false));
  EXPECT_TRUE(written());
  world.update(kMutatingConfiguration, {"", "ours"}, [](Value& object) {
    object.member("webhooks").item(0).member("clientConfig").set("caBundle", "");
  });
  EXPECT_FALSE(written());
}

TEST_F(WebhookOperators, FillEmptySecretAndRestoreRemovedBundle) {
  world.put(*json::parse(
      R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "certs", "namespace": "sys"}})"));
  put(kValidatingConfiguration, "ours", kService);
  world.settle(operators(false));
  const std::string ca = stored().bundle;
  world.update(kValidatingConfiguration, {"", "ours"}, [](Value& object) {
    object.member("webhooks").item(0).member("clientConfig").set("caBundle", "");
  });
  world.settle(operators(false));
  EXPECT_EQ(bundle(kValidatingConfiguration, "ours"), ca);
  EXPECT_EQ(stored().bundle, ca) << "and nothing was made anew";
}

TEST_F(WebhookOperators, TheServingCertificateIsRenewedInTime) {
  settings.certificates.life = days(20);
  world.configure(kSection, to_value(settings));
  world.settle(operators(false));
  const CertificateSet first = stored();
  world.settle_for(operators(false), days(14));
  EXPECT_EQ(stored(), first);
  world.settle_for(operators(false), days(2));
  EXPECT_NE(stored().certificate, first.certificate);
  EXPECT_EQ(stored().bundle, first.bundle);
}

TEST_F(WebhookOperators, ReportsDefinitionsOnRequest) {
  Value crd = *json::parse(R"({"apiVersion": "apiextensions.k8s.io/v1",
      "kind": "CustomResourceDefinition", "metadata": {"name": "things.ex.com"},
      "spec": {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}}})");
  crd.set_path({"spec", "conversion", "webhook", "clientConfig"}, *json::parse(kService));
  world.put(crd);
  world.settle(operators(true));
  const Object told = world.must(api::kCustomResourceDefinition, {"", "things.ex.com"});
  EXPECT_EQ(told.spec()["conversion"]["webhook"]["clientConfig"]["caBundle"].as_string(),
            base64_encode(stored().bundle));
  EXPECT_EQ(told.spec()["conversion"]["strategy"].as_string(), "Webhook");
}

TEST_F(WebhookOperators, TroubleWithKeysIsTriedAgain) {
  auto good = world.probes[std::string(kCertificateProbe)];
  world.probes[std::string(kCertificateProbe)] = [](test::FakeWorld&, std::string_view) {
    return Result<Value>(Error::unavailable("no randomness"));
  };
  world.settle(operators(false));
  EXPECT_FALSE(world.has(api::kSecret, settings.secret));
  world.probes[std::string(kCertificateProbe)] = good;
  world.settle_for(operators(false), seconds(60));
  EXPECT_TRUE(world.has(api::kSecret, settings.secret));
}

TEST(CertificateQuery, IsReadAsItWasPrinted) {
  const CertificateQuery query{.duty = Duty::Authority, .version = "17"};
  EXPECT_EQ(query.text(), "webhook-certificates:authority:17");
  EXPECT_EQ(CertificateQuery::parse(query.text()).duty, Duty::Authority);
  EXPECT_EQ(CertificateQuery::parse(query.text()).version, "17");
}

}  // namespace
}  // namespace athanor::webhook::operators_test
