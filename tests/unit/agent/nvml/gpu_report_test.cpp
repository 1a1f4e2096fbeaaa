// SPDX-License-Identifier: Apache-2.0
// The text and the JSON of `athanor-agent gpus`.
#include <gtest/gtest.h>

#include "agent/nvml/gpu_report.hpp"
#include "kube/text/json.hpp"

namespace athanor::agent::nvml::gpu_report_test {
namespace {

das::Discovery two_gpus() {
  das::FoundGpu sliced{.uuid = "GPU-a",
                       .name = "A100-PCIE-40GB",
                       .memory_bytes = std::int64_t{40} << 30,
                       .index = 0,
                       .pci_bus_id = "0000:01:00.0",
                       .numa_node = 1};
  sliced.table.profiles.push_back({.name = "3g.20gb", .size = 4, .starts = {0, 4}});
  const das::FoundGpu whole{.uuid = "GPU-b",
                            .name = "H100-NVL",
                            .memory_bytes = std::int64_t{94} << 30,
                            .index = 1,
                            .healthy = false,
                            .whole = true};
  return {.gpus = {sliced, whole},
          .slices = {{.gpu = "GPU-a", .device = "MIG-1", .start = 4, .size = 4},
                     {.gpu = "GPU-a", .start = 0, .size = 1}}};
}

TEST(GpuReport, ShowsProfilesSlicesAndReasonForNone) {
  EXPECT_EQ(
      report_text(two_gpus()),
      "GPU 0: A100-PCIE-40GB, GPU-a\n"
      "  PCI 0000:01:00.0, NUMA node 1, 40960 MiB, healthy\n"
      "  MIG is enabled: 3g.20gb at 0,4\n"
      "  slice at slot 4, 4 slots: MIG-1\n"
      "  slice at slot 0, 1 slot: no compute instance\n"
      "GPU 1: H100-NVL, GPU-b\n"
      "  96256 MiB, unhealthy\n"
      "  MIG is disabled or not supported: no slices. The GPU can be shared as a whole; where "
      "it supports MIG, `nvidia-smi -i 1 -mig 1` enables it\n");
  EXPECT_EQ(report_text({}), "The driver reports no GPU.\n");
}

TEST(GpuReport, ShowsProfilesThatMigModeWouldOffer) {
  das::Discovery found = two_gpus();
  found.gpus[1].offered.profiles = {{.name = "1g.12gb", .size = 1, .starts = {0, 1}},
                                    {.name = "7g.94gb", .size = 8, .starts = {0}}};
  EXPECT_NE(report_text(found).find(
                "  MIG is disabled: no slices. The GPU can be shared as a whole; `nvidia-smi -i 1 "
                "-mig 1` enables MIG, and offers 1g.12gb at 0,1; 7g.94gb at 0\n"),
            std::string::npos)
      << report_text(found);
  EXPECT_EQ(
      json::print(report_json(found)["gpus"][1]["profiles"]),
      R"([{"name":"1g.12gb","size":1,"starts":[0,1]},{"name":"7g.94gb","size":8,"starts":[0]}])");
}

TEST(GpuReport, HasTheSameAsJson) {
  const Value report = report_json(two_gpus());
  EXPECT_EQ(json::print(report["gpus"][0]["profiles"]),
            R"([{"name":"3g.20gb","size":4,"starts":[0,4]}])");
  EXPECT_EQ(json::print(report["gpus"][0]["slices"]),
            R"([{"start":4,"size":4,"uuid":"MIG-1"},{"start":0,"size":1}])");
  EXPECT_EQ(json::print(report["gpus"][1]),
            R"({"index":1,"name":"H100-NVL","uuid":"GPU-b","pciBusID":"","memoryMiB":96256,)"
            R"("healthy":false,"migEnabled":false,"profiles":[],"slices":[]})");
}

}  // namespace
}  // namespace athanor::agent::nvml::gpu_report_test
