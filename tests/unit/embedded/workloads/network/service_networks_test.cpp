// SPDX-License-Identifier: Apache-2.0
// ServiceCIDRs stay while addresses come from them alone.
#include "embedded/workloads/network/service_networks.hpp"

#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::service_networks_test {
namespace {

class ServiceNetworks : public WorkloadTest {
 protected:
  ServiceNetworks() : WorkloadTest({&service_network_operator()}) {}
  void network(const std::string& name, const std::string& cidr) {
    put("{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: " + name +
        "}, spec: {cidrs: ['" + cidr + "']}}");
    settle();
  }
  void address(const std::string& name) {
    put("{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: " + name +
        "}, spec: {parentRef: {resource: services, namespace: a, name: b}}}");
    settle();
  }
  [[nodiscard]] Value ready(const std::string& name) {
    return world.must(kServiceCidr, {"", name}).status()["conditions"][0];
  }
};

TEST_F(ServiceNetworks, AreReadyAndGuarded) {
  network("two", "10.97.0.0/28");
  EXPECT_EQ(ready("two")["status"].as_string(), "True");
  EXPECT_EQ(ready("two")["message"].as_string(), "Kubernetes Service CIDR is ready");
  EXPECT_EQ(world.must(kServiceCidr, {"", "two"}).metadata()["finalizers"][0].as_string(),
            "networking.k8s.io/service-cidr-finalizer");
}

TEST_F(ServiceNetworks, WaitForTheirAddresses) {
  network("two", "10.97.0.0/28");
  address("10.97.0.5");
  address("10.97.0.16");  // of another network
  world.remove(kServiceCidr, {"", "two"});
  settle();
  EXPECT_EQ(ready("two")["status"].as_string(), "False");
  EXPECT_EQ(ready("two")["reason"].as_string(), "Terminating");
  world.remove(kIpAddress, {"", "10.97.0.5"});
  settle();
  EXPECT_FALSE(world.has(kServiceCidr, {"", "two"}));
}

TEST_F(ServiceNetworks, GoWhereAnotherHoldsTheAddresses) {
  network("two", "10.97.0.0/28");
  network("wide", "10.97.0.0/16");
  address("10.97.0.5");
  world.remove(kServiceCidr, {"", "two"});
  settle();
  EXPECT_FALSE(world.has(kServiceCidr, {"", "two"}));
}

}  // namespace
}  // namespace athanor::workloads::service_networks_test
