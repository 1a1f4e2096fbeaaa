// SPDX-License-Identifier: Apache-2.0
// The election: client-go's record, its pace, and that there are never two leaders.
#include "runtime/engine/elector.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace athanor::runtime::elector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Instant kWall{seconds(1'800'000'000)};

ElectorOptions options_of(const std::string& identity, Entropy& entropy) {
  return {.lease = {"kube-system", "athanor"}, .identity = identity, .entropy = &entropy};
}

Object lease_of(const std::string& holder, int duration, const std::string& renewed,
                int transitions = 3) {
  return Object(Value::object(
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata",
        Value::object(
            {{"name", "athanor"}, {"namespace", "kube-system"}, {"resourceVersion", "7"}})},
       {"spec", Value::object({{"holderIdentity", holder},
                               {"leaseDurationSeconds", duration},
                               {"acquireTime", "2026-01-01T00:00:00.000000Z"},
                               {"renewTime", renewed},
                               {"leaseTransitions", transitions}})}}));
}

template <class Effect>
const Effect* find(const ElectorEffects& effects) {
  for (const ElectorEffect& effect : effects) {
    if (const auto* one = std::get_if<Effect>(&effect)) {
      return one;
    }
  }
  return nullptr;
}

// One elector at the hands of a test.
struct Bench {
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  Elector elector{options_of("a", *entropy)};
  Steady now{};

  ElectorEffects start() {
    ElectorEffects effects;
    elector.start(now, kWall + now, effects);
    return effects;
  }
  ElectorEffects answer(std::uint64_t id, const Result<Object>& lease) {
    ElectorEffects effects;
    elector.answer(id, lease, now, kWall + now, effects);
    return effects;
  }
  ElectorEffects tick(Duration later) {
    now += later;
    ElectorEffects effects;
    elector.tick(now, kWall + now, effects);
    return effects;
  }
  ElectorEffects stop() {
    ElectorEffects effects;
    elector.stop(now, kWall + now, effects);
    return effects;
  }
  // Becomes leader of a lease that nobody had.
  void lead() {
    const auto read = start();
    const auto write = answer(find<ReadLease>(read)->id, Error::not_found("no lease"));
    answer(find<WriteLease>(write)->id, Object(find<WriteLease>(write)->body));
    ASSERT_TRUE(elector.may_write(now));
  }
};

TEST(Elector, MakesALeaseThatIsMissing) {
  Bench bench;
  const auto read = bench.start();
  ASSERT_NE(find<ReadLease>(read), nullptr);
  const auto made = bench.answer(find<ReadLease>(read)->id, Error::not_found("none"));
  const auto* write = find<WriteLease>(made);
  ASSERT_NE(write, nullptr);
  EXPECT_TRUE(write->create);
  const Value& spec = write->body["spec"];
  EXPECT_EQ(spec["holderIdentity"].as_string(), "a");
  EXPECT_EQ(spec["leaseDurationSeconds"].as_int(), 15);
  EXPECT_EQ(spec["leaseTransitions"].as_int(-1), 0);
  EXPECT_EQ(spec["acquireTime"].as_string(), "2027-01-15T08:00:00.000000Z");
  EXPECT_EQ(spec["renewTime"].as_string(), "2027-01-15T08:00:00.000000Z");
  EXPECT_FALSE(bench.elector.may_write(bench.now));
  const auto won = bench.answer(write->id, Object(write->body));
  EXPECT_NE(find<BecameLeader>(won), nullptr);
  EXPECT_TRUE(bench.elector.may_write(bench.now));
  EXPECT_EQ(bench.elector.deadline(), Steady(seconds(10)));
}

TEST(Elector, WaitsForTheHolderByItsOwnClock) {
  Bench bench;
  const auto read = bench.start();
  // Renewed long ago by its own account: that clock may be wrong.
  const Object held = lease_of("b", 15, "2020-01-01T00:00:00.000000Z");
  const auto first = bench.answer(find<ReadLease>(read)->id, held);
  EXPECT_EQ(find<WriteLease>(first), nullptr);
  ASSERT_NE(find<WakeElector>(first), nullptr);
  EXPECT_EQ(find<LeaderIs>(first)->identity, "b");
  EXPECT_GE(find<WakeElector>(first)->at, Steady(seconds(2)));
  EXPECT_LT(find<WakeElector>(first)->at, Steady(milliseconds(4400)));
  Steady taken{};
  while (taken == Steady{} && bench.now < seconds(30)) {
    const auto again = bench.tick(seconds(1));
    if (const auto* ask = find<ReadLease>(again)) {
      const auto then = bench.answer(ask->id, held);
      if (const auto* write = find<WriteLease>(then)) {
        EXPECT_FALSE(write->create);
        EXPECT_EQ(write->body["spec"]["leaseTransitions"].as_int(), 4);
        EXPECT_EQ(write->body["metadata"]["resourceVersion"].as_string(), "7");
        taken = bench.now;
      }
    }
  }
  EXPECT_GE(taken, Steady(seconds(15)));
  EXPECT_LT(taken, Steady(seconds(20)));
}

