// SPDX-License-Identifier: Apache-2.0
// Content negotiation: the form a client accepts (docs/spec/apiserver.md 5.1) and the form of its
// body (5.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/status_error.hpp"

namespace athanor::apiserver {

// The encoding of a response.
enum class Encoding : std::uint8_t { Json, Yaml, Protobuf };
// The form of the objects in it.
enum class Shape : std::uint8_t { Whole, Table, Metadata, MetadataList };

// The form that a client accepts.
struct Accepted {
  Encoding encoding = Encoding::Json;
  Shape shape = Shape::Whole;
  std::string meta_version = "v1";  // of Table and PartialObjectMetadata: v1 or v1beta1
  friend bool operator==(const Accepted&, const Accepted&) = default;
};

// Which transformed shapes an endpoint offers.
struct Offer {
  bool transforms = true;   // PartialObjectMetadata, and Table
  bool table = true;        // not of what is only posted
  bool watch = false;       // frames: no YAML
  bool custom = false;      // a custom resource: protobuf for its metadata alone
  bool collection = false;  // of objects: may be watched, too
};

// Media type of Kubernetes' protobuf envelope.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// Negotiates the form of the answer. Error NotAcceptable (406): no element fits.
StatusResult<Accepted> negotiate(const Request& request, const Offer& offer);
// Returns the form of a Status: the first one that fits, else JSON.
Encoding negotiate_error(const Request& request, bool custom);
// Returns "application/json", ...
std::string_view content_type_of(Encoding encoding);

// Checks for ?pretty=, or a browser or command-line fetcher that does not set it (2.6).
bool wants_pretty(const Request& request);

// Checks whether the client takes compressed bodies (2.5).
bool accepts_gzip(const Request& request);

// The encoding of a request's body.
enum class BodyFormat : std::uint8_t { Json, Yaml, Protobuf };
// Returns the type of a body of POST, PUT and DELETE; UnsupportedMediaType (415) otherwise. Custom
// resources have no protobuf.
StatusResult<BodyFormat> body_format(const Request& request, bool allow_protobuf);

// Returns the media type of a header value without its parameters, in lower case.
std::string media_type(std::string_view header_value);

}  // namespace athanor::apiserver
