// SPDX-License-Identifier: Apache-2.0
// What a reflector asks for and delivers, in virtual time.
#include "client/reflector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::client::reflector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Kind kJob{.group = "batch", .version = "v1", .name = "Job", .plural = "jobs"};

Value object(const std::string& name, int version) {
  return Value::object({{"metadata", Value::object({{"name", name},
                                                    {"namespace", "a"},
                                                    {"managedFields", Value::list({1})},
                                                    {"resourceVersion", std::to_string(version)}})},
                        {"spec", Value::object({{"big", "text"}, {"n", 1}})}});
}

Value list(int version, std::vector<Value> items, const std::string& token = "") {
  Value metadata = Value::object({{"resourceVersion", std::to_string(version)}});
  if (!token.empty()) {
    metadata.set("continue", token);
  }
  return Value::object({{"metadata", metadata}, {"items", Value::list(std::move(items))}});
}

Value event(const std::string& type, Value body) {
  return Value::object({{"type", type}, {"object", std::move(body)}});
}

Error error(int code, const std::string& reason = "") {
  return {.code = code, .reason = reason, .message = "no"};
}

// Keeps what a reflector asked for, as text.
class World {
 public:
  explicit World(FeedScope scope = {.kind = &kJob, .trim = trim_fields()})
      : reflector(std::move(scope), {}, *entropy) {
    feed(Reflector::Tick{});
  }

  void feed(Reflector::Input input) {
    std::vector<Reflector::Effect> effects;
    reflector.feed(std::move(input), now, effects);
    for (Reflector::Effect& effect : effects) {
      if (auto* request = std::get_if<Reflector::Request>(&effect)) {
        asked.push_back(request->path);
        last = *request;
      } else if (auto* stop = std::get_if<Reflector::Stop>(&effect)) {
        stopped.push_back(stop->id);
      } else if (auto* set = std::get_if<Reflector::SetTimer>(&effect)) {
        timer = set->when;
      } else if (auto* deliver = std::get_if<Reflector::Deliver>(&effect)) {
        take(deliver->item);
      }
    }
  }
  void answer(Value body) { feed(Reflector::Answer{.id = last.id, .body = std::move(body)}); }
  void fail(Error why, std::optional<Duration> retry_after = {}) {
    feed(Reflector::Answer{
        .id = last.id, .body = {}, .error = std::move(why), .retry_after = retry_after});
  }
  void line(Value what) { feed(Reflector::Line{.id = last.id, .event = std::move(what)}); }
  void close() { feed(Reflector::Answer{.id = last.id}); }
  // Lets the timer fire; the time that passed.
  Duration sleep() {
    const Duration passed = timer - now;
    now = timer;
    feed(Reflector::Tick{});
    return passed;
  }
  // Listed at 10 and watching.
  void sync() {
    answer(list(10, {object("x", 5)}));
    feed(Reflector::Opened{.id = last.id});
    told.clear();
    asked.clear();
  }

  std::unique_ptr<Entropy> entropy = seeded_entropy(7);
  Instant now{seconds(1000)};
  Reflector reflector;
  Reflector::Request last{};
  std::vector<std::string> asked{};
  std::vector<std::uint64_t> stopped{};
  std::vector<std::string> told{};  // "list x y @10", "changed x @11", ...
  std::vector<FeedItem> items{};
  Instant timer{};

 private:
  void take(const FeedItem& item) {
    items.push_back(item);
    if (const auto* all = std::get_if<KindList>(&item)) {
      std::string text = all->error   ? "error " + std::to_string(all->error->code)
                         : all->first ? "list"
                                      : "and";
      for (const Object& one : all->objects) {
        text += " " + std::string(one.name());
      }
      text += all->last ? "" : " ...";
      told.push_back(all->error ? text : text + " @" + std::to_string(all->version));
      return;
    }
    const auto& one = std::get<KindEvent>(item);
    const char* type = one.type == KindEvent::Type::Changed   ? "changed "
                       : one.type == KindEvent::Type::Deleted ? "deleted "
                                                              : "bookmark ";
    told.push_back(type + std::string(one.object.name()) + "@" +
                   std::string(one.object.resource_version()));
  }
};

