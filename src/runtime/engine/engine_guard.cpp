// SPDX-License-Identifier: Apache-2.0
// Broken invariants in inputs and in functions that inputs call: they cost the input or the key,
// never the process (base/contain.hpp).
#include <variant>

#include "runtime/engine/engine_impl.hpp"

namespace athanor::runtime {

namespace {

std::string_view input_name(const Input& input) {
  constexpr std::string_view kNames[] = {"watch event", "list",       "answer to a write",
                                         "observation", "timer tick", "step of the clock"};
  return kNames[input.index()];
}

}  // namespace

bool Engine::Impl::overlooks(const Operator& op, const Kind& kind, const Cache::Change& change) {
  if (op.overlooks == nullptr || !change.before || !change.after) {
    return false;
  }
  bool overlooked = false;
  const auto broken =
      contain([&] { overlooked = op.overlooks(kind, *change.before, *change.after); });
  if (broken) {
    core.report_broken(op.name, change.after->key().text(), *broken, nullptr);
  }
  return !broken && overlooked;
}

void Engine::Impl::absorb(const Input& input, Instant now) {
  const auto* result = std::get_if<WriteResult>(&input);
  const TaskId writer = result == nullptr ? TaskId{0} : plans.writer(result->id);
  const std::uint64_t before = contained_failures();
  const auto broken = contain([&] { std::visit([&](const auto& one) { take(one, now); }, input); });
  // Functions of operators that caches call are contained one by one.
  core.metrics.broke("caches", contained_failures() - before - (broken ? 1 : 0));
  if (!broken) {
    return;
  }
  if (writer != 0) {
    plans.abandon(writer, *broken, now);
    return;
  }
  core.report_broken("engine", std::string(input_name(input)), *broken, nullptr);
  const auto* event = std::get_if<WatchEvent>(&input);
  if (const Cache* held = event == nullptr ? nullptr : core.world.find(*event->kind)) {
    core.out.emplace_back(Relist{.kind = event->kind, .ns = held->watch_of(event->object.ns())});
  }
}

}  // namespace athanor::runtime
