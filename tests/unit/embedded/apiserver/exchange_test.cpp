// SPDX-License-Identifier: Apache-2.0
// A request that breaks an invariant is answered with 500 and costs no other
// (docs/spec/apiserver.md 2.10).
#include "embedded/apiserver/request/exchange.hpp"

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/contain.hpp"

namespace athanor::apiserver::exchange_test {
namespace {

class Exchanges : public ::testing::Test {
 protected:
  Exchanges() {
    set_broken_invariants_fatal(false);
    context.entropy = entropy.get();
    context.clock = clock.get();
    context.pass = [](const Request& request, Instant, Conversation&) {
      ATHANOR_CHECK(request.path != "/broken", "this path breaks");
      return std::optional<Response>(Response{});
    };
  }
  ~Exchanges() override { set_broken_invariants_fatal(true); }

  [[nodiscard]] int status_of(std::string path) const {
    Request request;
    request.method = "GET";
    request.path = std::move(path);
    int status = 0;
    start_exchange(
        context, std::move(request), clock->now(), [](UniqueFunction<void()> task) { task(); },
        [&status](Response answer) { status = answer.status; });
    return status;
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::unique_ptr<Clock> clock = wall_clock();
  ExchangeContext context{};
};

TEST_F(Exchanges, ABrokenInvariantCostsItsRequestAlone) {
  EXPECT_EQ(status_of("/broken"), 500);
  EXPECT_EQ(status_of("/healthz"), 200);
}

}  // namespace
}  // namespace athanor::apiserver::exchange_test
