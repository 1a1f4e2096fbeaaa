// SPDX-License-Identifier: Apache-2.0
// Addresses of services as objects, and the networks they come from (docs/spec/apiserver.md 14.5).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::addresses_test {
namespace {

constexpr const char* kServices = "/api/v1/namespaces/tst/services";
constexpr const char* kNetworks = "/apis/networking.k8s.io/v1/servicecidrs";
constexpr const char* kAddresses = "/apis/networking.k8s.io/v1/ipaddresses";

Value service(std::string_view name, std::string_view spec = "{}") {
  Value object = Value::object({{"metadata", Value::object({{"name", name}})}});
  object.set("spec", parse(spec));
  object.member("spec").set("ports", parse(R"([{"port":80}])"));
  return object;
}

Answer address(TestServer& server, std::string_view name) {
  return server.get(std::string(kAddresses) + "/" + std::string(name));
}

TEST(ServiceNetworks, TheServersOwnIsThere) {
  TestServer server;
  const Answer network = server.get(std::string(kNetworks) + "/kubernetes");
  ASSERT_EQ(network.status, 200);
  EXPECT_EQ(network.value["spec"]["cidrs"], parse(R"(["10.96.0.0/16"])"));
  EXPECT_EQ(network.value["status"]["conditions"][0]["message"].as_string(),
            "Kubernetes default Service CIDR is ready");
  const Answer own = address(server, "10.96.0.1");
  EXPECT_EQ(own.value["spec"]["parentRef"],
            parse(R"({"resource":"services","namespace":"default","name":"kubernetes"})"));
}

TEST(ServiceAddresses, ComeAndGoWithTheService) {
  TestServer server;
  const Answer made = server.post(kServices, service("s"));
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string ip = made.value["spec"]["clusterIP"].str();
  const Answer held = address(server, ip);
  ASSERT_EQ(held.status, 200);
  EXPECT_EQ(held.value["metadata"]["labels"], parse(R"({"ipaddress.kubernetes.io/ip-family":"IPv4",
                      "ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"})"));
  EXPECT_EQ(held.value["spec"]["parentRef"],
            parse(R"({"resource":"services","namespace":"tst","name":"s"})"));
  EXPECT_EQ(held.value["metadata"]["managedFields"][0]["manager"].as_string(), "kube-apiserver");
  ASSERT_EQ(server.remove(std::string(kServices) + "/s").status, 200);
  EXPECT_EQ(address(server, ip).status, 404);
}

TEST(ServiceAddresses, GoWithTheType) {
  TestServer server;
  const std::string ip = server.post(kServices, service("s")).value["spec"]["clusterIP"].str();
  const Answer changed = server.patch(
      std::string(kServices) + "/s", "merge",
      R"({"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":null,"clusterIPs":null}})");
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(address(server, ip).status, 404);
}

TEST(ServiceAddresses, HeadlessServicesAndDryRunsHaveNone) {
  TestServer server;
  const std::size_t before = server.get(kAddresses).value["items"].size();
  ASSERT_EQ(server.post(kServices, service("h", R"({"clusterIP":"None"})")).status, 201);
  ASSERT_EQ(server
                .post(std::string(kServices) + "?dryRun=All",
                      service("d", R"({"clusterIP":"10.96.0.90"})"))
                .status,
            201);
  EXPECT_EQ(server.get(kAddresses).value["items"].size(), before);
}

TEST(ServiceAddresses, MayBeHeldWithoutAService) {
  TestServer server;
  ASSERT_EQ(server
                .post(kAddresses, parse(R"({"metadata":{"name":"10.96.0.79"},"spec":{"parentRef":{
                                            "resource":"services","name":"z","namespace":"y"}}})"))
                .status,
            201);
  EXPECT_EQ(server.post(kServices, service("s", R"({"clusterIP":"10.96.0.79"})")).message(),
            "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.79\"]: failed to "
            "allocate IP 10.96.0.79: provided IP is already allocated");
}

TEST(ServiceAddresses, AreRepaired) {
  TestServer server;
  const std::string ip = server.post(kServices, service("s")).value["spec"]["clusterIP"].str();
  ASSERT_EQ(server.remove(std::string(kAddresses) + "/" + ip).status, 200);
  ASSERT_EQ(server
                .post(kAddresses, parse(R"({"metadata":{"name":"10.96.0.80","labels":{
                                "ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},
                                "spec":{"parentRef":{"resource":"services","name":"gone",
                                "namespace":"tst"}}})"))
                .status,
            201);
  server.advance(std::chrono::minutes(2));
  EXPECT_EQ(address(server, ip).status, 200);
  EXPECT_EQ(address(server, "10.96.0.80").status, 404);
}

