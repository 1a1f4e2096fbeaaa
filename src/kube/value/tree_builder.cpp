// SPDX-License-Identifier: Apache-2.0
// Containers from parts, and the search for repeated keys.
#include "kube/value/tree_builder.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/check.hpp"
#include "kube/value/value_access.hpp"

namespace athanor {
namespace {

// Distinguishes most keys by length, first and last bytes; equal hashes are compared in full.
std::uint32_t quick_hash(std::string_view key) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  const std::size_t width = std::min<std::size_t>(key.size(), sizeof(head));
  if (width > 0) {
    std::memcpy(&head, key.data(), width);
    std::memcpy(&tail, key.data() + key.size() - width, width);
  }
  const std::uint64_t mixed =
      (head * 0x9e3779b97f4a7c15ULL) ^ ((tail + key.size()) * 0xc2b2ae3d27d4eb4fULL);
  return static_cast<std::uint32_t>(mixed >> 32);
}

// Up to here comparing all pairs of hashes is cheaper than sorting.
constexpr std::size_t kFewMembers = 32;

}  // namespace

void TreeBuilder::open_object() {
  frames_.push_back({.object = true, .base = members_.size()});
}

void TreeBuilder::open_list() {
  frames_.push_back({.object = false, .base = items_.size()});
}

void TreeBuilder::key(Value name, std::size_t offset) {
  marks_.push_back(
      {.hash = quick_hash(name.as_string()), .offset = static_cast<std::uint32_t>(offset)});
  members_.emplace_back(std::move(name), Value());
}

void TreeBuilder::add(Value item) {
  items_.push_back(std::move(item));
  ++frames_.back().items;
}

Value TreeBuilder::close_list() {
  const std::size_t base = frames_.back().base;
  Value list = ValueAccess::list_of(std::span(items_).subspan(base));
  items_.resize(base);
  frames_.pop_back();
  return list;
}

Value TreeBuilder::close_object() {
  const std::size_t base = frames_.back().base;
  if (any_repeat(base)) {
    drop_repeats(base);
  }
  Value object = ValueAccess::object_of_distinct(std::span(members_).subspan(base));
  members_.resize(base);
  marks_.resize(base);
  frames_.pop_back();
  return object;
}

bool TreeBuilder::any_repeat(std::size_t base) const {
  const std::size_t count = members_.size() - base;
  if (count > kFewMembers) {
    std::vector<std::string_view> keys;
    keys.reserve(count);
    for (const Member& member : std::span(members_).subspan(base)) {
      keys.push_back(member.key());
    }
    std::ranges::sort(keys);
    return std::ranges::adjacent_find(keys) != keys.end();
  }
  for (std::size_t i = base + 1; i < members_.size(); ++i) {
    for (std::size_t j = base; j < i; ++j) {
      if (marks_[i].hash == marks_[j].hash && members_[i].name == members_[j].name) {
        return true;
      }
    }
  }
  return false;
}

void TreeBuilder::drop_repeats(std::size_t base) {
  std::vector<Member> kept;
  kept.reserve(members_.size() - base);  // no reallocation: the table's keys point into it
  struct Place {
    std::size_t index = 0;  // in kept
    bool repeated = false;
  };
  std::unordered_map<std::string_view, Place> places;
  for (std::size_t i = base; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (const auto place = places.find(member.key()); place != places.end()) {
      if (!std::exchange(place->second.repeated, true)) {
        note_repeat(member, marks_[i].offset);
      }
      kept[place->second.index].value = std::move(member.value);
      continue;
    }
    kept.push_back(std::move(member));
    places.emplace(kept.back().key(), Place{.index = kept.size() - 1});
  }
  members_.resize(base);
  std::ranges::move(kept, std::back_inserter(members_));
}

void TreeBuilder::note_repeat(const Member& member, std::size_t offset) {
  if (budget_.spent()) {
    return;
  }
  std::string path = path_of(member);
  if (budget_.take(path.size())) {
    repeats_.push_back({.offset = offset, .path = std::move(path)});
  }
}

std::string TreeBuilder::path_of(const Member& member) const {
  std::string path;
  for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    if (!frame.object) {
      path += "[" + std::to_string(frame.items) + "]";
      continue;
    }
    // The member being read is the last one below the next object's members.
    const auto next = std::ranges::find(frames_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                        frames_.end(), true, &Frame::object);
    ATHANOR_CHECK(next != frames_.end(), "the innermost frame is an object");
    path += path.empty() ? "" : ".";
    path += members_[next->base - 1].key();
  }
  path += path.empty() ? "" : ".";
  path += member.key();
  return path;
}

std::vector<std::string> TreeBuilder::duplicates() const {
  std::vector<Repeat> sorted = repeats_;
  std::ranges::stable_sort(sorted, {}, &Repeat::offset);
  std::vector<std::string> paths;
  std::unordered_set<std::string_view> seen;
  for (const Repeat& repeat : sorted) {
    if (seen.insert(repeat.path).second) {
      paths.push_back(repeat.path);
    }
  }
  return paths;
}

}  // namespace athanor
