// SPDX-License-Identifier: Apache-2.0
// Where addresses that pods bind and connect to lead.
#include "embedded/nodes/network/call_rules.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kube/text/yaml.hpp"

namespace athanor::nodes::call_rules_test {
namespace {

using enum CallRule::Way;

Address at(const char* ip, std::uint16_t port) {
  return {.ip = ip_of(ip).value(), .port = port};
}

const CallingPod kPod{.ip = 0x7f14'0001};  // 127.20.0.1
const CallingPod kOnHost{.ip = kLoopback, .host_network = true};

class CallRulesTest : public testing::Test {
 protected:
  CallRulesTest() {
    const std::vector<Value> services{
        yaml::parse("{metadata: {name: s, namespace: a}, spec: {clusterIP: 10.96.0.7, ports: "
                    "[{port: 5000, protocol: TCP}, {name: none, port: 5001, protocol: TCP}]}}")
            .value()};
    const std::vector<Value> slices{
        yaml::parse("{metadata: {namespace: a, labels: {kubernetes.io/service-name: s}}, "
                    "addressType: IPv4, ports: [{name: '', port: 6000, protocol: TCP}], "
                    "endpoints: [{addresses: [127.20.0.2], conditions: {ready: true}}]}")
            .value()};
    table_ = make_service_table(services, slices);
  }

  CallRule connect(const char* ip, std::uint16_t port, const CallingPod& pod = kPod) {
    return rules_.connect(pod, at(ip, port), Protocol::Tcp, table_, 0);
  }
  static CallRule bind(const char* ip, std::uint16_t port, const CallingPod& pod = kPod) {
    return CallRules::bind(pod, at(ip, port));
  }

  ServiceTable table_{};
  CallRules rules_{{.known = at("127.96.0.10", 53), .actual = at("127.0.0.1", 7777)}};
};

TEST_F(CallRulesTest, MoveBoundAddresses) {
  for (const char* ip : {"0.0.0.0", "127.0.0.1", "127.20.0.1"}) {
    const CallRule rule = bind(ip, 8000);
    EXPECT_EQ(rule.way, Move) << ip;
    EXPECT_EQ(rule.to, at("127.20.0.1", 8000)) << ip;
  }
  EXPECT_EQ(bind("0.0.0.0", 0).way, AsItIs);
  EXPECT_EQ(bind("192.168.0.1", 8000).way, AsItIs);
  EXPECT_EQ(bind("0.0.0.0", 8000, kOnHost).way, AsItIs);
}

TEST_F(CallRulesTest, LeadToEndpointsOfServices) {
  const CallRule rule = connect("10.96.0.7", 5000);
  EXPECT_EQ(rule.way, Move);
  EXPECT_EQ(rule.to, at("127.20.0.2", 6000));
  EXPECT_TRUE(rule.own_source);
  EXPECT_FALSE(connect("10.96.0.7", 5000, kOnHost).own_source);
  EXPECT_TRUE(connect("10.96.0.7", 5001).refused);
  EXPECT_EQ(connect("10.96.0.7", 5002).way, AsItIs);
}

TEST_F(CallRulesTest, KeepLocalhostWithinThePod) {
  EXPECT_EQ(connect("127.0.0.1", 8000).way, AsItIs);
  rules_.bound(kPod.ip, 8000, Protocol::Tcp);
  const CallRule rule = connect("127.0.0.1", 8000);
  EXPECT_EQ(rule.to, at("127.20.0.1", 8000));
  EXPECT_TRUE(rule.or_as_it_is);
  EXPECT_EQ(connect("127.0.0.1", 8000, {.ip = 0x7f14'0002}).way, AsItIs);
  rules_.unbound(kPod.ip, 8000, Protocol::Tcp);
  EXPECT_EQ(connect("127.0.0.1", 8000).way, AsItIs);
  rules_.bound(kPod.ip, 8000, Protocol::Tcp);
  rules_.ended(kPod.ip);
  EXPECT_EQ(connect("127.0.0.1", 8000).way, AsItIs);
}

TEST_F(CallRulesTest, LeadToTheNameServer) {
  EXPECT_EQ(connect("127.96.0.10", 53).to, at("127.0.0.1", 7777));
}

TEST_F(CallRulesTest, LeaveOtherAddressesAlone) {
  EXPECT_EQ(connect("93.184.216.34", 443).way, AsItIs);
  EXPECT_EQ(connect("127.0.0.53", 53).way, AsItIs);
  EXPECT_TRUE(connect("127.20.0.9", 29500).own_source);
}

TEST(PodPorts, ReplacePortsOfRoot) {
  EXPECT_EQ(pod_port(80, 1024), 64592);
  EXPECT_EQ(pod_port(80, 0), 80);
  EXPECT_EQ(pod_port(0, 1024), 0);
  EXPECT_EQ(pod_port(8080, 1024), 8080);
  EXPECT_EQ(pod_port(1023, 1024), 65535);
}

}  // namespace
}  // namespace athanor::nodes::call_rules_test
