// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/patch_document.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/cancellation.hpp"

namespace athanor {
namespace {

// Items of a list's block when it is made; twice as many are split.
constexpr std::size_t kBlock = 512;

// An index into `size` items; negative ones count from the end, as the reference's library does.
std::optional<std::size_t> parse_index(std::string_view text, std::size_t size) {
  std::int64_t index = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, index);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) {
    return std::nullopt;
  }
  const std::int64_t from_start = index < 0 ? index + static_cast<std::int64_t>(size) : index;
  if (from_start < 0 || from_start >= static_cast<std::int64_t>(size)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(from_start);
}

}  // namespace

class PatchDocument::Place {
 public:
  explicit Place(Value value) : whole_(std::move(value)) {}
  Place(Place&&) noexcept = default;
  Place& operator=(Place&&) noexcept = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() = default;

  // A container has the type it was made with.
  [[nodiscard]] bool is_object() const { return whole_.is_object(); }
  [[nodiscard]] bool is_list() const { return whole_.is_list(); }

  // What is below is about to change.
  void touch() { stale_ = true; }

  Place* child(const std::string& token);
  // The value as it is now.
  const Value& value();
  bool equals(const Value& expected);

  // Of an object.
  void set(const std::string& name, Place place);
  // Of a list; false: no such index. `token` "-" is the end.
  bool insert(const std::string& token, Place place);
  bool replace(const std::string& token, Place place);
  // Of both; nullptr: there is none.
  std::unique_ptr<Place> cut(const std::string& token);

 private:
  using Block = std::vector<Place>;
  struct Entry;
  struct Parts;
  // A position in a list, as a block and a place within it.
  struct Spot {
    std::size_t block = 0;
    std::size_t offset = 0;
  };

  Parts& parts();
  Spot spot_of(std::size_t index);
  Value rebuilt();

  Value whole_;         // as it was when last asked for
  bool stale_ = false;  // parts_ differ from it
  std::unique_ptr<Parts> parts_{};
};

struct PatchDocument::Place::Entry {
  Value name{};
  Place place{Value()};
  bool erased = false;
};

struct PatchDocument::Place::Parts {
  std::deque<Entry> entries{};  // of an object; stay where they are, the keys below point into them
  std::unordered_map<std::string_view, Entry*> by_name{};
  std::vector<Block> blocks{};  // of a list; none is empty
  std::size_t items = 0;
};

PatchDocument::Place::Parts& PatchDocument::Place::parts() {
  if (parts_ != nullptr) {
    return *parts_;
  }
  parts_ = std::make_unique<Parts>();
  parts_->by_name.reserve(whole_.members().size());
  for (const Member& member : whole_.members()) {
    Entry& entry =
        parts_->entries.emplace_back(Entry{.name = member.name, .place = Place(member.value)});
    parts_->by_name.emplace(entry.name.as_string(), &entry);
  }
  parts_->items = whole_.items().size();
  for (const Value& item : whole_.items()) {
    give_up_if_cancelled();
    if (parts_->blocks.empty() || parts_->blocks.back().size() == kBlock) {
      parts_->blocks.emplace_back().reserve(kBlock);
    }
    parts_->blocks.back().emplace_back(item);
  }
  return *parts_;
}

// The end of the last block for an index behind all items.
PatchDocument::Place::Spot PatchDocument::Place::spot_of(std::size_t index) {
  const auto& blocks = parts().blocks;
  Spot spot{.offset = index};
  while (spot.block + 1 < blocks.size() && spot.offset >= blocks[spot.block].size()) {
    spot.offset -= blocks[spot.block].size();
    ++spot.block;
  }
  return spot;
}

PatchDocument::Place* PatchDocument::Place::child(const std::string& token) {
  if (is_object()) {
    const auto found = parts().by_name.find(token);
    return found == parts_->by_name.end() ? nullptr : &found->second->place;
  }
  const auto index = is_list() ? parse_index(token, parts().items) : std::nullopt;
  if (!index) {
    return nullptr;
  }
  const Spot spot = spot_of(*index);
  return &parts_->blocks[spot.block][spot.offset];
}

const Value& PatchDocument::Place::value() {
  if (std::exchange(stale_, false)) {
    whole_ = rebuilt();
  }
  return whole_;
}

Value PatchDocument::Place::rebuilt() {
  if (is_object()) {
    std::vector<Member> members;
    members.reserve(parts().by_name.size());
    for (Entry& entry : parts().entries) {
      give_up_if_cancelled();
      if (!entry.erased) {
        members.emplace_back(entry.name, entry.place.value());
      }
    }
    return Value::object(std::move(members));
  }
  std::vector<Value> items;
  items.reserve(parts().items);
  for (Block& block : parts().blocks) {
    give_up_if_cancelled();
    std::ranges::transform(block, std::back_inserter(items), &Place::value);
  }
  return Value::list(std::move(items));
}

// Different sizes are found at once, so that this takes no longer than `expected` is.
bool PatchDocument::Place::equals(const Value& expected) {
  if (!stale_) {
    return whole_ == expected;
  }
  give_up_if_cancelled();
  if (is_object()) {
    return expected.is_object() && expected.size() == parts().by_name.size() &&
           std::ranges::all_of(expected.members(), [this](const Member& member) {
             const auto found = parts().by_name.find(member.key());
             return found != parts().by_name.end() && found->second->place.equals(member.value);
           });
  }
  if (!expected.is_list() || expected.size() != parts().items) {
    return false;
  }
  auto next = expected.items().begin();
  return std::ranges::all_of(parts().blocks, [&next](Block& block) {
    return std::ranges::all_of(block, [&next](Place& place) { return place.equals(*next++); });
  });
}