// A killed leader costs what is left of its lease, and no more.
TEST(Elector, TakesALeaseAtItsEnd) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto entropy = seeded_entropy(seed);
    ElectorOptions options = options_of("a", *entropy);
    options.lease_duration = seconds(3);
    options.renew_deadline = seconds(2);
    options.retry_period = milliseconds(500);
    Elector elector(options);
    const Object held = lease_of("b", 3, "2020-01-01T00:00:00.000000Z");
    ElectorEffects effects;
    elector.start(Steady{}, kWall, effects);
    Steady now{};
    while (find<WriteLease>(effects) == nullptr && now < seconds(10)) {
      ElectorEffects next;
      if (const auto* ask = find<ReadLease>(effects)) {
        elector.answer(ask->id, held, now, kWall + now, next);
      } else if (const auto* woken = find<WakeElector>(effects)) {
        now = woken->at;
        elector.tick(now, kWall + now, next);
      }
      effects = std::move(next);
    }
    EXPECT_EQ(now, Steady(seconds(3))) << seed;
  }
}

TEST(Elector, TakesAReleasedLeaseAtOnce) {
  Bench bench;
  const auto read = bench.start();
  const auto then =
      bench.answer(find<ReadLease>(read)->id, lease_of("", 1, "2026-01-01T00:00:00.000000Z"));
  const auto* write = find<WriteLease>(then);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->body["spec"]["leaseTransitions"].as_int(), 4);
  EXPECT_EQ(write->body["spec"]["leaseDurationSeconds"].as_int(), 15);
}

TEST(Elector, RenewsEveryTwoSecondsAndKeepsAcquireTime) {
  Bench bench;
  bench.lead();
  EXPECT_EQ(find<WriteLease>(bench.tick(milliseconds(1999))), nullptr);
  const auto effects = bench.tick(milliseconds(1));
  const auto* write = find<WriteLease>(effects);
  ASSERT_NE(write, nullptr);
  EXPECT_FALSE(write->create);
  EXPECT_EQ(write->body["spec"]["acquireTime"].as_string(), "2027-01-15T08:00:00.000000Z");
  EXPECT_EQ(write->body["spec"]["renewTime"].as_string(), "2027-01-15T08:00:02.000000Z");
  EXPECT_EQ(write->body["spec"]["leaseTransitions"].as_int(-1), 0);
  bench.answer(write->id, Object(write->body));
  EXPECT_EQ(bench.elector.deadline(), Steady(seconds(12)));
}

TEST(Elector, StopsWritingWhenTheLeaseCannotBeRenewed) {
  Bench bench;
  bench.lead();
  bool lost = false;
  while (!lost && bench.now < seconds(30)) {
    EXPECT_EQ(bench.elector.may_write(bench.now), bench.now < seconds(10));
    const auto effects = bench.tick(milliseconds(500));
    lost = find<LostLeadership>(effects) != nullptr;
    if (const auto* write = find<WriteLease>(effects)) {
      bench.answer(write->id, Error::unavailable("down"));
    } else if (const auto* read = find<ReadLease>(effects)) {
      bench.answer(read->id, Error::unavailable("down"));
    }
  }
  EXPECT_EQ(bench.now, Steady(seconds(10)));
  EXPECT_FALSE(bench.elector.may_write(bench.now));
}

TEST(Elector, LosesLeadershipWhenRenewalHangs) {
  Bench bench;
  bench.lead();
  ASSERT_NE(find<WriteLease>(bench.tick(seconds(2))), nullptr);
  EXPECT_TRUE(bench.elector.may_write(Steady(milliseconds(9999))));
  EXPECT_FALSE(bench.elector.may_write(Steady(seconds(10))));
  EXPECT_NE(find<LostLeadership>(bench.tick(seconds(8))), nullptr);
}

