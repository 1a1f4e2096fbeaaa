// SPDX-License-Identifier: Apache-2.0
// One watch: its queue and how its frames look. Inside the watch hub only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/read/watch_hub.hpp"
#include "embedded/apiserver/request/conversation.hpp"
#include "embedded/apiserver/resources/versions.hpp"

namespace athanor::apiserver {

// An event and the frames that watchers made of it so far.
struct SharedEvent {
  explicit SharedEvent(store::EventPtr store_event) : event(std::move(store_event)) {}

  // Returns the frame under that name, made by `encode` the first time.
  std::shared_ptr<const std::string> frame(const std::string& form,
                                           const std::function<std::string()>& encode);

  const store::EventPtr event;

 private:
  Mutex mutex_{};
  std::vector<std::pair<std::string, std::shared_ptr<const std::string>>> frames_
      ATHANOR_GUARDED_BY(mutex_){};
};

// Thread-safe. Ends when its queue is full for too long, and at once when the queue has grown to
// its limit meanwhile.
class Watcher : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(WatchSpec spec, Instant now);

  static constexpr std::size_t kFull = 4096;    // events; a reader may catch up
  static constexpr std::size_t kLimit = 16384;  // events

  // Offers an event, on the hub's side. Returns false when there is nothing to read: the event is
  // certainly not for this watcher, or the watch is over.
  bool offer(const std::shared_ptr<SharedEvent>& event);
  // Takes an event from before the watch began; these do not count towards the limit.
  void catch_up(const std::shared_ptr<SharedEvent>& event);
  // Bookmarks that are due, with the revision all events up to which were offered; ends the stream
  // at its time, or when the reader has not read for too long.
  void tick(Instant now, store::Revision delivered);
  void end();
  // Queues an ERROR frame, then ends.
  void fail(const StatusError& error);
  void wake();

  // Pulls or waits, on the reader's side.
  Stream::State pull(std::string& out);
  void on_ready(std::function<void()> callback);

 private:
  struct Bookmark {
    store::Revision revision = 0;
    bool end_of_initial = false;
  };
  struct Item {
    std::shared_ptr<SharedEvent> event{};  // one of these is set
    std::optional<Bookmark> bookmark{};
    std::string frame{};
  };

  [[nodiscard]] bool concerns(const Key& key) const;
  // Stops with waits_ set where a conversion webhook has to be asked first.
  void take_initial(std::string& out) ATHANOR_REQUIRES(mutex_);
  void write_event(SharedEvent& shared, std::string& out) ATHANOR_REQUIRES(mutex_);
  // Handles a failed conversion: sets waits_ while it is pending, else ends with an ERROR frame.
  void refuse(const StatusError& error, std::string& out) ATHANOR_REQUIRES(mutex_);
  VersionContext versions() ATHANOR_REQUIRES(mutex_);
  void ask_webhook(const std::shared_ptr<Conversation>& asking);
  void write_object(std::string_view type, const Value& object, std::string& out)
      ATHANOR_REQUIRES(mutex_);
  [[nodiscard]] std::string bookmark_frame(const Bookmark& bookmark) ATHANOR_REQUIRES(mutex_);
  [[nodiscard]] std::string frame_of(std::string_view type, const Value& object, bool headless)
      ATHANOR_REQUIRES(mutex_);

  Mutex mutex_{};
  std::vector<store::StoredPtr> initial_ ATHANOR_GUARDED_BY(mutex_);  // freed once sent
  const WatchSpec spec_;
  const std::string form_;  // names the frames that can be shared
  const Instant deadline_;

  std::deque<Item> queue_ ATHANOR_GUARDED_BY(mutex_){};
  std::size_t limit_ ATHANOR_GUARDED_BY(mutex_) = kLimit;
  std::size_t initial_done_ ATHANOR_GUARDED_BY(mutex_) = 0;
  std::vector<Value> converted_ ATHANOR_GUARDED_BY(mutex_){};  // initial_, by a conversion webhook
  std::shared_ptr<Conversation> asking_ ATHANOR_GUARDED_BY(mutex_){};  // about the first item
  bool waits_ ATHANOR_GUARDED_BY(mutex_) = false;                      // for its answers
  bool ended_ ATHANOR_GUARDED_BY(mutex_) = false;
  bool table_started_ ATHANOR_GUARDED_BY(mutex_) = false;
  std::optional<Instant> full_since_ ATHANOR_GUARDED_BY(mutex_){};
  Instant next_bookmark_ ATHANOR_GUARDED_BY(mutex_){};
  bool last_bookmark_done_ ATHANOR_GUARDED_BY(mutex_) = false;
  Instant last_tick_ ATHANOR_GUARDED_BY(mutex_){};

  // Held during the call, so that none runs after on_ready({}); recursive, as the callee may pull
  // at once.
  RecursiveMutex wake_mutex_{};
  std::function<void()> wake_ ATHANOR_GUARDED_BY(wake_mutex_){};
};

}  // namespace athanor::apiserver
