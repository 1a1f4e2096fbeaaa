// SPDX-License-Identifier: Apache-2.0
// Pack: many stored objects in one run of bytes.
//
// For objects that are many, alike and seldom read (Events). Texts that come more than once are
// in the pack once, and nothing in it is an allocation of its own: what is packed neither weighs
// much nor holds on to pages of the heap among what comes and goes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/store/store.hpp"

namespace athanor::store {

// A Key that lies elsewhere.
struct KeyView {
  std::string_view ns{};
  std::string_view name{};
  KeyView() = default;
  // Views the key. NOLINTNEXTLINE(google-explicit-constructor): the same thing, seen
  KeyView(const Key& key) : ns(key.ns), name(key.name) {}
  KeyView(std::string_view its_ns, std::string_view its_name) : ns(its_ns), name(its_name) {}
  friend auto operator<=>(const KeyView&, const KeyView&) = default;
};

// Immutable; reading it from several threads is safe.
class Pack {
 public:
  // Packs objects that are all of one resource.
  explicit Pack(std::span<const StoredPtr> objects);

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] KeyView key(std::size_t index) const;  // valid while the pack is
  [[nodiscard]] Revision revision(std::size_t index) const { return records_[index].revision; }
  // Returns an equal of the packed object: numbers of the same kind, members in the same order.
  [[nodiscard]] StoredPtr unpack(std::size_t index) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Record {
    Revision revision = 0;
    std::uint32_t start = 0;  // in bytes_: namespace, name, body
  };
  std::string resource_{};
  std::string bytes_{};                 // the words, then the records
  std::vector<std::uint32_t> words_{};  // where the repeated texts start, most frequent first
  std::vector<Record> records_{};
};

}  // namespace athanor::store
