// SPDX-License-Identifier: Apache-2.0
#include "kube/protobuf/protobuf.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "kube/schema/prune.hpp"
#include "kube/schema/resources.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"
#include "support/growth.hpp"
#include "support/sample_object.hpp"

namespace athanor::protobuf::protobuf_test {
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

// Bodies that kubectl's generators sent (create configmap, deployment, job, quota, role, cronjob,
// pdb).
TEST(ProtobufDecode, ReadsBodiesOfKubectl) {
  const struct {
    std::string_view hex, object;
  } cases[] = {
      {"6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a016112001a0022002a003200"
       "3800420012060a016b1201761a002200",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}})"},
      {"6b3873000a150a07617070732f7631120a4465706c6f796d656e7412b0010a1b0a016412001a"
       "0022002a003200380042005a080a036170701201641282010802120a0a080a03617070120164"
       "1a6a0a1a0a0012001a0022002a003200380042005a080a03617070120164124c122e0a056e67"
       "696e7812056e67696e782a00320a0a001000185022002a0042006a0072008001008801009001"
       "00a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a002800"
       "38001a0c0800100018002000280038001a002200",
       R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"app":"d"}},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"d"}},"strategy":{},"template":{"metadata":{"labels":{"app":"d"}},"spec":{"containers":[{"name":"nginx","image":"nginx","ports":[{"containerPort":80}],"resources":{}}]}}},"status":{}})"},
      {"6b3873000a0f0a0862617463682f763112034a6f621282010a110a016a12001a0022002a0032"
       "0038004200126332610a100a0012001a0022002a00320038004200124d122a0a016a12076275"
       "7379626f781a046563686f1a0268692a0042006a007200800100880100900100a201001a054e"
       "65766572320042004a0052005800600068008201008a01009a0100c201001a08200028003000"
       "3a001a002200",
       R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"j","image":"busybox","command":["echo","hi"],"resources":{}}],"restartPolicy":"Never"}}},"status":{}})"},
      {"6b3873000a130a027631120d5265736f7572636551756f746112300a110a017112001a002200"
       "2a0032003800420012190a0a0a0363707512030a01310a0b0a04706f647312030a01321a001a"
       "002200",
       R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"cpu":"1","pods":"2"}},"status":{}})"},
      {"6b3873000a240a1c726261632e617574686f72697a6174696f6e2e6b38732e696f2f76311204"
       "526f6c6512220a110a017212001a0022002a00320038004200120d0a0367657412001a04706f"
       "64731a002200",
       R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})"},
      {"6b3873000a130a0862617463682f7631120743726f6e4a6f621292010a110a016312001a0022"
       "002a00320038004200127b0a092a202a202a202a202a1a002a6c0a110a016312001a0022002a"
       "00320038004200125732550a100a0012001a0022002a003200380042001241121a0a01631201"
       "622a0042006a007200800100880100900100a201001a094f6e4661696c757265320042004a00"
       "52005800600068008201008a01009a0100c201001a001a002200",
       R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"c"},"spec":{"schedule":"* * * * *","jobTemplate":{"metadata":{"name":"c"},"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"c","image":"b","resources":{}}],"restartPolicy":"OnFailure"}}}}},"status":{}})"},
      {"6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e427564676574"
       "12360a110a017012001a0022002a0032003800420012150a09080110001a0335302512080a06"
       "0a01611201621a0a080018002000280030001a002200",
       R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"}}},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}})"},
  };
  for (const auto& c : cases) {
    std::string body;
    for (std::size_t i = 0; i < c.hex.size(); i += 2) {
      body += static_cast<char>(std::stoi(std::string(c.hex.substr(i, 2)), nullptr, 16));
    }
    const Result<Value> object = decode(body, {});
    ASSERT_TRUE(object.ok()) << object.error().message;
    EXPECT_EQ(*object, parse(c.object)) << json::print(*object);
    EXPECT_EQ(*decode(*encode(*object), {}), *object);
  }
}

