// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/watcher.hpp"

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "embedded/apiserver/request/exchange.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // with a full queue
constexpr Duration kBookmarkInterval = std::chrono::seconds(60);
constexpr Duration kLastBookmark = std::chrono::seconds(2);  // before the end
constexpr std::size_t kPullBytes = std::size_t{1} << 20;

std::string form_of(const WatchSpec& spec) {
  if (spec.accepted.shape == Shape::Table) {
    return {};
  }
  std::string form = spec.resource->api_version();
  if (spec.accepted.shape != Shape::Whole) {
    form += "|meta|" + spec.accepted.meta_version;
  }
  if (spec.accepted.encoding == Encoding::Protobuf) {
    form += "|protobuf";
  }
  return form;
}

void append_frame(Encoding encoding, std::string_view type, const Value& object, std::string& out) {
  if (encoding == Encoding::Protobuf) {
    if (const auto frame = protobuf::encode_watch_frame(type, object); frame.ok()) {
      out += *frame;
    } else {
      log::error("a watch event has no protobuf form", {{"error", frame.error().message}});
    }
    return;
  }
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
  json::append(object, out);
  out += "}\n";
}

Value with_revision(const Value& body, store::Revision revision) {
  Value changed = body;
  changed.set_path({"metadata", "resourceVersion"}, std::to_string(revision));
  return changed;
}

}  // namespace

std::shared_ptr<const std::string> SharedEvent::frame(const std::string& form,
                                                      const std::function<std::string()>& encode) {
  const MutexLock lock(mutex_);
  for (const auto& [name, frame] : frames_) {
    if (name == form) {
      return frame;
    }
  }
  frames_.emplace_back(form, std::make_shared<const std::string>(encode()));
  return frames_.back().second;
}

Watcher::Watcher(WatchSpec spec, Instant now)
    : initial_(std::move(spec.initial)),
      spec_(std::move(spec)),
      form_(form_of(spec_)),
      deadline_(now + spec_.timeout),
      next_bookmark_(now + kBookmarkInterval),
      last_tick_(now) {
  if (spec_.end_marker) {
    queue_.push_back({.event = {},
                      .bookmark = Bookmark{.revision = spec_.after, .end_of_initial = true},
                      .frame = {}});
  }
}

bool Watcher::concerns(const Key& key) const {
  return (spec_.ns.empty() || key.ns == spec_.ns) &&
         (spec_.name.empty() || key.name == spec_.name) && spec_.selection.may_match(key);
}

bool Watcher::offer(const std::shared_ptr<SharedEvent>& event) {
  const store::Stored& object = *event->event->object;
  if (event->event->revision <= spec_.after || !concerns(object.key)) {
    return false;
  }
  const MutexLock lock(mutex_);
  if (ended_) {
    return false;
  }
  if (queue_.size() >= limit_) {
    queue_.clear();
    ended_ = true;
    return true;
  }
  if (queue_.size() >= kFull && !full_since_) {
    full_since_ = last_tick_;
  }
  queue_.push_back({.event = event, .bookmark = {}, .frame = {}});
  return true;
}

void Watcher::catch_up(const std::shared_ptr<SharedEvent>& event) {
  {
    const MutexLock lock(mutex_);
    ++limit_;
  }
  offer(event);
}

void Watcher::tick(Instant now, store::Revision delivered) {
  bool changed = false;
  {
    const MutexLock lock(mutex_);
    last_tick_ = now;
    if (ended_) {
      return;
    }
    if (full_since_ && now - *full_since_ > kPatience) {
      queue_.clear();
      ended_ = true;
      changed = true;
    } else if (now >= deadline_) {
      ended_ = true;
      changed = true;
    } else if (spec_.bookmarks) {
      const bool last = !last_bookmark_done_ && now >= deadline_ - kLastBookmark;
      if (last || now >= next_bookmark_) {
        next_bookmark_ = now + kBookmarkInterval;
        last_bookmark_done_ = last_bookmark_done_ || last;
        queue_.push_back({.event = {},
                          .bookmark = Bookmark{.revision = std::max(delivered, spec_.after),
                                               .end_of_initial = false},
                          .frame = {}});
        changed = true;
      }
    }
  }
  if (changed) {
    wake();
  }
}

