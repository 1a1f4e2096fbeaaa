// SPDX-License-Identifier: Apache-2.0
#include "cel/values/val.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <set>

#include "base/utf8.hpp"
#include "cel/values/meter.hpp"

namespace athanor::cel {
namespace {

class VectorList final : public ListNode {
 public:
  explicit VectorList(std::vector<Val> items) : items_(std::move(items)) {}
  [[nodiscard]] std::size_t size() const override { return items_.size(); }
  [[nodiscard]] Val at(std::size_t index) const override { return items_[index]; }

 private:
  std::vector<Val> items_;
};

// Every key is_key().
class VectorMap final : public MapNode {
 public:
  explicit VectorMap(std::vector<std::pair<Val, Val>> entries) : entries_(std::move(entries)) {
    order_.reserve(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      order_.push_back(i);
    }
    std::ranges::sort(order_, KeyLess(),
                      [this](std::size_t i) -> const Val& { return entries_[i].first; });
  }
  [[nodiscard]] std::size_t size() const override { return entries_.size(); }
  [[nodiscard]] std::optional<Val> find(const Val& key) const override {
    if (!is_key(key)) {
      return std::nullopt;
    }
    const auto at = std::ranges::lower_bound(
        order_, key, KeyLess(), [this](std::size_t i) -> const Val& { return entries_[i].first; });
    return at == order_.end() || KeyLess()(key, entries_[*at].first)
               ? std::nullopt
               : std::optional<Val>(entries_[*at].second);
  }
  [[nodiscard]] bool numbered() const override { return true; }
  [[nodiscard]] Val key_at(std::size_t index) const override { return entries_[index].first; }
  [[nodiscard]] std::vector<Val> keys() const override {
    std::vector<Val> keys;
    keys.reserve(entries_.size());
    for (const auto& entry : entries_) {
      keys.push_back(entry.first);
    }
    return keys;
  }

 private:
  std::vector<std::pair<Val, Val>> entries_;
  std::vector<std::size_t> order_{};  // of the keys
};

struct OptionalNode final : Node {
  explicit OptionalNode(Val content) : value(std::move(content)) {}
  Val value;
};

bool is_number(const Val& value) {
  return value.is(Val::Kind::Int) || value.is(Val::Kind::Uint) || value.is(Val::Kind::Double);
}

int sign_of(std::strong_ordering order) {
  return std::is_lt(order) ? -1 : std::is_gt(order) ? 1 : 0;
}

// Exactly, although a double has fewer digits than an int64.
std::optional<int> compare_double(double a, const Val& b) {
  if (std::isnan(a)) {
    return std::nullopt;
  }
  constexpr double kTwo63 = 9223372036854775808.0;
  if (b.is(Val::Kind::Double)) {
    const double other = b.as_double();
    if (std::isnan(other)) {
      return std::nullopt;
    }
    return a < other ? -1 : a > other ? 1 : 0;
  }
  const bool is_signed = b.is(Val::Kind::Int);
  if (a >= (is_signed ? kTwo63 : 2 * kTwo63)) {
    return 1;
  }
  if (a < (is_signed ? -kTwo63 : 0.0)) {
    return -1;
  }
  const double whole = std::floor(a);
  const int by_whole = is_signed ? sign_of(static_cast<std::int64_t>(whole) <=> b.as_int())
                                 : sign_of(static_cast<std::uint64_t>(whole) <=> b.as_uint());
  return by_whole != 0 ? by_whole : (a > whole ? 1 : 0);
}

std::optional<int> compare_numbers(const Val& a, const Val& b) {
  using Kind = Val::Kind;
  if (a.is(Kind::Double)) {
    return compare_double(a.as_double(), b);
  }
  if (b.is(Kind::Double)) {
    const std::optional<int> turned = compare_double(b.as_double(), a);
    return turned ? std::optional<int>(-*turned) : std::nullopt;
  }
  if (a.kind() == b.kind()) {
    return a.is(Kind::Int) ? sign_of(a.as_int() <=> b.as_int())
                           : sign_of(a.as_uint() <=> b.as_uint());
  }
  if (a.is(Kind::Int)) {
    return a.as_int() < 0 ? -1 : sign_of(static_cast<std::uint64_t>(a.as_int()) <=> b.as_uint());
  }
  return b.as_int() < 0 ? 1 : sign_of(a.as_uint() <=> static_cast<std::uint64_t>(b.as_int()));
}

// The items of a list that can be keys in order, the others one after the other.
class Members {
 public:
  Members(const ListNode& list, Meter& meter) : meter_(meter) {
    for (std::size_t i = 0; i < list.size() && meter.tick(Meter::kItem); ++i) {
      add(list.at(i));
    }
  }
  void add(Val item) {
    if (is_key(item)) {
      keys_.insert(std::move(item));
    } else {
      others_.push_back(std::move(item));
    }
  }
  [[nodiscard]] bool contains(const Val& item) const {
    if (is_key(item)) {
      meter_.tick(Meter::kItem + item.text().size());
      return keys_.contains(item);
    }
    return std::ranges::any_of(
        others_, [&](const Val& other) { return equal(other, item, meter_) || meter_.over(); });
  }