TEST(ProtobufDecode, FlatJsonComesFromEmbeddedMessages) {
  // Volume{name 1, source 2 {emptyDir 2 {medium 1}}}
  const SchemaPtr volume = BuiltinTypes::get().by_name("core.v1.Volume");
  const Result<Value> value =
      decode_message(bytes(1, "v") + bytes(2, bytes(2, bytes(1, "Memory"))), *volume);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, parse(R"({"name":"v","emptyDir":{"medium":"Memory"}})"));
}

TEST(ProtobufDecode, TakesTypeFromRequestForUntypedBody) {
  const std::string body =
      std::string("k8s\0", 4) + bytes(1, "") + bytes(2, bytes(1, go_metadata("a")));
  const Result<Value> object = decode(body, {.api_version = "v1", .kind = "ConfigMap"});
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(*object, parse(R"({"metadata":{"name":"a"}})"));
}

TEST(ProtobufDecode, RefusesBodiesWithoutEnvelope) {
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

std::string with_length(char tag, const std::string& content) {
  std::string out{tag};
  std::size_t size = content.size();
  for (; size >= 128; size >>= 7) {
    out += static_cast<char>((size & 0x7F) | 0x80);
  }
  out += static_cast<char>(size);
  return out + content;
}

// ControllerRevisions, each the data of the one around it; the innermost holds {}.
std::string nested_revisions(int count) {
  std::string content = "{}";
  for (int i = 0; i < count; ++i) {
    content = std::string("k8s\0", 4) +
              with_length('\x0a', bytes(1, "apps/v1") + bytes(2, "ControllerRevision")) +
              with_length('\x12', with_length('\x12', with_length('\x0a', content)));
  }
  return content;
}

TEST(ProtobufDecode, BoundsEnvelopesWithinEnvelopes) {
  constexpr Expected kRevision{.api_version = "apps/v1", .kind = "ControllerRevision"};
  const auto shallow = decode(nested_revisions(4), kRevision);
  ASSERT_TRUE(shallow.ok()) << shallow.error().message;
  EXPECT_EQ(shallow->at({"data", "data", "data", "kind"}), Value("ControllerRevision"));
  for (const int levels : {5, 6, 3000}) {
    const auto deep = decode(nested_revisions(levels), kRevision);
    ASSERT_FALSE(deep.ok()) << levels;
    EXPECT_EQ(deep.error().code, 400);
  }
}

TEST(ProtobufDecode, LooksAtTheKindBeforeTheContent) {
  const auto other = decode(envelope("apps/v1", "ControllerRevision", "\x0a\x05x"),
                            {.api_version = "v1", .kind = "ConfigMap"});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(*other, parse(R"({"apiVersion":"apps/v1","kind":"ControllerRevision"})"));
}

TEST(ProtobufDecode, KeepsTheLastOfRepeatedMapEntries) {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.ConfigMap");
  const auto entry = [](const std::string& key, const std::string& value) {
    return bytes(2, bytes(1, key) + bytes(2, value));
  };
  const auto map = decode_message(entry("a", "1") + entry("b", "2") + entry("a", "3"), *schema);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(json::print((*map)["data"]), R"({"a":"3","b":"2"})");
}

// Four times as many take four times as long, sixteen if each entry looks at all others.
TEST(ProtobufDecode, ManyMapEntriesCostNoMoreEach) {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.ConfigMap");
  const auto time_of = [&](std::size_t count) {
    std::string raw;
    for (std::size_t i = count; i > 0; --i) {
      raw += bytes(2, bytes(1, "k" + std::to_string(i)) + bytes(2, "v"));
    }
    const auto start = std::chrono::steady_clock::now();
    const auto map = decode_message(raw, *schema);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_TRUE(map.ok() && (*map)["data"].size() == count);
    return took.count();
  };
  EXPECT_LT(growth(time_of, 20'000), kLinear);
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

class EveryKind : public testing::TestWithParam<int> {};

TEST_P(EveryKind, SurvivesARoundTrip) {
  for (const BuiltinResource& resource : builtin_resources()) {
    const SchemaPtr schema =
        BuiltinTypes::get().by_kind(resource.group, resource.version, resource.kind);
    ASSERT_NE(schema, nullptr);
    int counter = 0;
    Value object = test::sample_object(*schema, GetParam(), counter);
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
}  // namespace athanor::protobuf::protobuf_test
