// SPDX-License-Identifier: Apache-2.0
// What depends on the platform: versions and TLS profiles (docs/spec/numa.md 3.1, 16.1).
#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/numa/operator/platform_version.hpp"

namespace athanor::numa::platform_test {
namespace {

TEST(NumaPlatform, KnowsFixedKubelets) {
  for (const char* fixed :
       {"4.20.0", "4.20.7", "4.21.0", "5.0.0", "4.20.0-0.nightly-2025-08-04-154809",
        "4.20.0-0.nightly-2025-09-01-000000", "4.20.0-0.ci-2025-08-01-195417", "4.20.0-ec.6",
        "4.20.0-ec.10", "4.20.0-rc.0", "4.21.0-ec.1"}) {
    EXPECT_TRUE(has_fixed_kubelet(fixed)) << fixed;
  }
  for (const char* other :
       {"", "4.19.9", "4.20.0-0.nightly-2025-08-04-154808", "4.20.0-0.ci-2025-08-01-195416",
        "4.20.0-ec.5", "4.20.0-ec.x", "4.20.0-beta.1", "4.21.0-strange", "4.20", "x.y.z"}) {
    EXPECT_FALSE(has_fixed_kubelet(other)) << other;
  }
}

TEST(NumaPlatform, KnowsKubeletsThatListActivePods) {
  const auto nodes = [](std::initializer_list<const char*> versions) {
    std::vector<Object> all;
    for (const char* version : versions) {
      Value node = Value::object({});
      node.set_path({"status", "nodeInfo", "kubeletVersion"}, version);
      all.emplace_back(std::move(node));
    }
    return all;
  };
  EXPECT_TRUE(kubelets_list_active_pods(nodes({"v1.34.0", "v1.35.4+k3s1", "v2.0.0"})));
  for (const char* old : {"v1.33.9", "", "v1", "latest"}) {
    EXPECT_FALSE(kubelets_list_active_pods(nodes({"v1.35.0", old}))) << old;
  }
  EXPECT_FALSE(kubelets_list_active_pods({})) << "nothing is known";
}

TEST(NumaPlatform, TurnsTlsProfilesIntoFlags) {
  const auto read = [](const char* text) { return read_tls_profile(yaml::parse(text).value()); };
  EXPECT_EQ(read("{type: Old}").min_version, "VersionTLS10");
  EXPECT_EQ(read("{type: Intermediate}").min_version, "VersionTLS12");
  EXPECT_EQ(read("{}").min_version, "VersionTLS12");
  EXPECT_EQ(read("{type: Modern}").min_version, "VersionTLS13");
  EXPECT_EQ(read("{type: Modern}").ciphers,
            "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256");
  const TlsProfile custom = read(
      "{type: Custom, custom: {minTLSVersion: VersionTLS11, ciphers: "
      "[ECDHE-RSA-AES128-GCM-SHA256, TLS_OWN]}}");
  EXPECT_EQ(custom.min_version, "VersionTLS11");
  EXPECT_EQ(custom.ciphers, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_OWN");
  Value workload =
      yaml::parse("{spec: {template: {spec: {containers: [{args: [-v=2]}]}}}}").value();
  add_tls_flags({}, "--metrics-", workload);
  EXPECT_EQ(workload["spec"]["template"]["spec"]["containers"][0]["args"].size(), 1U);
  add_tls_flags({.min_version = "VersionTLS12", .ciphers = "a,b"}, "--metrics-", workload);
  const Value& args = workload["spec"]["template"]["spec"]["containers"][0]["args"];
  EXPECT_EQ(args[1].str(), "--metrics-tls-min-version=VersionTLS12");
  EXPECT_EQ(args[2].str(), "--metrics-tls-cipher-suites=a,b");
}

}  // namespace
}  // namespace athanor::numa::platform_test
