// SPDX-License-Identifier: Apache-2.0
// Unpreparing a ResourceClaim while the caches do not answer (docs/spec/das.md 15.1).
#include "agent/node/preparer.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>

#include "agent/node/api_writes.hpp"
#include "kube/text/yaml.hpp"
#include "unit/cluster/fake_client.hpp"

namespace athanor::agent::preparer_test {
namespace {

// Records what is destroyed.
class FakeSlices final : public Slices {
 public:
  Result<std::vector<std::string>> make(std::span<const das::Claim> /*claims*/) override {
    return Error::internal("nothing is made here");
  }
  Result<void> destroy(const das::Claim& claim) override {
    destroyed.emplace_back(claim.object.name());
    return {};
  }
  Result<void> destroy(const das::SliceRecord& /*record*/) override { return {}; }
  void forget(const das::SliceRecord& /*record*/) override {}
  std::string name_of(const das::Claim& /*claim*/) override { return {}; }
  std::vector<das::SliceRecord> records() override { return {}; }

  std::vector<std::string> destroyed{};
};

// A claim that mirrors the device of the ResourceClaim "u".
das::Claim mirror() {
  return *das::read_claim(
      Object(yaml::parse(
                 "{metadata: {name: u-d, namespace: das-operator, uid: m}, spec: {profile: 1g.5gb, "
                 "gpuUUID: G, nodename: n, migPlacement: {start: 0, size: 1}, resourceClaim: "
                 "{namespace: default, name: c, uid: u, device: d}}, status: {state: inUse}}")
                 .value()));
}

TEST(Preparer, UnpreparesNothingWhileTheCachesDoNotAnswer) {
  std::string path = ::testing::TempDir() + "athanor-preparer-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  const CdiFolder folder(path);
  ASSERT_TRUE(folder.write_claim("u", "{}").ok());
  const auto client = std::make_shared<cluster::FakeClient>();
  client->set_fault([](const client::ApiRequest& /*request*/) {
    return client::ApiResult{.status = 404, .error = Error::not_found("gone meanwhile")};
  });
  const auto clock = wall_clock();
  const auto entropy = seeded_entropy(1);
  ApiWrites writes(client, *clock, *entropy);
  FakeSlices slices;
  bool answers = false;  // of the caches; read between questions alone
  Preparer preparer({.node = "n",
                     .ns = "das-operator",
                     .slices = &slices,
                     .folder = &folder,
                     .writes = &writes,
                     .clock = clock.get(),
                     .look = [&] {
                       return answers ? das::NodeSight{.claims = {mirror()}}
                                      : das::NodeSight{.seen = false};
                     }});
  const auto unprepare = [&] {
    std::promise<Result<void>> answer;
    preparer.unprepare(
        {{.ns = "default", .name = "c", .uid = "u"}},
        [&](std::vector<Result<void>> results) { answer.set_value(std::move(results.front())); });
    return answer.get_future().get();
  };
  const auto refused = unprepare();
  ASSERT_FALSE(refused.ok()) << "the kubelet asks again";
  EXPECT_EQ(refused.error().message, "the node's claims are not known yet");
  EXPECT_TRUE(slices.destroyed.empty());
  EXPECT_EQ(folder.claims(), std::vector<std::string>{"u"}) << "its containers may run";

  answers = true;
  EXPECT_TRUE(unprepare().ok());
  EXPECT_EQ(slices.destroyed, std::vector<std::string>{"u-d"});
  EXPECT_TRUE(folder.claims().empty());
  preparer.stop();
  client->stop();
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace athanor::agent::preparer_test
