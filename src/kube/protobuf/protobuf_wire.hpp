// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format: tags, varints, lengths; inside kube/ only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/schema/schema.hpp"

namespace athanor::protobuf {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

// One field as it is on the wire.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t scalar = 0;  // Varint, Fixed64, Fixed32
  std::string_view bytes{};  // Bytes
};

// Reads the fields of one message, views into the caller's bytes.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  // Reads the next field; returns false at the end and after a malformed field.
  bool next(WireField& field);
  // Reads one varint of a packed list.
  bool next_varint(std::uint64_t& number);
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  // Returns true if next() stopped before the end.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool fail();
  bool fixed(std::size_t size, std::uint64_t& number);

  std::string_view rest_;
  bool failed_ = false;
};

class WireWriter {
 public:
  void varint(std::uint32_t number, std::uint64_t value);
  void fixed64(std::uint32_t number, std::uint64_t value);
  void bytes(std::uint32_t number, std::string_view value);
  [[nodiscard]] const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void raw_varint(std::uint64_t value);
  std::string out_{};
};

// Types whose message is not their JSON fields.
enum class JsonUnion : std::uint8_t { None, Json, SchemaOrArray, SchemaOrBool, SchemaOrStrings };
JsonUnion json_union(const Schema& schema);

// Returns true if the field's path goes through `prefix` and further.
bool below(const SchemaField& field, const ProtoPath& prefix);

}  // namespace athanor::protobuf
