// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "kube/names/field_error.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/schema/prune.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::apiserver {
namespace {

StatusError unrecognized(std::string_view must_be, std::string_view why) {
  return status::bad_request(
      fmt::format("the object provided is unrecognized (must be of type {}): {}", must_be, why));
}

std::string_view text_of(const Request& request) {
  const auto* text = std::get_if<std::string>(&request.body);
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::string api_version_of(const ExpectedBody& expected) {
  return expected.group.empty() ? std::string(expected.version)
                                : fmt::format("{}/{}", expected.group, expected.version);
}

bool same_group(std::string_view api_version, std::string_view group) {
  const std::size_t slash = api_version.find('/');
  return slash != std::string_view::npos && api_version.substr(0, slash) == group;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Whatever their case, kind and apiVersion are texts.
StatusResult<void> check_kind_types(const Value& object, std::string_view must_be) {
  for (const Member& member : object.members()) {
    for (const std::string_view field : {"kind", "apiVersion"}) {
      if (same_letters(member.key(), field) && !member.value.is_null() &&
          !member.value.is_string()) {
        return unrecognized(must_be, fmt::format("couldn't get version/kind; json parse error: {} "
                                                 "is no text",
                                                 field));
      }
    }
  }
  return {};
}

// The last member of that name, whatever its case.
std::string_view last_text(const Value& object, std::string_view field) {
  std::string_view text;
  for (const Member& member : object.members()) {
    if (same_letters(member.key(), field) && member.value.is_string()) {
      text = member.value.as_string();
    }
  }
  return text;
}

// Kind and apiVersion of a built-in body: absent ones come from the URL.
StatusResult<void> check_built_in_kind(Value& object, const ExpectedBody& expected) {
  ATHANOR_TRY_VOID(check_kind_types(object, expected.kind));
  const std::string api_version = api_version_of(expected);
  const std::string_view kind = last_text(object, "kind");
  const std::string_view version = last_text(object, "apiVersion");
  const bool other_kind = !kind.empty() && kind != expected.kind;
  const bool other_version = !version.empty() && version != api_version;
  if (other_version && !other_kind && same_group(version, expected.group)) {
    return status::bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, api_version));
  }
  if (other_kind || other_version) {
    const std::string named = kind.empty() ? std::string(expected.kind) : std::string(kind);
    const std::string shown = version.empty() ? api_version : std::string(version);
    return status::bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: converting ({}).{} to ({}).{}: unknown "
        "conversion",
        named, shown.substr(shown.rfind('/') + 1), expected.kind, shown, named, api_version,
        expected.kind));
  }
  if (kind.empty() || version.empty()) {
    object.set("kind", Value(expected.kind));
    object.set("apiVersion", Value(api_version));
  }
  return {};
}

// The start of an unrecognised body.
std::string summary(std::string_view body) {
  constexpr std::size_t kShown = 30;
  std::string text(body.substr(0, kShown));
  if (!body.starts_with('{')) {
    std::string hex;
    for (const char byte : text) {
      hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    text = std::move(hex);
  }
  return body.size() > kShown ? text + " ..." : text;
}

// Without field validation another decoder words the error.
StatusError kindless(const Call& call, FieldValidation validation, const Value& object) {
  const std::string_view sent = text_of(call.request);
  const ResourceInfo& resource = *call.resource;
  if (validation != FieldValidation::Ignore) {
    const std::string body = sent.empty() ? json::print(object) : std::string(sent);
    return unrecognized(resource.kind,
                        fmt::format("Object 'Kind' is missing in '{}' ({})", body, summary(body)));
  }
  const bool quoted = !sent.empty() && (sent.front() == '{' || sent == "null");
  const std::string body = quoted ? std::string(sent) : json::print(object);
  const std::string_view version = object["apiVersion"].as_string();
  return status::of(cannot_be_handled(
      resource.kind, version.empty() ? resource.version : version.substr(version.find('/') + 1),
      fmt::format("Object 'Kind' is missing in '{}'", body)));
}

// Metadata of a version that is none of the resource's is decoded before that is refused.
StatusResult<void> check_metadata(const ResourceInfo& resource, const Value& object) {
  const std::string_view version = object["apiVersion"].as_string();
  if (resource.schema == nullptr || !object.contains("metadata")) {
    return {};
  }
  const auto metadata = normalize_custom(
      Value::object({{"metadata", object["metadata"]}}), *resource.schema,
      {.kind = object["kind"].as_string(), .version = version.substr(version.find('/') + 1)});
  if (!metadata.ok()) {
    return status::of(metadata.error());
  }
  return {};
}

StatusResult<void> check_custom_kind(const Call& call, FieldValidation validation,
                                     const Value& object) {
  const ResourceInfo& resource = *call.resource;
  ATHANOR_TRY_VOID(check_kind_types(object, resource.kind));
  const std::string_view kind = object["kind"].as_string();
  const std::string_view version = object["apiVersion"].as_string();
  if (kind.empty()) {
    return kindless(call, validation, object);
  }
  if (version != resource.api_version()) {
    if (object.contains("apiVersion") && object["apiVersion"].is_null()) {
      return status::of(cannot_be_handled(
          kind, "", ".apiVersion accessor error: <nil> is of the type <nil>, expected string"));
    }
    ATHANOR_TRY_VOID(check_metadata(resource, object));
    return status::bad_request(
        fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                    version, resource.api_version()));
  }
  return {};
}

