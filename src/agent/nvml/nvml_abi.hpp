// SPDX-License-Identifier: Apache-2.0
// The parts of NVML's C interface that the agent calls, as the library exports them. Names and
// layouts are NVIDIA's.
#pragma once

#include <cstdint>

namespace athanor::agent::nvml {

using Device = struct DeviceHandle*;
using GpuInstance = struct GpuInstanceHandle*;
using ComputeInstance = struct ComputeInstanceHandle*;
using EventSet = struct EventSetHandle*;

// nvmlReturn_t
enum Return : int {
  Success = 0,
  Uninitialized = 1,
  InvalidArgument = 2,
  NotSupported = 3,
  NoPermission = 4,
  NotFound = 6,
  InsufficientSize = 7,
  DriverNotLoaded = 9,
  Timeout = 10,
  GpuIsLost = 15,
  InUse = 19,
  InsufficientResources = 23,
  Unknown = 999,
};

// nvmlMemory_t; bytes.
struct Memory {
  unsigned long long total, free, used;
};
// nvmlPciInfo_t.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_sub_system_id;
  char bus_id[32];
};
// nvmlGpuInstancePlacement_t and nvmlComputeInstancePlacement_t; slices.
struct Placement {
  unsigned int start, size;
};
// nvmlGpuInstanceProfileInfo_t.
struct GpuInstanceProfile {
  unsigned int id, is_p2p_supported, slice_count, instance_count, multiprocessor_count,
      copy_engine_count, decoder_count, encoder_count, jpeg_count, ofa_count;
  unsigned long long memory_size_mb;
};
// nvmlGpuInstanceInfo_t.
struct GpuInstanceInfo {
  Device device;
  unsigned int id, profile_id;
  Placement placement;
};
// nvmlComputeInstanceProfileInfo_t.
struct ComputeInstanceProfile {
  unsigned int id, slice_count, instance_count, multiprocessor_count, shared_copy_engine_count,
      shared_decoder_count, shared_encoder_count, shared_jpeg_count, shared_ofa_count;
};
// nvmlComputeInstanceInfo_t.
struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  unsigned int id, profile_id;
  Placement placement;
};
// nvmlEventData_t.
struct EventData {
  Device device;
  unsigned long long event_type, event_data;
  unsigned int gpu_instance_id, compute_instance_id;
};

// Constants of nvml.h: MIG modes, sizes of texts in bytes (with the final NUL), event types,
// affinity scopes.
inline constexpr unsigned int kMigEnabled = 1;
inline constexpr unsigned int kUuidSize = 96;
inline constexpr unsigned int kNameSize = 96;
inline constexpr unsigned long long kXidEvent = 0x8;
inline constexpr unsigned long long kMigConfigEvent = 0x100;
inline constexpr unsigned int kNodeScope = 0;

// The functions; those that an older library may lack are null then.
struct Calls {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*device_count)(unsigned int*) = nullptr;
  Return (*device_by_index)(unsigned int, Device*) = nullptr;
  Return (*device_by_uuid)(const char*, Device*) = nullptr;
  Return (*device_uuid)(Device, char*, unsigned int) = nullptr;
  Return (*device_name)(Device, char*, unsigned int) = nullptr;
  Return (*memory_info)(Device, Memory*) = nullptr;
  Return (*mig_mode)(Device, unsigned int* current, unsigned int* pending) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*memory_affinity)(Device, unsigned int, unsigned long*, unsigned int) = nullptr;
  Return (*gi_profile)(Device, unsigned int, GpuInstanceProfile*) = nullptr;
  Return (*gi_placements)(Device, unsigned int, Placement*, unsigned int*) = nullptr;
  Return (*create_gi)(Device, unsigned int, const Placement*, GpuInstance*) = nullptr;
  Return (*list_gi)(Device, unsigned int, GpuInstance*, unsigned int*) = nullptr;
  Return (*gi_by_id)(Device, unsigned int, GpuInstance*) = nullptr;
  Return (*gi_info)(GpuInstance, GpuInstanceInfo*) = nullptr;
  Return (*destroy_gi)(GpuInstance) = nullptr;
  Return (*ci_profile)(GpuInstance, unsigned int, unsigned int, ComputeInstanceProfile*) = nullptr;
  Return (*create_ci)(GpuInstance, unsigned int, ComputeInstance*) = nullptr;
  Return (*list_ci)(GpuInstance, unsigned int, ComputeInstance*, unsigned int*) = nullptr;
  Return (*ci_by_id)(GpuInstance, unsigned int, ComputeInstance*) = nullptr;
  Return (*ci_info)(ComputeInstance, ComputeInstanceInfo*) = nullptr;
  Return (*destroy_ci)(ComputeInstance) = nullptr;
  Return (*mig_count)(Device, unsigned int*) = nullptr;
  Return (*mig_by_index)(Device, unsigned int, Device*) = nullptr;
  Return (*mig_parent)(Device, Device*) = nullptr;
  Return (*mig_gi_id)(Device, unsigned int*) = nullptr;
  Return (*mig_ci_id)(Device, unsigned int*) = nullptr;
  Return (*event_set_create)(EventSet*) = nullptr;
  Return (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  Return (*event_wait)(EventSet, EventData*, unsigned int) = nullptr;
  Return (*event_set_free)(EventSet) = nullptr;
};

}  // namespace athanor::agent::nvml
