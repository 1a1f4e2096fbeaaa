// SPDX-License-Identifier: Apache-2.0
// Val: a value of a CEL evaluation. Cheap to copy: texts and nodes are shared. Immutable, hence
// safe to read from several threads. Errors are values (Kind::Error): operators absorb or return
// them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/values/type.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel {

class Meter;
class Val;

// What lists, maps, optionals and opaque values share.
struct Node {
  virtual ~Node() = default;
};

// Items of a list value.
class ListNode : public Node {
 public:
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Val at(std::size_t index) const = 0;  // index < size()
  // Returns a schema's list type (how it is compared and joined); nullptr for any other list.
  [[nodiscard]] virtual const Type* declared() const { return nullptr; }
};

// Entries of a map value.
class MapNode : public Node {
 public:
  [[nodiscard]] virtual std::size_t size() const = 0;
  // Returns the value of a key, which may be a Kind::Error value; nullopt: no such key.
  [[nodiscard]] virtual std::optional<Val> find(const Val& key) const = 0;
  [[nodiscard]] virtual std::vector<Val> keys() const = 0;
  // Returns true if the keys have numbers: a loop then takes one after the other, without keys().
  [[nodiscard]] virtual bool numbered() const { return false; }
  [[nodiscard]] virtual Val key_at(std::size_t index) const;  // index < size(), of numbered keys
};

// A value of a library (URL, IP, quantity, ...).
class OpaqueNode : public Node {
 public:
  [[nodiscard]] virtual std::string_view type_name() const = 0;
  [[nodiscard]] virtual bool equals(const OpaqueNode& other) const = 0;  // of the same type
  // Returns what size() would count, for cost; 1 when it has no size.
  [[nodiscard]] virtual std::uint64_t cost_size() const { return 1; }
  // Returns the bytes of the texts in it.
  [[nodiscard]] virtual std::size_t weight() const { return 0; }
};

// One value; see the top of this file.
class Val {
 public:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
  enum class Kind : std::uint8_t {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    List,
    Map,
    Optional,
    Opaque,
    Error,
  };
#pragma GCC diagnostic pop

  Val() = default;  // null
  static Val boolean(bool flag) { return {Kind::Bool, flag ? 1 : 0}; }
  static Val integer(std::int64_t number) { return {Kind::Int, number}; }
  static Val unsigned_integer(std::uint64_t number) {
    return {Kind::Uint, static_cast<std::int64_t>(number)};
  }
  static Val real(double number) { return {Kind::Double, std::bit_cast<std::int64_t>(number)}; }
  static Val string(std::string_view text) { return {Kind::String, Value(text)}; }
  // Shares the text of a JSON string.
  static Val string(const Value& text) { return {Kind::String, text}; }
  static Val string(const std::string& text) { return string(std::string_view(text)); }
  static Val string(const char* text) { return string(std::string_view(text)); }
  static Val bytes(std::string_view text) { return {Kind::Bytes, Value(text)}; }
  static Val type(std::string_view name) { return {Kind::Type, Value(name)}; }
  static Val error(std::string_view text) { return {Kind::Error, Value(text)}; }
  static Val duration(std::int64_t nanoseconds) { return {Kind::Duration, nanoseconds}; }
  // Seconds since 1970 and 0..999'999'999 nanoseconds.
  static Val timestamp(std::int64_t seconds, std::int32_t nanoseconds);
  static Val list(std::shared_ptr<const ListNode> node) { return {Kind::List, std::move(node)}; }
  static Val list(std::vector<Val> items);
  static Val map(std::shared_ptr<const MapNode> node) { return {Kind::Map, std::move(node)}; }
  static Val map(std::vector<std::pair<Val, Val>> entries);  // keys differ
  static Val optional_none() { return {Kind::Optional, std::shared_ptr<const Node>()}; }
  static Val optional_of(Val value);
  static Val opaque(std::shared_ptr<const OpaqueNode> node) {
    return {Kind::Opaque, std::move(node)};
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }
  [[nodiscard]] bool is_error() const { return kind_ == Kind::Error; }
  [[nodiscard]] bool is_true() const { return kind_ == Kind::Bool && number_ != 0; }
  [[nodiscard]] bool is_false() const { return kind_ == Kind::Bool && number_ == 0; }

  // Returns the value of a value of its own kind; zero, "" or nullptr for any other.
  [[nodiscard]] bool as_bool() const { return is_true(); }
  [[nodiscard]] std::int64_t as_int() const { return number_; }  // Int, Duration (nanoseconds)
  [[nodiscard]] std::uint64_t as_uint() const { return static_cast<std::uint64_t>(number_); }
  [[nodiscard]] double as_double() const { return std::bit_cast<double>(number_); }
  [[nodiscard]] std::int64_t seconds() const { return number_; }  // Timestamp
  [[nodiscard]] std::int32_t nanoseconds() const { return nanoseconds_; }
  // Returns the text of String, Bytes, Type (its name) or Error; valid as long as this handle.
  [[nodiscard]] std::string_view text() const { return text_.as_string(); }
  [[nodiscard]] const ListNode* as_list() const {
    return kind_ == Kind::List ? static_cast<const ListNode*>(node_.get()) : nullptr;
  }
  [[nodiscard]] const MapNode* as_map() const {
    return kind_ == Kind::Map ? static_cast<const MapNode*>(node_.get()) : nullptr;
  }
  [[nodiscard]] const OpaqueNode* as_opaque() const {
    return kind_ == Kind::Opaque ? static_cast<const OpaqueNode*>(node_.get()) : nullptr;
  }
  // Returns the value of an optional; nullptr for optional.none().
  [[nodiscard]] const Val* optional_value() const;

 private:
  Val(Kind kind, std::int64_t number) : kind_(kind), number_(number) {}
  Val(Kind kind, Value text) : kind_(kind), text_(std::move(text)) {}
  Val(Kind kind, std::shared_ptr<const Node> node) : kind_(kind), node_(std::move(node)) {}

  Kind kind_ = Kind::Null;
  std::int32_t nanoseconds_ = 0;
  std::int64_t number_ = 0;
  Value text_{};
  std::shared_ptr<const Node> node_{};
};

// Returns what type(v) is: "int", "list", "map", "google.protobuf.Timestamp", "kubernetes.URL".
std::string_view type_name(const Val& value);
// Compares as CEL's ==: numbers of different types by value, lists of a schema by their list type.
// Counts the parts that it compares; the answer means nothing once the meter is over its limits.
bool equal(const Val& a, const Val& b, Meter& meter);
// Returns -1, 0 or 1; nullopt when the two cannot be ordered (or one is NaN).
std::optional<int> compare(const Val& a, const Val& b);
// Characters, bytes, items or entries; nullopt for what has no size.
std::optional<std::size_t> size_of(const Val& value);

// Returns JSON as a value; without a type by what the JSON is, else as the schema says (date-time
// to timestamp, ...). A text that has not its format is a Kind::Error value.
Val adapt(const Value& value, const TypePtr& type = nullptr);

// Joins two lists: a schema's sets and map lists are united, others are appended. Counts as equal()
// does.
Val concatenate(const Val& a, const Val& b, Meter& meter);

// Checks whether a map can have it as a key: a bool, int, uint, double or string.
bool is_key(const Val& value);
// An order of keys: numbers by value, whatever their type.
struct KeyLess {
  bool operator()(const Val& a, const Val& b) const;
};

// Returns the bytes of a value itself: its text, or its items without what is in them.
std::size_t own_bytes(const Val& value);

}  // namespace athanor::cel
