// SPDX-License-Identifier: Apache-2.0
// Each pod is with one of the two; both are asked, and ignore a pod that they do not know.
#include "embedded/nodes/mixed_runtime.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "embedded/nodes/sandbox_spec.hpp"

namespace athanor::nodes {
namespace {

class MixedRuntime final : public PodRuntime {
 public:
  MixedRuntime(std::unique_ptr<PodRuntime> processes, std::unique_ptr<PodRuntime> timed)
      : processes_(std::move(processes)), timed_(std::move(timed)) {}

  void listen(Listener listener) override {
    processes_->listen(listener);
    timed_->listen(std::move(listener));
  }
  void start(const Value& spec) override { (is_timed(spec) ? timed_ : processes_)->start(spec); }
  void extend(const Value& spec) override {
    processes_->extend(spec);
    timed_->extend(spec);
  }
  void stop(const std::string& uid, Duration grace) override {
    processes_->stop(uid, grace);
    timed_->stop(uid, grace);
  }
  void update(const Value& change) override {
    processes_->update(change);
    timed_->update(change);
  }
  void events_written(const std::string& uid, std::int64_t last) override {
    processes_->events_written(uid, last);
    timed_->events_written(uid, last);
  }
  void forget(const std::string& uid) override {
    processes_->forget(uid);
    timed_->forget(uid);
  }
  [[nodiscard]] Value state(std::string_view query) const override {
    Value state = processes_->state(query);
    return state["uid"].as_string().empty() ? timed_->state(query) : state;
  }

 private:
  std::unique_ptr<PodRuntime> processes_;
  std::unique_ptr<PodRuntime> timed_;
};

}  // namespace

bool is_timed(const Value& spec) {
  if (spec.contains("simulate")) {
    return true;
  }
  if (spec["sequential"].as_bool()) {
    return false;
  }
  const auto unknown = [](const Value& container) { return container.contains("problem"); };
  return std::ranges::any_of(spec["init"].items(), unknown) ||
         std::ranges::any_of(spec["containers"].items(), unknown);
}

std::string timed_reason(const Value& spec) {
  if (spec.contains("simulate")) {
    return fmt::format("Annotation {}: the pod's containers take time and do nothing",
                       kSimulateAnnotation);
  }
  std::string image = "An image of the pod";
  for (const char* list : {"init", "containers"}) {
    for (const Value& container : spec[list].items()) {
      if (container.contains("problem") && container.contains("unknownImage")) {
        image = fmt::format("Image \"{}\"", container["unknownImage"].as_string());
      }
    }
  }
  return fmt::format(
      "{} is not run here: the pod's containers take time and do nothing. To run it, load it with "
      "athanor images or give the container a command; annotation {} sets times and exit codes",
      image, kSimulateAnnotation);
}

std::unique_ptr<PodRuntime> mixed_runtime(std::unique_ptr<PodRuntime> processes,
                                          std::unique_ptr<PodRuntime> timed) {
  return std::make_unique<MixedRuntime>(std::move(processes), std::move(timed));
}

}  // namespace athanor::nodes
