// SPDX-License-Identifier: Apache-2.0
// Who asks: in-process users, client certificates, bearer tokens, anonymous (docs/spec/apiserver.md
// 16.1).
#include "embedded/apiserver/request/authenticate.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "embedded/apiserver/auth/token_checker.hpp"
#include "embedded/apiserver/request/front_proxy.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kNodePrefix = "system:node:";
// What the server itself acts as.
constexpr std::string_view kServerUser = "system:apiserver";

// The token of "Bearer TOKEN"; nullopt for any other scheme, which counts as no credential.
std::optional<std::string_view> bearer_token(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() < kScheme.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(header[i])) != kScheme[i]) {
      return std::nullopt;
    }
  }
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) {
    header.remove_prefix(1);
  }
  while (header.ends_with(' ')) {
    header.remove_suffix(1);
  }
  return header.empty() ? std::nullopt : std::optional(header);
}

// The token that a browser names among its WebSocket subprotocols, where it can set no other
// header; nullopt: none is named. A wrong one is empty.
std::optional<std::string> websocket_token(const Request& request) {
  constexpr std::string_view kPrefix = "base64url.bearer.authorization.k8s.io.";
  if (lower(request.header("upgrade")) != "websocket") {
    return std::nullopt;
  }
  std::optional<std::string> token;
  bool others = false;
  const std::string protocols = request.header_list("sec-websocket-protocol");
  for (const std::string_view element : words_of(protocols, ',')) {
    const std::string_view protocol = trimmed(element, " \t");
    if (protocol.starts_with(kPrefix)) {
      token = token ? std::string()
                    : base64url_decode(protocol.substr(kPrefix.size())).value_or(std::string());
    } else {
      others = others || !protocol.empty();
    }
  }
  return token && !others ? std::string() : token;  // another one has to be agreed on
}

UserInfo certificate_user(const Credentials::Certificate& certificate) {
  UserInfo user;
  user.name = certificate.common_name;
  user.groups = certificate.organizations;
  if (!user.in_group("system:authenticated")) {
    user.groups.emplace_back("system:authenticated");
  }
  if (!certificate.sha256_hex.empty()) {
    user.extra["authentication.kubernetes.io/credential-id"] = {
        fmt::format("X509SHA256={}", certificate.sha256_hex)};
  }
  return user;
}

// Groups that a name alone must not give: impersonation goes by names, too.
UserInfo in_process(std::string_view name) {
  UserInfo user = internal_user(name);
  if (name.starts_with(kNodePrefix)) {
    user.groups.emplace_back("system:nodes");
  } else if (name == kServerUser) {
    user.groups.emplace_back("system:masters");
  }
  return user;
}

// The first method that succeeds wins; a bad credential beside a good one does not matter.
class ChainAuthenticator final : public Authenticator {
 public:
  ChainAuthenticator(const Options& options, const Dependencies& dependencies)
      : tokens_(options, dependencies),
        front_proxy_(options.front_proxy),
        anonymous_(options.anonymous) {}

  [[nodiscard]] StatusResult<UserInfo> authenticate(const Request& request,
                                                    Instant now) const override {
    const Credentials& credentials = request.credentials;
    if (credentials.internal_user) {
      return in_process(*credentials.internal_user);
    }
    if (credentials.front_proxy) {
      if (auto user = front_proxy_user(front_proxy_, request)) {
        return *std::move(user);
      }
    }
    if (credentials.certificate && !credentials.certificate->common_name.empty()) {
      return certificate_user(*credentials.certificate);
    }
    const auto token = bearer_token(request.header("authorization"));
    const auto spoken = websocket_token(request);
    for (const std::string_view given :
         {token.value_or(""), spoken ? std::string_view(*spoken) : std::string_view()}) {
      if (given.empty()) {
        continue;
      }
      if (auto holder = tokens_.check(given, {}, now)) {
        return std::move(holder->user);
      }
    }
    if (token || spoken || credentials.certificate_rejected || !anonymous_) {
      return status::unauthorized();
    }
    UserInfo user;
    user.name = "system:anonymous";
    user.groups.emplace_back("system:unauthenticated");
    return user;
  }

 private:
  TokenChecker tokens_;
  FrontProxy front_proxy_;
  bool anonymous_;
};

}  // namespace

std::unique_ptr<Authenticator> make_authenticator(const Options& options,
                                                  const Dependencies& dependencies) {
  return std::make_unique<ChainAuthenticator>(options, dependencies);
}

UserInfo internal_user(std::string_view name) {
  UserInfo user;
  user.name = std::string(name);
  if (name.starts_with(kServiceAccountPrefix)) {
    const std::string_view rest = name.substr(kServiceAccountPrefix.size());
    user.groups.emplace_back("system:serviceaccounts");
    user.groups.push_back(fmt::format("system:serviceaccounts:{}", rest.substr(0, rest.find(':'))));
  }
  user.groups.emplace_back("system:authenticated");
  return user;
}

}  // namespace athanor::apiserver
