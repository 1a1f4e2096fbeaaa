// SPDX-License-Identifier: Apache-2.0
// Services and EndpointSlices as one table; names that lead into it; endpoints for clients.
#include "embedded/nodes/network/service_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "embedded/nodes/network/cluster_names.hpp"
#include "embedded/nodes/network/service_choice.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::service_table_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

std::vector<Value> services() {
  return {
      from_yaml("{metadata: {name: web, namespace: a}, spec: {clusterIP: 10.96.0.7, "
                "clusterIPs: [10.96.0.7], externalIPs: [192.168.7.7], ports: "
                "[{name: http, port: 80, targetPort: h, nodePort: 30080, protocol: TCP}, "
                "{name: dns, port: 53, protocol: UDP}]}}"),
      from_yaml("{metadata: {name: gang, namespace: a}, spec: {clusterIP: None, clusterIPs: "
                "[None], ports: [{name: master, port: 29500, protocol: TCP}]}}"),
      from_yaml("{metadata: {name: out, namespace: a}, spec: {type: ExternalName, externalName: "
                "example.org}}"),
      from_yaml("{metadata: {name: near, namespace: a}, spec: {type: ExternalName, externalName: "
                "web.a.svc.cluster.local}}"),
      from_yaml("{metadata: {name: round, namespace: a}, spec: {type: ExternalName, "
                "externalName: round.a.svc.cluster.local}}"),
      from_yaml("{metadata: {name: none, namespace: b}, spec: {clusterIP: None}}")};
}

std::vector<Value> slices() {
  return {from_yaml("{metadata: {namespace: a, labels: {kubernetes.io/service-name: web}}, "
                    "addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], "
                    "endpoints: [{addresses: [127.20.0.2], conditions: {ready: true}}, "
                    "{addresses: [127.20.0.1], conditions: {ready: true}}, "
                    "{addresses: [127.20.0.3], conditions: {ready: false, serving: true, "
                    "terminating: true}}]}"),
          from_yaml("{metadata: {namespace: a, labels: {kubernetes.io/service-name: web}}, "
                    "addressType: IPv4, ports: [{name: dns, port: 53, protocol: UDP}], "
                    "endpoints: [{addresses: [127.20.0.9], conditions: {ready: false, serving: "
                    "true, terminating: true}}]}"),
          from_yaml("{metadata: {namespace: a, labels: {kubernetes.io/service-name: gang}}, "
                    "addressType: IPv4, ports: [{name: master, port: 29500, protocol: TCP}], "
                    "endpoints: [{addresses: [127.30.0.1], hostname: w-0, conditions: {ready: "
                    "true}}, {addresses: [127.30.0.2], hostname: w-1, conditions: {ready: true}}, "
                    "{addresses: [127.30.0.3], hostname: w-2, conditions: {ready: false}}]}")};
}

ServiceTable table() {
  return make_service_table(services(), slices());
}

Address at(const char* ip, std::uint16_t port) {
  return {.ip = ip_of(ip).value(), .port = port};
}

TEST(ServiceTable, HasHostPortsOfPods) {
  const auto pod = [](const std::string& name, const std::string& spec, const char* phase) {
    return from_yaml("{metadata: {name: " + name + ", namespace: a}, spec: {containers: [{" + spec +
                     "}]}, status: {podIP: 127.9.0.1, phase: " + phase + "}}");
  };
  const std::string ports = "ports: [{containerPort: 80, hostPort: 8080}]";
  EXPECT_TRUE(has_host_ports(pod("p", ports, "Running")));
  EXPECT_FALSE(has_host_ports(pod("p", ports, "Succeeded")));
  EXPECT_FALSE(has_host_ports(pod("p", "ports: [{containerPort: 80}]", "Running")));
  EXPECT_FALSE(has_host_ports(from_yaml("{spec: {hostNetwork: true, containers: [{" + ports +
                                        "}]}, status: {phase: Running}}")));
  const std::vector<Value> pods{
      pod("p", ports, "Running"),
      pod("q", "ports: [{containerPort: 1, hostPort: 30080}, {containerPort: 1, hostPort: 8080}]",
          "Running")};
  const ServiceTable all = make_service_table(services(), slices(), pods);
  const ServicePort* port = all.find_node_port(8080, Protocol::Tcp);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->service, "pod a/p");
  EXPECT_EQ(port->endpoints, std::vector{at("127.9.0.1", 80)});
  EXPECT_EQ(all.find_node_port(30080, Protocol::Tcp)->service, "a/web") << "of a Service";
  ASSERT_EQ(all.problems.size(), 2U);
  EXPECT_EQ(all.problems[0].owner, "pod a/q");
  EXPECT_EQ(all.problems[0].text,
            "Host port 30080 is not open: all nodes of the lab are on one machine, and Service "
            "a/web has it");
  EXPECT_EQ(all.problems[1].text,
            "Host port 8080 is not open: all nodes of the lab are on one machine, and pod a/p has "
            "it");
}

