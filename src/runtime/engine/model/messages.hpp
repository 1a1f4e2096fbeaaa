// SPDX-License-Identifier: Apache-2.0
// Inputs and effects of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/model/write_request.hpp"

namespace athanor::runtime {

// ---- inputs
// One event of a kind's watch, in order of versions. Deleted: the last state, with the deletion's
// version.
struct WatchEvent {
  enum class Type : std::uint8_t { Changed, Deleted, Bookmark };
  Type type = Type::Changed;
  const Kind* kind = nullptr;
  Object object{};
  std::string ns{};  // of a Bookmark: the watch's namespace; empty: of everything
};
// All objects of a kind at a version: at the start, after a gap in the watch, and when asked
// (Relist). Also in parts, without other inputs of this kind and namespace in between: nothing of
// it shows before the last, and a first one starts over.
struct Relisted {
  const Kind* kind = nullptr;
  std::vector<Object> objects{};
  std::uint64_t version = 0;
  std::optional<Error> error{};  // refused for good: operators run without it (view/failures.hpp)
  std::string ns{};              // all objects of this namespace, see EngineOptions::namespaces
  bool first = true;
  bool last = true;
  bool early = false;  // begun before the last Relist was asked for: that is still to come
};
struct WriteResult {
  std::uint64_t id = 0;            // of the SendWrite
  std::optional<Object> object{};  // what the server returned
  std::optional<Error> error{};
  bool unknown = false;  // no answer: it may have happened
  std::optional<Duration> retry_after{};
  // The watch of the kind, narrowed by a selector, does not show the returned object; with an
  // error: it may not show the target.
  bool hidden = false;
};
// An answer of the outside world: to a Probe, to an Act (query "<verb>:<id>"), or unasked.
struct Observation {
  std::string query{};
  std::optional<Value> value{};
  std::optional<Error> error{};
  // The Probe that this answers; 0: it came unasked. An answer is dropped when news came unasked
  // after its question, or when the question has been put anew since: it may be older.
  std::uint64_t asked = 0;
};
struct Tick {};
// `now` has jumped: what the engine itself waits for moves along, and keys that sleep run to say
// anew when they want to wake.
struct ClockStep {
  Duration by{};
};
using Input = std::variant<WatchEvent, Relisted, WriteResult, Observation, Tick, ClockStep>;

// ---- effects
struct SendWrite {
  std::uint64_t id = 0;
  std::string_view op{};
  WriteRequest request{};
  bool urgent = false;  // of an operator that decides for every key: the more keys wait for it
};
struct Probe {
  std::string query{};
  std::uint64_t id = 0;  // never 0, of each question its own
};
// At most once per verb and id; the result comes back as an Observation.
struct Execute {
  std::string id{};
  std::string verb{};
  Value args{};
};
// List this kind anew: a live read after a timeout or an unknown outcome.
struct Relist {
  const Kind* kind = nullptr;
  std::string ns{};  // empty: everything that is watched of it
};
// Feed a Tick at `when` at the latest; replaces the former timer.
struct SetTimer {
  Instant when{};
};
using Effect = std::variant<SendWrite, Probe, Execute, Relist, SetTimer>;

}  // namespace athanor::runtime