// A custom object of another kind is decoded all the same before it is refused; an update is
// compared with what is stored even before that (update.cpp).
StatusResult<void> check_same_kind(Call& call, const Value& object) {
  const ResourceInfo& resource = *call.resource;
  const std::string_view kind = object["kind"].as_string();
  if (kind != resource.kind && call.path.verb != "update") {
    std::string name = object["metadata"]["name"].str();
    if (const Value& prefix = object["metadata"]["generateName"];
        name.empty() && !prefix.as_string().empty()) {
      name = prefix.str() + call.entropy().name_suffix();  // it would have been called
    }
    return status::invalid(
        {.name = kind, .group = resource.group}, name,
        {FieldError::invalid("kind", Value(kind), fmt::format("must be {}", resource.kind))});
  }
  return {};
}

StatusResult<Value> of_result(Result<Value> result) {
  if (!result.ok()) {
    return status::of(result.error());
  }
  return *std::move(result);
}

}  // namespace

namespace {

// Returns the parser's issues; those of fields come after them.
FieldIssues issues_of(const Document& document) {
  FieldIssues issues;
  issues.duplicates = &document.duplicates;
  if (std::string sentence = repeated_keys_error(document); !sentence.empty()) {
    issues.texts.push_back(std::move(sentence));
  }
  return issues;
}

// A warning is one line.
std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text;
}

// A body of another version of the kind is decoded as what it says before it is refused.
StatusResult<void> check_other_version(Call& call, FieldValidation validation,
                                       const Document& document) {
  const Value& object = document.value;
  const Value& version = object["apiVersion"];
  const Value& kind = object["kind"];
  if (!version.is_string() || !kind.is_string() ||
      version.as_string() == call.resource->api_version() ||
      kind.as_string() != call.resource->kind) {
    return {};
  }
  const ResourceInfo* other = call.table->by_kind(version.as_string(), kind.as_string());
  if (other == nullptr || other->group != call.resource->group) {
    return {};
  }
  FieldIssues issues = issues_of(document);
  ATHANOR_TRY_VOID(normalize(*other, object, &issues));
  return report_issues(call, validation, issues, other->kind, other->version);
}

bool is_empty_map(const Value& value) {
  return value.is_object() && value.empty();
}

StatusResult<Document> parse_text(const Request& request, const BodyType& type,
                                  bool allow_protobuf) {
  Document document;
  ATHANOR_TRY(const BodyFormat format, body_format(request, allow_protobuf));
  const std::string_view text = text_of(request);
  if (text.size() > kBodyLimit) {
    return status::too_large(fmt::format("limit is {}", kBodyLimit));
  }
  Result<Value> parsed = Value();
  if (format == BodyFormat::Json) {
    parsed = json::parse(text, {.duplicates = &document.duplicates});
  } else if (format == BodyFormat::Yaml) {
    parsed = yaml::parse(text, {.repeated_keys = &document.repeated_keys});
  } else {
    parsed = protobuf::decode(text, {.api_version = type.api_version, .kind = type.kind});
  }
  if (!parsed.ok()) {
    if (format == BodyFormat::Protobuf && parsed.error().message.starts_with("the object")) {
      return status::bad_request(parsed.error().message);
    }
    return unrecognized(type.kind, parsed.error().message);
  }
  document.value = *std::move(parsed);
  return document;
}

}  // namespace

StatusResult<Document> parse_body(const Call& call, const BodyType& type, bool allow_protobuf) {
  Document document;
  if (const auto* value = std::get_if<Value>(&call.request.body)) {
    document.value = *value;
  } else {
    ATHANOR_TRY(document, parse_text(call.request, type, allow_protobuf));
  }
  if (document.value.is_null() && !type.kind.empty()) {
    document.value = Value::object();  // an object of which nothing is said
  }
  if (!document.value.is_object()) {
    return unrecognized(type.kind, "json: cannot unmarshal the document into an object");
  }
  return document;
}

StatusResult<void> report_issues(Call& call, FieldValidation validation, const FieldIssues& issues,
                                 std::string_view kind, std::string_view version) {
  if (issues.texts.empty() || validation == FieldValidation::Ignore) {
    return {};
  }
  if (validation == FieldValidation::Strict) {
    return status::of(strict_decoding_error(kind, version, issues));
  }
  for (const std::string& text : issues.texts) {
    call.warnings.push_back(one_line(text));
  }
  return {};
}

std::string repeated_keys_error(const Document& document) {
  return document.repeated_keys.empty() ? std::string()
                                        : fmt::format("yaml: unmarshal errors:\n  {}",
                                                      fmt::join(document.repeated_keys, "\n  "));
}

