// SPDX-License-Identifier: Apache-2.0
// Envelopes and bare messages of built-in types; what decodes is encoded to the same again.
#include "fuzz/fuzz.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto bytes = fuzz::text_of(data, size);
  const auto object = protobuf::decode(bytes, {.api_version = "v1", .kind = "Pod"});
  if (object.ok()) {
    if (const auto encoded = protobuf::encode(*object); encoded.ok()) {
      const auto again = protobuf::decode(*encoded, {});
      ATHANOR_CHECK(again.ok(), "what was encoded decodes");
      const auto stable = protobuf::encode(*again);
      ATHANOR_CHECK(stable.ok() && *stable == *encoded, "encoding is stable");
    }
  }
  static const Schema& pod = *BuiltinTypes::get().by_name("core.v1.Pod");
  if (const auto message = protobuf::decode_message(bytes, pod); message.ok()) {
    protobuf::encode_message(*message, pod);
  }
  return 0;
}
