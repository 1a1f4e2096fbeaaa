// SPDX-License-Identifier: Apache-2.0
// Acceptance check A17: the clock jumps an hour ahead and back, and nothing minds.
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::clock_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kMaps = "/api/v1/namespaces/tst/configmaps";

Value event(std::string_view name) {
  Value object = parse(R"({"involvedObject":{"kind":"Pod","namespace":"tst","name":"p"}})");
  object.set("metadata", Value::object({{"name", name}}));
  return object;
}

TEST(ClockSteps, AgesAreNeverNegative) {
  TestServer server;
  ASSERT_EQ(server.post(kMaps, config_map("m")).status, 201);
  const auto age = [&server] {
    const Answer table = server.call("GET " + std::string(kMaps) + "/m", "",
                                     {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
    return table.value["rows"][0]["cells"][2].str();
  };
  server.advance(-hours(1));
  EXPECT_EQ(age(), "<invalid>");  // as the reference says it
  server.advance(hours(2));
  EXPECT_EQ(age(), "60m");
}

TEST(ClockSteps, WritesGoOnInOrder) {
  TestServer server;
  Answer watch = server.get(std::string(kMaps) + "?watch=1");
  std::uint64_t last = 0;
  for (const Duration step : {Duration(-hours(1)), Duration(hours(1)), Duration(-hours(1))}) {
    server.advance(step);
    const std::string name = "m" + std::to_string(last);
    const Answer made = server.post(kMaps, config_map(name));
    ASSERT_EQ(made.status, 201) << made.text;
    ASSERT_EQ(
        server.patch(std::string(kMaps) + "/" + name, "merge", R"({"data":{"a":"b"}})").status,
        200);
    const std::uint64_t revision = server.store().revision();
    EXPECT_GT(revision, last);
    last = revision;
  }
  EXPECT_EQ(TestServer::events(watch).size(), 6U);
  EXPECT_FALSE(watch.ended);
}

TEST(ClockSteps, EventsAreNotLostEarly) {
  TestServer server;
  const std::string events = "/api/v1/namespaces/tst/events";
  server.advance(-hours(1));
  ASSERT_EQ(server.post(events, event("early")).status, 201);
  server.advance(hours(1) - minutes(1));
  EXPECT_EQ(server.get(events + "/early").status, 200);
  server.advance(-hours(1));
  EXPECT_EQ(server.get(events + "/early").status, 200);
  server.advance(hours(3));
  EXPECT_EQ(server.get(events + "/early").status, 404);
}

TEST(ClockSteps, EndsWatchesExactlyWhenTimeIsOver) {
  TestServer server;
  Answer watch = server.get(std::string(kMaps) + "?watch=1&timeoutSeconds=600");
  server.advance(-hours(1));
  TestServer::events(watch);
  EXPECT_FALSE(watch.ended);
  server.advance(hours(1) + minutes(11));
  TestServer::events(watch);
  EXPECT_TRUE(watch.ended);
}

TEST(ClockSteps, LeasesChangeHands) {
  TestServer server;
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/tst/leases";
  ASSERT_EQ(server
                .post(leases, parse(R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"a",
                    "leaseDurationSeconds":15,"renewTime":"2026-11-20T10:00:00.000000Z"}})"))
                .status,
            201);
  for (const Duration step : {Duration(hours(1)), Duration(-hours(2))}) {
    server.advance(step);
    Value lease = server.get(leases + "/l").value;
    lease.member("spec").set("renewTime", format_micro_time(server.now()));
    const Answer renewed = server.put(leases + "/l", lease);
    EXPECT_EQ(renewed.status, 200) << renewed.text;
    EXPECT_EQ(server.put(leases + "/l", lease).status, 409);  // who is late is told
  }
}

TEST(ClockSteps, DeletionGoesOn) {
  TestServer server;
  Value map = config_map("m");
  map.member("metadata").set("finalizers", parse(R"(["ex.com/f"])"));
  ASSERT_EQ(server.post(kMaps, map).status, 201);
  server.advance(-hours(1));
  ASSERT_EQ(server.remove(std::string(kMaps) + "/m").status, 200);
  server.advance(hours(1));
  EXPECT_EQ(server.patch(std::string(kMaps) + "/m", "merge", R"({"metadata":{"finalizers":null}})")
                .status,
            200);
  EXPECT_EQ(server.get(std::string(kMaps) + "/m").status, 404);
}

}  // namespace
}  // namespace athanor::apiserver::clock_test
