// SPDX-License-Identifier: Apache-2.0
// What the differential stream brought to light about services.
#include "unit/embedded/apiserver/differential.hpp"

namespace athanor::apiserver::differential_services_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What is told of a service with that port and what else is in its spec.
std::string refusal_of(TestServer& server, int port, std::string_view spec) {
  return server
      .post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":)" +
                             std::to_string(port) + "}]," + std::string(spec) + "}}"))
      .message();
}

TEST(DifferentialServices, AnAddressNeedsAnOwnerWithAName) {
  TestServer server;
  const Answer refused =
      server.post(kServices, parse(R"({"metadata":{"name":"10%"},"spec":{"ports":[{"port":1}]}})"));
  EXPECT_THAT(refused.message(), HasSubstr("failed to allocate IP: IPAddress.networking.k8s.io"));
  EXPECT_THAT(refused.message(), HasSubstr(R"(Invalid value: "10%": may not contain '%')"));
}

TEST(DifferentialServices, ClearLoadBalancerWhenTypeChanges) {
  TestServer server;
  const std::string path = with(kServices, "/s");
  server.post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer",)"
                               R"("ports":[{"port":80}]}})"));
  server.patch(path + "/status", "merge",
               R"({"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}})");
  const auto balancer = [&](std::string_view spec) {
    return server.patch(path, "merge", R"({"spec":)" + std::string(spec) + "}")
        .value["status"]["loadBalancer"];
  };
  EXPECT_FALSE(balancer(R"({"selector":{"a":"b"}})").empty());
  EXPECT_EQ(balancer(R"({"type":"NodePort"})"), parse("{}"));
}

TEST(DifferentialServices, ReportAddressErrorsFirst) {
  TestServer server;
  const auto refused = [&](std::string_view spec) { return refusal_of(server, 0, spec); };
  EXPECT_EQ(refused(R"("clusterIP":"x")"),
            "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: \"x\": must be a valid "
            "IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  EXPECT_THAT(refused(R"("clusterIPs":["10.96.3.4"])"),
              HasSubstr("spec.clusterIPs: Invalid value: [\"10.96.3.4\"]: must be empty when "
                        "`clusterIP` is not specified"));
  EXPECT_THAT(refused(R"("clusterIP":"10.96.3.4","clusterIPs":["10.96.3.4","10.96.3.5"])"),
              HasSubstr("may specify no more than one IP for each IP family"));
  EXPECT_THAT(refused(R"("ipFamilies":["x","x"])"),
              AllOf(HasSubstr("spec.ipFamilies[0]: Unsupported value: \"x\""),
                    HasSubstr("spec.ipFamilies[1]: Duplicate value: \"x\"")));
  EXPECT_THAT(refused(R"("clusterIP":"::1")"), HasSubstr("IPv6 is not configured on this cluster"));
}

TEST(DifferentialServices, KeepNodePortByPortName) {
  TestServer server;
  const std::string path = with(kServices, "/s");
  const auto ports = [&](std::string_view list) {
    return server.patch(path, "merge", R"({"spec":{"ports":)" + std::string(list) + "}}");
  };
  const std::int64_t kept =
      server
          .post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"type":"NodePort",)"
                                 R"("ports":[{"name":"a","port":80}]}})"))
          .value["spec"]["ports"][0]["nodePort"]
          .as_int();
  EXPECT_EQ(ports(R"([{"name":"a","port":81}])").value["spec"]["ports"][0]["nodePort"].as_int(),
            kept);
  EXPECT_NE(ports(R"([{"name":"b","port":81}])").value["spec"]["ports"][0]["nodePort"].as_int(),
            kept);
  // A new port before the one that has its number.
  const std::string number =
      std::to_string(server.get(path).value["spec"]["ports"][0]["nodePort"].as_int());
  EXPECT_THAT(ports(R"([{"name":"c","port":81},{"port":81,"nodePort":)" + number + "}]").message(),
              AllOf(HasSubstr("spec.ports[1]: Duplicate value"),
                    HasSubstr("spec.ports[1].name: Required value"), Not(HasSubstr("allocated"))));
  // Two ports that both would keep it.
  EXPECT_EQ(ports(R"([{"name":"b","port":81},{"name":"b","port":82}])").message(),
            "duplicate nodePort: {TCP " + number + "}");
}

TEST(DifferentialServices, PortsOfOneNumberShareTheirNodePort) {
  TestServer server;
  const Answer made =
      server.post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[)"
                                   R"({"name":"t","port":53},{"name":"u","port":53,)"
                                   R"("protocol":"UDP","nodePort":30053}]}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["spec"]["ports"][0]["nodePort"].as_int(), 30053);
  const Answer twins =
      server.post(kServices, parse(R"({"metadata":{"name":"t"},"spec":{"type":"NodePort","ports":[)"
                                   R"({"name":"t","port":53},{"name":"u","port":53}]}})"));
  EXPECT_THAT(twins.message(), HasSubstr("spec.ports[1].nodePort: Duplicate value: 3"));
}

