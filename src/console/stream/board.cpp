// SPDX-License-Identifier: Apache-2.0
#include "console/stream/board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "console/data/features.hpp"
#include "kube/text/json.hpp"
#include "net/paced_stream.hpp"

namespace athanor::console {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kPace = std::chrono::milliseconds(200);  // five messages a second
constexpr auto kBeat = std::chrono::seconds(15);
constexpr auto kLook = std::chrono::seconds(1);  // between looks at sessions and the link
constexpr std::size_t kMostChanges = 20'000;     // kept for viewers that come back
constexpr std::size_t kMostInMessage = 500;

// One row that came, changed or went.
struct RowChange {
  std::uint64_t number = 0;
  std::uint64_t version = 0;
  std::string topic{};
  const char* type = "MODIFIED";
  Value row{};
};

std::uint64_t id_number(std::string_view id) {
  std::uint64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  return number;
}

Value change_value(const RowChange& change, Value row) {
  return Value::object({{"type", change.type}, {"object", std::move(row)}});
}

Value identity_of(const Value& row) {
  Value identity = Value::object();
  for (const char* name : {"ns", "name", "node", "uid"}) {
    if (row.contains(name)) {
      identity.set(name, row[std::string_view(name)]);
    }
  }
  return identity;
}

void compare(const std::string& topic, const Rows& before, const Rows& after,
             std::vector<RowChange>& changes) {
  std::map<std::string, const Value*> known;
  for (const Value& row : before) {
    known.emplace(row_key(row), &row);
  }
  for (const Value& row : after) {
    const auto found = known.find(row_key(row));
    if (found == known.end()) {
      changes.push_back({.topic = topic, .type = "ADDED", .row = row});
      continue;
    }
    if (*found->second != row) {
      changes.push_back({.topic = topic, .type = "MODIFIED", .row = row});
    }
    known.erase(found);
  }
  for (const auto& [key, row] : known) {
    changes.push_back({.topic = topic, .type = "DELETED", .row = identity_of(*row)});
  }
}

// Names of the systems whose kinds the server has.
std::string present_features(const Facts& facts) {
  std::string text;
  const Value list = feature_list(facts, true);
  for (const Value& feature : list.items()) {
    text += feature["present"].as_bool() ? feature["name"].str() + " " : "";
  }
  return text;
}

std::string message(std::string_view event, const Value& data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, json::print(data));
}

}  // namespace

struct Board::State : std::enable_shared_from_this<Board::State> {
  class Viewer;

  State(World& followed, const Settings& how, const Clock& time, Archived history)
      : world(followed), settings(how), clock(time), archived(std::move(history)) {}

  World& world;
  const Settings& settings;
  const Clock& clock;
  const Archived archived;

  mutable Mutex mutex{};
  ConditionVariable news{};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  bool dirty ATHANOR_GUARDED_BY(mutex) = true;
  std::uint64_t touches ATHANOR_GUARDED_BY(mutex) = 0;
  Instant used ATHANOR_GUARDED_BY(mutex){};
  std::shared_ptr<const Tables> current ATHANOR_GUARDED_BY(mutex){};
  std::vector<Viewer*> viewers ATHANOR_GUARDED_BY(mutex){};
  std::deque<RowChange> log ATHANOR_GUARDED_BY(mutex){};
  std::uint64_t log_base ATHANOR_GUARDED_BY(mutex) = 0;  // the log has everything after it
  std::uint64_t next_number ATHANOR_GUARDED_BY(mutex) = 1;
  std::uint64_t version ATHANOR_GUARDED_BY(mutex) = 0;
  Link link ATHANOR_GUARDED_BY(mutex){};
  std::uint64_t link_changes ATHANOR_GUARDED_BY(mutex) = 0;
  std::string features ATHANOR_GUARDED_BY(mutex){};  // that the server has now
  std::uint64_t feature_changes ATHANOR_GUARDED_BY(mutex) = 0;
  Mutex making{};  // one at a time makes tables; taken before `mutex`
  std::thread thread{};

  // Makes the tables anew if something changed; notes what is different for the viewers.
  std::shared_ptr<const Tables> refresh();
  void note_changes(const Tables& before, const Tables& after) ATHANOR_REQUIRES(mutex);
  void run();
  void look_at_link();
  void wake_viewers(bool beats);
  void leave(Viewer* viewer) {
    const MutexLock lock(mutex);
    std::erase(viewers, viewer);
    used = clock.now();
  }
};

// One viewer's stream: a cursor in the log.
class Board::State::Viewer final : public net::PacedStream {
 public:
  Viewer(std::shared_ptr<Board::State> board, Subscription wanted)
      : board_(std::move(board)), wanted_(std::move(wanted)) {}
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;
  ~Viewer() override { board_->leave(this); }

