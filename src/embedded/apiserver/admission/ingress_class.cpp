// SPDX-License-Identifier: Apache-2.0
// DefaultIngressClass: an ingress without a class gets the one marked as default
// (docs/spec/apiserver.md 15.1).
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kIngressGroup = "networking.k8s.io";
constexpr std::string_view kDefault = "ingressclass.kubernetes.io/is-default-class";
constexpr std::string_view kOldWay = "kubernetes.io/ingress.class";

// Of several the newest, of those the first by name.
StatusResult<void> choose_ingress_class(AdmissionAttributes& request,
                                        const AdmissionContext& context) {
  if (!creates(request, kIngressGroup, "ingresses") ||
      !request.object["spec"]["ingressClassName"].is_null() ||
      request.object["metadata"]["annotations"].contains(kOldWay)) {
    return {};
  }
  const auto page = context.store.list("ingressclasses.networking.k8s.io", {});
  Value chosen;
  for (const store::StoredPtr& stored : page.ok() ? page->items : std::vector<store::StoredPtr>()) {
    const Value& metadata = stored->body["metadata"];
    if (metadata["annotations"][kDefault].as_string() == "true" &&
        (chosen.is_null() ||
         metadata["creationTimestamp"].as_string() > chosen["creationTimestamp"].as_string())) {
      chosen = metadata;
    }
  }
  if (!chosen.is_null()) {
    request.object.member("spec").set("ingressClassName", chosen["name"]);
  }
  return {};
}

}  // namespace

AdmissionStep default_ingress_class_step() {
  return {.name = "DefaultIngressClass", .mutate = &choose_ingress_class, .validate = {}};
}

}  // namespace athanor::apiserver