void Watcher::end() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  wake();
}

void Watcher::fail(const StatusError& error) {
  {
    const MutexLock lock(mutex_);
    Item item;
    append_frame(spec_.accepted.encoding, "ERROR", error.to_value(), item.frame);
    queue_.push_back(std::move(item));
    ended_ = true;
  }
  wake();
}

void Watcher::wake() {
  const MutexLock lock(wake_mutex_);
  if (wake_) {
    wake_();
  }
}

void Watcher::on_ready(std::function<void()> callback) {
  const MutexLock lock(wake_mutex_);
  wake_ = std::move(callback);
}

std::string Watcher::bookmark_frame(const Bookmark& bookmark) {
  const std::string revision = std::to_string(bookmark.revision);
  Value metadata = Value::object({{"resourceVersion", revision}});
  if (bookmark.end_of_initial) {
    metadata.set("annotations", Value::object({{"k8s.io/initial-events-end", "true"}}));
  }
  Value object;
  if (spec_.accepted.shape == Shape::Table) {
    // The row holds the annotation.
    const Value row = Value::object({{"kind", spec_.resource->kind},
                                     {"apiVersion", spec_.resource->api_version()},
                                     {"metadata", std::move(metadata)}});
    object = make_table(*spec_.resource, spec_.accepted,
                        {.include = spec_.include, .headless = table_started_}, {row},
                        Value::object({{"resourceVersion", revision}}), last_tick_);
    table_started_ = true;
  } else if (spec_.accepted.shape == Shape::Whole) {
    object = Value::object({{"kind", spec_.resource->kind},
                            {"apiVersion", spec_.resource->api_version()},
                            {"metadata", std::move(metadata)}});
  } else {
    object = partial_metadata(spec_.accepted, Value::object({{"metadata", std::move(metadata)}}));
  }
  std::string frame;
  append_frame(spec_.accepted.encoding, "BOOKMARK", object, frame);
  return frame;
}

std::string Watcher::frame_of(std::string_view type, const Value& object, bool headless) {
  Value shaped;
  if (spec_.accepted.shape == Shape::Table) {
    Value metadata = Value::object();
    metadata.set("resourceVersion", object["metadata"]["resourceVersion"]);
    shaped = make_table(*spec_.resource, spec_.accepted,
                        {.include = spec_.include, .headless = headless}, {object},
                        std::move(metadata), last_tick_);
  } else if (spec_.accepted.shape == Shape::Whole) {
    shaped = object;
  } else {
    shaped = partial_metadata(spec_.accepted, object);
  }
  std::string frame;
  append_frame(spec_.accepted.encoding, type, shaped, frame);
  return frame;
}

void Watcher::write_object(std::string_view type, const Value& object, std::string& out) {
  out += frame_of(type, object, table_started_);
  table_started_ = true;
}

VersionContext Watcher::versions() {
  if (spec_.resource->conversion == nullptr || spec_.exchanges == nullptr) {
    return {};
  }
  if (asking_ == nullptr) {
    asking_ = std::make_shared<Conversation>(*spec_.exchanges->entropy);
  }
  return {.store = spec_.store, .conversation = asking_.get()};
}

void Watcher::refuse(const StatusError& error, std::string& out) {
  if (is_pending(error)) {
    waits_ = true;
    return;
  }
  append_frame(spec_.accepted.encoding, "ERROR", error.to_value(), out);
  initial_ = {};
  queue_.clear();
  ended_ = true;
}

