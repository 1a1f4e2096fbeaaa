// SPDX-License-Identifier: Apache-2.0
// The store: every object of the embedded control plane, one revision counter, one event log.
//
// Objects are immutable and shared. Reads see the newest commit at once. A commit becomes durable a
// little later (the journal groups commits); acknowledgements to the outside wait for
// durable_revision(). Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::store {

using Revision = std::uint64_t;

// One stored object. `resource` is "pods" or "deployments.apps" (plural, group); `body` is
// complete, metadata.resourceVersion included.
struct Stored {
  std::string resource{};
  Key key{};
  Revision revision = 0;  // of the last write
  Value body{};
};
using StoredPtr = std::shared_ptr<const Stored>;

// A change of one object.
struct Event {
  enum class Type : std::uint8_t { Added, Modified, Deleted };
  Type type = Type::Added;
  Revision revision = 0;
  StoredPtr object{};    // Deleted: the last state, with the deletion's revision in its metadata
  StoredPtr previous{};  // Modified and Deleted: the state before
  Instant time{};        // of the commit; the epoch for events that come from the disk
};
using EventPtr = std::shared_ptr<const Event>;

// One write of a transaction. The store sets metadata.resourceVersion of `body` to the new
// revision.
struct Write {
  std::string resource{};
  Key key{};
  std::optional<Value> body{};  // nullopt: delete
  // What must hold: 0 = must not exist; N = the stored revision is N; nullopt = whatever is there.
  std::optional<Revision> expected{};
};

// A part of a list.
struct Page {
  std::vector<StoredPtr> items{};
  Revision revision = 0;  // of the state the items come from
  bool more = false;
  std::size_t remaining = 0;  // items after the page, when known
};

// Which objects of a resource are listed.
struct ListOptions {
  std::string ns{};  // empty: all namespaces
  std::optional<Revision>
      exactly{};               // the state at that revision; Expired (410) when its history is gone
  std::size_t limit = 0;       // 0: no limit
  std::optional<Key> after{};  // start behind this key
  std::optional<Revision> written_until{};  // only objects last written at or before it
};

// Where current objects outlive the process. Implementations: SQLite (journal_sqlite.hpp), none
// (memory).
class Journal {
 public:
  virtual ~Journal() = default;
  struct Recovered {
    std::vector<StoredPtr> objects{};
    Revision revision = 0;  // continue above this
  };
  virtual Result<Recovered> recover() = 0;
  // Queues one commit. `done` runs on the journal's thread once the commit (and all before it) is
  // on disk, or failed. A failed commit stays queued inside the journal and is written when that
  // works again; the newest failed `done` then runs a second time, with success. Called in revision
  // order.
  virtual void append(Revision revision, std::span<const EventPtr> events,
                      std::function<void(Result<void>)> done) = 0;
  // Returns ok while writes can be expected to succeed; reports a full disk before a write is
  // accepted.
  virtual Result<void> writable() = 0;
  virtual void close() = 0;

  // The past that outlives the process: events with oldest < revision <= newest can be read back.
  struct Reach {
    Revision oldest = 0;
    Revision newest = 0;
  };
  // Returns the reach; nullopt: this journal keeps no past. Thread-safe, like the following.
  [[nodiscard]] virtual std::optional<Reach> reach() const { return std::nullopt; }
  // Events of one resource with after < revision <= until, in order; Expired (410) when they are
  // gone.
  [[nodiscard]] virtual Result<std::vector<EventPtr>> read(std::string_view resource,
                                                           Revision after, Revision until);
  // Drops what is older than the journal's limits.
  virtual void trim(Instant /*now*/) {}
};
// Returns a journal that keeps nothing: every commit is durable at once.
std::unique_ptr<Journal> memory_journal();

// Resources whose objects are gone after a restart: Events.
bool is_volatile(std::string_view resource);

