// SPDX-License-Identifier: Apache-2.0
// GPU discovery: counting and naming (docs/spec/hearth.md 7.1 to 7.5).
#include "systems/hearth/gpus.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "kube/text/yaml.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth::gpus_test {
namespace {

std::string name_of(std::string_view vendor, std::string_view product) {
  return short_name(vendor, product, {});
}

TEST(ShortName, TableOfTheSpecification) {
  const std::pair<const char*, const char*> rows[] = {
      {"NVIDIA-A100-SXM4-80GB", "a100"},
      {"NVIDIA-A100-PCIE-40GB", "a100"},
      {"NVIDIA-H100-SXM5-80GB", "h100"},
      {"NVIDIA-H200-SXM-141GB", "h200"},
      {"NVIDIA-A100-NEW-VARIANT-96GB", "a100"},
      {"NVIDIA-L40S", "l40s"},
      {"NVIDIA-H100-80GB-HBM3", "h100"},
      {"NVIDIA-B200-SXM", "b200sxm"},
      {"NVIDIA-H100-NVL", "h100"},
      {"NVIDIA-A10G", "a10g"},
      {"NVIDIA-H200", "h200"},
      {"NVIDIA-H20", "h20"},
      {"SOME-UNKNOWN-GPU", "someunknowngpu"},
      {"NVIDIA Tesla V100", "nvidiateslav100"},
      {"Tesla-T4", "teslat4"},
      {"NVIDIA-GH200-480GB", "gh200480gb"},
      {"NVIDIA-A1000", "a1000"},
      {"NVIDIA-A100", "a100"},
  };
  for (const auto& [product, want] : rows) {
    EXPECT_EQ(name_of("nvidia", product), want) << product;
  }
  EXPECT_EQ(name_of("amd", "AMD-Instinct-MI300X"), "mi300x");
  EXPECT_EQ(name_of("amd", "AMD-Instinct-MI250X"), "mi250x");
  EXPECT_EQ(name_of("amd", "AMD_Instinct_MI300X_OAM"), "mi300x");
  EXPECT_EQ(name_of("amd", "---"), "amd");
  EXPECT_EQ(name_of("nvidia", "NVIDIA-"), "nvidia");
}

TEST(ShortName, SlicesAndSharing) {
  EXPECT_EQ(name_of("nvidia", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "a100mig1g5gb");
  EXPECT_EQ(name_of("nvidia", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb+me"), "a100mig1g5gbme");
  EXPECT_EQ(name_of("nvidia", "Tesla-T4-SHARED"), "teslat4");
}

TEST(ShortName, OwnMapComesFirst) {
  Settings settings;
  settings.model_map["NVIDIA-A100-SXM4-80GB"] = "big";
  EXPECT_EQ(short_name("nvidia", "NVIDIA-A100-SXM4-80GB", settings), "big");
  EXPECT_EQ(short_name("nvidia", "NVIDIA-A100-SXM4-40GB", settings), "a100");
}

// "vendor model shortName count/nodeCount" an entry, then total.
std::string counted(const std::string& nodes, const Settings& settings = {}) {
  const GpuCount count = count_gpus(*yaml::parse(nodes), settings);
  std::string text;
  for (const api::ClusterGpu& gpu : count.gpus) {
    text += gpu.vendor + " " + gpu.model + " " + gpu.short_name + " " +
            std::to_string(gpu.count.value_or(-1)) + "/" +
            std::to_string(gpu.node_count.value_or(-1)) + ", ";
  }
  text += "total " + std::to_string(count.total);
  if (count.unlabelled_nodes > 0) {
    text += ", unlabelled " + std::to_string(count.unlabelled_nodes);
  }
  for (const std::string& name : count.skipped) {
    text += ", skipped " + name;
  }
  return text;
}

TEST(Counting, AddsUpByVendorAndModel) {
  EXPECT_EQ(counted("[]"), "total 0");
  EXPECT_EQ(counted("[{count: 3, allocatable: {cpu: 4}}]"), "total 0");
  EXPECT_EQ(counted(R"([
        {names: [b], count: 2, allocatable: {nvidia.com/gpu: "8"}, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}},
        {names: [a], count: 1, allocatable: {nvidia.com/gpu: 8}, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}},
        {names: [c], count: 1, allocatable: {nvidia.com/gpu: "2", amd.com/gpu: "1"}, labels: {beta.amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM}}])"),
            "amd AMD_Instinct_MI300X_OAM mi300x 1/1, nvidia NVIDIA-A100-SXM4-40GB a100 8/1, nvidia "
            "NVIDIA-A100-SXM4-80GB a100 16/2, nvidia nvidia nvidia 2/1, total 27, unlabelled 1");
}

TEST(Counting, AmdLabelsInTheirOrder) {
  EXPECT_EQ(counted("[{count: 1, allocatable: {amd.com/gpu: 8}, labels: {amd.com/gpu.product: "
                    "AMD-Instinct-MI250X, amd.com/gpu.product-name: other}}]"),
            "amd AMD-Instinct-MI250X mi250x 8/1, total 8");
  EXPECT_EQ(counted("[{count: 1, allocatable: {amd.com/gpu: 8}, labels: {}}]"),
            "amd amd amd 8/1, total 8, unlabelled 1");
}

TEST(Counting, AmountsThatAreNoneSkipTheNode) {
  EXPECT_EQ(counted("[{names: [x, w], count: 2, allocatable: {nvidia.com/gpu: eight}}, {names: "
                    "[v], count: 1, allocatable: {nvidia.com/gpu: -1}}, {names: [z], count: 1, "
                    "allocatable: {nvidia.com/gpu: 500m}}]"),
            "total 0, skipped v, skipped w, skipped x, skipped z");
}

TEST(Counting, MixedSlicesAreNoGpus) {
  EXPECT_EQ(counted("[{count: 1, allocatable: {nvidia.com/gpu: 6, nvidia.com/mig-1g.5gb: 7, "
                    "nvidia.com/mig-3g.20gb: 0}, labels: {nvidia.com/gpu.product: "
                    "NVIDIA-A100-SXM4-40GB}}]"),
            "nvidia NVIDIA-A100-SXM4-40GB a100 6/1, nvidia NVIDIA-A100-SXM4-40GB-MIG-1g.5gb "
            "a100mig1g5gb 7/1, total 6");
}

TEST(Counting, SharedGpusCountOnce) {
  EXPECT_EQ(counted("[{count: 2, allocatable: {nvidia.com/gpu: 16}, labels: "
                    "{nvidia.com/gpu.product: Tesla-T4-SHARED, nvidia.com/gpu.replicas: \"4\"}}]"),
            "nvidia Tesla-T4-SHARED teslat4 8/2, total 8");
}

TEST(Counting, ReadyNodesOnlyWhenAskedFor) {
  const std::string nodes =
      "[{count: 1, allocatable: {nvidia.com/gpu: 1}, ready: true, schedulable: true}, {count: 1, "
      "allocatable: {nvidia.com/gpu: 2}, ready: false, schedulable: true}, {count: 1, allocatable: "
      "{nvidia.com/gpu: 4}, ready: true, schedulable: false}]";
  Settings settings;
  EXPECT_EQ(counted(nodes), "nvidia nvidia nvidia 7/3, total 7, unlabelled 3");
  settings.node_filter = "ready";
  EXPECT_EQ(counted(nodes, settings), "nvidia nvidia nvidia 1/1, total 1, unlabelled 1");
}

TEST(Summary, MergesEqualNames) {
  const auto gpu = [](const char* name, std::optional<std::int64_t> count) {
    return api::ClusterGpu{.vendor = "nvidia", .model = name, .short_name = name, .count = count};
  };
  EXPECT_EQ(summary_of({}), "");
  EXPECT_EQ(summary_of({gpu("a100", 8), gpu("h200", 4), gpu("a100", 4)}), "12x A100, 4x H200");
  EXPECT_EQ(summary_of({gpu("nvidia", 8)}), "8x NVIDIA");
  EXPECT_EQ(summary_of({gpu("a100", 0)}), "");
  EXPECT_EQ(amounts_of({gpu("", 1), gpu("a", std::nullopt), gpu("A!", 1), gpu("b", -3)}).ignored,
            "hardware.gpus[0] has no shortName; hardware.gpus[1] has no count; hardware.gpus[2]: "
            "shortName is not of a-z and 0-9; hardware.gpus[3]: count is negative");
}

TEST(Span, Grammar) {
  EXPECT_EQ(parse_span("0m"), Duration::zero());
  EXPECT_EQ(parse_span("30m"), std::chrono::minutes(30));
  EXPECT_EQ(parse_span("4h"), std::chrono::hours(4));
  EXPECT_EQ(parse_span("2d"), std::chrono::hours(48));
  for (const char* text : {"", "m", "10s", "1h30m", "-1h", "4 h", "1.5h", "h1"}) {
    EXPECT_EQ(parse_span(text), std::nullopt) << text;
  }
  const auto start = *parse_time("2026-01-01T00:00:00Z");
  for (const char* text : {"999999999999d", "99999999999999999999999d", "9999999d"}) {
    EXPECT_EQ(format_time(end_of(start, *parse_span(text))), "9999-12-31T23:59:59Z") << text;
  }
}

TEST(Span, TimesOfUpstream) {
  EXPECT_EQ(read_time("2026-05-04T10:00:00.123456+00:00"),
            parse_time("2026-05-04T10:00:00.123456Z"));
  EXPECT_EQ(read_time("2026-05-04T10:00:00"), parse_time("2026-05-04T10:00:00Z"));
  EXPECT_EQ(read_time("soon"), std::nullopt);
}

TEST(OneLine, CutsOnACharacter) {
  EXPECT_EQ(one_line("a\nb\tc"), "a b c");
  EXPECT_EQ(one_line(std::string(1023, 'x') + "\xc3\xa4" + "y"), std::string(1023, 'x'));
}

TEST(GpuNodes, AreRowsByName) {
  const Value nodes = *yaml::parse(R"(
- {names: [n2, n1], count: 2, ready: true, schedulable: true,
   labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}, allocatable: {nvidia.com/gpu: "8"}}
- {names: [n3], count: 1, ready: false, schedulable: false, labels: {},
   allocatable: {amd.com/gpu: "4"}}
)");
  const Value rows = gpu_nodes(nodes, {});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["name"].str(), "n1");
  EXPECT_EQ(rows[0]["gpu"].str(), "a100");
  EXPECT_EQ(rows[0]["allocatable"].as_int(), 8) << "of one node";
  EXPECT_TRUE(rows[1]["ready"].as_bool());
  EXPECT_EQ(rows[2]["gpu"].str(), "amd");
  EXPECT_FALSE(rows[2]["schedulable"].as_bool());
}

}  // namespace
}  // namespace athanor::hearth::gpus_test
