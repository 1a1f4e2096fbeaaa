// SPDX-License-Identifier: Apache-2.0
// GET pods/NAME/log (docs/spec/apiserver.md 12.5).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "embedded/apiserver/request/pod_logs.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/subresources/pod_subresources.hpp"
#include "kube/names/field_error.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

StatusResult<std::optional<std::int64_t>> number(const Call& call, std::string_view name) {
  const auto text = call.request.parameter(name);
  if (!text || text->empty()) {
    return std::optional<std::int64_t>();
  }
  std::int64_t parsed = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), parsed);
  if (error != std::errc() || end != text->data() + text->size()) {
    return status::bad_request(
        fmt::format("strconv.ParseInt: parsing {}: invalid syntax", go_quote(*text)));
  }
  return std::optional<std::int64_t>(parsed);
}

bool log_flag(const Call& call, std::string_view name) {
  const auto text = call.request.parameter(name);
  return text && (*text == "true" || *text == "1" || text->empty());
}

StatusResult<LogOptions> read_options(const Call& call) {
  LogOptions options;
  options.container = std::string(call.request.parameter("container").value_or(""));
  options.follow = log_flag(call, "follow");
  options.previous = log_flag(call, "previous");
  options.timestamps = log_flag(call, "timestamps");
  ATHANOR_TRY(options.tail_lines, number(call, "tailLines"));
  ATHANOR_TRY(options.limit_bytes, number(call, "limitBytes"));
  ATHANOR_TRY(const auto since, number(call, "sinceSeconds"));
  std::vector<FieldError> errors;
  if (options.tail_lines && *options.tail_lines < 0) {
    errors.push_back(FieldError::invalid("tailLines", Value(*options.tail_lines),
                                         "must be greater than or equal to 0"));
  }
  if (options.limit_bytes && *options.limit_bytes < 1) {
    errors.push_back(
        FieldError::invalid("limitBytes", Value(*options.limit_bytes), "must be greater than 0"));
  }
  if (since && *since < 1) {
    errors.push_back(FieldError::invalid("sinceSeconds", Value(*since), "must be greater than 0"));
  }
  if (!errors.empty()) {
    return status::invalid({.name = "PodLogOptions", .group = ""}, call.path.name, errors);
  }
  if (since) {
    options.since = call.now - std::chrono::seconds(*since);
  } else if (const auto text = call.request.parameter("sinceTime")) {
    options.since = parse_time(*text);
  }
  return options;
}

std::vector<std::string> container_names(const Value& pod) {
  std::vector<std::string> names;
  for (const std::string_view field : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Value& container : pod["spec"][field].items()) {
      names.push_back(container["name"].str());
    }
  }
  return names;
}

}  // namespace

StatusResult<void> choose_container(const Value& pod, std::string& container) {
  const std::string_view pod_name = pod["metadata"]["name"].as_string();
  const std::vector<std::string> names = container_names(pod);
  if (!container.empty()) {
    if (std::find(names.begin(), names.end(), container) == names.end()) {
      return status::bad_request(
          fmt::format("container {} is not valid for pod {}", container, pod_name));
    }
    return {};
  }
  const std::string_view chosen =
      pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"].as_string();
  if (names.size() > 1 && chosen.empty()) {
    std::string list;
    for (const std::string& name : names) {
      list += list.empty() ? "" : " ";
      list += name;
    }
    return status::bad_request(fmt::format(
        "a container name must be specified for pod {}, choose one of: [{}]", pod_name, list));
  }
  container = !chosen.empty() ? std::string(chosen) : names.empty() ? "" : names.front();
  return {};
}

namespace {

// Returns true if the container ran, so that a missing log is one that was removed.
bool has_run(const Value& pod, std::string_view container) {
  const std::string_view phase = pod["status"]["phase"].as_string();
  for (const std::string_view list :
       {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    for (const Value& entry : pod["status"][list].items()) {
      if (entry["name"].as_string() == container) {
        return entry["state"].contains("terminated") || entry["state"].contains("running");
      }
    }
  }
  return phase == "Succeeded" || phase == "Failed";
}

// The answer when the node has no such log.
StatusError no_log(const Value& pod, const LogOptions& options, const Key& key,
                   std::string_view waiting) {
  if (options.previous) {
    return status::bad_request(
        fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                    options.container, key.name));
  }
  if (has_run(pod, options.container)) {
    return status::of({.code = 404,
                       .reason = "NotFound",
                       .message = fmt::format("the log of container \"{}\" in pod \"{}\" is not on "
                                              "its node any more",
                                              options.container, key.name)});
  }
  return status::bad_request(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}",
                                         options.container, key.name, waiting));
}

// Why there is no log yet.
std::string waiting_reason(const Value& pod, std::string_view container) {
  for (const Value& entry : pod["status"]["containerStatuses"].items()) {
    if (entry["name"].as_string() == container) {
      const std::string_view reason = entry["state"]["waiting"]["reason"].as_string();
      return reason.empty() ? "ContainerCreating" : std::string(reason);
    }
  }
  return "ContainerCreating";
}

}  // namespace

StatusResult<Response> handle_log(Call& call) {
  ATHANOR_TRY(LogOptions options, read_options(call));
  const Key key = call.key();
  const store::StoredPtr pod = call.core.store.get("pods", key);
  if (pod == nullptr) {
    return status::not_found(call.qualified_resource(), key.name);
  }
  ATHANOR_TRY_VOID(choose_container(pod->body, options.container));
  Response response;
  response.content_type = "text/plain";
  if (pod->body["spec"]["nodeName"].as_string().empty()) {
    return response;
  }
  if (call.core.dependencies.logs == nullptr) {
    return status::of({.code = 501,
                       .reason = "NotImplemented",
                       .message = "this server has no access to the logs of pods"});
  }
  auto log =
      call.core.dependencies.logs->open(key, pod->body["metadata"]["uid"].as_string(), options);
  if (!log.ok()) {
    if (log.error().code == 404) {
      return no_log(pod->body, options, key, waiting_reason(pod->body, options.container));
    }
    return status::of(log.error());
  }
  response.stream = *std::move(log);
  return response;
}

}  // namespace athanor::apiserver
