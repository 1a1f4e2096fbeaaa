// SPDX-License-Identifier: Apache-2.0
// Which Secrets a sync writes and deletes (docs/spec/fournos.md section 20).
#include "systems/fournos/vault/vault_sync.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/digest.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::fournos::vault_sync_test {
namespace {

const VaultPlace kPlace{.ns = "sns", .address = "https://vault.example", .path = "kv/bench"};

Object secret(const std::string& name, const std::string& manager = "fournos-vault-sync",
              const std::string& entry = "true") {
  return Object(yaml::parse("{apiVersion: v1, kind: Secret, metadata: {name: " + name +
                            ", namespace: sns, uid: u, resourceVersion: '7', labels: "
                            "{app.kubernetes.io/managed-by: " +
                            manager + ", fournos.dev/vault-entry: '" + entry +
                            "', own: kept}}, type: Opaque}")
                    .value());
}

TEST(VaultSync, WritesASecretForEachEntry) {
  const VaultPlan plan =
      plan_vault_sync({{.name = "hf-token", .data = {{"token", "s3cr3t"}, {"secretsync/x", "y"}}},
                       {.name = "folder/"}},
                      {secret("vault-hf-token")}, kPlace);
  EXPECT_TRUE(plan.errors.empty());
  EXPECT_TRUE(plan.deletes.empty());
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(
      plan.writes[0],
      yaml::parse("{apiVersion: v1, kind: Secret, metadata: {name: vault-hf-token, namespace: "
                  "sns, labels: {app.kubernetes.io/managed-by: fournos-vault-sync, "
                  "fournos.dev/vault-entry: 'true', own: kept}, resourceVersion: '7', uid: u, "
                  "annotations: {fournos.dev/vault-addr: 'https://vault.example', "
                  "fournos.dev/vault-path: kv/bench/hf-token}}, type: Opaque, data: {token: " +
                  base64_encode("s3cr3t") + "}}")
          .value());
}

TEST(VaultSync, DeletesGoneEntriesAndKeepsUnreadableOnes) {
  const VaultPlan plan =
      plan_vault_sync({{.name = "unreadable", .problem = "permission denied"},
                       {.name = "empty"},
                       {.name = "skipped", .data = {{"fournos_skip_sync", "1"}, {"a", "b"}}},
                       {.name = "odd", .data = {{"no key!", "x"}}},
                       {.name = "good", .data = {{"a", "b"}}}},
                      {secret("vault-unreadable"), secret("vault-empty"), secret("vault-skipped"),
                       secret("vault-odd"), secret("vault-gone"), secret("vault-mine", "me"),
                       secret("vault-label", "fournos-vault-sync", "false")},
                      kPlace);
  EXPECT_EQ(plan.deletes, (std::vector<std::string>{"vault-empty", "vault-gone"}));
  EXPECT_EQ(plan.errors,
            (std::vector<std::string>{"entry unreadable: permission denied",
                                      "entry odd: key \"no key!\" cannot be a key of a "
                                      "Secret"}));
  EXPECT_EQ(plan.notes,
            (std::vector<std::string>{"entry empty: skipped, it is empty",
                                      "entry skipped: skipped, it has key fournos_skip_sync"}));
  EXPECT_EQ(plan.writes.size(), 1U);
}

TEST(VaultSync, NamesThatNoSecretCanHaveAreErrors) {
  for (const char* name : {"Upper", "-a", "a_b", "a-", ""}) {
    const VaultPlan plan = plan_vault_sync({{.name = name, .data = {{"a", "b"}}}}, {}, kPlace);
    EXPECT_EQ(plan.errors.size(), 1U) << name;
    EXPECT_TRUE(plan.writes.empty()) << name;
  }
}

TEST(VaultSync, SkipsOnlyUnwritableKeys) {
  const VaultPlan plan =
      plan_vault_sync({{.name = "e", .data = {{"a b", "x"}, {"ok.K-1", "y"}}}}, {}, kPlace);
  EXPECT_EQ(plan.errors.size(), 1U);
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0]["data"].size(), 1U);
}

}  // namespace
}  // namespace athanor::fournos::vault_sync_test
