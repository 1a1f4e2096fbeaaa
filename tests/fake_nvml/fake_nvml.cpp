// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so without a GPU: NVML's C functions over fake GPUs, for tests of the code that
// loads the real library. Handles are numbers: device, MIG device, GPU instance, compute instance.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "fake_nvml/fake_gpus.hpp"
#include "fake_nvml/hostile.hpp"

namespace {

using namespace athanor;               // NOLINT(google-build-using-namespace): a test's library
using namespace athanor::agent::nvml;  // NOLINT(google-build-using-namespace)
using fake_nvml::Gpus;
using fake_nvml::Instance;

constexpr std::uintptr_t kMig = 0x100000;
constexpr std::uintptr_t kGi = 0x200000;
constexpr std::uintptr_t kCi = 0x300000;
constexpr std::uintptr_t kEvents = 0x400000;
constexpr std::uintptr_t kKind = 0xf00000;

std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}
Gpus& gpus() {
  static Gpus all;
  return all;
}
fake_nvml::Hostile& hostile() {
  static fake_nvml::Hostile one;
  return one;
}

template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
template <class Handle>
std::uintptr_t number(Handle one) {
  return reinterpret_cast<std::uintptr_t>(one);
}
bool is_mig(Device device) {
  return (number(device) & kKind) == kMig;
}
std::uintptr_t pair(std::uintptr_t kind, int instance, int compute) {
  return kind | static_cast<std::uintptr_t>(instance) << 8U | static_cast<std::uintptr_t>(compute);
}
int instance_of(std::uintptr_t pair) {
  return static_cast<int>((pair & ~kKind) >> 8U);
}
int compute_of(std::uintptr_t pair) {
  return static_cast<int>(pair & 0xffU);
}
// -1: no such GPU.
int gpu_of(Device device) {
  const std::uintptr_t one = number(device);
  if (is_mig(device)) {
    const Instance* instance = gpus().find(instance_of(one));
    return instance == nullptr ? -1 : instance->gpu;
  }
  return one >= 1 && one <= gpus().gpus().size() ? static_cast<int>(one) - 1 : -1;
}

bool listed(const Value& list, int gpu) {
  for (const Value& one : list.items()) {
    if (one.as_int(-1) == gpu) {
      return true;
    }
  }
  return false;
}

// What the call under way answers after it has changed something.
std::optional<Return>& late() {
  static std::optional<Return> code;
  return code;
}
Return changed(Return code) {
  return std::exchange(late(), std::nullopt).value_or(code);
}

// What the tests want this call to answer instead.
Return told(std::string_view call, int gpu = -1) {
  const Value control = gpus().control().read();
  late().reset();
  if (const auto code = gpus().control().count(call)) {
    const bool changes = call.find("Destroy") != std::string_view::npos ||
                         call.find("Create") != std::string_view::npos;
    if (!changes || !control["late"].as_bool()) {
      return *code;
    }
    late() = code;
  }
  if (control["fail"][call].is_integer()) {
    return static_cast<Return>(control["fail"][call].as_int());
  }
  if (gpu >= 0 && listed(control["lost"], gpu)) {
    return GpuIsLost;
  }
  hostile().follow(static_cast<std::uint64_t>(control["hostile"].as_int()));
  return hostile().code().value_or(Success);
}

void pause(const char* name) {
  const std::int64_t ms = gpus().control().read()[std::string_view(name)].as_int();
  if (ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
}

Return put(const std::string& text, char* into, unsigned int size) {
  if (text.size() + 1 > size) {
    return InsufficientSize;
  }
  std::memcpy(into, text.c_str(), text.size() + 1);
  hostile().spoil(into, size);
  return Success;
}

}  // namespace

#define FAKE_NVML_CHECK(call, gpu)                                \
  const std::scoped_lock guard(lock());                           \
  if (const Return wanted = told(call, gpu); wanted != Success) { \
    return wanted;                                                \
  }

