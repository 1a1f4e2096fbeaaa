// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps up with the objects of one kind. A machine from inputs to effects that lists,
// watches, resumes and starts over: no clock, no socket, no thread.
//
// The rules are those of the Kubernetes API: a list in chunks at one version, a watch from there
// that bookmarks move on, 410 (Gone) means to list anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/apply/rival_fields.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor {
class Interner;
}

namespace athanor::client {

// Changes an object before it is delivered: drops unread members.
using Trim = std::function<void(Value& object)>;
// Drops these subtrees (paths of member names), and metadata.managedFields but for the rivals of
// `appliers` (kube/apply/rival_fields.hpp).
Trim trim_fields(std::vector<std::vector<std::string>> dropped_paths = {}, Managers appliers = {});

// One subscription: a kind, in one namespace or all.
struct FeedScope {
  const Kind* kind = nullptr;
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
  Trim trim{};
  // How long a kind that the server lacks (404) is taken for absent; unset:
  // ReflectorOptions::refused_retry.
  std::optional<Duration> absent_retry{};
};

// ---- what is delivered, in order
struct KindEvent {
  enum class Type : std::uint8_t { Changed, Deleted, Bookmark };
  Type type = Type::Changed;
  const Kind* kind = nullptr;
  Object object{};  // Deleted: the last state, with the deletion's version; Bookmark: the version
};
// All objects at a version: at the start, after a gap, and when asked. In parts, as they come: they
// hold once the last is there, and a first one (again) means that those before do not count.
struct KindList {
  const Kind* kind = nullptr;
  std::vector<Object> objects{};
  std::uint64_t version = 0;
  bool first = true;
  bool last = true;
  bool early = false;  // a Relist came while it was under way: another list follows
  // 403 and 404: refused for good; reported once; a list follows if that changes.
  std::optional<Error> error{};
};
using FeedItem = std::variant<KindEvent, KindList>;

// Sizes and periods of lists and watches.
struct ReflectorOptions {
  std::size_t chunk = 500;
  Duration watch_min = std::chrono::minutes(5);  // timeoutSeconds lies between these
  Duration watch_max = std::chrono::minutes(10);
  Duration backoff_min = std::chrono::milliseconds(800);
  Duration backoff_max = std::chrono::seconds(30);
  Duration refused_retry = std::chrono::minutes(1);  // after 403 and 404, jittered
  Duration idle = std::chrono::seconds(125);         // without a byte: two bookmarks and some
  // Lets what is delivered share the parts that are alike; may be null, must outlive it.
  Interner* interner = nullptr;
  // Only so many objects of a list share parts: larger caches keep the rest packed.
  std::size_t shared = 2048;
};

// Its state, for readiness and metrics.
struct ReflectorStatus {
  bool listed = false;  // since the start
  bool watching = false;
  std::string version{};
  std::uint64_t lists = 0;
  std::uint64_t watches = 0;
  std::uint64_t events = 0;
  std::optional<Error> last_error{};
  // ---- filled in by Feed, which has the clock
  // Time since the server last confirmed the objects by a list, an event or an opened watch.
  std::optional<Duration> quiet{};
  // Time between the newest write and its event, in whole seconds, rounded down; zero after a
  // bookmark.
  std::optional<Duration> late{};
};
// Returns how far the objects are behind the server: `late` while they are watched, else `quiet`.
// nullopt: they were never listed.
std::optional<Duration> watch_lag(const ReflectorStatus& status);

// Keeps up with one kind: a state machine without I/O, from answers to requests and FeedItems.
class Reflector {
 public:
  // ---- inputs; `id` is the request's
  // A list's answer; or that a watch ended (error empty: by the server).
  struct Answer {
    std::uint64_t id = 0;
    Value body{};
    std::optional<Error> error{};
    std::optional<Duration> retry_after{};
  };
  struct Opened {  // the watch's head came
    std::uint64_t id = 0;
  };
  struct Line {
    std::uint64_t id = 0;
    Value event{};
  };
  struct Tick {};
  struct Relist {};  // list anew as soon as possible, from the newest state
  using Input = std::variant<Answer, Opened, Line, Tick, Relist>;

  // ---- effects
  struct Request {
    std::uint64_t id = 0;
    std::string path{};
    bool watch = false;
    bool fresh_connection = false;
  };
  struct Stop {
    std::uint64_t id = 0;
  };
  struct SetTimer {  // feed a Tick then, at the latest; replaces the former
    Instant when{};
  };
  struct Deliver {
    FeedItem item{};
  };
  using Effect = std::variant<Request, Stop, SetTimer, Deliver>;

  // Requires that `entropy` outlives it.
  Reflector(FeedScope scope, ReflectorOptions options, Entropy& entropy);
  ~Reflector();
  Reflector(Reflector&&) noexcept;
  Reflector& operator=(Reflector&&) noexcept;
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Handles an input; the first (a Tick) starts it. Ignores inputs of an id that is not under way.
  void feed(Input input, Instant now, std::vector<Effect>& effects);
  [[nodiscard]] const FeedScope& scope() const;
  [[nodiscard]] const ReflectorStatus& status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::client
