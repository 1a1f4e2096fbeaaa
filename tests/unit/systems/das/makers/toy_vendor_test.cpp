// SPDX-License-Identifier: Apache-2.0
// A vendor in one file: what schedulers, nodes and the agent do with GPUs works with it as it is
// (docs/spec/das.md 15.3).
#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/shares_of_gpus.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das::toy_vendor_test {
namespace {

// Boards with lanes.
class Toy final : public Vendor {
 public:
  [[nodiscard]] const VendorFacts& facts() const override {
    static const VendorFacts kFacts{.type = "toy-board",
                                    .default_mode = "lanes:2",
                                    .forms = "INDEX=lanes:COUNT",
                                    .prefixes = {"toy.example.com/"},
                                    .usual_resources = {"toy.example.com/lane"}};
    return kFacts;
  }
  [[nodiscard]] std::span<const GpuModel> models() const override {
    static const GpuModel kModels[] = {whole_model("toy-board", "Toys", "T1", 8)};
    return kModels;
  }
  [[nodiscard]] std::optional<GpuSharing> mode(std::string_view text) const override {
    const bool lanes = take_part(text, ':') == "lanes";
    const auto count = read_number(text, 9);
    return lanes && count && *count > 0
               ? std::optional(GpuSharing{.mode = "lanes", .replicas = *count})
               : std::nullopt;
  }
  [[nodiscard]] std::map<std::string, int> capacity(const SharedGpu& gpu,
                                                    const MigTable& /*table*/) const override {
    return {{"toy.example.com/lane", gpu.sharing.replicas}};
  }
  [[nodiscard]] std::vector<SharePlace> place(
      std::vector<SharedGpu> gpus, const std::vector<ShareRequest>& requests) const override {
    return fill_gpus(*this, std::move(gpus), requests,
                     [](std::string_view) { return Together::Container; });
  }
  [[nodiscard]] Value share(const SharedGpu& /*gpu*/, int index) const override {
    return Value::object({{"index", index}});
  }
  [[nodiscard]] ModeWork create(const SharedGpu& gpu, std::string_view folder) const override {
    return {.folders = {std::string(folder) + "/toy"},
            .commands = {{.words = {"toyctl", gpu.uuid}, .purpose = "open lanes"}}};
  }
  [[nodiscard]] ModeWork destroy(const SharedGpu& gpu, std::string_view /*folder*/) const override {
    return {.commands = {{.words = {"toyctl", "--close", gpu.uuid}, .purpose = "close lanes"}}};
  }
  [[nodiscard]] ContainerEdits edits(const std::vector<ShareClaim>& claims,
                                     const std::map<std::string, std::string>& /*names*/,
                                     std::string_view /*folder*/) const override {
    return {.env = {{"TOY_LANES", count_up(claims.size())}}};
  }
};

TEST(ToyVendor, IsFoundCountedPlacedClaimedAndSeen) {
  const Toy toy;
  const Vendor* const all[] = {&toy};
  const Value before;
  const std::set<std::string, std::less<>> used;
  Value resources = toy.discover("n", toy.models()[0], 2);
  EXPECT_TRUE(
      assign_sharing(resources,
                     {.annotation = "1=lanes:3", .vendor = &toy, .before = &before, .used = &used})
          .empty());
  const auto lists = device_lists(resources, toy);
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].profile, "toy.example.com/lane");
  EXPECT_EQ(lists[0].devices.size(), 2U + 3U);

  const Value pod = yaml::parse(
                        "{metadata: {name: p, namespace: ns, uid: u}, spec: {containers: ["
                        "{name: c, resources: {limits: {toy.example.com/lane: 3}}}]}}")
                        .value();
  const auto requests = shares_in(pod["spec"], all);
  ASSERT_EQ(requests.size(), 3U);
  std::vector<SharedGpu> gpus = shared_gpus(resources);
  EXPECT_EQ(toy.place(gpus, requests), (std::vector<SharePlace>{{1, 0}, {1, 1}, {1, 2}}));

  std::vector<ShareClaim> claims;
  for (const ShareRequest& request : requests) {
    const Object claim(
        make_share({Object(pod), "das-operator", "n", request}, gpus[1], take_share(gpus[1]), toy));
    ASSERT_TRUE(is_share(claim));
    claims.push_back(*read_share(claim));
  }
  EXPECT_EQ(claims[2].type, "lanes");
  EXPECT_EQ(claims[2].index, 2);
  EXPECT_TRUE(toy.place(gpus, requests).empty()) << "its lanes are taken";
  auto edits = share_edits(claims, {}, "/state", all);
  EXPECT_EQ(edits["c"].env, (Variables{{"TOY_LANES", "0,1,2"}}));
}

TEST(ToyVendor, RefusesModeOfAnotherVendorWithOwnText) {
  const Toy toy;
  EXPECT_EQ(wanted_sharing("0=mps:5", 1, toy).error().message,
            "invalid das.inference.redhat.com/gpu-sharing \"0=mps:5\": must be a list of "
            "INDEX=lanes:COUNT");
}

}  // namespace
}  // namespace athanor::das::toy_vendor_test
