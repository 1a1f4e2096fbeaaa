// SPDX-License-Identifier: Apache-2.0
// The 16 bytes of a Value and the nodes they point to; for value.cpp and value_edit.cpp only.
//
//   byte 15      the tag
//   byte 14      length of an inline string
//   bytes 0..13  an inline string; else bytes 0..7 hold the scalar or the node's address
//
// An empty list or object has no node. A node with one owner may be changed, any other is cloned
// first.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "base/threads.hpp"
#include "kube/value/name_table.hpp"
#include "kube/value/value.hpp"

namespace athanor {

enum class Tag : std::uint8_t {
  Null,
  Bool,
  Int,
  Uint,
  Double,
  InlineString,
  HeapString,
  List,
  Object
};

static_assert(static_cast<int>(Tag::InlineString) == static_cast<int>(Value::Type::String) &&
                  static_cast<int>(Tag::Object) == static_cast<int>(Value::Type::Object) + 1,
              "Value::type() relies on it");

// How many handles a node has. While the process has one thread nothing can come between reading
// and writing the number: locked instructions were a twentieth of a simulation.
class References {
 public:
  void add() noexcept {
    if (is_only_thread()) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Drops one handle; returns true if it was the last.
  [[nodiscard]] bool drop() noexcept {
    if (is_only_thread()) {
      const std::uint32_t left = count_.load(std::memory_order_relaxed) - 1;
      count_.store(left, std::memory_order_relaxed);
      return left == 0;
    }
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  [[nodiscard]] bool several() const noexcept { return count_.load(std::memory_order_acquire) > 1; }

 private:
  std::atomic<std::uint32_t> count_{1};
};

// A reference-counted block: this header, then `capacity` elements of which `size` are alive, then
// the name table of an object that may become wide.
template <class T>
class Node {
 public:
  // Takes the elements of `source` by moving them. nullptr for no capacity.
  static Node* make(std::span<T> source, std::size_t capacity) {
    if (capacity == 0) {
      return nullptr;
    }
    Node* node = allocate(capacity);
    std::uninitialized_move(source.begin(), source.end(), node->data());
    node->size_ = static_cast<std::uint32_t>(source.size());
    return node;
  }
  // Copies (shares) the elements of `source`.
  static Node* make_copy(std::span<const T> source, std::size_t capacity) {
    Node* node = allocate(capacity);
    std::uninitialized_copy(source.begin(), source.end(), node->data());
    node->size_ = static_cast<std::uint32_t>(source.size());
    return node;
  }

  void retain() noexcept { references_.add(); }
  static void release(Node* node) noexcept {
    if (node->references_.drop()) {
      std::destroy_n(node->data(), node->size_);
      std::destroy_at(node);
      ::operator delete(static_cast<void*>(node));
    }
  }

  [[nodiscard]] bool shared() const noexcept { return references_.several(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof(Node) + capacity_ * sizeof(T) + table_bytes(capacity_);
  }
  [[nodiscard]] std::span<const T> elements() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<T> elements() noexcept { return {data(), size_}; }

  // Appends an element; the caller provides the space.
  void append(T element) {
    std::construct_at(data() + size_, std::move(element));
    ++size_;
    if (searches_.load(std::memory_order_relaxed) == NameTable::kBuilt) {
      table().add(size_ - 1, names());
    }
  }
  void insert(std::size_t index, T element) {
    searches_.store(0, std::memory_order_relaxed);
    append(std::move(element));
    std::rotate(data() + index, data() + size_ - 1, data() + size_);
  }
  void erase(std::size_t index) {
    searches_.store(0, std::memory_order_relaxed);
    std::move(data() + index + 1, data() + size_, data() + index);
    --size_;
    std::destroy_at(data() + size_);
  }
  // Returns the index of the member of that name in an object of NameTable::kWide members or more;
  // size() if there is none. The first searches look at each member, then one builds the table:
  // other threads may search meanwhile.
  [[nodiscard]] std::size_t find(std::string_view key) const noexcept
    requires std::same_as<T, Member>
  {
    std::uint32_t state = searches_.load(std::memory_order_acquire);
    if (state < NameTable::kFewSearches) {
      searches_.compare_exchange_strong(state, state + 1, std::memory_order_relaxed);
    } else if (state == NameTable::kFewSearches &&
               searches_.compare_exchange_strong(state, NameTable::kBuilding,
                                                 std::memory_order_acquire)) {
      table().build(names());
      searches_.store(NameTable::kBuilt, std::memory_order_release);
      state = NameTable::kBuilt;
    }
    if (state == NameTable::kBuilt) {
      return table().find(key, names());
    }
    const auto all = elements();
    const auto found = std::ranges::find(all, key, &Member::key);
    return static_cast<std::size_t>(found - all.begin());
  }

 private:
  explicit Node(std::uint32_t capacity) : capacity_(capacity) {}
  static std::size_t table_bytes(std::size_t capacity) noexcept {
    return std::same_as<T, Member> ? NameTable::slots_for(capacity) * sizeof(std::uint32_t) : 0;
  }
  [[nodiscard]] NameTable table() const noexcept {
    const auto* end = reinterpret_cast<const unsigned char*>(this + 1) + capacity_ * sizeof(T);
    return {reinterpret_cast<std::uint32_t*>(const_cast<unsigned char*>(end)),
            NameTable::slots_for(capacity_)};
  }
  [[nodiscard]] std::span<const Member> names() const noexcept {
    if constexpr (std::same_as<T, Member>) {
      return elements();
    } else {
      return {};
    }
  }
  static Node* allocate(std::size_t capacity) {
    ATHANOR_CHECK(capacity <= 0x7fff'ffff, "request limits keep documents far below 2^31 elements");
    void* memory = ::operator new(sizeof(Node) + capacity * sizeof(T) + table_bytes(capacity));
    return ::new (memory) Node(static_cast<std::uint32_t>(capacity));
  }
  T* data() noexcept { return std::launder(reinterpret_cast<T*>(this + 1)); }
  const T* data() const noexcept { return std::launder(reinterpret_cast<const T*>(this + 1)); }

  References references_{};
  std::uint32_t size_ = 0;
  std::uint32_t capacity_;
  // NameTable's states; the elements start 16 bytes in, aligned for Value.
  mutable std::atomic<std::uint32_t> searches_{0};
};

using ListNode = Node<Value>;
using ObjectNode = Node<Member>;

class StringNode {
 public:
  static StringNode* make(std::string_view text) {
    ATHANOR_CHECK(text.size() <= 0x7fff'ffff, "request limits keep strings far below 2^31 bytes");
    void* memory = ::operator new(sizeof(StringNode) + text.size());
    auto* node = ::new (memory) StringNode(static_cast<std::uint32_t>(text.size()));
    std::memcpy(static_cast<void*>(node + 1), text.data(), text.size());
    return node;
  }
  void retain() noexcept { references_.add(); }
  [[nodiscard]] bool shared() const noexcept { return references_.several(); }
  static void release(StringNode* node) noexcept {
    if (node->references_.drop()) {
      std::destroy_at(node);
      ::operator delete(static_cast<void*>(node));
    }
  }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), size_};
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return sizeof(StringNode) + size_; }

 private:
  explicit StringNode(std::uint32_t size) : size_(size) {}
  References references_{};
  std::uint32_t size_;
};

// Typed access to the bytes of one Value. Bytes are copied in and out: no aliasing, no alignment.
class Raw {
 public:
  explicit Raw(const Value& value) noexcept
      : bytes_(reinterpret_cast<unsigned char*>(const_cast<Value*>(&value))) {}

  [[nodiscard]] Tag tag() const noexcept { return static_cast<Tag>(bytes_[15]); }
  [[nodiscard]] std::uint64_t word() const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_, sizeof(word));
    return word;
  }
  [[nodiscard]] double number() const noexcept {
    double number = 0;
    std::memcpy(&number, bytes_, sizeof(number));
    return number;
  }
  template <class N>
  [[nodiscard]] N* node() const noexcept {
    N* node = nullptr;
    std::memcpy(&node, bytes_, sizeof(void*));
    return node;
  }
  // Returns the text; empty when not a string.
  [[nodiscard]] std::string_view text() const noexcept {
    if (tag() == Tag::InlineString) {
      return {reinterpret_cast<const char*>(bytes_), bytes_[14]};
    }
    return tag() == Tag::HeapString ? node<StringNode>()->text() : std::string_view();
  }

