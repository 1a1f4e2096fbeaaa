// SPDX-License-Identifier: Apache-2.0
// Settings of the resolver, and variables that name Services.
#include "embedded/nodes/pod_names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "embedded/nodes/service_variables.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::pod_names_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

std::string resolver(const std::string& spec, const char* server = "127.96.0.10") {
  const Object pod(from_yaml("{metadata: {name: p, namespace: team}, spec: " + spec + "}"));
  return resolver_file(
      pod, Value::object({{"nameServer", server},
                          {"resolver", "# c\nnameserver 9.9.9.9\nsearch lan\noptions edns0\n"}}));
}

TEST(ResolverFile, NamesTheClustersServer) {
  EXPECT_EQ(resolver("{dnsPolicy: ClusterFirst}"),
            "search team.svc.cluster.local svc.cluster.local cluster.local lan\n"
            "nameserver 127.96.0.10\noptions ndots:5\n");
  EXPECT_EQ(resolver("{dnsPolicy: ClusterFirstWithHostNet, hostNetwork: true}"),
            resolver("{dnsPolicy: ClusterFirst}"));
}

TEST(ResolverFile, LeavesTheMachinesSettings) {
  EXPECT_EQ(resolver("{dnsPolicy: Default}"), "");
  EXPECT_EQ(resolver("{dnsPolicy: ClusterFirst, hostNetwork: true}"), "");
  EXPECT_EQ(resolver("{dnsPolicy: ClusterFirst}", ""), "");
}

TEST(ResolverFile, AddsTheConfig) {
  const std::string config =
      "dnsConfig: {nameservers: [1.1.1.1], searches: [x.org], options: [{name: ndots, value: "
      "'2'}, {name: rotate}]}";
  EXPECT_EQ(resolver("{dnsPolicy: None, " + config + "}"),
            "search x.org\nnameserver 1.1.1.1\noptions ndots:2 rotate\n");
  EXPECT_EQ(resolver("{dnsPolicy: ClusterFirst, " + config + "}"),
            "search team.svc.cluster.local svc.cluster.local cluster.local lan x.org\n"
            "nameserver 127.96.0.10\nnameserver 1.1.1.1\noptions ndots:2 rotate\n");
  EXPECT_EQ(resolver("{dnsPolicy: Default, " + config + "}"),
            "search lan x.org\nnameserver 9.9.9.9\nnameserver 1.1.1.1\noptions edns0 ndots:2 "
            "rotate\n");
}

TEST(ServiceVariables, NameHostAndPorts) {
  const Object service(
      from_yaml("{metadata: {name: redis-primary, namespace: a}, spec: {clusterIP: 10.96.0.11, "
                "ports: [{name: main, port: 6379, protocol: TCP}, {port: 53, protocol: UDP}]}}"));
  std::string text;
  for (const auto& [name, value] : variables_of(service)) {
    text += name + "=" + value + "\n";
  }
  EXPECT_EQ(text,
            "REDIS_PRIMARY_SERVICE_HOST=10.96.0.11\n"
            "REDIS_PRIMARY_SERVICE_PORT=6379\n"
            "REDIS_PRIMARY_SERVICE_PORT_MAIN=6379\n"
            "REDIS_PRIMARY_PORT=tcp://10.96.0.11:6379\n"
            "REDIS_PRIMARY_PORT_6379_TCP=tcp://10.96.0.11:6379\n"
            "REDIS_PRIMARY_PORT_6379_TCP_PROTO=tcp\n"
            "REDIS_PRIMARY_PORT_6379_TCP_PORT=6379\n"
            "REDIS_PRIMARY_PORT_6379_TCP_ADDR=10.96.0.11\n"
            "REDIS_PRIMARY_PORT_53_UDP=udp://10.96.0.11:53\n"
            "REDIS_PRIMARY_PORT_53_UDP_PROTO=udp\n"
            "REDIS_PRIMARY_PORT_53_UDP_PORT=53\n"
            "REDIS_PRIMARY_PORT_53_UDP_ADDR=10.96.0.11\n");
}

TEST(ServiceVariables, LeaveOutServicesWithoutAddress) {
  EXPECT_TRUE(
      variables_of(Object(from_yaml("{metadata: {name: h}, spec: {clusterIP: None, ports: [{port: "
                                    "1}]}}")))
          .empty());
}

}  // namespace
}  // namespace athanor::nodes::pod_names_test
