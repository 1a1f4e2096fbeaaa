// SPDX-License-Identifier: Apache-2.0
// Bearer tokens: static ones and those of service accounts (docs/spec/apiserver.md 16.1, 16.3).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/apiserver/request/token_signer.hpp"
#include "embedded/kinds/user_info.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// What a valid token stands for.
struct TokenHolder {
  UserInfo user{};
  std::vector<std::string> audiences{};  // those of the wanted ones that the token is good for
};

// Thread-safe; reads the store at every check, so a deleted service account ends its tokens at
// once.
class TokenChecker {
 public:
  TokenChecker(const Options& options, const Dependencies& dependencies);

  // Checks a token; nullopt: not valid now for any of `audiences` (empty: the API server's own).
  [[nodiscard]] std::optional<TokenHolder> check(std::string_view token,
                                                 const std::vector<std::string>& audiences,
                                                 Instant now) const;

 private:
  [[nodiscard]] std::optional<UserInfo> service_account(const Value& claims) const;
  [[nodiscard]] std::optional<TokenHolder> legacy(const Value& claims, std::string_view token,
                                                  std::vector<std::string> audiences) const;
  // Checks "ID.SECRET": the user that Secret kube-system/bootstrap-token-ID lets in.
  [[nodiscard]] std::optional<UserInfo> bootstrap(std::string_view token, Instant now) const;
  [[nodiscard]] bool exists(std::string_view resource, std::string_view ns,
                            const Value& reference) const;

  std::map<std::string, StaticToken, std::less<>> tokens_{};
  TokenSigner* signer_ = nullptr;
  const store::Store* store_ = nullptr;
  std::vector<std::string> own_{};
  bool bootstrap_tokens_ = false;
};

// Returns the audiences of this server: --api-audiences, or the issuer.
std::vector<std::string> server_audiences(const Options& options, const TokenSigner* signer);

// Returns "system:serviceaccount:NS:NAME".
std::string service_account_user(std::string_view ns, std::string_view name);

}  // namespace athanor::apiserver
