// SPDX-License-Identifier: Apache-2.0
#include "client/reflector.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "client/connection.hpp"
#include "kube/value/interner.hpp"

namespace athanor::client {
namespace {

// A watch that ends sooner, without having delivered anything, counts as a failure: else one that
// is always closed at once would be opened in a loop.
constexpr Duration kShortWatch = std::chrono::seconds(1);
// One that lasted this long was a success, even if nothing happened.
constexpr Duration kLongWatch = std::chrono::seconds(10);
// After so many expired continue tokens the list is asked for in one piece.
constexpr int kExpiredChunks = 2;
constexpr int kMostDoublings = 16;

std::uint64_t version_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// A server that has just started answers 403 until it has read its roles: what was allowed before
// is not refused for good before that is over.
constexpr Duration kWarmUp = std::chrono::seconds(15);
// What may be listed and not watched is listed at this pace, and so many times before a watch is
// tried again.
constexpr Duration kPoll = std::chrono::seconds(30);
constexpr int kPolls = 20;

bool refused_for_good(const Error& error) {
  return error.code == 403 || error.code == 404 || error.code == 405;
}

bool is_gone(const Error& error) {
  return error.code == 410 || error.reason == "Expired" || error.reason == "Gone";
}

std::string collection_of(const FeedScope& scope) {
  const Kind& kind = *scope.kind;
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (kind.namespaced && !scope.ns.empty()) {
    path += "/namespaces/" + escape(scope.ns);
  }
  return fmt::format("{}/{}", path, kind.plural);
}

std::string selectors_of(const FeedScope& scope) {
  std::string text;
  if (!scope.label_selector.empty()) {
    text += "&labelSelector=" + escape(scope.label_selector);
  }
  if (!scope.field_selector.empty()) {
    text += "&fieldSelector=" + escape(scope.field_selector);
  }
  return text;
}

void drop_path(Value& value, const std::vector<std::string>& path, std::size_t depth) {
  if (depth + 1 == path.size()) {
    value.erase(path[depth]);
    return;
  }
  if (const Value* next = value.find(path[depth]); next != nullptr && next->is_object()) {
    drop_path(value.member(path[depth]), path, depth + 1);
  }
}

}  // namespace

Trim trim_fields(std::vector<std::vector<std::string>> dropped_paths, Managers appliers) {
  return [paths = std::move(dropped_paths), appliers = std::move(appliers)](Value& object) {
    keep_rival_fields(object, appliers);
    for (const auto& path : paths) {
      drop_path(object, path, 0);
    }
  };
}

std::optional<Duration> watch_lag(const ReflectorStatus& status) {
  if (!status.listed) {
    return std::nullopt;
  }
  return status.watching ? status.late.value_or(Duration{}) : status.quiet;
}

struct Reflector::Impl {
  enum class Phase : std::uint8_t { Idle, Listing, Watching, Waiting };
  using Effects = std::vector<Effect>;

  Impl(FeedScope what, ReflectorOptions how, Entropy& random)
      : scope(std::move(what)),
        options(how),
        entropy(random),
        collection(collection_of(scope)),
        selectors(selectors_of(scope)),
        api_version(scope.kind->api_version()),
        kind_name(scope.kind->name) {}

  FeedScope scope;
  ReflectorOptions options;
  Entropy& entropy;
  std::string collection;
  std::string selectors;
  Value api_version;  // shared by all objects of a list
  Value kind_name;
  ReflectorStatus status{};

  Phase phase = Phase::Idle;
  std::uint64_t last_id = 0;
  std::uint64_t current = 0;  // the request under way; 0: none
  // Listing
  std::size_t listed = 0;  // objects so far
  bool first_part = true;
  int expired_chunks = 0;
  bool list_again = false;
  // Watching
  std::string version{};  // of the last event or bookmark; empty: to be listed
  Instant watch_began{};
  Instant last_byte{};
  bool delivered = false;  // this watch has delivered something
  // Waiting
  Instant wait_until{};
  int failures = 0;
  bool refused = false;  // and the sink knows
  std::optional<Instant> forbidden_since{};
  int polls = 0;  // lists to come before the next watch
  bool fresh_connection = false;