 private:
  Meter& meter_;
  std::set<Val, KeyLess> keys_{};
  std::vector<Val> others_{};
};

bool contains_all(const ListNode& a, const ListNode& b, Meter& meter) {
  const Members members(b, meter);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!meter.tick(Meter::kItem) || !members.contains(a.at(i))) {
      return false;
    }
  }
  return true;
}

bool equal_lists(const ListNode& a, const ListNode& b, Meter& meter) {
  if (a.size() != b.size()) {
    return false;
  }
  const Type* declared = a.declared();
  if (declared != nullptr && declared->list_type != ListType::Atomic) {
    return contains_all(a, b, meter);
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (meter.over() || !equal(a.at(i), b.at(i), meter)) {
      return false;
    }
  }
  return true;
}

bool equal_maps(const MapNode& a, const MapNode& b, Meter& meter) {
  if (a.size() != b.size() || !meter.tick(a.size() * Meter::kItem)) {
    return false;
  }
  for (const Val& key : a.keys()) {
    const std::optional<Val> left = a.find(key);
    const std::optional<Val> right = b.find(key);
    if (!left || !right || meter.over() || !equal(*left, *right, meter)) {
      return false;
    }
  }
  return true;
}

int key_rank(const Val& key) {
  return key.is(Val::Kind::Bool) ? 0 : key.is(Val::Kind::String) ? 1 : 2;
}

bool same_keys(const Val& a, const Val& b, const std::vector<std::string>& names, Meter& meter) {
  const MapNode* left = a.as_map();
  const MapNode* right = b.as_map();
  if (left == nullptr || right == nullptr) {
    return false;
  }
  return std::ranges::all_of(names, [&](const std::string& name) {
    const Val key = Val::string(name);
    const std::optional<Val> one = left->find(key);
    const std::optional<Val> other = right->find(key);
    return one && other ? equal(*one, *other, meter) : one.has_value() == other.has_value();
  });
}

}  // namespace

Val MapNode::key_at(std::size_t index) const {
  return keys()[index];
}

bool is_key(const Val& value) {
  return value.is(Val::Kind::Bool) || value.is(Val::Kind::String) || value.is(Val::Kind::Int) ||
         value.is(Val::Kind::Uint) ||
         (value.is(Val::Kind::Double) && !std::isnan(value.as_double()));
}

bool KeyLess::operator()(const Val& a, const Val& b) const {
  const int rank = key_rank(a);
  return rank != key_rank(b) ? rank < key_rank(b) : compare(a, b).value_or(0) < 0;
}

std::size_t own_bytes(const Val& value) {
  if (const ListNode* list = value.as_list()) {
    return list->size() * sizeof(Val);
  }
  if (const MapNode* map = value.as_map()) {
    return map->size() * 2 * sizeof(Val);
  }
  const OpaqueNode* opaque = value.as_opaque();
  return opaque != nullptr ? opaque->weight() : value.text().size();
}

Val Val::timestamp(std::int64_t seconds, std::int32_t nanoseconds) {
  Val value(Kind::Timestamp, seconds);
  value.nanoseconds_ = nanoseconds;
  return value;
}

Val Val::list(std::vector<Val> items) {
  return list(std::make_shared<VectorList>(std::move(items)));
}

Val Val::map(std::vector<std::pair<Val, Val>> entries) {
  return map(std::make_shared<VectorMap>(std::move(entries)));
}

Val Val::optional_of(Val value) {
  return {Kind::Optional, std::make_shared<OptionalNode>(std::move(value))};
}

const Val* Val::optional_value() const {
  if (kind_ != Kind::Optional || node_ == nullptr) {
    return nullptr;
  }
  return &static_cast<const OptionalNode&>(*node_).value;
}