  State pull(std::string& out) override {
    const MutexLock lock(board_->mutex);
    pull_events(out);
    if (!out.empty()) {
      beat_ = Steady::now() + kBeat;
    } else if (Steady::now() >= beat_) {
      out = ": heartbeat\n\n";
      beat_ = Steady::now() + kBeat;
    }
    return over_ ? State::Ended : State::Open;
  }
  void on_ready(std::function<void()> wake) override {
    const MutexLock lock(board_->mutex);
    wake_ = std::move(wake);
  }

  // All with the board's mutex held.
  void wake() {
    if (wake_) {
      wake_();
    }
  }
  [[nodiscard]] bool is_due() const {
    return Steady::now() >= beat_ || (wanted_.ends_at && Steady::now() >= *wanted_.ends_at);
  }
  [[nodiscard]] bool check() {
    if (!over_ && wanted_.is_valid && !wanted_.is_valid()) {
      expired_ = true;
      return false;
    }
    return true;
  }
  void begin() {
    board_->mutex.assert_held();
    cursor_ = board_->next_number;
    features_seen_ = board_->feature_changes;
    if (wanted_.last_id.empty()) {
      return;
    }
    const std::uint64_t seen = id_number(wanted_.last_id);
    if (seen < board_->log_base || seen > board_->version) {
      reset_ = true;
      return;
    }
    for (const RowChange& change : board_->log) {
      if (change.version >= seen) {
        cursor_ = change.number;
        break;
      }
    }
  }

 private:
  void pull_events(std::string& out) {
    board_->mutex.assert_held();
    const std::uint64_t newest = board_->version;
    if (!greeted_) {
      greeted_ = true;
      out += "retry: 1000\n\n";
      if (reset_) {
        out += "event: reset\ndata: {}\n\n";
      }
      out += link_event();
      out += fmt::format(
          "event: bookmark\nid: {}\ndata: {{\"type\":\"BOOKMARK\",\"object\":{{}}}}\n\n", newest);
    }
    if (link_seen_ != board_->link_changes) {
      out += link_event();
    }
    if (features_seen_ != board_->feature_changes) {
      features_seen_ = board_->feature_changes;
      out += "event: features\ndata: {}\n\n";  // the session has their list
    }
    if (!board_->log.empty() && cursor_ < board_->log.front().number) {
      out += fmt::format("id: {}\nevent: reset\ndata: {{}}\n\n", newest);
      cursor_ = board_->next_number;
    }
    out += changes_text(newest);
    if (expired_ && !over_) {
      out += "event: auth\ndata: {}\n\n";
      over_ = true;
    }
    over_ = over_ || (wanted_.ends_at && Steady::now() >= *wanted_.ends_at);
  }

  std::string link_event() {
    board_->mutex.assert_held();
    link_seen_ = board_->link_changes;
    Value data = Value::object({{"connected", board_->link.connected}});
    if (board_->link.since) {
      data.set("since", format_time(*board_->link.since));
    }
    if (!board_->link.error.empty()) {
      data.set("error", board_->link.error);
    }
    return message("state", data);
  }

  [[nodiscard]] Value shown_change(const RowChange& change) const {
    return change_value(change,
                        wanted_.shown ? wanted_.shown(change.topic, change.row) : change.row);
  }

  // The changes since the cursor, one message a topic, the id in the last one.
  std::string changes_text(std::uint64_t newest) {
    board_->mutex.assert_held();
    std::map<std::string, std::vector<const RowChange*>> by_topic;
    auto at = std::ranges::lower_bound(board_->log, cursor_, {}, &RowChange::number);
    for (; at != board_->log.end(); ++at) {
      if (wanted_.topics.contains(at->topic) &&
          (!wanted_.may_see || wanted_.may_see(at->topic, at->row))) {
        by_topic[at->topic].push_back(&*at);
      }
    }
    cursor_ = board_->next_number;
    std::string text;
    for (const auto& [topic, changes] : by_topic) {
      for (std::size_t i = 0; i < changes.size(); i += kMostInMessage) {
        const std::size_t end = std::min(i + kMostInMessage, changes.size());
        if (end - i == 1) {
          text += message(topic, shown_change(*changes[i]));
          continue;
        }
        Value list = Value::list();
        for (std::size_t j = i; j < end; ++j) {
          list.push_back(shown_change(*changes[j]));
        }
        text += message(topic, Value::object({{"type", "BATCH"}, {"changes", std::move(list)}}));
      }
    }
    if (!text.empty()) {
      text.insert(text.rfind("event: "), fmt::format("id: {}\n", newest));
    }
    return text;
  }

  std::shared_ptr<Board::State> board_;
  Subscription wanted_;
  std::function<void()> wake_{};
  std::uint64_t cursor_ = 0;
  std::uint64_t link_seen_ = 0;
  std::uint64_t features_seen_ = 0;
  Steady::time_point beat_ = Steady::now() + kBeat;
  bool greeted_ = false;
  bool reset_ = false;
  bool expired_ = false;
  bool over_ = false;
};