  Duration random_between(Duration low, Duration high) {
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>((high - low).count(), 0));
    return low + Duration(static_cast<std::int64_t>(entropy.next() % (span + 1)));
  }

  void request(std::string path, bool watch, Effects& effects) {
    current = ++last_id;
    effects.emplace_back(Request{.id = current,
                                 .path = std::move(path),
                                 .watch = watch,
                                 .fresh_connection = std::exchange(fresh_connection, false)});
  }

  void drop_request(Effects& effects) {
    if (current != 0) {
      effects.emplace_back(Stop{.id = current});
      current = 0;
    }
    status.watching = false;
  }

  void start_list(Effects& effects) {
    phase = Phase::Listing;
    listed = 0;
    first_part = true;
    list_again = false;
    ++status.lists;
    ask_chunk("", effects);
  }

  void ask_chunk(const std::string& token, Effects& effects) {
    std::string path = collection;
    // Without a resourceVersion: the newest state, which never goes back behind what was seen.
    if (expired_chunks < kExpiredChunks) {
      path += fmt::format("?limit={}", options.chunk);
      if (!token.empty()) {
        path += "&continue=" + escape(token);
      }
      path += selectors;
    } else if (!selectors.empty()) {
      path += "?" + selectors.substr(1);
    }
    request(std::move(path), false, effects);
  }

