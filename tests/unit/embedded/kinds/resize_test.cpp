// SPDX-License-Identifier: Apache-2.0
// pods/NAME/resize (docs/spec/apiserver.md 12.3).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::resize_test {
namespace {

const std::string kPods = "/api/v1/namespaces/tst/pods";

class Resize : public testing::Test {
 protected:
  // Makes a pod with these resources of its container and these members of its spec.
  void pod(const std::string& name, const std::string& resources, const std::string& more = "") {
    const Answer made = server.post(
        kPods, parse(R"({"metadata":{"name":")" + name +
                     R"("},"spec":{"containers":[{"name":"c","image":"i","resources":)" +
                     resources + "}]" + more + "}}"));
    ASSERT_EQ(made.status, 201) << made.message();
  }
  Answer patch(const std::string& name, const std::string& spec) {
    return server.patch(kPods + "/" + name + "/resize", "strategic-merge",
                        R"({"spec":)" + spec + "}");
  }
  // The answer to a resize of the container's resources: its message, or "".
  std::string resize(const std::string& name, const std::string& resources) {
    const Answer answer =
        patch(name, R"({"containers":[{"name":"c","resources":)" + resources + "}]}");
    return answer.status == 200 ? "" : answer.message();
  }

  TestServer server{};
};

TEST_F(Resize, ChangesAmountsOfCpuAndMemoryAlone) {
  pod("p", R"({"requests":{"cpu":"1"},"limits":{"cpu":"2"}})");
  const Answer answer = patch(
      "p", R"({"containers":[{"name":"c","image":"other","resources":{"limits":{"cpu":"3"}}}]})");
  ASSERT_EQ(answer.status, 200) << answer.message();
  const Value& container = answer.value["spec"]["containers"][0];
  EXPECT_EQ(container["resources"]["limits"]["cpu"], Value("3"));
  EXPECT_EQ(container["image"], Value("i"));
  EXPECT_EQ(resize("p", R"({"requests":{"memory":"1Mi"}})"), "");
}

TEST_F(Resize, RefusesOtherChanges) {
  pod("p", R"({"requests":{"cpu":"1"},"limits":{"cpu":"2"}})");
  pod("best", "{}");
  pod("init", R"({"requests":{"cpu":"1"}})",
      R"(,"initContainers":[{"name":"i","image":"i"},{"name":"s","image":"i",)"
      R"("restartPolicy":"Always","resources":{"limits":{"cpu":"1"}}}])");
  pod("whole", "{}", R"(,"resources":{"limits":{"cpu":"1"}})");
  const auto refused = [](const char* pod, const char* problem) {
    return std::string("Pod \"") + pod + "\" is invalid: " + problem;
  };
  EXPECT_EQ(resize("p", R"({"requests":{"cpu":null}})"), "") << "it is that of the limit";
  EXPECT_EQ(resize("p", R"({"limits":{"cpu":null}})"),
            refused("p",
                    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be "
                    "removed"));
  EXPECT_EQ(resize("p", R"({"limits":{"example.com/gpu":"1"}})"),
            refused("p", "spec: Forbidden: only cpu and memory resources are mutable"));
  EXPECT_EQ(resize("best", R"({"requests":{"cpu":"1"}})"),
            refused("best",
                    "spec: Invalid value: \"BestEffort\": Pod QOS Class may not change as a "
                    "result of resizing"));
  EXPECT_EQ(resize("whole", R"({"requests":{"cpu":"1m"}})"),
            refused("whole", "[]: Forbidden: pods with pod-level resources cannot be resized"));
  EXPECT_EQ(patch("p", R"({"containers":[{"name":"new","image":"i"}]})").message(),
            refused("p",
                    "spec.containers: Forbidden: containers may not be added or removed on "
                    "resize"));
  EXPECT_EQ(patch("init", R"({"initContainers":[{"name":"s","resources":{"limits":{"cpu":"2"}}}]})")
                .status,
            200);
  EXPECT_THAT(
      patch("init", R"({"initContainers":[{"name":"i","resources":{"limits":{"cpu":"2"}}}]})")
          .message(),
      testing::HasSubstr("spec.initContainers[0].resources: Forbidden: resources for non-sidecar "
                         "init containers are immutable"));
}

}  // namespace
}  // namespace athanor::apiserver::resize_test
