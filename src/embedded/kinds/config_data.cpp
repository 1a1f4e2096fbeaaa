// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/config_data.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "embedded/kinds/edit.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMaxData = 1'048'576;
constexpr std::size_t kMaxKey = 253;
constexpr std::string_view kAccountToken = "kubernetes.io/service-account-token";
constexpr std::string_view kAccountName = "kubernetes.io/service-account.name";

}  // namespace

NameError validate_config_key(std::string_view key) {
  if (key.size() > kMaxKey) {
    return "must be no more than 253 characters";
  }
  const bool valid = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!valid) {
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
           "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
           "'[-._a-zA-Z0-9]+')";
  }
  if (key == ".") {
    return "must not be '.'";
  }
  if (key == ".." || key.starts_with("..")) {
    return "must not start with '..'";
  }
  return std::nullopt;
}

namespace {

// Bytes behind base64.
std::size_t decoded_size(const Value& text) {
  const auto decoded = base64_decode(text.as_string());
  return decoded ? decoded->size() : text.as_string().size();
}

void check_keys(FieldErrors& errors, const Value& object, std::string_view field) {
  for (const Member& member : object[field].members()) {
    check_name(errors, at(field, member.key()), member.key(), &validate_config_key);
  }
}

// An immutable object stays as it is.
void check_immutable(FieldErrors& errors, const Value& object, const Value& old_object,
                     std::initializer_list<std::string_view> fields) {
  if (!old_object["immutable"].as_bool()) {
    return;
  }
  if (!object["immutable"].as_bool()) {
    errors.push_back(
        FieldError::forbidden("immutable", "field is immutable when `immutable` is set"));
  }
  for (const std::string_view field : fields) {
    const Value& now = object[field];
    const Value& before = old_object[field];
    if (now != before && !(now.empty() && before.empty())) {
      errors.push_back(FieldError::forbidden(field, "field is immutable when `immutable` is set"));
    }
  }
}

std::int64_t keys(const Value& object) {
  return static_cast<std::int64_t>(object["data"].size() + object["binaryData"].size());
}

void require_key(FieldErrors& errors, const Value& secret, std::string_view key) {
  if (!secret["data"].contains(key)) {
    errors.push_back(FieldError::required(at("data", key)));
  }
}

// A key that must be there and hold JSON.
void check_json(FieldErrors& errors, const Value& secret, std::string_view key) {
  const Value* text = secret["data"].find(key);
  if (text == nullptr) {
    errors.push_back(FieldError::required(at("data", key)));
    return;
  }
  const auto decoded = base64_decode(text->as_string());
  const auto parsed = json::parse(decoded.value_or(""));
  if (!parsed.ok()) {
    errors.push_back(
        FieldError::invalid(at("data", key), "<secret contents redacted>", parsed.error().message));
  }
}

void check_secret_type(FieldErrors& errors, const Value& secret) {
  const std::string_view type = secret["type"].as_string();
  if (type == kAccountToken) {
    if (secret["metadata"]["annotations"][kAccountName].as_string().empty()) {
      errors.push_back(FieldError::required(at("metadata.annotations", kAccountName)));
    }
  } else if (type == "kubernetes.io/dockercfg") {
    check_json(errors, secret, ".dockercfg");
  } else if (type == "kubernetes.io/dockerconfigjson") {
    check_json(errors, secret, ".dockerconfigjson");
  } else if (type == "kubernetes.io/basic-auth") {
    if (!secret["data"].contains("username") && !secret["data"].contains("password")) {
      require_key(errors, secret, "username");
      require_key(errors, secret, "password");
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (secret["data"]["ssh-privatekey"].as_string().empty()) {
      errors.push_back(FieldError::required(at("data", "ssh-privatekey")));
    }
  } else if (type == "kubernetes.io/tls") {
    require_key(errors, secret, "tls.crt");
    require_key(errors, secret, "tls.key");
  }
}

}  // namespace

FieldErrors validate_config_map(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_keys(errors, object, "data");
  check_keys(errors, object, "binaryData");
  std::size_t total = 0;
  for (const Member& member : object["data"].members()) {
    total += member.value.as_string().size();
    if (object["binaryData"].contains(member.key())) {
      errors.push_back(FieldError::invalid(at("data", member.key()), member.key(),
                                           "duplicate of key present in binaryData"));
    }
  }
  for (const Member& member : object["binaryData"].members()) {
    total += decoded_size(member.value);
  }
  if (total > kMaxData) {
    errors.push_back(FieldError::too_long("[]", static_cast<std::int64_t>(kMaxData)));
  }
  return errors;
}

FieldErrors validate_config_map_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  FieldErrors errors;
  check_immutable(errors, object, old_object, {"data", "binaryData"});
  append(errors, validate_config_map(object, context));
  return errors;
}

Cells config_map_cells(const Value& object, Instant now) {
  return {name_cell(object), keys(object), age_cell(object, now)};
}

void default_secret(Value& object, const KindContext& /*context*/) {
  default_to(object, "type", "Opaque");
  if (!object.contains("stringData")) {
    return;
  }
  const Value texts = object["stringData"];
  if (!texts.empty()) {
    Value& data = object.member("data");
    for (const Member& text : texts.members()) {
      data.set(text.key(), base64_encode(text.value.as_string()));
    }
  }
  object.erase("stringData");
}

FieldErrors validate_secret(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_keys(errors, object, "data");
  std::size_t total = 0;
  for (const Member& member : object["data"].members()) {
    total += decoded_size(member.value);
  }
  if (total > kMaxData) {
    errors.push_back(FieldError::too_long("data", static_cast<std::int64_t>(kMaxData)));
  }
  check_secret_type(errors, object);
  return errors;
}

void warn_of_secret(const Value& object, const Value& /*old_object*/, const KindContext& context) {
  if (object["type"].as_string() != "kubernetes.io/tls") {
    return;
  }
  const auto has_pem = [&](std::string_view key) {
    const auto text = base64_decode(object["data"][key].as_string());
    return text && text->find("-----BEGIN ") != std::string::npos;
  };
  if (!has_pem("tls.crt")) {
    context.warnings->emplace_back("tls: failed to find any PEM data in certificate input");
  } else if (!has_pem("tls.key")) {
    context.warnings->emplace_back("tls: failed to find any PEM data in key input");
  }
}

FieldErrors validate_secret_update(const Value& object, const Value& old_object,
                                   const KindContext& context) {
  FieldErrors errors;
  check_unchanged(errors, "type", object["type"], old_object["type"]);
  check_immutable(errors, object, old_object, {"data"});
  append(errors, validate_secret(object, context));
  return errors;
}

Cells secret_cells(const Value& object, Instant now) {
  return {name_cell(object), object["type"].str(), keys(object), age_cell(object, now)};
}

}  // namespace athanor::apiserver
