// SPDX-License-Identifier: Apache-2.0
// Decoding half of protobuf.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <vector>

#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/protobuf/protobuf_wire.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::protobuf {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPrefix = "k8s\0"sv;
constexpr int kMaxDepth = 200;    // of messages, as of JSON bodies: bounds the stack
constexpr int kMaxEnvelopes = 3;  // within envelopes; each may have messages of that depth

Result<Value> decode_envelope(std::string_view body, Expected expected, int nesting);

bool is_zero(const Value& value) {
  switch (value.type()) {
    case Value::Type::Null:
      return true;
    case Value::Type::Bool:
      return !value.as_bool();
    case Value::Type::Int:
    case Value::Type::Uint:
    case Value::Type::Double:
      return value.as_double() == 0;
    case Value::Type::String:
      return value.as_string().empty();
    case Value::Type::List:
    case Value::Type::Object:
      return false;
  }
  return false;
}

bool is_map(const Schema& schema) {
  return schema.type == SchemaType::Object && schema.additional != nullptr;
}

// The object of one message while it is read: the entries of its maps are put in at the end, as
// setting them one by one looks through all before.
struct OpenMessage {
  struct Map {
    const SchemaField* field = nullptr;
    std::vector<Member> entries{};
  };
  Value object = Value::object();
  std::vector<Map> maps{};

  std::vector<Member>& entries(const SchemaField& field) {
    const auto known = std::ranges::find(maps, &field, &Map::field);
    return known == maps.end() ? maps.emplace_back(Map{.field = &field}).entries : known->entries;
  }
  Value finish() {
    for (Map& map : maps) {
      object.set(map.field->name, Value::object(std::move(map.entries)));
    }
    return std::move(object);
  }
};

class Decoder {
 public:
  // `nesting`: the envelopes around this one.
  explicit Decoder(int nesting) : nesting_(nesting) {}