TEST(Elector, AnAnswerAfterTheDeadlineMakesNoLeader) {
  Bench bench;
  const auto read = bench.start();
  const auto write = bench.answer(find<ReadLease>(read)->id, Error::not_found("none"));
  bench.now = seconds(11);
  const auto late =
      bench.answer(find<WriteLease>(write)->id, Object(find<WriteLease>(write)->body));
  EXPECT_EQ(find<BecameLeader>(late), nullptr);
  EXPECT_FALSE(bench.elector.may_write(bench.now));
}

TEST(Elector, LosesLeaseTakenByAnother) {
  Bench bench;
  bench.lead();
  const auto renew = bench.tick(seconds(2));
  bench.answer(find<WriteLease>(renew)->id, Error::conflict("changed"));
  const auto ask = bench.tick(seconds(2));
  ASSERT_NE(find<ReadLease>(ask), nullptr);
  const auto lost =
      bench.answer(find<ReadLease>(ask)->id, lease_of("b", 15, "2026-01-01T00:00:00.000000Z"));
  EXPECT_NE(find<LostLeadership>(lost), nullptr);
  EXPECT_FALSE(bench.elector.may_write(bench.now));
}

TEST(Elector, GivesTheLeaseBack) {
  Bench bench;
  bench.lead();
  const auto effects = bench.stop();
  const auto* write = find<WriteLease>(effects);
  ASSERT_NE(write, nullptr);
  EXPECT_FALSE(bench.elector.may_write(bench.now));
  EXPECT_EQ(write->body["spec"]["holderIdentity"].as_string(), "");
  EXPECT_TRUE(write->body["spec"]["holderIdentity"].is_string());
  EXPECT_EQ(write->body["spec"]["leaseDurationSeconds"].as_int(), 1);
  EXPECT_FALSE(bench.elector.released());
  bench.answer(write->id, Object(write->body));
  EXPECT_TRUE(bench.elector.released());
}

TEST(Elector, ReleasesLeaseAfterPendingRenewal) {
  Bench bench;
  bench.lead();
  const auto renew = bench.tick(seconds(2));
  EXPECT_EQ(find<WriteLease>(bench.stop()), nullptr);
  Value renewed = find<WriteLease>(renew)->body;
  renewed.set_path({"metadata", "resourceVersion"}, "9");
  const auto effects = bench.answer(find<WriteLease>(renew)->id, Object(renewed));
  const auto* write = find<WriteLease>(effects);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->body["metadata"]["resourceVersion"].as_string(), "9");
  EXPECT_EQ(write->body["spec"]["holderIdentity"].as_string(), "");
}

TEST(Elector, RefusesOptionsThatCannotBeSafe) {
  const auto entropy = seeded_entropy(1);
  const ElectorOptions good = options_of("a", *entropy);
  EXPECT_TRUE(check(good).ok());
  ElectorOptions bad = good;
  bad.renew_deadline = seconds(15);
  EXPECT_EQ(check(bad).error().message, "leaseDuration must be greater than renewDeadline");
  bad = good;
  bad.retry_period = seconds(9);
  EXPECT_EQ(check(bad).error().message,
            "renewDeadline must be greater than retryPeriod*JitterFactor");
  bad = good;
  bad.identity.clear();
  EXPECT_FALSE(check(bad).ok());
}

// A Lease on a server behind a network that loses, delays and reorders.
struct FakeLease {
  std::optional<Value> body{};
  std::uint64_t version = 0;

  Result<Object> read() const {
    return body ? Result<Object>(Object(*body)) : Error::not_found("none");
  }
  Result<Object> write(const WriteLease& write) {
    if (write.create == body.has_value()) {
      return write.create ? Error::conflict("exists") : Error::not_found("none");
    }
    if (!write.create &&
        write.body["metadata"]["resourceVersion"] != (*body)["metadata"]["resourceVersion"]) {
      return Error::conflict("changed");
    }
    body = write.body;
    body->set_path({"metadata", "resourceVersion"}, std::to_string(++version));
    return Object(*body);
  }
};

// A candidate that crashes, comes back under another identity, and whose wall clock jumps.
struct Candidate {
  std::string name{};
  Entropy* entropy = nullptr;
  std::unique_ptr<Elector> elector{};
  int lives = 0;
  Duration skew{};
  Steady up_at{};
  struct Flight {
    std::uint64_t life = 0;
    ElectorEffect effect{};
    Steady reaches{};
    Steady returns{};
    std::optional<Result<Object>> answer{};
  };
  std::deque<Flight> flights{};
};

class Election {
 public:
  explicit Election(std::uint64_t seed) : entropy_(seeded_entropy(seed)) {
    for (const char* name : {"a", "b", "c"}) {
      candidates_.push_back({.name = name, .entropy = entropy_.get()});
    }
  }

