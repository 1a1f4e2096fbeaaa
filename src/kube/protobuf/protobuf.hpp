// SPDX-License-Identifier: Apache-2.0
// Kubernetes' protobuf form of built-in objects, driven by the field numbers of the schemas
// (docs/spec/apiserver.md 5.3).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::protobuf {

// Returns true if the body starts as an envelope does ("k8s\0").
bool is_envelope(std::string_view body);

// What a body without apiVersion and kind is read as.
struct Expected {
  std::string_view api_version{};
  std::string_view kind{};
};

// Decodes the object in an envelope, apiVersion and kind included; its own type decides, `expected`
// where it names none. An object of another kind than `expected` names comes with its type alone:
// it will be refused, whatever is in it. Unknown fields are skipped; zero values of fields without
// presence are absent. BadRequest for a wrong prefix (with the text of 5.3), a type without schema,
// malformed bytes, envelopes nested too deep.
Result<Value> decode(std::string_view body, Expected expected);
// Decodes a message without envelope. BadRequest for malformed bytes.
Result<Value> decode_message(std::string_view bytes, const Schema& schema);

// Encodes an object with apiVersion and kind as an envelope; NotAcceptable (406) when its type is
// no built-in one. Does not write fields that the object does not have.
Result<std::string> encode(const Value& object);
std::string encode_message(const Value& value, const Schema& schema);
// Encodes one frame of a watch: length and WatchEvent; `type` is ADDED, MODIFIED, ...
Result<std::string> encode_watch_frame(std::string_view type, const Value& object);

}  // namespace athanor::protobuf