void Watcher::ask_webhook(const std::shared_ptr<Conversation>& asking) {
  ask_questions(*spec_.exchanges, asking, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      {
        const MutexLock lock(self->mutex_);
        self->waits_ = false;
      }
      self->wake();
    }
  });
}

void Watcher::take_initial(std::string& out) {
  if (spec_.resource->conversion != nullptr && converted_.size() != initial_.size()) {
    auto all = to_served(*spec_.resource, initial_, versions());
    if (!all.ok()) {
      return refuse(all.error(), out);
    }
    converted_ = *std::move(all);
    asking_.reset();
  }
  while (initial_done_ < initial_.size() && out.size() < kPullBytes) {
    const store::Stored& stored = *initial_[initial_done_++];
    if (!concerns(stored.key)) {
      continue;
    }
    StatusResult<Value> object = Value();
    if (converted_.empty()) {
      object = to_served(*spec_.resource, stored, {});
    } else {
      object = converted_[initial_done_ - 1];
    }
    if (!object.ok()) {
      return refuse(object.error(), out);
    }
    if (spec_.selection.everything() || spec_.selection.matches(*object)) {
      write_object("ADDED", *object, out);
    }
  }
  if (initial_done_ == initial_.size()) {
    initial_ = {};
    converted_ = {};
    initial_done_ = 0;
  }
}

void Watcher::write_event(SharedEvent& shared, std::string& out) {
  const store::Event& event = *shared.event;
  auto now_object = to_served(*spec_.resource, *event.object, versions());
  StatusResult<Value> old_object = Value();
  if (event.previous && !spec_.selection.everything()) {
    old_object = to_served(*spec_.resource, *event.previous, versions());
  }
  if (!now_object.ok() || !old_object.ok()) {
    return refuse((now_object.ok() ? old_object : now_object).error(), out);
  }
  asking_.reset();
  const Selection& selection = spec_.selection;
  const bool matched =
      event.previous != nullptr && (selection.everything() || selection.matches(*old_object));
  const bool matches = event.type != store::Event::Type::Deleted &&
                       (selection.everything() || selection.matches(*now_object));
  if (!matched && !matches) {
    return;
  }
  std::string_view type = matched ? "MODIFIED" : "ADDED";
  Value object = *std::move(now_object);
  std::string form = form_ + "+";
  if (!matches) {
    type = "DELETED";
    if (event.type != store::Event::Type::Deleted) {
      object = with_revision(*old_object, event.revision);
      form = form_ + "-";
    }
  } else if (!matched) {
    form = form_ + "*";
  }
  if (form_.empty()) {
    write_object(type, object, out);
    return;
  }
  out +=
      *shared.frame(form, [&]() ATHANOR_REQUIRES(mutex_) { return frame_of(type, object, true); });
}

Stream::State Watcher::pull(std::string& out) {
  bool more = false;
  std::shared_ptr<Conversation> asking;
  Stream::State state = Stream::State::Open;
  {
    const MutexLock lock(mutex_);
    if (waits_) {
      return state;  // answers wake the reader
    }
    take_initial(out);
    const bool initial_open = initial_done_ < initial_.size();
    while (!initial_open && !queue_.empty() && out.size() < kPullBytes) {
      Item item = std::move(queue_.front());
      queue_.pop_front();
      if (item.event) {
        write_event(*item.event, out);
        if (waits_) {
          queue_.push_front(std::move(item));
          break;
        }
      } else if (item.bookmark) {
        out += bookmark_frame(*item.bookmark);
      } else {
        out += item.frame;
      }
    }
    if (queue_.size() < kFull) {
      full_since_.reset();
    }
    asking = waits_ ? asking_ : nullptr;
    more = initial_done_ < initial_.size() || !queue_.empty();
    if (ended_ && !more) {
      state = Stream::State::Ended;
    }
  }
  if (asking != nullptr) {
    ask_webhook(asking);
  } else if (more) {
    wake();
  }
  return state;
}

}  // namespace athanor::apiserver