TEST(ServiceTable, NamesPortsOfOtherProtocols) {
  const std::vector<Value> services{from_yaml(
      "{metadata: {name: s, namespace: a}, spec: {clusterIP: 10.96.0.9, ports: [{port: 1, "
      "protocol: SCTP}, {port: 2}]}}")};
  const std::vector<Value> pods{from_yaml(
      "{metadata: {name: p, namespace: a}, spec: {containers: [{ports: [{containerPort: 3, "
      "hostPort: 3, protocol: SCTP}]}]}, status: {podIP: 127.9.0.1, phase: Running}}")};
  const std::vector<PortProblem> expected{
      {.owner = "a/s", .text = "Port 1/SCTP is not served: only TCP and UDP are"},
      {.owner = "pod a/p", .text = "Port 3/SCTP is not served: only TCP and UDP are"}};
  EXPECT_EQ(make_service_table(services, {}, pods).problems, expected);
}

TEST(ServiceTable, FindsPortsByAddress) {
  const ServiceTable all = table();
  const ServicePort* port = all.find(at("10.96.0.7", 80), Protocol::Tcp);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->endpoints, (std::vector{at("127.20.0.1", 8080), at("127.20.0.2", 8080)}));
  EXPECT_EQ(all.find(at("192.168.7.7", 80), Protocol::Tcp), port);
  EXPECT_EQ(all.find_node_port(30080, Protocol::Tcp), port);
  EXPECT_EQ(all.find(at("10.96.0.7", 81), Protocol::Tcp), nullptr);
  EXPECT_EQ(all.find(at("10.96.0.7", 80), Protocol::Udp), nullptr);
  EXPECT_TRUE(all.is_service_ip(ip_of("10.96.0.7").value()));
  EXPECT_FALSE(all.is_service_ip(ip_of("10.96.0.8").value()));
}

TEST(ServiceTable, UsesEndingEndpointsWithoutReadyOnes) {
  const ServiceTable all = table();
  const ServicePort* port = all.find(at("10.96.0.7", 53), Protocol::Udp);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->endpoints, std::vector{at("127.20.0.9", 53)});
}

DnsQuestion question(const std::string& name, std::uint16_t type = kTypeA) {
  auto parsed = parse_question(dns_query(7, name, type));
  EXPECT_TRUE(parsed.has_value()) << name;
  return parsed.value_or(DnsQuestion{});
}

// Addresses of an answer that went over the wire.
std::vector<std::string> addresses(const std::string& name) {
  const DnsQuestion asked = question(name);
  const auto answer = cluster_answer(asked, table(), 0);
  if (!answer) {
    return {"elsewhere"};
  }
  const auto reply = parse_reply(dns_answer(asked, answer->content, 512));
  EXPECT_TRUE(reply.has_value());
  std::vector<std::string> found;
  for (const DnsRecord& record : reply->records) {
    if (record.type == kTypeA) {
      std::uint32_t ip = 0;
      for (const char byte : record.data) {
        ip = ip << 8U | static_cast<unsigned char>(byte);
      }
      found.push_back(ip_text(ip));
    }
  }
  if (found.empty()) {
    found.emplace_back(reply->code == DnsCode::NoName ? "no name" : "nothing");
  }
  return found;
}

TEST(ClusterNames, LeadToServicesAndPods) {
  using Found = std::vector<std::string>;
  EXPECT_EQ(addresses("web.a.svc.cluster.local"), Found{"10.96.0.7"});
  EXPECT_EQ(addresses("WEB.A.svc.cluster.LOCAL"), Found{"10.96.0.7"});
  EXPECT_EQ(addresses("gang.a.svc.cluster.local"), (Found{"127.30.0.1", "127.30.0.2"}));
  EXPECT_EQ(addresses("w-1.gang.a.svc.cluster.local"), Found{"127.30.0.2"});
  EXPECT_EQ(addresses("127-20-0-1.web.a.svc.cluster.local"), Found{"127.20.0.1"});
  EXPECT_EQ(addresses("127-20-0-1.a.pod.cluster.local"), Found{"127.20.0.1"});
  EXPECT_EQ(addresses("near.a.svc.cluster.local"), Found{"10.96.0.7"});
}

TEST(ClusterNames, RefuseUnknownNames) {
  using Found = std::vector<std::string>;
  for (const char* name :
       {"nothere.a.svc.cluster.local", "w-2.gang.a.svc.cluster.local", "none.b.svc.cluster.local",
        "web.b.svc.cluster.local", "x.y.z.web.a.svc.cluster.local", "x.other.cluster.local",
        "no.a.pod.cluster.local"}) {
    EXPECT_EQ(addresses(name), Found{"no name"}) << name;
  }
  EXPECT_EQ(addresses("example.org"), Found{"elsewhere"});
  EXPECT_EQ(addresses("notcluster.local"), Found{"elsewhere"});
}

