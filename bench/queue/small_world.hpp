// SPDX-License-Identifier: Apache-2.0
// SmallWorld: an engine with the admission cycle alone, and an API server of a few lines that
// answers its writes: how long a decision takes without any transport.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::bench {

// Processor microseconds of this thread.
double processor_us();

class SmallWorld {
 public:
  // `config`: the section "kueue".
  explicit SmallWorld(Value config);

  // Before start(): an object that is there.
  void add(Value object);
  // Lists everything, and runs until nothing is left to do.
  void start();
  // Changes an object as another client would. Returns the processor time until the engine has
  // decided and its first plan is made.
  double change(Value object);
  void remove(const Kind& kind, const Key& key);
  // Answers writes until nothing is left to do.
  void settle();
  [[nodiscard]] const std::vector<double>& cycles() const { return cycles_; }
  void forget_cycles() { cycles_.clear(); }
  [[nodiscard]] const Object* find(const Kind& kind, const Key& key) const;
  [[nodiscard]] std::uint64_t runs() const { return runs_; }

 private:
  const Kind* kind_of(const Value& object) const;
  void answer(const runtime::SendWrite& write);
  Object stamped(Value body);
  // One call of run(), timed.
  void step();

  std::unique_ptr<Entropy> entropy_;
  std::unique_ptr<runtime::Engine> engine_;
  std::map<const Kind*, std::map<Key, Object>> objects_{};
  std::vector<runtime::Effect> effects_{};
  std::vector<double> cycles_{};  // processor microseconds
  std::uint64_t version_ = 1;
  std::uint64_t runs_ = 0;
  Instant now_{};
};

}  // namespace athanor::bench
