// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/conversion.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "embedded/apiserver/request/endpoint.hpp"
#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kConversionGroup = "apiextensions.k8s.io";
constexpr std::string_view kQuery = "timeout=30s";
constexpr std::chrono::seconds kTimeout{30};
constexpr int kFirstFailedStatus = 300;

// "ex.com/v1, Kind=Gizmo"
std::string kind_text(const Value& object) {
  return fmt::format("{}, Kind={}", object["apiVersion"].as_string(), object["kind"].as_string());
}

StatusError failure(const std::string& kind, std::string_view rest) {
  StatusError error;
  error.message = fmt::format("conversion webhook for {} {}", kind, rest);
  return error;
}

// The converted objects of an answer, or what is wrong with it.
Result<Value> read_conversion(const OutsideAnswer& answer, const std::string& url,
                              const std::string& version, const std::string& uid) {
  const auto wrong = [](std::string text) -> Error { return Error::internal(std::move(text)); };
  if (!answer.failure.empty()) {
    return wrong(post_failure(url, answer.failure));
  }
  if (answer.status < 200 || answer.status >= kFirstFailedStatus) {
    return wrong(refusal_text(answer));
  }
  const auto parsed = json::parse(answer.body);
  if (!parsed.ok() || !parsed->is_object()) {
    return wrong(fmt::format("couldn't get version/kind; json parse error: {}",
                             parsed.ok() ? "the body is no object" : parsed.error().message));
  }
  const Value& review = *parsed;
  const std::string expected =
      fmt::format("{}/{}, Kind=ConversionReview", kConversionGroup, version);
  if (kind_text(review) != expected) {
    return wrong(
        fmt::format("expected webhook response of {}, got {}", expected, kind_text(review)));
  }
  const Value& response = review["response"];
  if (!response.is_object()) {
    return wrong("no response provided");
  }
  if (response["uid"].as_string() != uid) {
    return wrong(fmt::format("expected response.uid {}, got {}", go_quote(uid),
                             go_quote(response["uid"].as_string())));
  }
  const Value& result = response["result"];
  if (result["status"].as_string() != "Success") {
    return wrong(result["message"].as_string().empty()
                     ? fmt::format("response.result.status was '{}', not 'Success'",
                                   result["status"].as_string())
                     : result["message"].str());
  }
  return response["convertedObjects"];
}

// Empty: the webhook kept to what it may do with an object.
std::string wrong_conversion(const Value& before, const Value& after, std::string_view to_version) {
  if (after["apiVersion"].as_string() != to_version) {
    return fmt::format("invalid groupVersion (received {}, expected {})",
                       after["apiVersion"].as_string(), to_version);
  }
  if (after["kind"] != before["kind"]) {
    return fmt::format("invalid kind (received {}, expected {})", after["kind"].as_string(),
                       before["kind"].as_string());
  }
  struct Kept {
    std::string_view field;
    std::string_view name;
  };
  for (const auto& [field, name] :
       {Kept{"name", "name"}, Kept{"namespace", "namespace"}, Kept{"uid", "UID"}}) {
    const std::string_view was = before["metadata"][field].as_string();
    const std::string_view is = after["metadata"][field].as_string();
    if (was != is) {
      return fmt::format("must have the same {}: {} != {}", name, was, is);
    }
  }
  return {};
}

// The webhook's object with the metadata that it may not change.
Value restored(const Value& before, const Value& after) {
  Value metadata = before["metadata"];
  for (const std::string_view field : {"labels", "annotations"}) {
    if (const Value* changed = after["metadata"].find(field)) {
      metadata.set(field, *changed);
    } else {
      metadata.erase(field);
    }
  }
  Value object = after;
  object.set("metadata", std::move(metadata));
  return object;
}

// Objects of one version.
StatusResult<std::vector<Value>> convert_group(const ConversionWebhook& webhook,
                                               std::vector<Value> objects,
                                               std::string_view to_version,
                                               const VersionContext& context) {
  const std::string kind = kind_text(objects.front());
  Target target = webhook_target(*context.store, webhook.client_config, kQuery);
  const std::string url = target.request.url;
  if (!target.failure.empty()) {
    return failure(kind, "failed: " + post_failure(url, target.failure));
  }
  const Value list = Value::list(objects);
  const std::string key = fmt::format("convert|{}|{}|{}", url, to_version, json::print(list));
  const auto* reply = context.conversation->ask(key, [&](const std::string& uid) -> OutsideRequest {
    target.request.headers = {{"Content-Type", "application/json"},
                              {"Accept", "application/json, */*"},
                              {"User-Agent", "kube-apiserver"}};
    target.request.body = json::print(Value::object(
        {{"kind", "ConversionReview"},
         {"apiVersion", fmt::format("{}/{}", kConversionGroup, webhook.review_version)},
         {"request",
          Value::object({{"uid", uid}, {"desiredAPIVersion", to_version}, {"objects", list}})}}));
    target.request.timeout = kTimeout;
    return std::move(target.request);
  });
  if (reply == nullptr) {
    return status::pending();
  }
  const auto converted = read_conversion(*reply->answer, url, webhook.review_version, reply->uid);
  if (!converted.ok()) {
    return failure(kind, "failed: " + converted.error().message);
  }
  if (converted->size() != objects.size()) {
    return failure(
        kind, fmt::format("returned {} objects, expected {}", converted->size(), objects.size()));
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Value& after = (*converted)[i];
    if (const std::string wrong = wrong_conversion(objects[i], after, to_version); !wrong.empty()) {
      return failure(kind,
                     fmt::format("returned invalid converted object at index {}: {}", i, wrong));
    }
    objects[i] = restored(objects[i], after);
  }
  return objects;
}

}  // namespace

StatusResult<std::vector<Value>> convert_by_webhook(const ConversionWebhook& webhook,
                                                    std::span<const Value> objects,
                                                    std::string_view to_version,
                                                    const VersionContext& context) {
  std::vector<Value> result(objects.begin(), objects.end());
  std::set<std::string> versions;
  for (const Value& object : objects) {
    versions.insert(object["apiVersion"].str());
  }
  versions.erase(std::string(to_version));
  if (versions.empty()) {
    return result;
  }
  if (context.conversation == nullptr || context.store == nullptr) {
    return failure(kind_text(objects.front()), "failed: it cannot be asked here");
  }
  std::optional<StatusError> pending;
  for (const std::string& version : versions) {
    std::vector<std::size_t> places;
    std::vector<Value> group;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (objects[i]["apiVersion"].as_string() == version) {
        places.push_back(i);
        group.push_back(objects[i]);
      }
    }
    auto converted = convert_group(webhook, std::move(group), to_version, context);
    if (!converted.ok()) {
      if (!is_pending(converted.error())) {
        return converted.error();
      }
      pending = converted.error();
      continue;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      result[places[i]] = std::move((*converted)[i]);
    }
  }
  if (pending) {
    return *std::move(pending);
  }
  return result;
}

}  // namespace athanor::apiserver
