// SPDX-License-Identifier: Apache-2.0
#include "kube/protobuf.hpp"

#include "kube/json.hpp"
#include "kube/prune.hpp"
#include "kube/resources.hpp"
#include "kube/types.hpp"

namespace athanor::protobuf {
namespace {

Value parse(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::move(value).value();
}

// Wire bytes written by hand, apart from the code under test. Lengths and numbers below 128.
std::string bytes(int number, const std::string& content) {
  EXPECT_LT(content.size(), 128U);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}
std::string varint(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string envelope(const std::string& api_version, const std::string& kind,
                     const std::string& raw) {
  std::string out("k8s\0", 4);
  out += bytes(1, bytes(1, api_version) + bytes(2, kind));
  out += "\x12";
  if (raw.size() >= 128) {
    out += static_cast<char>((raw.size() & 0x7F) | 0x80);
    out += static_cast<char>(raw.size() >> 7);
  } else {
    out += static_cast<char>(raw.size());
  }
  return out + raw + bytes(3, "") + bytes(4, "");
}

// ObjectMeta as Go writes it: every non-pointer field, set or not.
std::string go_metadata(const std::string& name) {
  return bytes(1, name) + bytes(2, "") + bytes(3, "") + bytes(4, "") + bytes(5, "") + bytes(6, "") +
         varint(7, 0) + bytes(8, "");
}

TEST(ProtobufDecode, ReadsAConfigMapAsGoWritesIt) {
  const std::string body =
      envelope("v1", "ConfigMap",
               bytes(1, go_metadata("a")) + bytes(2, bytes(1, "k") + bytes(2, "v")) +
                   bytes(3, bytes(1, "b") + bytes(2, std::string("\x00\xff", 2))));
  const Result<Value> object = decode(body, {.api_version = "v1", .kind = "ConfigMap"});
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(*object, parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                               "data":{"k":"v"},"binaryData":{"b":"AP8="}})"))
      << json::print(*object);
}

std::string go_deployment() {
  const std::string container = bytes(1, "c") + bytes(2, "nginx") + bytes(5, "") + bytes(8, "") +
                                bytes(13, "") + bytes(14, "") +
                                std::string("\x80\x01\x00\x88\x01\x00\x90\x01\x00", 9);
  const std::string pod_spec = bytes(2, container) + bytes(3, "") + bytes(6, "") + varint(11, 0) +
                               bytes(15, bytes(1, "pull"));
  const std::string spec =
      varint(1, 0) + bytes(2, bytes(1, bytes(1, "app") + bytes(2, "d"))) +
      bytes(3, bytes(1, "") + bytes(2, pod_spec)) +
      bytes(4, bytes(1, "RollingUpdate") +
                   bytes(2, bytes(1, varint(1, 1) + varint(2, 0) + bytes(3, "25%")) +
                                bytes(2, varint(1, 0) + varint(2, 3) + bytes(3, "")))) +
      varint(5, 0) + varint(7, 0);
  return bytes(1, bytes(1, "d") + bytes(8, varint(1, 5) + varint(2, 0))) + "\x12" +
         static_cast<char>((spec.size() & 0x7F) | 0x80) + static_cast<char>(spec.size() >> 7) +
         spec + bytes(3, varint(1, 0));
}

TEST(ProtobufDecode, ReadsADeploymentAsGoWritesIt) {
  const Result<Value> object = decode(envelope("apps/v1", "Deployment", go_deployment()), {});
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(*object, parse(R"({"apiVersion":"apps/v1","kind":"Deployment",
                "metadata":{"name":"d","creationTimestamp":"1970-01-01T00:00:05Z"},
                "spec":{"replicas":0,"selector":{"matchLabels":{"app":"d"}},
                  "strategy":{"type":"RollingUpdate",
                              "rollingUpdate":{"maxUnavailable":"25%","maxSurge":3}},
                  "template":{"metadata":{},"spec":{"imagePullSecrets":[{"name":"pull"}],
                    "containers":[{"name":"c","image":"nginx","resources":{}}]}}},
                "status":{}})"))
      << json::print(*object);
}

TEST(ProtobufDecode, FlatJsonComesFromEmbeddedMessages) {
  // Volume{name 1, source 2 {emptyDir 2 {medium 1}}}
  const SchemaPtr volume = BuiltinTypes::get().by_name("core.v1.Volume");
  const Result<Value> value =
      decode_message(bytes(1, "v") + bytes(2, bytes(2, bytes(1, "Memory"))), *volume);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, parse(R"({"name":"v","emptyDir":{"medium":"Memory"}})"));
}

TEST(ProtobufDecode, TakesTheTypeFromTheRequestWhenTheBodyNamesNone) {
  const std::string body =
      std::string("k8s\0", 4) + bytes(1, "") + bytes(2, bytes(1, go_metadata("a")));
  const Result<Value> object = decode(body, {.api_version = "v1", .kind = "ConfigMap"});
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(*object, parse(R"({"metadata":{"name":"a"}})"));
}

TEST(ProtobufDecode, RefusesWhatIsNoEnvelope) {
  const Result<Value> object = decode("{}", {.api_version = "v1", .kind = "ConfigMap"});
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, 400);
  EXPECT_EQ(object.error().message,
            "the object provided is unrecognized (must be of type ConfigMap): provided data does "
            "not appear to be a protobuf message, expected prefix [107 56 115 0] (7b7d)");
}

