// SPDX-License-Identifier: Apache-2.0
// World: the console's cache of a cluster: one list and watch per kind, for any number of viewers
// (docs/spec/dashboard.md B2). Kinds that the cluster lacks are named and picked up when
// they appear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/api_client.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::console {

// Kueue's ConfigMap, which is followed alone: its settings decide about places in queues.
inline constexpr Kind kQueueConfiguration{"", "v1", "ConfigMap", "configmaps", true};

// The objects of one kind at one moment, in order of namespace and name.
struct KindObjects {
  std::vector<Object> objects{};
  bool synced = false;           // listed since the start
  std::optional<Error> error{};  // why it cannot be listed: the kind is absent, or forbidden
  std::uint64_t changes = 0;     // another number after every change
};

// All kinds at one moment. Immutable, shared between threads.
class Facts {
 public:
  using Kinds = std::map<const Kind*, std::shared_ptr<const KindObjects>>;
  Facts() = default;
  Facts(Kinds kinds, std::uint64_t version) : kinds_(std::move(kinds)), version_(version) {}

  // Returns the objects of a kind; none of one that is not followed.
  [[nodiscard]] const std::vector<Object>& all(const Kind& kind) const;
  [[nodiscard]] const Object* find(const Kind& kind, const Key& key) const;
  // Returns the state of a kind; nullptr: it is not followed.
  [[nodiscard]] const KindObjects* state(const Kind& kind) const;
  // Returns true if the kind has been listed.
  [[nodiscard]] bool has(const Kind& kind) const;
  // Returns the newest version of any object seen.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  Kinds kinds_{};
  std::uint64_t version_ = 0;
};

// One subscription: a kind, in one namespace or all.
struct FollowedKind {
  const Kind* kind = nullptr;
  std::string ns{};
  std::string field_selector{};
  bool always = false;         // also without viewers: the history needs it
  bool keep_managers = false;  // managedFields are read
};

// A kind's watch, for the page about the system.
struct WatchState {
  const Kind* kind = nullptr;
  bool listed = false;
  bool watching = false;
  std::uint64_t events = 0;
  std::uint64_t lists = 0;
  std::size_t objects = 0;
  std::optional<Duration> lag{};    // client::watch_lag()
  std::optional<Duration> quiet{};  // since the server last confirmed the objects
  std::string error{};
};

// Whether the API server answers.
struct Link {
  bool connected = false;
  std::optional<Instant> since{};  // of the present state
  std::string error{};
};

// One object that came, changed or went.
struct WorldChange {
  const Kind* kind = nullptr;
  std::optional<Object> before{};
  std::optional<Object> after{};
};

// Thread-safe.
class World {
 public:
  // Called on the client's thread after changes; must not block.
  using Listener = std::function<void(const std::vector<WorldChange>& changes)>;

  // Requires that all outlive it.
  World(std::shared_ptr<client::ApiClient> client, std::vector<FollowedKind> kinds,
        const Clock& clock, Entropy& entropy);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();  // stops

  // Adds a listener; before start().
  void on_change(Listener listener);
  // Follows the kinds that are always needed.
  void start();
  // Follows all kinds; again without effect while they are followed.
  void follow_all();
  // Stops following the kinds that are not always needed.
  void rest();
  void stop();

  // Returns the present state. Cheap while nothing changed.
  [[nodiscard]] std::shared_ptr<const Facts> facts() const;
  // Returns true if the kind is listed now.
  [[nodiscard]] bool is_listed(const Kind& kind) const;
  // Returns true once every kind that is followed was listed or refused.
  [[nodiscard]] bool synced() const;
  // Waits until synced(), at most `patience`; returns it.
  bool wait_synced(Duration patience) const;
  [[nodiscard]] std::vector<WatchState> watches() const;
  [[nodiscard]] Link link() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::console