// How much of the past is kept (docs/spec/apiserver.md 8.2, 19.5). Over a journal that keeps the
// past, memory holds the newest `recent_events` of at most `recent_bytes`; over one that does not
// it holds up to event_window events, and trim() drops those older than `history` but for the
// newest event_minimum.
struct Options {
  std::size_t event_window = 100'000;
  std::size_t event_minimum = 10'000;
  std::size_t recent_events = 2'000;
  std::size_t recent_bytes = std::size_t{8} << 20;
  std::size_t window_bytes = std::size_t{256} << 20;
  Duration history = std::chrono::minutes(5);  // exact lists reach back this far
  // Objects share the parts in which they are alike: less memory for more work at each write. Not
  // worth it for a store that lives for seconds.
  bool intern = true;
  // Objects are found by hash: quicker, for some 50 bytes each.
  bool hash = false;
};

// The interface; open() makes the only implementation.
class Store {
 public:
  // Loads what the journal kept.
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Journal> journal,
                                             const Options& options);
  virtual ~Store() = default;

  [[nodiscard]] virtual Revision revision() const = 0;
  // Returns the revision up to which commits survive a crash; of the memory journal revision().
  [[nodiscard]] virtual Revision durable_revision() const = 0;
  // Runs `done` once durable_revision() >= revision (at once when it already is), with the
  // journal's error if that commit could not be written. `done` may run on the journal's thread and
  // must not block. A commit that failed here stays visible to reads and is retried by the journal:
  // its writer must take the error as "outcome unknown".
  virtual void when_durable(Revision revision, std::function<void(Result<void>)> done) = 0;

  [[nodiscard]] virtual StoredPtr get(std::string_view resource, const Key& key) const = 0;
  [[nodiscard]] virtual Result<Page> list(std::string_view resource,
                                          const ListOptions& options) const = 0;
  // Returns objects with that uid among their owner references, ordered by resource and key.
  [[nodiscard]] virtual std::vector<StoredPtr> owned_by(std::string_view uid) const = 0;
  [[nodiscard]] virtual std::size_t count(std::string_view resource, std::string_view ns) const = 0;
  [[nodiscard]] virtual std::vector<std::string> resources() const = 0;

  // Commits all or nothing. Conflict (409) names the write whose expectation failed; AlreadyExists,
  // NotFound likewise. Returns the stored objects (a deletion returns the last state). A write that
  // changes nothing but would bump the revision is the caller's business. Fails with 500 when the
  // journal is not writable (full disk): nothing is applied. Every written object gets a revision
  // of its own, in the order of `writes`.
  virtual Result<std::vector<StoredPtr>> commit(std::span<const Write> writes, Instant now) = 0;

  // Events of one resource with revision > after, in order, at most `limit` (0: all); Expired when
  // the log does not reach back that far.
  [[nodiscard]] virtual Result<std::vector<EventPtr>> events_after(std::string_view resource,
                                                                   Revision after,
                                                                   std::size_t limit) const = 0;
  // Returns the oldest revision from which a watch may resume.
  [[nodiscard]] virtual Revision oldest_revision() const = 0;
  // Called after every commit with its events, in revision order, under no lock of the caller's
  // making; must be quick and must not call back into commit(); reads are fine. Returns a token;
  // destroying it ends the calls and waits for a running one.
  using Listener = std::function<void(std::span<const EventPtr>)>;
  [[nodiscard]] virtual std::shared_ptr<void> listen(Listener listener) = 0;
  // Calls the listener whenever durable_revision() grew; never before the listeners above have
  // heard of those commits.
  [[nodiscard]] virtual std::shared_ptr<void> listen_durable(
      std::function<void(Revision)> listener) = 0;

  // Drops history older than Options::history; called by the owner about once a second.
  virtual void trim(Instant now) = 0;
  // Checks whether writes can be expected to succeed (else the journal's error: its disk is full).
  [[nodiscard]] virtual Result<void> writable() const = 0;
  virtual void close() = 0;
};

// Returns "deployments.apps" of a plural and a group; "pods" for the core group.
std::string resource_name(std::string_view plural, std::string_view group);

}  // namespace athanor::store