std::string_view type_name(const Val& value) {
  switch (value.kind()) {
    case Val::Kind::Null:
      return "null_type";
    case Val::Kind::Bool:
      return "bool";
    case Val::Kind::Int:
      return "int";
    case Val::Kind::Uint:
      return "uint";
    case Val::Kind::Double:
      return "double";
    case Val::Kind::String:
      return "string";
    case Val::Kind::Bytes:
      return "bytes";
    case Val::Kind::Timestamp:
      return "google.protobuf.Timestamp";
    case Val::Kind::Duration:
      return "google.protobuf.Duration";
    case Val::Kind::Type:
      return "type";
    case Val::Kind::List:
      return "list";
    case Val::Kind::Map:
      return "map";
    case Val::Kind::Optional:
      return "optional_type";
    case Val::Kind::Opaque:
      return value.as_opaque()->type_name();
    case Val::Kind::Error:
      return "error";
  }
  return {};
}

bool equal(const Val& a, const Val& b, Meter& meter) {
  using Kind = Val::Kind;
  meter.tick(Meter::kItem);
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Kind::Null:
      return true;
    case Kind::Bool:
      return a.as_bool() == b.as_bool();
    case Kind::Int:
    case Kind::Uint:
    case Kind::Double:
      return compare_numbers(a, b) == 0;
    case Kind::String:
    case Kind::Bytes:
    case Kind::Type:
      return a.text().size() == b.text().size() && meter.tick(a.text().size()) &&
             a.text() == b.text();
    case Kind::Timestamp:
      return a.seconds() == b.seconds() && a.nanoseconds() == b.nanoseconds();
    case Kind::Duration:
      return a.as_int() == b.as_int();
    case Kind::List:
      return equal_lists(*a.as_list(), *b.as_list(), meter);
    case Kind::Map:
      return equal_maps(*a.as_map(), *b.as_map(), meter);
    case Kind::Optional: {
      const Val* left = a.optional_value();
      const Val* right = b.optional_value();
      return left != nullptr && right != nullptr ? equal(*left, *right, meter) : left == right;
    }
    case Kind::Opaque:
      meter.tick(a.as_opaque()->weight());
      return a.as_opaque()->type_name() == b.as_opaque()->type_name() &&
             a.as_opaque()->equals(*b.as_opaque());
    case Kind::Error:
      return false;
  }
  return false;
}

std::optional<int> compare(const Val& a, const Val& b) {
  using Kind = Val::Kind;
  if (is_number(a) && is_number(b)) {
    return compare_numbers(a, b);
  }
  if (a.kind() != b.kind()) {
    return std::nullopt;
  }
  if (a.is(Kind::String) || a.is(Kind::Bytes)) {
    const int order = a.text().compare(b.text());
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.is(Kind::Bool) || a.is(Kind::Duration)) {
    return sign_of(a.as_int() <=> b.as_int());
  }
  if (a.is(Kind::Timestamp)) {
    const int by_seconds = sign_of(a.seconds() <=> b.seconds());
    return by_seconds != 0 ? by_seconds : sign_of(a.nanoseconds() <=> b.nanoseconds());
  }
  return std::nullopt;
}

std::optional<std::size_t> size_of(const Val& value) {
  if (value.is(Val::Kind::String)) {
    return utf8::length(value.text());
  }
  if (value.is(Val::Kind::Bytes)) {
    return value.text().size();
  }
  if (const ListNode* list = value.as_list()) {
    return list->size();
  }
  if (const MapNode* map = value.as_map()) {
    return map->size();
  }
  return std::nullopt;
}

Val concatenate(const Val& a, const Val& b, Meter& meter) {
  const ListNode& left = *a.as_list();
  const ListNode& right = *b.as_list();
  if (!meter.room((left.size() + right.size()) * sizeof(Val))) {
    return {};
  }
  std::vector<Val> items;
  items.reserve(left.size() + right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    items.push_back(left.at(i));
  }
  const Type* declared = left.declared();
  const ListType kind = declared == nullptr ? ListType::Atomic : declared->list_type;
  if (kind == ListType::Set) {
    const Members own(left, meter);
    for (std::size_t i = 0; i < right.size() && meter.tick(Meter::kItem); ++i) {
      if (Val item = right.at(i); !own.contains(item)) {
        items.push_back(std::move(item));
      }
    }
    return Val::list(std::move(items));
  }
  const auto own = static_cast<std::ptrdiff_t>(items.size());
  for (std::size_t i = 0; i < right.size() && meter.tick(Meter::kItem); ++i) {
    Val item = right.at(i);
    const auto end = items.begin() + own;
    const auto twin =
        kind == ListType::Atomic ? end : std::find_if(items.begin(), end, [&](const Val& other) {
          return meter.over() || same_keys(other, item, declared->list_map_keys, meter);
        });
    if (twin == end) {
      items.push_back(std::move(item));
    } else {
      *twin = std::move(item);
    }
  }
  return Val::list(std::move(items));
}

}  // namespace athanor::cel
