// SPDX-License-Identifier: Apache-2.0
// GPUs that are none, with MIG's rules: what the fake NVML library answers from. Instances are kept
// in a file, as real ones outlive the process that made them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/nvml/nvml_abi.hpp"
#include "kube/value/value.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::fake_nvml {

struct Gpu {
  const das::GpuModel* model = nullptr;
  std::string uuid{};
  [[nodiscard]] const das::MigProfile* profile(unsigned int gi_profile) const;
  [[nodiscard]] const das::MigProfile* by_id(unsigned int id) const;
  // What nvidia-smi numbers the profile.
  [[nodiscard]] unsigned int id_of(const das::MigProfile& profile) const;
};

struct Compute {
  int id = 0;
  unsigned int profile = 0;
  std::string uuid{};
};
struct Instance {
  int gpu = 0;
  int id = 0;
  std::string profile{};
  int start = 0;
  int size = 0;
  std::vector<Compute> computes{};
};

// What tests ask for, in a JSON file that is read at every call:
//   {"fail": {"nvmlInit_v2": 9}, "lost": [0], "migDisabled": [1], "createMs": 5, "destroyMs": 5,
//    "inUse": ["MIG-..."], "parentHandles": true, "numaNodes": [0, 1], "event": 1, "gpu": 0, "xid":
//    79, "migChange": true, "order": [1, 0] (of the GPUs, from the next nvmlInit on: a driver may
//    number them differently after a restart; "lost" and others name them by their first order)}
// and what happens at the n-th call since the file changed: {"at": 3, "only": "nvmlGpuInstance
// Destroy" (counts calls of it alone), "kill": true (the process, before the call), or "code": 999
// (once; with "on": true from that call on; with "late": true after a change was made)}.
class Control {
 public:
  explicit Control(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Value read() const;
  // Counts a call; what it is to answer instead, if the file says so.
  [[nodiscard]] std::optional<agent::nvml::Return> count(std::string_view call);

 private:
  std::string path_;
  Value counted_{};  // the file whose calls are counted
  std::int64_t calls_ = 0;
};

// Thread-safe through its caller's lock.
class Gpus {
 public:
  // FAKE_NVML_GPUS ("A100-PCIE-40GB:2", commas between models), FAKE_NVML_STATE, FAKE_NVML_CONTROL.
  Gpus();

  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
  [[nodiscard]] Control& control() { return control_; }
  // Returns the GPU that the driver counts as this one; -1: none.
  [[nodiscard]] int at_index(unsigned int index) const;
  std::vector<Instance>& instances();
  void save() const;

  // NVML's codes.
  agent::nvml::Return create(int gpu, unsigned int id, const agent::nvml::Placement& place,
                             int& made);
  agent::nvml::Return destroy(int id);
  agent::nvml::Return create_compute(int instance, unsigned int profile, int& made);
  agent::nvml::Return destroy_compute(int instance, int id);
  Instance* find(int id);

 private:
  void load();

  std::vector<Gpu> gpus_{};
  std::string state_{};
  Control control_;
  Value order_{};
  std::vector<Instance> instances_{};
};

}  // namespace athanor::fake_nvml