TEST(ProtobufDecode, RefusesMalformedMessages) {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.ConfigMap");
  for (const std::string& raw : {
           std::string("\x0a\x05x"),  // length beyond the end
           std::string("\x0a"),       // length missing
           std::string("\x0b"),       // a group
           varint(1, 3),              // metadata as a number
           std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
           bytes(2, "\x0a"),  // broken map entry
       }) {
    EXPECT_FALSE(decode_message(raw, *schema).ok());
  }
  EXPECT_FALSE(decode(envelope("v9", "Nothing", ""), {}).ok());
}

TEST(ProtobufDecode, ReadsPackedNumbersToo) {
  const SchemaPtr security = BuiltinTypes::get().by_name("core.v1.PodSecurityContext");
  const Value expected = parse(R"({"supplementalGroups":[1,300]})");
  for (const std::string& raw :
       {bytes(4, "\x01\xac\x02"), varint(4, 1) + std::string("\x20\xac\x02")}) {
    const Result<Value> value = decode_message(raw, *security);
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(*value, expected);
  }
}

TEST(ProtobufDecode, SkipsUnknownFields) {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.ConfigMap");
  const Result<Value> value =
      decode_message(varint(15, 1) + bytes(14, "x") + bytes(1, bytes(1, "a")), *schema);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, parse(R"({"metadata":{"name":"a"}})"));
}

TEST(ProtobufEncode, WritesAConfigMap) {
  const Result<std::string> body =
      encode(parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
                "data":{"z":"1","k":"v"},"immutable":false})"));
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(*body, envelope("v1", "ConfigMap",
                            bytes(1, bytes(1, "a")) + bytes(2, bytes(1, "k") + bytes(2, "v")) +
                                bytes(2, bytes(1, "z") + bytes(2, "1")) + varint(4, 0)));
}

TEST(ProtobufEncode, WritesADeploymentThatGoReads) {
  const Value object = parse(R"({"apiVersion":"apps/v1","kind":"Deployment",
      "metadata":{"name":"d","creationTimestamp":"1970-01-01T00:00:05Z"},
      "spec":{"replicas":2,"strategy":{"rollingUpdate":{"maxSurge":3}},
              "template":{"metadata":{},"spec":{"containers":[{"name":"c"}]}}}})");
  const Result<std::string> body = encode(object);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(
      *body,
      envelope(
          "apps/v1", "Deployment",
          bytes(1, bytes(1, "d") + bytes(8, varint(1, 5) + varint(2, 0))) +
              bytes(2,
                    varint(1, 2) + bytes(3, bytes(1, "") + bytes(2, bytes(2, bytes(1, "c")))) +
                        bytes(4, bytes(2, bytes(2, varint(1, 0) + varint(2, 3) + bytes(3, "")))))));
}

