// SPDX-License-Identifier: Apache-2.0
// Notifications: one for each end of a job, tried again, given up after a day.
#include "systems/fournos/notify.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "unit/systems/fournos/lab.hpp"

namespace athanor::fournos::notify_test {
namespace {

constexpr std::string_view kEnd = "2026-01-31T08:00:00Z";

class Notify : public Lab {
 protected:
  Notify() {
    configure({{"FOURNOS_NOTIFY_URL", "https://hooks.example/x"}});
    world.now = end();
  }
  static Instant end() { return parse_time(kEnd).value_or(Instant()); }

  void put_job(const std::string& phase) {
    put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: j, namespace: bench, uid: "
        "u}, spec: {owner: ann}, status: {phase: " +
        phase + ", message: done, completionTime: '" + std::string(kEnd) + "'}}");
  }
  [[nodiscard]] std::string query(NotifyFormat format = NotifyFormat::Json) {
    const Object job = world.must(api::kFournosJob, {kNs, "j"});
    const Notification sent = notification_of(job, end(), format);
    return "notify:" + json::print(Value::object({{"url", "https://hooks.example/x"},
                                                  {"contentType", sent.content_type},
                                                  {"body", json::print(sent.body)}}));
  }
  Plan reconcile() {
    Reads reads;
    return notify_operator().reconcile(View(world, reads), {kNs, "j"}, world.now);
  }
};

TEST_F(Notify, RecordsAnAcceptedNotification) {
  put_job("Succeeded");
  EXPECT_TRUE(reconcile().empty()) << "the answer is not there yet";
  world.observe_as(query(), Value::object({{"status", 200}}));
  EXPECT_TRUE(world.apply(reconcile()).ok());
  const Object job = world.must(api::kFournosJob, {kNs, "j"});
  EXPECT_EQ(job.annotation(kNotified), format_time(end()));
  EXPECT_TRUE(reconcile().empty()) << "once";
}

TEST_F(Notify, SaysNothingBeforeTheEnd) {
  put_job("Running");
  world.observe_as(query(), Value::object({{"status", 200}}));
  EXPECT_TRUE(reconcile().empty());
  configure({});
  put_job("Failed");
  EXPECT_TRUE(reconcile().empty()) << "no address";
}

TEST_F(Notify, TriesAgainAndGivesUpAfterADay) {
  put_job("Failed");
  world.fail_observation(query(), Error::unavailable("the webhook answered 500"));
  const Plan first = reconcile();
  ASSERT_TRUE(first.wake().has_value());
  EXPECT_EQ(*first.wake(), end() + std::chrono::seconds(1));
  EXPECT_TRUE(first.steps().empty());
  world.now = end() + std::chrono::hours(24);
  world.fail_observation(query(), Error::unavailable("the webhook answered 500"));
  EXPECT_TRUE(world.apply(reconcile()).ok());
  const Object job = world.must(api::kFournosJob, {kNs, "j"});
  EXPECT_TRUE(job.annotation(kNotified).starts_with("failed: the webhook answered 500"));
}

TEST_F(Notify, LeavesOldEndsAlone) {
  put_job("Succeeded");
  world.now = end() + std::chrono::hours(25);
  world.observe_as(query(), Value::object({{"status", 200}}));
  EXPECT_TRUE(reconcile().empty());
}

TEST_F(Notify, WrapsFactsIntoACloudEvent) {
  put_job("Failed");
  const Object job = world.must(api::kFournosJob, {kNs, "j"});
  const Notification sent = notification_of(job, end(), NotifyFormat::CloudEvents);
  EXPECT_EQ(sent.content_type, "application/cloudevents+json");
  EXPECT_EQ(sent.body["specversion"].as_string(), "1.0");
  EXPECT_EQ(sent.body["type"].as_string(), "dev.fournos.job.failed");
  EXPECT_EQ(sent.body["time"].as_string(), kEnd);
  EXPECT_EQ(sent.body["data"]["owner"].as_string(), "ann");
  EXPECT_EQ(notification_of(job, end(), NotifyFormat::Json).body, sent.body["data"]);
}

TEST(NotifyPause, GrowsWithTheTimeOfTrying) {
  EXPECT_EQ(notify_pause(Duration::zero()), std::chrono::seconds(1));
  EXPECT_EQ(notify_pause(std::chrono::seconds(30)), std::chrono::seconds(30));
  EXPECT_EQ(notify_pause(std::chrono::hours(3)), std::chrono::minutes(5));
}

TEST(NotifySettings, RefuseWrongAddressesAndFormats) {
  const auto refused = [](const char* name, const char* value) {
    return !parse_settings({{"FOURNOS_NAMESPACE", "a"}, {name, value}}).ok();
  };
  EXPECT_TRUE(refused("FOURNOS_NOTIFY_URL", "ftp://x"));
  EXPECT_TRUE(refused("FOURNOS_NOTIFY_FORMAT", "xml"));
  EXPECT_FALSE(refused("FOURNOS_NOTIFY_FORMAT", "cloudevents"));
}

}  // namespace
}  // namespace athanor::fournos::notify_test
