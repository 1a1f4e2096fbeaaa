// SPDX-License-Identifier: Apache-2.0
// Packer: Values of one sort as few bytes, for what is kept and seldom looked at. A tenth of the
// time that parsing the same as JSON takes, and a fraction of its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lz.hpp"
#include "kube/value/value.hpp"
#include "kube/value/value_bytes.hpp"

namespace athanor {

// Not thread-safe. Values come back as they were: numbers of the same kind and bits, members in the
// same order. It learns from what it packs: names of members become numbers, and what the first
// ones have in common is left out from then on.
class Packer : private value_bytes::Texts {
 public:
  // Returns the packed bytes; valid until the next call of any member.
  std::string_view pack(const Value& value);
  // Requires bytes that this packer made.
  Value unpack(std::string_view bytes);

 private:
  void put_string(std::string& out, std::string_view text) override;
  void put_name(std::string& out, const Value& name) override;
  Value get_string(value_bytes::Mark mark, std::string_view& in) override;
  Value get_name(std::string_view& in) override;
  void learn();

  std::string plain_{};
  std::string packed_{};
  // Names that have a number, which is their place; the texts own what the map refers to.
  std::vector<std::unique_ptr<const std::string>> texts_{};
  std::vector<Value> names_{};
  std::unordered_map<std::string_view, std::size_t> numbers_{};
  // Each knows more than the one before; the last is in use.
  std::vector<std::unique_ptr<LzCodec>> codecs_{};
  std::string samples_{};
  std::size_t made_ = 0;
  value_bytes::Reader reader_{};
};

}  // namespace athanor