extern "C" {

// No function of NVML: what a test loads decides how the next calls answer; none: rightly.
void fakeNvmlHostile(const char* bytes, unsigned int size) {
  const std::scoped_lock guard(lock());
  hostile().load(std::string(bytes, size));
}

Return nvmlInit_v2() {
  {
    const std::scoped_lock guard(lock());
    gpus() = Gpus();  // a library that was loaded before may still be there
  }
  FAKE_NVML_CHECK("nvmlInit_v2", -1)
  return Success;
}
Return nvmlShutdown() {
  return Success;
}
const char* nvmlErrorString(Return code) {
  switch (code) {
    case Success:
      return "The operation was successful";
    case InvalidArgument:
      return "Invalid Argument";
    case NotSupported:
      return "Not Supported";
    case NotFound:
      return "Not Found";
    case DriverNotLoaded:
      return "Driver Not Loaded";
    case GpuIsLost:
      return "GPU is lost";
    case InUse:
      return "In use by another client";
    case InsufficientResources:
      return "Insufficient Resources";
    case InsufficientSize:
      return "\xff\n not UTF-8";
    case Timeout:
      return nullptr;
    default:
      return "Unknown Error";
  }
}
Return nvmlDeviceGetCount_v2(unsigned int* count) {
  FAKE_NVML_CHECK("nvmlDeviceGetCount_v2", -1)
  *count = static_cast<unsigned int>(gpus().gpus().size());
  hostile().spoil(*count);
  return Success;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  FAKE_NVML_CHECK("nvmlDeviceGetHandleByIndex_v2", gpus().at_index(index))
  if (index >= gpus().gpus().size()) {
    return InvalidArgument;
  }
  *device = handle<Device>(static_cast<std::uintptr_t>(gpus().at_index(index)) + 1);
  hostile().spoil_handle(*device);
  return Success;
}
Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  FAKE_NVML_CHECK("nvmlDeviceGetHandleByUUID", -1)
  for (std::size_t i = 0; i < gpus().gpus().size(); ++i) {
    if (gpus().gpus()[i].uuid == uuid) {
      *device = handle<Device>(i + 1);
      hostile().spoil_handle(*device);
      return Success;
    }
  }
  for (const Instance& instance : gpus().instances()) {
    for (const fake_nvml::Compute& compute : instance.computes) {
      if (compute.uuid == uuid) {
        *device = handle<Device>(pair(kMig, instance.id, compute.id));
        return Success;
      }
    }
  }
  return NotFound;
}
Return nvmlDeviceGetUUID(Device device, char* uuid, unsigned int size) {
  FAKE_NVML_CHECK("nvmlDeviceGetUUID", gpu_of(device))
  if (is_mig(device)) {
    const Instance* instance = gpus().find(instance_of(number(device)));
    for (const fake_nvml::Compute& compute :
         instance == nullptr ? std::vector<fake_nvml::Compute>() : instance->computes) {
      if (compute.id == compute_of(number(device))) {
        return put(compute.uuid, uuid, size);
      }
    }
    return NotFound;
  }
  const int gpu = gpu_of(device);
  return gpu < 0 ? InvalidArgument
                 : put(gpus().gpus()[static_cast<std::size_t>(gpu)].uuid, uuid, size);
}
Return nvmlDeviceGetName(Device device, char* name, unsigned int size) {
  FAKE_NVML_CHECK("nvmlDeviceGetName", gpu_of(device))
  const int gpu = gpu_of(device);
  return gpu < 0 ? InvalidArgument
                 : put(gpus().gpus()[static_cast<std::size_t>(gpu)].model->product(), name, size);
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  FAKE_NVML_CHECK("nvmlDeviceGetMemoryInfo", gpu_of(device))
  const int gpu = gpu_of(device);
  if (gpu < 0) {
    return InvalidArgument;
  }
  memory->total = static_cast<unsigned long long>(
                      gpus().gpus()[static_cast<std::size_t>(gpu)].model->memory_gib)
                  << 30U;
  memory->free = memory->total;
  hostile().spoil(memory->total);
  memory->used = 0;
  return Success;
}
Return nvmlDeviceGetMigMode(Device device, unsigned int* current, unsigned int* pending) {
  FAKE_NVML_CHECK("nvmlDeviceGetMigMode", gpu_of(device))
  *current = listed(gpus().control().read()["migDisabled"], gpu_of(device)) ? 0 : kMigEnabled;
  *pending = *current;
  hostile().spoil(*current);
  return Success;
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  FAKE_NVML_CHECK("nvmlDeviceGetPciInfo_v3", gpu_of(device))
  *pci = {};
  pci->bus = static_cast<unsigned int>(gpu_of(device)) + 1;
  const std::string bus = "00000000:0" + std::to_string(pci->bus % 10) + ":00.0";
  return put(bus, pci->bus_id, sizeof(pci->bus_id));
}
Return nvmlDeviceGetMemoryAffinity(Device device, unsigned int words, unsigned long* nodes,
                                   unsigned int /*scope*/) {
  FAKE_NVML_CHECK("nvmlDeviceGetMemoryAffinity", gpu_of(device))
  std::fill(nodes, nodes + words, 0UL);
  const Value node = gpus().control().read()["numaNodes"][gpu_of(device)];
  if (!node.is_integer()) {
    return NotSupported;
  }
  nodes[0] = 1UL << static_cast<unsigned int>(node.as_int());
  hostile().spoil(nodes[words - 1]);
  return Success;
}
Return nvmlDeviceGetGpuInstanceProfileInfo(Device device, unsigned int profile,
                                           GpuInstanceProfile* info) {
  FAKE_NVML_CHECK("nvmlDeviceGetGpuInstanceProfileInfo", gpu_of(device))
  constexpr unsigned int kProfiles = 18;
  const int gpu = gpu_of(device);
  if (profile >= kProfiles || gpu < 0) {
    return InvalidArgument;
  }
  const fake_nvml::Gpu& on = gpus().gpus()[static_cast<std::size_t>(gpu)];
  const das::MigProfile* found = on.profile(profile);
  if (found == nullptr) {
    return NotSupported;
  }
  *info = {};
  info->id = on.id_of(*found);
  info->slice_count = static_cast<unsigned int>(found->compute);
  info->instance_count = static_cast<unsigned int>(found->most);
  const std::int64_t share =
      std::int64_t{on.model->memory_gib} * 1024 * found->size / on.model->table.slots;
  info->memory_size_mb =
      static_cast<unsigned long long>(found->memory_mib > 0 ? found->memory_mib : share - 256);
  hostile().spoil(info->id);
  hostile().spoil(info->slice_count);
  hostile().spoil(info->instance_count);
  hostile().spoil(info->memory_size_mb);
  return Success;
}
Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, unsigned int id,
                                                     Placement* places, unsigned int* count) {
  FAKE_NVML_CHECK("nvmlDeviceGetGpuInstancePossiblePlacements_v2", gpu_of(device))
  const int gpu = gpu_of(device);
  const das::MigProfile* profile =
      gpu < 0 ? nullptr : gpus().gpus()[static_cast<std::size_t>(gpu)].by_id(id);
  if (profile == nullptr) {
    return InvalidArgument;
  }
  if (*count < profile->starts.size()) {
    return InsufficientSize;
  }
  *count = 0;
  for (const int start : profile->starts) {
    places[(*count)++] = {static_cast<unsigned int>(start),
                          static_cast<unsigned int>(profile->size)};
    hostile().spoil(places[*count - 1].start);
    hostile().spoil(places[*count - 1].size);
  }
  hostile().spoil(*count);
  return Success;
}
Return nvmlDeviceCreateGpuInstanceWithPlacement(Device device, unsigned int id,
                                                const Placement* place, GpuInstance* made) {
  pause("createMs");
  FAKE_NVML_CHECK("nvmlDeviceCreateGpuInstanceWithPlacement", gpu_of(device))
  int number = 0;
  const int gpu = gpu_of(device);
  const Return code = gpu < 0 ? InvalidArgument : gpus().create(gpu, id, *place, number);
  *made = handle<GpuInstance>(pair(kGi, number, 0));
  hostile().spoil_handle(*made);
  return changed(code);
}
Return nvmlDeviceGetGpuInstances(Device device, unsigned int id, GpuInstance* list,
                                 unsigned int* count) {
  FAKE_NVML_CHECK("nvmlDeviceGetGpuInstances", gpu_of(device))
  const int gpu = gpu_of(device);
  const das::MigProfile* profile =
      gpu < 0 ? nullptr : gpus().gpus()[static_cast<std::size_t>(gpu)].by_id(id);
  if (profile == nullptr) {
    return InvalidArgument;
  }
  *count = 0;
  for (const Instance& one : gpus().instances()) {
    if (one.gpu == gpu && one.profile == profile->name) {
      list[(*count)++] = handle<GpuInstance>(pair(kGi, one.id, 0));
      hostile().spoil_handle(list[*count - 1]);
    }
  }
  hostile().spoil(*count);
  return Success;
}
Return nvmlDeviceGetGpuInstanceById(Device device, unsigned int id, GpuInstance* instance) {
  FAKE_NVML_CHECK("nvmlDeviceGetGpuInstanceById", gpu_of(device))
  if (gpus().find(static_cast<int>(id)) == nullptr) {
    return NotFound;
  }
  *instance = handle<GpuInstance>(pair(kGi, static_cast<int>(id), 0));
  return Success;
}
Return nvmlGpuInstanceGetInfo(GpuInstance instance, GpuInstanceInfo* info) {
  FAKE_NVML_CHECK("nvmlGpuInstanceGetInfo", -1)
  const Instance* found = gpus().find(instance_of(number(instance)));
  if (found == nullptr) {
    return NotFound;
  }
  info->device = handle<Device>(static_cast<std::uintptr_t>(found->gpu) + 1);
  info->id = static_cast<unsigned int>(found->id);
  info->placement = {static_cast<unsigned int>(found->start),
                     static_cast<unsigned int>(found->size)};
  hostile().spoil_handle(info->device);
  hostile().spoil(info->id);
  hostile().spoil(info->placement.start);
  hostile().spoil(info->placement.size);
  return Success;
}
Return nvmlGpuInstanceDestroy(GpuInstance instance) {
  pause("destroyMs");
  FAKE_NVML_CHECK("nvmlGpuInstanceDestroy", -1)
  return changed(gpus().destroy(instance_of(number(instance))));
}
Return nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, unsigned int profile,
                                                    unsigned int /*engine*/,
                                                    ComputeInstanceProfile* info) {
  FAKE_NVML_CHECK("nvmlGpuInstanceGetComputeInstanceProfileInfo", -1)
  constexpr unsigned int kProfiles = 8;
  if (profile >= kProfiles) {
    return InvalidArgument;
  }
  if (gpus().find(instance_of(number(instance))) == nullptr) {
    return NotFound;
  }
  *info = {};
  info->id = profile;
  hostile().spoil(info->id);
  return Success;
}
Return nvmlGpuInstanceCreateComputeInstance(GpuInstance instance, unsigned int profile,
                                            ComputeInstance* made) {
  FAKE_NVML_CHECK("nvmlGpuInstanceCreateComputeInstance", -1)
  int compute = 0;
  const int id = instance_of(number(instance));
  const Return code = gpus().create_compute(id, profile, compute);
  *made = handle<ComputeInstance>(pair(kCi, id, compute));
  return changed(code);
}
Return nvmlGpuInstanceGetComputeInstances(GpuInstance instance, unsigned int profile,
                                          ComputeInstance* list, unsigned int* count) {
  FAKE_NVML_CHECK("nvmlGpuInstanceGetComputeInstances", -1)
  const Instance* found = gpus().find(instance_of(number(instance)));
  if (found == nullptr) {
    return NotFound;
  }
  *count = 0;
  for (const fake_nvml::Compute& compute : found->computes) {
    if (compute.profile == profile) {
      list[(*count)++] = handle<ComputeInstance>(pair(kCi, found->id, compute.id));
      hostile().spoil_handle(list[*count - 1]);
    }
  }
  hostile().spoil(*count);
  return Success;
}
Return nvmlGpuInstanceGetComputeInstanceById(GpuInstance instance, unsigned int id,
                                             ComputeInstance* compute) {
  FAKE_NVML_CHECK("nvmlGpuInstanceGetComputeInstanceById", -1)
  *compute =
      handle<ComputeInstance>(pair(kCi, instance_of(number(instance)), static_cast<int>(id)));
  return Success;
}
Return nvmlComputeInstanceGetInfo_v2(ComputeInstance compute, ComputeInstanceInfo* info) {
  FAKE_NVML_CHECK("nvmlComputeInstanceGetInfo_v2", -1)
  const int id = instance_of(number(compute));
  const Instance* found = gpus().find(id);
  if (found == nullptr) {
    return NotFound;
  }
  *info = {};
  info->id = static_cast<unsigned int>(compute_of(number(compute)));
  info->gpu_instance = handle<GpuInstance>(pair(kGi, id, 0));
  // Some drivers answer with the parent.
  info->device = gpus().control().read()["parentHandles"].as_bool()
                     ? handle<Device>(static_cast<std::uintptr_t>(found->gpu) + 1)
                     : handle<Device>(pair(kMig, id, compute_of(number(compute))));
  hostile().spoil_handle(info->device);
  hostile().spoil(info->id);
  return Success;
}
Return nvmlComputeInstanceDestroy(ComputeInstance compute) {
  FAKE_NVML_CHECK("nvmlComputeInstanceDestroy", -1)
  return changed(gpus().destroy_compute(instance_of(number(compute)), compute_of(number(compute))));
}
Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned int* count) {
  FAKE_NVML_CHECK("nvmlDeviceGetMaxMigDeviceCount", gpu_of(device))
  constexpr unsigned int kMost = 7;
  *count = kMost;
  hostile().spoil(*count);
  return Success;
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned int index, Device* mig) {
  FAKE_NVML_CHECK("nvmlDeviceGetMigDeviceHandleByIndex", gpu_of(device))
  unsigned int seen = 0;
  for (const Instance& one : gpus().instances()) {
    for (const fake_nvml::Compute& compute : one.computes) {
      if (one.gpu == gpu_of(device) && seen++ == index) {
        *mig = handle<Device>(pair(kMig, one.id, compute.id));
        hostile().spoil_handle(*mig);
        return Success;
      }
    }
  }
  return NotFound;
}
Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* parent) {
  FAKE_NVML_CHECK("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", gpu_of(mig))
  const int gpu = gpu_of(mig);
  if (gpu < 0) {
    return NotFound;
  }
  *parent = handle<Device>(static_cast<std::uintptr_t>(gpu) + 1);
  hostile().spoil_handle(*parent);
  return Success;
}
Return nvmlDeviceGetGpuInstanceId(Device mig, unsigned int* id) {
  FAKE_NVML_CHECK("nvmlDeviceGetGpuInstanceId", gpu_of(mig))
  *id = static_cast<unsigned int>(instance_of(number(mig)));
  hostile().spoil(*id);
  return is_mig(mig) ? Success : InvalidArgument;
}
Return nvmlDeviceGetComputeInstanceId(Device mig, unsigned int* id) {
  FAKE_NVML_CHECK("nvmlDeviceGetComputeInstanceId", gpu_of(mig))
  *id = static_cast<unsigned int>(compute_of(number(mig)));
  hostile().spoil(*id);
  return is_mig(mig) ? Success : InvalidArgument;
}
Return nvmlEventSetCreate(EventSet* set) {
  *set = handle<EventSet>(kEvents);
  return Success;
}
Return nvmlDeviceRegisterEvents(Device /*device*/, unsigned long long /*types*/, EventSet /*set*/) {
  return Success;
}
// An event is a change of the control file's number "event"; "xid" and "gpu" say which.
Return nvmlEventSetWait_v2(EventSet /*set*/, EventData* data, unsigned int ms) {
  const auto read = [] {
    const std::scoped_lock guard(lock());
    return gpus().control().read();
  };
  static std::int64_t last = read()["event"].as_int();
  constexpr auto kLook = std::chrono::milliseconds(20);
  constexpr std::int64_t kFallenOffTheBus = 79;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
    const Value control = read();
    if (const std::int64_t now = control["event"].as_int(); now != last) {
      last = now;
      *data = {};
      data->device = handle<Device>(static_cast<std::uintptr_t>(control["gpu"].as_int()) + 1);
      data->event_type = control["migChange"].as_bool() ? kMigConfigEvent : kXidEvent;
      data->event_data = static_cast<unsigned long long>(control["xid"].as_int(kFallenOffTheBus));
      return Success;
    }
    std::this_thread::sleep_for(kLook);
  }
  return Timeout;
}
Return nvmlEventSetFree(EventSet /*set*/) {
  return Success;
}

}  // extern "C"