TEST(ServiceNetworks, AddAddresses) {
  TestServer server;
  const Value wanted = service("e", R"({"clusterIP":"10.97.0.5"})");
  EXPECT_EQ(server.post(kServices, wanted).message(),
            "Service \"e\" is invalid: spec.clusterIPs: Invalid value: [\"10.97.0.5\"]: failed to "
            "allocate IP 10.97.0.5: the provided network does not match the current range");
  ASSERT_EQ(server
                .post(kNetworks,
                      parse(R"({"metadata":{"name":"two"},"spec":{"cidrs":["10.97.0.0/28"]}})"))
                .status,
            201);
  EXPECT_EQ(server.post(kServices, wanted).status, 201);
  const Answer not_ready = server.patch(
      std::string(kNetworks) + "/two/status", "merge",
      R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"x","message":"m",
          "lastTransitionTime":"2026-11-21T19:18:58Z"}]}})");
  ASSERT_EQ(not_ready.status, 200) << not_ready.text;
  EXPECT_EQ(server.post(kServices, service("f", R"({"clusterIP":"10.97.0.6"})")).status, 422);
}

TEST(ServiceNetworks, AreChecked) {
  TestServer server;
  const struct {
    std::string_view cidrs, error;
  } cases[] = {
      {"[]", "spec.cidrs: Required value: at least one CIDR required"},
      {R"(["zz"])",
       "spec.cidrs[0]: Invalid value: \"zz\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
       "2001:db8::/64)"},
      {R"(["10.1.2.3/24"])",
       "spec.cidrs[0]: Invalid value: \"10.1.2.3/24\": must not have bits set beyond the prefix "
       "length"},
      {R"(["FD00::/108"])",
       "spec.cidrs[0]: Invalid value: \"FD00::/108\": must be in canonical form (\"fd00::/108\")"},
      {R"(["10.1.0.0/24","fd00::/108","10.3.0.0/24"])",
       "spec.cidrs: Invalid value: {\"CIDRs\":[\"10.1.0.0/24\",\"fd00::/108\",\"10.3.0.0/24\"]}: "
       "may only hold up to 2 values"},
      {R"(["10.1.0.0/24","10.2.0.0/24"])",
       "spec.cidrs: Invalid value: [\"10.1.0.0/24\",\"10.2.0.0/24\"]: may specify no more than one "
       "IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"},
  };
  for (const auto& c : cases) {
    Value object = parse(R"({"metadata":{"name":"x"},"spec":{}})");
    object.member("spec").set("cidrs", parse(c.cidrs));
    EXPECT_EQ(server.post(kNetworks, object).message(),
              "ServiceCIDR.networking.k8s.io \"x\" is invalid: " + std::string(c.error));
  }
  EXPECT_EQ(server
                .patch(std::string(kNetworks) + "/kubernetes", "merge",
                       R"({"spec":{"cidrs":["10.98.0.0/28"]}})")
                .message(),
            "ServiceCIDR.networking.k8s.io \"kubernetes\" is invalid: spec.cidrs[0]: Invalid "
            "value: \"10.98.0.0/28\": field is immutable");
}

TEST(ServiceAddresses, HaveNamesOfBothFamilies) {
  TestServer server;
  const Answer made = server.post(kAddresses, parse(R"({"metadata":{"name":"2001:db8::1"},
      "spec":{"parentRef":{"resource":"services","namespace":"tst","name":"x"}}})"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(address(server, "2001:db8::1").status, 200);
  EXPECT_EQ(server
                .post(kAddresses, parse(R"({"metadata":{"name":"2001:DB8::2"},"spec":{
                  "parentRef":{"resource":"services","namespace":"tst","name":"x"}}})"))
                .message(),
            "IPAddress.networking.k8s.io \"2001:DB8::2\" is invalid: metadata.name: Invalid value: "
            "\"2001:DB8::2\": must be in canonical form (\"2001:db8::2\")");
}

TEST(ServiceAddresses, AreChecked) {
  TestServer server;
  const struct {
    std::string_view name, spec, error;
  } cases[] = {
      {"nope", R"({"parentRef":{"resource":"services","name":"x"}})",
       "metadata.name: Invalid value: \"nope\": must be a valid IP address, (e.g. 10.9.8.7 or "
       "2001:db8::ffff)"},
      {"10.96.000.78", R"({"parentRef":{"resource":"services","name":"x"}})",
       "metadata.name: Invalid value: \"10.96.000.78\": must not have leading 0s"},
      {"10.96.0.78", "{}", "spec.parentRef: Required value"},
      {"10.96.0.78", R"({"parentRef":{}})",
       "[spec.parentRef.resource: Required value, spec.parentRef.name: Required value]"},
  };
  for (const auto& c : cases) {
    Value object = Value::object({{"metadata", Value::object({{"name", c.name}})}});
    object.set("spec", parse(c.spec));
    EXPECT_EQ(server.post(kAddresses, object).message(),
              "IPAddress.networking.k8s.io \"" + std::string(c.name) +
                  "\" is invalid: " + std::string(c.error));
  }
  EXPECT_EQ(server
                .patch(std::string(kAddresses) + "/10.96.0.1", "merge",
                       R"({"spec":{"parentRef":{"name":"other"}}})")
                .message(),
            "IPAddress.networking.k8s.io \"10.96.0.1\" is invalid: spec.parentRef: Invalid value: "
            "{\"Group\":\"\",\"Resource\":\"services\",\"Namespace\":\"default\",\"Name\":"
            "\"other\"}: field is immutable");
}

}  // namespace
}  // namespace athanor::apiserver::addresses_test