  void start_watch(Instant now, Effects& effects) {
    phase = Phase::Watching;
    watch_began = last_byte = now;
    delivered = false;
    ++status.watches;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
        random_between(options.watch_min, options.watch_max));
    request(fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}"
                        "&timeoutSeconds={}{}",
                        collection, escape(version), seconds.count(), selectors),
            true, effects);
    effects.emplace_back(SetTimer{.when = now + options.idle});
  }

  void wait(Duration duration, Instant now, Effects& effects) {
    phase = Phase::Waiting;
    current = 0;
    status.watching = false;
    wait_until = now + duration;
    effects.emplace_back(SetTimer{.when = wait_until});
  }

  // 0.8 s to 1.6 s at first, 15 s to 30 s in the end.
  void back_off(std::optional<Duration> retry_after, Instant now, Effects& effects) {
    const int doublings = std::min(failures++, kMostDoublings);
    const Duration high = std::min(options.backoff_max, options.backoff_min * (2 << doublings));
    Duration pause = random_between(high / 2, high);
    if (retry_after) {
      pause = std::max(pause, *retry_after);
    }
    wait(pause, now, effects);
  }

  bool is_warming_up(const Error& error, Instant now) {
    if (error.code != 403 || !status.listed) {
      return false;
    }
    forbidden_since = forbidden_since.value_or(now);
    return now - *forbidden_since < kWarmUp;
  }

  void fail(const Error& error, std::optional<Duration> retry_after, Instant now,
            Effects& effects) {
    // A refusal stays what is known of the kind while later tries are not answered: readiness must
    // not fail for a kind that counts as seen.
    if (!refused || refused_for_good(error)) {
      status.last_error = error;
    }
    if (!refused_for_good(error) || is_warming_up(error, now)) {
      back_off(retry_after, now, effects);
      return;
    }
    version.clear();
    if (!std::exchange(refused, true)) {
      KindList list;
      list.kind = scope.kind;
      list.error = error;
      effects.emplace_back(Deliver{.item = std::move(list)});
    }
    const bool slow = error.code == 404 && scope.absent_retry;
    wait(slow ? *scope.absent_retry
              : random_between(options.refused_retry, options.refused_retry * 3 / 2),
         now, effects);
  }

  // Who asked for a list is not served by the watch from before it.
  void fail_to_list(const Error& error, std::optional<Duration> retry_after, Instant now,
                    Effects& effects) {
    list_again = true;
    fail(error, retry_after, now, effects);
  }

  // What the timer or a failure left to do: to watch on, or to list.
  void go_on(Instant now, Effects& effects) {
    if (version.empty() || list_again) {
      start_list(effects);
    } else {
      start_watch(now, effects);
    }
  }

  // ---- inputs
  void on(Answer answer, Instant now, Effects& effects) {
    if (answer.id == 0 || answer.id != current) {
      return;
    }
    current = 0;
    if (phase == Phase::Listing) {
      on_list(std::move(answer), now, effects);
    } else {
      on_watch_end(answer, now, effects);
    }
  }

  void on_list(Answer answer, Instant now, Effects& effects) {
    if (answer.error) {
      if (is_gone(*answer.error) && expired_chunks < kExpiredChunks) {
        ++expired_chunks;  // the continue token: its version is no longer kept
        start_list(effects);
      } else {
        fail_to_list(*answer.error, answer.retry_after, now, effects);
      }
      return;
    }
    const Value& metadata = answer.body["metadata"];
    const std::string list_version = metadata["resourceVersion"].str();
    if (list_version.empty()) {
      fail_to_list(Error::internal(fmt::format("the answer to {} is no list", collection)), {}, now,
                   effects);
      return;
    }
    const std::string token = metadata["continue"].str();
    KindList list{.kind = scope.kind,
                  .version = version_number(list_version),
                  .first = std::exchange(first_part, false),
                  .last = token.empty(),
                  .early = list_again && polls == 0};
    const Value& items = answer.body["items"];
    list.objects.reserve(items.size());
    for (const Value& item : items.items()) {
      const bool share = listed++ < options.shared;
      list.objects.emplace_back(slim(typed(item), share));
    }
    effects.emplace_back(Deliver{.item = std::move(list)});
    if (!token.empty()) {
      ask_chunk(token, effects);
      return;
    }
    version = status.version = list_version;
    expired_chunks = 0;
    refused = false;
    status.listed = true;
    status.last_error.reset();
    if (polls > 0) {
      --polls;
      version.clear();
      wait(kPoll, now, effects);
      return;
    }
    go_on(now, effects);
  }

  // A list's items say neither version nor kind. Made anew rather than added to: exactly as large
  // as it must be, since it is kept.
  [[nodiscard]] Value typed(const Value& item) const {
    std::vector<Member> members;
    members.reserve(item.size() + 2);
    members.emplace_back("apiVersion", api_version);
    members.emplace_back("kind", kind_name);
    for (const Member& member : item.members()) {
      if (member.key() != "apiVersion" && member.key() != "kind") {
        members.push_back(member);
      }
    }
    return Value::object(std::move(members));
  }

  // Of what is kept.
  [[nodiscard]] Value slim(Value object, bool share) const {
    if (scope.trim) {
      scope.trim(object);
    }
    return options.interner == nullptr || !share ? object : options.interner->intern(object, {});
  }

  void on_watch_end(const Answer& answer, Instant now, Effects& effects) {
    status.watching = false;
    if (now - watch_began >= kLongWatch) {
      failures = 0;
    }
    if (answer.error && is_gone(*answer.error)) {
      gone(now, effects);
    } else if (answer.error && answer.error->code == 403 && !is_warming_up(*answer.error, now)) {
      status.last_error = answer.error;
      version.clear();
      polls = kPolls;
      forbidden_since.reset();
      wait(kPoll, now, effects);
    } else if (answer.error) {
      fail(*answer.error, answer.retry_after, now, effects);
    } else if (!delivered && now - watch_began < kShortWatch) {
      fail(Error::unavailable(fmt::format("the watch of {} was closed at once", collection)), {},
           now, effects);
    } else {
      start_watch(now, effects);
    }
  }

  // The version is too old to go on from: all is to be listed. Not in a loop, when even a fresh
  // list's version is too old.
  void gone(Instant now, Effects& effects) {
    version.clear();
    if (!delivered && now - watch_began < kShortWatch && ++failures > 1) {
      back_off({}, now, effects);
    } else {
      start_list(effects);
    }
  }

  void on(const Opened& opened, Instant now, Effects& /*effects*/) {
    if (opened.id == current && phase == Phase::Watching) {
      status.watching = true;
      status.last_error.reset();
      forbidden_since.reset();
      last_byte = now;
    }
  }

  void on(Line line, Instant now, Effects& effects) {
    if (line.id != current || phase != Phase::Watching) {
      return;
    }
    last_byte = now;
    const Value& body = line.event["object"];
    const std::string_view type = line.event["type"].as_string();
    if (type == "ERROR") {
      on_error_event(body, now, effects);
      return;
    }
    KindEvent event;
    event.kind = scope.kind;
    if (type == "BOOKMARK") {
      event.type = KindEvent::Type::Bookmark;
    } else if (type == "DELETED") {
      event.type = KindEvent::Type::Deleted;
    } else if (type != "ADDED" && type != "MODIFIED") {
      return;
    }
    const std::string_view at = body["metadata"]["resourceVersion"].as_string();
    if (at.empty()) {
      return;
    }
    version = status.version = std::string(at);
    delivered = true;
    failures = 0;
    ++status.events;
    Value object = body;
    line.event = {};  // so that trimming need not copy
    if (event.type != KindEvent::Type::Bookmark) {
      object = slim(std::move(object), /*share=*/true);
    }
    event.object = Object(std::move(object));
    effects.emplace_back(Deliver{.item = std::move(event)});
  }

  void on_error_event(const Value& body, Instant now, Effects& effects) {
    const Error error{.code = static_cast<int>(body["code"].as_int(500)),
                      .reason = body["reason"].str(),
                      .message = body["message"].str()};
    drop_request(effects);
    if (is_gone(error)) {
      gone(now, effects);
    } else {
      status.last_error = error;
      back_off({}, now, effects);
    }
  }

  void on(const Tick& /*tick*/, Instant now, Effects& effects) {
    switch (phase) {
      case Phase::Idle:
        start_list(effects);
        return;
      case Phase::Listing:
        return;
      case Phase::Watching:
        if (now - last_byte < options.idle) {
          effects.emplace_back(SetTimer{.when = last_byte + options.idle});
          return;
        }
        // Not even a bookmark: the connection may be dead without a word.
        drop_request(effects);
        fresh_connection = true;
        start_watch(now, effects);
        return;
      case Phase::Waiting:
        if (now < wait_until) {
          effects.emplace_back(SetTimer{.when = wait_until});
        } else {
          go_on(now, effects);
        }
        return;
    }
  }

  void on(const Relist& /*relist*/, Instant /*now*/, Effects& effects) {
    switch (phase) {
      case Phase::Idle:
        return;  // it will be listed anyway
      case Phase::Listing:
      case Phase::Waiting:
        list_again = true;  // what is under way may have begun too early
        return;
      case Phase::Watching:
        drop_request(effects);
        start_list(effects);
        return;
    }
  }
};

Reflector::Reflector(FeedScope scope, ReflectorOptions options, Entropy& entropy) {
  ATHANOR_CHECK(scope.kind != nullptr, "a scope names its kind");
  impl_ = std::make_unique<Impl>(std::move(scope), options, entropy);
}
Reflector::~Reflector() = default;
Reflector::Reflector(Reflector&&) noexcept = default;
Reflector& Reflector::operator=(Reflector&&) noexcept = default;

void Reflector::feed(Input input, Instant now, std::vector<Effect>& effects) {
  std::visit([&](auto& what) { impl_->on(std::move(what), now, effects); }, input);
}

const FeedScope& Reflector::scope() const {
  return impl_->scope;
}

const ReflectorStatus& Reflector::status() const {
  return impl_->status;
}

}  // namespace athanor::client