TEST(ProtobufEncode, FramesWatchEvents) {
  const Value object = parse(R"({"apiVersion":"v1","kind":"ConfigMap"})");
  const Result<std::string> frame = encode_watch_frame("ADDED", object);
  ASSERT_TRUE(frame.ok());
  const std::string event = bytes(1, "ADDED") + bytes(2, bytes(1, *encode(object)));
  EXPECT_EQ(*frame, std::string("\0\0\0", 3) + static_cast<char>(event.size()) + event);
}

TEST(ProtobufEncode, HasNoFormForCustomResources) {
  const Result<std::string> body = encode(parse(R"({"apiVersion":"ex.com/v1","kind":"Widget"})"));
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().code, 406);
}

// A value of the type with every field set, down to `depth` levels of structs.
Value sample(const Schema& schema, int depth, int& counter) {
  ++counter;
  switch (schema.type) {
    case SchemaType::String:
      return "s" + std::to_string(counter);
    case SchemaType::Boolean:
      return true;
    case SchemaType::Integer:
      return -counter;
    case SchemaType::Number:
      return counter + 0.5;
    case SchemaType::Bytes:
      return "AP8=";
    case SchemaType::Quantity:
      return std::to_string(counter) + "Gi";
    case SchemaType::Time:
      return "2026-11-20T10:20:35Z";
    case SchemaType::MicroTime:
      return "2026-11-20T10:20:35.123456Z";
    case SchemaType::IntOrString:
      return counter % 2 == 0 ? Value(counter) : Value("25%");
    case SchemaType::Duration:
      return counter;
    case SchemaType::RawExtension:
    case SchemaType::Fields:
      return Value::object({{"f:x", Value::object()}});
    case SchemaType::Any:
      if (!schema.any_of.empty() && depth > 0) {
        return sample(*schema.any_of.front(), depth - 1, counter);
      }
      return schema.any_of.empty() ? Value(counter) : Value::object({{"type", "string"}});
    case SchemaType::List: {
      Value list = Value::list();
      for (int i = 0; i < (depth > 0 ? 2 : 1); ++i) {
        list.push_back(sample(*schema.items, depth - 1, counter));
      }
      return list;
    }
    case SchemaType::Object: {
      Value object = Value::object();
      if (schema.additional != nullptr) {
        object.set("key-a", sample(*schema.additional, depth - 1, counter));
        return object.set("key-b", sample(*schema.additional, depth - 1, counter));
      }
      for (const SchemaField& field : schema.fields) {
        const bool nested = field.schema->type == SchemaType::Object ||
                            field.schema->type == SchemaType::List ||
                            field.schema->type == SchemaType::Any;
        if (!field.proto.empty() && (!nested || depth > 0)) {
          object.set(field.name, sample(*field.schema, depth - 1, counter));
        }
      }
      return object;
    }
  }
  return {};
}

class EveryKind : public testing::TestWithParam<int> {};

TEST_P(EveryKind, SurvivesARoundTrip) {
  for (const BuiltinResource& resource : builtin_resources()) {
    const SchemaPtr schema =
        BuiltinTypes::get().by_kind(resource.group, resource.version, resource.kind);
    ASSERT_NE(schema, nullptr);
    int counter = 0;
    Value object = sample(*schema, GetParam(), counter);
    object.set("apiVersion",
               resource.group.empty() ? resource.version : resource.group + "/" + resource.version);
    object.set("kind", resource.kind);
    Result<Value> normal = normalize_builtin(object, *schema, {.kind = resource.kind});
    ASSERT_TRUE(normal.ok()) << normal.error().message;
    const Result<std::string> body = encode(*normal);
    ASSERT_TRUE(body.ok()) << body.error().message;
    const Result<Value> decoded = decode(*body, {});
    ASSERT_TRUE(decoded.ok()) << resource.kind << ": " << decoded.error().message;
    const Result<Value> again = normalize_builtin(*decoded, *schema, {.kind = resource.kind});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, *normal) << json::print(*again) << "\n" << json::print(*normal);
  }
}

INSTANTIATE_TEST_SUITE_P(Depths, EveryKind, testing::Values(1, 3, 6));

}  // namespace
}  // namespace athanor::protobuf
