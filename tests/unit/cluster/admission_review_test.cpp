// SPDX-License-Identifier: Apache-2.0
// Reviews, verdicts and configurations.
#include "cluster/admission_review.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"

namespace athanor::cluster::admission_review_test {
namespace {

constexpr const char* kReview = R"({
  "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
  "request": {
    "uid": "u-1", "operation": "UPDATE", "namespace": "a", "name": "p", "subResource": "status",
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "userInfo": {"username": "eve", "groups": ["g"]},
    "object": {"x": 2}, "oldObject": {"x": 1}, "dryRun": true}})";

TEST(AdmissionReview, IsRead) {
  const auto request = parse_review(*json::parse(kReview));
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->uid, "u-1");
  EXPECT_EQ(request->operation, AdmissionRequest::Operation::Update);
  EXPECT_EQ(request->resource, "pods");
  EXPECT_EQ(request->kind, "Pod");
  EXPECT_EQ(request->subresource, "status");
  EXPECT_EQ(request->key, (Key{"a", "p"}));
  EXPECT_EQ(request->user, "eve");
  EXPECT_EQ(request->groups, std::vector<std::string>{"g"});
  EXPECT_EQ(request->object["x"].as_int(), 2);
  EXPECT_EQ(request->old_object["x"].as_int(), 1);
  EXPECT_TRUE(request->dry_run);
}

TEST(AdmissionReview, RefusesOtherDocuments) {
  for (
      const char* text :
      {R"({})",
       R"({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "u"}})",
       R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})",
       R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "READ"}})"}) {
    EXPECT_FALSE(parse_review(*json::parse(text)).ok()) << text;
  }
}

TEST(AdmissionReview, VerdictsAreAnswered) {
  Verdict denial = Verdict::deny("spec.owner is required", 422);
  denial.warnings = {"old field"};
  const Value no = answer_review("u-1", denial);
  EXPECT_EQ(json::print(no["response"]),
            R"({"uid":"u-1","allowed":false,"status":{"code":422,"reason":"Invalid",)"
            R"("message":"spec.owner is required"},"warnings":["old field"]})");
  EXPECT_EQ(json::print(answer_review("u-2", Verdict::allow())["response"]),
            R"({"uid":"u-2","allowed":true})");
}

TEST(AdmissionReview, ChangesAreAJsonPatch) {
  const Value before = *json::parse(R"({"a": 1, "spec": {"x": 1, "y": [1], "z/~": 0}})");
  const Value after = *json::parse(R"({"spec": {"x": 1, "y": [1, 2], "n": true}, "b": 2})");
  const Verdict verdict = Verdict::change(before, after);
  EXPECT_EQ(json::print(verdict.patch),
            R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/spec/z~1~0"},)"
            R"({"op":"replace","path":"/spec/y","value":[1,2]},)"
            R"({"op":"add","path":"/spec/n","value":true},{"op":"add","path":"/b","value":2}])");
  EXPECT_TRUE(Verdict::change(before, before).patch.is_null());
  const Value answer = answer_review("u", verdict);
  EXPECT_EQ(answer["response"]["patchType"].as_string(), "JSONPatch");
  EXPECT_EQ(*base64_decode(answer["response"]["patch"].as_string()), json::print(verdict.patch));
}

constexpr WebhookRule kRules[] = {{&api::kPod, "CREATE UPDATE", ""}};
constexpr Webhook kWebhooks[] = {
    {.name = "mutate.pods.example", .mutating = true, .rules = kRules, .ignore_failure = true}};

TEST(WebhookConfiguration, NamesRulesAndTarget) {
  const Value configuration = webhook_configuration(
      kWebhooks, true, "athanor", {.service = "hooks", .ns = "sys", .ca_bundle = "PEM"});
  EXPECT_EQ(configuration["kind"].as_string(), "MutatingWebhookConfiguration");
  const Value& hook = configuration["webhooks"][0];
  EXPECT_EQ(hook["failurePolicy"].as_string(), "Ignore");
  EXPECT_EQ(hook["rules"][0]["operations"], Value::list({"CREATE", "UPDATE"}));
  EXPECT_EQ(hook["clientConfig"]["service"]["path"].as_string(), "/mutate.pods.example");
  EXPECT_EQ(hook["clientConfig"]["caBundle"].as_string(), base64_encode("PEM"));
  EXPECT_TRUE(webhook_configuration(kWebhooks, false, "athanor", {}).is_null());
}

TEST(WebhookConfiguration, AnotherCaIsPatchedIn) {
  const WebhookTarget old{.service = "hooks", .ns = "sys", .ca_bundle = "old"};
  WebhookTarget renewed = old;
  renewed.ca_bundle = "new";
  const Value configuration = webhook_configuration(kWebhooks, true, "athanor", old);
  EXPECT_TRUE(ca_bundle_patch(configuration, old).is_null());
  const Value patch = ca_bundle_patch(configuration, renewed);
  EXPECT_EQ(patch["webhooks"][0]["clientConfig"]["caBundle"].as_string(), base64_encode("new"));
  EXPECT_EQ(patch["webhooks"][0]["rules"], configuration["webhooks"][0]["rules"]);
}

TEST(WebhookConfiguration, PatchesOnlyWebhooksOfTheTarget) {
  const WebhookTarget target{
      .service = "hooks", .ns = "sys", .url = "https://127.0.0.1:9443", .ca_bundle = "ca"};
  const auto config = [](const char* text) { return *json::parse(text); };
  EXPECT_TRUE(
      names_target(config(R"({"service": {"name": "hooks", "namespace": "sys"}})"), target));
  EXPECT_TRUE(names_target(config(R"({"url": "https://127.0.0.1:9443/p"})"), target));
  for (const char* other : {R"({"service": {"name": "hooks", "namespace": "other"}})",
                            R"({"service": {"name": "x", "namespace": "sys"}})",
                            R"({"url": "https://127.0.0.1:94430/p"})", R"({})"}) {
    EXPECT_FALSE(names_target(config(other), target)) << other;
    Value configuration = Value::object(
        {{"webhooks", Value::list({Value::object({{"clientConfig", config(other)}})})}});
    EXPECT_TRUE(ca_bundle_patch(configuration, target).is_null()) << other;
  }
}

TEST(WebhookConfiguration, ConversionWebhooksGetTheCaToo) {
  const WebhookTarget target{.service = "hooks", .ns = "sys", .ca_bundle = "ca"};
  Value crd = *json::parse(
      R"({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig":
          {"service": {"name": "hooks", "namespace": "sys"}}}}}})");
  const Value patch = conversion_bundle_patch(crd, target);
  EXPECT_EQ(json::print(patch),
            R"({"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":"Y2E="}}}}})");
  crd.set_path({"spec", "conversion", "webhook", "clientConfig", "caBundle"}, base64_encode("ca"));
  EXPECT_TRUE(conversion_bundle_patch(crd, target).is_null());
  EXPECT_TRUE(conversion_bundle_patch(*json::parse(R"({"spec": {}})"), target).is_null());
}

}  // namespace
}  // namespace athanor::cluster::admission_review_test
