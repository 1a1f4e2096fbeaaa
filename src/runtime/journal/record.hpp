// SPDX-License-Identifier: Apache-2.0
// Records of an engine's inputs and decisions (docs/engine.md 2): one JSON list a line,
// to be replayed by the same or a later binary (replay.hpp).
//
//   {"athanor-record": 1, ...}                what runs, with which settings and which seed
//   ["c"|"d", T, KIND, OBJECT|null, DELTA]    an object changed, was deleted
//   ["b", T, KIND, VERSION, NS]               a bookmark
//   ["l", T, KIND, VERSION, NS, OBJECTS, ERROR, FIRST, LAST]    a list; a whole one ends with ERROR
//   ["w", T, ID, OBJECT, ERROR, UNKNOWN, RETRY_AFTER]
//   ["o", T, QUERY, ASKED, VALUE, ERROR]      an answer of the outside world
//   ["t", T] ["s", T, BY]                     the timer; a step of the clock
//   ["r", T, EFFECTS]                         a run of the keys that were ready
//
// T and durations are microseconds, KIND is a number of the head's list. DELTA is a merge patch
// against what the cache held.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/engine_host.hpp"
#include "runtime/view/places.hpp"

namespace athanor::runtime {

// Secrets within (also those that a list, an answer or a step carries) with digests in place of
// their data, as base64 of "redacted-<digest>"; doing it twice changes nothing.
Value redacted(const Value& value);

// The first line of a record: all that a replay needs besides the inputs.
struct RecordHead {
  std::string version{};                 // of the program
  std::vector<std::string> operators{};  // by name, in the engine's order
  std::vector<std::string> namespaces{};
  Places places{};
  std::map<std::string, Value, std::less<>> config{};
  std::uint64_t seed = 0;  // of the engine's entropy
  bool secrets = false;    // their data is in it
  [[nodiscard]] Value to_value(std::span<const Kind* const> kinds) const;
};

// Returns an effect in the form of records; Null for effects that are not decisions (timers).
Value to_value(const Effect& effect);

// Writes the inputs and decisions of an engine as lines. Belongs to the engine's thread.
class Recorder final : public EngineJournal {
 public:
  // Takes one line at a time, its end included; false: no more, please.
  using Sink = std::function<bool(std::string_view line)>;
  Recorder(RecordHead head, Sink sink) : head_(std::move(head)), sink_(std::move(sink)) {}

  void input(const Engine& engine, const Input& input, Instant now) override;
  void ran(std::span<const Effect> effects, Instant now) override;

 private:
  void begin(const Engine& engine);
  void write(const Value& line);
  [[nodiscard]] Value shown(const Value& value) const;
  [[nodiscard]] Value line_of(const Engine& engine, const WatchEvent& event, Instant now) const;
  [[nodiscard]] Value line_of(const Engine& engine, const Relisted& list, Instant now) const;
  [[nodiscard]] Value line_of(const Engine& engine, const WriteResult& result, Instant now) const;
  [[nodiscard]] Value line_of(const Engine& engine, const Observation& seen, Instant now) const;
  [[nodiscard]] Value line_of(const Engine& engine, const Tick& tick, Instant now) const;
  [[nodiscard]] Value line_of(const Engine& engine, const ClockStep& step, Instant now) const;

  RecordHead head_;
  Sink sink_;
  std::map<const Kind*, std::int64_t> numbers_{};  // looked up, never iterated
  bool begun_ = false;
};

}  // namespace athanor::runtime