TEST(DifferentialServices, ClearFieldsOfOldTypeOnly) {
  TestServer server;
  const std::string path = with(kServices, "/s");
  const auto patch = [&](std::string_view spec) {
    return server.patch(path, "merge", R"({"spec":)" + std::string(spec) + "}");
  };
  const Answer made = server.post(
      kServices, parse(R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer",)"
                       R"("loadBalancerClass":"ex.com/c","externalTrafficPolicy":"Local",)"
                       R"("ports":[{"port":80}]}})"));
  EXPECT_GE(made.value["spec"]["healthCheckNodePort"].as_int(), 30000) << made.text;
  EXPECT_THAT(patch(R"({"healthCheckNodePort":30333})").message(),
              HasSubstr("spec.healthCheckNodePort: Forbidden: field is immutable"));
  EXPECT_THAT(patch(R"({"type":"ClusterIP","loadBalancerClass":"ex.com/d"})").message(),
              HasSubstr("spec.loadBalancerClass: Forbidden: may only be used when `type` is "
                        "'LoadBalancer'"));
  const Answer plain = patch(R"({"type":"ClusterIP"})");
  EXPECT_EQ(plain.status, 200) << plain.text;
  for (const std::string_view gone : {"healthCheckNodePort", "loadBalancerClass",
                                      "allocateLoadBalancerNodePorts", "externalTrafficPolicy"}) {
    EXPECT_FALSE(plain.value["spec"].contains(gone)) << gone;
  }
  EXPECT_THAT(patch(R"({"ports":[{"port":80,"nodePort":30444}]})").message(),
              HasSubstr("spec.ports[0].nodePort: Forbidden: may not be used when `type` is "
                        "'ClusterIP'"));
}

TEST(DifferentialServices, AServiceIsCheckedWhole) {
  TestServer server;
  const auto refused = [&](std::string_view spec) { return refusal_of(server, 80, spec); };
  EXPECT_THAT(refused(R"("sessionAffinity":"ClientIP","sessionAffinityConfig":)"
                      R"({"clientIP":{"timeoutSeconds":99999}})"),
              HasSubstr("timeoutSeconds: Invalid value: 99999: must be greater than 0 and less"));
  EXPECT_THAT(refused(R"("externalIPs":["127.0.0.1"])"),
              HasSubstr("spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the "
                        "loopback range"));
  EXPECT_THAT(refused(R"("loadBalancerSourceRanges":["x"])"),
              AllOf(HasSubstr("spec.LoadBalancerSourceRanges: Forbidden"),
                    HasSubstr("spec.LoadBalancerSourceRanges[0]: Invalid value: \"x\"")));
  EXPECT_THAT(refused(R"("externalTrafficPolicy":"Local")"),
              HasSubstr("may only be set for externally-accessible services"));
  EXPECT_THAT(refused(R"("allocateLoadBalancerNodePorts":true)"),
              HasSubstr("spec.allocateLoadBalancerNodePorts: Forbidden"));
  EXPECT_THAT(refused(R"("trafficDistribution":"x")"),
              HasSubstr("spec.trafficDistribution: Unsupported value: \"x\""));
  EXPECT_EQ(refused(R"("externalIPs":["01.2.3.4"])"), "");
}

TEST(DifferentialServices, DeleteEndpointsWithLastFinalizer) {
  TestServer server;
  const std::string endpoints = "/api/v1/namespaces/tst/endpoints";
  server.post(endpoints, parse(R"({"metadata":{"name":"s"}})"));
  server.post(kServices, parse(R"({"metadata":{"name":"s","finalizers":["ex.com/f"]},"spec":)"
                               R"({"ports":[{"port":80}]}})"));
  server.remove(with(kServices, "/s"));
  EXPECT_EQ(server.get(endpoints + "/s").status, 200);
  server.patch(with(kServices, "/s"), "merge", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(server.get(with(kServices, "/s")).status, 404);
  EXPECT_EQ(server.get(endpoints + "/s").status, 404);
}

TEST(DifferentialServices, KeepFamilyPolicyWithoutFamilies) {
  TestServer server;
  const std::string path = with(kServices, "/s");
  const auto put = [&](std::string_view spec) {
    return server.put(path, parse(R"({"metadata":{"name":"s"},"spec":)" + std::string(spec) + "}"));
  };
  server.post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"clusterIP":"None"}})"));
  EXPECT_EQ(put(R"({"clusterIP":"None"})").value["spec"]["ipFamilies"],
            parse(R"(["IPv4","IPv6"])"));
  EXPECT_EQ(put(R"({"ports":[{"port":80}],"selector":{"a":"b"},"type":"nope"})").message(),
            "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": "
            "this cluster is not configured for dual-stack services");
  EXPECT_EQ(put(R"({"clusterIP":"None","ipFamilies":["IPv6"]})").message(),
            "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": "
            "must be 'SingleStack' to release the secondary IP family");
  const Answer single = server.patch(path, "merge", R"({"spec":{"ipFamilyPolicy":"SingleStack"}})");
  EXPECT_EQ(single.value["spec"]["ipFamilies"], parse(R"(["IPv4"])")) << single.text;
  EXPECT_EQ(server
                .post(kServices, parse(R"({"metadata":{"name":"t"},"spec":{"ports":[{"port":80}],)"
                                       R"("ipFamilies":["IPv6"]}})"))
                .message(),
            "Service \"t\" is invalid: spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured "
            "on this cluster");
}

}  // namespace
}  // namespace athanor::apiserver::differential_services_test
