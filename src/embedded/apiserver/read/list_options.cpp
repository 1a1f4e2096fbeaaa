// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/list_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/digest.hpp"
#include "kube/names/field_error.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr Qualified kKind{.name = "ListOptions", .group = "meta.k8s.io"};

std::string number_error(std::string_view function, std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  return fmt::format("strconv.{}: parsing {}: {}", function, go_quote(text),
                     digits ? "value out of range" : "invalid syntax");
}

StatusResult<std::int64_t> parse_signed(std::string_view text) {
  std::int64_t number = 0;
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return status::bad_request(number_error("ParseInt", text));
  }
  return number;
}

bool parse_flag(std::string_view text) {
  return text != "false" && text != "0" && text != "False" && text != "FALSE" && text != "f" &&
         text != "F";
}

StatusError refusal(FieldError error) {
  return status::invalid(kKind, "", {std::move(error)});
}

// What is wrong with the options of a list, all at once.
StatusResult<void> check_list_match(const Request& request) {
  const auto text_of = [&](std::string_view name) { return request.parameter(name).value_or(""); };
  const std::string_view match = text_of("resourceVersionMatch");
  const std::string_view version = text_of("resourceVersion");
  std::vector<FieldError> errors;
  if (!match.empty() && version.empty()) {
    errors.push_back(FieldError::forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!match.empty() && !text_of("continue").empty()) {
    errors.push_back(FieldError::forbidden(
        "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    errors.push_back(FieldError::not_supported("resourceVersionMatch", Value(match),
                                               {"Exact", "NotOlderThan", ""}));
  }
  if (match == "Exact" && version == "0") {
    errors.push_back(
        FieldError::forbidden("resourceVersionMatch",
                              "resourceVersionMatch \"exact\" is forbidden for resourceVersion "
                              "\"0\""));
  }
  if (!text_of("sendInitialEvents").empty()) {
    errors.push_back(
        FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (errors.empty()) {
    return {};
  }
  return status::invalid(kKind, "", errors);
}

StatusResult<void> check_watch_match(const ListOptions& options) {
  if (options.send_initial_events && options.match != VersionMatch::NotOlderThan) {
    return refusal(FieldError::forbidden(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (options.match != VersionMatch::Unset && !options.send_initial_events) {
    return refusal(FieldError::forbidden("resourceVersionMatch",
                                         "resourceVersionMatch is forbidden for watch unless "
                                         "sendInitialEvents is provided"));
  }
  return {};
}

StatusResult<VersionMatch> read_match(const Request& request) {
  const std::string_view text = request.parameter("resourceVersionMatch").value_or("");
  if (text.empty()) {
    return VersionMatch::Unset;
  }
  if (text == "Exact") {
    return VersionMatch::Exact;
  }
  if (text == "NotOlderThan") {
    return VersionMatch::NotOlderThan;
  }
  return refusal(FieldError::not_supported("resourceVersionMatch", Value(text),
                                           {"Exact", "NotOlderThan", ""}));
}

}  // namespace

StatusResult<std::uint64_t> parse_revision(std::string_view text) {
  std::uint64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || end != text.data() + text.size()) {
    return status::bad_request(
        fmt::format("invalid resource version: resourceVersion: Invalid value: {}: {}",
                    go_quote(text), number_error("ParseUint", text)));
  }
  return revision;
}

StatusResult<ListOptions> read_list_options(const Request& request, bool watch) {
  ListOptions options;
  if (const auto text = request.parameter("limit"); text && !text->empty()) {
    ATHANOR_TRY(const std::int64_t limit, parse_signed(*text));
    options.limit = limit > 0 ? static_cast<std::size_t>(limit) : 0;
  }
  if (const auto text = request.parameter("timeoutSeconds"); text && !text->empty()) {
    ATHANOR_TRY(options.timeout_seconds, parse_signed(*text));
  }
  if (const auto text = request.parameter("allowWatchBookmarks")) {
    options.bookmarks = parse_flag(*text);
  }
  if (const auto text = request.parameter("sendInitialEvents"); text && !text->empty()) {
    options.send_initial_events = parse_flag(*text);
  }
  options.continue_token = std::string(request.parameter("continue").value_or(""));
  if (!watch) {
    ATHANOR_TRY_VOID(check_list_match(request));
  }
  ATHANOR_TRY(options.match, read_match(request));
  const std::string_view version = request.parameter("resourceVersion").value_or("");
  if (!watch && !options.continue_token.empty()) {
    ATHANOR_TRY_VOID(parse_continue_token(options.continue_token, {}));
    if (!version.empty() && version != "0") {
      return status::bad_request("specifying resource version is not allowed when using continue");
    }
    if (!version.empty()) {
      options.limit = 0;  // anything cached: all of it
    }
    return options;
  }
  if (!version.empty()) {
    ATHANOR_TRY(options.resource_version, parse_revision(version));
  }
  if (watch) {
    ATHANOR_TRY_VOID(check_watch_match(options));
  }
  return options;
}

bool is_for_storage(const StatusError& error) {
  constexpr std::array<std::string_view, 3> kHeads = {
      "invalid resource version", "specifying resource version", "invalid continue token"};
  return std::ranges::any_of(
      kHeads, [&](std::string_view head) { return error.message.starts_with(head); });
}

std::string print_continue_token(const ContinueToken& token, ListScope scope) {
  std::string start = "/";
  if (scope.namespaced && scope.ns.empty()) {
    start += token.after.ns + "/";
  }
  start += token.after.name;
  start += '\0';
  return base64url_encode(json::print(
      Value::object({{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", start}})));
}

StatusResult<ContinueToken> parse_continue_token(std::string_view text, ListScope scope) {
  const auto decoded = base64url_decode(text);
  if (!decoded) {
    return status::bad_request(
        "invalid continue token: continue key is not valid: illegal base64 data");
  }
  auto document = json::parse(*decoded);
  if (!document.ok()) {
    return status::bad_request("invalid continue token: continue key is not valid: " +
                               document.error().message);
  }
  const Value& value = *document;
  if (value["v"].as_string() != "meta.k8s.io/v1") {
    return status::bad_request(
        "invalid continue token: continue key is not valid: server does not recognize this encoded "
        "version");
  }
  std::string_view start = value["start"].as_string();
  if (start.size() < 3 || start.front() != '/' || start.back() != '\0' ||
      !value["rv"].is_integer() || value["rv"].as_int() <= 0) {
    return status::bad_request(
        "invalid continue token: continue key is not valid: incorrect encoded start");
  }
  start = start.substr(1, start.size() - 2);
  ContinueToken token;
  token.revision = static_cast<std::uint64_t>(value["rv"].as_int());
  if (scope.namespaced && scope.ns.empty()) {
    const std::size_t slash = std::min(start.find('/'), start.size());
    token.after.ns = std::string(start.substr(0, slash));
    start.remove_prefix(std::min(slash + 1, start.size()));
  } else {
    token.after.ns = std::string(scope.ns);
  }
  token.after.name = std::string(start);
  return token;
}

}  // namespace athanor::apiserver
