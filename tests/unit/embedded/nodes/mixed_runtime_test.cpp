// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/mixed_runtime.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kube/text/yaml.hpp"

namespace athanor::nodes::mixed_runtime_test {
namespace {

// Knows which pods it was given.
class Given final : public PodRuntime {
 public:
  void listen(Listener listener) override { listener_ = std::move(listener); }
  void start(const Value& spec) override {
    const std::string query = pod_query("ns", spec["name"].as_string());
    uids[query] = spec["uid"].str();
    listener_(query, state(query));
  }
  void extend(const Value& /*spec*/) override {}
  void stop(const std::string& uid, Duration /*grace*/) override { stopped += uid + ";"; }
  void update(const Value& change) override { updated += change["uid"].str() + ";"; }
  void events_written(const std::string& uid, std::int64_t /*last*/) override {
    written += uid + ";";
  }
  void forget(const std::string& uid) override {
    std::erase_if(uids, [&](const auto& entry) { return entry.second == uid; });
  }
  [[nodiscard]] Value state(std::string_view query) const override {
    const auto found = uids.find(std::string(query));
    return Value::object({{"uid", found == uids.end() ? "" : found->second}});
  }

  std::map<std::string, std::string> uids{};
  std::string stopped{};
  std::string updated{};
  std::string written{};

 private:
  Listener listener_{};
};

TEST(MixedRuntime, PodsGoWhereTheyCanRun) {
  auto processes = std::make_unique<Given>();
  auto timed = std::make_unique<Given>();
  Given& real = *processes;
  Given& slow = *timed;
  const auto mixed = mixed_runtime(std::move(processes), std::move(timed));
  std::string heard;
  mixed->listen([&](const std::string& query, const Value& state) {
    heard += query + "=" + state["uid"].str() + ";";
  });
  const auto start = [&](const std::string& spec) { mixed->start(yaml::parse(spec).value()); };
  start("{uid: u1, name: a, containers: [{name: c}]}");
  start("{uid: u2, name: b, containers: [{name: c}, {name: d, problem: unknown}]}");
  start("{uid: u3, name: c, init: [{name: i, problem: unknown}], containers: [{name: c}]}");
  start("{uid: u4, name: d, sequential: true, containers: [{name: c, problem: unknown}]}");
  EXPECT_EQ(real.uids.size(), 2U);
  EXPECT_TRUE(real.uids.contains("pod:ns/d")) << "steps never count as done";
  EXPECT_EQ(slow.uids.size(), 2U);
  EXPECT_EQ(heard, "pod:ns/a=u1;pod:ns/b=u2;pod:ns/c=u3;pod:ns/d=u4;");
  EXPECT_EQ(mixed->state("pod:ns/a")["uid"], Value("u1"));
  EXPECT_EQ(mixed->state("pod:ns/b")["uid"], Value("u2"));
  mixed->stop("u2", {});
  mixed->events_written("u2", 1);
  mixed->update(Value::object({{"uid", "u1"}}));
  EXPECT_EQ(slow.stopped + slow.written + real.updated, "u2;u2;u1;");
  mixed->forget("u2");
  EXPECT_EQ(mixed->state("pod:ns/b")["uid"], Value(""));
}

TEST(MixedRuntime, AnnotationMakesStepsTimed) {
  const auto spec = [](const std::string& text) { return yaml::parse(text).value(); };
  EXPECT_TRUE(is_timed(spec("{sequential: true, containers: [{name: c}], simulate: {}}")));
  EXPECT_FALSE(is_timed(spec("{sequential: true, containers: [{name: c}]}")));
}

TEST(MixedRuntime, ReasonNamesImageAndRemedy) {
  const std::string image = timed_reason(
      yaml::parse("{containers: [{name: c, problem: p, unknownImage: 'team/tool:1'}]}").value());
  for (const char* part : {"Image \"team/tool:1\" is not run here", "athanor images",
                           "annotation athanor.dev/simulate"}) {
    EXPECT_NE(image.find(part), std::string::npos) << image;
  }
  EXPECT_EQ(timed_reason(yaml::parse("{containers: [{name: c}], simulate: {}}").value())
                .find("Annotation athanor.dev/simulate"),
            0U);
}

}  // namespace
}  // namespace athanor::nodes::mixed_runtime_test