TEST(ClusterNames, EndWhereAliasesGoRound) {
  const auto answer = cluster_answer(question("round.a.svc.cluster.local"), table(), 0);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->content.code, DnsCode::ServerFailure);
}

TEST(ClusterNames, GoOnToNamesOutside) {
  const auto answer = cluster_answer(question("out.a.svc.cluster.local"), table(), 0);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->go_on, "example.org");
  ASSERT_EQ(answer->content.answers.size(), 1U);
  EXPECT_EQ(answer->content.answers[0].data, dns_name("example.org"));
}

TEST(ClusterNames, AnswerKnownNamesWithoutRecord) {
  const auto answer = cluster_answer(question("web.a.svc.cluster.local", kTypeAaaa), table(), 0);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->content.code, DnsCode::Ok);
  EXPECT_TRUE(answer->content.answers.empty());
  EXPECT_EQ(answer->content.authority.size(), 1U);
}

TEST(ClusterNames, NamePortsOfServices) {
  const auto one =
      cluster_answer(question("_http._tcp.web.a.svc.cluster.local", kTypeSrv), table(), 0);
  ASSERT_TRUE(one.has_value());
  ASSERT_EQ(one->content.answers.size(), 1U);
  EXPECT_EQ(one->content.answers[0].data,
            dns_short(0) + dns_short(100) + dns_short(80) + dns_name("web.a.svc.cluster.local"));
  const auto each =
      cluster_answer(question("_master._tcp.gang.a.svc.cluster.local", kTypeSrv), table(), 0);
  ASSERT_TRUE(each.has_value());
  EXPECT_EQ(each->content.answers.size(), 2U);
}

TEST(ClusterNames, LeadBackFromAddresses) {
  const auto service = cluster_answer(question("7.0.96.10.in-addr.arpa", kTypePtr), table(), 0);
  ASSERT_TRUE(service.has_value());
  EXPECT_EQ(service->content.answers.at(0).data, dns_name("web.a.svc.cluster.local"));
  const auto pod = cluster_answer(question("2.0.30.127.in-addr.arpa", kTypePtr), table(), 0);
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->content.answers.at(0).data, dns_name("w-1.gang.a.svc.cluster.local"));
  EXPECT_FALSE(cluster_answer(question("4.4.8.8.in-addr.arpa", kTypePtr), table(), 0));
}

TEST(DnsMessages, SurviveHostileBytes) {
  const std::string good = dns_query(1, "web.a.svc.cluster.local", kTypeA);
  for (std::size_t i = 0; i <= good.size(); ++i) {
    parse_reply(good.substr(0, i));
    EXPECT_EQ(parse_question(good.substr(0, i)).has_value(), i == good.size());
  }
  std::string circle = good.substr(0, 12) + "\xc0\x0c" + good.substr(good.size() - 4);
  EXPECT_FALSE(parse_question(circle).has_value());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    parse_question(changed);
    parse_reply(changed);
  }
}

TEST(DnsMessages, CutLongAnswersForUdp) {
  const DnsQuestion asked = question("gang.a.svc.cluster.local");
  DnsContent content;
  for (int i = 0; i < 100; ++i) {
    content.answers.push_back(
        {.name = asked.name, .type = kTypeA, .seconds = 5, .data = dns_number(1)});
  }
  const std::string cut = dns_answer(asked, content, 512);
  EXPECT_LE(cut.size(), 512U);
  EXPECT_NE(cut[2] & 0x02, 0);
  EXPECT_EQ(parse_reply(dns_answer(asked, content, 65535))->records.size(), 100U);
}

TEST(ServiceChoice, TakesEndpointsInTurns) {
  const ServiceTable all = table();
  const ServicePort* port = all.find(at("10.96.0.7", 80), Protocol::Tcp);
  ServiceChoice choice;
  const auto first = choice.choose(*port, 1, 0);
  const auto second = choice.choose(*port, 1, 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(choice.choose(*port, 1, 0), first);
}

TEST(ServiceChoice, KeepsClientsWithAffinity) {
  ServicePort port = *table().find(at("10.96.0.7", 80), Protocol::Tcp);
  port.affinity_seconds = 10;
  ServiceChoice choice;
  const auto first = choice.choose(port, 1, 0);
  EXPECT_EQ(choice.choose(port, 1, 9'000), first);
  EXPECT_NE(choice.choose(port, 2, 9'000), first);
  EXPECT_EQ(choice.choose(port, 1, 18'000), first);
  std::erase(port.endpoints, *first);
  EXPECT_NE(choice.choose(port, 1, 18'000), first);
  port.endpoints.clear();
  EXPECT_FALSE(choice.choose(port, 1, 18'000));
}

}  // namespace
}  // namespace athanor::nodes::service_table_test