void PatchDocument::Place::set(const std::string& name, Place place) {
  Parts& own = parts();
  if (const auto found = own.by_name.find(name); found != own.by_name.end()) {
    found->second->place = std::move(place);
    return;
  }
  Entry& entry = own.entries.emplace_back(Entry{.name = Value(name), .place = std::move(place)});
  own.by_name.emplace(entry.name.as_string(), &entry);
}

bool PatchDocument::Place::insert(const std::string& token, Place place) {
  Parts& own = parts();
  // One more place than there are items: the end.
  const auto index = token == "-" ? std::optional(own.items) : parse_index(token, own.items + 1);
  if (!index) {
    return false;
  }
  if (own.blocks.empty()) {
    own.blocks.emplace_back();
  }
  const Spot spot = spot_of(*index);
  Block& block = own.blocks[spot.block];
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(spot.offset), std::move(place));
  ++own.items;
  if (block.size() > 2 * kBlock) {
    const auto middle = block.begin() + static_cast<std::ptrdiff_t>(kBlock);
    Block rest(std::make_move_iterator(middle), std::make_move_iterator(block.end()));
    block.erase(middle, block.end());
    own.blocks.insert(own.blocks.begin() + static_cast<std::ptrdiff_t>(spot.block) + 1,
                      std::move(rest));
  }
  return true;
}

bool PatchDocument::Place::replace(const std::string& token, Place place) {
  Place* old = child(token);
  if (old == nullptr) {
    return false;
  }
  *old = std::move(place);
  return true;
}

std::unique_ptr<PatchDocument::Place> PatchDocument::Place::cut(const std::string& token) {
  Place* found = child(token);
  if (found == nullptr) {
    return nullptr;
  }
  auto taken = std::make_unique<Place>(std::move(*found));
  Parts& own = parts();
  if (is_object()) {
    const auto entry = own.by_name.find(token);
    Entry& gone = *entry->second;
    own.by_name.erase(entry);
    gone.erased = true;
    return taken;
  }
  const auto index = parse_index(token, own.items);
  const Spot spot = spot_of(index.value_or(0));
  Block& block = own.blocks[spot.block];
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(spot.offset));
  if (block.empty()) {
    own.blocks.erase(own.blocks.begin() + static_cast<std::ptrdiff_t>(spot.block));
  }
  --own.items;
  return taken;
}

PatchDocument::PatchDocument(const Value& document) : root_(std::make_unique<Place>(document)) {}

PatchDocument::~PatchDocument() = default;

PatchDocument::Place* PatchDocument::find(const Pointer& pointer, std::size_t count) {
  Place* place = root_.get();
  for (std::size_t i = 0; i < count && place != nullptr; ++i) {
    place = place->child(pointer[i]);
  }
  return place;
}

std::optional<Value> PatchDocument::value_at(const Pointer& pointer) {
  Place* place = find(pointer, pointer.size());
  return place == nullptr ? std::nullopt : std::optional(place->value());
}

bool PatchDocument::exists(const Pointer& pointer) {
  return find(pointer, pointer.size()) != nullptr;
}

bool PatchDocument::is_object(const Pointer& pointer) {
  const Place* place = find(pointer, pointer.size());
  return place != nullptr && place->is_object();
}

bool PatchDocument::equals(const Pointer& pointer, const Value& expected) {
  Place* place = find(pointer, pointer.size());
  return place != nullptr && place->equals(expected);
}

bool PatchDocument::put(const Pointer& pointer, std::unique_ptr<Place> place, bool insert) {
  if (pointer.empty()) {
    root_ = std::move(place);
    return true;
  }
  Place* parent = find_to_change(pointer);
  if (parent == nullptr) {
    return false;
  }
  const std::string& token = pointer.back();
  if (parent->is_object()) {
    parent->set(token, std::move(*place));
    return true;
  }
  return insert ? parent->insert(token, std::move(*place))
                : parent->replace(token, std::move(*place));
}

// All on the way will be another value.
PatchDocument::Place* PatchDocument::find_to_change(const Pointer& pointer) {
  Place* place = root_.get();
  for (std::size_t i = 0; i + 1 < pointer.size() && place != nullptr; ++i) {
    place->touch();
    place = place->child(pointer[i]);
  }
  if (place == nullptr || !(place->is_object() || place->is_list())) {
    return nullptr;
  }
  place->touch();
  return place;
}

std::unique_ptr<PatchDocument::Place> PatchDocument::cut(const Pointer& pointer) {
  if (pointer.empty()) {
    return std::exchange(root_, std::make_unique<Place>(Value()));
  }
  if (!exists(pointer)) {
    return nullptr;
  }
  Place* parent = find_to_change(pointer);
  return parent == nullptr ? nullptr : parent->cut(pointer.back());
}

bool PatchDocument::add(const Pointer& pointer, Value value) {
  return put(pointer, std::make_unique<Place>(std::move(value)), true);
}

bool PatchDocument::replace(const Pointer& pointer, Value value) {
  return put(pointer, std::make_unique<Place>(std::move(value)), false);
}

bool PatchDocument::remove(const Pointer& pointer) {
  return cut(pointer) != nullptr;
}

bool PatchDocument::move(const Pointer& from, const Pointer& to) {
  std::unique_ptr<Place> place = cut(from);
  return place != nullptr && put(to, std::move(place), true);
}

Value PatchDocument::take() {
  return root_->value();
}

}  // namespace athanor
