// SPDX-License-Identifier: Apache-2.0
// pods/NAME/ephemeralcontainers (docs/spec/apiserver.md 12.3).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::ephemeral_test {
namespace {

const std::string kPods = "/api/v1/namespaces/tst/pods";

TEST(EphemeralContainers, AreOnlyAdded) {
  TestServer server;
  ASSERT_EQ(server
                .post(kPods, parse(R"({"metadata":{"name":"p"},"spec":{"containers":[
                    {"name":"c","image":"busybox"}]}})"))
                .status,
            201);
  const std::string path = kPods + "/p/ephemeralcontainers";
  const Answer added = server.patch(path, "strategic-merge", R"({"spec":{"ephemeralContainers":[
      {"name":"d","image":"busybox","command":["sh"]}],"containers":[{"name":"c","image":"x"}]}})");
  ASSERT_EQ(added.status, 200) << added.message();
  EXPECT_EQ(added.value["spec"]["ephemeralContainers"][0]["name"].as_string(), "d");
  EXPECT_EQ(added.value["spec"]["containers"][0]["image"].as_string(), "busybox");
  const Answer more = server.patch(
      path, "strategic-merge", R"({"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}})");
  EXPECT_EQ(more.value["spec"]["ephemeralContainers"].size(), 2U);
  const Answer changed =
      server.patch(path, "strategic-merge",
                   R"({"spec":{"ephemeralContainers":[{"name":"d","image":"other"}]}})");
  EXPECT_EQ(changed.status, 422);
  EXPECT_THAT(changed.message(), testing::HasSubstr("\"d\" may not be changed"));
  const Answer removed = server.patch(path, "merge", R"({"spec":{"ephemeralContainers":[]}})");
  EXPECT_EQ(removed.status, 422);
  EXPECT_THAT(removed.message(), testing::HasSubstr("\"e\" may not be removed"));
  // The main path leaves them alone.
  EXPECT_EQ(server.patch(kPods + "/p", "merge", R"({"spec":{"ephemeralContainers":null}})").status,
            422);
}

}  // namespace
}  // namespace athanor::apiserver::ephemeral_test