  void run(Steady until, bool faults) {
    while (now_ < until) {
      now_ += milliseconds(100);
      for (Candidate& one : candidates_) {
        step(one, faults);
      }
      int leaders = 0;
      for (const Candidate& one : candidates_) {
        leaders += one.elector != nullptr && one.elector->may_write(now_) ? 1 : 0;
      }
      EXPECT_LE(leaders, 1) << "two leaders at " << now_.count();
      led_ += leaders;
    }
  }
  [[nodiscard]] int led() const { return led_; }
  [[nodiscard]] int terms() const { return terms_; }

 private:
  bool chance(std::uint64_t percent) { return entropy_->next() % 1000 < percent; }

  void step(Candidate& one, bool faults) {
    if (faults && chance(5)) {
      one.skew = seconds(static_cast<std::int64_t>(entropy_->next() % 7200) - 3600);
    }
    if (faults && one.elector != nullptr && chance(3)) {
      one.elector.reset();  // kill -9: what it sent is still under way
      one.up_at = now_ + milliseconds(static_cast<std::int64_t>(entropy_->next() % 5000));
    }
    ElectorEffects effects;
    if (one.elector == nullptr && now_ >= one.up_at) {
      ++one.lives;
      one.elector =
          std::make_unique<Elector>(options_of(one.name + std::to_string(one.lives), *one.entropy));
      one.elector->start(now_, wall(one), effects);
    }
    deliver(one, effects, faults);
    if (one.elector != nullptr) {
      one.elector->tick(now_, wall(one), effects);
    }
    if (faults && one.elector != nullptr && one.elector->leading() && chance(1)) {
      one.elector->stop(now_, wall(one), effects);
    }
    send(one, effects, faults);
    if (one.elector != nullptr && one.elector->released()) {
      one.elector.reset();
      one.up_at = now_ + seconds(1);
    }
  }

  void deliver(Candidate& one, ElectorEffects& effects, bool faults) {
    for (Candidate::Flight& flight : one.flights) {
      if (!flight.answer && flight.reaches <= now_) {
        const auto* write = std::get_if<WriteLease>(&flight.effect);
        flight.answer = write != nullptr ? lease_.write(*write) : lease_.read();
        if (faults && chance(100)) {
          flight.answer = Error::unavailable("the answer was lost");
        }
      }
    }
    std::deque<Candidate::Flight> left;
    for (Candidate::Flight& flight : one.flights) {
      if (!flight.answer || flight.returns > now_) {
        left.push_back(std::move(flight));
        continue;
      }
      if (one.elector != nullptr && flight.life == static_cast<std::uint64_t>(one.lives)) {
        const auto* write = std::get_if<WriteLease>(&flight.effect);
        const std::uint64_t id =
            write != nullptr ? write->id : std::get<ReadLease>(flight.effect).id;
        one.elector->answer(id, *flight.answer, now_, wall(one), effects);
      }
    }
    one.flights = std::move(left);
  }

  void send(Candidate& one, const ElectorEffects& effects, bool faults) {
    for (const ElectorEffect& effect : effects) {
      if (std::holds_alternative<BecameLeader>(effect)) {
        ++terms_;
      }
      if (!std::holds_alternative<ReadLease>(effect) &&
          !std::holds_alternative<WriteLease>(effect)) {
        continue;
      }
      const std::uint64_t most = faults && chance(150) ? 20'000 : 200;  // a hang, or not
      const auto there = milliseconds(static_cast<std::int64_t>(entropy_->next() % most));
      const auto back = milliseconds(static_cast<std::int64_t>(entropy_->next() % most));
      one.flights.push_back({.life = static_cast<std::uint64_t>(one.lives),
                             .effect = effect,
                             .reaches = now_ + there,
                             .returns = now_ + there + back});
    }
  }

  Instant wall(const Candidate& one) const { return kWall + now_ + one.skew; }

  std::unique_ptr<Entropy> entropy_;
  std::vector<Candidate> candidates_{};
  FakeLease lease_{};
  Steady now_{};
  int led_ = 0;
  int terms_ = 0;
};

TEST(Elector, NeverHasTwoLeaders) {
  int terms = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    Election election(seed);
    election.run(seconds(300), true);
    terms += election.terms();
    // Once the faults stop somebody leads, and goes on leading.
    const int before = election.led();
    election.run(seconds(400), false);
    EXPECT_GT(election.led() - before, 600) << "nobody led for most of the quiet time";
  }
  EXPECT_GT(terms, 300) << "leadership changed hands often enough to mean something";
}

}  // namespace
}  // namespace athanor::runtime::elector_test
