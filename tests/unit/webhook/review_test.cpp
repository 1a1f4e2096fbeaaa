// SPDX-License-Identifier: Apache-2.0
// A verdict costs nothing but its question, whatever the webhook does.
#include "webhook/review.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/contain.hpp"
#include "runtime/view/view.hpp"
#include "support/fake_world.hpp"

namespace athanor::webhook {
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

}  // namespace
}  // namespace athanor::webhook
