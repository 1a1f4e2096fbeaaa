// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/auth/token_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/digest.hpp"
#include "embedded/apiserver/request/authenticate.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kLegacyIssuer = "kubernetes/serviceaccount";
constexpr std::string_view kExtraPrefix = "authentication.kubernetes.io/";

// A claim that is one text or a list of them.
std::vector<std::string> texts_of_claim(const Value& claim) {
  std::vector<std::string> result;
  if (claim.is_string()) {
    result.push_back(claim.str());
  }
  for (const Value& item : claim.items()) {
    result.push_back(item.str());
  }
  return result;
}

std::vector<std::string> common(const std::vector<std::string>& wanted,
                                const std::vector<std::string>& held) {
  std::vector<std::string> result;
  for (const std::string& audience : wanted) {
    if (std::find(held.begin(), held.end(), audience) != held.end()) {
      result.push_back(audience);
    }
  }
  return result;
}

// True between nbf and exp; a token without expiry is none of ours.
bool is_current(const Value& claims, Instant now) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  return claims["exp"].is_number() && seconds < claims["exp"].as_int() &&
         seconds >= claims["nbf"].as_int(seconds);
}

}  // namespace

std::string service_account_user(std::string_view ns, std::string_view name) {
  return fmt::format("system:serviceaccount:{}:{}", ns, name);
}

std::vector<std::string> server_audiences(const Options& options, const TokenSigner* signer) {
  return !options.api_audiences.empty() ? options.api_audiences
         : signer != nullptr            ? std::vector<std::string>{signer->issuer()}
                                        : std::vector<std::string>{std::string()};
}

TokenChecker::TokenChecker(const Options& options, const Dependencies& dependencies)
    : signer_(dependencies.tokens),
      store_(dependencies.store),
      own_(server_audiences(options, dependencies.tokens)),
      bootstrap_tokens_(options.bootstrap_tokens) {
  for (const StaticToken& token : options.tokens) {
    tokens_.emplace(token.token, token);
  }
}

std::optional<TokenHolder> TokenChecker::check(std::string_view token,
                                               const std::vector<std::string>& audiences,
                                               Instant now) const {
  const std::vector<std::string>& wanted = audiences.empty() ? own_ : audiences;
  if (const auto found = tokens_.find(token); found != tokens_.end()) {
    TokenHolder holder;
    holder.user.name = found->second.user;
    holder.user.uid = found->second.uid;
    holder.user.groups = found->second.groups;
    if (!holder.user.in_group("system:authenticated")) {
      holder.user.groups.emplace_back("system:authenticated");
    }
    // A static token names no audience: it is meant for this server.
    holder.audiences = common(wanted, own_);
    return holder.audiences.empty() ? std::nullopt : std::optional(std::move(holder));
  }
  if (auto user = bootstrap(token, now)) {
    TokenHolder holder{.user = *std::move(user), .audiences = common(wanted, own_)};
    return holder.audiences.empty() ? std::nullopt : std::optional(std::move(holder));
  }
  if (signer_ == nullptr || store_ == nullptr) {
    return std::nullopt;
  }
  const Result<Value> claims = signer_->verify(token);
  if (claims.ok() && (*claims)["iss"].as_string() == kLegacyIssuer) {
    return legacy(*claims, token, common(wanted, own_));
  }
  if (!claims.ok() || !signer_->accepts_issuer((*claims)["iss"].as_string()) ||
      !is_current(*claims, now)) {
    return std::nullopt;
  }
  TokenHolder holder;
  holder.audiences = common(wanted, texts_of_claim((*claims)["aud"]));
  std::optional<UserInfo> user = service_account(*claims);
  if (holder.audiences.empty() || !user) {
    return std::nullopt;
  }
  holder.user = *std::move(user);
  return holder;
}

