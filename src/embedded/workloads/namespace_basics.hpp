// SPDX-License-Identifier: Apache-2.0
// What every namespace and role owes to controllers (docs/spec/apiserver.md 16.2, 16.3).
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::workloads {

// Makes ServiceAccount `default` in every namespace that stays.
const Operator& service_account_operator();
// Makes ConfigMap kube-root-ca.crt in every namespace that stays; the PEM comes from
// view.config("rootCA")["pem"].
const Operator& root_ca_operator();
// Secrets of type kubernetes.io/service-account-token: token, ca.crt and namespace; deleted with
// their account. The token comes from the observation
// "service-account-token:<namespace>/<account>/<account's uid>/<secret>": {"token": text}.
const Operator& account_token_operator();
// Secrets of type bootstrap.kubernetes.io/token: removed when they expire.
const Operator& token_cleaner_operator();
// ClusterRoles with an aggregationRule get the rules of the roles it selects, in order of their
// names.
const Operator& role_aggregation_operator();

}  // namespace athanor::workloads
