// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/resources/event_expiry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "embedded/store/store.hpp"

namespace athanor::apiserver::event_expiry_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EventExpiryTest : public ::testing::Test {
 protected:
  void write(const std::string& name, Instant now) {
    const store::Write write{
        .resource = "events",
        .key = {"default", name},
        .body = Value::object(
            {{"kind", "Event"},
             {"metadata", Value::object({{"name", name}, {"creationTimestamp", format_time(now)}})},
             {"lastTimestamp", format_time(now)}})};
    ASSERT_TRUE(store_->commit({&write, 1}, now).ok());
  }
  // Ticks every second until `now`.
  void run_until(Instant now) {
    while (now_ < now) {
      now_ += seconds(1);
      expiry_.tick(now_);
      store_->trim(now_);
    }
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto page = store_->list("events", {});
    for (const auto& item : page->items) {
      names.push_back(item->key.name);
    }
    return names;
  }

  const Instant start_ = *parse_time("2026-11-21T10:00:00Z");

 private:
  std::unique_ptr<store::Store> store_ = *store::Store::open(store::memory_journal(), {});
  EventExpiry expiry_{*store_, hours(1)};
  Instant now_ = start_;
};

TEST_F(EventExpiryTest, EventsLiveAnHourAfterTheirLastWrite) {
  run_until(start_ + minutes(10));
  write("once", start_ + minutes(10));
  write("again", start_ + minutes(10));
  run_until(start_ + minutes(30));
  write("again", start_ + minutes(30));
  run_until(start_ + minutes(70) - seconds(1));
  EXPECT_THAT(names(), ElementsAre("again", "once"));
  run_until(start_ + minutes(71));
  EXPECT_THAT(names(), ElementsAre("again"));
  run_until(start_ + minutes(90) - seconds(1));
  EXPECT_THAT(names(), ElementsAre("again"));
  run_until(start_ + minutes(91));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(EventExpiryTest, TakesAgeOfEarlierEventsFromTheirTime) {
  write("old", start_ - minutes(50));
  write("young", start_ - minutes(5));
  run_until(start_ + minutes(11));
  EXPECT_THAT(names(), ElementsAre("young"));
  run_until(start_ + minutes(56));
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace athanor::apiserver::event_expiry_test
