// SPDX-License-Identifier: Apache-2.0
// Verbs and queries of pods.
#include "embedded/lab/pod_executors.hpp"

#include <string>
#include <utility>

#include "embedded/nodes/timed/timed_runtime.hpp"

namespace athanor::lab {

void add_pod_executors(runtime::Executors& executors, nodes::PodRuntime& runtime,
                       BackgroundQueue& background) {
  const auto on = [&](std::string_view verb, auto action) {
    executors.on_act(std::string(verb),
                     [&runtime, &background, action](const std::string& /*id*/, const Value& args,
                                                     runtime::Executors::Completion done) {
                       background.add([&runtime, action, args, done = std::move(done)] {
                         action(runtime, args);
                         done(Value::object());
                       });
                     });
  };
  on(nodes::kStartVerb, [](nodes::PodRuntime& pods, const Value& args) { pods.start(args); });
  on(nodes::kExtendVerb, [](nodes::PodRuntime& pods, const Value& args) { pods.extend(args); });
  on(nodes::kStopVerb, [](nodes::PodRuntime& pods, const Value& args) {
    pods.stop(args["uid"].str(), std::chrono::milliseconds(args["graceMs"].as_int()));
  });
  on(nodes::kUpdateVerb, [](nodes::PodRuntime& pods, const Value& args) { pods.update(args); });
  on(nodes::kEventsVerb, [](nodes::PodRuntime& pods, const Value& args) {
    pods.events_written(args["uid"].str(), args["last"].as_int());
  });
  on(nodes::kForgetVerb,
     [](nodes::PodRuntime& pods, const Value& args) { pods.forget(args["uid"].str()); });
  executors.on_probe(
      "pod", [&runtime](const std::string& query, const runtime::Executors::Completion& done) {
        done(runtime.state(query));
      });
}

PodExecutors::PodExecutors(const Clock& clock, runtime::Executors& executors)
    : runtime_(nodes::timed_runtime(clock)), background_(std::make_unique<BackgroundQueue>()) {
  add_pod_executors(executors, *runtime_, *background_);
}

std::unique_ptr<PodExecutors> timed_pods(const Clock& clock, runtime::Executors& executors) {
  return std::make_unique<PodExecutors>(clock, executors);
}

}  // namespace athanor::lab