void Board::State::note_changes(const Tables& before, const Tables& after) {
  std::vector<RowChange> changes;
  for (const std::string_view topic : kRowTopics) {
    compare(std::string(topic), before.list(topic), after.list(topic), changes);
  }
  const bool queue = before.queue != after.queue;
  const bool locks = before.list("locks") != after.list("locks");
  if (queue) {
    changes.push_back({.topic = "queue", .row = Value::object()});
  }
  if (locks) {
    changes.push_back({.topic = "locks", .row = Value::object()});
  }
  if (!changes.empty()) {
    changes.push_back({.topic = "problems", .row = Value::object()});
  }
  for (RowChange& change : changes) {
    change.number = next_number++;
    change.version = version;
    log.push_back(std::move(change));
  }
  while (log.size() > kMostChanges) {
    log_base = log.front().version + 1;
    log.pop_front();
  }
}

std::shared_ptr<const Tables> Board::State::refresh() {
  const MutexLock only(making);
  std::uint64_t seen = 0;
  std::shared_ptr<const Tables> before;
  {
    const MutexLock lock(mutex);
    if (!dirty && current) {
      return current;
    }
    seen = touches;
    before = current;
  }
  std::shared_ptr<const Tables> made =
      make_tables(world.facts(), archived ? archived() : nullptr, settings, clock.now());
  std::string present = present_features(*made->facts);
  const MutexLock lock(mutex);
  if (features != present) {
    feature_changes += features.empty() ? 0 : 1;
    features = std::move(present);
  }
  dirty = touches != seen;
  version = std::max(version, made->version);
  if (before && !viewers.empty()) {
    note_changes(*before, *made);
  } else {
    log.clear();
    log_base = version;
  }
  current = made;
  return made;
}

void Board::State::look_at_link() {
  Link now_is = world.link();
  const MutexLock lock(mutex);
  if (link_changes == 0 || now_is.connected != link.connected) {
    now_is.since = clock.now();
    link = std::move(now_is);
    ++link_changes;
    for (Viewer* viewer : viewers) {
      viewer->wake();
    }
  }
}

void Board::State::wake_viewers(bool beats) {
  const MutexLock lock(mutex);
  for (Viewer* viewer : viewers) {
    if (!viewer->check() || !beats || viewer->is_due()) {
      viewer->wake();
    }
  }
}

void Board::State::run() {
  auto next_look = Steady::now();
  auto last_made = Steady::now() - kPace;
  while (true) {
    bool due = false;
    {
      MutexLock lock(mutex);
      news.wait_for(lock, kLook, [this]() ATHANOR_REQUIRES(mutex) {
        return stopping || (dirty && !viewers.empty());
      });
      if (stopping) {
        return;
      }
      due = dirty && !viewers.empty();
    }
    if (due) {
      const auto wait = last_made + kPace - Steady::now();
      if (wait > Steady::duration::zero()) {
        MutexLock lock(mutex);
        news.wait_for(lock, wait, [this]() ATHANOR_REQUIRES(mutex) { return stopping; });
      }
      last_made = Steady::now();
      refresh();
      wake_viewers(false);
    }
    if (Steady::now() >= next_look) {
      next_look = Steady::now() + kLook;
      look_at_link();
      wake_viewers(true);
    }
  }
}

Board::Board(World& world, const Settings& settings, const Clock& clock, Archived archived)
    : state_(std::make_shared<State>(world, settings, clock, std::move(archived))) {
  const MutexLock lock(state_->mutex);
  state_->used = clock.now();
}

Board::~Board() {
  stop();
}

void Board::start() {
  state_->thread = std::thread([state = state_] { state->run(); });
}

void Board::stop() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->news.notify_all();
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
}

void Board::touch() {
  {
    const MutexLock lock(state_->mutex);
    state_->dirty = true;
    ++state_->touches;
  }
  state_->news.notify_all();
}

std::shared_ptr<const Tables> Board::tables() {
  {
    const MutexLock lock(state_->mutex);
    state_->used = state_->clock.now();
  }
  return state_->refresh();
}

std::unique_ptr<net::Stream> Board::subscribe(Subscription subscription) {
  state_->refresh();
  auto viewer = std::make_unique<State::Viewer>(state_, std::move(subscription));
  const MutexLock lock(state_->mutex);
  if (state_->viewers.empty() && state_->dirty) {
    // Changes between refresh() and here are not in the log: it begins anew.
    state_->log.clear();
  }
  state_->viewers.push_back(viewer.get());
  viewer->begin();
  return viewer;
}

std::size_t Board::viewers() const {
  const MutexLock lock(state_->mutex);
  return state_->viewers.size();
}

Instant Board::last_use() const {
  const MutexLock lock(state_->mutex);
  return state_->viewers.empty() ? state_->used : state_->clock.now();
}

}  // namespace athanor::console