TEST(Reflector, ListsInChunksThenWatchesFromVersion) {
  World world;
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  world.answer(list(10, {object("x", 5)}, "next/1"));
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500&continue=next%2F1");
  EXPECT_THAT(world.told, ElementsAre("list x ... @10"));
  world.answer(list(10, {object("y", 6)}));
  EXPECT_THAT(world.told, ElementsAre("list x ... @10", "and y @10"));
  EXPECT_THAT(world.asked.back(), StartsWith("/apis/batch/v1/jobs?watch=true&"
                                             "allowWatchBookmarks=true&resourceVersion=10&"
                                             "timeoutSeconds="));
  EXPECT_TRUE(world.last.watch);
}

TEST(Reflector, ListItemsGetTheirTypeAndAreTrimmed) {
  World world({.kind = &kJob, .trim = trim_fields({{"spec", "big"}})});
  world.answer(list(10, {object("x", 5)}));
  const Object& got = std::get<KindList>(world.items.at(0)).objects.at(0);
  EXPECT_EQ(got.api_version(), "batch/v1");
  EXPECT_EQ(got.kind(), "Job");
  EXPECT_FALSE(got.metadata().contains("managedFields"));
  EXPECT_EQ(got.spec(), Value::object({{"n", 1}}));
  world.line(event("MODIFIED", object("x", 11)));
  EXPECT_EQ(std::get<KindEvent>(world.items.at(1)).object.spec(), Value::object({{"n", 1}}));
}

TEST(Reflector, FollowsOnlyItsScope) {
  World world({.kind = &kJob, .ns = "a", .label_selector = "x=y", .field_selector = "s!=1"});
  EXPECT_EQ(
      world.asked.back(),
      "/apis/batch/v1/namespaces/a/jobs?limit=500&labelSelector=x%3Dy&fieldSelector=s%21%3D1");
  world.answer(list(10, {}));
  EXPECT_THAT(world.asked.back(), HasSubstr("&labelSelector=x%3Dy&fieldSelector=s%21%3D1"));
}

TEST(Reflector, DeliversEventsAndBookmarksAndAdvancesVersion) {
  World world;
  world.sync();
  world.line(event("ADDED", object("y", 11)));
  world.line(event("DELETED", object("y", 12)));
  world.line(
      event("BOOKMARK", Value::object({{"metadata", Value::object({{"resourceVersion", "20"}})}})));
  EXPECT_THAT(world.told, ElementsAre("changed y@11", "deleted y@12", "bookmark @20"));
  world.now += minutes(6);
  world.close();
  EXPECT_THAT(world.asked.back(), HasSubstr("&resourceVersion=20&")) << "no list in between";
}

TEST(Reflector, DrawsWatchLengthFromFiveToTenMinutes) {
  World world;
  world.sync();
  std::set<int> lengths;
  for (int i = 0; i < 20; ++i) {
    world.now += minutes(6);
    world.close();
    const std::string& path = world.asked.back();
    const int length = std::stoi(path.substr(path.find("timeoutSeconds=") + 15));
    EXPECT_GE(length, 300);
    EXPECT_LE(length, 600);
    lengths.insert(length);
  }
  EXPECT_GT(lengths.size(), 10U);
}

TEST(Reflector, AListWhoseContinueTokenExpiredStartsOver) {
  World world;
  world.answer(list(10, {object("x", 5)}, "t"));
  world.fail(error(410, "Expired"));
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  world.answer(list(20, {object("x", 5)}, "t"));
  world.fail(error(410, "Expired"));
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs") << "in one piece, as chunks never end";
  world.answer(list(30, {object("y", 21)}));
  EXPECT_THAT(world.told, ElementsAre("list x ... @10", "list x ... @20", "list y @30"));
}

TEST(Reflector, RelistsAfterAnyFormOfGone) {
  World world;
  world.sync();
  world.fail(error(410, "Gone"));
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  world.answer(list(20, {}));
  world.line(event("ADDED", object("y", 21)));
  world.line(event("ERROR", Value::object({{"code", 410}, {"reason", "Expired"}})));
  EXPECT_EQ(world.stopped.size(), 1U);
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
}

TEST(Reflector, PausesWhenVersionIsAlwaysGone) {
  World world;
  world.sync();
  int lists = 0;
  for (int i = 0; i < 5; ++i) {
    world.fail(error(410));
    if (!world.last.watch && world.asked.back() == "/apis/batch/v1/jobs?limit=500") {
      world.answer(list(20, {}));
      ++lists;
    }
  }
  EXPECT_LE(lists, 2);
  EXPECT_GE(world.timer - world.now, milliseconds(800));
}