  Value message(std::string_view bytes, const Schema& schema) {
    OpenMessage open;
    if (enter()) {
      ProtoPath prefix;
      fields(bytes, schema, prefix, open);
    }
    --depth_;
    return open.finish();
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool enter() {
    if (++depth_ > kMaxDepth) {
      fail("exceeded max depth");
    }
    return error_.empty();
  }

  void fail(std::string text) {
    if (error_.empty()) {
      error_ = std::move(text);
    }
  }

  // Go's text for a field whose bytes cannot be what its type says.
  bool is(const WireField& wire, WireType type, std::string_view name) {
    if (wire.type != type) {
      fail(fmt::format("proto: wrong wireType = {} for field {}", static_cast<int>(wire.type),
                       name));
    }
    return wire.type == type;
  }

  // `prefix`: the embedded messages on the way whose fields are in the same JSON object.
  void fields(std::string_view bytes, const Schema& schema, ProtoPath& prefix, OpenMessage& open) {
    WireReader reader(bytes);
    WireField wire;
    while (error_.empty() && reader.next(wire)) {
      const SchemaField* found = nullptr;
      for (const SchemaField& field : schema.fields) {
        if (below(field, prefix) && field.proto[prefix.size()] == wire.number) {
          found = &field;
          break;
        }
      }
      if (found == nullptr) {
        continue;
      }
      if (found->proto.size() == prefix.size() + 1) {
        field(wire, *found, open);
      } else if (is(wire, WireType::Bytes, found->name)) {
        prefix.push_back(wire.number);
        fields(wire.bytes, schema, prefix, open);
        prefix.pop_back();
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
  }

  void field(const WireField& wire, const SchemaField& field, OpenMessage& open) {
    const Schema& schema = *field.schema;
    Value& object = open.object;
    if (schema.type == SchemaType::List) {
      list_item(wire, field, object.member(field.name));
      return;
    }
    if (is_map(schema)) {
      object.member(field.name);  // in its place among the members
      map_entry(wire, field, open.entries(field));
      return;
    }
    Value decoded = value(wire, schema, field.name);
    const bool scalar = schema.type != SchemaType::IntOrString;
    if (decoded.is_null() ||
        (scalar && !field.presence && !field.always_present && is_zero(decoded))) {
      return;
    }
    object.set(field.name, std::move(decoded));
  }

  void list_item(const WireField& wire, const SchemaField& field, Value& list) {
    const Schema& items = *field.schema->items;
    if (wire.type == WireType::Bytes &&
        (items.type == SchemaType::Integer || items.type == SchemaType::Boolean)) {
      packed(wire.bytes, items, list);
      return;
    }
    list.push_back(value(wire, items, field.name));
  }

  void packed(std::string_view bytes, const Schema& items, Value& list) {
    WireReader reader(bytes);
    std::uint64_t number = 0;
    while (!reader.at_end() && reader.next_varint(number)) {
      list.push_back(items.type == SchemaType::Boolean ? Value(number != 0)
                                                       : integer(number, items));
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
  }

  void map_entry(const WireField& wire, const SchemaField& field, std::vector<Member>& entries) {
    if (!is(wire, WireType::Bytes, field.name)) {
      return;
    }
    const Schema& schema = *field.schema->additional;
    std::string_view key;
    // An entry without value holds the zero value.
    WireField empty;
    empty.type = wire_type(schema);
    WireField content = empty;
    WireReader reader(wire.bytes);
    WireField part;
    while (reader.next(part)) {
      if (part.number == 1 && part.type == WireType::Bytes) {
        key = part.bytes;
      } else if (part.number == 2) {
        content = part;
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
      return;
    }
    entries.emplace_back(key, value(content, schema, field.name));
  }

  static WireType wire_type(const Schema& schema) {
    switch (schema.type) {
      case SchemaType::Boolean:
      case SchemaType::Integer:
      case SchemaType::Duration:
        return WireType::Varint;
      case SchemaType::Number:
        return WireType::Fixed64;
      case SchemaType::Any:
      case SchemaType::Object:
      case SchemaType::List:
      case SchemaType::String:
      case SchemaType::IntOrString:
      case SchemaType::Quantity:
      case SchemaType::Time:
      case SchemaType::MicroTime:
      case SchemaType::Bytes:
      case SchemaType::RawExtension:
      case SchemaType::Fields:
        return WireType::Bytes;
    }
    return WireType::Bytes;
  }

  static Value integer(std::uint64_t number, const Schema& schema) {
    return schema.format == "int32"
               ? Value(static_cast<std::int32_t>(static_cast<std::uint32_t>(number)))
               : Value(static_cast<std::int64_t>(number));
  }

  Value value(const WireField& wire, const Schema& schema, std::string_view name) {
    if (!is(wire, wire_type(schema), name)) {
      return {};
    }
    switch (schema.type) {
      case SchemaType::Boolean:
        return wire.scalar != 0;
      case SchemaType::Integer:
      case SchemaType::Duration:
        return integer(wire.scalar, schema);
      case SchemaType::Number:
        return std::bit_cast<double>(wire.scalar);
      case SchemaType::String:
        return wire.bytes;
      case SchemaType::Bytes:
        return base64_encode(wire.bytes);
      case SchemaType::Object:
        return message(wire.bytes, schema);
      case SchemaType::List:
        return wrapped_list(wire.bytes, *schema.items, name);
      case SchemaType::Time:
      case SchemaType::MicroTime:
        return time(wire.bytes, schema.type);
      case SchemaType::Quantity:
        return string_field(wire.bytes, 1);
      case SchemaType::IntOrString:
        return int_or_string(wire.bytes);
      case SchemaType::RawExtension:
      case SchemaType::Fields:
        return raw_json(string_field(wire.bytes, 1));
      case SchemaType::Any:
        return any(wire.bytes, schema);
    }
    return {};
  }

  // A list as the value of a map: a message of its own with the items in field 1.
  Value wrapped_list(std::string_view bytes, const Schema& items, std::string_view name) {
    Value list = Value::list();
    WireReader reader(bytes);
    WireField wire;
    while (error_.empty() && reader.next(wire)) {
      if (wire.number == 1) {
        list.push_back(value(wire, items, name));
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
    return list;
  }

  std::string_view string_field(std::string_view bytes, std::uint32_t number) {
    WireReader reader(bytes);
    WireField wire;
    std::string_view found;
    while (reader.next(wire)) {
      if (wire.number == number && wire.type == WireType::Bytes) {
        found = wire.bytes;
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
    return found;
  }

  std::int64_t varint_field(std::string_view bytes, std::uint32_t number) {
    WireReader reader(bytes);
    WireField wire;
    std::int64_t found = 0;
    while (reader.next(wire)) {
      if (wire.number == number && wire.type == WireType::Varint) {
        found = static_cast<std::int64_t>(wire.scalar);
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
    return found;
  }

  // {seconds, nanos}; the zero message is Go's zero time.
  Value time(std::string_view bytes, SchemaType type) {
    const std::int64_t seconds = varint_field(bytes, 1);
    const std::int64_t nanos = varint_field(bytes, 2);
    if (seconds == 0 && nanos == 0) {
      return {};
    }
    static constexpr std::int64_t kYear9999 = 253'402'300'799;
    static constexpr std::int64_t kYear1 = -62'135'596'800;
    if (seconds < kYear1 || seconds > kYear9999 || nanos < 0 || nanos > 999'999'999) {
      fail("time out of range");
      return {};
    }
    const Instant instant{std::chrono::seconds(seconds) + std::chrono::microseconds(nanos / 1000)};
    return type == SchemaType::Time ? format_time(instant) : format_micro_time(instant);
  }

  Value int_or_string(std::string_view bytes) {
    if (varint_field(bytes, 1) == 1) {
      return string_field(bytes, 3);
    }
    return static_cast<std::int32_t>(varint_field(bytes, 2));
  }

  Value raw_json(std::string_view raw) {
    if (raw.empty()) {
      return {};
    }
    Result<Value> parsed =
        is_envelope(raw) ? decode_envelope(raw, {}, nesting_ + 1) : json::parse(raw);
    if (!parsed.ok()) {
      fail(parsed.error().message);
      return {};
    }
    return *std::move(parsed);
  }

  Value any(std::string_view bytes, const Schema& schema) {
    const JsonUnion kind = json_union(schema);
    if (kind == JsonUnion::Json || kind == JsonUnion::None || schema.any_of.empty()) {
      return raw_json(string_field(bytes, 1));
    }
    const Schema& object = *schema.any_of.front();
    const std::uint32_t schema_number = kind == JsonUnion::SchemaOrBool ? 2 : 1;
    Value list = Value::list();
    Value found = kind == JsonUnion::SchemaOrBool ? Value(false) : Value();
    WireReader reader(bytes);
    WireField wire;
    while (error_.empty() && reader.next(wire)) {
      if (wire.number == schema_number && wire.type == WireType::Bytes) {
        found = message(wire.bytes, object);
      } else if (wire.number == 1 && !found.is_object()) {
        found = wire.scalar != 0;
      } else if (wire.number == 2 && wire.type == WireType::Bytes) {
        list.push_back(kind == JsonUnion::SchemaOrArray ? message(wire.bytes, object)
                                                        : Value(wire.bytes));
      }
    }
    if (reader.failed()) {
      fail("unexpected EOF");
    }
    return list.empty() ? found : list;
  }

  std::string error_{};
  int depth_ = 0;
  const int nesting_;
};

Error unrecognized(std::string_view kind, std::string_view why) {
  return Error::bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): {}", kind, why));
}

struct Envelope {
  std::string_view api_version{};
  std::string_view kind{};
  std::string_view raw{};
};

bool open(std::string_view body, Envelope& envelope) {
  WireReader reader(body.substr(kPrefix.size()));
  WireField wire;
  while (reader.next(wire)) {
    if (wire.type != WireType::Bytes) {
      continue;
    }
    if (wire.number == 2) {
      envelope.raw = wire.bytes;
    } else if (wire.number == 1) {
      WireReader meta(wire.bytes);
      WireField part;
      while (meta.next(part)) {
        if (part.number == 1 && part.type == WireType::Bytes) {
          envelope.api_version = part.bytes;
        } else if (part.number == 2 && part.type == WireType::Bytes) {
          envelope.kind = part.bytes;
        }
      }
      if (meta.failed()) {
        return false;
      }
    }
  }
  return !reader.failed();
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes.substr(0, 32)) {
    hex += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return hex;
}

Result<Value> decode_content(std::string_view bytes, const Schema& schema, int nesting) {
  Decoder decoder(nesting);
  Value value = decoder.message(bytes, schema);
  if (!decoder.error().empty()) {
    return Error::bad_request(decoder.error());
  }
  return value;
}

Value named(const Envelope& envelope, Value object) {
  if (!envelope.api_version.empty()) {
    object.set("apiVersion", envelope.api_version);
  }
  if (!envelope.kind.empty()) {
    object.set("kind", envelope.kind);
  }
  return object;
}

Result<Value> decode_envelope(std::string_view body, Expected expected, int nesting) {
  if (nesting > kMaxEnvelopes) {
    return unrecognized(expected.kind, "exceeded max depth");
  }
  if (!is_envelope(body)) {
    return unrecognized(expected.kind,
                        fmt::format("provided data does not appear to be a protobuf message, "
                                    "expected prefix [107 56 115 0] ({})",
                                    hex_of(body)));
  }
  Envelope envelope;
  if (!open(body, envelope)) {
    return unrecognized(expected.kind, "unexpected EOF");
  }
  const std::string_view api_version =
      envelope.api_version.empty() ? expected.api_version : envelope.api_version;
  const std::string_view kind = envelope.kind.empty() ? expected.kind : envelope.kind;
  const std::size_t slash = api_version.find('/');
  const bool grouped = slash != std::string_view::npos;
  const SchemaPtr schema =
      BuiltinTypes::get().by_kind(grouped ? api_version.substr(0, slash) : std::string_view(),
                                  grouped ? api_version.substr(slash + 1) : api_version, kind);
  if (schema == nullptr) {
    return Error::bad_request(fmt::format("no kind {} is registered for version {}", go_quote(kind),
                                          go_quote(api_version)));
  }
  if (!expected.kind.empty() && kind != expected.kind) {
    return named(envelope, Value::object());
  }
  Result<Value> object = decode_content(envelope.raw, *schema, nesting);
  if (!object.ok()) {
    return unrecognized(kind, object.error().message);
  }
  return named(envelope, *std::move(object));
}

}  // namespace

bool is_envelope(std::string_view body) {
  return body.starts_with(kPrefix);
}

Result<Value> decode_message(std::string_view bytes, const Schema& schema) {
  return decode_content(bytes, schema, 0);
}

Result<Value> decode(std::string_view body, Expected expected) {
  return decode_envelope(body, expected, 0);
}

}  // namespace athanor::protobuf
