// SPDX-License-Identifier: Apache-2.0
// Which of the server's requests are answered here: tokens and reviews
// (docs/spec/apiserver.md 16.3, 16.4).
#include <array>

#include "embedded/apiserver/auth/handlers.hpp"
#include "embedded/apiserver/request/subresource.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::array kRoutes = {
    SubresourceRoute{"serviceaccounts", "token", "POST", &handle_token_request},
    SubresourceRoute{"tokenreviews.authentication.k8s.io", "", "POST", &handle_token_review},
    SubresourceRoute{"selfsubjectreviews.authentication.k8s.io", "", "POST",
                     &handle_self_subject_review},
    SubresourceRoute{"subjectaccessreviews.authorization.k8s.io", "", "POST",
                     &handle_subject_access_review},
    SubresourceRoute{"localsubjectaccessreviews.authorization.k8s.io", "", "POST",
                     &handle_local_subject_access_review},
    SubresourceRoute{"selfsubjectaccessreviews.authorization.k8s.io", "", "POST",
                     &handle_self_subject_access_review},
    SubresourceRoute{"selfsubjectrulesreviews.authorization.k8s.io", "", "POST",
                     &handle_self_subject_rules_review},
};

}  // namespace

std::span<const SubresourceRoute> auth_routes() {
  return kRoutes;
}

}  // namespace athanor::apiserver
