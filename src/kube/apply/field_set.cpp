// SPDX-License-Identifier: Apache-2.0
// FieldSet: the trie and its set operations. Path elements: path_element.cpp, fieldsV1:
// fields_v1.cpp.
#include "kube/apply/field_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace athanor {

FieldSet::FieldSet() = default;
FieldSet::FieldSet(const FieldSet& other) = default;
FieldSet::FieldSet(FieldSet&& other) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet& other) = default;
FieldSet& FieldSet::operator=(FieldSet&& other) noexcept = default;
FieldSet::~FieldSet() = default;

namespace {

bool before(const FieldSet::Entry& entry, std::string_view element) {
  return path_element::compare(entry.element.as_string(), element) < 0;
}

void collect_paths(const FieldSet& set, const std::string& prefix, std::vector<std::string>& out) {
  for (const FieldSet::Entry& entry : set.entries()) {
    if (entry.member) {
      out.push_back(prefix + path_element::text(entry.element.as_string()));
    }
  }
  for (const FieldSet::Entry& entry : set.entries()) {
    if (!entry.children.empty()) {
      collect_paths(entry.children, prefix + path_element::text(entry.element.as_string()), out);
    }
  }
}

}  // namespace

bool FieldSet::empty() const {
  return entries_.empty();
}

std::size_t FieldSet::count() const {
  std::size_t total = 0;
  for (const FieldSet::Entry& entry : entries_) {
    total += (entry.member ? 1U : 0U) + entry.children.count();
  }
  return total;
}

bool FieldSet::has(std::span<const Value> path) const {
  if (path.empty()) {
    return false;
  }
  const FieldSet::Entry* entry = find(path.front().as_string());
  if (entry == nullptr) {
    return false;
  }
  return path.size() == 1 ? entry->member : entry->children.has(path.subspan(1));
}

std::span<const FieldSet::Entry> FieldSet::entries() const {
  return entries_;
}

const FieldSet::Entry* FieldSet::find(std::string_view element) const {
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), element, before);
  return place != entries_.end() && place->element.as_string() == element ? &*place : nullptr;
}

FieldSet::Entry& FieldSet::at(Value element) {
  const std::string_view text = element.as_string();
  // Most sets are built in order.
  const auto place = entries_.empty() || before(entries_.back(), text)
                         ? entries_.end()
                         : std::lower_bound(entries_.begin(), entries_.end(), text, before);
  if (place != entries_.end() && place->element.as_string() == text) {
    return *place;
  }
  return *entries_.insert(place, FieldSet::Entry{.element = std::move(element)});
}

void FieldSet::insert(Value element) {
  at(std::move(element)).member = true;
}

void FieldSet::insert(std::span<const Value> path) {
  if (path.empty()) {
    return;
  }
  FieldSet::Entry& entry = at(path.front());
  if (path.size() == 1) {
    entry.member = true;
  } else {
    entry.children.insert(path.subspan(1));
  }
}

void FieldSet::add_below(Value element, FieldSet children) {
  if (children.empty()) {
    return;
  }
  FieldSet::Entry& entry = at(std::move(element));
  entry.children = entry.children.empty() ? std::move(children) : entry.children.united(children);
}

FieldSet FieldSet::united(const FieldSet& other) const {
  if (other.empty()) {
    return *this;
  }
  if (empty()) {
    return other;
  }
  FieldSet result;
  result.entries_.reserve(std::max(entries_.size(), other.entries_.size()));
  auto a = entries_.begin();
  auto b = other.entries_.begin();
  while (a != entries_.end() && b != other.entries_.end()) {
    const int order = path_element::compare(a->element.as_string(), b->element.as_string());
    if (order < 0) {
      result.entries_.push_back(*a++);
    } else if (order > 0) {
      result.entries_.push_back(*b++);
    } else {
      result.entries_.push_back({.element = a->element,
                                 .member = a->member || b->member,
                                 .children = a->children.united(b->children)});
      ++a;
      ++b;
    }
  }
  result.entries_.insert(result.entries_.end(), a, entries_.end());
  result.entries_.insert(result.entries_.end(), b, other.entries_.end());
  return result;
}

FieldSet FieldSet::intersected(const FieldSet& other) const {
  FieldSet result;
  for (const FieldSet::Entry& entry : entries_) {
    const FieldSet::Entry* same = other.find(entry.element.as_string());
    if (same == nullptr) {
      continue;
    }
    FieldSet::Entry both{.element = entry.element,
                         .member = entry.member && same->member,
                         .children = entry.children.intersected(same->children)};
    if (both.member || !both.children.empty()) {
      result.entries_.push_back(std::move(both));
    }
  }
  return result;
}

FieldSet FieldSet::minus(const FieldSet& other) const {
  if (other.empty()) {
    return *this;
  }
  FieldSet result;
  for (const FieldSet::Entry& entry : entries_) {
    const FieldSet::Entry* same = other.find(entry.element.as_string());
    if (same == nullptr) {
      result.entries_.push_back(entry);
      continue;
    }
    FieldSet::Entry left{.element = entry.element,
                         .member = entry.member && !same->member,
                         .children = entry.children.minus(same->children)};
    if (left.member || !left.children.empty()) {
      result.entries_.push_back(std::move(left));
    }
  }
  return result;
}

FieldSet FieldSet::minus_subtrees(const FieldSet& other) const {
  if (other.empty()) {
    return *this;
  }
  FieldSet result;
  for (const FieldSet::Entry& entry : entries_) {
    const FieldSet::Entry* same = other.find(entry.element.as_string());
    if (same == nullptr) {
      result.entries_.push_back(entry);
      continue;
    }
    if (same->member) {
      continue;
    }
    FieldSet::Entry left{.element = entry.element,
                         .member = entry.member,
                         .children = entry.children.minus_subtrees(same->children)};
    if (left.member || !left.children.empty()) {
      result.entries_.push_back(std::move(left));
    }
  }
  return result;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  collect_paths(*this, "", out);
  return out;
}

bool operator==(const FieldSet& a, const FieldSet& b) {
  return std::equal(a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
                    [](const FieldSet::Entry& x, const FieldSet::Entry& y) {
                      return x.member == y.member && x.element == y.element &&
                             x.children == y.children;
                    });
}

}  // namespace athanor