  // Requires, like all below, zero bytes or an old node that was taken over.
  void set(Tag tag, std::uint64_t word) noexcept {
    std::memcpy(bytes_, &word, sizeof(word));
    bytes_[15] = static_cast<unsigned char>(tag);
  }
  template <class N>
  void set_node(Tag tag, N* node) noexcept {
    std::memcpy(bytes_, &node, sizeof(void*));
    bytes_[15] = static_cast<unsigned char>(tag);
  }

  void retain() noexcept {
    if (tag() < Tag::HeapString) {
      return;
    }
    if (tag() == Tag::HeapString) {
      node<StringNode>()->retain();
    } else if (tag() == Tag::List) {
      retain_node(node<ListNode>());
    } else {
      retain_node(node<ObjectNode>());
    }
  }
  void release() noexcept {
    if (tag() < Tag::HeapString) {
      return;
    }
    if (tag() == Tag::HeapString) {
      StringNode::release(node<StringNode>());
    } else if (tag() == Tag::List) {
      release_node(node<ListNode>());
    } else {
      release_node(node<ObjectNode>());
    }
  }

 private:
  template <class N>
  static void retain_node(N* node) noexcept {
    if (node != nullptr) {
      node->retain();
    }
  }
  template <class N>
  static void release_node(N* node) noexcept {
    if (node != nullptr) {
      N::release(node);
    }
  }

  unsigned char* bytes_;
};

}  // namespace athanor
