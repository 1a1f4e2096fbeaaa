// SPDX-License-Identifier: Apache-2.0
// GET of componentstatuses.
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::component_statuses_test {
namespace {

const std::string kStatuses = "/api/v1/componentstatuses";

// The message of the condition of a part.
std::string message_of(TestServer& server, const std::string& part) {
  return server.get(kStatuses + "/" + part).value["conditions"][0]["message"].str();
}

TEST(ComponentStatuses, ShowPartsOfThisProcess) {
  Options options;
  options.components = {"controller-manager", "scheduler"};
  TestServer server(options);
  const Answer all = server.get(kStatuses);
  ASSERT_EQ(all.value["items"].size(), 3U);
  for (const Value& part : all.value["items"].items()) {
    EXPECT_EQ(part["conditions"], parse(R"([{"type":"Healthy","status":"True","message":"ok"}])"));
  }
  EXPECT_EQ(server.get(kStatuses + "/etcd-0").value["kind"], Value("ComponentStatus"));
  EXPECT_EQ(server.get(kStatuses + "/etcd-1").status, 404);
  const Answer selected = server.get(kStatuses + "?fieldSelector=metadata.name=scheduler");
  EXPECT_EQ(selected.value["items"].size(), 1U);
  const Answer table = server.call("GET " + kStatuses, "",
                                   {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.value["rows"][0]["cells"], parse(R"(["controller-manager","Healthy","ok",""])"));
}

TEST(ComponentStatuses, FollowLeasesOfOtherProcesses) {
  TestServer server;
  EXPECT_EQ(message_of(server, "etcd-0"), "ok");
  EXPECT_EQ(message_of(server, "scheduler"), "the Lease kube-system/kube-scheduler has no holder");
  const Answer made =
      server.post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                  parse(R"({"metadata":{"name":"kube-scheduler"},"spec":{"holderIdentity":"a",)"
                        R"("leaseDurationSeconds":15,"renewTime":")" +
                        format_micro_time(server.now()) + R"("}})"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(message_of(server, "scheduler"), "ok");
  server.advance(std::chrono::seconds(20));
  EXPECT_EQ(message_of(server, "scheduler"), "the Lease kube-system/kube-scheduler has expired");
}

}  // namespace
}  // namespace athanor::apiserver::component_statuses_test
