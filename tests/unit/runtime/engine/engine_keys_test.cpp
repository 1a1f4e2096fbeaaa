// SPDX-License-Identifier: Apache-2.0
// What the engine keeps of keys, and what hurries them and what does not.
#include <array>

#include "unit/runtime/engine_fixture.hpp"

namespace athanor::runtime::engine_keys_test {
namespace {

TEST_F(EngineTest, ForgetsRestingKeyThatReadsItsObjectAlone) {
  const auto known = [&] { return engine->debug(now, 0)["known"].as_int(); };
  start({object(kConfigMap, "alone", 5), object(kConfigMap, "reader", 6, R"({"data": {"list": "x"},
             "status": {"pods": 0}})"),
         object(kConfigMap, "unlucky", 7, R"({"data": {"retry": "yes"}})"),
         object(kConfigMap, "sleeper", 8, R"({"data": {"wake": 3600}})")});
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(known(), 3) << "one reads a list, one failed, one wants to wake";
  changed(object(kConfigMap, "alone", 101, R"({"data": {"phase": "Done"}})"));
  const auto writes = take_sent();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(known(), 4);
  feed(
      WriteResult{.id = writes[0].id,
                  .object = object(kConfigMap, "alone", 102,
                                   R"({"data": {"phase": "Done"}, "status": {"phase": "Done"}})")});
  EXPECT_EQ(known(), 4) << "its own write has not been seen";
  changed(object(kConfigMap, "alone", 102,
                 R"({"data": {"phase": "Done"}, "status": {"phase": "Done"}})"));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(known(), 3);
  wait(seconds(3600));
  EXPECT_EQ(known(), 3) << "the sleeper has woken and sleeps again";
}

// Deleted and made anew: the server says so before the watch does.
TEST_F(EngineTest, DelaysKeyOfReplacedObjectDespiteOtherChanges) {
  const auto pod = [](const char* name, int version) {
    return object(kPod, name, version, R"({"metadata": {"labels": {"app": "x"}}})");
  };
  const std::array refusals{
      Error{.code = 422,
            .reason = "Invalid",
            .message =
                R"(ConfigMap "m" is invalid: metadata.uid: Invalid value: "uid-m": field is )"
                "immutable"},
      Error::conflict("Precondition failed: UID in precondition: uid-m, UID in object meta: new")};
  for (const Error& refusal : refusals) {
    make();
    start({object(kConfigMap, "m", 5, R"({"data": {"count": "x"}})")});
    const auto first = take_sent();
    ASSERT_EQ(first.size(), 1U);
    changed(pod("p", 101));
    feed(WriteResult{.id = first[0].id, .error = refusal});
    changed(pod("q", 102));
    wait(milliseconds(500));
    EXPECT_TRUE(sent.empty()) << "the view shows an object that is gone: " << refusal.message;
    Value body = object(kConfigMap, "m", 103, R"({"data": {"count": "x"}})").body();
    body.set_path({"metadata", "uid"}, "new");
    changed(Object(std::move(body)));
    const auto second = take_sent();
    ASSERT_EQ(second.size(), 1U) << refusal.message;
    EXPECT_EQ(second[0].request.body["metadata"]["uid"].str(), "new");
    EXPECT_EQ(second[0].request.body["status"]["pods"].as_int(), 2);
  }
}

}  // namespace
}  // namespace athanor::runtime::engine_keys_test
