// SPDX-License-Identifier: Apache-2.0
// Rows of events: fixed-width little-endian numbers and texts with their lengths in front.
#include "embedded/store/history.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "kube/text/json.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor::store {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie");

template <class N>
void put_fixed(std::string& out, N number) {
  char bytes[sizeof(N)];
  std::memcpy(bytes, &number, sizeof(N));
  out.append(bytes, sizeof(N));
}

void put_text(std::string& out, std::string_view text) {
  put_fixed(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Appends JSON behind its length and says where it lies.
std::size_t put_json(std::string& out, const Value& value) {
  const std::size_t length_at = out.size();
  put_fixed(out, std::uint32_t{0});
  const std::size_t start = out.size();
  json::append(value, out);
  const auto length = static_cast<std::uint32_t>(out.size() - start);
  std::memcpy(out.data() + length_at, &length, sizeof(length));
  return start;
}

// Reads numbers and texts from the front; `broken` once they are not there.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <class N>
  N number() {
    N number{};
    if (rest_.size() < sizeof(N)) {
      broken_ = true;
      rest_ = {};
      return number;
    }
    std::memcpy(&number, rest_.data(), sizeof(N));
    rest_.remove_prefix(sizeof(N));
    return number;
  }
  std::string_view text() {
    const auto size = number<std::uint32_t>();
    if (rest_.size() < size) {
      broken_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  std::string_view rest_;
  bool broken_ = false;
};

Result<StoredPtr> read_state(std::string_view resource, const Key& key, Revision revision,
                             std::string_view body) {
  auto stored = std::make_shared<Stored>();
  stored->resource = resource;
  stored->key = key;
  stored->revision = revision;
  ATHANOR_TRY(stored->body, json::parse(body, {.max_depth = static_cast<int>(kMaxRowLevels)}));
  return StoredPtr(std::move(stored));
}

}  // namespace

void HistoryWriter::add(const Event& event, Revision begin) {
  const Revision before = event.previous == nullptr ? 0 : event.previous->revision;
  const bool carried = before != 0 && (before <= begin || before + kNear < event.revision);
  put_fixed(bytes_, static_cast<std::uint8_t>(event.type));
  put_fixed(bytes_, event.revision);
  put_fixed(bytes_, before);
  put_text(bytes_, event.object->resource);
  put_text(bytes_, event.object->key.ns);
  put_text(bytes_, event.object->key.name);
  const std::size_t start = put_json(bytes_, event.object->body);
  bodies_.push_back({.offset = start, .size = bytes_.size() - start});
  if (carried) {
    put_json(bytes_, event.previous->body);
  } else {
    put_text(bytes_, {});
  }
}

Result<void> HistoryReader::add(std::string_view row) {
  Cursor cursor(row);
  while (!cursor.done()) {
    const auto type = cursor.number<std::uint8_t>();
    const auto revision = cursor.number<Revision>();
    const auto before = cursor.number<Revision>();
    const std::string_view resource = cursor.text();
    const std::string_view ns = cursor.text();
    const std::string_view name = cursor.text();
    const std::string_view body = cursor.text();
    const std::string_view previous = cursor.text();
    if (cursor.broken() || type > static_cast<std::uint8_t>(Event::Type::Deleted)) {
      return Error::internal("a row of the history is damaged");
    }
    if (resource != resource_ || revision > until_) {
      continue;
    }
    const Key key{std::string(ns), std::string(name)};
    auto event = std::make_shared<Event>();
    event->type = static_cast<Event::Type>(type);
    event->revision = revision;
    ATHANOR_TRY(event->object, read_state(resource, key, revision, body));
    StoredPtr& state = states_[key];
    if (!previous.empty()) {
      ATHANOR_TRY(event->previous, read_state(resource, key, before, previous));
    } else if (before != 0) {
      event->previous = state;
    }
    state = event->object;
    if (revision <= after_) {
      continue;
    }
    if (before != 0 && (event->previous == nullptr || event->previous->revision != before)) {
      return Error::internal("the history has a gap");
    }
    events_.push_back(std::move(event));
  }
  return {};
}

void HistoryIndex::add(const Row& row) {
  rows_.push_back(row);
  events_ += row.events;
  bytes_ += row.bytes;
}

Revision HistoryIndex::prune(const HistoryLimits& limits, Instant now, std::size_t step) {
  // A reader from the first revision that is young enough starts kNear before it.
  const auto young = std::partition_point(
      rows_.begin(), rows_.end(), [&](const Row& row) { return row.time + limits.age < now; });
  const Revision old = young == rows_.begin() ? 0 : std::prev(young)->newest;
  Revision pruned = 0;
  std::size_t taken = 0;
  while (!rows_.empty() && taken < step) {
    const Row& oldest = rows_.front();
    const bool wanted =
        events_ - oldest.events < limits.events + kNear || oldest.newest + kNear > old;
    if (wanted && bytes_ <= limits.max_bytes) {
      break;
    }
    pruned = oldest.newest;
    taken += oldest.bytes;
    events_ -= oldest.events;
    bytes_ -= oldest.bytes;
    rows_.pop_front();
  }
  return pruned;
}

}  // namespace athanor::store
