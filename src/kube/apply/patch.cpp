// SPDX-License-Identifier: Apache-2.0
// JSON Patch and JSON Merge Patch.
#include "kube/apply/patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/apply/member_edit.hpp"
#include "kube/apply/patch_document.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor {
namespace {

// The reference's limits (docs/spec/apiserver.md 6): operations, and bytes that all copies add.
constexpr std::size_t kMaxOperations = 10'000;
constexpr std::size_t kMaxCopiedBytes = 3'145'728;
// Values that all moves may visit to find how deep they are.
constexpr std::size_t kMaxMeasured = 16'000'000;

// Returns the refusal of a patch that is well formed but does not apply.
Error rejected(std::string why) {
  return {.code = 422, .reason = "Invalid", .message = std::move(why)};
}

// RFC 6901: "/a~1b/0" is {"a/b", "0"}; "" is the whole document.
std::optional<Pointer> parse_pointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) {
    return pointer;
  }
  if (text.front() != '/') {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      pointer.emplace_back();
    } else if (text[i] == '~' && i + 1 < text.size() &&
               (text[i + 1] == '0' || text[i + 1] == '1')) {
      pointer.back() += text[++i] == '0' ? '~' : '/';
    } else {
      pointer.back() += text[i];
    }
  }
  return pointer;
}

Pointer parent_of(const Pointer& pointer) {
  return pointer.empty() ? pointer : Pointer(pointer.begin(), std::prev(pointer.end()));
}

// A missing value equals null, as in the reference.
bool test(PatchDocument& document, const Pointer& pointer, const Value& expected) {
  if (document.exists(pointer)) {
    return document.equals(pointer, expected);
  }
  // What is not there is null, in something that is there.
  return expected.is_null() && !pointer.empty() && document.exists(parent_of(pointer));
}

