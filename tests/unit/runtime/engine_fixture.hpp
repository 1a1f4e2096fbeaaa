// SPDX-License-Identifier: Apache-2.0
// An engine with one controller that does what its objects' data say, fed one input at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/view/live.hpp"
#include "unit/runtime/object_fixture.hpp"

namespace athanor::runtime {

using api::kConfigMap;
using api::kPod;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline Object object(const Kind& kind, std::string_view name, int version,
                     std::string_view extra = "{}") {
  Value body = parsed(extra);
  body.set("apiVersion", kind.api_version());
  body.set("kind", kind.name);
  body.set_path({"metadata", "name"}, name);
  body.set_path({"metadata", "namespace"}, "a");
  body.set_path({"metadata", "uid"}, std::string("uid-") + std::string(name));
  body.set_path({"metadata", "resourceVersion"}, std::to_string(version));
  return Object(std::move(body));
}

// What the plans of the next reconciles shall be is data of the primary object:
// data.status: a Status step; data.create: a pod of that name; data.act, data.retry, data.wake,
// data.emit likewise.
inline Plan follow_orders(const View& view, const Key& key, Instant now) {
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return Plan::done();
  }
  const Value& data = map->body()["data"];
  if (data.contains("retry")) {
    return Plan::retry(Error::unavailable("as told"));
  }
  Plan plan;
  if (const auto name = data["create"].str(); !name.empty() && !view.get(kPod, {"a", name})) {
    plan.then(Create{.target = {&kPod, {"a", name}}, .object = Value::object()});
  }
  if (const auto name = data["create2"].str(); !name.empty()) {
    plan.then(Create{.target = {&kPod, {"a", name}}, .object = Value::object()});
  }
  if (data.contains("status")) {
    plan.then(
        Status{.target = {&kConfigMap, key}, .status = Value::object({{"said", data["status"]}})});
  }
  if (data.contains("phase")) {
    plan.then(
        Status{.target = {&kConfigMap, key}, .status = Value::object({{"phase", data["phase"]}})});
  }
  if (data.contains("emit")) {
    plan.then(Emit{.about = {&kConfigMap, key},
                   .reason = "Told",
                   .note = data["emit"].str(),
                   .id = data["emitId"].str()});
  }
  if (data.contains("act")) {
    plan.then(
        Act{.id = data["act"].str(), .verb = data.contains("verb") ? data["verb"].str() : "do"});
  }
  if (data.contains("ask")) {
    const Observed seen = view.observe("ask:" + data["ask"].str(), seconds(60));
    if (seen.value) {
      plan.then(
          Status{.target = {&kConfigMap, key}, .status = Value::object({{"seen", *seen.value}})});
    }
  }
  if (data.contains("live")) {
    const Live live = read_live(view, kConfigMap, key, now, map->resource_version());
    const std::int64_t count = live.known ? static_cast<std::int64_t>(live.objects.size()) : -1;
    plan.then(Status{.target = {&kConfigMap, key}, .status = Value::object({{"live", count}})});
  }
  if (data.contains("list")) {
    const auto pods = view.list(kPod, {.ns = "a", .labels = {{"app", data["list"].str()}}});
    plan.then(
        Status{.target = {&kConfigMap, key}, .status = Value::object({{"pods", pods.size()}})});
  }
  if (data.contains("count")) {
    const auto pods = view.list(kPod, {.ns = "a", .labels = {{"app", data["count"].str()}}});
    plan.then(Status{.target = {&kConfigMap, key},
                     .status = Value::object({{"pods", pods.size()}}),
                     .guard = {.uid = std::string(map->uid())}});
  }
  if (data.contains("wake")) {
    plan.wake_at(now + seconds(data["wake"].as_int()));
  }
  return plan;
}

inline constexpr const Kind* kReads[] = {&kConfigMap, &kPod};
inline constexpr const Kind* kWrites[] = {&kConfigMap, &kPod};
inline const Operator kFollower{.name = "follower",
                                .primary = &kConfigMap,
                                .reads = kReads,
                                .writes = kWrites,
                                .reconcile = follow_orders};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() { make(); }

  void make() {
    const Operator* const operators[] = {&kFollower};
    engine = std::make_unique<Engine>(
        operators, EngineOptions{.entropy = entropy.get(), .metrics = &metrics, .verify = true});
  }

  void start(std::vector<Object> maps, std::vector<Object> pods = {}) {
    feed(Relisted{.kind = &kConfigMap, .objects = std::move(maps), .version = 100});
    feed(Relisted{.kind = &kPod, .objects = std::move(pods), .version = 100});
  }

  void feed(const Input& input) {
    std::vector<Effect> effects;
    engine->feed(input, now, effects);
    for (Effect& effect : effects) {
      if (auto* send = std::get_if<SendWrite>(&effect)) {
        sent.push_back(std::move(*send));
      } else if (const auto* timer = std::get_if<SetTimer>(&effect)) {
        timer_at = timer->when;
      } else {
        others.push_back(std::move(effect));
      }
    }
  }

  void changed(Object body) {
    const Kind* kind = body.kind() == "Pod" ? &kPod : &kConfigMap;
    feed(WatchEvent{.kind = kind, .object = std::move(body)});
  }

  void wait(Duration duration) {
    now += duration;
    feed(Tick{});
  }

  [[nodiscard]] std::vector<SendWrite> take_sent() { return std::exchange(sent, {}); }

  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  Metrics metrics{};
  std::unique_ptr<Engine> engine{};
  Instant now = *parse_time("2026-01-05T00:00:00Z");
  std::vector<SendWrite> sent{};
  std::vector<Effect> others{};
  std::optional<Instant> timer_at{};
};

}  // namespace athanor::runtime
