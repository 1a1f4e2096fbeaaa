// SPDX-License-Identifier: Apache-2.0
// Value: the one in-memory form of every Kubernetes object and of every JSON and YAML document.
//
// A Value is 16 bytes with value semantics: copying shares (atomic reference count), changing a
// shared node first clones that node alone, so an edited object shares every untouched subtree with
// the original. Reading one Value from several threads is safe; changing one handle is for one
// thread. Strings up to 14 bytes live inline. Objects keep insertion order and compare without
// regard to it. Integers keep int64/uint64 exactly; Int, Uint and integral Double compare by
// number.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace athanor {

struct Member;

class Value {
 public:
  enum class Type : std::uint8_t { Null, Bool, Int, Uint, Double, String, List, Object };
  using Path = std::initializer_list<std::string_view>;

  // Moves and drops inline: containers of Values do little else.
  constexpr Value() noexcept : storage_{} {}
  Value(const Value& other) noexcept {
    std::memcpy(storage_, other.storage_, sizeof(storage_));
    if (has_node()) {
      retain();
    }
  }
  Value(Value&& other) noexcept { take(other); }
  Value& operator=(const Value& other) noexcept {
    Value copy(other);
    return *this = std::move(copy);
  }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      const Value old(std::move(*this));  // dropped last: it may own `other`
      take(other);
    }
    return *this;
  }
  ~Value() {
    if (has_node()) {
      release();
    }
  }

  // Literals read as values: Value v = "text"; v = 3; v = true.
  // NOLINTBEGIN(google-explicit-constructor): see above
  Value(std::nullptr_t) noexcept : Value() {}
  Value(bool flag) noexcept;
  Value(double number) noexcept;
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(std::string_view text);
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Value(I number) noexcept : Value(make_integer(number)) {}
  // Ends the exemption: NOLINTEND(google-explicit-constructor)

  // Makes an object: Value::object({{"kind", "Pod"}, {"spec", Value::object({})}}); of a repeated
  // key the last one wins.
  static Value object(std::initializer_list<Member> members = {});
  static Value object(std::vector<Member> members);
  static Value list(std::initializer_list<Value> items = {});
  static Value list(std::vector<Value> items);

  [[nodiscard]] Type type() const noexcept {
    const int tag = storage_[kTagByte];
    return static_cast<Type>(tag > kInlineStringTag ? tag - 1 : tag);
  }
  [[nodiscard]] bool is_null() const noexcept { return type() == Type::Null; }
  [[nodiscard]] bool is_bool() const noexcept { return type() == Type::Bool; }
  [[nodiscard]] bool is_integer() const noexcept {
    return type() == Type::Int || type() == Type::Uint;
  }
  [[nodiscard]] bool is_number() const noexcept { return is_integer() || type() == Type::Double; }
  [[nodiscard]] bool is_string() const noexcept { return type() == Type::String; }
  [[nodiscard]] bool is_list() const noexcept { return type() == Type::List; }
  [[nodiscard]] bool is_object() const noexcept { return type() == Type::Object; }

  // Returns the scalar, or the fallback when the type differs (a Double with an integral value
  // counts as integer).
  [[nodiscard]] bool as_bool(bool fallback = false) const noexcept;
  [[nodiscard]] std::int64_t as_int(std::int64_t fallback = 0) const noexcept;
  [[nodiscard]] std::uint64_t as_uint(
      std::uint64_t fallback = 0) const noexcept;  // fallback below zero, too
  [[nodiscard]] double as_double(double fallback = 0) const noexcept;
  // Returns the text, valid until this handle is changed or destroyed; empty when not a string.
  [[nodiscard]] std::string_view as_string() const noexcept {
    return storage_[kTagByte] == kInlineStringTag
               ? std::string_view(reinterpret_cast<const char*>(storage_), storage_[kTagByte - 1])
               : heap_text();
  }
  [[nodiscard]] std::string str() const { return std::string(as_string()); }

  // Returns the number of members or items; 0 for everything else.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  // Returns the members (items() the items); empty unless an object (a list).
  [[nodiscard]] std::span<const Member> members() const& noexcept;
  [[nodiscard]] std::span<const Value> items() const& noexcept;
  // Prevents spans into temporaries, which would dangle: `for (... : f().items())`.
  std::span<const Member> members() const&& = delete;
  std::span<const Value> items() const&& = delete;

  // Returns the member or item, nullptr when absent. O(members).
  [[nodiscard]] const Value* find(std::string_view key) const noexcept;
  [[nodiscard]] bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  // Returns the member, item or nested member; Null when any step is absent. Never fails.
  const Value& operator[](std::string_view key) const noexcept;
  const Value& operator[](std::size_t index) const noexcept;
  const Value& operator[](int index) const noexcept {
    return (*this)[static_cast<std::size_t>(index)];
  }
  // Looks up a literal: the compiler does all but the search itself.
  template <std::size_t N>
  const Value& operator[](const char (&key)[N]) const noexcept {
    const std::string_view name(key, N - 1);
    if constexpr (N <= kInlineBytes + 1) {
      return with_name(ShortText::of(name));
    } else {
      return (*this)[name];
    }
  }
  [[nodiscard]] const Value& at(Path path) const noexcept;
  [[nodiscard]] const Value& at(std::span<const std::string> path) const noexcept;

  // Changes this handle alone. Null becomes an object (list) on first use; any other type: a broken
  // invariant.
  Value& set(std::string_view key, Value value);  // returns *this
  Value& set_path(Path path, Value value);        // makes the objects on the way; returns *this
  bool erase(std::string_view key);
  bool erase_path(Path path);
  Value& push_back(Value item);  // returns *this
  void insert_item(std::size_t index, Value item);
  void erase_item(std::size_t index);
  // Returns the member (made Null when absent) or item, to be changed in place; valid until the
  // next change of this handle.
  Value& member(std::string_view key);
  Value& item(std::size_t index);

  // Returns true if both share one node: a cheap "certainly equal".
  [[nodiscard]] bool identical(const Value& other) const noexcept {
    return ShortText::in(*this) == ShortText::in(other);
  }
  // Compares. NaN differs from NaN, but a list with one equals itself: not worth the walk.
  friend bool operator==(const Value& a, const Value& b) noexcept {
    return (a.identical(b) && a.type() != Type::Double) || equal(a, b);
  }

  // Returns the heap bytes reachable from here; shared nodes count per reference (an upper bound).
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

 private:
  friend struct ValueAccess;  // value.cpp and the parsers
  template <std::integral I>
  static Value make_integer(I number) noexcept {
    if constexpr (std::unsigned_integral<I>) {
      return from_uint(static_cast<std::uint64_t>(number));
    } else {
      return from_int(static_cast<std::int64_t>(number));
    }
  }
  static Value from_int(std::int64_t number) noexcept;
  static Value from_uint(std::uint64_t number) noexcept;  // Int when it fits

  // Tags are Type's enumerators, with inline and heap strings apart; from the latter on a node may
  // hang.
  static constexpr std::size_t kTagByte = 15;
  static constexpr int kInlineStringTag = 5;
  static constexpr std::size_t kInlineBytes = 14;
  [[nodiscard]] bool has_node() const noexcept { return storage_[kTagByte] > kInlineStringTag; }
  void retain() noexcept;
  void release() noexcept;
  [[nodiscard]] std::string_view heap_text() const noexcept;  // empty when there is none
  static bool equal(const Value& a, const Value& b) noexcept;
  // Expects nothing of its own bytes; leaves Null behind.
  void take(Value& other) noexcept {
    std::memcpy(storage_, other.storage_, sizeof(storage_));
    std::memset(other.storage_, 0, sizeof(storage_));
  }

  // The 16 bytes of a Value that holds a short text, as two numbers.
  struct ShortText {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    // Requires at most 14 bytes: no call, no loop over them.
    static ShortText of(std::string_view text) noexcept {
      static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
      const std::size_t size = text.size();
      const char* data = text.data();
      ShortText words;
      if (size >= 8) {
        std::memcpy(&words.low, data, 8);
        if (size > 8) {
          std::memcpy(&words.high, data + size - 8, 8);
          words.high >>= 8 * (16 - size);
        }
      } else if (size >= 4) {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::memcpy(&first, data, 4);
        std::memcpy(&last, data + size - 4, 4);
        words.low = first | (std::uint64_t{last} << (8 * (size - 4)));
      } else if (size > 0) {
        const auto byte = [data](std::size_t at) {
          return std::uint64_t{static_cast<unsigned char>(data[at])} << (8 * at);
        };
        words.low = byte(0) | byte(size / 2) | byte(size - 1);
      }
      words.high |= std::uint64_t{size} << 48;
      words.high |= std::uint64_t{kInlineStringTag} << 56;
      return words;
    }
    // Hashes any Value; equal to of() when it holds that text.
    static ShortText in(const Value& value) noexcept {
      ShortText words;
      std::memcpy(&words.low, value.storage_, 8);
      std::memcpy(&words.high, value.storage_ + 8, 8);
      return words;
    }
    bool operator==(const ShortText&) const = default;
  };
  [[nodiscard]] const Value* find_short(ShortText name) const noexcept;
  // Returns the member, or a Null value.
  [[nodiscard]] const Value& with_name(ShortText name) const noexcept;

  alignas(8) unsigned char storage_[16];  // see value_node.hpp
};

// One name and value of an object.
struct Member {
  Value name{};  // always a String
  Value value{};
  Member() = default;
  Member(std::string_view key, Value member_value) : name(key), value(std::move(member_value)) {}
  Member(const char* key, Value member_value) : name(key), value(std::move(member_value)) {}
  // Shares a key that already is a Value, without a copy; a template keeps texts out of it.
  template <std::same_as<Value> Key>
  Member(Key key, Value member_value) : name(std::move(key)), value(std::move(member_value)) {}
  [[nodiscard]] std::string_view key() const noexcept { return name.as_string(); }
};

}  // namespace athanor
