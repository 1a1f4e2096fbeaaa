// SPDX-License-Identifier: Apache-2.0
// NodeRestriction: a kubelet writes about its own node and the pods on it, and nothing else
// (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/digest.hpp"
#include "embedded/apiserver/admission/certificate_subject.hpp"
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kUserPrefix = "system:node:";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::string_view kLeases = "kube-node-lease";

// Labels of the system that kubelets set all the same.
constexpr std::array<std::string_view, 11> kKubeletLabels = {
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone"};

bool is_within(std::string_view domain, std::string_view parent) {
  return domain == parent || (domain.size() > parent.size() && domain.ends_with(parent) &&
                              domain[domain.size() - parent.size() - 1] == '.');
}

// Whether only administrators may set the label.
bool is_restricted(std::string_view label) {
  const std::size_t slash = label.find('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  const std::string_view domain = label.substr(0, slash);
  if (is_within(domain, "node-restriction.kubernetes.io")) {
    return true;
  }
  if (!is_within(domain, "kubernetes.io") && !is_within(domain, "k8s.io")) {
    return false;
  }
  return std::find(kKubeletLabels.begin(), kKubeletLabels.end(), label) == kKubeletLabels.end() &&
         !is_within(domain, "kubelet.kubernetes.io") && !is_within(domain, "node.kubernetes.io");
}

// Restricted labels that differ.
std::set<std::string> restricted_changes(const Value& now, const Value& before) {
  std::set<std::string> names;
  for (const auto& [from, to] : {std::pair{&now, &before}, std::pair{&before, &now}}) {
    for (const Member& label : from->members()) {
      if ((*to)[label.key()] != label.value && is_restricted(label.key())) {
        names.emplace(label.key());
      }
    }
  }
  return names;
}

class Restriction {
 public:
  Restriction(const AdmissionAttributes& request, const AdmissionContext& context, std::string node)
      : request_(request), context_(context), node_(std::move(node)) {}

  StatusResult<void> check() const {
    const std::string& storage = request_.resource->storage;
    if (storage == "pods") {
      return check_pod();
    }
    if (storage == "nodes") {
      return check_node();
    }
    if (storage == "serviceaccounts" && request_.subresource == "token") {
      return check_token();
    }
    if (storage == "leases.coordination.k8s.io") {
      return check_lease();
    }
    if (storage == "csinodes.storage.k8s.io" && request_.key.name != node_) {
      return refuse(request_, "can only access CSINode with the same name as the requesting node");
    }
    if (storage == "resourceslices.resource.k8s.io") {
      return check_slice();
    }
    if (storage == "certificatesigningrequests.certificates.k8s.io") {
      return check_certificate();
    }
    return {};
  }

 private:
  [[nodiscard]] bool creates_main() const {
    return request_.operation == Operation::Create && request_.subresource.empty();
  }
  [[nodiscard]] StatusResult<void> no(std::string_view text) const {
    return refuse(request_, fmt::format("node \"{}\" {}", node_, text));
  }

  [[nodiscard]] StatusResult<void> check_pod() const {
    const std::string& subresource = request_.subresource;
    if (subresource.empty() && request_.operation == Operation::Create) {
      return check_mirror();
    }
    if (subresource.empty() && request_.operation == Operation::Delete) {
      return is_here(request_.old_object)
                 ? StatusResult<void>()
                 : no("can only delete pods with spec.nodeName set to itself");
    }
    if (subresource == "status") {
      return check_pod_status();
    }
    if (subresource == "eviction") {
      const store::StoredPtr pod = context_.store.get("pods", request_.key);
      return pod == nullptr || is_here(pod->body)
                 ? StatusResult<void>()
                 : refuse(
                       request_,
                       fmt::format("node {} can only evict pods with spec.nodeName set to itself",
                                   node_));
    }
    return refuse(request_, subresource.empty()
                                ? fmt::format("unexpected operation \"{}\", node \"{}\" can only "
                                              "create and delete mirror pods",
                                              operation_name(request_.operation), node_)
                                : fmt::format("unexpected pod subresource \"{}\", only 'status' "
                                              "and 'eviction' are allowed",
                                              subresource));
  }

  [[nodiscard]] bool is_here(const Value& pod) const {
    return pod["spec"]["nodeName"].as_string() == node_;
  }

  [[nodiscard]] StatusResult<void> check_pod_status() const {
    if (!is_here(request_.old_object)) {
      return no("can only update pod status for pods with spec.nodeName set to itself");
    }
    if (request_.object["metadata"]["labels"] != request_.old_object["metadata"]["labels"]) {
      return no("cannot update labels through pod status");
    }
    return {};
  }

  // A pod that the kubelet runs by itself appears as a mirror pod.
  [[nodiscard]] StatusResult<void> check_mirror() const {
    const Value& pod = request_.object;
    if (!pod["metadata"]["annotations"].contains(kMirrorAnnotation)) {
      return refuse(request_, fmt::format("pod does not have \"{}\" annotation, node \"{}\" can "
                                          "only create mirror pods",
                                          kMirrorAnnotation, node_));
    }
    if (!is_here(pod)) {
      return no("can only create pods with spec.nodeName set to itself");
    }
    ATHANOR_TRY_VOID(check_owner(pod["metadata"]["ownerReferences"]));
    const Value& spec = pod["spec"];
    if (!spec["serviceAccountName"].as_string().empty()) {
      return no("can not create pods that reference a service account");
    }
    for (const Value& volume : spec["volumes"].items()) {
      for (const auto& [source, kind] :
           {std::pair{"secret", "secrets"}, std::pair{"configMap", "configmaps"},
            std::pair{"persistentVolumeClaim", "persistentvolumeclaims"}}) {
        if (volume.contains(source)) {
          return no(fmt::format("can not create pods that reference {}", kind));
        }
      }
    }
    return spec["resourceClaims"].empty() ? StatusResult<void>()
                                          : no("can not create pods that reference resourceclaims");
  }

  [[nodiscard]] StatusResult<void> check_owner(const Value& owners) const {
    if (owners.size() > 1) {
      return no("can only create pods with a single owner reference set to itself");
    }
    const Value& owner = owners[0];
    if (owner["apiVersion"].as_string() != "v1" || owner["kind"].as_string() != "Node" ||
        owner["name"].as_string() != node_) {
      return no("can only create pods with an owner reference set to itself");
    }
    if (!owner["controller"].as_bool()) {
      return no("can only create pods with a controller owner reference set to itself");
    }
    if (owner["blockOwnerDeletion"].as_bool()) {
      return no("must not set blockOwnerDeletion on an owner reference");
    }
    const store::StoredPtr node = context_.store.get("nodes", {"", node_});
    if (node == nullptr) {
      return status::not_found({"nodes", ""}, node_);
    }
    const Value& uid = node->body["metadata"]["uid"];
    return uid == owner["uid"]
               ? StatusResult<void>()
               : refuse(request_, fmt::format("node {} UID mismatch: expected {} got {}", node_,
                                              owner["uid"].as_string(), uid.as_string()));
  }

  [[nodiscard]] StatusResult<void> check_node() const {
    if (request_.key.name != node_) {
      return no(fmt::format("is not allowed to modify node \"{}\"", request_.key.name));
    }
    const Value& now = request_.object;
    const Value& before = request_.old_object;
    const auto labels = restricted_changes(now["metadata"]["labels"], before["metadata"]["labels"]);
    if (request_.operation == Operation::Create) {
      return labels.empty() ? StatusResult<void>()
                            : no(fmt::format("is not allowed to set the following labels: {}",
                                             fmt::join(labels, ", ")));
    }
    if (request_.operation != Operation::Update) {
      return {};
    }
    if (now["spec"]["taints"] != before["spec"]["taints"]) {
      return no("is not allowed to modify taints");
    }
    if (!labels.empty()) {
      return refuse(request_,
                    fmt::format("is not allowed to modify labels: {}", fmt::join(labels, ", ")));
    }
    return now["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
               ? StatusResult<void>()
               : no("is not allowed to modify ownerReferences");
  }

  // Tokens are for pods on this node.
  [[nodiscard]] StatusResult<void> check_token() const {
    const Value& bound = request_.object["spec"]["boundObjectRef"];
    if (bound["kind"].as_string() != "Pod" || bound["apiVersion"].as_string() != "v1" ||
        bound["name"].as_string().empty()) {
      return refuse(request_, "node requested token not bound to a pod");
    }
    if (bound["uid"].as_string().empty()) {
      return refuse(request_, "node requested token with a pod binding without a uid");
    }
    const store::StoredPtr pod = context_.store.get("pods", {request_.key.ns, bound["name"].str()});
    if (pod == nullptr) {
      return status::not_found({"pods", ""}, bound["name"].as_string());
    }
    if (pod->body["metadata"]["uid"] != bound["uid"]) {
      return refuse(request_,
                    fmt::format("the UID in the bound object reference ({}) does not match the UID "
                                "in record. The object might have been deleted and then recreated",
                                bound["uid"].as_string()));
    }
    return is_here(pod->body) ? StatusResult<void>()
                              : refuse(request_,
                                       "node requested token bound to a pod scheduled on a "
                                       "different node");
  }

  [[nodiscard]] StatusResult<void> check_lease() const {
    if (request_.key.ns != kLeases) {
      return refuse(request_,
                    fmt::format("can only access leases in the \"{}\" system namespace", kLeases));
    }
    return request_.key.name == node_
               ? StatusResult<void>()
               : refuse(request_,
                        "can only access node lease with the same name as the requesting node");
  }

  [[nodiscard]] StatusResult<void> check_slice() const {
    const bool creates = creates_main();
    if (!creates && request_.operation != Operation::Delete) {
      return {};
    }
    const Value& slice = creates ? request_.object : request_.old_object;
    return slice["spec"]["nodeName"].as_string() == node_
               ? StatusResult<void>()
               : refuse(request_, fmt::format("can only {} ResourceSlice with the same NodeName as "
                                              "the requesting node",
                                              creates ? "create" : "delete"));
  }

  [[nodiscard]] StatusResult<void> check_certificate() const {
    const Value& spec = request_.object["spec"];
    const std::string_view signer = spec["signerName"].as_string();
    if (!creates_main() || (signer != "kubernetes.io/kube-apiserver-client-kubelet" &&
                            signer != "kubernetes.io/kubelet-serving")) {
      return {};
    }
    const auto subject =
        certificate_subject(base64_decode(spec["request"].as_string()).value_or(std::string()));
    const std::string own = fmt::format("{}{}", kUserPrefix, node_);
    return subject && subject->common_name == own
               ? StatusResult<void>()
               : refuse(request_, fmt::format("can only create a node CSR with CN={}", own));
  }

  const AdmissionAttributes& request_;
  const AdmissionContext& context_;
  const std::string node_;
};

StatusResult<void> check_node_restriction(AdmissionAttributes& request,
                                          const AdmissionContext& context) {
  if (request.user == nullptr || !request.user->in_group("system:nodes")) {
    return {};
  }
  const std::string& user = request.user->name;
  if (!user.starts_with(kUserPrefix) || user.size() == kUserPrefix.size()) {
    return refuse(request, fmt::format("could not determine node from user \"{}\"", user));
  }
  return Restriction(request, context, user.substr(kUserPrefix.size())).check();
}

}  // namespace

AdmissionStep node_restriction_step() {
  return {.name = "NodeRestriction", .mutate = {}, .validate = &check_node_restriction};
}

}  // namespace athanor::apiserver