bool is_inside(const Pointer& inner, const Pointer& outer) {
  return inner.size() > outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

// Keeps the document within the levels that a body may have and the copies within their bytes: a
// copy into itself doubles the depth, a copy of copies doubles the size. Holds an upper bound of
// the document's levels, so that a move is measured only where it could go too deep.
class PatchLimits {
 public:
  explicit PatchLimits(const Value& document) {
    Extent whole;
    measure(document, kUnlimited, whole);
    levels_ = whole.levels;
  }

  // Returns true if `value`, a part of the patch, may be put at `to`.
  bool may_add(const Value& value, const Pointer& to) {
    Extent found;
    return measure(value, {.levels = room(to), .values = kNone, .bytes = kNone}, found) &&
           grow(to, found.levels);
  }
  bool may_copy(const Value& value, const Pointer& to) {
    Extent found;
    const std::size_t left = kMaxCopiedBytes - copied_;
    if (!measure(value, {.levels = room(to), .values = kNone, .bytes = left}, found)) {
      return false;
    }
    copied_ += found.bytes;
    return grow(to, found.levels);
  }
  bool may_move(PatchDocument& document, const Pointer& from, const Pointer& to) {
    if (to.size() <= from.size()) {
      return true;
    }
    const std::size_t most = levels_ > from.size() ? levels_ - from.size() : 0;
    if (most <= room(to)) {
      return grow(to, most);
    }
    Extent found;
    const std::size_t left = kMaxMeasured - measured_;
    const Value value = document.value_at(from).value_or(Value());
    if (!measure(value, {.levels = room(to), .values = left, .bytes = kNone}, found)) {
      return false;
    }
    measured_ += found.values;
    return grow(to, found.levels);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr Extent kUnlimited{.levels = kNone, .values = kNone, .bytes = kNone};

  static std::size_t room(const Pointer& to) {
    return kMaxDocumentLevels - std::min(to.size(), kMaxDocumentLevels);
  }
  bool grow(const Pointer& to, std::size_t levels) {
    levels_ = std::max(levels_, to.size() + levels);
    return true;
  }

  std::size_t levels_ = 0;
  std::size_t copied_ = 0;
  std::size_t measured_ = 0;
};

// Returns why an operation does not find what its `field`, path or from, leads to.
std::string absent(PatchDocument& document, const Value& operation, std::string_view field) {
  const std::string_view op = operation["op"].as_string();
  const std::string_view text = operation[field].as_string();
  const Pointer path = parse_pointer(text).value_or(Pointer());
  const std::optional<Value> parent = document.value_at(parent_of(path));
  if (path.empty() || !parent || !(parent->is_object() || parent->is_list())) {
    return fmt::format("{} operation does not apply: doc is missing {}: \"{}\": missing value", op,
                       field == "from" ? "from path" : field, text);
  }
  const std::string cause =
      parent->is_list()
          ? fmt::format("Unable to access invalid index: {}: invalid index referenced", path.back())
          : fmt::format("Unable to {} nonexistent key: {}: missing value",
                        op == "copy" ? "copy" : "remove", path.back());
  return fmt::format("error in {} for path: '{}': {}", op, text, cause);
}

std::string too_large(const Value& operation) {
  return fmt::format(
      "{} operation does not apply: the object would be nested too deeply, or the "
      "copies of the patch would be larger than {} bytes: path \"{}\"",
      operation["op"].as_string(), kMaxCopiedBytes, operation["path"].as_string());
}

// Why an operation does not apply, worded as the reference's library does; nullopt: it applied.
using Obstacle = std::optional<std::string>;

Obstacle move(PatchDocument& document, const Value& operation, const Pointer& from,
              const Pointer& to, PatchLimits& limits) {
  if (!document.exists(from)) {
    return absent(document, operation, "from");
  }
  if (is_inside(to, from)) {
    return fmt::format(
        "move operation does not apply: doc is missing destination path: {}: missing "
        "value",
        operation["path"].as_string());
  }
  if (!limits.may_move(document, from, to)) {
    return too_large(operation);
  }
  return document.move(from, to) ? Obstacle() : absent(document, operation, "path");
}

Obstacle copy(PatchDocument& document, const Value& operation, const Pointer& from,
              const Pointer& to, PatchLimits& limits) {
  std::optional<Value> value = document.value_at(from);
  if (!value) {
    return absent(document, operation, "from");
  }
  if (!limits.may_copy(*value, to)) {
    return too_large(operation);
  }
  return document.add(to, *std::move(value)) ? Obstacle() : absent(document, operation, "path");
}

// Where a patch has put a null into an object. To the reference's library that is another one than
// a null that was read: a test of its surroundings finds it changed. What is within a path
// follows it in this order.
using AddedNulls = std::set<Pointer>;

void forget_nulls(const Pointer& path, AddedNulls& nulls) {
  const auto first = nulls.lower_bound(path);
  const auto last = std::find_if(first, nulls.end(), [&](const Pointer& known) {
    return known != path && !is_inside(known, path);
  });
  nulls.erase(first, last);
}

void note_null(PatchDocument& document, const Pointer& path, const Value& value,
               AddedNulls& nulls) {
  forget_nulls(path, nulls);
  if (value.is_null() && !path.empty() && document.is_object(parent_of(path))) {
    nulls.insert(path);
  }
}

bool holds_added_null(PatchDocument& document, const Pointer& path, const AddedNulls& nulls) {
  for (auto null = nulls.upper_bound(path); null != nulls.end() && is_inside(*null, path); ++null) {
    give_up_if_cancelled();
    if (document.exists(*null)) {
      return true;
    }
  }
  return false;
}

Obstacle move_or_copy(PatchDocument& document, const Value& operation, const Pointer& path,
                      PatchLimits& limits) {
  const std::string_view op = operation["op"].as_string();
  const auto from = parse_pointer(operation["from"].as_string());
  if (!from || !operation["from"].is_string()) {
    return fmt::format(
        "{} operation failed to decode from: operation, missing from field: missing "
        "value",
        op);
  }
  return op == "move" ? move(document, operation, *from, path, limits)
                      : copy(document, operation, *from, path, limits);
}

Obstacle apply_operation(PatchDocument& document, const Value& operation, AddedNulls& nulls,
                         PatchLimits& limits) {
  const std::string_view op = operation["op"].as_string();
  const auto path = parse_pointer(operation["path"].as_string());
  if (!operation["path"].is_string()) {
    return fmt::format("{} operation failed to decode path: missing value", op);
  }
  if (!path) {
    return absent(document, operation, "path");
  }
  const Value* value = operation.find("value");
  if (op == "remove") {
    forget_nulls(*path, nulls);
    return document.remove(*path) ? Obstacle() : absent(document, operation, "path");
  }
  if (op == "move" || op == "copy") {
    return move_or_copy(document, operation, *path, limits);
  }
  if (op == "test") {
    if (test(document, *path, value == nullptr ? Value() : *value) &&
        !holds_added_null(document, *path, nulls)) {
      return {};
    }
    return fmt::format("testing value {} failed: test failed", operation["path"].as_string());
  }
  if (op != "add" && op != "replace") {
    return fmt::format("Unexpected kind: {}", op.empty() ? "unknown" : op);
  }
  if (value == nullptr) {
    return fmt::format("{} operation does not apply: missing value field: path \"{}\"", op,
                       operation["path"].as_string());
  }
  if (!limits.may_add(*value, *path)) {
    return too_large(operation);
  }
  note_null(document, *path, *value, nulls);
  const bool applied = op == "add" ? document.add(*path, *value) : document.replace(*path, *value);
  return applied ? Obstacle() : absent(document, operation, "path");
}

std::string_view go_type(const Value& value) {
  switch (value.type()) {
    case Value::Type::Bool:
      return "bool";
    case Value::Type::Int:
    case Value::Type::Uint:
    case Value::Type::Double:
      return "number";
    case Value::Type::String:
      return "string";
    case Value::Type::List:
      return "array";
    case Value::Type::Null:
    case Value::Type::Object:
      break;
  }
  return "object";
}

Error undecodable(const Value& value, std::string_view type) {
  return Error::bad_request("error decoding patch: json: cannot unmarshal " +
                            std::string(go_type(value)) + " into Go value of type " +
                            std::string(type));
}

}  // namespace

Result<Value> apply_json_patch(const Value& document, const Value& patch) {
  if (!patch.is_list()) {
    return undecodable(patch, "[]handlers.jsonPatchOp");
  }
  if (patch.size() > kMaxOperations) {
    return Error{.code = 413,
                 .reason = "RequestEntityTooLarge",
                 .message =
                     "Request entity too large: The allowed maximum operations in a JSON "
                     "patch is 10000, got " +
                     std::to_string(patch.size())};
  }
  AddedNulls nulls;
  for (const Value& operation : patch.items()) {
    if (!operation.is_object()) {
      return undecodable(operation, "handlers.jsonPatchOp");
    }
  }
  PatchDocument result(document);
  PatchLimits limits(document);
  for (const Value& operation : patch.items()) {
    give_up_if_cancelled();
    if (Obstacle why = apply_operation(result, operation, nulls, limits)) {
      return rejected(*std::move(why));
    }
  }
  return result.take();
}

namespace {

bool has_nulls(const Value& value) {
  const auto items = value.items();
  const auto members = value.members();
  return std::ranges::any_of(items, has_nulls) ||
         std::ranges::any_of(members, [](const Member& member) {
           return member.value.is_null() || has_nulls(member.value);
         });
}

Value drop_nulls(const Value& value) {
  if (value.is_list()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      items.push_back(drop_nulls(item));
    }
    return Value::list(std::move(items));
  }
  if (!value.is_object()) {
    return value;
  }
  std::vector<Member> members;
  for (const Member& member : value.members()) {
    if (!member.value.is_null()) {
      members.emplace_back(member.name, drop_nulls(member.value));
    }
  }
  return Value::object(std::move(members));
}

}  // namespace

