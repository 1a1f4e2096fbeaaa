// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/write/delete_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "embedded/apiserver/write/decode.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/prune.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr Qualified kKind{.name = "DeleteOptions", .group = "meta.k8s.io"};

StatusResult<Propagation> parse_policy(std::string_view text) {
  if (text == "Background") {
    return Propagation::Background;
  }
  if (text == "Foreground") {
    return Propagation::Foreground;
  }
  if (text == "Orphan") {
    return Propagation::Orphan;
  }
  return status::invalid(
      kKind, "",
      {FieldError::not_supported("propagationPolicy", Value(text),
                                 {"Foreground", "Background", "Orphan", "nil"})});
}

// The query as the body would say it.
StatusResult<Value> query_options(const Request& request) {
  Value body = Value::object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
  if (const auto text = request.parameter("gracePeriodSeconds"); text && !text->empty()) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
    if (error != std::errc() || end != text->data() + text->size()) {
      return status::bad_request(
          fmt::format("strconv.ParseInt: parsing {}: invalid syntax", go_quote(*text)));
    }
    body.set("gracePeriodSeconds", seconds);
  }
  if (const auto text = request.parameter("propagationPolicy"); text && !text->empty()) {
    body.set("propagationPolicy", Value(*text));
  }
  if (const auto text = request.parameter("orphanDependents"); text && !text->empty()) {
    body.set("orphanDependents", *text == "true" || *text == "1");
  }
  Value dry_run = Value::list();
  for (const std::string_view value : request.parameters("dryRun")) {
    dry_run.push_back(Value(value));
  }
  if (!dry_run.empty()) {
    body.set("dryRun", std::move(dry_run));
  }
  return body;
}

bool has_body(const Request& request) {
  if (const auto* text = std::get_if<std::string>(&request.body)) {
    return !text->empty();
  }
  return std::get<Value>(request.body).is_object();
}

}  // namespace

StatusResult<DeleteOptions> parse_delete_options(const Value& body) {
  DeleteOptions options;
  options.as_sent = body;
  std::vector<FieldError> errors;
  for (const Value& item : body["dryRun"].items()) {
    options.dry_run = true;
    if (item.as_string() != "All") {
      errors.push_back(FieldError::not_supported("dryRun", body["dryRun"], {"All"}));
      break;
    }
  }
  const Value& orphan = body["orphanDependents"];
  const std::string_view policy = body["propagationPolicy"].as_string();
  if (!policy.empty() && orphan.is_bool()) {
    errors.push_back(
        FieldError::invalid("propagationPolicy", Value(policy),
                            "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    errors.push_back(FieldError::not_supported("propagationPolicy", Value(policy),
                                               {"Foreground", "Background", "Orphan", "nil"}));
  }
  if (!errors.empty()) {
    return status::invalid(kKind, "", errors);
  }
  if (!policy.empty()) {
    ATHANOR_TRY(options.propagation, parse_policy(policy));
  } else if (orphan.is_bool()) {
    options.propagation = orphan.as_bool() ? Propagation::Orphan : Propagation::Background;
    options.explicit_no_orphans = !orphan.as_bool();
  }
  if (body["gracePeriodSeconds"].is_number()) {
    options.grace_seconds = body["gracePeriodSeconds"].as_int();
  }
  options.precondition_uid = body["preconditions"]["uid"].str();
  options.precondition_revision = body["preconditions"]["resourceVersion"].str();
  return options;
}

StatusResult<DeleteOptions> read_delete_options(Call& call) {
  if (!has_body(call.request)) {
    ATHANOR_TRY(const Value options, query_options(call.request));
    return parse_delete_options(options);
  }
  ATHANOR_TRY(const Document document,
              parse_body(call, {.api_version = "meta.k8s.io/v1", .kind = "DeleteOptions"}, true));
  const std::string_view kind = document.value["kind"].as_string();
  if (!kind.empty() && kind != "DeleteOptions") {
    return status::bad_request(
        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme "
                    "\"pkg/runtime/scheme.go:111\"",
                    kind, document.value["apiVersion"].as_string()));
  }
  const Schema& type = *BuiltinTypes::get().by_kind("", "v1", "DeleteOptions");
  const auto options = normalize_builtin(document.value, type, {.kind = "DeleteOptions"}, nullptr);
  if (!options.ok()) {
    const std::string_view why = options.error().message;
    const std::size_t plain = why.find("json: ");  // behind the kind and its version
    return status::bad_request(plain == std::string_view::npos ? why : why.substr(plain));
  }
  return parse_delete_options(*options);
}

}  // namespace athanor::apiserver