TEST(Reflector, ResumesAfterPauseOnOtherErrorEvents) {
  World world;
  world.sync();
  world.line(event("ADDED", object("y", 15)));
  world.line(event("ERROR", Value::object({{"code", 500}, {"message", "etcd"}})));
  EXPECT_TRUE(world.asked.empty());
  EXPECT_GE(world.sleep(), milliseconds(800));
  EXPECT_THAT(world.asked.back(), HasSubstr("&resourceVersion=15&"));
}

TEST(Reflector, BacksOffWithJitterUpToThirtySeconds) {
  World world;
  std::vector<Duration> pauses;
  for (int i = 0; i < 10; ++i) {
    world.fail(error(503));
    pauses.push_back(world.sleep());
  }
  EXPECT_GE(pauses[0], milliseconds(800));
  EXPECT_LE(pauses[0], milliseconds(1600));
  EXPECT_GE(pauses[1], milliseconds(1600));
  for (int i = 6; i < 10; ++i) {
    EXPECT_GE(pauses[static_cast<std::size_t>(i)], seconds(15));
    EXPECT_LE(pauses[static_cast<std::size_t>(i)], seconds(30));
  }
  EXPECT_NE(pauses[8], pauses[9]);
  world.sync();
  world.line(event("ADDED", object("y", 15)));
  world.fail(error(503));
  EXPECT_LE(world.sleep(), milliseconds(1600)) << "success starts over";
}

TEST(Reflector, AServerThatAsksForPatienceGetsIt) {
  World world;
  world.fail(error(429, "TooManyRequests"), seconds(17));
  EXPECT_EQ(world.sleep(), seconds(17));
}

TEST(Reflector, CountsWatchClosedAtOnceAsFailure) {
  World world;
  world.sync();
  world.close();
  EXPECT_TRUE(world.asked.empty());
  EXPECT_GE(world.sleep(), milliseconds(800));
  EXPECT_THAT(world.asked.back(), HasSubstr("watch=true"));
}

TEST(Reflector, SilenceMeansAnotherConnectionFromTheSameVersion) {
  World world;
  world.sync();
  const std::uint64_t silent = world.last.id;
  world.now += seconds(100);
  world.line(event("ADDED", object("y", 15)));
  world.now = world.timer;
  world.feed(Reflector::Tick{});
  EXPECT_TRUE(world.stopped.empty()) << "100 s ago there was something";
  EXPECT_EQ(world.sleep(), seconds(100));
  EXPECT_THAT(world.stopped, ElementsAre(silent));
  EXPECT_TRUE(world.last.fresh_connection);
  EXPECT_THAT(world.asked.back(), HasSubstr("&resourceVersion=15&"));
  world.told.clear();
  world.feed(Reflector::Line{.id = silent, .event = event("ADDED", object("z", 16))});
  EXPECT_TRUE(world.told.empty()) << "what the old one still says does not count";
}

TEST(Reflector, ReportsRefusedKindOnceAndRetriesSlowly) {
  for (const int code : {403, 404}) {
    World world;
    world.fail(error(code));
    EXPECT_THAT(world.told, ElementsAre("error " + std::to_string(code)));
    EXPECT_GE(world.sleep(), seconds(60));
    world.fail(error(code));
    EXPECT_EQ(world.told.size(), 1U);
    EXPECT_LE(world.sleep(), seconds(90));
    world.answer(list(30, {object("x", 5)}));
    EXPECT_EQ(world.told.back(), "list x @30");
  }
}

// /readyz counts a refused kind as seen; one answer that gets lost must not take that back.
TEST(Reflector, KeepsRefusalWhileRetriesAreNotAnswered) {
  for (const int code : {403, 404}) {
    World world;
    world.fail(error(code));
    world.sleep();
    world.fail(error(503));
    EXPECT_EQ(world.reflector.status().last_error->code, code);
    world.sleep();
    world.fail(error(code == 403 ? 404 : 403));
    EXPECT_NE(world.reflector.status().last_error->code, code) << "another refusal is news";
  }
}

