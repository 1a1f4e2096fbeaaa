// SPDX-License-Identifier: Apache-2.0
// Who may approve and who may sign certificate signing requests: users who hold that right for the
// signer (docs/spec/apiserver.md 12.4). And what must not be asked for at all.
#include <fmt/format.h>

#include <algorithm>

#include "base/digest.hpp"
#include "embedded/apiserver/admission/certificate_subject.hpp"
#include "embedded/apiserver/admission/steps.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kCertificatesGroup = "certificates.k8s.io";
constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client";

bool is_about(const AdmissionAttributes& request, std::string_view subresource) {
  return request.operation == Operation::Update && request.resource->group == kCertificatesGroup &&
         request.resource->plural == "certificatesigningrequests" &&
         request.subresource == subresource;
}

StatusResult<void> require(const AdmissionAttributes& request, const AdmissionContext& context,
                           std::string_view verb) {
  const std::string signer = request.old_object["spec"]["signerName"].str();
  const std::string domain = signer.substr(0, signer.find('/')) + "/*";
  for (const std::string& name : {signer, domain}) {
    Attributes attributes;
    attributes.user = request.user;
    attributes.verb = std::string(verb);
    attributes.group = std::string(kCertificatesGroup);
    attributes.version = "*";
    attributes.resource = "signers";
    attributes.name = name;
    if (request.user != nullptr && context.authorizer.authorize(attributes).allowed) {
      return {};
    }
  }
  return refuse(request, fmt::format("user not permitted to {} requests with signerName {}", verb,
                                     go_quote(signer)));
}

}  // namespace

AdmissionStep certificate_approval_step() {
  return {.name = "CertificateApproval",
          .mutate = {},
          .validate = [](AdmissionAttributes& request,
                         const AdmissionContext& context) -> StatusResult<void> {
            if (!is_about(request, "approval")) {
              return {};
            }
            return require(request, context, "approve");
          }};
}

AdmissionStep certificate_signing_step() {
  return {.name = "CertificateSigning",
          .mutate = {},
          .validate = [](AdmissionAttributes& request,
                         const AdmissionContext& context) -> StatusResult<void> {
            const Value& now = request.object["status"];
            const Value& before = request.old_object["status"];
            if (!is_about(request, "status") || (now["certificate"] == before["certificate"] &&
                                                 now["conditions"] == before["conditions"])) {
              return {};
            }
            return require(request, context, "sign");
          }};
}

AdmissionStep certificate_subject_step() {
  return {.name = "CertificateSubjectRestriction",
          .mutate = {},
          .validate = [](AdmissionAttributes& request,
                         const AdmissionContext& /*context*/) -> StatusResult<void> {
            constexpr std::string_view kMasters = "system:masters";
            const Value& spec = request.object["spec"];
            if (!creates(request, kCertificatesGroup, "certificatesigningrequests") ||
                spec["signerName"].as_string() != kClientSigner) {
              return {};
            }
            const auto subject = certificate_subject(
                base64_decode(spec["request"].as_string()).value_or(std::string()));
            if (subject && std::ranges::find(subject->organizations, kMasters) !=
                               subject->organizations.end()) {
              return refuse(request, fmt::format("use of {} signer with {} group is not allowed",
                                                 kClientSigner, kMasters));
            }
            return {};
          }};
}

}  // namespace athanor::apiserver