// The token of a Secret: it names no audience and never expires, and counts while the Secret holds
// it.
std::optional<TokenHolder> TokenChecker::legacy(const Value& claims, std::string_view token,
                                                std::vector<std::string> audiences) const {
  const auto claim = [&](std::string_view name) {
    return claims[fmt::format("kubernetes.io/serviceaccount/{}", name)].str();
  };
  const std::string ns = claim("namespace");
  const std::string account = claim("service-account.name");
  const store::StoredPtr secret = store_->get("secrets", {ns, claim("secret.name")});
  if (audiences.empty() || secret == nullptr ||
      secret->body["metadata"].contains("deletionTimestamp") ||
      base64_decode(secret->body["data"]["token"].as_string()) != token ||
      !exists("serviceaccounts", ns,
              Value::object({{"name", account}, {"uid", claim("service-account.uid")}}))) {
    return std::nullopt;
  }
  TokenHolder holder;
  holder.user = internal_user(service_account_user(ns, account));
  holder.user.uid = claim("service-account.uid");
  holder.audiences = std::move(audiences);
  return holder;
}

std::optional<UserInfo> TokenChecker::bootstrap(std::string_view token, Instant now) const {
  constexpr std::size_t kIdSize = 6;
  constexpr std::size_t kSize = kIdSize + 1 + 16;
  if (!bootstrap_tokens_ || store_ == nullptr || token.size() != kSize || token[kIdSize] != '.') {
    return std::nullopt;
  }
  const std::string id(token.substr(0, kIdSize));
  const store::StoredPtr secret = store_->get("secrets", {"kube-system", "bootstrap-token-" + id});
  if (secret == nullptr || secret->body["metadata"].contains("deletionTimestamp") ||
      secret->body["type"].as_string() != "bootstrap.kubernetes.io/token") {
    return std::nullopt;
  }
  const auto data = [&](std::string_view key) {
    return base64_decode(secret->body["data"][key].as_string()).value_or(std::string());
  };
  const std::string expiration = data("expiration");
  const auto end = parse_time(expiration);
  if (data("token-id") != id || data("token-secret") != token.substr(kIdSize + 1) ||
      data("usage-bootstrap-authentication") != "true" ||
      (!expiration.empty() && (!end || *end <= now))) {
    return std::nullopt;
  }
  UserInfo user;
  user.name = "system:bootstrap:" + id;
  user.groups = {"system:bootstrappers"};
  const std::string more = data("auth-extra-groups");
  std::string_view rest = more;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view group = rest.substr(0, comma);
    if (!group.starts_with("system:bootstrappers:")) {
      return std::nullopt;  // no Secret makes an administrator
    }
    user.groups.emplace_back(group);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  user.groups.emplace_back("system:authenticated");
  return user;
}

bool TokenChecker::exists(std::string_view resource, std::string_view ns,
                          const Value& reference) const {
  const store::StoredPtr stored = store_->get(resource, {std::string(ns), reference["name"].str()});
  return stored != nullptr &&
         stored->body["metadata"]["uid"].as_string() == reference["uid"].as_string();
}

std::optional<UserInfo> TokenChecker::service_account(const Value& claims) const {
  const Value& bound = claims["kubernetes.io"];
  const std::string_view ns = bound["namespace"].as_string();
  const Value& account = bound["serviceaccount"];
  const std::string name = service_account_user(ns, account["name"].as_string());
  if (ns.empty() || claims["sub"].as_string() != name || !exists("serviceaccounts", ns, account)) {
    return std::nullopt;
  }
  const Value& pod = bound["pod"];
  const Value& secret = bound["secret"];
  const Value& node = bound["node"];
  // A pod's token says on which node it runs; only a token without pod is bound to the node itself.
  if ((!pod.is_null() && !exists("pods", ns, pod)) ||
      (!secret.is_null() && !exists("secrets", ns, secret)) ||
      (!node.is_null() && pod.is_null() && !exists("nodes", "", node))) {
    return std::nullopt;
  }
  UserInfo user = internal_user(name);
  user.uid = account["uid"].str();
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) {
      user.extra[std::string(kExtraPrefix) + std::string(key)] = {value};
    }
  };
  if (const std::string_view id = claims["jti"].as_string(); !id.empty()) {
    add("credential-id", fmt::format("JTI={}", id));
  }
  add("pod-name", pod["name"].str());
  add("pod-uid", pod["uid"].str());
  add("node-name", node["name"].str());
  add("node-uid", node["uid"].str());
  return user;
}

}  // namespace athanor::apiserver
