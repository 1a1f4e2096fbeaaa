// SPDX-License-Identifier: Apache-2.0
#include "queue/small_world.hpp"

#include <ctime>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "kube/apply/patch.hpp"

namespace athanor::bench {
namespace {

constexpr Instant kStart{std::chrono::seconds(1'800'000'000)};

}  // namespace

double processor_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kMicro = 1e6;
  return static_cast<double>(now.tv_sec) * kMicro + static_cast<double>(now.tv_nsec) / 1e3;
}

SmallWorld::SmallWorld(Value config) : entropy_(seeded_entropy(1)), now_(kStart) {
  static const Operator* const kOperators[] = {&kueue::scheduler_operator()};
  runtime::EngineOptions options{.entropy = entropy_.get(), .events = false};
  options.config.emplace("kueue", std::move(config));
  options.on_reconcile = [this](const Operator&, const Key&, std::size_t, const Plan&) { ++runs_; };
  engine_ = std::make_unique<runtime::Engine>(kOperators, std::move(options));
}

const Kind* SmallWorld::kind_of(const Value& object) const {
  for (const Kind* kind : engine_->kinds()) {
    if (kind->name == object["kind"].as_string()) {
      return kind;
    }
  }
  ATHANOR_CHECK(false, "the cycle reads this kind");
  return nullptr;
}

Object SmallWorld::stamped(Value body) {
  body.set_path({"metadata", "resourceVersion"}, std::to_string(++version_));
  return Object(std::move(body));
}

void SmallWorld::add(Value object) {
  const Kind* kind = kind_of(object);
  Object stored = stamped(std::move(object));
  objects_[kind].insert_or_assign(stored.key(), std::move(stored));
}

void SmallWorld::start() {
  for (const Kind* kind : engine_->kinds()) {
    std::vector<Object> all;
    for (const auto& [key, object] : objects_[kind]) {
      all.push_back(object);
    }
    engine_->absorb(runtime::Relisted{.kind = kind, .objects = std::move(all), .version = version_},
                    now_);
  }
  settle();
}

void SmallWorld::step() {
  const std::uint64_t before = runs_;
  const double start = processor_us();
  engine_->run(now_, effects_);
  if (runs_ != before) {
    cycles_.push_back(processor_us() - start);
  }
}

double SmallWorld::change(Value object) {
  const Kind* kind = kind_of(object);
  Object stored = stamped(std::move(object));
  objects_[kind].insert_or_assign(stored.key(), stored);
  const double start = processor_us();
  engine_->absorb(runtime::WatchEvent{.kind = kind, .object = std::move(stored)}, now_);
  step();
  return processor_us() - start;
}

void SmallWorld::remove(const Kind& kind, const Key& key) {
  auto& all = objects_[&kind];
  const auto found = all.find(key);
  Object last = stamped(found->second.body());
  all.erase(found);
  engine_->absorb(
      runtime::WatchEvent{
          .type = runtime::WatchEvent::Type::Deleted, .kind = &kind, .object = std::move(last)},
      now_);
}

void SmallWorld::answer(const runtime::SendWrite& write) {
  const Kind* kind = write.request.target.kind;
  auto& all = objects_[kind];
  const auto found = all.find(write.request.target.key);
  if (found == all.end() || write.request.verb != runtime::WriteVerb::MergePatch) {
    engine_->absorb(runtime::WriteResult{.id = write.id, .error = Error::not_found("none")}, now_);
    return;
  }
  Value patch = write.request.body;
  patch.erase("metadata");
  Object changed = stamped(apply_merge_patch(found->second.body(), patch));
  found->second = changed;
  engine_->absorb(runtime::WriteResult{.id = write.id, .object = changed}, now_);
  engine_->absorb(runtime::WatchEvent{.kind = kind, .object = std::move(changed)}, now_);
}

void SmallWorld::settle() {
  do {
    std::vector<runtime::Effect> effects;
    std::swap(effects, effects_);
    for (const runtime::Effect& effect : effects) {
      if (const auto* write = std::get_if<runtime::SendWrite>(&effect)) {
        answer(*write);
      } else if (const auto* relist = std::get_if<runtime::Relist>(&effect)) {
        std::vector<Object> all;
        for (const auto& [key, object] : objects_[relist->kind]) {
          all.push_back(object);
        }
        engine_->absorb(
            runtime::Relisted{.kind = relist->kind, .objects = std::move(all), .version = version_},
            now_);
      }
    }
    step();
  } while (!engine_->idle() || !effects_.empty());
}

const Object* SmallWorld::find(const Kind& kind, const Key& key) const {
  return engine_->cached(kind, key);
}

}  // namespace athanor::bench
