// SPDX-License-Identifier: Apache-2.0
// Who asks: client certificates and in-process users (spec/apiserver.md 16.1).
#include "embedded/apiserver/authenticate.hpp"

#include <string_view>

namespace athanor::apiserver {
namespace {

constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

class CertificateAuthenticator final : public Authenticator {
 public:
  [[nodiscard]] StatusResult<UserInfo> authenticate(const Request& request,
                                                    Instant /*now*/) const override {
    const Credentials& credentials = request.credentials;
    if (credentials.internal_user) {
      return internal_user(*credentials.internal_user);
    }
    UserInfo user;
    if (credentials.certificate) {
      user.name = credentials.certificate->common_name;
      user.groups = credentials.certificate->organizations;
      user.groups.emplace_back("system:authenticated");
      return user;
    }
    if (credentials.certificate_rejected) {
      return status::unauthorized();
    }
    user.name = "system:anonymous";
    user.groups.emplace_back("system:unauthenticated");
    return user;
  }
};

}  // namespace

std::unique_ptr<Authenticator> make_authenticator(const Options& /*options*/,
                                                  const Dependencies& /*dependencies*/) {
  return std::make_unique<CertificateAuthenticator>();
}

UserInfo internal_user(std::string_view name) {
  UserInfo user;
  user.name = std::string(name);
  if (name.starts_with(kServiceAccountPrefix)) {
    const std::string_view rest = name.substr(kServiceAccountPrefix.size());
    user.groups.emplace_back("system:serviceaccounts");
    user.groups.push_back("system:serviceaccounts:" + std::string(rest.substr(0, rest.find(':'))));
  }
  user.groups.emplace_back("system:authenticated");
  return user;
}

}  // namespace athanor::apiserver
