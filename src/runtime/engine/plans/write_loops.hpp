// SPDX-License-Identifier: Apache-2.0
// WriteLoops: finds keys that write one object in turn with another writer, each undoing the
// other's write, and sets their pace (docs/engine.md 2, rule 10).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "runtime/engine/model/write_request.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

// Not thread-safe: the engine owns it. A write counts if it says again what the object said after
// the key's last write: another writer has undone it since. Content that changes each time, and
// what a key changes itself, never count. O(1) for a writer without a rival; contents are compared
// from the third turn on. Memory: a fixed table, and what is suspected.
class WriteLoops {
 public:
  static constexpr Duration kWindow = std::chrono::seconds(10);
  static constexpr int kMostRepeats = 20;  // in a window
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::minutes(1);

  // The key of a controller. Tasks come and go with their events, writers do not.
  struct Writer {
    std::string_view controller{};
    const Key& key;
    // Returns "controller (key)", or the controller alone for a singleton.
    [[nodiscard]] std::string text() const;
  };
  // A write that the server carried out.
  struct Write {
    Writer writer;
    const WriteRequest& request;
    std::uint64_t before = 0;  // the object's version that was known when it was sent
    const Object& after;       // as returned
  };
  // Notes a write. Returns the number of the pause that begins with it, from 1; 0: none begins.
  int wrote(const Write& write, Instant now);
  // Returns when the key may write the object again; nullopt: now.
  [[nodiscard]] std::optional<Instant> held_until(const Writer& writer, const Ref& ref,
                                                  Instant now) const;
  // Returns who writes the object in turn with the key: another key, or else a field manager;
  // empty: unknown.
  [[nodiscard]] std::string rival(const Writer& writer, const Ref& ref) const;

  // Returns true if any object is written in turn: then saw() wants each event.
  [[nodiscard]] bool suspects() const { return !known_.empty(); }
  // Notes the field managers of an object as a watch shows it.
  void saw(const Ref& ref, const Object& object);

  // Drops what is older than a window. Cheap if called often.
  void sweep(Instant now);
  // Shifts stored times after a step of the clock.
  void shift(Duration by);

 private:
  using Name = std::pair<Ref, std::string>;  // object, Writer::text()
  struct NameOrder {
    bool operator()(const Name& a, const Name& b) const {
      const RefOrder order;
      return order(a.first, b.first) || (!order(b.first, a.first) && a.second < b.second);
    }
  };
  // A writer that may become a suspect.
  struct Glance {
    std::uint64_t name = 0;  // digest
    std::uint64_t version = 0;
    Instant began{};
    int turns = 0;
  };
  // A suspect.
  struct Entry {
    Instant began{};            // of the window
    Instant last{};             // write
    std::uint64_t version = 0;  // that the last write returned
    int repeats = 0;            // writes of what another writer had undone
    Object after{};             // what the last write returned
    int pauses = 0;             // in a row
    Instant until{};            // end of the last pause
    std::string manager{};      // of the key's own fields
    std::string other{};        // the manager that wrote as late or later
  };
  static constexpr int kSuspect = 3;             // turns in a window
  static constexpr std::size_t kGlances = 1024;  // at a time; a newer writer takes a place over

  // Notes a write of a writer that is no suspect.
  void glance(const Ref& ref, const Write& write, Instant now);

  std::vector<Glance> glances_{};
  std::map<Name, Entry, NameOrder> known_{};
  Instant swept_{};
};

}  // namespace athanor::runtime
