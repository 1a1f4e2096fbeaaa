// SPDX-License-Identifier: Apache-2.0
// Metrics of AppWrappers (docs/spec/appwrapper.md 8.6, 11 B-16).
#include "systems/appwrapper/instruments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/operators.hpp"

namespace athanor::appwrapper::instruments_test {
namespace {

Object app(const std::string& phase, const std::string& name = "aw") {
  return Object(
      *yaml::parse("{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, "
                   "metadata: {name: " +
                   name + ", namespace: team, uid: uid-" + name +
                   "}, spec: {components: []}, status: {phase: '" + phase +
                   "', conditions: [{type: Unhealthy, status: 'True', reason: "
                   "FoundFailedPods}]}}"));
}

// "metric{label=value,...} amount", in order.
std::vector<std::string> texts_of(const Samples& samples) {
  std::vector<std::string> texts;
  for (const Sample& sample : samples) {
    std::string text(sample.metric);
    for (const auto& [name, value] : sample.labels) {
      text += " " + name + "=" + value;
    }
    texts.push_back(text + " " + std::to_string(static_cast<int>(sample.value)));
  }
  return texts;
}

std::vector<std::string> counted(const Object* before, const Object* after) {
  Samples samples;
  appwrapper_instruments().tally(
      ObjectChanged{.kind = kAppWrapper, .before = before, .after = after}, samples);
  return texts_of(samples);
}

TEST(AppWrapperInstruments, CountEachPhaseThatIsEntered) {
  const Object suspended = app("Suspended");
  const Object running = app("Running");
  const Object resetting = app("Resetting");
  const Object failed = app("Failed");
  const Object terminating = app("Terminating");
  EXPECT_EQ(counted(&suspended, &running),
            (std::vector<std::string>{"appwrapper_phase_seconds namespace=team phase=Running 1",
                                      "appwrapper_phase_total namespace=team phase=Running 1"}));
  EXPECT_TRUE(counted(&running, &running).empty());
  EXPECT_EQ(counted(&running, &resetting).back(),
            "appwrapper_resets_total namespace=team reason=FoundFailedPods 1");
  EXPECT_EQ(counted(&resetting, &failed).back(),
            "appwrapper_failures_total namespace=team reason=FoundFailedPods 1");
  EXPECT_EQ(counted(&running, &terminating),
            std::vector<std::string>{"appwrapper_phase_seconds namespace=team phase=Terminating 1"})
      << "not a transition of upstream's";
  EXPECT_EQ(counted(nullptr, &running).size(), 1U) << "a start of this process is no transition";
}

TEST(AppWrapperInstruments, TellHowManyThereAre) {
  test::FakeWorld world;
  for (const auto& [phase, name] : {std::pair{"Running", "a"}, {"Running", "b"}, {"Failed", "c"}}) {
    world.put(app(phase, name).body());
  }
  Reads reads;
  Samples samples;
  appwrapper_instruments().state(View(world, reads), samples);
  EXPECT_EQ(texts_of(samples),
            (std::vector<std::string>{"appwrapper_active namespace=team phase=Failed 1",
                                      "appwrapper_active namespace=team phase=Running 2"}));
}

TEST(AppWrapperInstruments, NameControllersAsUpstreamDoes) {
  for (const auto& [op, name] : {std::pair{&appwrapper_operator(), "AppWrapper"},
                                 {&node_monitor_operator(), "NodeMonitor"},
                                 {&slack_queue_operator(), "NodeMonitor"}}) {
    Samples samples;
    appwrapper_instruments().tally(Reconciled{.op = op->name, .code = 500}, samples);
    const auto texts = texts_of(samples);
    const std::string controller = std::string(" controller=") + name;
    EXPECT_EQ(std::ranges::count(
                  texts, "controller_runtime_reconcile_total" + controller + " result=error 1"),
              1);
    EXPECT_EQ(
        std::ranges::count(texts, "controller_runtime_reconcile_errors_total" + controller + " 1"),
        1);
  }
  Samples samples;
  appwrapper_instruments().tally(Reconciled{.op = "fournosjob"}, samples);
  EXPECT_TRUE(samples.empty());
}

}  // namespace
}  // namespace athanor::appwrapper::instruments_test
