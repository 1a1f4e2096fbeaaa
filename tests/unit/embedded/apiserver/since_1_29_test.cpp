// SPDX-License-Identifier: Apache-2.0
// Changes between Kubernetes 1.29 and 1.35 (docs/spec/apiserver.md 23) that no other test holds.
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::since_1_29_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SinceOldVersions, EndpointsAreDeprecated) {
  TestServer server;
  EXPECT_THAT(server.get("/api/v1/namespaces/tst/endpoints").warnings(),
              ElementsAre(HasSubstr("v1 Endpoints is deprecated in v1.33+; use "
                                    "discovery.k8s.io/v1 EndpointSlice")));
  EXPECT_THAT(server.get("/apis/discovery.k8s.io/v1/namespaces/tst/endpointslices").warnings(),
              IsEmpty());
}

TEST(SinceOldVersions, ServicesPreferZonesAndNodes) {
  TestServer server;
  const auto made = [&](const std::string& name, const std::string& preference) {
    return server.call("POST /api/v1/namespaces/tst/services",
                       R"({"metadata":{"name":")" + name + R"("},"spec":{"ports":[{"port":1}],)" +
                           R"("trafficDistribution":")" + preference + "\"}}");
  };
  EXPECT_EQ(made("a", "PreferClose").status, 201);
  EXPECT_EQ(made("b", "PreferSameZone").status, 201);
  EXPECT_EQ(made("c", "PreferSameNode").status, 201);
  EXPECT_THAT(made("d", "PreferFar").message(),
              HasSubstr("spec.trafficDistribution: Unsupported value: \"PreferFar\": supported "
                        "values: \"PreferClose\", \"PreferSameZone\", \"PreferSameNode\""));
}

TEST(SinceOldVersions, PodsHaveGenerations) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/pods";
  const Answer made =
      server.call("POST " + path,
                  R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["metadata"]["generation"].as_int(), 1);
  const Answer changed =
      server.patch(path + "/p", "merge", R"({"spec":{"activeDeadlineSeconds":5}})");
  EXPECT_EQ(changed.value["metadata"]["generation"].as_int(), 2) << changed.text;
}

TEST(SinceOldVersions, JobsReplaceEndedPodsByDefault) {
  TestServer server;
  const Answer job =
      server.call("POST /apis/batch/v1/namespaces/tst/jobs",
                  R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
          "containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(job.status, 201) << job.text;
  EXPECT_EQ(job.value["spec"]["podReplacementPolicy"].as_string(), "TerminatingOrFailed");
}

TEST(SinceOldVersions, AdminAccessNeedsAMarkedNamespace) {
  TestServer server;
  const auto made = [&](const std::string& plural, const std::string& spec) {
    return server.call("POST /apis/resource.k8s.io/v1/namespaces/tst/" + plural,
                       R"({"metadata":{"name":"c"},"spec":)" + spec + "}");
  };
  const std::string spec =
      R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"x","adminAccess":true}}]}})";
  const Answer refused = made("resourceclaims", spec);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.devices.requests[0].adminAccess: Forbidden: admin access to devices "
                        "requires the `resource.kubernetes.io/admin-access: true` label on the "
                        "containing namespace"));
  EXPECT_EQ(made("resourceclaimtemplates", R"({"spec":)" + spec + "}").status, 422);
  server.patch("/api/v1/namespaces/tst", "merge",
               R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})");
  EXPECT_EQ(made("resourceclaims", spec).status, 201);
  EXPECT_EQ(made("resourceclaimtemplates", R"({"spec":)" + spec + "}").status, 201);
}

TEST(SinceOldVersions, BetaDiscoveryIsGone) {
  TestServer server;
  const std::string beta =
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  EXPECT_EQ(server.call("GET /apis", "", {{"accept", beta}}).status, 406);
  const Answer stable = server.call(
      "GET /apis", "",
      {{"accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}});
  EXPECT_EQ(stable.value["kind"].as_string(), "APIGroupDiscoveryList");
  EXPECT_EQ(stable.value["apiVersion"].as_string(), "apidiscovery.k8s.io/v2");
}

TEST(SinceOldVersions, OnlyStableGroupsAreServed) {
  TestServer server;
  for (const char* path :
       {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "/apis/resource.k8s.io/v1/deviceclasses", "/apis/networking.k8s.io/v1/servicecidrs",
        "/apis/networking.k8s.io/v1/ipaddresses",
        "/apis/storage.k8s.io/v1/volumeattributesclasses"}) {
    EXPECT_EQ(server.get(path).status, 200) << path;
  }
  for (const char* path : {"/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas",
                           "/apis/resource.k8s.io/v1beta1/deviceclasses",
                           "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies",
                           "/apis/networking.k8s.io/v1beta1/servicecidrs"}) {
    EXPECT_EQ(server.get(path).status, 404) << path;
  }
}

TEST(SinceOldVersions, VersionsNameTheirCompatibility) {
  TestServer server;
  const Value version = server.get("/version").value;
  EXPECT_EQ(version["emulationMinor"].as_string(), "35");
  EXPECT_EQ(version["minCompatibilityMinor"].as_string(), "34");
}

}  // namespace
}  // namespace athanor::apiserver::since_1_29_test