Value without_nulls(const Value& value) {
  return has_nulls(value) ? drop_nulls(value) : value;
}

Value apply_merge_patch(const Value& document, const Value& patch) {
  if (!document.is_object()) {
    return without_nulls(patch);  // within lists, too, as in the reference's library
  }
  if (!patch.is_object()) {
    return patch;
  }
  MemberEdit result(document);
  for (const Member& member : patch.members()) {
    give_up_if_cancelled();
    if (member.value.is_null()) {
      result.erase(member.key());
      continue;
    }
    const Value* old = result.find(member.key());
    result.set(member.key(), apply_merge_patch(old == nullptr ? Value() : *old, member.value));
  }
  return result.take();
}

Value make_merge_patch(const Value& from, const Value& to) {
  if (from == to) {
    return {};
  }
  if (!from.is_object() || !to.is_object()) {
    return to;
  }
  std::vector<Member> patch;
  MemberEdit before(from);
  MemberEdit after(to);
  for (const Member& member : from.members()) {
    if (after.find(member.key()) == nullptr) {
      patch.emplace_back(member.name, Value());
    }
  }
  for (const Member& member : to.members()) {
    const Value* old = before.find(member.key());
    if (old == nullptr) {
      patch.emplace_back(member.name, member.value);
    } else if (!(*old == member.value)) {
      patch.emplace_back(member.name, make_merge_patch(*old, member.value));
    }
  }
  return Value::object(std::move(patch));
}

}  // namespace athanor
