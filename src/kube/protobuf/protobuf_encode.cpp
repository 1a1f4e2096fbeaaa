// SPDX-License-Identifier: Apache-2.0
// Encoding half of protobuf.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>
#include <vector>

#include "base/cancellation.hpp"
#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/protobuf/protobuf_wire.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

namespace athanor::protobuf {
namespace {

std::string message(const Value& value, const Schema& schema);
void field(WireWriter& out, std::uint32_t number, const Value& value, const Schema& schema);

std::uint64_t bits(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::string time_message(const Value& value) {
  const Instant instant = parse_time(value.as_string()).value_or(Instant{});
  const auto seconds = std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch());
  const auto rest = instant.time_since_epoch() - seconds;
  WireWriter out;
  out.varint(1, bits(seconds.count()));
  out.varint(2, bits(std::chrono::nanoseconds(rest).count()));
  return out.take();
}

std::string int_or_string(const Value& value) {
  WireWriter out;
  out.varint(1, value.is_string() ? 1 : 0);
  out.varint(2, bits(value.as_int()));
  out.bytes(3, value.as_string());
  return out.take();
}

std::string wrapped(std::string_view text) {
  WireWriter out;
  out.bytes(1, text);
  return out.take();
}

std::string any_message(const Value& value, const Schema& schema) {
  const JsonUnion kind = json_union(schema);
  if (kind == JsonUnion::Json || kind == JsonUnion::None || schema.any_of.empty()) {
    return wrapped(json::print(value));
  }
  const Schema& object = *schema.any_of.front();
  WireWriter out;
  if (kind == JsonUnion::SchemaOrBool) {
    out.varint(1, value.as_bool(value.is_object()) ? 1 : 0);
    if (value.is_object()) {
      out.bytes(2, message(value, object));
    }
    return out.take();
  }
  if (value.is_object()) {
    out.bytes(1, message(value, object));
  }
  for (const Value& item : value.items()) {
    out.bytes(2, kind == JsonUnion::SchemaOrArray ? message(item, object) : item.str());
  }
  return out.take();
}

void map_entries(WireWriter& out, std::uint32_t number, const Value& map, const Schema& schema) {
  std::vector<const Member*> entries;
  for (const Member& member : map.members()) {
    entries.push_back(&member);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Member* a, const Member* b) { return a->key() < b->key(); });
  for (const Member* entry : entries) {
    WireWriter pair;
    pair.bytes(1, entry->key());
    if (schema.type == SchemaType::List) {
      WireWriter list;
      for (const Value& item : entry->value.items()) {
        field(list, 1, item, *schema.items);
      }
      pair.bytes(2, list.text());
    } else {
      field(pair, 2, entry->value, schema);
    }
    out.bytes(number, pair.text());
  }
}

void field(WireWriter& out, std::uint32_t number, const Value& value, const Schema& schema) {
  switch (schema.type) {
    case SchemaType::Boolean:
      out.varint(number, value.as_bool() ? 1 : 0);
      break;
    case SchemaType::Integer:
    case SchemaType::Duration:
      out.varint(number, bits(value.as_int()));
      break;
    case SchemaType::Number:
      out.fixed64(number, std::bit_cast<std::uint64_t>(value.as_double()));
      break;
    case SchemaType::String:
      out.bytes(number, value.as_string());
      break;
    case SchemaType::Bytes:
      out.bytes(number, base64_decode(value.as_string()).value_or(std::string()));
      break;
    case SchemaType::Object:
      if (schema.additional != nullptr) {
        map_entries(out, number, value, *schema.additional);
      } else {
        out.bytes(number, message(value, schema));
      }
      break;
    case SchemaType::List:
      for (const Value& item : value.items()) {
        field(out, number, item, *schema.items);
      }
      break;
    case SchemaType::Time:
    case SchemaType::MicroTime:
      out.bytes(number, time_message(value));
      break;
    case SchemaType::Quantity:
      out.bytes(number, wrapped(value.as_string()));
      break;
    case SchemaType::IntOrString:
      out.bytes(number, int_or_string(value));
      break;
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      out.bytes(number, wrapped(json::print(value)));
      break;
    case SchemaType::Any:
      out.bytes(number, any_message(value, schema));
      break;
  }
}

// A field that the object has.
struct Present {
  const SchemaField* field = nullptr;
  const Value* value = nullptr;
};

// Fields whose paths agree up to `depth`, sorted by path: embedded messages are runs of equal
// numbers.
void append_fields(WireWriter& out, std::span<const Present> fields, std::size_t depth) {
  while (!fields.empty()) {
    const SchemaField& first = *fields.front().field;
    const std::uint32_t number = first.proto[depth];
    if (first.proto.size() == depth + 1) {
      field(out, number, *fields.front().value, *first.schema);
      fields = fields.subspan(1);
      continue;
    }
    std::size_t size = 1;
    while (size < fields.size() && fields[size].field->proto[depth] == number) {
      ++size;
    }
    WireWriter embedded;
    append_fields(embedded, fields.first(size), depth + 1);
    out.bytes(number, embedded.text());
    fields = fields.subspan(size);
  }
}

// The fields of one message in the order of their numbers; embedded messages whose fields are in
// the same JSON object are left out when none of them is set.
std::string message(const Value& value, const Schema& schema) {
  give_up_if_cancelled();
  std::vector<Present> present;
  present.reserve(value.size());
  for (const Member& member : value.members()) {
    const SchemaField* const found = schema.field(member.key());
    if (found != nullptr && !found->proto.empty() && !member.value.is_null()) {
      present.push_back({.field = found, .value = &member.value});
    }
  }
  std::sort(present.begin(), present.end(),
            [](const Present& a, const Present& b) { return a.field->proto < b.field->proto; });
  WireWriter out;
  append_fields(out, present, 0);
  return out.take();
}

SchemaPtr schema_of(const Value& object) {
  const std::string_view api_version = object["apiVersion"].as_string();
  const std::size_t slash = api_version.find('/');
  const bool grouped = slash != std::string_view::npos;
  return BuiltinTypes::get().by_kind(grouped ? api_version.substr(0, slash) : std::string_view(),
                                     grouped ? api_version.substr(slash + 1) : api_version,
                                     object["kind"].as_string());
}

}  // namespace

std::string encode_message(const Value& value, const Schema& schema) {
  return message(value, schema);
}

Result<std::string> encode(const Value& object) {
  const SchemaPtr schema = schema_of(object);
  if (schema == nullptr) {
    return Error{
        .code = 406,
        .reason = "NotAcceptable",
        .message = fmt::format("object {} {} has no protobuf form",
                               object["apiVersion"].as_string(), object["kind"].as_string())};
  }
  WireWriter meta;
  meta.bytes(1, object["apiVersion"].as_string());
  meta.bytes(2, object["kind"].as_string());
  WireWriter out;
  out.bytes(1, meta.text());
  out.bytes(2, encode_message(object, *schema));
  out.bytes(3, "");
  out.bytes(4, "");
  return std::string("k8s\0", 4) + out.text();
}

Result<std::string> encode_watch_frame(std::string_view type, const Value& object) {
  ATHANOR_TRY(const std::string envelope, encode(object));
  WireWriter event;
  event.bytes(1, type);
  event.bytes(2, wrapped(envelope));
  const std::string& body = event.text();
  std::string frame;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    frame += static_cast<char>((body.size() >> shift) & 0xFFU);
  }
  return frame + body;
}

}  // namespace athanor::protobuf
