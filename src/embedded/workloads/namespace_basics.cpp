// SPDX-License-Identifier: Apache-2.0
// The default service account and the root CA of namespaces.
#include "embedded/workloads/namespace_basics.hpp"

#include "api/builtin.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kDefaultAccount = "default";
constexpr const char* kRootCa = "kube-root-ca.crt";

bool stays(const View& view, const Key& ns) {
  const auto object = view.get(api::kNamespace, ns);
  return object && !object->deleting() && object->status()["phase"].as_string() != "Terminating";
}

Plan reconcile_service_account(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (!stays(view, key)) {
    return plan;
  }
  const Key account{key.name, kDefaultAccount};
  if (!view.get(api::kServiceAccount, account)) {
    plan.then(Create{
        .target = {&api::kServiceAccount, account},
        .object = Value::object(
            {{"apiVersion", "v1"},
             {"kind", "ServiceAccount"},
             {"metadata", Value::object({{"name", kDefaultAccount}, {"namespace", key.name}})}})});
  }
  return plan;
}

Plan reconcile_root_ca(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (!stays(view, key)) {
    return plan;
  }
  const Key map{key.name, kRootCa};
  const Value data = Value::object({{"ca.crt", view.config("rootCA")["pem"].str()}});
  const auto present = view.get(api::kConfigMap, map);
  if (!present) {
    const Value annotations =
        Value::object({{"kubernetes.io/description",
                        "The certificate authority that signs this API server's certificate."}});
    plan.then(
        Create{.target = {&api::kConfigMap, map},
               .object = Value::object({{"apiVersion", "v1"},
                                        {"kind", "ConfigMap"},
                                        {"metadata", Value::object({{"name", kRootCa},
                                                                    {"namespace", key.name},
                                                                    {"annotations", annotations}})},
                                        {"data", data}})});
  } else if (present->body()["data"] != data) {
    plan.then(Patch{.target = {&api::kConfigMap, map},
                    .merge = Value::object({{"data", data}}),
                    .guard = {.uid = std::string(present->uid())}});
  }
  return plan;
}

}  // namespace

const Operator& service_account_operator() {
  static const Kind* const kReads[] = {&api::kNamespace, &api::kServiceAccount};
  static const Kind* const kWrites[] = {&api::kServiceAccount};
  static const Operator kOperator{
      .name = "serviceaccount-controller",
      .primary = &api::kNamespace,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile_service_account,
      .user = "system:serviceaccount:kube-system:service-account-controller"};
  return kOperator;
}

const Operator& root_ca_operator() {
  static const Kind* const kReads[] = {&api::kNamespace, &api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kConfigMap};
  static const Operator kOperator{
      .name = "root-ca-certificate-publisher-controller",
      .primary = &api::kNamespace,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile_root_ca,
      .user = "system:serviceaccount:kube-system:root-ca-cert-publisher"};
  return kOperator;
}

}  // namespace athanor::workloads
