// SPDX-License-Identifier: Apache-2.0
// What others write, damaged in every way that a seed finds: annotations, CDI files, records,
// ResourceClaims, claims and NodeAccelerators. Nothing may crash, and what is read stays in bounds.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "systems/das/agent/cdi_spec.hpp"
#include "systems/das/agent/claim_devices.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das::hostile_input_test {
namespace {

constexpr int kRounds = 3000;

// The same sequence everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::size_t below(std::size_t most) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::size_t>(state_ % most);
  }

 private:
  std::uint64_t state_;
};

// One to four changes: bytes replaced, taken away, doubled; pieces of other things put in.
std::string damaged(std::string text, Random& random) {
  static const std::vector<std::string> kPieces{"null",  "-1",   "9223372036854775807",
                                                "1e400", "\"\"", "{}",
                                                "[]",    "[[[[", "\xff",
                                                "\\u0",  "true", "=",
                                                ",",     ":",    "4294967296",
                                                "mig"};
  for (std::size_t i = random.below(4) + 1; i > 0; --i) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0:
        text.insert(at, kPieces[random.below(kPieces.size())]);
        break;
      case 1:
        text.erase(at, random.below(12) + 1);
        break;
      case 2:
        text.insert(at, text.substr(at, random.below(20)));
        break;
      default:
        if (at < text.size()) {
          text[at] = static_cast<char>(random.below(256));
        }
    }
  }
  return text;
}

// Calls `read` with damaged forms of a text.
template <class Read>
void with_damage(const std::string& text, const Read& read) {
  for (int seed = 0; seed < kRounds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    read(damaged(text, random));
  }
}

// The same of values: only damage that leaves JSON.
template <class Read>
void with_damaged_value(const std::string& text, const Read& read) {
  int read_ones = 0;
  with_damage(text, [&](const std::string& damage) {
    if (auto value = json::parse(damage); value.ok()) {
      ++read_ones;
      read(*value);
    }
  });
  EXPECT_GT(read_ones, kRounds / 50) << "the damage leaves no JSON";
}

TEST(HostileInput, Annotations) {
  for (const char* type : {"nvidia-mig", "amd-mi300", "intel-xe"}) {
    with_damage("0=timeslice:4:Short,1=mps:10,2=mig,3=cpx:nps4,0=vf:7",
                [&](const std::string& one) {
                  if (const auto read = wanted_sharing(one, 4, type); read.ok()) {
                    EXPECT_EQ(read->size(), 4U) << one;
                    const Vendor& vendor = *find_vendor(type);
                    for (const GpuSharing& sharing : *read) {
                      const SharedGpu gpu{.uuid = "G", .sharing = sharing, .memory_gib = 80};
                      for (const auto& [resource, count] : vendor.capacity(gpu, {})) {
                        EXPECT_TRUE(count > 0 && count <= 100) << one;
                      }
                      static_cast<void>(vendor.create(gpu, "/state"));
                    }
                  }
                });
  }
  with_damage("0=dra,1=deviceplugin,3=dra", [](const std::string& one) {
    if (const auto read = wanted_apis("both", one, 4); read.ok()) {
      EXPECT_EQ(read->size(), 4U) << one;
    }
  });
}

TEST(HostileInput, FilesOfTheNode) {
  const CdiSpec spec{.profile = "1g.5gb",
                     .id = "0b2f1f5e-2a68-5d0a-9d55-0a7e2f5f0a11",
                     .claims = {Value::object({{"spec", Value::object({{"gpuUUID", "G"}})}})},
                     .env = {"NVIDIA_VISIBLE_DEVICES=MIG-1"}};
  with_damage(print_cdi(spec, "/var/run/cdi"), [](const std::string& one) {
    if (const auto read = parse_cdi(one)) {
      EXPECT_FALSE(read->device().empty());
    }
  });
  const std::vector<SliceRecord> records{
      {.claim_uid = "u", .claim = "a", .gpu = "GPU-1", .start = 4, .size = 2, .device = "MIG-1"}};
  with_damage(print_records(records), [](const std::string& one) {
    for (const SliceRecord& record : parse_records(one)) {
      EXPECT_FALSE(record.claim_uid.empty()) << one;
    }
  });
  with_damage(claim_file("u-1"), [](const std::string& one) {
    if (const std::string uid = claim_of_file(one); !uid.empty()) {
      EXPECT_EQ(claim_file(uid), one);
    }
  });
}

TEST(HostileInput, ClaimsOfBothKinds) {
  with_damaged_value(
      R"({"metadata":{"name":"c","namespace":"ns","uid":"u"},"status":{"reservedFor":[{"resource":"pods","name":"p"}],"allocation":{"devices":{"results":[{"request":"a/b","driver":"das.inference.redhat.com","pool":"n","device":"gpu-0-mig-1g5gb-19-3"}]}}}})",
      [](const Value& value) {
        const Object claim(value);
        const auto groups = groups_of(claim, {claim}, {"c"});
        if (groups.ok()) {
          EXPECT_FALSE(claim_cdi(claim, *groups, {{"gpu-0-mig-1g5gb-19-3", "M"}}, "index").empty());
        }
      });
  with_damaged_value(
      R"({"metadata":{"name":"c","uid":"u"},"spec":{"type":"partition","profile":"1g.5gb","gpuUUID":"G","nodename":"n","podRef":{"uid":"p"},"migPlacement":{"start":3,"size":4},"share":{"index":2,"memoryMiB":100}},"status":{"state":"inUse"}})",
      [](const Value& value) {
        if (const auto claim = read_claim(Object(value))) {
          EXPECT_TRUE(claim->start >= 0 && claim->size >= 1 && claim->start + claim->size <= 8);
        }
        static_cast<void>(read_share(Object(value)));
      });
}

TEST(HostileInput, NodeAccelerators) {
  Value resources = emulated_resources("n", {.model = find_model("A100-PCIE-40GB"), .count = 2});
  const Value before;
  const std::set<std::string, std::less<>> used;
  EXPECT_TRUE(assign_sharing(resources, {.annotation = "1=3g.20gb:mps:10",
                                         .vendor = find_vendor(kNvidiaMig),
                                         .before = &before,
                                         .used = &used})
                  .empty());
  with_damaged_value(json::print(resources), [](const Value& value) {
    const NodeGpus node = read_resources(value);
    for (const NodeGpu& gpu : node.gpus) {
      ASSERT_LT(gpu.table, node.tables.size());
    }
    for (const DeviceList& list : device_lists(value, *find_vendor(kNvidiaMig))) {
      EXPECT_LE(list.devices.size(), 8U * 8U * 16U);
    }
    static_cast<void>(shared_gpus(value));
    Value changed = value;
    static_cast<void>(assign_apis(changed, value, "both", "0=dra", {}));
  });
}

}  // namespace
}  // namespace athanor::das::hostile_input_test
