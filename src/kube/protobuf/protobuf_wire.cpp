// SPDX-License-Identifier: Apache-2.0
#include "kube/protobuf/protobuf_wire.hpp"

#include <algorithm>

namespace athanor::protobuf {

bool WireReader::fail() {
  failed_ = true;
  rest_ = {};
  return false;
}

bool WireReader::next_varint(std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) {
      return true;
    }
  }
  return fail();
}

bool WireReader::fixed(std::size_t size, std::uint64_t& number) {
  if (rest_.size() < size) {
    return fail();
  }
  number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::next(WireField& field) {
  std::uint64_t tag = 0;
  if (rest_.empty() || !next_varint(tag)) {
    return false;
  }
  const std::uint64_t number = tag >> 3U;
  if (number == 0 || number > 0x1FFFFFFFU) {
    return fail();
  }
  field.number = static_cast<std::uint32_t>(number);
  switch (tag & 7U) {
    case 0:
      field.type = WireType::Varint;
      return next_varint(field.scalar);
    case 1:
      field.type = WireType::Fixed64;
      return fixed(8, field.scalar);
    case 2: {
      field.type = WireType::Bytes;
      std::uint64_t length = 0;
      if (!next_varint(length) || length > rest_.size()) {
        return fail();
      }
      field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
      rest_.remove_prefix(static_cast<std::size_t>(length));
      return true;
    }
    case 5:
      field.type = WireType::Fixed32;
      return fixed(4, field.scalar);
    default:
      return fail();  // groups: no Kubernetes type has them
  }
}

void WireWriter::raw_varint(std::uint64_t value) {
  while (value >= 0x80U) {
    out_ += static_cast<char>((value & 0x7FU) | 0x80U);
    value >>= 7U;
  }
  out_ += static_cast<char>(value);
}

void WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  raw_varint(static_cast<std::uint64_t>(number) << 3U);
  raw_varint(value);
}

void WireWriter::fixed64(std::uint32_t number, std::uint64_t value) {
  raw_varint((static_cast<std::uint64_t>(number) << 3U) | 1U);
  for (unsigned i = 0; i < 8; ++i) {
    out_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

void WireWriter::bytes(std::uint32_t number, std::string_view value) {
  raw_varint((static_cast<std::uint64_t>(number) << 3U) | 2U);
  raw_varint(value.size());
  out_ += value;
}

JsonUnion json_union(const Schema& schema) {
  const std::string_view name = schema.name;
  if (name.ends_with(".JSON")) {
    return JsonUnion::Json;
  }
  if (name.ends_with(".JSONSchemaPropsOrArray")) {
    return JsonUnion::SchemaOrArray;
  }
  if (name.ends_with(".JSONSchemaPropsOrBool")) {
    return JsonUnion::SchemaOrBool;
  }
  return name.ends_with(".JSONSchemaPropsOrStringArray") ? JsonUnion::SchemaOrStrings
                                                         : JsonUnion::None;
}

bool below(const SchemaField& field, const ProtoPath& prefix) {
  return field.proto.size() > prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), field.proto.begin());
}

}  // namespace athanor::protobuf
