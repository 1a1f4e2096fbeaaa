// SPDX-License-Identifier: Apache-2.0
// A verdict costs nothing but its question, whatever the webhook does.
#include "webhook/review.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "runtime/view/view.hpp"
#include "support/fake_world.hpp"

namespace athanor::webhook::review_test {
namespace {

Verdict break_down(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  ATHANOR_CHECK(request.object["x"].is_null(), "objects have no x");
  return Verdict::allow();
}
constexpr Webhook kHook{.name = "breaks.example.com", .admit = break_down};

class Verdicts : public ::testing::Test {
 protected:
  Verdicts() { set_broken_invariants_fatal(false); }
  ~Verdicts() override { set_broken_invariants_fatal(true); }

  [[nodiscard]] static Verdict of(Value object) {
    Question question{.webhook = &kHook};
    question.request.object = std::move(object);
    const test::FakeWorld world;
    Reads reads;
    return verdict_of(question, View(world, reads), Instant());
  }
};

TEST_F(Verdicts, ABrokenInvariantCostsItsQuestionAlone) {
  const Verdict broken = of(Value::object({{"x", "1"}}));
  EXPECT_FALSE(broken.allowed);
  EXPECT_EQ(broken.code, 500);
  EXPECT_NE(broken.message.find("objects have no x"), std::string::npos) << broken.message;
  EXPECT_TRUE(of(Value::object({{"y", "1"}})).allowed);
}

// docs/spec/das.md 5.2, W3 to W6; other webhooks get a Status.
TEST(Questions, FaultsAreReviewedWhereTheWebhookSaysSo) {
  constexpr Webhook kPlain{.name = "plain", .path = "/plain"};
  constexpr Webhook kOwn{.name = "own", .path = "/own", .reviews_faults = true};
  const Webhook webhooks[] = {kPlain, kOwn};
  const auto fault = [&](std::string_view path, std::string_view type, const std::string* body) {
    const auto read = read_question(webhooks, "POST", path, type, body);
    EXPECT_FALSE(read.ok());
    return std::to_string(read.error().code) + " " + fault_text(webhooks, path, read.error());
  };
  const auto reviewed = [](const std::string& message) {
    return R"(400 {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":)"
           R"({"uid":"","allowed":false,"status":{"code":400,"reason":"BadRequest","message":")" +
           message + R"("}}})";
  };
  const std::string empty;
  const std::string object = "{}";
  const std::string review = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})";
  constexpr const char* kJson = "application/json; charset=utf-8";
  EXPECT_EQ(fault("/own", kJson, nullptr), reviewed("request body is nil"));
  EXPECT_EQ(fault("/own", kJson, &empty), reviewed("request body is empty"));
  EXPECT_EQ(fault("/own", "text/plain", &object),
            reviewed("contentType=text/plain, expected application/json"));
  EXPECT_EQ(fault("/own", kJson, &review), reviewed("no request in request body"));
  const std::string torn = "{";
  EXPECT_NE(fault("/own", kJson, &torn).find("AdmissionReview"), std::string::npos);
  EXPECT_EQ(fault("/plain", "text/plain", &object), "415 ");
  EXPECT_EQ(fault("/plain", kJson, &review), "400 ");
  EXPECT_EQ(fault("/nowhere", kJson, &review), "404 ");
}

}  // namespace
}  // namespace athanor::webhook::review_test
