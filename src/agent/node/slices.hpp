// SPDX-License-Identifier: Apache-2.0
// Slices of a node: created and destroyed on its GPUs, or emulated. A record is written before the
// slice is created and removed once its place is free, so no slice is lost (docs/spec/das.md 3.4
// G7, 8.6, 9.2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/nvml/gpu_driver.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "systems/das/model/claim.hpp"

namespace athanor {
class Metrics;
}

namespace athanor::agent {

class CdiFolder;

// How emulated slices behave (docs/spec/das.md E-B3, E-B4).
struct Emulation {
  bool uuids = false;  // else every slice is called "test"
  std::int64_t create_ms = 0;
  std::int64_t destroy_ms = 0;
  std::int64_t fail_per_million = 0;
};

// Returns true if the record's device is known, and another claim's record names it, too.
bool is_shared(const das::SliceRecord& record, std::span<const das::SliceRecord> all);

// Thread-safe. Calls block: one GPU makes one slice at a time, different GPUs work in parallel.
class Slices {
 public:
  virtual ~Slices() = default;
  // Returns the names of the claims' slices, in order; existing ones are used again. Retries a
  // failing driver twice within RealSlicesOptions::patience. On an error destroys what it made; a
  // slice that cannot be destroyed in time keeps its record.
  virtual Result<std::vector<std::string>> make(std::span<const das::Claim> claims) = 0;
  // Destroys the slice of a claim, and tries again if that fails: five times, from 0.2 s on. One
  // that other claims share stays. Its record is kept until the GPU shows its place free.
  virtual Result<void> destroy(const das::Claim& claim) = 0;
  // Destroys the slice of a record whose claim is gone.
  virtual Result<void> destroy(const das::SliceRecord& record) = 0;
  virtual void forget(const das::SliceRecord& record) = 0;
  // Returns the name of the claim's slice in containers; an empty text: it has none.
  virtual std::string name_of(const das::Claim& claim) = 0;
  virtual std::vector<das::SliceRecord> records() = 0;
  // Takes over what a run before did for these claims.
  virtual void adopt(std::span<const das::Claim> /*claims*/) {}
};

// The GPUs as they were found last; a profile's numbers come from there.
using KnownGpus = std::function<std::vector<das::FoundGpu>()>;

// Options of slices on real GPUs. Everything that they point to outlives the slices.
struct RealSlicesOptions {
  GpuDriver* driver = nullptr;
  const CdiFolder* folder = nullptr;
  KnownGpus gpus{};
  Metrics* metrics = nullptr;
  Duration pause = std::chrono::milliseconds(200);  // before a second try; twice as long each time
  // Limit of all tries of one make(). A kubelet waits 10 s for an answer (docs/spec/das.md N-B14);
  // looking for claims (3.1 s, systems/das/agent/looks.hpp) and reading pods (3 s) come before.
  Duration patience = std::chrono::seconds(3);
};

std::unique_ptr<Slices> emulated_slices(const Emulation& emulation, Metrics& metrics);
std::unique_ptr<Slices> real_slices(RealSlicesOptions options);

}  // namespace athanor::agent
