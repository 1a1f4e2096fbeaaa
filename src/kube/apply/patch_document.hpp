// SPDX-License-Identifier: Apache-2.0
// PatchDocument: a document under the operations of a JSON patch. Containers on the way to what an
// operation changes are taken apart once, wide ones into tables and blocks, so that 10,000
// operations on an object or list of 100,000 cost what each of them touches.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

// The tokens of a JSON pointer (RFC 6901).
using Pointer = std::vector<std::string>;

class PatchDocument {
 public:
  class Place;  // a value of the document, whole or taken apart

  explicit PatchDocument(const Value& document);
  PatchDocument(const PatchDocument&) = delete;
  PatchDocument& operator=(const PatchDocument&) = delete;
  ~PatchDocument();

  // Returns the value at a pointer; nullopt when there is none.
  [[nodiscard]] std::optional<Value> value_at(const Pointer& pointer);
  // Returns true if something is there, and an object in which it would be a member.
  [[nodiscard]] bool exists(const Pointer& pointer);
  [[nodiscard]] bool is_object(const Pointer& pointer);
  // Returns true if the value there equals `expected`; false when there is none.
  [[nodiscard]] bool equals(const Pointer& pointer, const Value& expected);

  // Edits as the operations of RFC 6902; returns false if the pointer leads nowhere.
  bool add(const Pointer& pointer, Value value);
  // Sets an absent member, as the reference's library does.
  bool replace(const Pointer& pointer, Value value);
  bool remove(const Pointer& pointer);
  bool move(const Pointer& from, const Pointer& to);

  // Returns the edited document; unchanged parts are shared with the one given.
  [[nodiscard]] Value take();

 private:
  // Returns the place at the first `count` tokens, nullptr when there is none.
  Place* find(const Pointer& pointer, std::size_t count);
  // Returns the container of the last token, marked as changed; nullptr when there is none.
  Place* find_to_change(const Pointer& pointer);
  bool put(const Pointer& pointer, std::unique_ptr<Place> place, bool insert);
  std::unique_ptr<Place> cut(const Pointer& pointer);

  std::unique_ptr<Place> root_;
};

}  // namespace athanor