// docs/spec/das.md 10.6, O-B6.
TEST(Reflector, RetriesAbsentKindEveryTenMinutes) {
  World world({.kind = &kJob, .absent_retry = minutes(10)});
  for (std::size_t i = 0; i < 6; ++i) {
    world.fail(error(404));
    EXPECT_THAT(world.told, ElementsAre("error 404")) << "detected once";
    EXPECT_EQ(world.sleep(), minutes(10));
    EXPECT_EQ(world.asked.size(), i + 2) << "one request each time";
  }
  world.fail(error(403));
  EXPECT_LE(world.sleep(), seconds(90)) << "rights may come at any time";
  world.answer(list(30, {object("x", 5)}));
  EXPECT_EQ(world.told.back(), "list x @30");
}

TEST(Reflector, ReportsRemovedKind) {
  World world;
  world.sync();
  world.now += minutes(1);
  world.fail(error(404, "NotFound"));
  EXPECT_THAT(world.told, ElementsAre("error 404"));
  world.sleep();
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
}

TEST(Reflector, DoubtsRefusalOfRestartedServer) {
  World world;
  world.sync();
  world.now += minutes(1);
  world.fail(error(503));
  const Instant restarted = world.now;
  while (world.now - restarted < seconds(10)) {
    world.sleep();
    world.fail(error(403));
    EXPECT_TRUE(world.told.empty()) << "it was allowed a moment ago";
  }
  while (world.told.empty() && world.now - restarted < minutes(5)) {
    world.sleep();
    world.fail(error(403));
  }
  EXPECT_THAT(world.told, ElementsAre("error 403")) << "then it is believed";
}

TEST(Reflector, PollsKindsThatCannotBeWatched) {
  World world;
  world.answer(list(20, {object("x", 5)}));
  for (int i = 0; i < 20 && world.asked.back().find("watch=true") != std::string::npos; ++i) {
    world.fail(error(403));
    world.sleep();
  }
  world.told.clear();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
    world.answer(list(30 + i, {object("x", 5)}));
    EXPECT_EQ(world.told.back(), "list x @" + std::to_string(30 + i));
    EXPECT_EQ(world.sleep(), seconds(30));
  }
  EXPECT_EQ(world.told.size(), 3U) << "never that it cannot be read";
}

TEST(Reflector, UnauthorizedIsNotForGood) {
  World world;
  world.fail(error(401, "Unauthorized"));
  EXPECT_TRUE(world.told.empty());
  EXPECT_LE(world.sleep(), milliseconds(1600));
}

TEST(Reflector, ARelistAsksForTheNewestState) {
  World world;
  world.sync();
  world.feed(Reflector::Relist{});
  EXPECT_EQ(world.stopped.size(), 1U);
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  world.feed(Reflector::Relist{});  // the list under way may have begun too early
  world.answer(list(20, {}));
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  EXPECT_EQ(world.asked.size(), 2U);
  EXPECT_TRUE(std::get<KindList>(world.items.back()).early);
  world.answer(list(21, {}));
  EXPECT_FALSE(std::get<KindList>(world.items.back()).early);
  EXPECT_THAT(world.asked.back(), HasSubstr("resourceVersion=21&"));
  EXPECT_THAT(world.told, ElementsAre("list @20", "list @21"));
}

TEST(Reflector, RetriesFailedListInsteadOfOldWatch) {
  World world;
  world.sync();
  world.feed(Reflector::Relist{});
  world.fail(Error::internal("the server restarts"));
  world.sleep();
  EXPECT_EQ(world.asked.back(), "/apis/batch/v1/jobs?limit=500");
  world.answer(list(20, {}));
  EXPECT_FALSE(std::get<KindList>(world.items.back()).early);
  EXPECT_THAT(world.asked.back(), HasSubstr("resourceVersion=20&"));
}

TEST(Reflector, CountsOtherAnswerThanListAsFailure) {
  World world;
  world.answer(Value::object({{"kind", "Pod"}}));
  EXPECT_TRUE(world.told.empty());
  EXPECT_TRUE(world.reflector.status().last_error.has_value());
  EXPECT_GE(world.sleep(), milliseconds(800));
}

TEST(Reflector, SaysHowItStands) {
  World world;
  EXPECT_FALSE(world.reflector.status().listed);
  world.sync();
  EXPECT_TRUE(world.reflector.status().listed);
  EXPECT_TRUE(world.reflector.status().watching);
  EXPECT_EQ(world.reflector.status().version, "10");
  world.fail(error(503));
  EXPECT_FALSE(world.reflector.status().watching);
  EXPECT_EQ(world.reflector.status().last_error->code, 503);
}

}  // namespace
}  // namespace athanor::client::reflector_test