StatusResult<Value> normalize(const ResourceInfo& resource, const Value& object,
                              FieldIssues* issues, Nulls nulls) {
  if (resource.schema == nullptr) {
    return object;
  }
  const DecodedKind named{.kind = resource.kind, .version = resource.version};
  if (!resource.is_custom) {
    auto normal = normalize_builtin(object, *resource.schema, named, issues);
    if (normal.ok() && resource.storage == "nodes" &&
        is_empty_map(object["status"]["allocatable"])) {
      normal->set_path({"status", "allocatable"},
                       Value::object());  // says that there is nothing yet
    }
    return of_result(std::move(normal));
  }
  auto result = normalize_custom(object, *resource.schema, named, issues, nulls);
  if (issues != nullptr) {  // unknown fields come last, sorted
    const auto unknown = std::stable_partition(
        issues->texts.begin(), issues->texts.end(),
        [](const std::string& text) { return !text.starts_with("unknown field"); });
    std::sort(unknown, issues->texts.end());
  }
  return of_result(std::move(result));
}

StatusResult<Value> normalize_changed(const ResourceInfo& resource, const Value& base,
                                      const Value& object, FieldIssues* issues) {
  std::vector<Member> changed;
  bool shares = false;
  for (const Member& member : object.members()) {
    const Value* old = base.find(member.key());
    const bool same = old != nullptr && !member.value.is_null() && member.value.size() > 0 &&
                      old->identical(member.value);
    shares = shares || same;
    if (!same) {
      changed.push_back(member);
    }
  }
  if (!shares) {
    return normalize(resource, object, issues);
  }
  ATHANOR_TRY(const Value part, normalize(resource, Value::object(std::move(changed)), issues));
  Value result = object;
  for (const Member& member : object.members()) {
    const Value* old = base.find(member.key());
    const bool same = old != nullptr && !member.value.is_null() && member.value.size() > 0 &&
                      old->identical(member.value);
    if (!same && !part.contains(member.key())) {
      result.erase(member.key());
    }
  }
  for (const Member& member : part.members()) {
    const Value* present = object.find(member.key());
    const Value* old = base.find(member.key());
    if (present != nullptr && old != nullptr && present->size() > 0 && old->identical(*present)) {
      continue;  // added as always present while its member was left out
    }
    result.set(member.key(), member.value);
  }
  return result;
}

namespace {

// Of a custom object of another kind the metadata alone is decoded: the schema is not its own.
StatusResult<Value> decoded(const ResourceInfo& resource, const Value& sent, FieldIssues& issues) {
  if (!resource.is_custom || sent["kind"].as_string() == resource.kind) {
    return normalize(resource, sent, &issues);
  }
  Value object = sent;
  if (sent.contains("metadata")) {
    ATHANOR_TRY(const Value part,
                normalize(resource, Value::object({{"metadata", sent["metadata"]}}), &issues));
    object.set("metadata", part["metadata"]);
  }
  return object;
}

}  // namespace

StatusResult<Value> decode_object(Call& call, const WriteOptions& options) {
  const ResourceInfo& resource = *call.resource;
  const std::string api_version = resource.api_version();
  ATHANOR_TRY(
      Document document,
      parse_body(call, {.api_version = api_version, .kind = resource.kind}, !resource.is_custom));
  ATHANOR_TRY_VOID(check_other_version(call, options.validation, document));
  if (resource.is_custom) {
    ATHANOR_TRY_VOID(check_custom_kind(call, options.validation, document.value));
  } else {
    ATHANOR_TRY_VOID(check_built_in_kind(
        document.value,
        {.group = resource.group, .version = resource.version, .kind = resource.kind}));
  }
  if (resource.is_custom && resource.schema != nullptr && is_trusted(call)) {
    return of_result(default_custom(document.value, *resource.schema));
  }
  FieldIssues issues = issues_of(document);
  ATHANOR_TRY(Value object, decoded(resource, document.value, issues));
  if (resource.is_custom) {
    ATHANOR_TRY_VOID(check_same_kind(call, object));
  }
  ATHANOR_TRY_VOID(
      report_issues(call, options.validation, issues, resource.kind, resource.version));
  return object;
}

StatusResult<Value> read_body(Call& call, const ExpectedBody& expected) {
  const std::string api_version = api_version_of(expected);
  ATHANOR_TRY(Document document,
              parse_body(call, {.api_version = api_version, .kind = expected.kind}, true));
  ATHANOR_TRY_VOID(check_built_in_kind(document.value, expected));
  if (expected.schema == nullptr) {
    return document.value;
  }
  FieldIssues issues = issues_of(document);
  ATHANOR_TRY(Value object, of_result(normalize_builtin(
                                document.value, *expected.schema,
                                {.kind = expected.kind, .version = expected.version}, &issues)));
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "CreateOptions"));
  ATHANOR_TRY_VOID(
      report_issues(call, options.validation, issues, expected.kind, expected.version));
  return object;
}

}  // namespace athanor::apiserver
