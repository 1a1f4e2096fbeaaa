// SPDX-License-Identifier: Apache-2.0
// Status writes of a life do not grow with the number of components or pods
// (docs/spec/appwrapper.md 5.4).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/operators.hpp"

namespace athanor::appwrapper::creation_test {
namespace {

const Key kApp{"team", "aw"};

class Creation : public testing::Test {
 protected:
  static Value component(const std::string& pod) {
    return *yaml::parse("{template: {apiVersion: v1, kind: Pod, metadata: {name: " + pod +
                        "}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}");
  }
  void wrap(const std::vector<std::string>& pods) {
    Value components = Value::list();
    for (const std::string& pod : pods) {
      components.push_back(component(pod));
    }
    world_.put(Value::object(
        {{"apiVersion", kAppWrapper.api_version()},
         {"kind", kAppWrapper.name},
         {"metadata", Value::object({{"name", "aw"}, {"namespace", "team"}, {"uid", "uid-aw"}})},
         {"spec", Value::object({{"suspend", true}, {"components", std::move(components)}})}}));
  }
  void resume() {
    world_.update(kAppWrapper, kApp, [](Value& app) { app.member("spec").set("suspend", false); });
  }
  void become(const std::string& pod, std::string_view phase) {
    world_.update(api::kPod, {"team", pod}, [&](Value& object) {
      object.set("status", Value::object({{"phase", phase}}));
      if (phase == "Succeeded") {
        object.member("status").set(
            "containerStatuses",
            Value::list({Value::object(
                {{"name", "c"},
                 {"state",
                  Value::object({{"terminated",
                                  Value::object({{"exitCode", 0},
                                                 {"finishedAt", format_time(world_.now)}})}})}})}));
      }
    });
  }
  void pass(Duration time = std::chrono::milliseconds(200)) {
    world_.settle_for({&appwrapper_operator()}, time);
  }
  [[nodiscard]] auto status_writes() const {
    return std::ranges::count_if(world_.writes, [](const test::Write& write) {
      return write.verb == "status" && write.kind == kAppWrapper.name;
    });
  }
  [[nodiscard]] std::string ready_message() const {
    return world_.condition(kAppWrapper, kApp, "PodsReady")["message"].str();
  }
  [[nodiscard]] std::string component_state(std::size_t index) const {
    return world_.must(kAppWrapper, kApp)
        .status()["componentStatus"][index]["conditions"][0]["status"]
        .str();
  }

  test::FakeWorld world_{};
};

TEST_F(Creation, WritesSixStatesForFourComponents) {
  wrap({"a", "b", "c", "d"});
  pass();
  resume();
  pass();
  for (const char* pod : {"a", "b", "c", "d"}) {
    become(pod, "Running");
  }
  pass();
  EXPECT_EQ(ready_message(), "4 pods running; 0 pods succeeded");
  for (const char* pod : {"a", "b", "c", "d"}) {
    become(pod, "Succeeded");
    pass();
  }
  EXPECT_EQ(world_.read<AppWrapper>(kApp).status.phase, "Succeeded");
  EXPECT_LE(status_writes(), 6);
  const auto shown = [&](std::string_view text) {
    return std::ranges::any_of(world_.writes, [&](const test::Write& write) {
      return write.verb == "status" && write.body["phase"].as_string() == text;
    });
  };
  for (const std::string_view phase : {"Suspended", "Resuming", "Running", "Succeeded"}) {
    EXPECT_TRUE(shown(phase)) << phase;
  }
}

// One that ended long before the others is shown after two seconds.
TEST_F(Creation, ShowsCountsOnceTheySettle) {
  wrap({"a", "b"});
  pass();
  resume();
  pass();
  become("a", "Running");
  become("b", "Running");
  pass();
  become("a", "Succeeded");
  pass();
  EXPECT_EQ(ready_message(), "2 pods running; 0 pods succeeded");
  pass(std::chrono::seconds(2));
  EXPECT_EQ(ready_message(), "1 pods running; 1 pods succeeded");
}

// What a refused create leaves behind it is Unknown with its name; the ones before it exist.
TEST_F(Creation, GoesOnBehindRefusedComponent) {
  bool refuses = true;
  world_.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return refuses && create != nullptr && create->target.key.name == "b"
               ? std::optional(
                     Error{.code = 403, .reason = "Forbidden", .message = "quota is used"})
               : std::nullopt;
  };
  wrap({"a", "b", "c"});
  pass();
  resume();
  pass();
  EXPECT_TRUE(world_.has(api::kPod, {"team", "a"}));
  EXPECT_FALSE(world_.has(api::kPod, {"team", "c"}));
  EXPECT_EQ(component_state(0), "True");
  EXPECT_EQ(component_state(1), "False");
  EXPECT_EQ(component_state(2), "Unknown");
  refuses = false;
  pass(std::chrono::seconds(5));
  EXPECT_EQ(world_.read<AppWrapper>(kApp).status.phase, "Running");
  EXPECT_TRUE(world_.has(api::kPod, {"team", "c"}));
}

}  // namespace
}  // namespace athanor::appwrapper::creation_test
