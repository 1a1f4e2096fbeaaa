// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/negotiate.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "base/ascii.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kOffered =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kOfferedCustom = "application/json, application/yaml";
constexpr std::string_view kOfferedWatch =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

struct Element {
  std::string type{};
  std::map<std::string, std::string, std::less<>> parameters{};
  double quality = 1;
};

Element parse_element(std::string_view text) {
  Element element;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = trimmed(text.substr(0, end), " \t");
    text.remove_prefix(std::min(end + 1, text.size()));
    if (first) {
      element.type = lower(part);
      first = false;
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string name = lower(trimmed(part.substr(0, equals), " \t"));
    std::string value(trimmed(part.substr(equals + 1), " \t"));
    if (name == "q") {
      element.quality = std::strtod(value.c_str(), nullptr);
    } else {
      element.parameters[name] = std::move(value);
    }
  }
  return element;
}

// In the client's order: by quality, then position.
std::vector<Element> parse_accept(std::string_view header) {
  std::vector<Element> elements;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(','), header.size());
    if (const std::string_view part = trimmed(header.substr(0, end), " \t"); !part.empty()) {
      elements.push_back(parse_element(part));
    }
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  std::stable_sort(elements.begin(), elements.end(),
                   [](const Element& a, const Element& b) { return a.quality > b.quality; });
  return elements;
}

std::optional<Encoding> encoding_of(const Element& element, const Offer& offer) {
  if (element.type == "application/json" || element.type == "*/*" ||
      element.type == "application/*") {
    return Encoding::Json;
  }
  if (element.type == "application/yaml" && !offer.watch) {
    return Encoding::Yaml;
  }
  if (element.type == kProtobufType) {
    return Encoding::Protobuf;
  }
  return std::nullopt;
}

// A Table has no protobuf form here, a custom resource none at all.
bool has_protobuf(const Offer& offer, Shape shape) {
  const bool metadata = shape == Shape::Metadata || shape == Shape::MetadataList;
  return metadata || (shape == Shape::Whole && !offer.custom);
}

// False when the element asks for a transformation that is not offered.
bool read_shape(const Element& element, const Offer& offer, Accepted& accepted) {
  const auto as = element.parameters.find("as");
  if (as == element.parameters.end()) {
    return true;
  }
  const auto group = element.parameters.find("g");
  const auto version = element.parameters.find("v");
  if (!offer.transforms || group == element.parameters.end() || group->second != "meta.k8s.io" ||
      version == element.parameters.end() ||
      (version->second != "v1" && version->second != "v1beta1")) {
    return false;
  }
  accepted.meta_version = version->second;
  if (as->second == "Table" && offer.table) {
    accepted.shape = Shape::Table;
  } else if (as->second == "PartialObjectMetadata") {
    accepted.shape = Shape::Metadata;
  } else if (as->second == "PartialObjectMetadataList") {
    accepted.shape = Shape::MetadataList;
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool accepts_gzip(const Request& request) {
  return request.header_list("accept-encoding").find("gzip") != std::string::npos;
}

bool wants_pretty(const Request& request) {
  if (const auto pretty = request.parameter("pretty")) {
    return *pretty == "1" || *pretty == "true";
  }
  const std::string_view agent = request.header("user-agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

StatusResult<Accepted> negotiate(const Request& request, const Offer& offer) {
  Accepted accepted;
  const std::string header = request.header_list("accept");
  if (request.credentials.internal_user && header.empty()) {
    return accepted;
  }
  const std::vector<Element> elements = parse_accept(header);
  if (elements.empty()) {
    return accepted;
  }
  for (const Element& element : elements) {
    const std::optional<Encoding> encoding = encoding_of(element, offer);
    if (!encoding || element.quality <= 0) {
      continue;
    }
    Accepted candidate = accepted;
    candidate.encoding = *encoding;
    if (read_shape(element, offer, candidate) &&
        (candidate.encoding != Encoding::Protobuf || has_protobuf(offer, candidate.shape))) {
      return candidate;
    }
  }
  // A type that is offered, only not in that shape.
  const bool known = std::ranges::any_of(elements, [&](const Element& element) {
    return encoding_of(element, offer) && element.parameters.contains("as");
  });
  if (offer.custom || known) {
    return status::not_acceptable(kOffered);
  }
  std::string available(kOffered);
  if (offer.watch || offer.collection) {
    available += ", " + std::string(kOfferedWatch);
  }
  return status::no_representation(available);
}

Encoding negotiate_error(const Request& request, bool custom) {
  const auto accepted = negotiate(request, {.transforms = false, .watch = false, .custom = custom});
  return accepted.ok() ? accepted->encoding : Encoding::Json;
}

std::string_view content_type_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::Json:
      return "application/json";
    case Encoding::Yaml:
      return "application/yaml";
    case Encoding::Protobuf:
      return kProtobufType;
  }
  return "application/json";
}

StatusResult<BodyFormat> body_format(const Request& request, bool allow_protobuf) {
  const std::string type = media_type(request.header("content-type"));
  if (type.empty() || type == "application/json") {
    return BodyFormat::Json;
  }
  if (type == "application/yaml") {
    return BodyFormat::Yaml;
  }
  if (type == kProtobufType && allow_protobuf) {
    return BodyFormat::Protobuf;
  }
  return status::unsupported_media_type(allow_protobuf ? kOffered : kOfferedCustom);
}

std::string media_type(std::string_view header_value) {
  return lower(trimmed(header_value.substr(0, header_value.find(';')), " \t"));
}

}  // namespace athanor::apiserver
